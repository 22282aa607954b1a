//! The loop of the dataflow and the sequential walk are one arithmetic, bit for bit.
use super::mesh_edges::{join, two};
use std::sync::{Arc, Mutex};
use timely::container::CapacityContainerBuilder;
use timely::dataflow::operators::core::Inspect;
use timely::dataflow::operators::generic::OutputBuilderSession;
use timely::dataflow::operators::generic::operator::source;
use timely::dataflow::operators::{Capability, Probe};
use timely::worker::Worker;
use undust::dataflow::walk::{EnergyWalk, HasGraph};
use undust::model::hash64;
use undust::runtime::workers::{Alarm, Crew, run, run_on};
use undust::site::energy::{Graph, Walk, walk};

struct Numbered(usize, Graph);

impl HasGraph for Numbered {
    fn graph(&self) -> &Graph {
        &self.1
    }
}

/// Graphs of many shapes: empty, without edges, cycles, chains into dead ends, random.
fn graphs() -> Vec<Graph> {
    let hash = |a: u64, b: u64| hash64(&[a.to_le_bytes(), b.to_le_bytes()].concat());
    (0..60u64)
        .map(|g| {
            // The last is spread over all workers.
            let n = if g == 59 { 5000 } else { (g % 13) as u32 };
            let mut edges: Vec<(u32, u32, f64)> = Vec::new();
            for s in 0..n {
                for t in s.saturating_sub(6)..n.min(s + 6) {
                    let h = hash(g, u64::from(s * 100 + t));
                    if s != t && h % 4 == 0 {
                        edges.push((s, t, (h % 997 + 1) as f64 / 997.0));
                    }
                }
            }
            let volume = (0..n).map(|v| hash(g, u64::from(v) + 7777) % 5000 + 1).collect();
            Graph { walk: if g % 2 == 0 { Walk::Restart } else { Walk::Lazy }, volume, edges, ..Graph::default() }
        })
        .collect()
}

/// The energies of all graphs, by index, of which the workers of a process get some.
type Energies = Arc<Mutex<Vec<Option<Vec<u128>>>>>;

/// Walks on the graphs that are this worker's.
fn walk_on(worker: &mut Worker, alarm: &Alarm, into: &Energies) {
    let into = into.clone();
    let end = worker.dataflow::<u64, _, _>(|scope| {
        let (index, peers) = (scope.index(), scope.peers());
        let own = move |&(i, _): &(usize, Graph)| i % peers == index;
        let give = |capability: Capability<u64>, _| {
            let mut capability = Some(capability);
            move |output: &mut OutputBuilderSession<'_, _, CapacityContainerBuilder<Vec<Box<Numbered>>>>| {
                // Two epochs under way at once.
                if let Some(mut cap) = capability.take() {
                    for (i, graph) in graphs().into_iter().enumerate().filter(own) {
                        if i >= 30 {
                            cap.downgrade(&1);
                        }
                        output.session(&cap).give(Box::new(Numbered(i, graph)));
                    }
                }
            }
        };
        let done = source(scope, "Graphs", give).energy_walk().inspect(move |(site, energy)| {
            assert_eq!(site.0 % peers, index, "a site ends where it began");
            let mut into = into.lock().expect("no panic while held");
            assert!(into[site.0].replace(energy.clone()).is_none(), "a site leaves once");
        });
        done.probe().0
    });
    alarm.work_while(worker, || !end.done());
}

fn check(got: &Energies, how: &str) {
    let got = got.lock().expect("all are through");
    for (i, graph) in graphs().iter().enumerate() {
        assert_eq!(got[i].as_ref(), Some(&walk(graph)), "graph {i}, {how}");
    }
}

fn none_yet() -> Energies {
    Arc::new(Mutex::new(vec![None; graphs().len()]))
}

#[test]
fn the_loop_is_the_walk_at_any_number_of_workers() {
    for workers in 1..=4 {
        let got = none_yet();
        let into = got.clone();
        run(workers, move |worker, alarm| walk_on(worker, alarm, &into)).expect("the walk ends");
        check(&got, &format!("{workers} workers"));
    }
}

#[test]
fn the_loop_is_the_walk_in_two_processes() {
    let (cluster, got) = (two("20 s"), none_yet());
    let joined = [0, 1].map(|process| join(&cluster, process));
    let meshes = joined.map(|joining| joining.join().expect("no panic").expect("both join"));
    let running = meshes.map(|mesh| {
        let into = got.clone();
        std::thread::spawn(move || {
            let mesh = Arc::new(mesh);
            let crew = Crew { workers: 2, mesh: Some(mesh.clone()) };
            run_on(&crew, move |worker, alarm| walk_on(worker, alarm, &into)).expect("the walk ends");
            mesh.farewell();
        })
    });
    running.into_iter().for_each(|running| running.join().expect("no panic"));
    check(&got, "two processes");
}
