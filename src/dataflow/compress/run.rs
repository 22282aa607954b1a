//! The whole of `undust compress-index` except reading and writing.

use super::documents::documents;
use super::found::FirstResult;
use super::lists::{Lists, lists};
use super::types::{CompressError, Compressed, Input, Output, Pack, Shared, Task, UrlsBy};
use crate::dataflow::driver::run_workers;
use crate::dataflow::failure::Failure;
use crate::dataflow::leader_barrier::LeaderBarrier;
use crate::dataflow::types::Epoch;
use crate::index::DocMap;
use crate::index::remap::ListCounts;
use crate::rules::RuleSet;
use crate::runtime::mesh::Mesh;
use crate::runtime::workers::Alarm;
use crate::spill::Scratch;
use std::sync::{Arc, Mutex};
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
    let scratch = Arc::new(Scratch::new(&task.scratch)?);
    let shared = Arc::new(Shared { scratch: scratch.clone(), failure: Failure::new(mesh) });
    let barrier: Arc<LeaderBarrier<MergeState>> = Arc::default();
    let output = Arc::new(Mutex::new(Some(output)));
    let task = Task { workers: task.workers.max(1), ..task.clone() };
    let (ours, theirs) = (shared.clone(), barrier.clone());
    let worked = run_workers(task.workers, mesh, &[&scratch], move |worker, alarm| {
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
    shared.failure.check()?;
    let counts = worked?;
    let MergeState { map, found, with_records } = barrier.take().expect("the first worker leaves the result");
    let lists = counts.into_iter().next().unwrap_or_default();
    Ok(Compressed { map, counts: found.counts, lists, with_records, urls: found.urls })
}

/// Output of the blocks.
struct Edge {
    pack: Pack,
    output: Arc<Mutex<Option<Output>>>,
}

/// State between the dataflows.
struct MergeState {
    map: Arc<DocMap>,
    found: FirstResult,
    /// Records go with the lists, since nothing is to be sorted or added up.
    with_records: bool,
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
    barrier: &LeaderBarrier<MergeState>,
) -> ListCounts {
    let end: Handle<Epoch> = Handle::new();
    let found = worker.dataflow_named("documents", |scope| documents(scope, task, rules, input, shared, &end));
    alarm.work_while(worker, || !end.done());
    if worker.index().is_multiple_of(task.workers) {
        let mut found = found.take();
        let map = map(&mut found, task, shared);
        let with_records = found.ascending && !task.by_url && !task.merge_tf;
        barrier.publish(MergeState { map: Arc::new(map), with_records, found });
    }
    let (map, records) = barrier.wait(worker, alarm, |state| Some((state.map.clone(), state.with_records)));

    // Built after a failure too, with nothing to read: workers of other processes would otherwise block.
    let plan = Lists { map, records, pack: edge.pack.clone(), output: edge.output.clone() };
    let end: Handle<Epoch> = Handle::new();
    let counts = worker.dataflow_named("lists", |scope| lists(scope, input, &plan, shared, &end));
    alarm.work_while(worker, || !end.done());
    counts.take()
}

/// The map of the decisions; an empty one after a failure.
fn map(found: &mut FirstResult, task: &Task, shared: &Shared) -> DocMap {
    let counts = &found.counts;
    if let Some((line, other)) = counts.conflict {
        shared.failure.record(CompressError::TwoUrls { line, other });
    } else if counts.lines > 0 && counts.docs > 0 && counts.without_url == counts.docs && !shared.failure.is_set() {
        let expected = match task.urls_by {
            UrlsBy::Ids => "document ids of the index (without --urls-by docid: names of the collection)",
            _ => "names of the collection, as the document records have them (with --urls-by docid: document ids)",
        };
        shared.failure.record(CompressError::NoUrls { lines: counts.lines, expected });
    }
    if shared.failure.is_set() {
        return DocMap::default();
    }
    let order = task.by_url.then(|| std::mem::take(&mut found.order));
    DocMap::new(std::mem::take(&mut found.survivor_of), order.as_deref(), task.merge_tf).unwrap_or_else(|error| {
        shared.failure.record(error);
        DocMap::default()
    })
}
