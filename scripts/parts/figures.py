"""The figures undust has to reach, in one table a part: measured, floor, goal, verdict.

  parity     saved share, recall and pair fpr on the labelled corpora by tools/parity.py; the published method beside
  synthetic  24 sites of tools/gen.py, trained on a random 20 % of their URLs, scored on all; clean and with label noise
  fetchable  of the rewritten test URLs, those whose canonical URL the whole corpus file holds: as it is, up to equal
             origins, and up to parameters that are left out (the path, and all parameters of the canonical URL); and
             canonical URLs with a parameter that a rule leaves out of every URL but for pages that are exceptions of it
  churn      learned on the first half and on the last two thirds of a corpus (shuffled, three times): of the URLs whose
             group of duplicates is the same set under both, those with another canonical URL, least to most; then the
             second time with --previous and the first result
  evaluate   `undust evaluate --one-site --json` against tools/score.py
  proof      of --planted mistakes in learned rules those that `undust prove` refuses, and rules of synthetic sites without
             noise that the proof withdraws or narrows: see proof.py; --seed chooses other mistakes
  platforms  lines of recognised programs on samples of 0 to 500 URLs, each line alone, and wrong programs: see
             platforms.py
  samples    rules of 50 to 500 URLs in whole clusters on the rest of each corpus: see samples.py

The scorer is not ours: tools/ of the data folder."""
import atexit, functools, gzip, hashlib, json, math, os, random, shutil, subprocess, sys, tempfile, time
from parts import common, platforms, proof, samples

# Corpus: (floor, goal); floor = saved, recall, pair fpr; goal = saved, recall.
CORPORA = {
    'phpbb-forum': ((0.988, 0.999, 0.01), (0.995, 0.9995)),
    'university': ((0.507, 0.999, 0.01), (0.65, 0.9995)),
    'government-redirects': ((0.150, 0.999, 0.01), (0.25, 0.999)),
    'crawl-kb': ((0.902, 0.999, 0.01), (0.965, 0.9995)),
    'crawl-docs': ((0.908, 0.994, 0.01), (0.97, 0.999)),
    'crawl-blog': ((0.952, 0.999, 0.01), (0.975, 0.9995)),
    'crawl-forum': ((0.548, 0.999, 0.01), (0.85, 0.999)),
    'crawl-photos': ((0.655, 0.995, 0.02), (0.80, 0.998)),
    'crawl-bugs': ((0.883, 0.998, 0.01), (0.93, 0.998)),
    'crawl-store': ((0.969, 0.997, 0.01), (0.974, 0.998)),
    'crawl-lists': ((0.746, 0.999, 0.01), (0.80, 0.999)),
}
METHODS = [
    ('undust', []),
    ('published naive', ['--method', 'published', '--selection', 'naive']),
    ('published graph', ['--method', 'published', '--selection', 'graph']),
]
# Name, arguments of gen.py, least compression as a share of the oracle's, highest fpr.
SYNTHETIC = [('24 sites', [], 0.97, 0.001), ('24 sites, noise', ['--noise', '0.05', '--split', '0.05'], 0.93, 0.01)]
TRAIN_SHARE, TRAIN_SEED = 0.2, 7
# Of the rewritten URLs: least share that is listed up to equal origins and parameters that are left
# out. It is the share that was listed as it is when members that were seen were part of the rule
# files.
FETCHABLE = {
    'phpbb-forum': 0.998, 'university': 0.390, 'government-redirects': 0.867, 'crawl-forum': 0.710, 'crawl-kb': 0.873,
    'crawl-docs': 0.761, 'crawl-blog': 0.882, 'crawl-photos': 0.712, 'crawl-bugs': 0.877, 'crawl-store': 0.807, 'crawl-lists': 0.699,
}
FETCH_BAD = 0.002
# Most churn of crawl-*, without and with --previous, in the worst of these shuffles: one says little,
# since a rule that one sample proves and the other does not moves all URLs that it rewrites.
CHURN, CHURN_PREVIOUS, CHURN_SEEDS = 0.02, 0.003, (1, 2, 3)
TOLERANCE = 1e-9
# Planted mistakes that may survive and true rules that may go, in hundredths.
SURVIVORS, WITHDRAWN = 1, 1


def run(command, env=None):
    done = subprocess.run(command, capture_output=True, text=True, encoding='utf-8', errors='surrogateescape', env=env)
    if done.returncode:
        raise RuntimeError('%s: exit code %d\n%s' % (' '.join(command[:3]), done.returncode, done.stderr[-800:]))
    return done.stdout


class Table:
    """Rows as they come; they are shown at the end, and on standard error meanwhile."""

    HEAD = ('part', 'subject', 'method', 'measured', 'floor', 'goal', 'verdict')

    def __init__(self):
        self.rows, self.failed = [], 0

    def add(self, part, subject, method, measured, floor='', goal='', verdict=''):
        self.rows.append((part, subject, method, measured, floor, goal, verdict))
        self.failed += verdict.startswith('FAIL')
        print(' | '.join(x for x in self.rows[-1] if x), file=sys.stderr, flush=True)

    def show(self):
        """Prints all rows; the exit code."""
        width = [max(len(r[i]) for r in [self.HEAD, *self.rows]) for i in range(len(self.HEAD))]
        for row in [self.HEAD, *self.rows]:
            print('  '.join(x.ljust(w) for x, w in zip(row, width)).rstrip())
        if self.failed:
            print('%d row(s) under their floor' % self.failed)
        return 1 if self.failed else 0


class House:
    """The binary, the shared tools and a scratch folder."""

    def __init__(self, binary, shared, scratch):
        self.binary, self.scratch = binary, scratch
        self.tools, self.corpora = os.path.join(shared, 'tools'), os.path.join(shared, 'corpora')
        sys.path.insert(0, self.tools)
        import numpy, pandas, score
        self.np, self.pd, self.score = numpy, pandas, score
        self.mapped = {}

    def corpus(self, name):
        return os.path.join(self.corpora, name + '.jsonl.gz')

    def records(self, name):
        """Labelled records of a corpus, the first of each URL, in file order."""
        seen, out = set(), []
        for line in gzip.open(self.corpus(name), 'rt', encoding='utf-8'):
            record = json.loads(line)
            if record.get('cluster') is not None and record['url'] not in seen:
                seen.add(record['url'])
                out.append(record)
        return out

    def learn(self, train, rules, *arguments):
        began = time.time()
        run([self.binary, 'learn', train, '--out', rules, *arguments])
        return time.time() - began

    def normalize(self, urls, rules):
        """Canonical URL of each URL; the lines must come back in order."""
        path = os.path.join(self.scratch, 'urls.txt')
        with open(path, 'w', encoding='utf-8', newline='\n') as f:
            f.writelines(u + '\n' for u in urls)
        out = run([self.binary, 'normalize', '--rules', rules, '--output', 'tsv', path])
        rows = [line.split('\t') for line in out.split('\n')[:-1]]
        if [r[0] for r in rows] != list(urls):
            raise RuntimeError('normalize did not keep the lines or their order')
        return [r[1] for r in rows]

    def is_exception(self, url, rules):
        """A rule is passed over for the page of this URL, which is known to differ."""
        return '\n  exception ' in run([self.binary, 'explain', '--rules', rules, url])

    def counts(self, urls, canonical, clusters):
        np = self.np
        codes = self.pd.factorize(np.array(clusters, dtype=object))[0]
        return self.score.counts(np.array(urls, dtype=object), np.array(canonical, dtype=object), codes)

    def parity_rules(self, name):
        """Learns on the training half of a corpus, once: (labelled records, folder of the rules)."""
        if name not in self.mapped:
            records, train = self.records(name), os.path.join(self.scratch, name + '.train.jsonl.gz')
            with gzip.open(train, 'wt', encoding='utf-8') as f:
                for r in filter(trains, records):
                    f.write(json.dumps({k: r[k] for k in ('site', 'url', 'cluster') if k in r}) + '\n')
            rules = os.path.join(self.scratch, name + '.rules')
            self.learn(train, rules)
            self.mapped[name] = records, rules
        return self.mapped[name]


def trains(record):
    """Protocol of the corpora: URLs whose SHA-1 has an even first byte train, the others are scored."""
    return hashlib.sha1(record['url'].encode()).digest()[0] % 2 == 0


def verdict(missed):
    return 'FAIL ' + ', '.join(missed) if missed else 'pass'


def parity(house, table, args):
    corpora = args.corpus or CORPORA
    files = [house.corpus(name) for name in corpora]
    results = {}
    for method, extra in METHODS:
        out = os.path.join(house.scratch, 'parity.json')
        if os.path.exists(out):
            os.remove(out)
        arguments = [sys.executable, os.path.join(house.tools, 'parity.py'), house.binary, *files]
        if extra:
            arguments += ['--learn-args', ' '.join(extra)]
        print(run(arguments, dict(os.environ, PARITY_JSON=out)), file=sys.stderr)
        results[method] = json.load(open(out))['sites'] if os.path.exists(out) else {}
    for name in corpora:
        floor, goal = CORPORA[name]
        for method, _ in METHODS:
            r = results[method].get(name + '.jsonl.gz')
            if r is None:
                table.add('parity', name, method, 'no figures', verdict='FAIL learn or normalize')
                continue
            measured = 'saved %.4f rec %.4f fpr %.4f' % (r['saved_share'], r['rec'], r['fpr'])
            if method != 'undust':
                table.add('parity', name, method, measured)
                continue
            missed = [what for what, ok in (('saved', r['saved_share'] >= floor[0]), ('rec', r['rec'] >= floor[1]), ('fpr', r['fpr'] <= floor[2])) if not ok]
            reached = r['saved_share'] >= goal[0] and r['rec'] >= goal[1]
            table.add('parity', name, method, measured, 'saved %.3f rec %.4f fpr %.2f' % floor, 'saved %.3f rec %.4f%s' % (*goal, ': reached' if reached else ''), verdict(missed))


def synthetic(house, table, args):
    for name, extra, least, fpr_most in SYNTHETIC:
        folder = tempfile.mkdtemp(dir=house.scratch)
        run([sys.executable, os.path.join(house.tools, 'gen.py'), '--sites', '24', '--urls-min', '3000', '--urls-max', '30000', '--seed', '100', *extra, '--out', folder])
        per, seconds = [], 0.0
        for index, file in enumerate(sorted(f for f in os.listdir(folder) if f.endswith('.tsv.gz'))):
            rows = [line.rstrip('\n').split('\t') for line in gzip.open(os.path.join(folder, file), 'rt', encoding='utf-8', newline='\n')]
            train = os.path.join(folder, file + '.train.tsv')
            picked = random.Random(TRAIN_SEED * 1000 + index).sample(rows, round(TRAIN_SHARE * len(rows)))
            with open(train, 'w', encoding='utf-8', newline='\n') as f:
                f.writelines('%s\t%s\n' % (r[0], r[1]) for r in picked)  # the label a learner may see
            rules = os.path.join(folder, file + '.rules')
            seconds += house.learn(train, rules)
            urls = [r[0] for r in rows]
            per.append(house.counts(urls, house.normalize(urls, rules), [r[-1] for r in rows]))  # the last is the truth
        if len(per) != 24:
            raise RuntimeError('gen.py made %d sites instead of 24' % len(per))
        macro, micro = house.score.aggregate(per)
        share = [r['comp'] / r['oracle'] for r in (macro, micro)]
        fpr, worst = (macro['fpr'], micro['fpr']), max(house.score.rates(k)['fpr'] for k in per)
        missed = [what for what, ok in (('compression', min(share) >= least), ('fpr', max(fpr) <= fpr_most)) if not ok]
        measured = 'comp/oracle macro %.4f micro %.4f fpr macro %.5f micro %.5f worst %.4f rec %.4f (%.1f s)' % (*share, *fpr, worst, macro['rec'], seconds)
        table.add('synthetic', name, 'undust', measured, 'comp/oracle %.2f fpr %.3f' % (least, fpr_most), '', verdict(missed))


def behind_origin(url):
    """Path, query and fragment."""
    rest = url.split('://', 1)[-1]
    return rest[rest.find('/'):] if '/' in rest else '/'


def cut(url):
    """Path, and the parameters as a set; no fragment."""
    path, _, query = behind_origin(url).split('#')[0].partition('?')
    return path, frozenset(p for p in query.replace(';', '&').split('&') if p)


def left_out(rules):
    """Query keys that a rule without a condition leaves out, by name."""
    names = set()
    for line in list(open(os.path.join(rules, 'rules.jsonl'), encoding='utf-8'))[1:]:
        for rule in json.loads(line).get('rules', ()):
            if not rule['scope'] and not rule.get('closed'):
                names |= {key[len('query '):] for key, operation in rule['operations'] if key.startswith('query ') and operation == {'ignore': 'left-out'}}
    return names


def parameter_names(url):
    """Names of the query parameters of a URL as rules write them, `=` included where it is there."""
    query = url.split('#')[0].partition('?')[2]
    return {p.partition('=')[0] + ('=' if '=' in p else '') for p in query.split('&') if p}


def fetchable(house, table, args):
    for name in args.corpus or CORPORA:
        records, rules = house.parity_rules(name)
        listed = {r['url']: str(r['cluster']) for r in records}
        paths = {}
        for path, parameters in {cut(url) for url in listed}:
            paths.setdefault(path, []).append(parameters)
        tails = {behind_origin(url) for url in listed}
        test = [r for r in records if not trains(r)]
        canonical = house.normalize([r['url'] for r in test], rules)
        rewritten = [(str(r['cluster']), c) for r, c in zip(test, canonical) if c != r['url']]
        n = max(1, len(rewritten))
        same = sum(listed.get(c) == cluster for cluster, c in rewritten) / n
        other = sum(c in listed and listed[c] != cluster for cluster, c in rewritten) / n
        origins = sum(behind_origin(c) in tails for _, c in rewritten) / n
        kept = {c: any(cut(c)[1] <= parameters for parameters in paths.get(cut(c)[0], ())) for _, c in rewritten}
        parameters = sum(kept[c] for _, c in rewritten) / n
        names = left_out(rules)
        keeps = [c for r, c in zip(test, canonical) if parameter_names(c) & names and not house.is_exception(r['url'], rules)]
        for url in keeps[:3]:
            print('left-out key in %s' % url, file=sys.stderr)
        missed = [what for what, ok in (('listed', parameters >= FETCHABLE[name]), ('other', other < FETCH_BAD), ('left-out keys', not keeps)) if not ok]
        measured = 'as it is %.4f, up to origins %.4f, and left-out parameters %.4f; other cluster %.4f of %d; left-out keys in %d' % (same, origins, parameters, other, len(rewritten), len(keeps))
        table.add('fetchable', name, 'undust', measured, '%.3f other < %.3f' % (FETCHABLE[name], FETCH_BAD), '', verdict(missed))


def moved(urls, before, after):
    """(share with another canonical URL among URLs whose group is the same set, number of these)."""
    groups = [{}, {}]
    for members, made in zip(groups, (before, after)):
        for url, to in zip(urls, made):
            members.setdefault(to, set()).add(url)
    pairs = [(a, b) for a, b in zip(before, after) if groups[0][a] == groups[1][b]]
    return sum(a != b for a, b in pairs) / max(1, len(pairs)), len(pairs)


def moved_by(house, name, records, seed):
    """`moved` without --previous and with it, the records shuffled by a seed."""
    records = records[:]
    random.Random(seed).shuffle(records)
    n, urls = len(records), [r['url'] for r in records]
    train, old = os.path.join(house.scratch, 'churn.jsonl.gz'), os.path.join(house.scratch, '%s.%d.half' % (name, seed))
    canonical = []
    for part, rules, arguments in (
        (records[:n // 2], old, ()),
        (records[n // 3:], os.path.join(house.scratch, '%s.%d.rest' % (name, seed)), ()),
        (records[n // 3:], os.path.join(house.scratch, '%s.%d.previous' % (name, seed)), ('--previous', old)),
    ):
        with gzip.open(train, 'wt', encoding='utf-8', compresslevel=1) as f:
            f.writelines(json.dumps({k: r[k] for k in ('site', 'url', 'cluster') if k in r}) + '\n' for r in part)
        house.learn(train, rules, *arguments)
        canonical.append(house.normalize(urls, rules))
    return [moved(urls, canonical[0], later) for later in canonical[1:]]


def churn(house, table, args):
    for name in args.corpus or CORPORA:
        records = list(house.records(name))
        runs = [moved_by(house, name, records, seed) for seed in CHURN_SEEDS]
        alone, after = ([run[at][0] for run in runs] for at in (0, 1))
        measured = 'moved %.4f to %.4f of %d in equal groups; with --previous %.4f to %.4f' % (
            min(alone), max(alone), runs[0][0][1], min(after), max(after))
        floored = name.startswith('crawl-')
        missed = [what for what, ok in (('churn', max(alone) <= CHURN), ('churn with --previous', max(after) <= CHURN_PREVIOUS))
                  if floored and not ok]
        table.add('churn', name, 'undust', measured, '%.2f, %.3f' % (CHURN, CHURN_PREVIOUS) if floored else '', '', verdict(missed))


def differences(ours, theirs):
    """(largest difference, its key, keys that are missing or not comparable); null and nan are one."""
    worst, where, broken = 0.0, '', []
    for key, theirs_value in theirs.items():
        if key not in ours:
            broken.append(key)
            continue
        a, b = ours[key], float(theirs_value)
        a = math.nan if a is None else float(a)
        if math.isnan(a) or math.isnan(b):
            if math.isnan(a) != math.isnan(b):
                broken.append(key)
        elif abs(a - b) > worst:
            worst, where = abs(a - b), key
    return worst, where, broken


def site_rates(figures):
    """The rates of the only site in `sites`, which may be a list or an object, the rates in it flat or under `rates`."""
    sites = figures.get('sites')
    sites = list(sites.values()) if isinstance(sites, dict) else sites
    if not sites or len(sites) != 1:
        return None
    return sites[0].get('rates', sites[0])


def evaluate(house, table, args):
    for name in args.corpus or CORPORA:
        records, rules = house.parity_rules(name)
        out = os.path.join(house.scratch, name + '.figures.json')
        run([house.binary, 'evaluate', '--rules', rules, '--one-site', house.corpus(name), '--json', out, '--overwrite'])
        figures = json.load(open(out, encoding='utf-8'))
        urls = [r['url'] for r in records]
        rates = house.score.rates(house.counts(urls, house.normalize(urls, rules), [str(r['cluster']) for r in records]))
        worst, where, missed = 0.0, '', []
        for group, ours in (('micro', figures.get('micro')), ('macro', figures.get('macro')), ('site', site_rates(figures))):
            if not isinstance(ours, dict):
                missed.append('no `%s` in the output' % group)
                continue
            diff, key, broken = differences(ours, rates)
            missed += ['%s.%s' % (group, b) for b in broken]
            if diff > TOLERANCE:
                missed.append('%s.%s' % (group, key))
            if diff > worst:
                worst, where = diff, key
        table.add('evaluate', name, 'undust', 'largest difference %.1e %s' % (worst, where), '%.0e' % TOLERANCE, '', verdict(missed))


def proofs(house, table, args):
    """Mistakes that the proof must refuse, and rules that it must not."""
    folder = os.path.join(house.scratch, 'proof')
    paths = args.records or [house.corpus(name) for name in args.corpus or CORPORA] + made_for_proof(house, table, folder)
    grounds = [proof.Ground(house.binary, os.path.basename(path).split('.')[0], path, os.path.join(folder, 'ground%d' % n))
               for n, path in enumerate(paths)]
    kinds, survivors = proof.mutants(grounds, args.planted, args.seed, True)
    for kind, (planted, refused) in kinds.items():
        table.add('proof', kind, 'undust', '%d of %d refused' % (refused, planted))
    planted = sum(of[0] for of in kinds.values())
    table.add('proof', 'all kinds, seed %d' % args.seed, 'undust', '%d of %d survive' % (len(survivors), planted),
              'at most %d %%' % SURVIVORS, verdict='ok' if 100 * len(survivors) <= SURVIVORS * planted and planted >= args.planted else 'FAIL')


def made_for_proof(house, table, folder):
    """Files of the repository and of synthetic sites; adds what the proof takes from rules of sites without noise."""
    sample = str(common.SAMPLE.parent)
    paths = sorted(os.path.join(sample, name) for name in os.listdir(sample) if '.jsonl' in name or '.tsv' in name)
    withdrawn = rules = 0
    for seed in ('1', '2', '3'):
        out = os.path.join(folder, 'synthetic' + seed)
        run([house.binary, 'synth', '--sites', '40', '--total-urls', '80000', '--seed', seed, '--out', out])
        run([house.binary, 'learn', '-q', out, '--out', os.path.join(folder, 'learned' + seed)])
        with open(os.path.join(folder, 'learned' + seed, 'summary.json')) as text:
            total = json.load(text)['total']
        withdrawn, rules = withdrawn + total['withdrawn'] + total['narrowed'], rules + total['rules'] + total['withdrawn']
    share = 100 * withdrawn / max(1, rules)
    table.add('proof', 'synthetic, no noise', 'undust', '%d of %d rules withdrawn or narrowed' % (withdrawn, rules),
              'at most %d %%' % WITHDRAWN, verdict='ok' if share <= WITHDRAWN else 'FAIL')
    for seed in ('1', '2', '3'):
        shapes = os.path.join(folder, 'shapes' + seed)
        run([house.binary, 'synth', '--sites', '4', '--types', 'slugs,slugs-matter,titled,titled-matter,first-page,first-page-matter',
             '--urls-min', '4000', '--urls-max', '9000', '--decorations', 'none', '--seed', seed, '--per-site', '--out', shapes])
        for made, most in ((shapes, None), (os.path.join(folder, 'synthetic' + seed), 2)):
            shards = sorted(name for name in os.listdir(made) if '.tsv' in name or '.jsonl' in name)
            paths += [os.path.join(made, name) for name in shards[:most]]
    return paths


@functools.cache
def house_of(binary, shared, keep):
    """The house of all parts of a run, which learn on each corpus once."""
    if keep:
        os.makedirs(keep, exist_ok=True)
    scratch = tempfile.mkdtemp(prefix='undust-accept-', dir=keep)
    if not keep:
        atexit.register(shutil.rmtree, scratch, ignore_errors=True)
    return House(os.path.abspath(binary), shared, scratch)


PARTS = {
    'parity': parity, 'synthetic': synthetic, 'fetchable': fetchable, 'churn': churn, 'evaluate': evaluate, 'proof': proofs,
    'platforms': lambda house, table, args: platforms.platforms(house, table),
    'samples': lambda house, table, args: samples.samples(house, table, args.corpus or CORPORA, args.size or samples.SIZES),
}


def options(parser, part):
    if part != 'synthetic' and part != 'platforms':
        parser.add_argument('--corpus', action='append', choices=CORPORA, metavar='NAME', help='one of %s; may be given several times (default: all)' % ', '.join(CORPORA))
    if part == 'samples':
        parser.add_argument('--size', action='append', type=int, help='URLs of a sample; may be given several times (default: 50, 100, 200, 500)')
    if part == 'proof':
        parser.add_argument('--seed', type=int, default=1, help='draws the planted mistakes')
        parser.add_argument('--planted', type=int, default=500, help='number of planted mistakes')
        parser.add_argument('--records', action='append', type=os.path.abspath, metavar='FILE', help='records in JSON lines or TSV, plain or gzip, in place of all others')


def main(args):
    table = Table()
    try:
        PARTS[args.part](house_of(args.binary, args.shared, args.keep_all), table, args)
    except RuntimeError as error:
        table.add(args.part, '', 'undust', str(error).replace('\n', ' ')[:160], verdict='FAIL')
    return table.show()
