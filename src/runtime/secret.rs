//! The secret that the processes of a run share: a file, never an argument.

use snow::params::HashChoice;
use snow::resolvers::{CryptoResolver, DefaultResolver};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Fewest bytes of a secret.
pub const MIN_BYTES: usize = 32;
/// Most bytes of a secret: a file that is longer is another file.
const MAX_BYTES: u64 = 1 << 16;

/// Why a secret cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// The file cannot be read.
    #[error("secret file {}: cannot read: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Others may read the file.
    #[error("secret file {}: mode {mode:04o} lets others read it; run: chmod 600 {}", path.display(), path.display())]
    Mode {
        /// The file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// The file is too short or too long to be a secret.
    #[error(
        "secret file {}: {bytes} bytes; a secret has at least {MIN_BYTES} and at most {MAX_BYTES}: make one with \
         head -c 32 /dev/urandom | base64", path.display()
    )]
    Length {
        /// The file.
        path: PathBuf,
        /// Its length, without line ends at the end.
        bytes: u64,
    },
}

/// A key of 32 bytes made from the secret. Never shown.
#[derive(Clone)]
pub struct Secret([u8; 32]);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

impl Secret {
    /// The secret in a file of mode 0600 or stricter. Line ends at its end do not count, so that copying it by hand does
    /// not change it.
    ///
    /// # Errors
    /// [`SecretError`].
    pub fn read(path: &Path) -> Result<Secret, SecretError> {
        let fail = |source| SecretError::Read { path: path.to_owned(), source };
        let meta = fs::metadata(path).map_err(fail)?;
        #[cfg(unix)]
        {
            let mode = std::os::unix::fs::PermissionsExt::mode(&meta.permissions()) & 0o7777;
            if mode & 0o077 != 0 {
                return Err(SecretError::Mode { path: path.to_owned(), mode });
            }
        }
        if meta.len() > MAX_BYTES {
            return Err(SecretError::Length { path: path.to_owned(), bytes: meta.len() });
        }
        let bytes = fs::read(path).map_err(fail)?;
        let end = bytes.iter().rposition(|b| !matches!(b, b'\r' | b'\n')).map_or(0, |last| last + 1);
        if end < MIN_BYTES {
            return Err(SecretError::Length { path: path.to_owned(), bytes: end as u64 });
        }
        Ok(Secret::of(&bytes[..end]))
    }

    /// What stands in for a secret where there is none: known to all. Good for loopback only.
    pub fn none() -> Secret {
        Secret::of(b"no secret")
    }

    /// BLAKE2s of the bytes, with a name before them.
    pub fn of(bytes: &[u8]) -> Secret {
        let mut hash = DefaultResolver.resolve_hash(&HashChoice::Blake2s).expect("built with blake2");
        hash.input(b"undust mesh secret 1\0");
        hash.input(bytes);
        let mut key = [0; 32];
        hash.result(&mut key);
        Secret(key)
    }

    /// The key.
    pub(super) fn key(&self) -> &[u8; 32] {
        &self.0
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn secrets_are_private_and_long() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("secret");
        let write = |bytes: &[u8], mode: u32| {
            fs::write(&path, bytes).expect("written");
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("set");
            Secret::read(&path)
        };
        let long = [b'x'; 40];
        let one = write(&long, 0o600).expect("a secret");
        let with_line_end = write(&[&long[..], b"\r\n"].concat(), 0o600).expect("a secret");
        assert_eq!(one.key(), with_line_end.key());
        assert_ne!(one.key(), Secret::none().key());
        assert_eq!(format!("{one:?}"), "Secret");
        for mode in [0o640, 0o604, 0o610] {
            let error = write(&long, mode).expect_err("others may read it").to_string();
            assert!(error.contains("chmod 600"), "{error}");
        }
        assert!(matches!(write(&[b'x'; 31], 0o600), Err(SecretError::Length { bytes: 31, .. })));
        assert!(matches!(write(&[b'\n'; 64], 0o600), Err(SecretError::Length { bytes: 0, .. })));
        assert!(matches!(write(&[b'x'; 70_000], 0o600), Err(SecretError::Length { .. })));
        assert!(matches!(Secret::read(&folder.path().join("no")), Err(SecretError::Read { .. })));
    }
}
