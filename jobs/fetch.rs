//! A live server as the oracle of DustBuster.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use clap::Args;
use undust::baselines::dustbuster::sketch::sketch;
use undust::baselines::dustbuster::validate::{Page, Server};
use undust::io::fetch::{Fetched, Fetcher, Limits};

use crate::failure::Failure;

/// Server of DustBuster, and its limits.
#[derive(Args, Debug)]
pub struct FetchArgs {
    /// Server of the site from which DustBuster fetches pages to validate its rules, instead of the
    /// clusters of the input: one request at a time, robots.txt obeyed, the host of each URL in the Host
    /// header. Without it no request is sent.
    #[arg(long, value_name = "http://HOST:PORT")]
    pub fetch: Option<String>,
    /// Pause between two requests, in milliseconds.
    #[arg(long, value_name = "MS", default_value_t = 500, requires = "fetch")]
    fetch_pause: u64,
    /// Requests at most; rules that are left over then stay unproven.
    #[arg(long, value_name = "N", default_value_t = 1_000, requires = "fetch")]
    fetch_max: u64,
    /// Most bytes of all pages together.
    #[arg(long, value_name = "SIZE", value_parser = undust::runtime::memory::parse_size, default_value = "256MiB", requires = "fetch")]
    fetch_bytes: usize,
}

impl FetchArgs {
    /// The server, where one is named.
    ///
    /// # Errors
    /// Error where its address is invalid.
    pub fn server(&self) -> Result<Option<Pages>, Failure> {
        let Some(address) = &self.fetch else { return Ok(None) };
        let limits = Limits {
            pause: Duration::from_millis(self.fetch_pause),
            requests: self.fetch_max,
            bytes: self.fetch_bytes as u64,
            ..Limits::default()
        };
        let fetcher = Fetcher::new(address, limits).map_err(|why| Failure::usage(format!("--fetch {why}")))?;
        Ok(Some(Pages { address: address.clone(), inner: Mutex::new(Inner { fetcher, known: HashMap::default() }) }))
    }
}

/// A server, with the pages that were fetched: each once.
pub struct Pages {
    address: String,
    inner: Mutex<Inner>,
}

struct Inner {
    fetcher: Fetcher,
    known: HashMap<Vec<u8>, Page, foldhash::fast::FixedState>,
}

impl std::fmt::Debug for Pages {
    /// The part that changes the result.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.address)
    }
}

impl Pages {
    /// Counts of the requests, as a sentence.
    pub fn asked(&self) -> String {
        let asked = self.inner.lock().unwrap_or_else(PoisonError::into_inner).fetcher.asked();
        format!(
            "{}: {} requests ({} without an answer), {} bytes; {} pages forbidden by robots.txt, {} not asked for: a limit was reached",
            self.address, asked.requests, asked.silent, asked.bytes, asked.forbidden, asked.over
        )
    }
}

impl Server for Pages {
    fn page(&self, url: &[u8]) -> Page {
        let Inner { fetcher, known } = &mut *self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        *known.entry(url.to_vec()).or_insert_with(|| match fetcher.page(url) {
            Fetched::Body(body) => Page::Sketch(sketch(&body)),
            Fetched::Failed => Page::Failed,
            Fetched::NotAsked => Page::Unknown,
        })
    }
}
