"""All methods, one protocol, one table: runs `undust compare` and says where undust is not first.

- real: WWW10 protocol on each corpus with labels (20 % train, 3 seeds), every fpr_max up to 0.1
- synthetic: the same on 200 synthetic sites of 400 URLs and up (one seed)
- crawl: SIGIR 2017 protocol on the corpora that are large enough (first 15,000 train, next 5,000 test)

Missed where undust is not first in saved share, at a rate up to 0.1, among methods of recall 0.995 and more."""
import csv, pathlib, subprocess, time
from parts.common import Skipped, scratch
from parts.peers import CORPORA

RATES = ','.join(f'{i / 100:g}' for i in range(11))

def options(parser, _):
    parser.add_argument('--only', action='append', choices=('real', 'synthetic', 'crawl'))
    parser.add_argument('--workers', default='2')
    parser.add_argument('--seeds', default='1,2,3')
    parser.add_argument('--sites', type=int, default=200, help='synthetic sites')


def main(args):
    corpora = [pathlib.Path(args.shared) / 'corpora' / f'{name}.jsonl.gz' for name in CORPORA]
    missing = [str(c) for c in corpora if not c.exists()] if not args.only or set(args.only) - {'synthetic'} else []
    if missing:
        raise Skipped('not there: ' + ', '.join(missing))
    with scratch(args.keep, 'accept-compare') as out:
        return compared(args, corpora, out)


def compared(args, corpora, out):
    """Prints all tables; the exit code."""
    lost = []
    def compare(name, inputs, *more):
        folder = out / name
        start = time.time()
        done = subprocess.run([args.binary, 'compare', *map(str, inputs), '--out', str(folder), '-w', args.workers, '-q', *more], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f'{name}: compare left with {done.returncode}: {done.stderr}')
        # The first table; times are the last one.
        tables = done.stdout.split('\n\n')
        print(f'## {name} ({time.time() - start:.0f} s)\n\n{tables[0]}\n', flush=True)
        return folder, tables
    def ranks(name, folder):
        for row in csv.DictReader(open(folder / 'first-by-site.csv')):
            if row['not undust at'] != '-':
                lost.append(f"{name}, {row['site']}: {row['not undust at']}")
    for part in args.only or ('real', 'synthetic', 'crawl'):
        if part == 'real':
            for corpus in corpora:
                name = corpus.name.split('.')[0]
                folder, tables = compare(name, [corpus], '--fpr-max', RATES, '--seeds', args.seeds)
                print(tables[-1], flush=True)
                ranks(name, folder)
        elif part == 'synthetic':
            made = out / 'synthetic'
            subprocess.run([args.binary, 'synth', '--out', str(made), '--sites', str(args.sites), '--urls-min', '400', '--urls-max', '4000', '--seed', '7'], check=True, capture_output=True)
            folder, tables = compare('synthetic-compared', [made], '--fpr-max', RATES)
            print(tables[-1], flush=True)
            rows = list(csv.DictReader(open(folder / 'first.csv')))
            lost += [f"synthetic, all sites together: {row['fpr_max']} ({row['first']})" for row in rows if row['first'] != 'undust']
            sites = [row for row in csv.DictReader(open(folder / 'first-by-site.csv'))]
            first = sum(row['not undust at'] == '-' for row in sites)
            print(f'undust first at every rate on {first} of {len(sites)} synthetic sites\n')
        else:
            for corpus in corpora[:3]:
                compare('crawl-of-' + corpus.name.split('.')[0], [corpus], '--protocol', 'sigir2017', '--fpr-max', '0.01,0.1', '--headline', '0.1')
    print('undust is first everywhere' if not lost else 'undust is not first:\n  ' + '\n  '.join(lost))
    return 1 if lost else 0
