//! The loop of the dataflow and the sequential walk are one arithmetic, bit for bit.
use std::sync::{Arc, Mutex};
use timely::container::CapacityContainerBuilder;
use timely::dataflow::channels::pact::Pipeline;
use timely::dataflow::operators::generic::operator::source;
use timely::dataflow::operators::{Operator, Probe};
use undust::dataflow::walk::{EnergyWalk, HasGraph, Walking};
use undust::model::hash64;
use undust::site::energy::{Graph, Walk, walk};

struct Numbered(usize, Graph);

impl HasGraph for Numbered {
    fn graph(&self) -> &Graph {
        &self.1
    }
}

/// Graphs of many shapes: empty, without edges, cycles, chains into sinks, random.
fn graphs() -> Vec<Graph> {
    let hash = |a: u64, b: u64| hash64(&[a.to_le_bytes(), b.to_le_bytes()].concat());
    (0..60u64)
        .map(|g| {
            let n = (g % 13) as u32;
            let mut edges: Vec<(u32, u32, f64)> = Vec::new();
            for s in 0..n {
                for t in 0..n {
                    let h = hash(g, u64::from(s * 100 + t));
                    if s != t && h % 4 == 0 {
                        edges.push((s, t, (h % 997 + 1) as f64 / 997.0));
                    }
                }
            }
            let volume = (0..n).map(|v| (hash(g, u64::from(v) + 7777) % 5000 + 1) as f64).collect();
            Graph { walk: if g % 2 == 0 { Walk::Restart } else { Walk::Lazy }, volume, edges, ..Graph::default() }
        })
        .collect()
}

#[test]
fn the_loop_is_the_walk() {
    let want: Vec<Vec<u64>> = graphs().iter().map(|g| walk(g).iter().map(|e| e.to_bits()).collect()).collect();
    for workers in 1..=4 {
        let got = Arc::new(Mutex::new(vec![None; want.len()]));
        let into = got.clone();
        undust::runtime::workers::run(workers, move |worker, alarm| {
            let into = into.clone();
            let end = worker.dataflow::<u64, _, _>(|scope| {
                let (index, peers) = (scope.index(), scope.peers());
                let start = source::<_, CapacityContainerBuilder<Vec<Box<Walking<Numbered>>>>, _, _>(
                    scope,
                    "Graphs",
                    |capability, _| {
                        let mut capability = Some(capability);
                        move |output| {
                            // Two epochs under way at once.
                            if let Some(mut cap) = capability.take() {
                                for (i, graph) in graphs().into_iter().enumerate().filter(|(i, _)| i % peers == index) {
                                    if i >= 30 {
                                        cap.downgrade(&1);
                                    }
                                    output.session(&cap).give(Box::new(Walking::new(Numbered(i, graph))));
                                }
                            }
                        }
                    },
                );
                let done = start.energy_walk().unary::<CapacityContainerBuilder<Vec<()>>, _, _, _>(
                    Pipeline,
                    "Take",
                    move |_, _| {
                        move |input, _| {
                            input.for_each_stamp(|_, sites| {
                                for site in sites.flat_map(|batch| batch.drain(..)) {
                                    let bits: Vec<u64> = site.energy.iter().map(|e| e.to_bits()).collect();
                                    let mut into = into.lock().expect("no panic while held");
                                    assert!(into[site.site.0].replace(bits).is_none(), "a site leaves once");
                                }
                            });
                        }
                    },
                );
                done.probe().0
            });
            alarm.work_while(worker, || !end.done());
        })
        .expect("the walk ends");
        let got = got.lock().expect("all are through");
        for (i, want) in want.iter().enumerate() {
            assert_eq!(got[i].as_ref(), Some(want), "graph {i}, {workers} workers");
        }
    }
}
