"""What each stage is worth: `undust compare` with one switch at a time, WWW10 protocol, fpr_max 0.01.

- stages: undust with `--without STAGE`, mean of three seeds: saved share / recall
- published: the published method with `--published DEPARTURE`, one seed

Two tables in Markdown, as docs/method.md shows them."""
import csv, pathlib, subprocess, tempfile
from parts.common import Skipped

CORPORA = ('phpbb-forum', 'university', 'government-redirects', 'crawl-blog', 'crawl-docs', 'crawl-forum', 'crawl-kb')
STAGES = ('tokens', 'functions', 'platforms', 'joint', 'conditions', 'prefixes', 'classes', 'defaults', 'sinks', 'noise', 'forms', 'parts', 'energy-walk', 'mirrors', 'fronts', 'small-samples', 'feeds', 'chance', 'exceptions', 'look-ups', 'spans', 'proof')
DEPARTURES = ('salient-by-frequency', 'absence-no-value', 'no-nested-pairs', 'overlap-of-duplicated', 'mapping-by-agreement', 'fpr-per-url', 'fpr-wilson', 'self-rules-kept', 'chains-proven-again')


def options(parser, _):
    parser.add_argument('--only', action='append', choices=('stages', 'published'))
    parser.add_argument('--workers', default='2')
    parser.add_argument('--corpus', action='append', choices=CORPORA, help='these columns only')
    parser.add_argument('--switch', action='append', choices=STAGES + DEPARTURES, metavar='NAME', help='these rows only')


def main(args):
    columns = args.corpus or CORPORA
    corpora = [pathlib.Path(args.shared) / 'corpora' / f'{name}.jsonl.gz' for name in columns]
    missing = [str(path) for path in corpora if not path.exists()]
    if missing:
        raise Skipped('not there: ' + ', '.join(missing))

    def measure(corpus, method, seeds, switch):
        with tempfile.TemporaryDirectory(prefix='ablations-') as out:
            done = subprocess.run([args.binary, 'compare', str(corpus), '--out', f'{out}/o', '-q', '-w', args.workers, '--methods', method, '--fpr-max', '0.01', '--seeds', seeds, *switch], capture_output=True, text=True)
            if done.returncode:
                raise RuntimeError(f'{corpus.name} {switch}: compare left with {done.returncode}: {done.stderr}')
            row = next(csv.DictReader(open(f'{out}/o/methods.csv')))
            return tuple(float(row[name].split('±')[0]) for name in ('saved', 'recall'))
    def table(title, method, seeds, option, switches):
        print(f'| {title} |' + ''.join(f' {c} |' for c in columns) + '\n|' + '---|' * (len(columns) + 1), flush=True)
        whole = []
        for switch in (None, *(s for s in switches if not args.switch or s in args.switch)):
            cells = [measure(corpus, method, seeds, [option, switch] if switch else []) for corpus in corpora]
            whole = whole or cells
            # A cell that no switch changes is left blank, so that the others are seen.
            text = ['' if switch and cell == own else f'{cell[0]:.4f} / {cell[1]:.4f}'.replace('0.', '.') for cell, own in zip(cells, whole)]
            print(f'| {"`" + switch + "`" if switch else "nothing"} |' + ''.join(f' {cell} |' for cell in text), flush=True)
        print(flush=True)
    for part in args.only or ('stages', 'published'):
        if part == 'stages':
            table('undust without', 'undust', '1,2,3', '--without', STAGES)
        else:
            table('published method with', 'published-graph', '1', '--published', DEPARTURES)
    return 0
