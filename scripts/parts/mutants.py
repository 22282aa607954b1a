"""Mistakes planted in the applier, which the tests of the rules must catch: those of mutants.toml, and others that
cargo-mutants lists for the files of scripts/applier-lines, drawn by a seed.

Each mistake is planted alone in a copy of the working tree, which has its own build folder; with --keep both stay, and
the next run builds less. The tests of the library are built, then run until one fails: first the compiled applier
against the reference interpreter on few pairs, then the other tests of `rules::`, then the comparison on all pairs. A run
that takes far longer than without a mutant, or more than 8 GiB, counts as caught. Prints a line a mutant: caught and by
which test, does not build, equivalent (it survived and mutants.toml has the reason), or SURVIVED.

Missed where a mutant survives without a reason, where one with a reason is caught, and where one of mutants.toml does
not build. Without --hand, --drawn and --only: all of mutants.toml, and 100 drawn ones."""
import collections, json, os, pathlib, random, re, resource, shutil, subprocess, time
from parts.common import ROOT, Broken, ended, scratch, skip

LIST = pathlib.Path(__file__).with_suffix('.toml')
EQUALITY = 'rules::equality_tests::the_compiled_applier_equals_the_interpreter'
DRAWN = 100
# Runs of the tests, cheapest first.
RUNS = ('few pairs', 'others', 'all pairs')
# Most memory of a test process, in bytes.
MEMORY = 8 << 30
# Part of a test process's output by which a failed test is named.
FAILED = re.compile(r'^test (\S+) \.\.\. FAILED$|^thread \'(\S+)\' .*panicked at', re.MULTILINE)


def options(parser, _):
    parser.add_argument('--hand', action='store_true', help='the mutants of mutants.toml')
    parser.add_argument('--drawn', type=int, metavar='N', help='so many mutants of cargo-mutants (default: %d)' % DRAWN)
    parser.add_argument('--seed', type=int, default=1, metavar='S', help='draws them (default: 1)')
    parser.add_argument('--only', action='append', metavar='NAME', help='this mutant, as a line of the output names it; may be given several times')
    parser.add_argument('--pairs', type=int, default=20000, metavar='N', help='pairs of the first run (default: 20000)')


class Mutant:
    """A text of a file that another one replaces, as positions in the file."""

    def __init__(self, name, file, start, end, becomes, equivalent, drawn):
        self.name, self.file, self.start, self.end, self.becomes = name, file, start, end, becomes
        self.equivalent, self.drawn = equivalent, drawn

    def planted(self, text):
        return text[:self.start] + self.becomes + text[self.end:]


def listed():
    """mutants.toml."""
    try:
        import tomllib
    except ImportError:
        raise RuntimeError('reading mutants.toml needs Python 3.11') from None
    with open(LIST, 'rb') as file:
        return tomllib.load(file)


def by_hand(rows):
    mutants, names = [], collections.Counter(row['name'] for row in rows)
    for row in rows:
        text = (ROOT / row['file']).read_text(encoding='utf-8')
        if names[row['name']] > 1 or text.count(row['text']) != 1:
            raise RuntimeError('mutants.toml: %s: %s' % (row['name'], 'a name of several' if names[row['name']] > 1 else
                               'its text is %d times in %s' % (text.count(row['text']), row['file'])))
        start = text.index(row['text'])
        mutants.append(Mutant(row['name'], row['file'], start, start + len(row['text']), row['becomes'], row.get('equivalent'), False))
    return mutants


def applier():
    """Files of the applier."""
    done = subprocess.run([ROOT / 'scripts' / 'applier-lines'], capture_output=True, text=True)
    files = re.findall(r'^ *\d+  (src/\S+\.rs)$', done.stdout, re.MULTILINE)
    if not files:
        raise RuntimeError('scripts/applier-lines: %s' % (done.stdout + done.stderr)[-800:])
    return files


def by_cargo(rows):
    """All mutants that cargo-mutants has for the applier, in the order of their places."""
    program = shutil.which('cargo-mutants')
    words = [word for file in applier() for word in ('--file', file)]
    done = subprocess.run([program, 'mutants', '--list', '--json', '--no-config', *words], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError('cargo mutants --list: %s' % done.stderr[-800:])
    reasons = {(row['file'], row['mutant'], row['line']): row['equivalent'] for row in rows}
    mutants, used, texts = [], set(), {}
    for row in json.loads(done.stdout):
        file, span = row['file'], row['span']
        text = texts.setdefault(file, (ROOT / file).read_text(encoding='utf-8'))
        lines = text.splitlines(keepends=True)
        # Lines and columns from 1, in characters.
        start, end = (sum(map(len, lines[:at['line'] - 1])) + at['column'] - 1 for at in (span['start'], span['end']))
        becomes = row['replacement']
        first = (text[:start].rpartition('\n')[2] + becomes + text[end:].partition('\n')[0]).strip().partition('\n')[0]
        name = row['name'].partition(': ')[2]
        key = (file, name, first)
        used.add(key)
        mutants.append(Mutant(row['name'], file, start, end, becomes, reasons.get(key), True))
    for key in reasons:
        if key not in used:
            raise RuntimeError('mutants.toml: cargo-mutants lists no %s' % ', '.join(key))
    return sorted(mutants, key=lambda mutant: (mutant.file, mutant.start, mutant.end, mutant.becomes))


def copied(to):
    """Copies the working tree, without what git ignores."""
    shutil.rmtree(to, ignore_errors=True)
    names = subprocess.run(['git', 'ls-files', '-z', '--cached', '--others', '--exclude-standard'], cwd=ROOT, check=True, capture_output=True).stdout
    for name in filter(None, os.fsdecode(names).split('\0')):
        if (ROOT / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            # With the time of now: cargo must not take the build of a mutant before for this one.
            shutil.copyfile(ROOT / name, to / name)


class Tests:
    """Builds and runs the tests of the library in a copy of the working tree."""

    def __init__(self, folder, pairs):
        self.source, self.target, self.pairs = folder / 'source', folder / 'target', pairs
        # Of each run without a mutant: how long it took.
        self.usual = {}
        copied(self.source)
        if (binary := self.built(True)) is None:
            raise Broken('the library does not build without a mutant')
        for run in RUNS:
            began = time.monotonic()
            if (failed := self.failed(binary, run)) is not None:
                raise RuntimeError('fails without a mutant: %s' % failed)
            self.usual[run] = time.monotonic() - began

    def built(self, loud=False):
        """The test program, or None where it does not build."""
        command = ['cargo', 'test', '--lib', '--locked', '--no-run', '--quiet', '--message-format', 'json']
        done = subprocess.run(command, cwd=self.source, env=dict(os.environ, CARGO_TARGET_DIR=str(self.target), CARGO_INCREMENTAL='1'),
                              stdout=subprocess.PIPE, stderr=None if loud else subprocess.DEVNULL, text=True)
        rows = map(json.loads, filter(lambda line: line.startswith('{'), done.stdout.splitlines()))
        found = [row['executable'] for row in rows if row.get('executable') and row['profile']['test']]
        return found[-1] if done.returncode == 0 and found else None

    def failed(self, binary, run):
        """What failed, or None."""
        words = ['rules::', '--skip', EQUALITY] if run == 'others' else ['--exact', EQUALITY]
        # Backtraces would take longer than the tests.
        env = dict(os.environ, RUST_BACKTRACE='0', **({'UNDUST_EQUALITY_PAIRS': str(self.pairs)} if run == 'few pairs' else {}))
        limit = 60 + 8 * self.usual.get(run, 600)
        try:
            done = subprocess.run([binary, *words], cwd=self.source, env=env, capture_output=True, timeout=limit,
                                  preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)))
        except subprocess.TimeoutExpired:
            return '%s: over %.0f s' % (run, limit)
        if done.returncode == 0:
            return None
        said = (done.stdout + done.stderr).decode('utf-8', 'replace')
        names = dict.fromkeys(one or other for one, other in FAILED.findall(said))
        names = [name for name in names if name.startswith('rules::')]
        return ', '.join(names[:2]) + (' and %d more' % (len(names) - 2) if len(names) > 2 else '') if names else 'exit code %d' % done.returncode

    def result(self, mutant):
        """(what became of a mutant, by which test)."""
        path = self.source / mutant.file
        text = path.read_text(encoding='utf-8')
        path.write_text(mutant.planted(text), encoding='utf-8')
        try:
            binary = self.built()
            if binary is None:
                return 'does not build', ''
            failed = next(filter(None, (self.failed(binary, run) for run in RUNS)), None)
        finally:
            path.write_text(text, encoding='utf-8')
        if failed:
            return 'caught', failed
        return ('equivalent', mutant.equivalent) if mutant.equivalent else ('SURVIVED', '')


def chosen(args):
    """The mutants of the options."""
    rows = listed()
    everything = not (args.hand or args.drawn is not None or args.only)
    mutants = by_hand(rows['mutant'])
    names = {mutant.name for mutant in mutants}
    taken = [mutant for mutant in mutants if everything or args.hand or mutant.name in (args.only or ())]
    others = set(args.only or ()) - names
    if everything or args.drawn or others:
        if not shutil.which('cargo-mutants'):
            if others:
                raise RuntimeError('no mutant of mutants.toml: %s; others need cargo-mutants' % ', '.join(sorted(others)))
            skip('drawn mutants: no cargo-mutants: `cargo install cargo-mutants --locked`')
            return taken
        every = by_cargo(rows.get('drawn', []))
        if everything or args.drawn:
            taken += random.Random(args.seed).sample(every, min(len(every), DRAWN if everything else args.drawn))
        taken += [mutant for mutant in every if mutant.name in others]
        if unknown := others - {mutant.name for mutant in every}:
            raise RuntimeError('no such mutant: %s' % ', '.join(sorted(unknown)))
    return taken


def main(args):
    mutants = chosen(args)
    counts, failures, began = collections.Counter(), [], time.monotonic()
    with scratch(args.keep, 'accept-mutants') as out:
        tests = Tests(out.resolve(), args.pairs)
        print('without a mutant: %.0f s' % (time.monotonic() - began), flush=True)
        began = time.monotonic()
        for mutant in mutants:
            started = time.monotonic()
            result, by = tests.result(mutant)
            counts[result] += 1
            print('%-14s %s%s (%.0f s)' % (result, mutant.name, ': ' + by if by else '', time.monotonic() - started), flush=True)
            if result == 'SURVIVED':
                failures.append('survived: %s' % mutant.name)
            elif result == 'caught' and mutant.equivalent and ': over ' not in by:
                failures.append('caught, but has a reason why no test can: %s' % mutant.name)
            elif result == 'does not build' and not mutant.drawn:
                failures.append('does not build: %s' % mutant.name)
    shown = ', '.join('%d %s' % (count, result) for result, count in counts.most_common())
    print('%d mutants: %s; %.0f s each' % (len(mutants), shown, (time.monotonic() - began) / max(len(mutants), 1)))
    return ended(failures)
