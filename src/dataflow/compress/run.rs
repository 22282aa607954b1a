//! The whole of `undust compress-index` except reading and writing.

use super::documents::{Found, documents};
use super::lists::{Lists, lists};
use super::types::{CompressError, Compressed, Input, Output, Pack, Shared, Task, UrlsBy};
use crate::dataflow::types::Epoch;
use crate::index::DocMap;
use crate::index::remap::ListCounts;
use crate::rules::RuleSet;
use crate::runtime::mesh::Mesh;
use crate::runtime::workers::{self, Alarm, Crew};
use crate::spill::Scratch;
use std::sync::{Arc, Mutex, PoisonError};
use timely::dataflow::operators::probe::Handle;
use timely::worker::Worker;

/// Groups the documents of `input` by the canonical URLs that `rules` give, and writes its posting
/// lists under the map to `output`, in order, each block through `pack`. With `mesh` together with the
/// other processes, each with as many workers as `task` has: `input` is read and `output` written at
/// process 0 alone, which alone has counts of lists and URLs; the map is everywhere.
///
/// # Errors
/// [`CompressError`] when something cannot be read or written, the input is wrong, or a worker or
/// process is lost.
pub fn run(
    task: &Task,
    rules: Arc<RuleSet>,
    input: Arc<dyn Input>,
    pack: Pack,
    output: Output,
    mesh: Option<&Arc<Mesh>>,
) -> Result<Compressed, CompressError> {
    let shutdown = mesh.map(|mesh| (mesh.process(), mesh.shutdown().clone()));
    let shared = Arc::new(Shared::new(Scratch::new(&task.scratch)?, shutdown));
    let desk = Arc::new(Desk::default());
    let output = Arc::new(Mutex::new(Some(output)));
    let task = Task { workers: task.workers.max(1), ..task.clone() };
    let (ours, theirs) = (shared.clone(), desk.clone());
    let crew = Crew { workers: task.workers, mesh: mesh.cloned() };
    let worked = workers::run_on(&crew, move |worker, alarm| {
        work(
            worker,
            alarm,
            &task,
            &rules,
            input.as_ref(),
            &Edge { pack: pack.clone(), output: output.clone() },
            &ours,
            &theirs,
        )
    });
    if worked.is_err() && mesh.is_some() {
        // The workers are parked and never release it.
        shared.scratch.discard();
    }
    if let Some(failure) = shared.take_failure() {
        return Err(failure);
    }
    let counts = worked?;
    let case = desk.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    let Case { map, found, with_records } = case.expect("the first worker leaves the result");
    let lists = counts.into_iter().next().unwrap_or_default();
    Ok(Compressed { map, counts: found.counts, lists, with_records, urls: found.urls })
}

/// Output of the blocks.
struct Edge {
    pack: Pack,
    output: Arc<Mutex<Option<Output>>>,
}

/// Leader barrier: the first worker of a process publishes the map for the others.
#[derive(Default)]
struct Desk(Mutex<Option<Case>>);

/// State between the dataflows.
struct Case {
    map: Arc<DocMap>,
    found: Found,
    /// Records go with the lists, since nothing is to be sorted or added up.
    with_records: bool,
}

impl Desk {
    fn map(&self) -> Option<(Arc<DocMap>, bool)> {
        let case = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        case.as_ref().map(|case| (case.map.clone(), case.with_records))
    }
}

/// One worker's part.
#[expect(clippy::too_many_arguments, reason = "what a worker needs, told once")]
fn work(
    worker: &mut Worker,
    alarm: &Alarm,
    task: &Task,
    rules: &Arc<RuleSet>,
    input: &dyn Input,
    edge: &Edge,
    shared: &Arc<Shared>,
    desk: &Desk,
) -> ListCounts {
    let end: Handle<Epoch> = Handle::new();
    let found = worker.dataflow_named("documents", |scope| documents(scope, task, rules, input, shared, &end));
    alarm.work_while(worker, || !end.done());
    if worker.index().is_multiple_of(task.workers) {
        let mut found = found.take();
        let map = map(&mut found, task, shared);
        *desk.0.lock().unwrap_or_else(PoisonError::into_inner) =
            Some(Case { map: Arc::new(map), with_records: found.ascending && !task.by_url && !task.merge_tf, found });
    }
    alarm.work_while(worker, || desk.map().is_none());
    let Some((map, records)) = desk.map() else { unreachable!("waited for") };

    // Built after a failure too, with nothing to read: workers of other processes would otherwise block.
    let plan = Lists { map, records, pack: edge.pack.clone(), output: edge.output.clone() };
    let end: Handle<Epoch> = Handle::new();
    let counts = worker.dataflow_named("lists", |scope| lists(scope, input, &plan, shared, &end));
    alarm.work_while(worker, || !end.done());
    counts.take()
}

/// The map of the decisions; an empty one after a failure.
fn map(found: &mut Found, task: &Task, shared: &Shared) -> DocMap {
    let counts = &found.counts;
    if let Some((line, other)) = counts.conflict {
        shared.fail(CompressError::TwoUrls { line, other });
    } else if counts.lines > 0 && counts.docs > 0 && counts.without_url == counts.docs && !shared.has_failed() {
        let expected = match task.urls_by {
            UrlsBy::Ids => "document ids of the index (without --urls-by docid: names of the collection)",
            _ => "names of the collection, as the document records have them (with --urls-by docid: document ids)",
        };
        shared.fail(CompressError::NoUrls { lines: counts.lines, expected });
    }
    if shared.has_failed() {
        return DocMap::default();
    }
    let order = task.by_url.then(|| std::mem::take(&mut found.order));
    DocMap::new(std::mem::take(&mut found.survivor_of), order.as_deref(), task.merge_tf).unwrap_or_else(|error| {
        shared.fail(error);
        DocMap::default()
    })
}
