"""Shows what `undust compress-index` does to real indexes.

For each corpus: pages -> index (tantivy) -> CIFF; rules learned from the labels of the corpus; the index compressed in
its original order and in that of URLs, with rules and without. Then
- a reader of its own (Python protobuf by the published schema, written out below) reads every file and compares every
  posting, record and sum with what the map of documents says, and the map with what `undust normalize` says;
- gzip and zstd outputs hold the same bytes;
- the engine, fed with the merged index, answers random queries as it did before, without the duplicates;
- bytes of the file and under a block codec (`cargo bench --bench ciff`), as a table.
"""
import gzip, hashlib, html.parser, json, os, random, re, shutil, subprocess, sys
from parts.common import Skipped, existing, peer_program, scratch, skip

PROTO = '''syntax = "proto3";
message Header {
  int32 version = 1; int32 num_postings_lists = 2; int32 num_docs = 3; int32 total_postings_lists = 4;
  int32 total_docs = 5; int64 total_terms_in_collection = 6; double average_doclength = 7; string description = 8;
}
message Posting { int32 docid = 1; int32 tf = 2; }
message PostingsList { string term = 1; int64 df = 2; int64 cf = 3; repeated Posting postings = 4; }
message DocRecord { int32 docid = 1; string collection_docid = 2; int32 doclength = 3; }
'''


class Wrong(Exception):
    """A check failed."""


def check(true, text, *values):
    if not true:
        raise Wrong(text % values)


def run(command, codes=(0,)):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode not in codes:
        raise Wrong('%s: exit code %d: %s' % (' '.join(command[:4]), done.returncode, done.stderr.strip()[-2000:]))
    return done.stdout


# Corpora: pages in the order in which a crawler would have stored them, and labelled records.

class Text(html.parser.HTMLParser):
    """The text of a page; what is in scripts and styles is none."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.inside, self.parts = 0, []

    def handle_starttag(self, tag, _):
        self.inside += tag in ('script', 'style')

    def handle_endtag(self, tag):
        self.inside -= tag in ('script', 'style') and self.inside > 0

    def handle_data(self, data):
        if not self.inside:
            self.parts.append(data)


def warc_pages(path):
    """Pages of a WARC file that were found, the first record of each URL."""
    from warcio.archiveiterator import ArchiveIterator
    seen = set()
    with open(path, 'rb') as f:
        for record in ArchiveIterator(f):
            if record.rec_type != 'response' or record.http_headers.get_statuscode() != '200':
                continue
            url = record.rec_headers.get_header('WARC-Target-URI')
            kind = record.http_headers.get_header('Content-Type') or ''
            if url in seen or 'html' not in kind:
                continue
            seen.add(url)
            text = Text()
            text.feed(record.content_stream().read().decode('utf-8', 'replace'))
            yield url, ' '.join(' '.join(text.parts).split())


def synth_pages(folder, numpy):
    """URLs of synthetic sites in a random order, as a crawl of many sites stores them. Pages of one cluster have one
    text, with three words of their own (a date, a name): 40,000 words by Zipf's law, a third of them of the site."""
    records = []
    for name in sorted(os.listdir(folder)):
        if name.endswith('.tsv'):
            with open(os.path.join(folder, name), encoding='utf-8') as f:
                records += (line.rstrip('\n').split('\t') for line in f)
    records = sorted({r[0]: r for r in records}.values())
    random.Random(1).shuffle(records)
    words = 40_000
    chance = 1.0 / (numpy.arange(words) + 2.7)
    steps = numpy.cumsum(chance / chance.sum())
    names = numpy.array(['w%x' % i for i in range(words)])
    draw = lambda rng, count: numpy.minimum(numpy.searchsorted(steps, rng.random(count)), words - 1)
    seed = lambda text: numpy.random.default_rng(int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], 'big'))
    for url, cluster, site in (r[:3] for r in records):
        rng = seed('%s %s' % (site, cluster))
        count = int(min(1500, max(20, rng.lognormal(4.6, 0.7))))
        text = names[draw(rng, count)].tolist()
        own = draw(rng, count // 3)
        tag = seed(site).integers(1000)
        text += ['s%xw%x' % (tag, word % 2000) for word in own]
        text += names[draw(seed(url), 3)].tolist()
        yield url, ' '.join(text)


# The reader.

class Index:
    """A CIFF file, every message decoded by protobuf, every rule of the format checked."""

    def __init__(self, schema, numpy, path):
        with open(path, 'rb') as f:
            data = f.read()
        self.at = 0

        def message(kind):
            length, shift = 0, 0
            while True:
                byte = data[self.at]
                self.at += 1
                length |= (byte & 127) << shift
                shift += 7
                if byte < 128:
                    break
            check(self.at + length <= len(data), '%s: a message beyond the end', path)
            found = kind.FromString(data[self.at:self.at + length])
            self.at += length
            return found

        self.header = header = message(schema.Header)
        check(header.version == 1, '%s: version %d', path, header.version)
        self.terms, self.lists = [], []
        for _ in range(header.num_postings_lists):
            found = message(schema.PostingsList)
            gaps = numpy.array([p.docid for p in found.postings], dtype=numpy.int64)
            tf = numpy.array([p.tf for p in found.postings], dtype=numpy.int64)
            check(len(gaps) == found.df and len(gaps) > 0, '%s: df of %s', path, found.term)
            check(tf.sum() == found.cf and tf.min() > 0, '%s: cf of %s', path, found.term)
            check(len(gaps) == 1 or gaps[1:].min() > 0, '%s: gaps of %s', path, found.term)
            docs = numpy.cumsum(gaps)
            check(docs[-1] < header.num_docs, '%s: documents of %s', path, found.term)
            self.terms.append(found.term)
            self.lists.append((docs, tf))
        self.names, self.lengths = [], []
        for docid in range(header.num_docs):
            record = message(schema.DocRecord)
            check(record.docid == docid, '%s: record %d has id %d', path, docid, record.docid)
            self.names.append(record.collection_docid)
            self.lengths.append(record.doclength)
        check(self.at == len(data), '%s: %d bytes too many', path, len(data) - self.at)
        check([t.encode() for t in self.terms] == sorted(t.encode() for t in self.terms), '%s: order of terms', path)
        check(header.total_terms_in_collection == sum(self.lengths), '%s: total of terms', path)
        check(header.total_docs == header.num_docs, '%s: total of documents', path)
        check(header.total_postings_lists == header.num_postings_lists, '%s: total of lists', path)
        mean = sum(self.lengths) / max(1, header.num_docs)
        check(abs(header.average_doclength - mean) < 1e-9 * max(1, mean), '%s: average length', path)


def fates(path):
    """The map: survivors, new ids and canonical URLs, by old id."""
    with open(path, encoding='utf-8') as f:
        check(next(f) == 'old\tnew\tsurvivor\tcanonical\n', '%s: head', path)
        rows = [line.rstrip('\n').split('\t') for line in f]
    check([int(r[0]) for r in rows] == list(range(len(rows))), '%s: order', path)
    return [int(r[2]) for r in rows], [int(r[1]) for r in rows], [r[3] for r in rows]


def compare(numpy, old, new, path, by_url, canonical):
    """The new index is the old one under the map, and the map is that of the canonical URLs."""
    survivor, new_of, urls = fates(path)
    check(urls == canonical, '%s: canonical URLs are not those of normalize', path)
    survivor, new_of = numpy.array(survivor), numpy.array(new_of)
    stays = survivor == numpy.arange(len(survivor))
    check(stays[survivor].all() and (new_of == new_of[survivor]).all(), '%s: survivors', path)
    groups = {}
    for doc, url in enumerate(urls):
        check(groups.setdefault(url, survivor[doc]) == survivor[doc], '%s: two survivors of %s', path, url)
    check(len(groups) == stays.sum() == len(new.names), '%s: %d groups, %d documents', path, len(groups), len(new.names))
    order = sorted(groups.values(), key=lambda doc: urls[doc].encode()) if by_url else sorted(groups.values())
    check([int(new_of[doc]) for doc in order] == list(range(len(order))), '%s: order of ids', path)
    for doc in order:
        place = new_of[doc]
        same = new.names[place] == old.names[doc] and new.lengths[place] == old.lengths[doc]
        check(same, '%s: record %d is not that of %d', path, place, doc)
    at = 0
    for term, (docs, tf) in zip(old.terms, old.lists):
        kept = stays[docs]
        docs, tf = new_of[docs[kept]], tf[kept]
        if not len(docs):
            continue
        sort = numpy.argsort(docs)
        check(at < len(new.terms) and new.terms[at] == term, '%s: list %d is not of %s', path, at, term)
        same = numpy.array_equal(new.lists[at][0], docs[sort]) and numpy.array_equal(new.lists[at][1], tf[sort])
        check(same, '%s: postings of %s', path, term)
        at += 1
    check(at == len(new.terms), '%s: %d lists too many', path, len(new.terms) - at)


class House:
    def __init__(self, args, scratch):
        self.args, self.scratch = args, scratch
        with open(os.path.join(self.scratch, 'ciff.proto'), 'w') as f:
            f.write(PROTO)
        from grpc_tools import protoc
        if protoc.main(['protoc', '-I' + self.scratch, '--python_out=' + self.scratch, 'ciff.proto']):
            raise RuntimeError('protoc does not take the schema')
        sys.path.insert(0, self.scratch)
        import ciff_pb2, numpy
        self.schema, self.numpy, self.table = ciff_pb2, numpy, []

    def path(self, *parts):
        return os.path.join(self.scratch, *parts)

    def forum(self):
        corpora = os.path.join(self.args.shared, 'corpora')
        warc, labels = (os.path.join(corpora, 'crawl-forum' + end) for end in ('.warc.gz', '.jsonl.gz'))
        if not os.path.exists(warc):
            raise Skipped('%s is not there (--shared DIR)' % warc)
        return warc_pages(warc), labels

    def synth(self):
        folder = self.path('synth')
        if not os.path.exists(folder):
            sizes = ['--total-urls', str(self.args.documents), '--urls-min', '1000', '--sites', '12']
            run([self.args.binary, 'synth', '--out', folder, '--seed', '7', '--site-label', *sizes])
        return synth_pages(folder, self.numpy), folder

    def corpus(self, name):
        begun = getattr(self, name)()
        pages = self.path(name + '.tsv')
        documents = 0
        with open(pages, 'w', encoding='utf-8', newline='\n') as f:
            for url, text in begun[0]:
                if not re.search(r'\s', url):
                    f.write('%s\t%s\n' % (url, text))
                    documents += 1
        original = self.path(name + '.original.ciff')
        built = json.loads(run([self.args.peer, 'export', pages, original]))
        check(built['documents'] == documents, 'the engine lost documents')
        rules, none = self.path(name + '.rules'), self.path('no.rules')
        for folder, train in ((rules, begun[1]), (none, None)):
            shutil.rmtree(folder, ignore_errors=True)
            if train is None:
                train = self.path('nothing.tsv')
                with open(train, 'w') as f:
                    f.write('http://nothing.example/\t1\n')
            run([self.args.binary, 'learn', train, '--out', folder])
        old = Index(self.schema, self.numpy, original)
        files = [original]
        for variant, folder, order in (('merged', rules, 'keep'), ('url-order', none, 'url'), ('both', rules, 'url')):
            files.append(self.compressed(name, variant, original, old, folder, order))
        self.queries(name, pages)
        self.sizes(name, files)

    def compressed(self, name, variant, original, old, rules, order):
        out, table = self.path('%s.%s.ciff' % (name, variant)), self.path('%s.%s.map' % (name, variant))
        command = [self.args.binary, 'compress-index', '--rules', rules, '--index', original, '--order', order, '-q',
                   '--overwrite', '--out']
        said = run(command + [out, '--docmap', table, '--verify', '-w', '2'])
        check('verified: every list' in said, 'compress-index did not verify')
        urls = ''.join(url + '\n' for url in old.names)
        done = subprocess.run([self.args.binary, 'normalize', '--rules', rules, '-'], input=urls, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        check(done.returncode == 0, 'normalize: %s', done.stderr)
        new = Index(self.schema, self.numpy, out)
        compare(self.numpy, old, new, table, order == 'url', done.stdout.split('\n')[:-1])
        lost = old.header.num_docs - new.header.num_docs
        print('%-6s %-10s %6d -> %6d documents, %9d -> %9d postings: read by protobuf, every posting compared' % (
            name, variant, old.header.num_docs, new.header.num_docs, sum(len(l[0]) for l in old.lists),
            sum(len(l[0]) for l in new.lists)))
        check(lost > 0 or variant == 'url-order', 'nothing was merged: nothing was shown')
        if variant == 'both':
            import zstandard
            with open(out, 'rb') as f:
                plain = f.read()
            run(command + [out + '.gz'])
            run(command + [out + '.zst'])
            with gzip.open(out + '.gz') as f:
                check(f.read() == plain, 'the gzip output holds other bytes')
            with open(out + '.zst', 'rb') as f:
                found = zstandard.ZstdDecompressor().stream_reader(f, read_across_frames=True).read()
                check(found == plain, 'the zstd output holds other bytes')
            print('%-6s %-10s gzip (Python) and zstd (zstandard) outputs hold the same bytes' % (name, variant))
        return out

    def queries(self, name, pages):
        for variant in ('merged', 'both'):
            files = [self.path('%s.%s.%s' % (name, variant, end)) for end in ('ciff', 'map')]
            found = json.loads(run([self.args.peer, 'compare', pages, *files, str(self.args.queries), '11'], (0, 1)))
            print('%-6s %-10s %d queries, %d answers differ; %d had duplicates, %.1f %% of all hits and %.1f %% of the '
                  'first ten; %.1f %% of the first ten stay with the statistics of their own' % (
                      name, variant, found['queries'], found['differ'], found['with_duplicates'],
                      100 * found['hits_gone'] / max(1, found['hits']), 100 * found['top10_gone'] / max(1, found['top10']),
                      100 * found['own_top10_same'] / max(1, found['own_top10'])))
            check(found['differ'] == 0, '%d of %d queries are answered differently', found['differ'], found['queries'])
            check(found['with_duplicates'] > 0, 'no query had a duplicate: nothing was shown')

    def sizes(self, name, files):
        profile = [] if self.args.profile == 'release' else ['--profile', self.args.profile]
        out = run(['cargo', 'bench', '--quiet', '--locked', *profile, '--bench', 'ciff', '--', *files])
        rows = [line.split() for line in out.split('\n') if '.ciff' in line]
        check(len(rows) == len(files), 'the bench does not speak of every file: %s', out)
        first = None
        for row in rows:
            label, postings, size, gaps, tf = row[0].split('.')[1], *map(int, row[1:5])
            first = first or (size, gaps + tf)
            self.table.append((name, label, postings, size, size / first[0], gaps, tf, (gaps + tf) / first[1],
                               8 * gaps / postings, 8 * tf / postings))


def options(parser, _):
    parser.add_argument('--only', action='append', choices=['forum', 'synth'])
    parser.add_argument('--documents', type=int, default=60_000, help='URLs of the synthetic sites')
    parser.add_argument('--queries', type=int, default=1000)
    parser.add_argument('--peer', type=existing, metavar='PATH', help='the program of scripts/index-peer; default: it is built')


def main(args):
    args.peer = str(args.peer or peer_program('index-peer'))
    with scratch(args.keep, 'accept-index') as folder:
        return measured(args, House(args, str(folder)))


def measured(args, house):
    """Checks each corpus and prints the table; the exit code."""
    failed = 0
    for name in args.only or ['forum', 'synth']:
        try:
            house.corpus(name)
        except Wrong as wrong:
            failed += 1
            print('%-6s FAILED: %s' % (name, wrong))
        except Skipped as why:
            skip('%s: %s' % (name, why))
    head = ('corpus', 'index', 'postings', 'CIFF bytes', 'of it', 'd-gap bytes', 'tf bytes', 'of them', 'bits/gap', 'bits/tf')
    form = '%-6s  %-10s  %10s  %11s  %6s  %11s  %9s  %7s  %8s  %7s'
    print(form % head)
    for r in house.table:
        print(form % (*r[:4], '%.3f' % r[4], r[5], r[6], '%.3f' % r[7], '%.2f' % r[8], '%.2f' % r[9]))
    return 1 if failed else 0
