"""Exports read by independent readers of their formats, on every URL of real corpora, of rules made by hand whose names and
values mean something to a format, and on URLs off the corpora (other hosts, ports, schemes, sections, user information,
upper-case hosts, URLs that are not in normal form).

A reader may do less than undust, never more: a URL that undust leaves alone stays as it is, and one that changes is, to
undust, the page that it was. Prints a table with what each export keeps, beside what its file says. Where something is
missed, rules and exports are kept, in --keep or a folder that is named."""
import csv
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from parts.common import ROOT

HERE = ROOT / "scripts" / "exports"
CORPORA = ("phpbb-forum", "crawl-docs", "crawl-blog", "crawl-kb")
FORMATS = ["nutch", "heritrix", "nginx", "pywb", "clearurls", "yandex-clean-param", "json-rules", "csv"]
# What the file says that it keeps may be more than a reader keeps by so much: on some URLs a target
# acts in part.
TOLERANCE = 0.02


class Undust:
    def __init__(self, binary):
        self.binary = binary

    def __call__(self, *command, **options):
        done = subprocess.run([self.binary, *map(str, command)], capture_output=True, text=True, **options)
        if done.returncode != 0:
            raise RuntimeError(f"undust {' '.join(map(str, command))}\n{done.stderr}")
        return done

    def normalize(self, rules, urls, overrides=None):
        if not urls:
            return []
        options = ["--overrides", overrides] if overrides else []
        text = "\n".join(urls) + "\n"
        done = self("normalize", "-q", "-w", "1", "--rules", rules, *options, input=text)
        return done.stdout.split("\n")[:-1]

    def refused(self, rules, urls):
        """What rules make of URLs that undust leaves as they are, since canonicalizing twice would not be once."""
        made = {}
        for start in range(0, len(urls), 200):
            part = urls[start : start + 200]
            # With one URL for sure: explain fails where none of its arguments is one.
            lines = self("explain", "--output", "jsonl", "--rules", rules, "--", *part, "http://a.example/").stdout.split("\n")[:-1]
            for url, line in zip(part, lines):
                made.update({url: step["url"] for step in json.loads(line)["steps"] if step["step"] == "refused"})
        return made


def readable(form, kind, url):
    """Whether a reader can be given the URL."""
    if form == "nginx":
        # The fragment never reaches a server, nor does user information.
        return "#" not in url and kind != "user info" and url.isascii()
    if form == "yandex-clean-param":
        # robots.txt cannot tell user information, as the file says.
        return kind != "user info"
    if form == "pywb" and kind == "hostile":
        # Keys hold other characters as escapes, which undust leaves as they are: rules about them do nothing.
        return url.isascii()
    return True


def shares(canonical, made):
    """Of the saving, and of the URLs with undust's own canonical URL."""
    saved, kept = len(canonical) - len(set(canonical)), len(made) - len(set(made))
    own = sum(a == b for a, b in zip(canonical, made))
    return (kept / saved if saved else 1.0), (own / len(made) if made else 1.0)


def stated(text):
    what = r"% of what undust saves \((\d+) of (\d+) fetches\), and .* for (?:at most )?([0-9.]+) % of"
    found = re.search(rf"Keeps (?:at most )?[0-9.]+ {what}", text)
    if not found:
        return None
    kept, saved, own = int(found[1]), int(found[2]), float(found[3]) / 100
    return (kept / saved if saved else 1.0), own


def random_sites(work):
    """The reference applier on random sites, which a test of the crate writes: URLs on which it differs."""
    folder = work / "random"
    folder.mkdir(exist_ok=True)
    environment = {**os.environ, "UNDUST_JSON_RULES_CASES": str(folder)}
    command = ["cargo", "test", "--locked", "--quiet", "--lib", "rules_in_json_are_the_rules"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stdout + done.stderr)
    applier = ROOT / "examples" / "json-rules" / "apply.js"
    done = subprocess.run(["node", str(HERE / "cases.js"), str(applier), str(folder)],
                          capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)


def options(parser, _):
    parser.add_argument("--corpus", action="append", help=f"may be given several times (default: {', '.join(CORPORA)})")
    parser.add_argument("--formats", default=",".join(FORMATS))
    parser.add_argument("--sample", type=int, default=400, help="URLs of each kind off the corpus")
    parser.add_argument("--plant", action="store_true", help="plants mistakes in files; each must be found")
    parser.add_argument("--random", action="store_true", help="also the reference applier on random sites (cargo test)")


def main(args):
    # The readers import packages of the environment.
    sys.path.insert(0, str(HERE))
    import surt
    from hostile import hostile
    from off_corpus import Judge, off_corpus
    from plants import PLANTS
    from readers import READERS, fuzzy_pairs, lines_of

    corpora = args.corpus or CORPORA
    work = Path(args.keep or tempfile.mkdtemp(prefix="undust-exports-"))
    work.mkdir(exist_ok=True, parents=True)
    undust, failed, planted = Undust(args.binary), 0, Counter()
    print(f"{'corpus':<12} {'format':<19} {'rules':>5} {'out':>4} | {'URLs':>6} {'law':>3} {'wrong':>5} {'saving':>6} {'own':>5} "
          f"{'said':>11} | {'off':>6} {'changed':>7} {'law':>3} {'wrong':>5}")
    for corpus in [*corpora, "hostile"]:
        rules = work / corpus
        if corpus == "hostile":
            urls = hostile(rules)
        else:
            source = Path(args.shared) / "corpora" / f"{corpus}.jsonl.gz"
            undust("learn", source, "--out", rules, "--overwrite", "-q", "--no-held-out")
            lines = [json.loads(line) for line in gzip.open(source, "rt")]
            # A path with a backslash is no URL to undust (docs/formats.md), and its output as it came.
            urls = list(dict.fromkeys(line["url"] for line in lines if "\\" not in line["url"].split("?")[0]))
        sites = [json.loads(line) for line in lines_of(rules / "rules.jsonl")[1:]]
        sections = [name for site in sites for name in site.get("tokens", {}).get("sections", [])]
        origins = [o if "://" in o else f"http://{o}" for site in sites for o in site.get("origins", site.get("hosts", []))]
        off = work / f"{corpus}.off"
        off.write_text("".join(json.dumps({"site": s["site"], "rule": "*", "reason": "normal forms alone"}) + "\n" for s in sites))
        judge = Judge(lambda of: undust.normalize(rules, of), lambda of: undust.normalize(rules, of, off),
                      lambda of: undust.refused(rules, of), origins)
        real = [("hostile" if corpus == "hostile" else "real", url) for url in undust.normalize(rules, urls, off)]
        strange = off_corpus([url for _, url in real], sections, args.sample)
        listed = work / f"{corpus}.urls"
        listed.write_text("".join(url + "\n" for _, url in real))
        for form in args.formats.split(","):
            path, left_out = work / f"{corpus}.{form}", work / f"{corpus}.{form}.left-out"
            said = undust("export", "--rules", rules, "--to", form, "-o", path, "--left-out", left_out, "--overwrite", "-q", "--urls", listed)
            out = len(lines_of(left_out))
            all_rules = sum(len(site["rules"]) for site in sites)
            if form == "csv":
                with open(path, newline="") as file:
                    table = list(csv.DictReader(file))
                others = sum(row["id"] == "look-ups" for row in table)
                wrong_id = any(not re.fullmatch("[0-9a-f]{16}|look-ups", row["id"]) for row in table)
                bad = int(len(table) - others != all_rules or wrong_id)
                failed += bad
                print(f"{corpus:<12} {form:<19} {len(table):>5} {out:>4} | {'':>6} {bad:>5}")
                continue
            exported = all_rules - sum(json.loads(line)["rule"] != "look-ups" for line in lines_of(left_out))
            assert stated(said.stderr) == stated(path.read_text()), f"{path} and standard error differ in what is kept"

            def judged(entries, path=path):
                entries = [(kind, url) for kind, url in entries if readable(form, kind, url)]
                of = [url for _, url in entries]
                made = READERS[form](path, of)
                assert len(made) == len(of), (form, len(made), len(of))
                if form == "pywb":
                    return of, made, judge.wrong_keys(of, made, lambda urls: undust.normalize(rules, urls, left_out)), entries
                return of, made, judge.wrong(of, made), entries

            if args.plant:
                for name, change in PLANTS.get(form, {}).items():
                    text = path.read_text()
                    bad = path.with_suffix(".planted")
                    bad.write_text(change(text))
                    if bad.read_text() != text:
                        planted[form, name] += len(judged(strange, bad)[2])
                continue
            of, made, wrong, _ = judged(real)
            law = judge.law
            canonical = judge.canonical(of)
            if form == "pywb":
                canonical = [surt.surt(url) for url in canonical]
                wrong = wrong + fuzzy_pairs(path, of, canonical)
            share, own = shares(canonical, made)
            claim = stated(said.stderr)
            # pywb's keys merge URLs by themselves, so that shares by keys are others; nginx is given no
            # fragments.
            over = form not in ("pywb", "nginx") and corpus != "hostile" and claim and claim[0] > share + TOLERANCE
            odd, odd_made, odd_wrong, entries = judged(strange)
            changed = sum(a != b for a, b in zip(map(surt.surt, odd) if form == "pywb" else odd, odd_made))
            failed += len(wrong) + len(odd_wrong) + bool(over)
            for reason, url, to, was in wrong[:3] + odd_wrong[:5]:
                print(f"  {reason}: {url}\n    reader {to}\n    undust {was}")
            if odd_wrong:
                kinds = dict((url, kind) for kind, url in entries)
                print("  off the corpus:", dict(Counter(f"{kinds[url]}: {reason}" for reason, url, _, _ in odd_wrong)))
            print(f"{corpus:<12} {form:<19} {exported:>5} {out:>4} | {len(of):>6} {law:>3} {len(wrong):>5} {share:>6.3f} {own:>5.3f} "
                  f"{'%.3f %.3f' % claim if claim else '':>11} | {len(odd):>6} {changed:>7} {judge.law:>3} {len(odd_wrong):>5}"
                  f"{'  MORE SAID THAN KEPT' if over else ''}", flush=True)
    if args.plant:
        for form in args.formats.split(","):
            for name in PLANTS.get(form, {}):
                found = planted[form, name]
                failed += found == 0
                print(f"planted: {form:<19} {name:<42} {found:>6} found{'' if found else '  NOT CAUGHT'}")
        print("verdict: " + ("each mistake is caught" if not failed else "FAILED"))
        return 1 if failed else 0
    if args.random:
        found = random_sites(work)
        failed += found["differ"]
        print(f"reference applier on random sites: {found['sites']} sites, {found['urls']} URLs, {found['changed']} changed, "
              f"{found['differ']} differ")
        for line in found["examples"]:
            print("  " + line)
    print("wrong: URLs on which an export acts and undust does not, or that it makes another page to undust; law: URLs that undust\n"
          "leaves as they are since canonicalizing twice would not be once, and on which a chain of patterns goes on; saving, own: the\n"
          "share of the saving and of URLs with undust's canonical URL that the reader keeps (for pywb of keys); said: what the\n"
          "file says; off: URLs off the corpus (other hosts, ports, schemes, sections, user information, forms that are not safe\n"
          "syntax, parameters repeated and moved)")
    print("verdict: " + ("no reader does more than undust, on the corpora and off" if not failed else
                         f"FAILED: {failed}; rules and exports are in {work}"))
    if not failed and not args.keep:
        shutil.rmtree(work)
    return 1 if failed else 0
