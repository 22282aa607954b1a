"""The part `platforms` of scripts/accept: what lines of recognised programs are worth on small samples.

  curves    0, 50, 100, 200 and 500 training URLs in whole clusters, three seeds, of each corpus whose program the catalogue
            knows: without the catalogue, by default, and with provisional lines; scored on all other URLs. With 0, learned
            from are 200 URLs without a label; where lines do not act provisionally, one URL an origin has a label, since
            `learn` refuses an input without any
  lines     right and wrong merges of each line alone on all labelled URLs of the corpora whose program is recognised: a
            tested line with more than 2 % wrong fails
  forced    all programs that a corpus does not run, named for it, with provisional lines, learned from 100 URLs; recall on
            all other URLs
"""
import gzip, json, os, random
from parts.common import ROOT

# Corpus: the program that made it.
KNOWN = {
    'phpbb-forum': 'phpbb-2', 'crawl-blog': 'wordpress', 'crawl-kb': 'dokuwiki', 'crawl-photos': 'piwigo',
    'crawl-store': 'zen-cart', 'crawl-bugs': 'roundup', 'crawl-forum': 'machina',
}
OTHERS = ('university', 'government-redirects', 'crawl-docs', 'crawl-lists')
SIZES, SEEDS, UNLABELLED, FORCED_SIZE = (0, 50, 100, 200, 500), (1, 2, 3), 200, 100
MODES = (('without', ['--platforms', 'off']), ('default', []), ('provisional', ['--platforms', 'provisional']))
# Highest share of wrong merges of a tested line, least recall with wrong programs, and how far by
# default recall may fall.
WRONG, FORCED, FALL = 0.02, 0.99, 0.001


def origin(url):
    return '/'.join(url.split('/', 3)[:3]).lower()


def sample(records, size, seed):
    """Training records in whole clusters, of about this many URLs, and the others; all labelled."""
    labels = sorted({str(r['cluster']) for r in records})
    random.Random(seed).shuffle(labels)
    of = {}
    for r in records:
        of.setdefault(str(r['cluster']), []).append(r)
    train, chosen = [], set()
    for label in labels:
        if len(train) >= size:
            break
        # A cluster of half the sample says little of a site.
        if len(of[label]) <= max(size // 2, 1):
            train += of[label]
            chosen.add(label)
    return train, [r for r in records if str(r['cluster']) not in chosen]


def without_labels(records, seed, an_origin):
    """URLs without labels, with `an_origin` a labelled one of each origin."""
    picked = random.Random(seed).sample(records, min(UNLABELLED, len(records)))
    seen, out = set(), []
    for r in picked:
        first = an_origin and origin(r['url']) not in seen
        seen.add(origin(r['url']))
        out.append({**r, 'cluster': 'single %d' % len(out)} if first else {k: v for k, v in r.items() if k != 'cluster'})
    return out, records


def learn(house, train, arguments):
    path, rules = (os.path.join(house.scratch, name) for name in ('platforms.jsonl.gz', 'platforms.rules'))
    with gzip.open(path, 'wt', encoding='utf-8') as f:
        for r in train:
            f.write(json.dumps({k: r[k] for k in ('site', 'url', 'cluster') if k in r}) + '\n')
    house.learn(path, rules, '--overwrite', '--no-held-out', '-q', *arguments)
    return rules


def rates(house, test, rules):
    urls = [r['url'] for r in test]
    return house.score.rates(house.counts(urls, house.normalize(urls, rules), [str(r['cluster']) for r in test]))


def curves(house, table):
    sums = {}
    for name in KNOWN:
        records = house.records(name)
        for size in SIZES:
            for seed in SEEDS:
                for mode, arguments in MODES:
                    if size:
                        train, test = sample(records, size, seed)
                    else:
                        train, test = without_labels(records, seed, mode != 'provisional')
                    r = rates(house, test, learn(house, train, arguments))
                    figures = (r['saved_share'], r['rec'], r['urlfpr'])
                    for key in ((name, size, mode), ('all', size, mode)):
                        sums.setdefault(key, []).append(figures)
    for name in (*KNOWN, 'all'):
        for size in SIZES:
            mean = {mode: [sum(f[i] for f in sums[name, size, mode]) / len(sums[name, size, mode]) for i in range(3)] for mode, _ in MODES}
            for mode, _ in MODES:
                measured = 'saved %.4f rec %.4f urlfpr %.4f' % tuple(mean[mode])
                fell = mode == 'default' and mean[mode][1] < mean['without'][1] - FALL
                verdict = '' if mode == 'without' else 'FAIL recall' if fell else 'pass' if mode == 'default' else ''
                table.add('platforms', '%s, %d URLs' % (name, size), mode, measured, verdict=verdict)


def lines(house, table):
    sums = {}
    for name, program in KNOWN.items():
        records = house.records(name)
        train, _ = without_labels(records, SEEDS[0], False)
        rules = learn(house, train, ['--platforms', 'provisional'])
        text = [json.loads(line) for line in open(os.path.join(rules, 'rules.jsonl'), encoding='utf-8')]
        found = sorted({p['program'] for site in text[1:] for p in site.get('platforms', ())})
        table.add('platforms', name, 'recognised', ', '.join(found) or 'nothing', program, '', 'pass' if found == [program] else 'FAIL recognition')
        for site in text[1:]:
            for rule in site['rules']:
                if not rule.get('line'):
                    continue
                alone = os.path.join(house.scratch, 'line.jsonl')
                with open(alone, 'w', encoding='utf-8') as f:
                    for part in (text[0], {**site, 'rules': [rule]}):
                        f.write(json.dumps({k: v for k, v in part.items() if k != 'check'}) + '\n')
                urls = [r['url'] for r in records]
                good, bad = merges(urls, house.normalize(urls, alone), [str(r['cluster']) for r in records])
                of = sums.setdefault(rule['line'], [0, 0])
                of[0], of[1] = of[0] + good, of[1] + bad
    for line, (good, bad) in sorted(sums.items()):
        wrong = bad / max(good + bad, 1)
        table.add('platforms', line, 'alone', 'right %d wrong %d' % (good, bad), 'wrong <= %.2f' % WRONG, '', 'FAIL wrong' if wrong > WRONG else 'pass')


def merges(urls, canonical, labels):
    """Right and wrong merges of groups with a URL that changed: members of the largest cluster less one, and the others."""
    groups = {}
    for url, to, label in zip(urls, canonical, labels):
        groups.setdefault(to, []).append((label, url != to))
    good = bad = 0
    for group in groups.values():
        if any(changed for _, changed in group):
            of = {}
            for label, _ in group:
                of[label] = of.get(label, 0) + 1
            good, bad = good + max(of.values()) - 1, bad + len(group) - max(of.values())
    return good, bad


def forced(house, table):
    catalogue = ROOT / 'src' / 'platforms' / 'catalogue.jsonl'
    entries = [json.loads(line) for line in open(catalogue, encoding='utf-8')]
    programs = [e['program']['id'] for e in entries if 'program' in e]
    for name in (*KNOWN, *OTHERS):
        records = house.records(name)
        train, test = sample(records, FORCED_SIZE, SEEDS[0])
        named = [word for p in programs if p != KNOWN.get(name) for word in ('--platforms', p)]
        plain = rates(house, test, learn(house, train, ['--platforms', 'off']))
        r = rates(house, test, learn(house, train, ['--platforms', 'provisional', *named]))
        measured = 'rec %.4f urlfpr %.4f saved %.4f; without: rec %.4f urlfpr %.4f saved %.4f' % (
            r['rec'], r['urlfpr'], r['saved_share'], plain['rec'], plain['urlfpr'], plain['saved_share'])
        least = min(FORCED, plain['rec'])
        table.add('platforms', name, 'all wrong programs', measured, 'rec %.2f' % FORCED, '', 'pass' if r['rec'] >= least else 'FAIL rec')


def platforms(house, table):
    lines(house, table)
    forced(house, table)
    curves(house, table)
