//! KeepAll: every URL is its own canonical URL. The lower end of every table (Xu, Liu and Callan, SIGIR
//! 2017, 3.1).
//!
//! No departure.

use super::{Constant, Learned, Method, Sample};

/// The method.
#[derive(Clone, Copy, Debug)]
pub struct KeepAll;

impl Method for KeepAll {
    fn learn(&self, _: &Sample<'_>) -> Box<dyn Learned> {
        Box::new(Constant { function: |url: &[u8], out: &mut Vec<u8>| out.extend_from_slice(url), rules: Vec::new() })
    }
}
