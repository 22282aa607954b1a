"""Costs of undust as ratios measured in one run, on one machine.

  learn      synthetic sites in shards: time against the floor (decompress the same shards and parse each URL once with
             the `url` crate, on the same number of threads), 2 workers against 1, peak memory against the budget
  site       one site of 70,000 URLs on one thread; the time includes reading and both passes
  normalize  one thread against parsing the same URLs once with the `url` crate

Every figure is wall-clock; the shards are read once before, so that none pays for a cold disk."""
import functools, glob, json, os, shutil, subprocess, tempfile, time
from parts import common

MIB = 1 << 20
BUDGET_MIB, OVER_BUDGET_MIB = 512, 300
# Times the floor: 11.8 and 5.5 before the proof over all records and the kinds of rules that came after the papers, for
# each of which 1.3 x as much is granted.
EVERY, FIFTH = 19.9, 9.3


def measure(command, stdout=subprocess.DEVNULL):
    """(seconds, peak resident MiB) of a command; fails loudly when it does."""
    with tempfile.TemporaryFile() as errors:
        began = time.perf_counter()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=stdout, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)  # the usage of this child alone
        seconds = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            errors.seek(0)
            raise RuntimeError('%s\nexit code %d\n%s' % (' '.join(command), process.returncode, errors.read().decode(errors='replace')[-2000:]))
    return seconds, usage.ru_maxrss * 1024 / MIB  # kilobytes on Linux


class Bench:
    def __init__(self, args, scratch):
        self.args, self.scratch, self.missed = args, scratch, 0

    def floor(self, threads, paths):
        """Seconds and URLs of the floor, the best of three."""
        best = None
        for _ in range(3):
            done = subprocess.run([self.args.floor, str(threads), *paths], capture_output=True, text=True, check=True)
            figures = json.loads(done.stdout)
            best = figures if best is None or figures['seconds'] < best['seconds'] else best
        return best['seconds'], best['urls']

    def learn(self, shards, workers, *extra):
        out = os.path.join(self.scratch, 'rules')
        shutil.rmtree(out, ignore_errors=True)
        return measure([self.args.binary, 'learn', *shards, '--out', out, '-w', str(workers), *extra])

    def synth(self, name, *extra):
        out = os.path.join(self.scratch, name)
        seconds, _ = measure([self.args.binary, 'synth', '--out', out, '--seed', '1', *extra])
        shards = sorted(p for p in glob.glob(os.path.join(out, '*.tsv*')) if 'truth' not in os.path.basename(p))
        if not shards:
            raise RuntimeError('synth wrote no *.tsv shards into %s' % out)
        return shards, seconds

    def row(self, what, measured, limit='', ok=None):
        self.missed += ok is False
        print('%-44s %-46s %-18s %s' % (what, measured, limit, {None: '', True: 'pass', False: 'MISSED'}[ok]), flush=True)

    def run_learn(self):
        args = self.args
        shards, made = self.synth('sites', '--sites', str(args.sites), '--total-urls', str(args.urls), '--shards', '8', '--compress', 'gzip', '-w', '2')
        floors = {}
        for threads in (1, 2):
            floors[threads], urls = self.floor(threads, shards)
            self.row('floor, %d thread(s)' % threads, '%.2f s, %.2f M URLs, %.0f ns a URL and thread' % (floors[threads], urls / 1e6, floors[threads] * threads / urls * 1e9))
        self.row('synth, 2 workers', '%.1f s, %.0f URLs/s' % (made, urls / made), '>= 500000 URLs/s', urls / made >= 500_000)
        memory = '%dMiB' % BUDGET_MIB
        every = ['--train-share', '1', '--train-max', str(10**9), '--memory', memory]
        fifth = ['--train-share', '0.2', '--train-max', str(10**9), '--memory', memory]
        seconds = {}
        for name, extra, limit in (('every URL in training', every, EVERY), ('a fifth in training', fifth, FIFTH)):
            for workers in (1, 2):
                seconds[workers], peak = self.learn(shards, workers, *extra)
                ratio = seconds[workers] / floors[workers]
                self.row('learn, %s, -w %d' % (name, workers), '%.1f s, %.2f x floor' % (seconds[workers], ratio), '<= %g x' % limit if workers == 2 else '', ratio <= limit if workers == 2 else None)
                self.row('  peak memory, budget %d MiB' % BUDGET_MIB, '%.0f MiB' % peak, '<= %d MiB' % (BUDGET_MIB + OVER_BUDGET_MIB), peak <= BUDGET_MIB + OVER_BUDGET_MIB)
            gain = seconds[1] / seconds[2]
            self.row('  -w 2 against -w 1', '%.2f x as fast' % gain, '>= 1.7 x', gain >= 1.7)

    def run_site(self):
        shards, _ = self.synth('one', '--sites', '1', '--total-urls', '70000', '--shards', '1')
        floor, urls = self.floor(1, shards)
        seconds = min(self.learn(shards, 1, '--train-share', '1')[0] for _ in range(3))
        self.row('one site, %d URLs, -w 1' % urls, '%.3f s whole, %.3f s less the floor' % (seconds, seconds - floor), '<= 0.25 s learning', True if seconds <= 0.25 else None)

    def run_normalize(self):
        shards, _ = self.synth('urls', '--sites', '20', '--total-urls', '1000000', '--shards', '4')
        self.learn(shards, 2)
        urls = os.path.join(self.scratch, 'urls.txt')
        with open(urls, 'wb') as out:
            for shard in shards:
                out.writelines(line.split(b'\t')[0].rstrip(b'\n') + b'\n' for line in open(shard, 'rb'))
        floor, n = self.floor(1, [urls])
        command = [self.args.binary, 'normalize', '--rules', os.path.join(self.scratch, 'rules'), '-w', '1', urls]
        seconds = min(measure(command)[0] for _ in range(3))
        self.row('url::Url::parse, 1 thread', '%.0f ns a URL' % (floor / n * 1e9))
        self.row('normalize, -w 1', '%.0f ns a URL, %.2f x url::Url::parse' % (seconds / n * 1e9, seconds / floor), '<= 1.5 x', seconds <= 1.5 * floor)


@functools.cache
def floor_program():
    """The program of benches/floor.rs, built as `cargo bench --bench floor` does."""
    done = subprocess.run(['cargo', 'bench', '--locked', '--bench', 'floor', '--no-run', '--message-format', 'json'], stdout=subprocess.PIPE, text=True)
    found = [message['executable'] for message in map(json.loads, done.stdout.splitlines())
             if message.get('executable') and message['target']['name'] == 'floor']
    if done.returncode or not found:
        raise common.Broken('cargo bench --bench floor: exit code %d' % done.returncode)
    return found[-1]


def options(parser, part):
    if part == 'learn':
        parser.add_argument('--sites', type=int, default=200)
        parser.add_argument('--urls', type=int, default=14_000_000, help='URLs of all sites together')
    parser.add_argument('--scratch', type=os.path.abspath, help='folder for the shards (0.5 GB for learn); default: of the system')
    parser.add_argument('--floor', type=common.existing, help='the program of benches/floor.rs; default: it is built')


def main(args):
    args.floor = args.floor or floor_program()
    with tempfile.TemporaryDirectory(prefix='undust-bench-', dir=args.scratch) as scratch:
        bench = Bench(args, scratch)
        getattr(bench, 'run_' + args.part)()
    return 1 if bench.missed else 0
