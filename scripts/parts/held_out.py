"""Held-out figures of `undust learn` beside what another half of the data says.

Each corpus is cut as tools/parity.py cuts it: learned from are the URLs whose SHA-1 has an even first byte. The held-out
figures of that run come from this half alone; tools/score.py then measures the deployed rules on the other half.

  by URL   saved_by_url against saved_share of the other half. Both halves are samples: they agree where they differ by no
           more than the margin of the difference (the printed margin, and the same one of the other half, in squares)
  wrong    wrong_share and wrong_upper against urlfpr of the other half, which must not exceed wrong_upper
  shown    saved_by_cluster, which no half of the URLs measures, and what the learning half itself says by score.py

A figure that is too good is a failure. One that is too low is shown with the difference, and fails beyond 0.1: rules
learned from a part of the data have less evidence, and another half holds mates of URLs of kinds that rules do not know."""
import collections, gzip, hashlib, json, math, os, subprocess, sys, tempfile
from parts.common import skip

HEAD = ('corpus', 'URLs', 'by cluster', 'by URL', 'other half', 'verdict', 'wrong', 'at most', 'other half', 'verdict', 'learned from')
# How far below the other half a figure may be.
LOW = 0.1


def even(text):
    return hashlib.sha1(text.encode()).digest()[0] % 2 == 0


def records(path):
    """Labelled records of a corpus, the first of each URL, in file order."""
    seen, out = set(), []
    for line in gzip.open(path, 'rt', encoding='utf-8'):
        record = json.loads(line)
        if record.get('cluster') is not None and record['url'] not in seen:
            seen.add(record['url'])
            out.append(record)
    return out


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, encoding='utf-8', errors='surrogateescape')
    if done.returncode:
        raise RuntimeError('%s: exit code %d\n%s' % (' '.join(command[:3]), done.returncode, done.stderr[-800:]))
    return done.stdout


class House:
    """The binary and the shared scorer."""

    def __init__(self, binary, tools):
        sys.path.insert(0, tools)
        import numpy, pandas, score
        self.binary, self.np, self.pd, self.score = binary, numpy, pandas, score

    def halves(self, rows):
        """Held-out figures of one half, its size, and the scores of its rules on it and on the other half."""
        train = [r for r in rows if even(r['url'])]
        test = [r for r in rows if not even(r['url'])]
        with tempfile.TemporaryDirectory() as folder:
            path = lambda name: os.path.join(folder, name)
            with open(path('train.jsonl'), 'w', encoding='utf-8') as f:
                f.writelines(json.dumps({k: r[k] for k in ('site', 'url', 'cluster') if k in r}) + '\n' for r in train)
            run(self.binary, 'learn', path('train.jsonl'), '--out', path('rules'), '-q')
            with open(path('rules/summary.json')) as f:
                printed = json.load(f)['total']['held_out']
            scores = []
            for half in (train, test):
                with open(path('urls.txt'), 'w', encoding='utf-8', newline='\n') as f:
                    f.writelines(r['url'] + '\n' for r in half)
                out = run(self.binary, 'normalize', '--rules', path('rules'), '--output', 'tsv', path('urls.txt'))
                scores.append(self.rates(half, [line.split('\t')[1] for line in out.split('\n')[:-1]]))
        return printed, len(train), scores

    def rates(self, rows, canonical):
        """Figures of the scorer, and the margin of saved_share by the jackknife over clusters."""
        array = lambda items: self.np.array(items, dtype=object)
        labels = [str(r['cluster']) for r in rows]
        counts = self.score.counts(array([r['url'] for r in rows]), array(canonical), self.pd.factorize(array(labels))[0])
        size, own = collections.Counter(labels), set(zip(labels, canonical))
        part = dict(size)
        for label, _ in own:
            part[label] -= 1
        whole = {label: n - 1 for label, n in size.items() if n > 1}
        total = sum(whole.values())
        share = sum(part[label] for label in whole) / max(total, 1)
        squares = sum((part[label] - share * w) ** 2 for label, w in whole.items())
        margin = 1.96 * math.sqrt(len(whole) / max(len(whole) - 1, 1) * squares) / max(total, 1)
        return dict(self.score.rates(counts), margin=margin)


def options(parser, _):
    parser.add_argument('--corpus', action='append', metavar='NAME', help='may be given several times (default: all that are there)')


def main(args):
    folder = os.path.join(args.shared, 'corpora')
    house = House(args.binary, os.path.join(args.shared, 'tools'))
    names = args.corpus or sorted(f[:-9] for f in os.listdir(folder) if f.endswith('.jsonl.gz'))
    table, apart, failed = [HEAD], 0, 0
    for name in names:
        labelled = records(os.path.join(folder, name + '.jsonl.gz'))
        if not labelled:
            skip('%s: no record has a label' % name)
            continue
        printed, size, (own, other) = house.halves(labelled)
        ppm = lambda what: printed[what] / 1e6 if printed[what] is not None else float('nan')
        share, margin = ppm('saved_by_url'), ppm('saved_by_url_margin')
        difference = share - other['saved_share']
        agrees = abs(difference) <= math.hypot(margin, other['margin'])
        bounded = other['urlfpr'] <= ppm('wrong_upper')
        apart += (not agrees) + (not bounded)
        failed += (not agrees and not -LOW <= difference < 0) + (not bounded)
        table.append((
            name, '%d' % size, '%.3f +- %.3f' % (ppm('saved_by_cluster'), ppm('saved_by_cluster_margin')),
            '%.3f +- %.3f' % (share, margin), '%.3f +- %.3f' % (other['saved_share'], other['margin']),
            'agrees' if agrees else '%+.3f' % difference, '%.4f' % ppm('wrong_share'), '%.4f' % ppm('wrong_upper'),
            '%.4f' % other['urlfpr'], 'agrees' if bounded else 'above', '%.3f' % own['saved_share']))
        print(' | '.join(table[-1]), file=sys.stderr, flush=True)
    width = [max(len(row[i]) for row in table) for i in range(len(HEAD))]
    for row in table:
        print('  '.join(cell.ljust(w) for cell, w in zip(row, width)).rstrip())
    print('%d of %d figures outside their bounds, %d of them failures' % (apart, 2 * (len(table) - 1), failed))
    return 1 if failed else 0
