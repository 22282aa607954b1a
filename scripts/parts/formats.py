"""What undust makes of archives and access logs, in one table: measured, floor, verdict.

  clusters   `undust clusters --cluster-by simhash` on each archive against the labels of its corpus: adjusted Rand index
  rules      learned straight from the archive against rules learned from the labels, scored by tools/score.py: saved share,
             recall; then both from the URLs with an even SHA-1 only, scored on the others
  workers    the clusters of one, two and three workers are the same bytes
  log        URL, status and size of every line of each access log against a reader of its own, written in a regular
             expression; rejected lines

The scorer is not ours: tools/ of the data folder."""
import collections, glob, gzip, hashlib, json, os, re, subprocess
from parts.common import Skipped, scratch
from parts.figures import House, Table

ARI_FLOOR = 0.97
SAVED_WITHIN = 0.02
BASE = 'http://log.example'


def undust(house, *arguments):
    """Runs the binary; what it said on standard error."""
    done = subprocess.run([house.binary, *arguments], capture_output=True, text=True, encoding='utf-8', errors='replace')
    if done.returncode:
        raise RuntimeError('%s: exit code %d\n%s' % (' '.join(arguments[:3]), done.returncode, done.stderr[-800:]))
    return done.stderr


def rows(path):
    opened = gzip.open(path, 'rt', encoding='utf-8') if path.endswith('.gz') else open(path, encoding='utf-8')
    with opened as lines:
        return [json.loads(line) for line in lines]


def rand_index(pairs):
    """Adjusted Rand index (Hubert and Arabie 1985) of two labellings, given as pairs."""
    two = lambda n: n * (n - 1) / 2
    both, left, right = (sum(map(two, collections.Counter(labels).values()))
                         for labels in (pairs, [a for a, _ in pairs], [b for _, b in pairs]))
    chance = left * right / two(len(pairs))
    return (both - chance) / ((left + right) / 2 - chance)


def trains(url):
    return hashlib.sha1(url.encode()).digest()[0] % 2 == 0


def members(path):
    """Records of an archive that is a gzip member a record: (URL or None, bytes as they stand in the file)."""
    import zlib
    data = open(path, 'rb').read()
    at = 0
    while at < len(data):
        inflate = zlib.decompressobj(31)
        plain = inflate.decompress(data[at:])
        end = len(data) - len(inflate.unused_data)
        url = re.search(rb'^WARC-Target-URI: <?([^\r\n>]*)', plain.split(b'\r\n\r\n', 1)[0], re.M)
        yield (url.group(1).decode() if url else None), data[at:end]
        at = end


def archive(house, table, name):
    warc = os.path.join(house.corpora, name + '.warc.gz')
    out = os.path.join(house.scratch, name + '.jsonl')
    undust(house, 'clusters', warc, '--out', out, '--cluster-by', 'simhash', '-w', '1')
    first = open(out, 'rb').read()
    same = []
    for workers in ('2', '3'):
        undust(house, 'clusters', warc, '--out', out, '--cluster-by', 'simhash', '-w', workers, '--overwrite')
        same.append(open(out, 'rb').read() == first)
    table.add('workers', name, '', 'same bytes' if all(same) else 'other bytes', 'same', '', 'ok' if all(same) else 'FAIL')

    truth = {r['url']: str(r['cluster']) for r in house.records(name)}
    found = {r['url']: r['cluster'] for r in rows(out) if 'cluster' in r}
    common = [u for u in truth if u in found]
    share = len(common) / len(truth)
    index = rand_index([(truth[u], found[u]) for u in common])
    together = collections.defaultdict(set)
    for u in common:
        together[found[u]].add(truth[u])
    mixed = sum(len(labels) > 1 for labels in together.values())
    measured = 'ARI %.4f on %.1f %% of the labelled URLs; %d clusters mix labels' % (index, 100 * share, mixed)
    table.add('clusters', name, 'simhash', measured, 'ARI %.2f on 99 %%' % ARI_FLOOR, '',
              'ok' if index >= ARI_FLOOR and share >= 0.99 else 'FAIL')

    def saved(source, path, urls, labels):
        rules = os.path.join(house.scratch, '%s.%s.rules' % (name, source.replace(' ', '-')))
        undust(house, 'learn', path, '--out', rules)
        rates = house.score.rates(house.counts(urls, house.normalize(urls, rules), labels))
        table.add('rules', name, 'from the ' + source, 'saved %.4f, recall %.4f' % (rates['saved_share'], rates['rec']))
        return rates['saved_share']

    def compare(what, ours, theirs):
        table.add('rules', name, what, 'saved %+.4f' % (ours - theirs), '-%.2f' % SAVED_WITHIN, '',
                  'ok' if theirs - ours <= SAVED_WITHIN else 'FAIL')

    def written_to(file, records):
        path = os.path.join(house.scratch, '%s.%s.jsonl.gz' % (name, file))
        with gzip.open(path, 'wt', encoding='utf-8') as f:
            f.writelines(json.dumps(r) + '\n' for r in records)
        return path

    # Everything trains and everything is scored; then one half trains and the other is scored. A half of
    # the archive itself lacks the pages that many of its revisits name: shown, without a floor.
    records = [{k: r[k] for k in ('url', 'cluster')} for r in house.records(name)]
    urls, labels = [r['url'] for r in records], [str(r['cluster']) for r in records]
    whole = saved('archive', warc, urls, labels)
    compare('archive against labels', whole, saved('labels', written_to('labels', records), urls, labels))
    rest = [r for r in records if not trains(r['url'])]
    urls, labels = [r['url'] for r in rest], [str(r['cluster']) for r in rest]
    ours = written_to('half-clusters', [r for r in rows(out) if trains(r['url'])])
    theirs = written_to('half-labels', [r for r in records if trains(r['url'])])
    compare('half of them', saved('half of the clusters', ours, urls, labels),
            saved('half of the labels', theirs, urls, labels))
    half = os.path.join(house.scratch, name + '.half.warc.gz')
    with open(half, 'wb') as f:
        f.writelines(member for url, member in members(warc) if url is None or trains(url))
    saved('half of the archive', half, urls, labels)


LOG = re.compile(r'^(\S+) (\S+) (\S+) \[([^\]]+)\] "((?:[^"\\]|\\.)*)" (\d{3}) (\d+|-)(?: "(?:[^"\\]|\\.)*"){0,2}$')


def written(target):
    """What a server escaped in its log, escaped as in a URL: `\\\\`, `\\"` and `\\xhh`."""
    return re.sub(r'\\(?:x([0-9a-fA-F]{2})|(.))', lambda m: '%' + (m[1] or '%02x' % ord(m[2])).upper(), target)


def log(house, table, name):
    path = os.path.join(house.corpora, name + '.access.log.gz')
    out = os.path.join(house.scratch, name + '.log.jsonl')
    # Nothing in a log says which pages are alike: clustered by redirect, which leaves all without a
    # label.
    said = undust(house, 'clusters', path, '--log-base', BASE, '--cluster-by', 'redirect', '--out', out, '--max-rejects', '0')
    rejected = sum(int(n) for n in re.findall(r'rejected: (\d+)', said))
    expected, broken, no_page = [], 0, 0
    for line in gzip.open(path, 'rt', encoding='utf-8', newline='\n'):
        parsed = LOG.match(line.rstrip('\n'))
        if not parsed:
            broken += 1
            continue
        words = parsed.group(5).split(' ')
        if words[0] not in ('GET', 'HEAD'):
            no_page += 1
            continue
        size = 0 if parsed.group(7) == '-' else int(parsed.group(7))
        expected.append((BASE + written(' '.join(words[1:-1])), int(parsed.group(6)), size))
    found = [(r['url'], r.get('status', 0), r.get('size', 0)) for r in rows(out)]
    measured = '%d records, %d other requests, %d rejected, %s' % (
        len(found), no_page, rejected, 'all equal' if found == expected else
        '%d differ' % (sum(a != b for a, b in zip(found, expected)) + abs(len(found) - len(expected))))
    table.add('log', name, '', measured, 'equal, %d rejected' % broken, '',
              'ok' if found == expected and rejected == broken else 'FAIL')


def main(args):
    table = Table()
    with scratch(args.keep, 'accept-formats') as folder:
        house = House(os.path.abspath(args.binary), args.shared, str(folder))
        names = lambda end: sorted(os.path.basename(p)[:-len(end)] for p in glob.glob(os.path.join(house.corpora, '*' + end)))
        archives, logs = names('.warc.gz'), names('.access.log.gz')
        if not archives or not logs:
            raise Skipped('%s holds no .warc.gz or no .access.log.gz' % house.corpora)
        try:
            for name in archives:
                archive(house, table, name)
            for name in logs:
                log(house, table, name)
        except RuntimeError as failed:
            table.add('run', '', '', str(failed), '', '', 'FAIL')
    return table.show()
