"""Predictions of one peer, the way its users call it. Run by the parts `peers` and `page` of scripts/accept.

  peers.py NAME TRAIN TEST OUT [LIMIT]   TRAIN, TEST: JSON lines of site, url, cluster; OUT: lines of URL, tab, canonical URL

Each site is learned and predicted by itself; records without a site are one. Standard output: {"sites": [{"site", "urls":
number of URLs of TEST, "learn": seconds, "apply": seconds for all of these URLs}], "late": [sites that took more than LIMIT
seconds], "failed": number of URLs that the peer raises at}, in processor time, which other programs on the machine lengthen
less; imports are not counted. URLs that failed, or for which the peer gives nothing, and those of late sites have no line,
and are then kept as they are."""
import contextlib, json, os, random, resource, signal, subprocess, sys

# Package of the registry, and what is called.
PEERS = {
    'w3lib': ('w3lib==2.5.0', 'canonicalize_url(url)'),
    'courlan': ('courlan==1.4.0', 'clean_url(url)'),
    'courlan-strict': ('courlan==1.4.0', 'normalize_url(url, strict=True)'),
    'ural': ('ural==1.6.2', 'normalize_url(url)'),
    'url-normalize': ('url-normalize==3.1.0', 'url_normalize(url)'),
    'url-sanitize': ('url-sanitize==2.0.7 (crates.io)', 'url-sanitize --json, one process for all URLs'),
    'maybedont': ('maybedont==0.1.1', 'DupePredictor, threshold 0.98, exploration 0.05'),
    'os-urlpattern': ('os-urlpattern==0.1.11', 'PatternMaker, PatternMatcher'),
}


def w3lib(train, test):
    from w3lib.url import canonicalize_url
    return each(canonicalize_url)


def courlan(train, test):
    from courlan import clean_url
    return each(clean_url)


def courlan_strict(train, test):
    from courlan import normalize_url
    return each(lambda url: normalize_url(url, strict=True))


def ural(train, test):
    from ural import normalize_url
    return each(normalize_url)


def url_normalize(train, test):
    from url_normalize import url_normalize
    return each(url_normalize)


def url_sanitize(train, test):
    """ClearURLs, AdGuard, Brave and Firefox as one list; the native program reads URLs from standard input."""
    def predict(records):
        done = subprocess.run([os.environ['PEER_BINARY'], '--json'], input=''.join(r['url'] + '\n' for r in records), capture_output=True, text=True)
        if done.returncode < 0:
            # The limit on processor time holds for each process: this one ends as the program did.
            os.kill(os.getpid(), -done.returncode)
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        if len(rows) != len(records):
            raise RuntimeError('%d answers for %d URLs: %s' % (len(rows), len(records), done.stderr[-300:]))
        return [(r['url'], row.get('url')) for r, row in zip(records, rows)], 0
    return predict


def maybedont(train, test):
    """Decides for each URL whether to fetch it, from what it fetched: the crawl of TEST is simulated, after all of TRAIN
    was fetched. What it then knows of parameters and paths stays; the pages it has seen are forgotten, since the score is
    of TEST alone. The text of a page is the label of its cluster, so that it never errs on which pages are equal.

    A URL that is not fetched becomes one that was: of its own cluster where one was fetched, so that the decision counts
    as right, else the first of all, so that it counts as wrong. The labels of TEST are used for that, and by the pages
    that the crawl fetches. A URL that comes again is decided on once."""
    # Python 3.11 draws no sample from a set, as the package does.
    sample = random.sample
    random.sample = lambda population, k, **more: sample(sorted(population), k, **more)
    from maybedont import DupePredictor
    learned = DupePredictor()
    for record in train:
        learned.update_model(record['url'], str(record['cluster']))

    def predict(records):
        random.seed(1)
        crawler, out, pages, first = DupePredictor(), [], {}, None
        for name in vars(crawler):
            if name.endswith('dupstats'):
                setattr(crawler, name, getattr(learned, name))
        clusters = {}
        for record in records:
            clusters.setdefault(record['url'], str(record['cluster']))
        for url, cluster in clusters.items():
            if crawler.get_dupe_prob(url) > 0.98 and random.random() >= 0.05:
                out.append((url, pages.get(cluster, first)))
                continue
            crawler.update_model(url, cluster)
            pages.setdefault(cluster, url)
            first = first or url
            out.append((url, url))
        return out, 0
    return predict


def os_urlpattern(train, test):
    """A pattern is a class of URLs, not a page: the canonical URL of a URL is the first pattern that matches it."""
    from os_urlpattern.formatter import PatternFormatter
    from os_urlpattern.pattern_maker import PatternMaker
    from os_urlpattern.pattern_matcher import PatternMatcher
    maker, matcher, formatter = PatternMaker(), PatternMatcher(), PatternFormatter()
    # The programs `pattern-make` and `pattern-match` pass over what they cannot load, too.
    for record in train:
        with contextlib.suppress(Exception):
            maker.load(record['url'])
    for url_meta, root in maker.make():
        for pattern in formatter.format(url_meta, root):
            with contextlib.suppress(Exception):
                matcher.load(pattern, meta=pattern)

    def first(url):
        # The program `pattern-match` sorts them the same way.
        matched = sorted(matcher.match(url), reverse=True)
        return matched[0].meta if matched else None
    return each(first)


def each(function):
    """Calls a function of a URL for each; a URL at which it raises counts as failed."""
    def predict(records):
        out, failed = [], 0
        for record in records:
            try:
                out.append((record['url'], function(record['url'])))
            except Exception:
                failed += 1
        return out, failed
    return predict


def seconds():
    """Processor time of this process and of its children that ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def records(path):
    with open(path, encoding='utf-8') as file:
        return [json.loads(line) for line in file]


class Late(BaseException):
    """A site took more processor time than is allowed; peers and this file catch exceptions of other kinds."""


def late(*_):
    raise Late


def main():
    name, train, test, out, *limit = sys.argv[1:]
    method, sites = globals()[name.replace('-', '_')], {}
    for at, path in enumerate((train, test)):
        for record in records(path):
            sites.setdefault(record.get('site'), ([], []))[at].append(record)
    # Imports the package.
    method([], [])
    signal.signal(signal.SIGPROF, late)
    costs, over, failures = [], [], 0
    with open(out, 'w', encoding='utf-8', newline='\n') as file:
        for site, (train, test) in sites.items():
            try:
                signal.setitimer(signal.ITIMER_PROF, float(limit[0]) if limit else 0)
                began = seconds()
                predict = method(train, test)
                learned = seconds()
                predictions, failed = predict(test)
                ended = seconds()
                signal.setitimer(signal.ITIMER_PROF, 0)
            except Late:
                over.append(site)
                continue
            failures += failed
            costs.append({'site': site, 'urls': len(test), 'learn': learned - began, 'apply': ended - learned})
            for url, canonical in predictions:
                if canonical and not any(c in canonical for c in '\t\r\n'):
                    file.write('%s\t%s\n' % (url, canonical))
    print(json.dumps({'sites': costs, 'late': over, 'failed': failures}))


if __name__ == '__main__':
    main()
