"""The network of SIGIR 2017 beside undust, as in Table 2 of the paper.

Of each site the first 15,000 URLs train and the next 5,000 are predicted and scored, in this proportion where a site has
fewer (`undust compare --protocol sigir2017`). Every method keeps rules of a false-positive rate up to 0.1, as in the paper;
the network has no such filter.

  Prec, Rec, F1   of the simulated crawl (section 3.2 of the paper)
  saved           share of the duplicate fetches that a crawler is spared, less the pages that it loses
  URL fpr         share of the merged URLs that are not of the largest cluster of their canonical URL
  train s         processor seconds on one thread; of the other methods, of learning and selection
  loss            of the first and the last epoch; in brackets the least that equal sources with different targets allow
  us/URL          time by the clock of one URL, all URLs of the test together; alone: one URL at a time

With --keep a site whose network was trained there by the same program, on the same records and with the same options is not
trained again.

Checks: every URL of the test has a prediction, the loss falls, and precision and recall, counted here from the predictions,
are those of `undust compare`."""
import collections, csv, hashlib, json, os, pathlib, resource, shutil, subprocess
from parts.common import SAMPLE, ended, existing, peer_program, scratch, skip

PUBLIC = ('phpbb-forum', 'crawl-kb', 'crawl-docs', 'crawl-blog')
SYNTHETIC = ('synth-1', 'synth-2', 'synth-3')
METHODS = ('keep-all', 'fan-out-10', 'decision-tree', 'undust')
NETWORK = 'seq2seq'
SYNTHETIC_URLS = 20_000
# One thread, so that equal seeds give equal weights. glibc returns the memory of every tensor to the
# system otherwise, which took a third of the time.
ENVIRONMENT = dict(os.environ, RAYON_NUM_THREADS='1', CANDLE_NUM_THREADS='1', MALLOC_MMAP_THRESHOLD_='1073741824',
                   MALLOC_TRIM_THRESHOLD_='4294967296', MALLOC_TOP_PAD_='67108864')


def run(command, log=None, **more):
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=log or subprocess.PIPE, text=True, **more)
    if done.returncode:
        said = (done.stderr or '').strip() or ('see %s' % log.name if log else 'nothing said')
        raise RuntimeError('%s left with %d: %s' % (command[0], done.returncode, said.splitlines()[-1]))
    return done.stdout


def digest(*files):
    """SHA-256 of files, in order."""
    return [hashlib.sha256(pathlib.Path(file).read_bytes()).hexdigest() for file in files]


def site_input(args, name, folder):
    """The records of a site: a corpus, or a synthetic site, written where it is not there."""
    if name in SYNTHETIC:
        if not (folder / 'site' / '_manifest.json').exists():
            run([args.binary, 'synth', '--sites', 1, '--total-urls', SYNTHETIC_URLS, '--seed', name.rpartition('-')[2], '--per-site',
                 '--site-label', '--format', 'jsonl', '--out', folder / 'site', '--overwrite'])
        return folder / 'site'
    return SAMPLE if name == 'sample' else pathlib.Path(args.shared) / 'corpora' / (name + '.jsonl.gz')


def trained(args, name, folder):
    """Figures of the training of a site, which is run where it was not."""
    epochs = args.epochs or (10 if name in SYNTHETIC else 15)
    options = ['--units', args.units, '--embedding', args.units, '--epochs', epochs, '--seed', args.seed, '--optimizer', args.optimizer,
               '--numbering', args.numbering, *['--identity'] * args.identity, *['--reversed'] * args.reversed]
    options, figures = [str(option) for option in options], folder / 'train.json'
    made_of = digest(args.network, folder / 'parts' / 'train-1.jsonl')
    if figures.exists():
        found = json.loads(figures.read_text())
        if (found['options'], found.get('made_of')) == (options, made_of):
            return found
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with open(folder / 'train.log', 'w') as log:
        said = run([args.network, 'train', folder / 'parts' / 'train-1.jsonl', '--model', folder / 'model', *options], log, env=ENVIRONMENT)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    found = dict(json.loads(said), options=options, made_of=made_of, processor_seconds=seconds)
    figures.write_text(json.dumps(found) + '\n')
    return found


def fresh(folder):
    shutil.rmtree(folder, ignore_errors=True)
    return folder


def measure(args, name, folder, failures):
    """All figures of a site."""
    folder.mkdir(parents=True, exist_ok=True)
    source, protocol = site_input(args, name, folder), ['--protocol', 'sigir2017', '-q']
    run([args.binary, 'compare', source, *protocol, '--split', fresh(folder / 'parts')])
    training = trained(args, name, folder)
    predictions = folder / 'predictions.tsv'
    spent = json.loads(run([args.network, 'predict', folder / 'parts' / 'test.jsonl', '--model', folder / 'model', '--out', predictions], env=ENVIRONMENT))
    out = fresh(folder / 'compared')
    run([args.binary, 'compare', source, *protocol, '--fpr-max', '0.1', '--headline', '0.1', '--methods', ','.join(METHODS),
         '--predictions', '%s=%s' % (NETWORK, predictions), '--out', out])
    rates = {row['method']: row for row in csv.DictReader(open(out / 'methods.csv'))}
    times = {time['method']: time for time in json.loads((out / 'times.json').read_text())['times']}
    labels = {}
    for line in open(folder / 'parts' / 'test.jsonl', encoding='utf-8'):
        record = json.loads(line)
        labels[record['url']] = record['cluster']
    merged = collections.defaultdict(list)
    for line in open(predictions, encoding='utf-8'):
        url, canonical = line.rstrip('\n').split('\t')
        merged[canonical].append(url)
    check(name, labels, merged, training, rates[NETWORK], failures)
    return {'training': training, 'spent': spent, 'rates': rates, 'times': times, 'urls': len(labels), 'wrong': wrong(labels, merged)}


def check(name, labels, merged, training, rates, failures):
    if sum(map(len, merged.values())) != len(labels) or {url for urls in merged.values() for url in urls} != set(labels):
        failures.append('%s: not every URL of the test has one prediction' % name)
        return
    losses = training['losses']
    if len(losses) > 1 and losses[-1] >= losses[0]:
        failures.append('%s: the loss rose from %.4f to %.4f' % (name, losses[0], losses[-1]))
    covered = len({labels[urls[0]] for urls in merged.values()})
    for what, found in (('precision', covered / len(merged)), ('recall', covered / len(set(labels.values())))):
        if abs(float(rates[what]) - found) > 6e-5:
            failures.append('%s: %s is %s by compare, %.4f as counted here' % (name, what, rates[what], found))


def wrong(labels, merged):
    """Canonical URLs of several clusters, those that lose most URLs first: (URLs, clusters, canonical URL, a URL of each of
    the three largest clusters)."""
    found = []
    for canonical, urls in merged.items():
        clusters = collections.defaultdict(list)
        for url in urls:
            clusters[labels[url]].append(url)
        if len(clusters) > 1:
            largest = sorted(clusters.values(), key=len, reverse=True)
            found.append((len(urls) - len(largest[0]), len(urls), len(clusters), canonical, [members[0] for members in largest[:3]]))
    return sorted(found, key=lambda row: (-row[0], row[3]))


def markdown(rows):
    for i, row in enumerate(rows):
        print('| ' + ' | '.join(row) + ' |')
        if i == 0:
            print('|' + '---|' * len(row))
    print(flush=True)


def short(number):
    return ('%.3f' % number).removeprefix('0')


def tables(sites, shown):
    columns = ('precision', 'recall', 'F1')
    rows = [('method', *sites, 'avg')]
    for method in (*METHODS, NETWORK):
        cells = [[float(site['rates'][method][column]) for column in columns] for site in sites.values()]
        cells.append([sum(column) / len(cells) for column in zip(*cells)])
        rows.append(('`%s`' % method, *(' / '.join(map(short, cell)) for cell in cells)))
    print('Precision / recall / F1 of the simulated crawl; avg: mean of the sites\n')
    markdown(rows)
    print('Saved share / URL fpr\n')
    cell = lambda site, method: '%s / %s' % (short(float(site['rates'][method]['saved'])), short(float(site['rates'][method]['URL fpr'])))
    markdown([('method', *sites), *(('`%s`' % method, *(cell(site, method) for site in sites.values())) for method in (*METHODS, NETWORK))])
    print('The network\n')
    rows = [('site', 'pairs', 'different', 'vocabulary', 'units', 'epochs', 'loss', 'train s', 'by the clock', 'us/URL', 'alone', 'translated', 'kept')]
    for name, site in sites.items():
        training, spent = site['training'], site['spent']
        outcomes, losses = spent['outcomes'], training['losses']
        kept = outcomes['unrestorable'] + outcomes['endless']
        rows.append((name, *(str(training[key]) for key in ('pairs', 'distinct_pairs', 'vocabulary', 'units', 'epochs')),
                     '%.3f to %.3f (%.3f)' % (losses[0], losses[-1], training['least_loss']), '%.0f' % training['processor_seconds'], '%.0f' % training['seconds'],
                     '%.0f' % (spent['seconds'] / site['urls'] * 1e6), '%.0f' % (spent['single_url_seconds'] * 1e6), str(outcomes['changed']), str(kept)))
    markdown(rows)
    print('Seconds to learn / microseconds a URL\n')
    cost = lambda site, method: '%.2f / %.1f' % (site['times'][method]['learn'] + site['times'][method]['select'], site['times'][method]['apply'] / site['urls'] * 1e6)
    markdown([('method', *sites), *(('`%s`' % method, *(cost(site, method) for site in sites.values())) for method in METHODS)])
    for name, site in sites.items():
        print('%s: %d canonical URLs of several clusters; those that lose most URLs:' % (name, len(site['wrong'])))
        for lost, urls, clusters, canonical, examples in site['wrong'][:shown]:
            print('  %s (%d URLs of %d clusters)' % (canonical, urls, clusters))
            for url in examples:
                print('      ' + url)


def options(parser, _):
    parser.add_argument('--network', type=existing, metavar='PATH', help='the program of scripts/seq2seq; default: it is built')
    parser.add_argument('--site', action='append', choices=(*PUBLIC, *SYNTHETIC, 'sample'))
    parser.add_argument('--units', type=int, default=256, help='of each GRU, and numbers of an embedding; the paper has 512')
    parser.add_argument('--epochs', type=int, help='default: 15, for synthetic sites, which have more pairs, 10')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--optimizer', choices=('sgd', 'adam'), default='sgd')
    parser.add_argument('--numbering', choices=('source', 'target'), default='source')
    parser.add_argument('--identity', action='store_true', help='singletons train, too')
    parser.add_argument('--reversed', action='store_true', help='the encoder reads URLs from their end')
    parser.add_argument('--examples', type=int, default=3, help='wrong merges shown of each site')


def main(args):
    args.network = args.network or peer_program('seq2seq')
    names = args.site or [*PUBLIC, *SYNTHETIC]
    corpora = pathlib.Path(args.shared) / 'corpora'
    if not corpora.exists() and set(names) & set(PUBLIC):
        skip('the shared corpora, %s is not there; %s is taken' % (corpora, SAMPLE.name))
        names = ['sample', *(name for name in names if name not in PUBLIC)]
    failures, sites = [], {}
    with scratch(args.keep, 'accept-seq2seq') as out:
        for name in names:
            sites[name] = measure(args, name, out / name, failures)
    tables(sites, args.examples)
    return ended(failures)
