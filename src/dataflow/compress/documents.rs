//! The first dataflow: documents and URLs to the survivor of each document.

use super::assemble::{Assemble, Choosing, take_order};
use super::families::Joiner;
use super::found::FirstResult;
use super::make_rows::MakeRows;
use super::reading::read;
use super::sort_then::SortThen;
use super::types::{Input, Shared, Task, UrlsBy};
use crate::dataflow::pace::{Pace, Paced};
use crate::dataflow::types::Epoch;
use crate::rules::RuleSet;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use timely::dataflow::Scope;
use timely::dataflow::operators::core::Exchange;
use timely::dataflow::operators::probe::{Handle, Probe};

/// Builds the dataflow; `end` is done when it is.
pub fn documents<'scope>(
    scope: Scope<'scope, Epoch>,
    task: &Task,
    rules: &Arc<RuleSet>,
    input: &dyn Input,
    shared: &Arc<Shared>,
    end: &Handle<Epoch>,
) -> Rc<RefCell<FirstResult>> {
    let found: Rc<RefCell<FirstResult>> = Rc::default();
    let (read_pace, join_pace, group_pace) = (Pace::default(), Pace::default(), Pace::default());
    let peers = scope.peers();

    let rows = read(scope, input, read_pace.clone(), shared, found.clone())
        .exchange(|(to, _)| *to)
        .make_rows(task, rules)
        .exchange(|(to, _)| *to)
        .paced(&read_pace);
    let rows = match task.urls_by {
        UrlsBy::Records => rows,
        UrlsBy::Names | UrlsBy::Ids => rows
            .sort_then("Join", task, shared, join_pace.clone(), Joiner::new(task.clone(), peers))
            .exchange(|(to, _)| *to)
            .paced(&join_pace),
    };
    let order = rows
        .sort_then("Group", task, shared, group_pace.clone(), Choosing::new(task, peers))
        .exchange(|(to, _)| *to)
        .paced(&group_pace)
        .assemble(task, input.docs() as usize, shared, found.clone())
        .exchange(|(to, _)| *to);
    take_order(order, input.docs() as usize, found.clone()).probe_with(end);
    found
}
