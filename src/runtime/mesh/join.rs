//! How the processes of a run meet: from the list of hosts to one link for each pair.

use super::dial::{Unreached, dial};
use super::link::{Joined, Link};
use super::notices::Notices;
use super::shutdown::{Cause, Shutdown};
use super::watch::{Pulse, Watched, watch};
use super::{Handshakes, LAST_WORDS, LOOK, Mesh, MeshError, Tell, ThisProcess, hello, listener};
use crate::runtime::hosts::Cluster;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Connects all processes; see [`Mesh::join`].
pub fn join(cluster: &Cluster, place: ThisProcess, tell: Tell) -> Result<Mesh, MeshError> {
    let (own, processes) = (place.process, cluster.hosts.len());
    if own >= processes {
        return Err(MeshError::Config(format!(
            "there is no process {own}: the list of hosts has processes 0 to {}",
            processes - 1
        )));
    }
    let deadline = Instant::now() + cluster.connect_deadline;
    let handshakes = Arc::new(Handshakes {
        place: place.clone(),
        job: OnceLock::new(),
        taken: Mutex::new((0..processes).map(|process| process == own).collect()),
        closed: AtomicBool::new(false),
        full: AtomicBool::new(false),
        notices: Notices::new(tell),
    });
    if own == 0 {
        let job = hello::mint().map_err(|error| MeshError::Config(format!("no random numbers: {error}")))?;
        handshakes.job.get_or_init(|| job);
    }
    let arrivals = start(cluster, &handshakes, deadline)?;
    let mut meeting = Meeting::new(cluster, own);
    meeting.watch()?;
    if let Err(error) = meeting.all_join(&arrivals, &handshakes, deadline) {
        handshakes.closed.store(true, Ordering::Release);
        meeting.give_up(&error);
        return Err(error);
    }
    handshakes.full.store(true, Ordering::Release);
    let job = handshakes.job.get().cloned().unwrap_or_default();
    let Meeting { links, shutdown, pulse, over, .. } = meeting;
    let cluster = cluster.clone();
    let _joined = Mutex::new(arrivals.joined);
    let mesh = Mesh { cluster, place, job, links, shutdown, pulse, handshakes, over, _joined };
    // No process begins before all have joined at all.
    match mesh.agree(b"ready", Some(deadline)) {
        Ok(()) => Ok(mesh),
        Err(error) => {
            // The others learn which process was lost; otherwise they would only see this one close.
            mesh.give_up(&error.to_string());
            Err(error)
        }
    }
}

/// Messages of the handshake threads.
struct Arrivals {
    joined: Receiver<Joined>,
    unreached: Receiver<(usize, Unreached)>,
}

/// Starts the thread that accepts peers with a higher index and one for each peer with a lower index.
fn start(cluster: &Cluster, handshakes: &Arc<Handshakes>, deadline: Instant) -> Result<Arrivals, MeshError> {
    let own = handshakes.place.process;
    let (joined_in, joined) = channel();
    if own + 1 < cluster.hosts.len() {
        let listener = listener::bind(cluster, own)?;
        let (handshakes, joined_in) = (handshakes.clone(), joined_in.clone());
        spawn("mesh:listen", move || listener::serve(&listener, &handshakes, &joined_in))?;
    }
    let (unreached_in, unreached) = channel();
    for to in 0..own {
        let (cluster, handshakes) = (cluster.clone(), handshakes.clone());
        let (joined_in, unreached_in) = (joined_in.clone(), unreached_in.clone());
        spawn("mesh:dial", move || call(&cluster, &handshakes, to, deadline, &joined_in, &unreached_in))?;
    }
    Ok(Arrivals { joined, unreached })
}

/// Connects to one peer: to process 0 at once, to the others when the job is known.
fn call(
    cluster: &Cluster,
    handshakes: &Handshakes,
    to: usize,
    deadline: Instant,
    joined: &Sender<Joined>,
    unreached: &Sender<(usize, Unreached)>,
) {
    let job = loop {
        match handshakes.job.get() {
            _ if to == 0 => break String::new(),
            Some(job) => break job.clone(),
            None if Instant::now() > deadline || handshakes.closed.load(Ordering::Acquire) => return,
            None => std::thread::sleep(LOOK),
        }
    };
    match dial(cluster, handshakes, to, &job, deadline) {
        Ok((link, job)) => {
            handshakes.job.get_or_init(|| job);
            // Fails only where this process has given up meanwhile.
            let _ = joined.send(link);
        }
        Err(why) => drop(unreached.send((to, why))),
    }
}

/// The processes that have joined so far.
struct Meeting<'a> {
    cluster: &'a Cluster,
    own: usize,
    /// By process; `None` at this one and those that are missing.
    links: Vec<Option<Arc<Link>>>,
    watched: Watched,
    shutdown: Arc<Shutdown>,
    pulse: Arc<Pulse>,
    over: Arc<AtomicBool>,
}

impl Meeting<'_> {
    fn new(cluster: &Cluster, own: usize) -> Meeting<'_> {
        Meeting {
            cluster,
            own,
            links: vec![None; cluster.hosts.len()],
            watched: Watched::default(),
            shutdown: Arc::default(),
            pulse: Arc::new(Pulse::new(own, cluster.silence_deadline)),
            over: Arc::default(),
        }
    }

    /// Starts the thread that notices silence.
    fn watch(&self) -> Result<(), MeshError> {
        let (links, shutdown) = (self.watched.clone(), self.shutdown.clone());
        let (over, pulse) = (self.over.clone(), self.pulse.clone());
        let silence = self.cluster.silence_deadline;
        spawn("mesh:watch", move || watch(&links, &shutdown, &over, &pulse, silence))
    }

    fn missing(&self) -> Vec<usize> {
        (0..self.links.len()).filter(|&process| process != self.own && self.links[process].is_none()).collect()
    }

    fn address(&self, process: usize) -> String {
        self.cluster.hosts[process].address.clone()
    }

    /// Starts a link for each process as it joins, until none is missing.
    fn all_join(&mut self, arrivals: &Arrivals, handshakes: &Handshakes, deadline: Instant) -> Result<(), MeshError> {
        let beat = (self.cluster.silence_deadline / 6).max(Duration::from_millis(20));
        // How the last attempt to reach each process ended.
        let mut unreached: Vec<(usize, Unreached)> = Vec::new();
        while !self.missing().is_empty() {
            match arrivals.joined.recv_timeout(LOOK) {
                Ok(joined) => {
                    let process = joined.process;
                    let link = Link::start(joined, self.shutdown.clone(), self.pulse.clone(), beat)
                        .map_err(|error| MeshError::Config(format!("cannot start threads: {error}")))?;
                    self.watched.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(&link));
                    self.links[process] = Some(link);
                }
                Err(RecvTimeoutError::Disconnected) => std::thread::sleep(LOOK),
                Err(RecvTimeoutError::Timeout) => {}
            }
            for (process, why) in arrivals.unreached.try_iter() {
                if let Unreached::Refused(why) = why {
                    return Err(self.refused(process, why));
                }
                unreached.push((process, why));
            }
            if let Some(cause) = self.shutdown.cause() {
                return Err(MeshError::of(self.cluster, cause));
            }
            // The threads that dial end at the deadline, too; their reports belong into the error.
            if Instant::now() >= deadline + 2 * LOOK {
                return Err(self.never_came(&unreached, handshakes));
            }
        }
        Ok(())
    }

    fn refused(&self, process: usize, why: String) -> MeshError {
        MeshError::Refused { process, address: self.address(process), own: self.own, why }
    }

    /// The error at the deadline.
    fn never_came(&self, unreached: &[(usize, Unreached)], handshakes: &Handshakes) -> MeshError {
        let mut hints = Vec::new();
        for (process, why) in unreached {
            match why {
                Unreached::RefusedInTheClear(why) | Unreached::Refused(why) => {
                    return self.refused(*process, why.clone());
                }
                Unreached::Late(why) => hints.push(format!("process {process}: {why}")),
            }
        }
        if let Some(time) = self.pulse.stopped() {
            hints.push(format!("this process was stopped for {:.1} s", time.as_secs_f64()));
        }
        hints.extend(handshakes.notices.summary());
        let hint = if hints.is_empty() { String::new() } else { format!(" ({})", hints.join("; ")) };
        let peers: Vec<String> =
            self.missing().iter().map(|&process| format!("{process} ({})", self.address(process))).collect();
        MeshError::NeverCame { peers: peers.join(", "), seconds: self.cluster.connect_deadline.as_secs(), hint }
    }

    /// Tells those who have joined why this process ends, and closes the links.
    fn give_up(&self, error: &MeshError) {
        let cause = match error {
            MeshError::Lost { process, what, .. } => Cause::Lost { process: *process, what: what.clone() },
            MeshError::NeverCame { .. } => {
                let process = self.missing().first().copied().unwrap_or(self.own);
                Cause::Lost { process, what: "it never came".to_owned() }
            }
            _ => Cause::Failed { process: self.own, reason: String::new() },
        };
        self.over.store(true, Ordering::Release);
        self.links.iter().flatten().for_each(|link| link.give_up(&cause, &error.to_string()));
        std::thread::sleep(LAST_WORDS);
        self.links.iter().flatten().for_each(|link| link.close());
    }
}

fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> Result<(), MeshError> {
    let spawned = std::thread::Builder::new().name(name.to_owned()).spawn(run);
    spawned.map(drop).map_err(|error| MeshError::Config(format!("cannot start threads: {error}")))
}
