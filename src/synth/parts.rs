//! A URL under construction: path and query in two reused buffers, so that no URL costs an allocation.

use super::rng::Rng;
use super::words;

/// Path and query of one URL, and the sub-domain where the page type names one itself.
#[derive(Debug, Default)]
pub struct Parts {
    path: Vec<u8>,
    query: Vec<u8>,
    /// Start and end of each parameter in `query`.
    pairs: Vec<(u32, u32)>,
    host: Option<&'static str>,
}

impl Parts {
    /// Forgets the URL, keeps the memory.
    pub fn clear(&mut self) {
        self.path.clear();
        self.query.clear();
        self.pairs.clear();
        self.host = None;
    }

    /// The page is served from this sub-domain, not from the site's mirrors.
    pub fn on_host(&mut self, label: &'static str) {
        self.host = Some(label);
    }

    /// Sub-domain named by the page type.
    pub fn host(&self) -> Option<&'static str> {
        self.host
    }

    /// A path segment.
    pub fn seg(&mut self, text: &str) -> &mut Parts {
        self.path.push(b'/');
        self.add(text)
    }

    /// A path segment that is a number.
    pub fn seg_n(&mut self, n: u64) -> &mut Parts {
        self.path.push(b'/');
        self.add_n(n)
    }

    /// A path segment that is a slug (see [`words::slug`]).
    pub fn seg_slug(&mut self, about: u64, count: u32) -> &mut Parts {
        self.path.push(b'/');
        words::slug(about, count, &mut self.path);
        self
    }

    /// More of the last path segment.
    pub fn add(&mut self, text: &str) -> &mut Parts {
        self.path.extend_from_slice(text.as_bytes());
        self
    }

    /// More of the last path segment: a number.
    pub fn add_n(&mut self, n: u64) -> &mut Parts {
        words::number(n, &mut self.path);
        self
    }

    /// The path's buffer, for what the other methods do not write.
    pub fn path(&mut self) -> &mut Vec<u8> {
        &mut self.path
    }

    /// A query parameter whose value `write` adds.
    pub fn pair_with(&mut self, key: &str, write: impl FnOnce(&mut Vec<u8>)) -> &mut Parts {
        let start = self.query.len() as u32;
        self.query.extend_from_slice(key.as_bytes());
        self.query.push(b'=');
        write(&mut self.query);
        self.pairs.push((start, self.query.len() as u32));
        self
    }

    /// A query parameter.
    pub fn pair(&mut self, key: &str, value: &str) -> &mut Parts {
        self.pair_with(key, |out| out.extend_from_slice(value.as_bytes()))
    }

    /// A query parameter that is a number.
    pub fn pair_n(&mut self, key: &str, n: u64) -> &mut Parts {
        self.pair_with(key, |out| words::number(n, out))
    }

    /// A query parameter without `=`, whose name `write` adds.
    pub fn bare(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> &mut Parts {
        let start = self.query.len() as u32;
        write(&mut self.query);
        self.pairs.push((start, self.query.len() as u32));
        self
    }

    /// Puts the parameters written so far in random order.
    pub fn shuffle(&mut self, coin: &mut Rng) {
        coin.shuffle(&mut self.pairs);
    }

    /// Puts three parameters in the order of permutation `n` of 6.
    pub fn order3(&mut self, n: u64) {
        const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
        let pairs = [self.pairs[0], self.pairs[1], self.pairs[2]];
        for (slot, from) in ORDERS[(n % 6) as usize].into_iter().enumerate() {
            self.pairs[slot] = pairs[from];
        }
    }

    /// True without any parameter.
    pub fn no_query(&self) -> bool {
        self.pairs.is_empty()
    }

    /// Adds the path to `out`.
    pub fn put_path(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.path);
    }

    /// Adds `?` and the parameters in their order to `out`; nothing where there are none.
    pub fn put_query(&self, out: &mut Vec<u8>) {
        for (i, &(start, end)) in self.pairs.iter().enumerate() {
            out.push(if i == 0 { b'?' } else { b'&' });
            out.extend_from_slice(&self.query[start as usize..end as usize]);
        }
    }
}
