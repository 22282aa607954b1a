//! Work stealing: the worker of a process that learns a site is its owner, or one that has none left.
//!
//! Sites are owned by hash, and one site may be a fifth of all URLs, so that one worker would be idle
//! while another has a queue. The rules of a site depend on its records alone, and the workers of a
//! process share their memory: each publishes its sites for stealing, takes its own first, and then
//! those of the others. Nothing is copied ahead, so that a worker holds one site at a time. Across
//! processes a site stays with its owner.

use super::group::{Site, Sites};
use crate::spill::SpillError;
use std::sync::{Arc, Mutex, PoisonError};
use timely::scheduling::SyncActivator;

/// The published sites of the workers of a process that have not been taken.
#[derive(Debug, Default)]
pub struct StealableSites {
    queues: Mutex<Vec<Arc<Mutex<Sites>>>>,
    /// Operators to activate when a worker publishes sites.
    waiting: Mutex<Vec<SyncActivator>>,
}

/// Result of [`StealableSites::next`].
#[derive(Debug)]
pub enum Next {
    /// A site to learn.
    Site(Box<Site>),
    /// Nothing now: a worker has not published its sites yet.
    Wait,
    /// No site is left.
    Over,
}

impl StealableSites {
    /// Publishes the sites of a worker for stealing; returns its place among them.
    pub fn publish(&self, sites: Sites) -> usize {
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        queues.push(Arc::new(Mutex::new(sites)));
        let own = queues.len() - 1;
        drop(queues);
        self.activate_waiting();
        own
    }

    /// Activates the operators that wait.
    pub fn activate_waiting(&self) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        for operator in waiting.drain(..) {
            // Fails for a worker that has ended, which needs no sites.
            let _ = operator.activate();
        }
    }

    /// A site for the worker at `own` of `workers`. Where another worker has not published yet,
    /// `operator` is activated when it has.
    ///
    /// # Errors
    /// [`SpillError`] when the rows of a site cannot be read.
    pub fn next(&self, own: usize, workers: usize, operator: &SyncActivator) -> Result<Next, SpillError> {
        let found = self.look(own, workers)?;
        if !matches!(found, Next::Wait) {
            return Ok(found);
        }
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).push(operator.clone());
        // Sites published between the first look and this registration activated no operator.
        self.look(own, workers)
    }

    fn look(&self, own: usize, workers: usize) -> Result<Next, SpillError> {
        let queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let over = queues.len() >= workers;
        for at in (own..queues.len()).chain(0..own) {
            // A worker that panicked has ended the run.
            let Ok(mut sites) = queues[at].lock() else { continue };
            if let Some(site) = sites.next_site()? {
                return Ok(Next::Site(Box::new(site)));
            }
        }
        Ok(if over { Next::Over } else { Next::Wait })
    }
}

#[cfg(test)]
mod tests {
    use super::super::group::Grouper;
    use super::super::rows::Rows;
    use super::super::sample::SampleParams;
    use super::*;
    use crate::spill::Scratch;

    fn sites(names: &[&str], scratch: &Arc<Scratch>) -> Sites {
        let mut rows = Rows::default();
        for name in names {
            let site = rows.push_site(name.as_bytes());
            rows.push(site, 1, 1, format!("http://{name}/").as_bytes(), Some(b"x"), false);
        }
        let mut grouper = Grouper::new(SampleParams::default(), 1 << 20, scratch.clone());
        grouper.push(rows).expect("memory suffices");
        grouper.finish().expect("nothing was spilled")
    }

    #[test]
    fn a_worker_takes_its_own_sites_and_then_the_others() {
        let folder = tempfile::tempdir().expect("a folder");
        let scratch = Arc::new(Scratch::new(folder.path()).expect("scratch"));
        let stealable = StealableSites::default();
        let name = |own| match stealable.look(own, 2).expect("no disk is read") {
            Next::Site(site) => site.training().0.site,
            other => format!("{other:?}"),
        };
        assert_eq!(stealable.publish(sites(&["a", "b"], &scratch)), 0);
        assert_eq!(name(0), "a");
        assert_eq!(stealable.publish(sites(&["c", "d", "e"], &scratch)), 1);
        assert_eq!([name(0), name(0), name(1), name(0)], ["b", "c", "d", "e"]);
        assert_eq!([name(0), name(1)], ["Over", "Over"]);
    }

    #[test]
    fn no_worker_ends_before_all_sites_are_published() {
        let folder = tempfile::tempdir().expect("a folder");
        let scratch = Arc::new(Scratch::new(folder.path()).expect("scratch"));
        let stealable = StealableSites::default();
        stealable.publish(sites(&[], &scratch));
        assert!(matches!(stealable.look(0, 2), Ok(Next::Wait)));
        stealable.publish(sites(&["a"], &scratch));
        assert!(matches!(stealable.look(0, 2), Ok(Next::Site(_))));
        assert!(matches!(stealable.look(0, 2), Ok(Next::Over)));
    }
}
