//! The secret that the processes of a run share: a file, never an argument.
//!
//! `undust secret` makes 32 random bytes, written as `undust-secret-1:` and 64 hexadecimal digits;
//! these are the key material as they are. Any other text may be guessable, and one recorded handshake
//! is enough to test guesses without the processes: it is stretched with Argon2id, so that each guess
//! costs [`MEMORY_KIB`] of memory and some 100 ms.

use snow::params::HashChoice;
use snow::resolvers::{CryptoResolver, DefaultResolver};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// Fewest bytes of a secret.
pub const MIN_BYTES: usize = 32;
/// Fewest different bytes of a secret: 32 random digits have fewer once in ten million, a repeated word
/// has them often.
const MIN_DIFFERENT: usize = 6;
/// Most bytes of a secret: a file that is longer is another file.
const MAX_BYTES: u64 = 1 << 16;
/// First bytes of a secret made by [`create`].
const PREFIX: &str = "undust-secret-1:";
/// Argon2id for other secrets: the second recommended setting of RFC 9106 (64 MiB, 3 passes), with one
/// lane.
const MEMORY_KIB: u32 = 64 << 10;
const PASSES: u32 = 3;
/// Salt of the stretching. All processes must derive the same key from the file alone, so it is fixed.
const SALT: &[u8] = b"undust mesh secret 2";

/// Why a secret cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// The file cannot be read.
    #[error("secret file {}: cannot read: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// The file cannot be made.
    #[error("secret file {}: cannot write: {source}; check the folder, and name a file that is not there: a secret never replaces one", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Error of the system.
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
    /// The file belongs to another user, who could change it.
    #[error(
        "secret file {}: belongs to user {owner}, not to this one ({user}) or root; run: chown {user} {}",
        path.display(), path.display()
    )]
    Owner {
        /// The file.
        path: PathBuf,
        /// Its owner.
        owner: u32,
        /// The user of this process.
        user: u32,
    },
    /// The file is too short or too long to be a secret.
    #[error(
        "secret file {}: {bytes} bytes; a secret has at least {MIN_BYTES} and at most {MAX_BYTES}: make one with \
         `undust secret --out FILE`", path.display()
    )]
    Length {
        /// The file.
        path: PathBuf,
        /// Its length, without line ends at the end.
        bytes: u64,
    },
    /// The secret is easily guessed, or a damaged copy of one made by `undust secret`.
    #[error("secret file {}: {what}: make one with `undust secret --out FILE`", path.display())]
    Weak {
        /// The file.
        path: PathBuf,
        /// Reason.
        what: &'static str,
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
    /// The secret in a file of this user or root with mode 0600 or stricter. Line ends at its end do not
    /// count, so that copying it by hand does not change it. Takes some 100 ms and 64 MiB for a secret that
    /// `undust secret` did not make.
    ///
    /// # Errors
    /// [`SecretError`].
    pub fn read(path: &Path) -> Result<Secret, SecretError> {
        let fail = |source| SecretError::Read { path: path.to_owned(), source };
        let file = File::open(path).map_err(fail)?;
        if file.metadata().map_err(fail)?.is_dir() {
            return Err(fail(io::ErrorKind::IsADirectory.into()));
        }
        // Metadata of the opened file: the name may be that of another one by now.
        check_access(path, &file)?;
        let mut bytes = Vec::new();
        file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(fail)?;
        let end = bytes.iter().rposition(|b| !matches!(b, b'\r' | b'\n')).map_or(0, |last| last + 1);
        if end < MIN_BYTES || bytes.len() as u64 > MAX_BYTES {
            let bytes = if end < MIN_BYTES { end } else { bytes.len() } as u64;
            return Err(SecretError::Length { path: path.to_owned(), bytes });
        }
        Secret::of(&bytes[..end]).map_err(|what| SecretError::Weak { path: path.to_owned(), what })
    }

    /// Stands in where there is no secret: known to all. For loopback addresses only.
    pub fn none() -> Secret {
        Secret::hash(b"no secret")
    }

    /// The key of a secret's bytes.
    ///
    /// # Errors
    /// What makes the secret unusable.
    pub fn of(bytes: &[u8]) -> Result<Secret, &'static str> {
        if let Some(digits) = bytes.strip_prefix(PREFIX.as_bytes()) {
            let whole = digits.len() == 64 && digits.iter().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
            return if whole { Ok(Secret::hash(digits)) } else { Err("is a damaged copy of a secret") };
        }
        if String::from_utf8_lossy(bytes).to_ascii_lowercase().contains(PREFIX) {
            return Err("is a damaged copy of a secret");
        }
        let mut different = bytes.to_vec();
        different.sort_unstable();
        different.dedup();
        if different.len() < MIN_DIFFERENT {
            return Err("has fewer than 6 different letters and is easily guessed");
        }
        let params = argon2::Params::new(MEMORY_KIB, PASSES, 1, Some(32)).map_err(|_| "cannot be stretched")?;
        let argon2 = argon2::Argon2::new(argon2::Algorithm::Argon2id, argon2::Version::V0x13, params);
        let mut key = [0; 32];
        argon2.hash_password_into(bytes, SALT, &mut key).map_err(|_| "cannot be stretched")?;
        Ok(Secret(key))
    }

    /// BLAKE2s of the bytes, with a name before them.
    fn hash(bytes: &[u8]) -> Secret {
        let mut hash = DefaultResolver.resolve_hash(&HashChoice::Blake2s).expect("built with blake2");
        hash.input(b"undust mesh secret 2\0");
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

/// The text of a new secret: 32 bytes of the system's random numbers.
///
/// # Errors
/// What the system says where it has none.
pub fn generate() -> io::Result<String> {
    let mut bytes = [0; 32];
    let random = DefaultResolver.resolve_rng().ok_or(io::ErrorKind::Unsupported)?.try_fill_bytes(&mut bytes);
    random.map_err(io::Error::other)?;
    Ok(bytes.iter().fold(PREFIX.to_owned(), |text, byte| format!("{text}{byte:02x}")))
}

/// Writes a new secret to a file that is not there yet, with mode 0600.
///
/// # Errors
/// [`SecretError::Write`]; the file is then not there, or is what it was.
pub fn create(path: &Path) -> Result<(), SecretError> {
    let fail = |source| SecretError::Write { path: path.to_owned(), source };
    let text = generate().map_err(fail)?;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path).map_err(fail)?;
    let written = file.write_all(format!("{text}\n").as_bytes()).and_then(|()| file.sync_all());
    written.map_err(|error| {
        let _ = fs::remove_file(path);
        fail(error)
    })
}

/// Refuses a file that other users may read, or that belongs to one.
#[cfg(unix)]
fn check_access(path: &Path, file: &File) -> Result<(), SecretError> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let meta = file.metadata().map_err(|source| SecretError::Read { path: path.to_owned(), source })?;
    let mode = meta.permissions().mode() & 0o7777;
    if mode & 0o077 != 0 {
        return Err(SecretError::Mode { path: path.to_owned(), mode });
    }
    let (owner, user) = (meta.uid(), rustix::process::geteuid().as_raw());
    if owner != user && owner != 0 {
        return Err(SecretError::Owner { path: path.to_owned(), owner, user });
    }
    Ok(())
}

#[cfg(not(unix))]
fn check_access(_: &Path, _: &File) -> Result<(), SecretError> {
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    const LONG: &[u8] = b"correct horse battery staple, and then some";

    #[test]
    fn secrets_are_private_and_long() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("secret");
        let write = |bytes: &[u8], mode: u32| {
            fs::write(&path, bytes).expect("written");
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("set");
            Secret::read(&path)
        };
        let one = write(LONG, 0o600).expect("a secret");
        let with_line_end = write(&[LONG, b"\r\n"].concat(), 0o600).expect("a secret");
        assert_eq!(one.key(), with_line_end.key());
        assert_ne!(one.key(), Secret::none().key());
        assert_eq!(format!("{one:?}"), "Secret");
        for mode in [0o640, 0o604, 0o610] {
            let error = write(LONG, mode).expect_err("others may read it").to_string();
            assert!(error.contains("chmod 600"), "{error}");
        }
        assert!(matches!(write(&LONG[..31], 0o600), Err(SecretError::Length { bytes: 31, .. })));
        assert!(matches!(write(&[b'\n'; 64], 0o600), Err(SecretError::Length { bytes: 0, .. })));
        assert!(matches!(write(&LONG.repeat(2_000), 0o600), Err(SecretError::Length { .. })));
        assert!(matches!(Secret::read(&folder.path().join("no")), Err(SecretError::Read { .. })));
        for weak in [vec![b'x'; 40], b"abcab".repeat(9)] {
            let error = write(&weak, 0o600).expect_err("easily guessed").to_string();
            assert!(error.contains("easily guessed") && error.contains("undust secret"), "{error}");
        }
    }

    #[test]
    fn a_secret_of_another_user_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("secret");
        create(&path).expect("made");
        let user = rustix::process::geteuid().as_raw();
        if user != 0 {
            return; // Only root can give files away; .ci/run may run as anybody.
        }
        std::os::unix::fs::chown(&path, Some(65_534), None).expect("given away");
        let error = Secret::read(&path).expect_err("another owner").to_string();
        assert!(error.contains("belongs to user 65534") && error.contains("chown 0"), "{error}");
    }

    #[test]
    fn made_secrets_are_strong_private_and_used_as_they_are() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("secret");
        create(&path).expect("made");
        assert_eq!(fs::metadata(&path).expect("there").permissions().mode() & 0o777, 0o600);
        let text = fs::read_to_string(&path).expect("text");
        assert_eq!(text.len(), PREFIX.len() + 64 + 1);
        let secret = Secret::read(&path).expect("a secret");
        assert_eq!(secret.key(), Secret::of(text.trim_end().as_bytes()).expect("whole").key());
        assert!(matches!(create(&path), Err(SecretError::Write { .. })), "never replaced");
        assert_eq!(fs::read_to_string(&path).expect("text"), text);
        assert_ne!(generate().expect("random"), generate().expect("random"));
        let damaged = &text.trim_end()[..text.len() - 5];
        for damaged in [damaged.to_owned(), format!(" {}", text.trim_end()), text.trim_end().to_ascii_uppercase()] {
            assert!(Secret::of(damaged.as_bytes()).is_err(), "{damaged:?}");
        }
    }

    #[test]
    fn other_secrets_are_stretched() {
        // The same bytes through the reference implementation of Argon2id:
        // argon2 "undust mesh secret 2" -id -t 3 -k 65536 -p 1 -l 32 -r
        let key: String = Secret::of(LONG).expect("long enough").key().iter().map(|b| format!("{b:02x}")).collect();
        assert_eq!(key, "fdcacf8baa5f96d32b7fe5f4640408ecc9b3b81088eef882fe35f02acf93377b");
    }
}
