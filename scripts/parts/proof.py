"""The part `proof` of scripts/accept: rules with planted mistakes, which the proof must refuse, and true rules.

  mutants  On each public corpus and on synthetic sites: learn, then plant one mistake a rule set (kinds below), drawn evenly
           by kind with the seed among all that make at least five wrong marginal merges, which are over half of their
           marginal merges. `undust prove` gets the rule set and the records. A mutant is refused where its rule, or what
           became of it, makes at most one wrong marginal merge.
  true     Rules learned from synthetic sites without noise: how many of them the proof withdraws or narrows.

A marginal merge, counted here and not by undust: on a page (URLs with one canonical URL by all rules, memory off), the parts
into which it falls without the rule, less one; wrong where the largest cluster of a part is not the page's."""
import collections, gzip, hashlib, json, os, random, re, subprocess, sys, tempfile

KINDS = ('functional key ignored', 'condition dropped', 'list widened', 'directories joined', 'class joined',
         'look-up elsewhere', 'mapping swapped', 'front moved', 'title left out', 'rest left out', 'value elsewhere')
LEAST_WRONG, MOST_LEFT = 5, 1
ATTEMPTS = 20
MOST_ROWS = 12000
MEMORY = ('exceptions', 'aliases', 'local')


def run(command, text=''):
    done = subprocess.run(command, input=text, capture_output=True, text=True, encoding='utf-8', errors='surrogateescape')
    if done.returncode:
        raise RuntimeError('%s: exit code %d\n%s' % (' '.join(command[:3]), done.returncode, done.stderr[-800:]))
    return done.stdout


def records(path):
    """(site, url, cluster) of the labelled records, the first of each URL."""
    seen = set()
    with gzip.open(path, 'rt') if path.endswith('.gz') else open(path) as lines:
        for line in lines:
            row = json.loads(line) if line.startswith('{') else dict(zip(('url', 'cluster', 'site'), line.rstrip('\n').split('\t')))
            if row.get('cluster') is not None and row['url'] not in seen:
                seen.add(row['url'])
                yield row.get('site'), row['url'], str(row['cluster'])


class Ground:
    """A corpus with the rules learned from it."""

    def __init__(self, undust, name, path, folder, most=MOST_ROWS):
        self.undust, self.name, self.folder = undust, name, folder
        os.makedirs(folder, exist_ok=True)
        self.input = os.path.join(folder, 'records.jsonl')
        self.learned = os.path.join(folder, 'rules')
        rows = list(records(path))
        # Whole clusters of a large corpus, in the order of their hashes: a mutant takes a pass or several
        # over all rows.
        order = sorted({(site, cluster) for site, _, cluster in rows}, key=lambda of: hashlib.sha1(repr(of).encode()).digest())
        sizes, taken, total = collections.Counter((site, cluster) for site, _, cluster in rows), set(), 0
        for of in order:
            if total + sizes[of] > most:
                break
            taken.add(of)
            total += sizes[of]
        rows = [row for row in rows if (row[0], row[2]) in taken]
        with open(self.input, 'w') as out:
            for site, url, cluster in rows:
                out.write(json.dumps({'url': url, 'cluster': cluster, **({'site': site} if site else {})}) + '\n')
        run([undust, 'learn', '-q', self.input, '--out', self.learned, '--overwrite'])
        with open(os.path.join(self.learned, 'rules.jsonl')) as lines:
            self.header, *sites = [json.loads(line) for line in lines]
        self.sites = {site['site']: site for site in sites}
        for site in self.sites.values():
            site.pop('check', None), site.pop('last', None)
        self.header.pop('check', None)
        # By site: without a label the site is what the rules say.
        said = [json.loads(line).get('site') for line in self.apply(self.sites.values(), [url for _, url, _ in rows], 'jsonl')]
        self.rows = collections.defaultdict(list)
        for (label, url, cluster), site in zip(rows, said):
            if (label or site) in self.sites:
                self.rows[label or site].append((url, cluster))

    def apply(self, sites, urls, output='url'):
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            path = os.path.join(folder, 'rules.jsonl')
            write(path, self.header, sites)
            out = run([self.undust, 'normalize', '-q', '--rules', path, '--output', output], '\n'.join(urls) + '\n')
        return out.split('\n')[:-1]

    def marginal(self, site, without):
        """(right, wrong) marginal merges of what `site` has and `without` lacks."""
        rows = self.rows[site['site']]
        urls = [url for url, _ in rows]
        whole, parts = self.apply([site], urls), self.apply([without], urls)
        pages = collections.defaultdict(lambda: collections.defaultdict(collections.Counter))
        for (_, cluster), page, part in zip(rows, whole, parts):
            pages[page][part][cluster] += 1
        right = wrong = 0
        for page in pages.values():
            if len(page) < 2:
                continue
            total = collections.Counter()
            for part in page.values():
                total.update(part)
            largest = max(total, key=lambda cluster: (total[cluster], cluster))
            of_part = [max(part, key=lambda cluster: (part[cluster], cluster == largest, cluster)) for part in page.values()]
            same = of_part.count(largest)
            right += max(same - 1, 0)
            wrong += len(page) - max(same, 1)
        return right, wrong

    def prove(self, site):
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            path = os.path.join(folder, 'rules.jsonl')
            write(path, self.header, [site if other['site'] == site['site'] else other for other in self.sites.values()])
            run([self.undust, 'prove', '-q', '--rules', path, '--out', os.path.join(folder, 'out'), self.input])
            with open(os.path.join(folder, 'out', 'rules.jsonl')) as lines:
                proven = {row['site']: row for row in map(json.loads, list(lines)[1:])}
            with open(os.path.join(folder, 'out', 'summary.json')) as text:
                summary = json.load(text)
        return proven[site['site']], summary


def write(path, header, sites):
    with open(path, 'w') as out:
        for row in [header, *sites]:
            out.write(json.dumps({key: value for key, value in row.items() if key not in ('check', 'last')}) + '\n')


def plain(site):
    return {key: value for key, value in site.items() if key not in MEMORY}


def keys_of(site, urls):
    """Query keys of the URLs with their values."""
    found = collections.defaultdict(collections.Counter)
    for url in urls:
        for pair in url.partition('#')[0].partition('?')[2].split('&'):
            name, _, value = pair.partition('=')
            if name and '%' not in pair and '+' not in pair:
                found['query %s=' % name][value] += 1
    return found


def directories(urls):
    found = collections.Counter()
    for url in urls:
        parts = url.split('?')[0].split('#')[0].split('/')
        if len(parts) > 4 and parts[3] and '%' not in parts[3]:
            found[parts[3]] += 1
    return found


def rests(urls):
    """Of each path key with a number inside the segment (`p-7-a-title.html`) what most often follows the number."""
    found = collections.defaultdict(collections.Counter)
    for url in urls:
        for at, segment in enumerate(url.partition('#')[0].partition('?')[0].split('/')[3:]):
            inner = re.match(r'[a-z]+-[0-9]+(-[a-z-]+)(?:\.[a-z]+)?$', segment)
            if inner:
                found['path%d' % at][inner[1]] += 1
    return {key: values.most_common(1)[0][0] for key, values in found.items()}


def fronts_moved(rows, rng):
    """Pairs of a front and a directory below which five of the same rests are other pages."""
    below = collections.defaultdict(dict)
    for url, cluster in rows:
        address, _, query = url.partition('#')[0].partition('?')
        parts = address.split('/')
        for depth in (3, 4):
            if len(parts) > depth:
                rest = '/'.join(parts[depth:])
                below['/'.join(parts[:depth])][rest + ('?' + query if query else '')] = cluster
        name, equals, value = query.partition('=')
        if equals and value and '&' not in value and not any(byte in value for byte in '%+;?'):
            below['%s?%s=' % (address, name)][value.lstrip('/')] = cluster
    sharing = collections.defaultdict(list)
    for front, rests in below.items():
        for rest in rests:
            sharing[rest].append(front)
    apart = collections.Counter()
    for rest, fronts in sharing.items():
        fronts = rng.sample(sorted(fronts), min(len(fronts), 12))
        apart.update((a, b) for a in fronts for b in fronts if a != b and '?' not in b and below[a][rest] != below[b][rest])
    return [pair for pair, count in sorted(apart.items()) if count >= LEAST_WRONG]


def candidates(ground, kind, rng):
    """Mutants of a kind, in random order: (site name, mutated rules, rules without what was mutated)."""
    out = []
    for name, site in ground.sites.items():
        urls = [url for url, _ in ground.rows[name]]
        if len(urls) < 20:
            continue
        rules = site['rules']
        keys = keys_of(site, urls)

        def changed(at, rule):
            return {**plain(site), 'rules': rules[:at] + [{**rule, 'id': 'feedfeedfeedfeed'}] + rules[at + 1:]}

        def dropped(at):
            return {**plain(site), 'rules': rules[:at] + rules[at + 1:]}

        def added(scope, operations, kind):
            rule = {'id': 'feedfeedfeedfeed', 'kind': kind, 'scope': scope, 'operations': operations,
                    'evidence': {**(rules[0]['evidence'] if rules else EVIDENCE), 'examples': []}}
            return {**plain(site), 'rules': rules + [rule]}

        if kind == 'functional key ignored':
            ignored = {key for rule in rules for key, operation in rule['operations'] if not rule['scope'] and 'ignore' in operation}
            out += [(name, added([], [[key, {'ignore': 'left-out'}]], 'ignore'), plain(site)) for key in keys if key not in ignored]
        elif kind == 'directories joined':
            top = [word for word, count in directories(urls).most_common(30) if count > 4]
            pairs = [(a, b) for a in top for b in top if a != b]
            rng.shuffle(pairs)
            for a, b in pairs[:60]:
                out.append((name, added([], [['path0', {'classes': [[a, b]]}]], 'classes'), plain(site)))
        elif kind == 'front moved':
            for a, b in fronts_moved(ground.rows[name], rng):
                out.append((name, added([{'key': 'prefix', 'test': {'equals': a}}], [['prefix', {'keep': b}]], 'mirror'), plain(site)))
        elif kind == 'title left out':
            titled = lambda values: sum(bool(re.match('[0-9]+:', value)) for value in values) >= LEAST_WRONG
            out += [(name, added([], [[key, {'apply': 'drop-title'}]], 'function'), plain(site)) for key in keys if titled(keys[key])]
        elif kind == 'rest left out':
            for key, value in rests(urls).items() if site['tokens'].get('inner_numbers') else ():
                behind = [{'key': key + '.group', 'test': 'present'}]
                out.append((name, added(behind, [[key, {'ignore': {'where-present': value}}]], 'ignore'), plain(site)))
        elif kind == 'look-up elsewhere':
            pages = sorted({to for _, to in site.get('aliases', [])})
            for at, (source, to) in enumerate(site.get('aliases', [])):
                other = rng.choice(pages) if pages else to
                if other not in (to, source):
                    rest = site['aliases'][:at] + site['aliases'][at + 1:]
                    wrong = sorted(rest + [[source, other]])
                    out.append((name, {**site, 'aliases': wrong}, {**site, 'aliases': rest}))
        else:
            for at, rule in enumerate(rules):
                mirror = any(of['key'] == 'prefix' for of in rule['scope'])
                if kind == 'condition dropped' and not mirror and not rule.get('closed'):
                    for n in range(len(rule['scope'])):
                        out.append((name, changed(at, {**rule, 'scope': rule['scope'][:n] + rule['scope'][n + 1:]}), dropped(at)))
                elif kind == 'list widened':
                    for n, of in enumerate(rule['scope']):
                        values = of['test'].get('one-of') if isinstance(of['test'], dict) else None
                        values = [of['test']['equals']] if isinstance(of['test'], dict) and 'equals' in of['test'] else values
                        more = list(keys.get(of['key'], {})) if of['key'] in keys else []
                        if of['key'] == 'path0':
                            more = list(directories(urls))
                        if values is None or mirror or rule.get('closed'):
                            continue
                        for value in more:
                            if value not in values:
                                scope = list(rule['scope'])
                                scope[n] = {'key': of['key'], 'test': {'one-of': sorted(values + [value])}}
                                out.append((name, changed(at, {**rule, 'scope': scope}), dropped(at)))
                elif kind == 'class joined':
                    for n, (key, operation) in enumerate(rule['operations']):
                        if not (isinstance(operation, dict) and 'classes' in operation):
                            continue
                        known = {value for pair in operation['classes'] for value in pair}
                        more = list(keys.get(key, {})) or (list(directories(urls)) if key == 'path0' else [])
                        for value in more:
                            if value not in known:
                                to = operation['classes'][0][1]
                                classes = sorted(operation['classes'] + [[value, to]], key=lambda pair: (pair[0] is not None, pair[0] or ''))
                                operations = list(rule['operations'])
                                operations[n] = [key, {'classes': classes}]
                                out.append((name, changed(at, {**rule, 'operations': operations}), dropped(at)))
                elif kind == 'value elsewhere' and rule.get('closed'):
                    # A value that makes no difference is taken for another one that does.
                    named = {key for key, _ in rule['operations']}
                    for n, of in enumerate(rule['scope']):
                        value = of['test'].get('equals') if isinstance(of['test'], dict) else None
                        if value is None or of['key'] in named:
                            continue
                        others = [str(number) for number in range(10)] if value.isdigit() else keys.get(of['key'], ())
                        for other in others:
                            if other != value:
                                scope = list(rule['scope'])
                                scope[n] = {'key': of['key'], 'test': {'equals': other}}
                                out.append((name, changed(at, {**rule, 'scope': scope}), dropped(at)))
                elif kind == 'mapping swapped' and rule.get('closed'):
                    moved = [n for n, (_, operation) in enumerate(rule['operations']) if 'replace' in operation]
                    kept = [n for n, (_, operation) in enumerate(rule['operations']) if 'keep' in operation]
                    for i in moved:
                        for j in moved + kept:
                            if i < j or j in kept:
                                operations = [list(of) for of in rule['operations']]
                                operations[i][1], operations[j][1] = operations[j][1], operations[i][1]
                                out.append((name, changed(at, {**rule, 'operations': operations}), dropped(at)))
                        # The value goes nowhere: another URL's value stands there for all.
                        operations = [list(of) for of in rule['operations']]
                        operations[i][1] = {'keep': '1'}
                        out.append((name, changed(at, {**rule, 'operations': operations}), dropped(at)))
    rng.shuffle(out)
    return out


EVIDENCE = {'good': 0, 'bad': 0, 'prior': 0, 'support_pairs': 0, 'false_positive_pairs': 0, 'upper_bound_ppm': 1000000, 'clusters': 0}


def left(ground, mutant, without, proven):
    """Wrong marginal merges of what the proof left of the mutant: the proven rules against those that both have."""
    if 'aliases' in without:
        kept = [alias for alias in proven.get('aliases', []) if alias in without['aliases']]
        return ground.marginal({**proven, 'local': [], 'exceptions': []}, {**proven, 'aliases': kept, 'local': [], 'exceptions': []})[1]
    known = {json.dumps([rule['scope'], rule['operations']]) for rule in without['rules']}
    rest = [rule for rule in proven['rules'] if json.dumps([rule['scope'], rule['operations']]) in known]
    became = [rule for rule in proven['rules'] if rule not in rest]
    if not became:
        return 0
    return ground.marginal(plain(proven), {**plain(proven), 'rules': rest})[1]


class Kind:
    """The mutants of one kind that are not tried yet, and what became of the others. A round gives a kind up after `ATTEMPTS`
    tries for each that is wanted: a look-up moves one page, and seldom makes five wrong merges."""

    def __init__(self, kind, grounds, seed):
        self.kind, self.rng = kind, random.Random('%d %s' % (seed, kind))
        self.queues = [(ground, candidates(ground, kind, self.rng)) for ground in grounds]
        self.tried = self.planted = self.refused = 0

    def has_more(self):
        return any(queue for _, queue in self.queues)

    def plant(self, verbose):
        """Tries the next mutant. Gives what the proof left of it where it survives."""
        ground, queue = self.rng.choice([of for of in self.queues if of[1]])
        name, mutant, without = queue.pop()
        self.tried += 1
        if self.tried % 50 == 0:
            print('%s: %d tried, %d planted' % (self.kind, self.tried, self.planted), file=sys.stderr, flush=True)
        strip = lambda site: site if 'aliases' in without and self.kind == 'look-up elsewhere' else plain(site)
        right, wrong = ground.marginal(strip(mutant), strip(without))
        if wrong < LEAST_WRONG or wrong <= right:
            return None
        proven, _ = ground.prove(mutant)
        rest = left(ground, mutant, without, proven)
        self.planted += 1
        if rest <= MOST_LEFT:
            self.refused += 1
            return None
        if verbose:
            what = [rule for rule in mutant['rules'] if rule['id'] == 'feedfeedfeedfeed']
            print('survived: %s %s %s right %d wrong %d left %d %s' % (ground.name, name, self.kind, right, wrong, rest,
                  json.dumps([(rule['scope'], rule['operations']) for rule in what])[:400]), flush=True)
        return ground.name, name, self.kind, right, wrong, rest, mutant


def mutants(grounds, planted, seed, verbose):
    """Plants mistakes evenly by kind; gives by kind [planted, refused], and the survivors. What kinds with few mutants lack is
    planted of the others, evenly again."""
    kinds, survivors, quota = [Kind(kind, grounds, seed) for kind in KINDS], [], 0
    while True:
        lacking, ready = planted - sum(kind.planted for kind in kinds), [kind for kind in kinds if kind.has_more()]
        if lacking <= 0 or not ready:
            break
        quota += -(-lacking // len(ready))
        for kind in ready:
            while kind.planted < quota and kind.has_more() and kind.tried < ATTEMPTS * max(quota, 10):
                survivor = kind.plant(verbose)
                survivors += [survivor] if survivor else []
    return collections.OrderedDict((kind.kind, [kind.planted, kind.refused]) for kind in kinds), survivors
