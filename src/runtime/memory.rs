//! Memory: sizes as a user writes them (`512MiB`, `2GB`, `1073741824`), and what the process has
//! resident.

/// Why a size is not one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a size: write a number and a unit, for example 512MiB, 4GiB, 500MB")]
pub struct SizeError {
    /// The given text.
    pub text: String,
}

/// Bytes of a size: a number, which may have a fraction, and a unit (`B`, `kB`, `MB`, `GB`, `TB`,
/// `KiB`, `MiB`, `GiB`, `TiB`, or a bare `K`, `M`, `G`, `T` for the binary ones), in any case.
///
/// # Errors
/// [`SizeError`] for anything else, for zero, and for more than the machine can address.
pub fn parse_size(text: &str) -> Result<usize, SizeError> {
    let error = || SizeError { text: text.to_owned() };
    let trimmed = text.trim();
    let digits = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
    let number: f64 = trimmed[..digits].parse().map_err(|_| error())?;
    let unit: f64 = match trimmed[digits..].trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "kb" => 1e3,
        "mb" => 1e6,
        "gb" => 1e9,
        "tb" => 1e12,
        "k" | "kib" => 2f64.powi(10),
        "m" | "mib" => 2f64.powi(20),
        "g" | "gib" => 2f64.powi(30),
        "t" | "tib" => 2f64.powi(40),
        _ => return Err(error()),
    };
    let bytes = number * unit;
    if bytes >= 1.0 && bytes < usize::MAX as f64 { Ok(bytes as usize) } else { Err(error()) }
}

/// Resident memory of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resident {
    /// Bytes now.
    pub now: u64,
    /// The most bytes so far.
    pub peak: u64,
}

/// Resident memory of this process; `None` where the system has no `/proc/self/status`.
pub fn resident() -> Option<Resident> {
    of_status(&std::fs::read_to_string("/proc/self/status").ok()?)
}

/// The figures in the text of `/proc/PID/status`, which counts in KiB.
fn of_status(text: &str) -> Option<Resident> {
    let figure = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? << 10)
    };
    Some(Resident { now: figure("VmRSS:")?, peak: figure("VmHWM:")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (text, want) in [
            ("512MiB", 512 << 20),
            ("512 mib", 512 << 20),
            ("1.5G", 3 << 29),
            ("2GB", 2_000_000_000),
            ("4096", 4096),
            ("1kB", 1000),
        ] {
            assert_eq!(parse_size(text), Ok(want), "{text}");
        }
        for text in ["", "MiB", "0", "-1", "12 parsecs", "1..5K", "1e400", "99999999TiB"] {
            assert!(parse_size(text).is_err(), "{text}");
        }
    }
    #[test]
    fn resident_memory_is_read_from_the_status_of_the_process() {
        let text = "Name:\tundust\nVmHWM:\t    2048 kB\nVmRSS:\t    1024 kB\nThreads:\t1\n";
        assert_eq!(of_status(text), Some(Resident { now: 1 << 20, peak: 2 << 20 }));
        assert_eq!(of_status("VmRSS:\t1024 kB\n"), None);
    }
}
