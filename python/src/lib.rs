//! The Python module `undust._undust`: a rule set, opened once and shared by all threads.
//!
//! A call costs what applying costs, and the making of one string; a batch lets go of the interpreter
//! while it works. Rules are replaced while they are in use ([`opened::Opened`]): a batch is made with
//! one rule set, never with a mixture.

mod opened;

use opened::Opened;
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyTypeError, PyUnicodeEncodeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyByteArray, PyBytes, PyList, PyString};
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use undust::io::rules::{OpenError, open_seen};
use undust::model::hash64;
use undust::model::shown::brief;
use undust::rules::filter::SeenFilter;
use undust::rules::{Batch as Lanes, RuleSet as Rules, Scratch};

create_exception!(undust, RulesError, PyException, "Rules that cannot be opened; the message says what to do.");

thread_local! {
    /// Buffers of a thread, reused from URL to URL.
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

fn refused(error: OpenError) -> PyErr {
    // A traceback is shown to people.
    RulesError::new_err(brief(&error.to_string()).into_owned())
}

/// Result of `__reduce__`: a callable and the arguments that make the object again.
type Reduced<'py, Arguments> = (Bound<'py, PyAny>, Arguments);

/// Result of applying rules to one URL.
#[pyclass(frozen, get_all, eq, module = "undust")]
#[derive(Debug, PartialEq, Eq)]
struct Canonical {
    /// The canonical URL; the URL itself where it is not an absolute http or https URL.
    url: String,
    /// The site that claims the host, or None.
    site: Option<String>,
    /// Ids of the rules that fired, in firing order.
    rules: Vec<String>,
    /// Not an absolute http or https URL: it came out unchanged.
    invalid: bool,
}

#[pymethods]
impl Canonical {
    #[new]
    #[pyo3(signature = (url, site = None, rules = Vec::new(), invalid = false))]
    fn new(url: String, site: Option<String>, rules: Vec<String>, invalid: bool) -> Canonical {
        Canonical { url, site, rules, invalid }
    }

    /// Pickles by value: needs no rules where it is loaded.
    fn __reduce__<'py>(&self, py: Python<'py>) -> Reduced<'py, (&str, Option<&str>, &[String], bool)> {
        let fields = (self.url.as_str(), self.site.as_deref(), self.rules.as_slice(), self.invalid);
        (py.get_type::<Canonical>().into_any(), fields)
    }

    fn __repr__(&self) -> String {
        let Canonical { url, site, rules, invalid } = self;
        let site = site.as_ref().map_or("None".to_owned(), |site| format!("{site:?}"));
        let invalid = if *invalid { "True" } else { "False" };
        format!("Canonical(url={url:?}, site={site}, rules={rules:?}, invalid={invalid})")
    }
}

/// Learned rules, ready to apply. Any number of threads may share one.
#[pyclass(frozen, module = "undust")]
struct RuleSet(Opened);

#[pymethods]
impl RuleSet {
    /// Opens the rules in the folder that `undust learn` wrote, or a rule file. What overrides.jsonl beside
    /// them disables does not act. RulesError says why they cannot be opened.
    #[staticmethod]
    #[pyo3(signature = (path, *, allow_partial = false))]
    fn open(py: Python<'_>, path: PathBuf, allow_partial: bool) -> PyResult<RuleSet> {
        py.detach(|| Opened::open(path, allow_partial)).map(RuleSet)
    }

    /// Opens the rules anew, from where they were opened, and puts them in the place of the current ones in
    /// one step. On failure the current ones stay.
    fn reload(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.0.reload())
    }

    /// Digest of the opened files, rules and overrides: 128-bit XXH3, 32 hexadecimal digits. Rule sets of
    /// one digest give the same canonical URLs.
    #[getter]
    fn digest(&self) -> String {
        self.0.digest()
    }

    /// Pickles the absolute path, the options and the digest. Loading opens the path again; RulesError
    /// where the files there have another digest.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py, (&Path, bool, String)>> {
        let open = py.import("undust._undust")?.getattr("_open_same")?;
        Ok((open, (self.0.path(), self.0.allow_partial(), self.0.digest())))
    }

    fn __copy__(&self) -> RuleSet {
        RuleSet(self.0.copy())
    }

    fn __deepcopy__(&self, _memo: &Bound<'_, PyAny>) -> RuleSet {
        RuleSet(self.0.copy())
    }

    /// The canonical URL of a URL; what is not an absolute http or https URL comes back unchanged.
    fn canonicalize<'py>(&self, url: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyString>> {
        let text = url.to_str()?;
        let rules = self.0.current();
        SCRATCH.with_borrow_mut(|scratch| {
            let applied = rules.apply(text.as_bytes(), None, scratch);
            if applied.url == text.as_bytes() {
                return Ok(url.clone());
            }
            PyString::from_bytes(url.py(), applied.url)
        })
    }

    /// The canonical URLs of an iterable of URLs, in its order. The iterable is consumed first; then other
    /// threads run meanwhile, and `threads` of them share the work. TypeError and UnicodeEncodeError name
    /// the index of a bad item.
    #[pyo3(signature = (urls, *, threads = 1))]
    fn canonicalize_many<'py>(
        &self,
        py: Python<'py>,
        urls: &Bound<'py, PyAny>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyList>> {
        if threads == 0 {
            return Err(PyValueError::new_err("threads: at least 1"));
        }
        let urls = collected(urls)?;
        let rules = self.0.current();
        let batch = Batch::new(&rules, &urls, threads);
        let mut out = Vec::with_capacity(urls.len());
        std::thread::scope(|scope| {
            (1..threads.min(batch.pieces())).for_each(|_| drop(scope.spawn(|| while batch.work() {})));
            // Strings are made here alone, of one piece while the others work on the next.
            for at in 0..batch.pieces() {
                let part = py.detach(|| batch.take(at));
                part.strings(py, batch.piece(at), &mut out)?;
            }
            PyResult::Ok(())
        })?;
        PyList::new(py, out)
    }

    /// The canonical URL with the site and the rules that fired.
    fn explain(&self, url: &str) -> Canonical {
        let current = self.0.current();
        let canonical = current.canonicalize(url);
        let site = canonical.site().map(str::to_owned);
        let rules = canonical.rules.iter().map(|id| id.to_string()).collect();
        Canonical { url: canonical.url.into_owned(), site, rules, invalid: canonical.invalid }
    }

    /// The sites that have rules, sorted.
    #[getter]
    fn sites(&self) -> Vec<String> {
        let rules = self.0.current();
        (0..rules.len() as u32).map(|site| rules.site_name(site).to_owned()).collect()
    }

    fn __repr__(&self) -> String {
        format!("<undust.RuleSet of {} sites from {}>", self.0.current().len(), self.0.path().display())
    }
}

/// Unpickles a [`RuleSet`].
#[pyfunction]
fn _open_same(py: Python<'_>, path: PathBuf, allow_partial: bool, digest: &str) -> PyResult<RuleSet> {
    py.detach(|| Opened::open_same(path, allow_partial, digest)).map(RuleSet)
}

/// Items whose length an iterable announces are trusted up to this number.
const MOST_RESERVED: usize = 1 << 20;

/// The items of an iterable of strings. A single string or bytes is refused: its items are characters.
fn collected(urls: &Bound<'_, PyAny>) -> PyResult<Vec<PyBackedStr>> {
    let kind =
        |value: &Bound<'_, PyAny>| value.get_type().qualname().map_or_else(|_| "?".into(), |name| name.to_string());
    if urls.is_instance_of::<PyString>() || urls.is_instance_of::<PyBytes>() || urls.is_instance_of::<PyByteArray>() {
        let kind = kind(urls);
        return Err(PyTypeError::new_err(format!("urls: a single {kind}, not an iterable of str; put it into a list")));
    }
    let mut all = Vec::with_capacity(urls.len().unwrap_or(0).min(MOST_RESERVED));
    for (at, url) in urls.try_iter()?.enumerate() {
        let url = url?.cast_into::<PyString>().map_err(|error| {
            let kind = kind(&error.into_inner());
            PyTypeError::new_err(format!("urls: item {at} is of type {kind}, not str"))
        })?;
        all.push(PyBackedStr::try_from(url).or_else(|error| Err(at_item(urls.py(), error, at)?))?);
    }
    Ok(all)
}

/// Adds the index of an item to the reason of a UnicodeEncodeError.
fn at_item(py: Python<'_>, error: PyErr, at: usize) -> PyResult<PyErr> {
    if error.is_instance_of::<PyUnicodeEncodeError>(py) {
        let value = error.value(py);
        let reason: String = value.getattr("reason")?.extract()?;
        value.setattr("reason", format!("{reason} (item {at} of urls)"))?;
    }
    Ok(error)
}

/// URLs a piece of a batch, at least, where several threads share it.
const PIECE: usize = 256;
/// Most pieces of a thread: between two of them the caller needs the interpreter, and may block on it.
const PIECES: usize = 16;

/// URLs of one call. Whoever is free takes the next piece.
struct Batch<'u> {
    rules: &'u Rules,
    urls: &'u [PyBackedStr],
    size: usize,
    next: AtomicUsize,
    done: Mutex<Vec<Option<Part>>>,
    ready: Condvar,
}

impl<'u> Batch<'u> {
    fn new(rules: &'u Rules, urls: &'u [PyBackedStr], threads: usize) -> Batch<'u> {
        let size = match threads {
            1 => urls.len().max(1),
            _ => urls.len().div_ceil(threads.saturating_mul(PIECES)).max(PIECE),
        };
        let done = Mutex::new((0..urls.len().div_ceil(size)).map(|_| None).collect());
        Batch { rules, urls, size, next: AtomicUsize::new(0), done, ready: Condvar::new() }
    }

    fn pieces(&self) -> usize {
        self.urls.len().div_ceil(self.size)
    }

    fn piece(&self, at: usize) -> &'u [PyBackedStr] {
        &self.urls[at * self.size..self.urls.len().min((at + 1) * self.size)]
    }

    /// Works on the next piece; false where none is left.
    fn work(&self) -> bool {
        let at = self.next.fetch_add(1, Ordering::Relaxed);
        if at >= self.pieces() {
            return false;
        }
        let mut slot = Slot { batch: self, at, part: Part::default() };
        slot.part = Part::of(self.rules, self.piece(at));
        true
    }

    /// A piece that was worked on; works on others until it is there.
    fn take(&self, at: usize) -> Part {
        loop {
            if let Some(part) = self.locked()[at].take() {
                return part;
            }
            if !self.work() {
                let mut done = self.locked();
                loop {
                    match done[at].take() {
                        Some(part) => return part,
                        None => done = self.ready.wait(done).unwrap_or_else(PoisonError::into_inner),
                    }
                }
            }
        }
    }

    fn locked(&self) -> MutexGuard<'_, Vec<Option<Part>>> {
        // Parts are put in whole.
        self.done.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Stores a piece, or an empty one after a panic, which the end of the scope reports.
struct Slot<'b, 'u> {
    batch: &'b Batch<'u>,
    at: usize,
    part: Part,
}

impl Drop for Slot<'_, '_> {
    fn drop(&mut self) {
        self.batch.locked()[self.at] = Some(std::mem::take(&mut self.part));
        self.batch.ready.notify_one();
    }
}

/// Canonical URLs of a piece of a batch, end to end.
#[derive(Default)]
struct Part {
    text: Vec<u8>,
    /// End of each in `text`; `None` for a URL that is canonical as it is.
    ends: Vec<Option<usize>>,
}

impl Part {
    fn of(rules: &Rules, urls: &[PyBackedStr]) -> Part {
        // Nearly always all of it: canonical URLs are shorter.
        let (bytes, mut ends) = (urls.iter().map(|url| url.len()).sum(), Vec::with_capacity(urls.len()));
        let mut text = Vec::with_capacity(bytes);
        Lanes::default().apply(rules, urls.iter().map(|url| url.as_bytes()), |url, applied| {
            if applied.url == url {
                ends.push(None);
            } else {
                text.extend_from_slice(applied.url);
                ends.push(Some(text.len()));
            }
        });
        Part { text, ends }
    }

    /// Adds its canonical URLs as strings; those of `urls` that are canonical are given back.
    fn strings<'py>(self, py: Python<'py>, urls: &[PyBackedStr], out: &mut Vec<Bound<'py, PyString>>) -> PyResult<()> {
        let mut start = 0;
        for (url, end) in urls.iter().zip(self.ends) {
            match end {
                None => out.push(url.as_py_str().bind(py).clone()),
                Some(end) => {
                    out.push(PyString::from_bytes(py, &self.text[start..end])?);
                    start = end;
                }
            }
        }
        Ok(())
    }
}

/// The canonical URLs that a crawl met: seen.bin, which `undust rules seen` writes beside the rules.
#[pyclass(frozen, module = "undust")]
struct SeenUrls(SeenFilter);

#[pymethods]
impl SeenUrls {
    /// Opens the set beside the rules at this path; None where there is none. RulesError where it is not as
    /// _SUCCESS in the folder says.
    #[staticmethod]
    #[pyo3(signature = (path, *, allow_partial = false))]
    fn open(path: PathBuf, allow_partial: bool) -> PyResult<Option<SeenUrls>> {
        Ok(open_seen(&path, allow_partial).map_err(refused)?.map(SeenUrls))
    }

    fn __contains__(&self, url: &str) -> bool {
        self.0.contains(url.as_bytes())
    }

    fn __len__(&self) -> usize {
        self.0.len() as usize
    }
}

/// The 64-bit hash of a URL in undust: the same on every machine and in every release.
#[pyfunction]
fn url_hash(url: &str) -> u64 {
    hash64(url.as_bytes())
}

#[pymodule]
fn _undust(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<RuleSet>()?;
    module.add_class::<Canonical>()?;
    module.add_class::<SeenUrls>()?;
    module.add_function(wrap_pyfunction!(url_hash, module)?)?;
    module.add_function(wrap_pyfunction!(_open_same, module)?)?;
    module.add("RulesError", module.py().get_type::<RulesError>())?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))
}
