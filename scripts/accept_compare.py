"""All methods, one protocol, one table: runs `undust compare` and says where undust is not first.

- real: WWW10 protocol on each corpus with labels (20 % train, 3 seeds), every fpr_max up to 0.1
- synthetic: the same on 200 synthetic sites of 400 URLs and up (one seed)
- crawl: SIGIR 2017 protocol on the corpora that are large enough (first 15,000 train, next 5,000 test)

Called by scripts/accept-compare. Exit codes: 0 undust first everywhere, 1 not, 2 cannot run."""
import argparse, csv, pathlib, subprocess, sys, tempfile, time
sys.path.insert(0, str(pathlib.Path(__file__).parent))
from accept_peers import CORPORA

RATES = ','.join(f'{i / 100:g}' for i in range(11))

def main():
    p = argparse.ArgumentParser()
    p.add_argument('--shared', default='../shared')
    p.add_argument('--binary', default='target/release/undust')
    p.add_argument('--keep')
    p.add_argument('--only', action='append', choices=('real', 'synthetic', 'crawl'))
    p.add_argument('--workers', default='2')
    p.add_argument('--seeds', default='1,2,3')
    p.add_argument('--sites', type=int, default=200)
    args = p.parse_args()
    out = pathlib.Path(args.keep or tempfile.mkdtemp(prefix='accept-compare-'))
    corpora = [pathlib.Path(args.shared) / 'corpora' / f'{name}.jsonl.gz' for name in CORPORA]
    missing = [str(c) for c in corpora if not c.exists()] if not args.only or set(args.only) - {'synthetic'} else []
    if not pathlib.Path(args.binary).exists() or missing:
        print('accept-compare: not there:', args.binary if not missing else ', '.join(missing), file=sys.stderr)
        return 2
    lost = []
    def compare(name, inputs, *more):
        folder = out / name
        start = time.time()
        done = subprocess.run([args.binary, 'compare', *map(str, inputs), '--out', str(folder), '-w', args.workers, '-q', *more], capture_output=True, text=True)
        if done.returncode:
            print(f'accept-compare: {name}: left with {done.returncode}: {done.stderr}', file=sys.stderr)
            raise SystemExit(2)
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

sys.exit(main())
