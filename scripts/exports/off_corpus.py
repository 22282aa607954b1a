"""URLs that no crawl met, and what an export may do to them: nothing that undust does not."""

import random
import re

import surt

MUTATIONS = ["other host", "other port", "default port", "user info", "upper-case host", "trailing dot", "other scheme",
             "other section", "escaped section", "escaped letter", "lower-case escape", "dot segment", "fragment", "empty query", "path parameter",
             "repeated parameter", "odd"]


def split(url):
    scheme, _, rest = url.partition("://")
    end = re.search("[/?#]|$", rest).start()
    return scheme, rest[:end], rest[end:] or "/"


def mutated(kind, url, draw, parameters, sections):
    """The URL with one change, or None where it has nothing to change."""
    scheme, host, rest = split(url)
    head, hash_, fragment = rest.partition("#")
    path, mark, query = head.partition("?")
    names = [p.partition("=")[0] for p in query.split("&") if p] if mark else []
    if kind == "other host":
        return f"{scheme}://{draw.choice(['x.', 'www.', 'm.'])}{host}{rest}"
    if kind == "other port":
        return f"{scheme}://{host}:8443{rest}" if ":" not in host else None
    if kind == "default port":
        return f"{scheme}://{host}:{'443' if scheme == 'https' else '80'}{rest}" if ":" not in host else None
    if kind == "user info":
        return f"{scheme}://user:pw@{host}{rest}"
    if kind == "upper-case host":
        return f"{scheme}://{host.upper()}{rest}"
    if kind == "trailing dot":
        return f"{scheme}://{host}.{rest}" if ":" not in host else None
    if kind == "other scheme":
        return f"{'http' if scheme == 'https' else 'https'}://{host}{rest}"
    if kind == "other section":
        section = draw.choice(["zz-new", "2024", "~ann", "users/ann", *sections])
        behind = path.lstrip("/")
        if draw.random() < 0.5 and "/" in behind:
            behind = behind.split("/", 1)[1]
        return f"{scheme}://{host}/{section}/{behind}{mark}{query}{hash_}{fragment}"
    if kind == "escaped section":
        section = draw.choice(sections or ["zz-new"]).strip("/")
        at = draw.randrange(len(section))
        behind = path.lstrip("/").split("/", 1)[-1]
        more = "&".join(draw.sample(parameters, min(len(parameters), 2)))
        return f"{scheme}://{host}/{section[:at]}%{ord(section[at]):02X}{section[at + 1:]}/{behind}?{more or 'a=1'}"
    if kind == "escaped letter":
        places = [i for i in range(len(head)) if head[i].isalnum() and head[max(0, i - 2):i].find("%") < 0]
        if not places:
            return None
        at = draw.choice([i for i in places if i > len(path)] or places)
        return f"{scheme}://{host}{head[:at]}%{ord(head[at]):02X}{head[at + 1:]}{hash_}{fragment}"
    if kind == "lower-case escape":
        return f"{scheme}://{host}{head}{'&' if mark else '?'}q=%c3%a9{hash_}{fragment}"
    if kind == "dot segment":
        return f"{scheme}://{host}/{draw.choice(['.', 'a/..', '%2e', 'x/%2E.'])}{path}{mark}{query}{hash_}{fragment}"
    if kind == "fragment":
        return f"{scheme}://{host}{head}#{draw.choice(['top', 'a?b=c&d', '!/r', ''])}"
    if kind == "empty query":
        return f"{scheme}://{host}{path}?{hash_}{fragment}"
    if kind == "path parameter":
        return f"{scheme}://{host}{path};jsessionid=A1{mark}{query}{hash_}{fragment}"
    if kind == "repeated parameter":
        more = draw.choice(parameters) if not names or draw.random() < 0.5 else draw.choice(names) + "=zz"
        many = "&".join([more] * draw.choice([1, 2, 4, 5]))
        return f"{scheme}://{host}{path}?{query + '&' if query else ''}{many}{hash_}{fragment}" if parameters else None
    kept = query.split("&") if mark else []
    if parameters:
        kept.insert(draw.randint(0, len(kept)), draw.choice(parameters))
    if kept and draw.random() < 0.5:
        i = draw.randrange(len(kept))
        kept[i] = kept[i].partition("=")[0] + draw.choice(["", "=", "=0", "=a?b", "=a/b", "=x;y"])
    draw.shuffle(kept)
    path = draw.choice([path, path, path + "/", path + "/index.html", path + ".html", path.replace("/", "//", 1), path + "9"])
    return f"{scheme}://{host}{path}{'?' + '&'.join(kept) if kept else ''}{hash_}{fragment}"


def off_corpus(urls, sections, count, seed=1):
    """URLs by kind of mutation, each with the URL that it was made of."""
    draw = random.Random(seed)
    parameters = sorted({p for u in urls if "?" in u for p in u.split("#")[0].partition("?")[2].split("&")})
    out = []
    for kind in MUTATIONS:
        for url in draw.sample(urls, min(len(urls), count)):
            made = mutated(kind, url, draw, parameters, sections)
            if made and "\n" not in made:
                out.append((kind, made))
    return out


class Judge:
    """Says what is wrong with what a reader made of URLs. `canonical` gives undust's canonical URLs of a list of URLs,
    `normal` their normal forms, `refused` what the rules make of those that undust leaves as they are since canonicalizing
    twice would not be once, by URL; `origins` are those of the sites. A chain of patterns cannot look back: on refused URLs it
    goes on. Those are counted in `law` and must be, to undust, the page that the rules made."""

    def __init__(self, canonical, normal, refused, origins):
        self.canonical, self.normal, self.refused, self.origins = canonical, normal, refused, origins

    def wrong(self, urls, made):
        """Pairs of a reason and a URL, for a reader of URLs. A URL that undust leaves alone must stay byte for byte; one
        that changes must be, to undust, the page that it was."""
        changed = [(url, to) for url, to in zip(urls, made) if url != to]
        before, normal = self.canonical([u for u, _ in changed]), self.normal([u for u, _ in changed])
        after = self.canonical([to for _, to in changed])
        refused = self.refused([url for (url, _), was, plain in zip(changed, before, normal) if was == plain])
        refused |= self.refused([to for (url, to), now in zip(changed, after) if url in refused and to == now])
        page = {url: page for url, page in zip(refused, self.canonical(list(refused.values())))}
        out, self.law = [], 0
        for (url, to), was, plain, now in zip(changed, before, normal, after):
            if to == was:
                continue
            if url in page and page[url] == page.get(to, now):
                self.law += 1
            elif was == plain:
                out.append(("acts where undust does not", url, to, was))
            elif was != now:
                out.append(("merges what undust keeps apart", url, to, was))
        return out

    def wrong_keys(self, urls, made, by_rules):
        """The same for pywb, to which URLs with one key are one page: the URL is read on each origin with its key, as it is and
        as its key has it (in lower case, unescaped), and one of these must be, to undust, the page of the key that was made.
        `by_rules` gives the canonical URLs of a list of URLs by the exported rules alone."""
        by_host = {}
        for origin in self.origins:
            by_host.setdefault(surt.surt(origin + "/").partition(")")[0], []).append(origin)
        changed = [(url, surt.surt(url), to) for url, to in zip(urls, made) if surt.surt(url) != to]
        same = [(at, origin + rest) for at, (url, key, _) in enumerate(changed) for origin in by_host.get(key.partition(")")[0], [])
                for rest in (split(url)[2], key.partition(")")[2])]
        ways = []
        for (at, url), rules in zip(same, by_rules([url for _, url in same])):
            key, to = surt.surt(url), changed[at][2]
            if surt.surt(rules) == to:
                ways.append((at, url, rules))
            ways += [(at, url, target + to.partition(")")[2]) for target in by_host.get(to.partition(")")[0], [])]
        before, after = self.canonical([a for _, a, _ in ways]), self.canonical([b for _, _, b in ways])
        fine = {at for (at, _, _), a, b in zip(ways, before, after) if surt.surt(a) == surt.surt(b)}
        left = [way for way in ways if way[0] not in fine]
        refused = self.refused(list(dict.fromkeys(url for _, a, b in left for url in (a, b))))
        page = {url: surt.surt(page) for url, page in zip(refused, self.canonical(list(refused.values())))}
        law = {at for (at, a, b), to in zip(ways, after) if a in page and page[a] == page.get(b, surt.surt(to))} - fine
        self.law = len(law)
        return [("merges what undust keeps apart", url, to, key)
                for at, (url, key, to) in enumerate(changed) if at not in fine | law]
