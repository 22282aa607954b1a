"""The part `samples` of scripts/accept: what rules of small samples do to the rest of a corpus.

Samples of 50, 100, 200 and 500 URLs in whole clusters, three seeds, of every labelled corpus; the rules that are learned from
each are scored on all URLs of the other clusters. In whole clusters, since a random half of the URLs holds two URLs of most
clusters and two clusters of most mistakes, which a small sample of a site does not.

A sample fails where recall is under RECALL or more than WRONG of the merged URLs are in a group of another page.
"""
import gzip, json, os
from parts.platforms import SEEDS, rates, sample

SIZES = (50, 100, 200, 500)
RECALL, WRONG = 0.995, 0.005


def samples(house, table, corpora, sizes):
    cells = []
    for name in corpora:
        records = house.records(name)
        for size in sizes:
            for seed in SEEDS:
                train, test = sample(records, size, seed)
                path, rules = (os.path.join(house.scratch, end) for end in ('sample.jsonl.gz', 'sample.rules'))
                with gzip.open(path, 'wt', encoding='utf-8') as f:
                    f.writelines(json.dumps({k: r[k] for k in ('site', 'url', 'cluster') if k in r}) + '\n' for r in train)
                house.learn(path, rules, '--overwrite', '--no-held-out', '--no-report', '-q')
                r = rates(house, test, rules)
                cells.append((size, r['saved_share'], r['rec'], r['urlfpr']))
                missed = ['recall'] * (r['rec'] < RECALL) + ['wrong'] * (r['urlfpr'] > WRONG)
                measured = 'saved %.4f rec %.4f urlfpr %.4f' % cells[-1][1:]
                floor = 'rec %.3f urlfpr %.3f' % (RECALL, WRONG)
                verdict = 'FAIL ' + ', '.join(missed) if missed else 'pass'
                table.add('samples', '%s, %d URLs' % (name, size), 'seed %d' % seed, measured, floor, '', verdict)
    for size in sizes:
        of = [cell[1:] for cell in cells if cell[0] == size]
        mean = tuple(sum(cell[i] for cell in of) / len(of) for i in range(3))
        table.add('samples', 'all, %d URLs' % size, 'mean', 'saved %.4f rec %.4f urlfpr %.4f' % mean)
