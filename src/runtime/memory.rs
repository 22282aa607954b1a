//! The memory budget: `512MiB`, `2GB`, `1073741824`.

/// Why a size is not one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a size: write a number and a unit, for example 512MiB, 4GiB, 500MB")]
pub struct SizeError {
    /// What was given.
    pub text: String,
}

/// Bytes of a size: a number, which may have a fraction, and a unit (`B`, `kB`, `MB`, `GB`, `TB`, `KiB`, `MiB`, `GiB`,
/// `TiB`, or a bare `K`, `M`, `G`, `T` for the binary ones), in any case.
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
}
