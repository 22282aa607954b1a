"""What undust merges wrongly on trap sites (`undust synth --types traps`), and on sites that need or tempt single
kinds of rules (`--types shapes`).

One site for each trap, of 2,000 and of 50,000 URLs, without decorations and with those drawn for it.
Rules are learned from all records and applied to all URLs; then learned from a random half of the
records and applied to the other half. By true cluster:

  saved  URLs saved rightly, as a share of those that can be saved: URLs less canonical URLs less
         clusters that have no canonical URL of their own, over URLs less clusters
  wrong  URLs outside the largest cluster of those with their canonical URL; none is allowed

Of the shapes that need a rule (not those named -matter) at least the share in LEAST must be saved."""
import collections, concurrent.futures, os, random, shutil, subprocess, sys
from parts.common import scratch

TRAPS = ('beyond', 'empty', 'keys-are-values', 'limit', 'login-renderings', 'releases', 'revisions', 'tenant-parameter')
SHAPES = ('families', 'separators', 'repeats', 'messages', 'zeros', 'hashes', 'tails', 'subpages', 'slugs', 'titled',
          'first-page', 'endings', 'joined', 'nested-queries', 'comma-lists', 'facets',
          'value-ends')
NAMES = (*TRAPS, *(shape + end for shape in SHAPES for end in ('', '-matter')))
# Least share saved; half of the messages of a page are mostly one number, which says nothing of the others.
LEAST = dict.fromkeys(SHAPES, .95) | {'messages': .1}
SIZES = (2_000, 50_000)
DECORATIONS = {'plain': ('--decorations', 'none'), 'drawn': ()}


def run(command, text=''):
    done = subprocess.run(command, input=text, capture_output=True, text=True, encoding='utf-8', errors='surrogateescape')
    if done.returncode:
        raise RuntimeError('%s: exit code %d\n%s' % (' '.join(command[:2]), done.returncode, done.stderr[-800:]))
    return done.stdout


def score(urls, canonical, clusters):
    """(saved share, wrong URLs as (URL, a URL of the largest cluster, canonical URL))."""
    groups = collections.defaultdict(lambda: collections.defaultdict(list))
    for url, to, cluster in zip(urls, canonical, clusters):
        groups[to][cluster].append(url)
    covered, wrong = set(), []
    for to, members in groups.items():
        largest = max(members, key=lambda cluster: (len(members[cluster]), cluster))
        covered.add(largest)
        wrong += [(url, members[largest][0], to) for cluster, mine in members.items() if cluster != largest for url in mine]
    possible, lost = len(urls) - len(set(clusters)), len(set(clusters)) - len(covered)
    return (len(urls) - len(groups) - lost) / max(1, possible), sorted(wrong)


class Trap:
    """One site and its folder."""

    def __init__(self, undust, folder, name, urls, decorations, seed):
        self.undust, self.folder = undust, folder
        made = os.path.join(folder, 'made')
        shutil.rmtree(made, ignore_errors=True)
        shape = ('--sites', '1', '--urls-min', str(urls), '--urls-max', str(urls), '--per-site', '--seed', str(seed))
        run([undust, 'synth', '--out', made, '--types', name, *shape, *DECORATIONS[decorations]])
        with open(os.path.join(made, 'site_0000.tsv'), encoding='utf-8') as lines:
            # URL, label, and the true cluster where labels differ from it.
            self.rows = [line.rstrip('\n').split('\t') for line in lines]

    def protocol(self, name, seed):
        """Learns and applies: what `score` returns."""
        train = scored = self.rows
        if name == 'half':
            rows = list(self.rows)
            random.Random(seed).shuffle(rows)
            train, scored = rows[:len(rows) // 2], rows[len(rows) // 2:]
        source, rules = os.path.join(self.folder, name + '.tsv'), os.path.join(self.folder, name + '.rules')
        with open(source, 'w', encoding='utf-8') as out:
            out.writelines('%s\t%s\n' % (row[0], row[1]) for row in train)
        shutil.rmtree(rules, ignore_errors=True)
        run([self.undust, 'learn', '-q', '-w', '1', '--no-held-out', '--no-report', source, '--out', rules])
        urls = [row[0] for row in scored]
        lines = run([self.undust, 'normalize', '-q', '-w', '1', '--rules', rules, '--output', 'tsv'], ''.join(url + '\n' for url in urls))
        pairs = [line.split('\t') for line in lines.split('\n')[:-1]]
        if [pair[0] for pair in pairs] != urls:
            raise RuntimeError('normalize did not keep the lines or their order')
        return score(urls, [pair[1] for pair in pairs], [row[-1] for row in scored])


def options(parser, _):
    parser.add_argument('--only', action='append', choices=NAMES, metavar='TRAP', help='one of %s; may be given several times' % ', '.join(NAMES))
    parser.add_argument('--urls', action='append', type=int, help='URLs of a site; may be given several times')
    parser.add_argument('--seed', action='append', type=int, help='may be given several times (default: 1)')
    parser.add_argument('--show', type=int, default=0, metavar='N', help='wrong URLs shown a case, on standard error')


def measure(args, case):
    """A row a protocol of a case, and the wrong URLs to show: (row, failed, wrong URLs)."""
    trap, urls, decorations, seed = case
    rows = []
    with scratch(args.keep and os.path.join(args.keep, '%s-%d-%s-%d' % case), 'undust-traps') as folder:
        site = Trap(os.path.abspath(args.binary), str(folder), trap, urls, decorations, seed)
        for protocol in ('all', 'half'):
            saved, wrong = site.protocol(protocol, seed)
            verdict = 'FAIL' if wrong else 'pass'
            if trap in SHAPES and saved < LEAST[trap]:
                verdict = 'FAIL saved'
            scored = len(site.rows) if protocol == 'all' else len(site.rows) - len(site.rows) // 2
            shown = random.Random(seed).sample(wrong, min(args.show, len(wrong)))
            rows.append(((trap, urls, decorations, seed, protocol, scored, '%.4f' % saved, len(wrong), verdict), verdict != 'pass', shown))
    return rows


def main(args):
    line, failed = '%-17s %7s %-6s %4s %-5s %8s %6s %6s  %s', 0
    print(line % ('trap', 'URLs', 'decor', 'seed', 'train', 'scored', 'saved', 'wrong', 'verdict'))
    cases = [(trap, urls, decorations, seed) for trap in args.only or NAMES for urls in args.urls or SIZES for decorations in DECORATIONS for seed in args.seed or (1,)]
    # A case runs on one thread: as many as there are processors run side by side.
    pool = concurrent.futures.ThreadPoolExecutor(os.cpu_count())
    try:
        for rows in pool.map(lambda case: measure(args, case), cases):
            for row, missed, shown in rows:
                failed += missed
                print(line % row, flush=True)
                for wrong in shown:
                    print('    %s\n    with %s\n    as %s' % wrong, file=sys.stderr, flush=True)
    finally:
        pool.shutdown(cancel_futures=True)
    if failed:
        print('%d case(s) with more wrong URLs than are known, or too little saved' % failed)
    return 1 if failed else 0
