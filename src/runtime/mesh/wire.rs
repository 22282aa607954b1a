//! A link in the form that timely's network threads require.
//!
//! Timely turns every error of a stream into a panic of its thread. So it gets none: once a peer is
//! lost, reading blocks for ever and writing is dropped; the thread that watches for the shutdown ends
//! the run.

use super::link::Link;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::sync::Arc;
use timely::communication::allocator::zero_copy::stream::Stream;

/// One direction or both of a link, as a stream of bytes.
pub struct Wire {
    link: Arc<Link>,
    /// A frame that is being read: what follows `at` is still to come.
    frame: Vec<u8>,
    at: usize,
    ended: bool,
}

impl Wire {
    /// Over this link.
    pub fn new(link: Arc<Link>) -> Wire {
        Wire { link, frame: Vec::new(), at: 0, ended: false }
    }
}

impl Read for Wire {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.frame.len() && !self.ended {
            self.frame = self.link.next_data();
            self.at = 1;
            self.ended = self.frame.len() == 1;
        }
        if self.ended {
            return Ok(0);
        }
        let n = buffer.len().min(self.frame.len() - self.at);
        buffer[..n].copy_from_slice(&self.frame[self.at..self.at + n]);
        self.at += n;
        Ok(n)
    }
}

impl Write for Wire {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.link.send_data(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Stream for Wire {
    fn try_clone(&self) -> io::Result<Wire> {
        Ok(Wire::new(self.link.clone()))
    }

    fn set_nonblocking(&self, _: bool) -> io::Result<()> {
        Ok(())
    }

    /// Timely shuts down writing when all is sent. The connection stays: there is more to say after the
    /// dataflow.
    fn shutdown(&self, _: Shutdown) -> io::Result<()> {
        self.link.send_end();
        Ok(())
    }
}
