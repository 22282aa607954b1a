"""What each stage is worth: `undust compare` with one switch at a time, WWW10 protocol, fpr_max 0.01.

- stages: undust with `--without STAGE`, mean of three seeds: saved share / recall
- published: the published method with `--published DEPARTURE`, one seed

Called by scripts/ablations. Exit codes: 0 done, 2 cannot run."""
import argparse, csv, pathlib, subprocess, sys, tempfile

CORPORA = ('phpbb-forum', 'university', 'government-redirects', 'crawl-blog', 'crawl-docs', 'crawl-forum', 'crawl-kb')
STAGES = ('tokens', 'functions', 'platforms', 'joint', 'conditions', 'prefixes', 'classes', 'defaults', 'sinks', 'noise', 'forms', 'parts', 'energy-walk', 'mirrors', 'fronts', 'small-samples', 'chance', 'exceptions', 'look-ups', 'spans', 'proof')
DEPARTURES = ('salient-by-frequency', 'absence-no-value', 'no-nested-pairs', 'overlap-of-duplicated', 'mapping-by-agreement', 'fpr-per-url', 'fpr-wilson', 'self-rules-kept', 'chains-proven-again')

def main():
    p = argparse.ArgumentParser()
    p.add_argument('--shared', default='../shared')
    p.add_argument('--binary', default='target/release/undust')
    p.add_argument('--only', action='append', choices=('stages', 'published'))
    p.add_argument('--workers', default='2')
    p.add_argument('--corpus', action='append', choices=CORPORA, help='these columns only')
    p.add_argument('--switch', action='append', choices=STAGES + DEPARTURES, help='these rows only')
    args = p.parse_args()
    columns = args.corpus or CORPORA
    corpora = [pathlib.Path(args.shared) / 'corpora' / f'{name}.jsonl.gz' for name in columns]
    missing = [str(path) for path in (*corpora, pathlib.Path(args.binary)) if not path.exists()]
    if missing:
        print('ablations: not there:', ', '.join(missing), file=sys.stderr)
        return 2
    def measure(corpus, method, seeds, switch):
        with tempfile.TemporaryDirectory(prefix='ablations-') as out:
            done = subprocess.run([args.binary, 'compare', str(corpus), '--out', f'{out}/o', '-q', '-w', args.workers, '--methods', method, '--fpr-max', '0.01', '--seeds', seeds, *switch], capture_output=True, text=True)
            if done.returncode:
                print(f'ablations: {corpus.name} {switch}: left with {done.returncode}: {done.stderr}', file=sys.stderr)
                raise SystemExit(2)
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

sys.exit(main())
