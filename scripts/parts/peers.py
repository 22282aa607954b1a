"""undust beside other programs, as people use them: saved share, recall, wrong merges, time.

Of each corpus the URLs whose SHA-1 has an even first byte may be learned from; the others are predicted and scored, by
`undust compare --predictions`. Peers that learn (maybedont, os-urlpattern) and undust learn on that half; the others are
the same for every site. Each peer is installed from its registry, in the version that scripts/peers.py names, into a
folder of its own; one that cannot be is in the table without figures, and the reason below it.

  saved    share of the duplicate fetches that a crawler is spared, less the pages that it loses
  recall   share of the pages that it still fetches; a star at saved: under 0.995
  URL fpr  share of the merged URLs that are not of the largest cluster of their canonical URL
  us/URL   processor time for one URL of the test; undust: the program on one thread, less its start; keep-all, rfc3986,
           tracking and catalogue, which are part of `undust compare`: of each site the best of five
  learn s  seconds of processor time to learn the training half, for programs that learn

Checks: a program that keeps every URL scores as keep-all, the canonical URLs of undust as `undust evaluate` counts them, and
every peer that is installed gives predictions. Without the data folder it takes the sample in tests/data."""
import csv, gzip, hashlib, json, os, pathlib, resource, signal, subprocess, sys
from parts.common import SAMPLE, TARGET, apart, ended, scratch, skip
from peers import PEERS

CORPORA = ('phpbb-forum', 'university', 'government-redirects', 'crawl-blog', 'crawl-bugs', 'crawl-docs', 'crawl-forum',
           'crawl-kb', 'crawl-lists', 'crawl-photos', 'crawl-store')
PEER = 'scripts/peers.py'
BUILT_IN = ('keep-all', 'rfc3986', 'tracking', 'catalogue')
OWN, IDENTITY = 'undust-learned', 'identity'
LEARN = {'maybedont', 'os-urlpattern'}
RECALL = 0.995
# Lines that undust is timed on, at least.
TIMED = 1_000_000


def run(command, **more):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **more)
    if done.returncode:
        raise RuntimeError('%s left with %d: %s' % (command[0], done.returncode, (done.stderr.strip() or 'nothing said').splitlines()[-1]))
    return done.stdout


def installed(name):
    """(command, environment) of a peer."""
    if name == 'url-sanitize':
        home = TARGET / 'checks-apart' / name
        done = home / 'installed'
        if not (done.exists() and done.read_text() == PEERS[name][0]):
            run(['cargo', 'install', '--quiet', '--locked', '--root', home, '--force', 'url-sanitize@' + PEERS[name][0].split('==')[1].split()[0]])
            done.write_text(PEERS[name][0])
        return sys.executable, dict(os.environ, PEER_BINARY=str(home / 'bin' / 'url-sanitize'))
    package = PEERS[name][0]
    return sys.executable, dict(os.environ, PYTHONPATH=str(apart(package.partition('==')[0], package)))


def halves(corpus, folder):
    """Writes train.jsonl and test.jsonl; gives the records of the test."""
    seen, test = set(), []
    with open(folder / 'train.jsonl', 'w') as train:
        for line in gzip.open(corpus, 'rt', encoding='utf-8'):
            record = json.loads(line)
            if record.get('cluster') is None or record['url'] in seen:
                continue
            seen.add(record['url'])
            kept = {key: record[key] for key in ('site', 'url', 'cluster') if key in record}
            if hashlib.sha1(record['url'].encode()).digest()[0] % 2 == 0:
                train.write(json.dumps(kept) + '\n')
            else:
                test.append(kept)
    (folder / 'test.jsonl').write_text(''.join(json.dumps(record) + '\n' for record in test))
    (folder / 'urls.txt').write_text(''.join(record['url'] + '\n' for record in test))
    (folder / (IDENTITY + '.tsv')).write_text(''.join('{0}\t{0}\n'.format(record['url']) for record in test))
    return test


def limit(seconds):
    """Ends this process after so much processor time, however busy the machine is."""
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))


def child_seconds(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run(command)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def own(binary, folder, urls):
    """Learns and predicts with undust: (microseconds a URL, seconds to learn)."""
    learn = child_seconds([binary, 'learn', folder / 'train.jsonl', '--out', folder / 'rules', '--no-held-out', '-q'])
    normalize = [binary, 'normalize', '--rules', folder / 'rules', '-q', '-w', '1', '--output', 'tsv', '--overwrite', '-o', folder / (OWN + '.tsv')]
    text, copies = (folder / 'urls.txt').read_text(), -(-TIMED // urls)
    (folder / 'many.txt').write_text(text * copies)
    (folder / 'none.txt').write_text('')
    start = min(child_seconds(normalize + [folder / 'none.txt']) for _ in range(3))
    many = min(child_seconds(normalize + [folder / 'many.txt']) for _ in range(2))
    run(normalize + [folder / 'urls.txt'])
    return (many - start) / (urls * copies) * 1e6, learn


def built_in(args, folder, n):
    """Microseconds a URL of the methods of undust that learn nothing: of each site the best of five."""
    run([args.binary, 'compare', folder / 'test.jsonl', '--out', folder / 'timed', '-q', '--fpr-max', '0.01', '--methods', ','.join(BUILT_IN), '--seeds', '1,2,3,4,5'])
    best = {}
    for time in json.load(open(folder / 'timed' / 'times.json'))['times']:
        key = time['method'], time['site']
        best[key] = min(best.get(key, time['apply']), time['apply'])
    return {name: sum(seconds for key, seconds in best.items() if key[0] == name) / n * 1e6 for name in BUILT_IN}


def rows(args, corpus, peers, folder, failures):
    """A row a program: name, saved, recall, URL fpr, us/URL, learn; strings."""
    test = halves(corpus, folder)
    n, cost, files = len(test), {}, {IDENTITY: folder / (IDENTITY + '.tsv')}
    cost[OWN] = own(args.binary, folder, n)
    files[OWN] = folder / (OWN + '.tsv')
    missing = {}
    for name, found in peers.items():
        if isinstance(found, Exception):
            missing[name] = 'not installed'
            continue
        out = folder / (name + '.tsv')
        command = [found[0], PEER, name, folder / 'train.jsonl', folder / 'test.jsonl', out]
        try:
            done = json.loads(run(command, env=found[1], preexec_fn=lambda: limit(args.limit)))
        except RuntimeError as error:
            late = ' left with -%d: ' % signal.SIGXCPU in str(error)
            missing[name] = 'over %d s' % args.limit if late else 'failed'
            if not late:
                failures.append('%s: %s: %s' % (folder.name, name, error))
            continue
        files[name] = out
        spent = {step: sum(site[step] for site in done['sites']) for step in ('learn', 'apply')}
        cost[name] = spent['apply'] / n * 1e6, spent['learn'] if name in LEARN else None
    command = [args.binary, 'compare', folder / 'test.jsonl', '--out', folder / 'compared', '-q', '--fpr-max', '0.01', '--methods', ','.join(BUILT_IN)]
    for name, file in files.items():
        command += ['--predictions', '%s=%s' % (name, file)]
    run(command)
    figures = {row['method']: row for row in csv.DictReader(open(folder / 'compared' / 'methods.csv'))}
    cost |= {name: (micro, None) for name, micro in built_in(args, folder, n).items()}
    check(args, folder, figures, failures)
    for name in (OWN, *BUILT_IN, *PEERS):
        shown = 'undust' if name == OWN else name
        if name in missing:
            yield shown, missing[name], '', '', '', ''
        elif name in figures:
            saved, recall, fpr = (figures[name][column] for column in ('saved', 'recall', 'URL fpr'))
            micro, learn = cost[name]
            yield shown, saved + ('*' if float(recall) < RECALL else ''), recall, fpr, '%.2f' % micro, '' if learn is None else '%.2f' % learn


def check(args, folder, figures, failures):
    columns = ('compression', 'pair fpr', 'URL fpr', 'recall', 'saved')
    if any(figures[IDENTITY][c] != figures['keep-all'][c] for c in columns):
        failures.append('%s: a program that keeps every URL does not score as keep-all' % folder.name)
    run([args.binary, 'evaluate', '--rules', folder / 'rules', folder / 'test.jsonl', '--json', folder / 'figures.json', '--overwrite', '-q'])
    rates = json.load(open(folder / 'figures.json'))['micro']
    for column, name in (('saved', 'saved_share'), ('recall', 'rec'), ('URL fpr', 'urlfpr')):
        if abs(float(figures[OWN][column]) - rates[name]) > 6e-5:
            failures.append('%s: %s of undust is %s by compare, %.4f by evaluate' % (folder.name, column, figures[OWN][column], rates[name]))


def table(rows):
    width = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        print('  '.join(c.ljust(w) if i < 1 else c.rjust(w) for i, (c, w) in enumerate(zip(row, width))).rstrip())
    print(flush=True)


def options(parser, _):
    parser.add_argument('--only', action='append', choices=sorted(PEERS))
    parser.add_argument('--corpus', action='append', choices=CORPORA)
    parser.add_argument('--limit', type=int, default=300, help='most processor seconds of a peer on a corpus')


def check_options(parser, args):
    if args.keep and os.path.isdir(args.keep) and os.listdir(args.keep):
        parser.error('--keep %s: not empty, and figures of two runs are not mixed; name another folder' % args.keep)


def main(args):
    folder = pathlib.Path(args.shared) / 'corpora'
    corpora = [folder / (name + '.jsonl.gz') for name in args.corpus or CORPORA]
    if not folder.exists():
        skip('the shared corpora, %s is not there; %s is taken' % (folder, SAMPLE.name))
        corpora = [SAMPLE]
    with scratch(args.keep, 'accept-peers') as out:
        return ended(measured(args, corpora, out))


def measured(args, corpora, out):
    """Prints all tables; gives the checks that failed."""
    failures, peers = [], {}
    for name in args.only or PEERS:
        try:
            peers[name] = installed(name)
        except (RuntimeError, OSError) as error:
            peers[name] = error
    not_first = []
    for corpus in corpora:
        name = corpus.name.split('.')[0]
        (out / name).mkdir(parents=True)
        found = list(rows(args, corpus, peers, out / name, failures))
        table([(name, 'saved', 'recall', 'URL fpr', 'us/URL', 'learn s'), *found])
        ranked = [(float(row[1]), row[0]) for row in found if row[2] and float(row[2]) >= RECALL]
        best = max(ranked)
        if best[0] > dict((row, saved) for saved, row in ranked).get('undust', -1):
            not_first.append('%s: %s (%.4f)' % (name, best[1], best[0]))
    for name, found in peers.items():
        print('%s: %s%s' % (name, ', '.join(PEERS[name]), '; NOT INSTALLED: %s' % found if isinstance(found, Exception) else ''))
    print('undust is first in saved share among programs of recall %g and more%s' % (RECALL, ' everywhere' if not not_first else ', but for: ' + '; '.join(not_first)))
    return failures
