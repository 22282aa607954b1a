"""What parts of scripts/accept and scripts/bench share: folders, programs, how a part says that it was skipped."""
import argparse, contextlib, fcntl, os, pathlib, shutil, subprocess, sys, tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TARGET = pathlib.Path(os.environ.get('CARGO_TARGET_DIR') or ROOT / 'target').absolute()
SAMPLE = ROOT / 'tests' / 'data' / 'kb-sample.jsonl.gz'
ENVIRONMENT = TARGET / 'checks-venv'
CHROMIUMS = ('chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable')
# What the part that runs did not check, for the table at the end.
left_out = []
# Exit code of a process that a signal told to end: no part goes on then.
TERMINATED = 143


class Skipped(Exception):
    """A part cannot run here: nothing was checked, nothing failed."""


class Broken(Exception):
    """A program that parts need cannot be built."""


def existing(text):
    """A path on the command line, which must be there."""
    if not os.path.exists(text):
        raise argparse.ArgumentTypeError('%s is not there' % text)
    return os.path.abspath(text)


def skip(what):
    """Says aloud that a part of a part was not checked; the table at the end repeats it."""
    print('SKIPPED: %s' % what, file=sys.stderr, flush=True)
    left_out.append(what)


@contextlib.contextmanager
def scratch(keep, name):
    """The folder `keep`, made where it is absent, or a temporary one, which is removed however its use ends."""
    if keep:
        pathlib.Path(keep).mkdir(parents=True, exist_ok=True)
        yield pathlib.Path(keep)
        return
    with tempfile.TemporaryDirectory(prefix=name + '-') as made:
        yield pathlib.Path(made)


def ended(failures):
    """Prints the failures; gives the exit code."""
    for failure in failures:
        print('FAIL ' + failure)
    return 1 if failures else 0


def cargo(*words):
    """Builds; what cargo says goes to standard error."""
    command = ['cargo', *map(str, words)]
    try:
        code = subprocess.run(command, stdout=sys.stderr).returncode
    except OSError as error:
        raise Broken('cargo: %s' % error) from None
    if code:
        raise Broken('%s: exit code %d' % (' '.join(command), code))


def built(profile):
    """undust, built in a profile of cargo."""
    cargo('build', '--profile', profile, '--locked', '--bin', 'undust')
    return TARGET / ('debug' if profile == 'dev' else profile) / 'undust'


def peer_program(name):
    """The program of a crate of its own in scripts/, always optimized."""
    folder = TARGET / name
    cargo('build', '--release', '--locked', '--manifest-path', ROOT / 'scripts' / name / 'Cargo.toml', '--target-dir', folder)
    return folder / 'release' / name


def pip(*words):
    """Installs with pip of the Python that runs; RuntimeError with the last line it said where it cannot."""
    done = subprocess.run([sys.executable, '-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', *map(str, words)],
                          capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError('pip install %s: %s' % (' '.join(map(str, words)), (done.stderr.strip() or 'nothing said').splitlines()[-1]))


def environment(packages):
    """Python of the one virtual environment of all parts, which is made, or gets what it lacks."""
    python, note = ENVIRONMENT / 'bin' / 'python', ENVIRONMENT / 'installed'
    TARGET.mkdir(parents=True, exist_ok=True)
    with open(ENVIRONMENT.with_suffix('.lock'), 'w') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with contextlib.suppress(OSError, subprocess.CalledProcessError):
            # Of another Python than the one that runs, or of one that is gone: made again.
            said = subprocess.run([python, '-c', 'import sys; print(sys.version)'], capture_output=True, text=True, check=True).stdout
            if said.strip() != sys.version:
                note.unlink(missing_ok=True)
        if not note.exists():
            done = subprocess.run([sys.executable, '-m', 'venv', '--clear', str(ENVIRONMENT)], capture_output=True, text=True)
            if done.returncode:
                raise RuntimeError('python3 -m venv: %s' % (done.stdout + done.stderr).strip()[-300:])
            note.write_text('')
        there = note.read_text().splitlines()
        lacking = sorted(set(packages) - set(there))
        if lacking:
            print('installs %s into %s' % (', '.join(lacking), ENVIRONMENT), file=sys.stderr, flush=True)
            command = [python, '-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', *lacking]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                raise RuntimeError('pip cannot install %s: %s' % (', '.join(lacking), (done.stderr.strip() or 'nothing said').splitlines()[-1]))
            note.write_text(''.join(package + '\n' for package in sorted({*there, *lacking})))
    return python


def apart(name, *packages):
    """A folder of packages in versions that the environment cannot hold too, for PYTHONPATH of a program that uses them."""
    folder = TARGET / 'checks-apart' / name
    note = folder / 'installed'
    wanted = sys.version + '\n' + '\n'.join(packages)
    if not (note.exists() and note.read_text() == wanted):
        shutil.rmtree(folder, ignore_errors=True)
        pip('--target', folder, *packages)
        note.write_text(wanted)
    return folder


def chromium():
    """A Chromium of this machine, or one that playwright downloaded; None where there is none."""
    for name in CHROMIUMS:
        if shutil.which(name):
            return shutil.which(name)
    downloads = pathlib.Path(os.environ.get('PLAYWRIGHT_BROWSERS_PATH') or pathlib.Path.home() / '.cache' / 'ms-playwright')
    found = sorted(downloads.glob('chromium-*/chrome-linux*/chrome'))
    return str(found[-1]) if found else None
