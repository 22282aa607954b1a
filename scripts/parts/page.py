"""One page of all methods: those of `undust compare`, the peers of scripts/peers.py and the network of scripts/seq2seq, on
all corpora, under both protocols, with what each costs.

Each protocol is split (`compare --split`), the peers predict its test, site by site, and `compare --predictions --times`
puts them beside the methods of undust; `undust report` makes one page of both comparisons. Peers that learn do so once a
seed. A peer that takes more than --limit seconds of processor time for a site has no predictions there: its URLs are kept.
url-sanitize takes part where --only names it (13 ms a URL). The network learns the sites of the crawl protocol alone, which
is that of its paper, and takes part where --network names its program.

Printed: a table a protocol, of saved share and recall by corpus, a star where recall is under 0.995; the costs; and where
undust is not first. With --keep the page, the comparisons and the predictions stay, and predictions that were made there
of the same records by the same program with the same options are not made again.

Checks: every peer has predictions, every method has a cost in times.json for each site that it predicts, and the page names
every method under both protocols. Exit codes: 0 done, 1 a check fails, 2 cannot run."""
import gzip, json, pathlib, resource, shutil
from parts.common import SAMPLE, ended, existing, peer_program, scratch, skip
from peers import PEERS
from parts.peers import CORPORA, LEARN, PEER, RECALL, installed, run, table
from parts.seq2seq import ENVIRONMENT, NETWORK, digest, run as logged

PROTOCOLS = {'www10': ['--fpr-max', ','.join('%g' % (i / 100) for i in range(11))],
             'sigir2017': ['--fpr-max', '0.01,0.1', '--headline', '0.1']}
LEFT_OUT = {'url-sanitize'}


def once(path, options, make):
    """Calls `make`, which writes `path`, unless it did so before with equal options, which are noted beside it."""
    note, options = path.with_name(path.name + '.options'), json.dumps(options)
    if not (path.exists() and note.exists() and note.read_text() == options):
        note.unlink(missing_ok=True)
        make()
        note.write_text(options)


def split(args, protocol, corpora, folder):
    """Folder of the records of a protocol."""
    parts = folder / 'parts'

    def make():
        shutil.rmtree(parts, ignore_errors=True)
        run([args.binary, 'compare', *corpora, '--protocol', protocol, '--seeds', args.seeds, '-q', '--split', parts])

    once(parts, [protocol, args.seeds, digest(args.binary, *corpora)], make)
    return parts, json.loads((parts / 'split.json').read_text())['seeds']


def peer(args, name, found, parts, seed, stem):
    """Predictions of a peer for a seed: (file, its costs)."""
    file, costs = stem.with_suffix('.tsv'), stem.with_suffix('.json')
    records = [parts / ('train-%d.jsonl' % seed), parts / 'test.jsonl']

    def make():
        costs.write_text(run([found[0], PEER, name, *records, file, args.limit], env=found[1]))

    once(costs, [PEERS[name], args.limit, digest(PEER, *records)], make)
    return file, json.loads(costs.read_text())


def network(args, parts, seed, stem, corpus_of):
    """Predictions of a network a site, on the corpora that it is to take part in."""
    file, costs = stem.with_suffix('.tsv'), stem.with_suffix('.json')
    options = ['--units', args.units, '--embedding', args.units, '--epochs', args.epochs, '--seed', seed]

    def learn(folder):
        spent = [seconds([args.network, 'train', folder / 'train.jsonl', '--model', folder / 'model', *options], folder / 'train.log'),
                 seconds([args.network, 'predict', folder / 'test.jsonl', '--model', folder / 'model', '--out', folder / 'predictions.tsv'], folder / 'predict.log')]
        (folder / 'times.json').write_text(json.dumps(spent))

    def make():
        sites = {}
        for part in ('train-%d' % seed, 'test'):
            for line in open(parts / (part + '.jsonl'), encoding='utf-8'):
                site = json.loads(line)['site']
                if corpus_of[site] in args.network_corpus:
                    sites.setdefault(site, {}).setdefault(part.partition('-')[0] + '.jsonl', []).append(line)
        rows, text = [], ''
        for site, of in sites.items():
            folder = stem / site
            folder.mkdir(parents=True, exist_ok=True)
            for part, lines in of.items():
                (folder / part).write_text(''.join(lines))
            once(folder / 'times.json', [options, digest(args.network, *(folder / part for part in sorted(of)))], lambda: learn(folder))
            trained, applied = json.loads((folder / 'times.json').read_text())
            rows.append({'site': site, 'urls': len(of['test.jsonl']), 'learn': trained, 'apply': applied})
            text += (folder / 'predictions.tsv').read_text()
        file.write_text(text)
        costs.write_text(json.dumps({'sites': rows, 'late': [], 'failed': 0}))

    records = [parts / ('train-%d.jsonl' % seed), parts / 'test.jsonl']
    once(costs, [options, sorted(args.network_corpus), digest(args.network, *records)], make)
    return file, json.loads(costs.read_text())


def seconds(command, log):
    """Processor seconds of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with open(log, 'w') as said:
        logged(command, said, env=ENVIRONMENT)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def outside(args, protocol, peers, parts, seeds, folder, corpus_of):
    """Arguments of `compare` for the methods outside of undust; writes their costs to times.json."""
    arguments, times = [], []

    def add(name, made):
        for at, (file, costs) in enumerate(made):
            times.extend({**cost, 'method': name, 'seed': at} for cost in costs['sites'])
            arguments.extend(['--predictions', '%s@%d=%s' % (name, seeds[at], file)])
            if costs['late']:
                print('%s, seed %d: %s took more than %s s for %s' % (protocol, seeds[at], name, args.limit, ', '.join(costs['late'])), flush=True)

    for name, found in peers.items():
        made = [peer(args, name, found, parts, seed, folder / ('%s-%d' % (name, seed))) for seed in (seeds if name in LEARN else seeds[:1])]
        add(name, made if name in LEARN else made * len(seeds))
    if args.network and protocol == 'sigir2017':
        add(NETWORK, [network(args, parts, seed, folder / ('%s-%d' % (NETWORK, seed)), corpus_of) for seed in seeds])
    (folder / 'times.json').write_text(json.dumps({'times': times}) + '\n')
    return [*arguments, '--times', folder / 'times.json']


def corpora_of_sites(corpora, parts):
    """Corpus of each site."""
    corpus = {}
    for path in corpora:
        for line in gzip.open(path, 'rt', encoding='utf-8'):
            corpus[json.loads(line)['url']] = path.name.split('.')[0]
    return {record['site']: corpus[record['url']] for record in map(json.loads, open(parts / 'test.jsonl', encoding='utf-8'))}


def rates(counts):
    """Saved share and recall of summed counts, as src/evaluate/rates.rs has them."""
    n = {name: sum(of[name] for of in counts) for name in ('urls', 'canonical', 'clusters', 'covered')}
    saved = n['urls'] - n['canonical'] - (n['clusters'] - n['covered'])
    return saved / max(n['urls'] - n['clusters'], 1), n['covered'] / max(n['clusters'], 1)


def by_corpus(comparison, corpora):
    """{method: {corpus: a (saved, recall) a seed}}; a corpus none of whose URLs a method predicts is left out."""
    found = {}
    for method in comparison['methods']:
        runs = {}
        for site in comparison['sites']:
            for of in site['runs']:
                if of['method'] == method:
                    runs.setdefault((corpora[site['site']], of['seed']), []).append((of, site['urls']))
        for (corpus, _), of in sorted(runs.items()):
            if any(run.get('missing') != urls for run, urls in of):
                found.setdefault(method, {}).setdefault(corpus, []).append(rates([run['fits'][comparison['headline']]['counts'] for run, _ in of]))
    return found


def mean(values):
    average = sum(values) / len(values)
    spread = (sum((v - average) ** 2 for v in values) / max(len(values) - 1, 1)) ** 0.5
    return average, spread


def cell(figures):
    saved, spread = mean([saved for saved, _ in figures])
    recall = mean([recall for _, recall in figures])[0]
    return '%.4f%s%s/%.4f' % (saved, '±%.3f' % spread if spread else '', '*' if recall < RECALL else '', recall)


def shown(protocol, comparison, corpora):
    """Prints saved share and recall by corpus, and where another method saves more than undust."""
    found, names = by_corpus(comparison, corpora), sorted(set(corpora.values()))
    table([(protocol, *names), *((method, *(cell(of[name]) if name in of else '-' for name in names)) for method, of in found.items())])
    for name in names:
        ranked = []
        for method, of in found.items():
            if name in of and method != 'undust-whole' and mean([recall for _, recall in of[name]])[0] >= RECALL:
                ranked.append((mean([saved for saved, _ in of[name]])[0], method == 'undust', method))
        if ranked and not max(ranked)[1]:
            print('%s, %s: %s is first (%.4f), undust %s' % (protocol, name, max(ranked)[2], max(ranked)[0], cell(found['undust'][name])))
    print(flush=True)


def check(folder, comparison, failures):
    """Each method has predictions, and a cost wherever it has some."""
    timed = {(time['method'], time['site'], time['seed']) for time in json.loads((folder / 'times.json').read_text())['times']}
    for method in comparison['methods']:
        runs = [(of, site) for site in comparison['sites'] for of in site['runs'] if of['method'] == method]
        predicted = [(of, site) for of, site in runs if of.get('missing') != site['urls']]
        if not predicted:
            failures.append('%s: no prediction of %s' % (folder, method))
        for of, site in predicted:
            if (method, site['site'], of['seed']) not in timed:
                failures.append('%s: no cost of %s on %s, seed %d' % (folder, method, site['site'], of['seed']))


def costs(folder):
    """Prints the cost tables of a comparison, from what `compare` said."""
    text = (folder / 'said.txt').read_text()
    print('\n\n'.join(part for part in text.split('\n\n') if part.startswith(('Cost of', 'Seconds to learn', 'Microseconds'))) + '\n', flush=True)


def options(parser, _):
    parser.add_argument('--network', type=lambda text: text if text == 'build' else existing(text), metavar='PATH|build',
                        help='the program of scripts/seq2seq, or build; default: the network takes no part')
    parser.add_argument('--only', action='append', choices=sorted(PEERS), help='default: all but url-sanitize')
    parser.add_argument('--corpus', action='append', choices=CORPORA)
    parser.add_argument('--seeds', default='1,2,3')
    parser.add_argument('--limit', type=int, default=60, help='most processor seconds of a peer on a site')
    parser.add_argument('--network-corpus', action='append', choices=CORPORA, help='corpora that the network learns; default: all')
    parser.add_argument('--units', type=int, default=256, help='of each GRU of the network; the paper has 512')
    parser.add_argument('--epochs', type=int, default=15)
    parser.add_argument('--workers', default='1')


def main(args):
    if args.network == 'build':
        args.network = peer_program('seq2seq')
    folder = pathlib.Path(args.shared) / 'corpora'
    corpora = [folder / (name + '.jsonl.gz') for name in args.corpus or CORPORA]
    if not folder.exists():
        skip('the shared corpora, %s is not there; %s is taken' % (folder, SAMPLE.name))
        corpora = [SAMPLE]
    args.network_corpus = args.network_corpus or [path.name.split('.')[0] for path in corpora]
    with scratch(args.keep, 'accept-page') as out:
        return ended(measured(args, corpora, out))


def measured(args, corpora, out):
    """Prints all tables and writes the page; gives the checks that failed."""
    failures, peers = [], {}
    for name in args.only or [name for name in PEERS if name not in LEFT_OUT]:
        try:
            peers[name] = installed(name)
        except (RuntimeError, OSError) as error:
            failures.append('%s is not installed: %s' % (name, error))
    folders = []
    for protocol, rates_of in PROTOCOLS.items():
        folder = out / protocol
        folder.mkdir(parents=True, exist_ok=True)
        parts, seeds = split(args, protocol, corpora, folder)
        corpus_of = corpora_of_sites(corpora, parts)
        arguments = outside(args, protocol, peers, parts, seeds, folder, corpus_of)
        compared = folder / 'compared'
        shutil.rmtree(compared, ignore_errors=True)
        said = run([args.binary, 'compare', *corpora, '--protocol', protocol, '--seeds', args.seeds, '-w', args.workers, '-q', *rates_of, *arguments, '--out', compared])
        (folder / 'said.txt').write_text(said)
        comparison = json.loads((compared / 'comparison.json').read_text())
        shown(protocol, comparison, corpus_of)
        costs(folder)
        check(compared, comparison, failures)
        folders.append(compared)
    page = out / 'report.html'
    run([args.binary, 'report', *folders, '--page', page, '--overwrite', '-q'])
    text = page.read_text()
    for at, folder in enumerate(folders, 1):
        section = text.partition('<h2 class=part id=%d-part>' % at)[2].partition('<h2 class=part')[0]
        names = json.loads((folder / 'comparison.json').read_text())['methods']
        failures += ['the page does not name %s in part %d' % (name, at) for name in names if '<th scope=row>%s</th>' % name not in section]
    print('%s: %d bytes' % (page, len(text)))
    for name in peers:
        print('%s: %s' % (name, ', '.join(PEERS[name])))
    return failures
