"""Exports against independent readers: see ../accept-exports."""

import argparse
import concurrent.futures
import csv
import gzip
import http.client
import json
import os
import random
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import regex
import surt
import yaml

HERE = Path(__file__).parent
CORPORA = Path(os.environ.get("SHARED") or HERE.parent.parent.parent / "shared") / "corpora"
FORMATS = ["nutch", "heritrix", "nginx", "pywb", "clearurls", "yandex-clean-param", "csv"]


def lines_of(path):
    """Lines as undust ends them: U+2028 and its like are no ends."""
    return path.read_text(encoding="utf-8").split("\n")[:-1]


# Readers: a file and URLs in safe syntax -> what the system makes of them.


def java(kind):
    def read(path, urls):
        command = ["java", str(HERE / "Reader.java"), kind, str(path)]
        done = subprocess.run(command, input="\n".join(urls) + "\n", capture_output=True, text=True, check=True)
        return done.stdout.split("\n")[:-1]

    return read


def pywb(path, urls):
    """pywb: keys in SURT form, each pair of `url_normalize` in turn by re.sub."""
    rules = yaml.safe_load(path.read_text())["default_filters"]["url_normalize"]
    rules = [(re.compile(rule["match"]), rule["replace"]) for rule in rules]
    out = []
    for url in urls:
        key = surt.surt(url)
        for pattern, replacement in rules:
            key = pattern.sub(replacement, key)
        out.append(key)
    return out


def clearurls(path, urls):
    """ClearURLs: providers whose pattern matches delete what their raw rules match, without regard to case."""
    providers = json.loads(path.read_text())["providers"]
    compiled = []
    for name in sorted(providers):
        provider = providers[name]
        assert not provider["rules"] and not provider["completeProvider"]
        raw = [regex.compile(rule, regex.I) for rule in provider["rawRules"]]
        compiled.append((regex.compile(provider["urlPattern"], regex.I), raw))
    out = []
    for url in urls:
        for pattern, raw in compiled:
            if pattern.search(url):
                for rule in raw:
                    url = rule.sub("", url)
        out.append(url)
    return out


def yandex(path, urls):
    """Clean-param: parameters by name, on hosts, below a path prefix."""
    hosts, names = {}, None
    for line in lines_of(path):
        if line.startswith("# robots.txt of "):
            names = hosts.setdefault(line.removeprefix("# robots.txt of "), [])
        elif line.startswith("Clean-param: "):
            assert len(line) <= 520, "line too long"
            field, _, prefix = line.removeprefix("Clean-param: ").partition(" ")
            names.append((set(field.split("&")), prefix or "/"))
    out = []
    for url in urls:
        head, hash_, fragment = url.partition("#")
        front, mark, query = head.partition("?")
        authority = front.split("/")[2].rpartition("@")[2].partition(":")[0]
        path_of = "/" + front.split("/", 3)[3]
        drop = set().union(*[n for n, prefix in hosts.get(authority, []) if path_of.startswith(prefix)])
        if mark and drop and query.count("&") < 64:
            parameters = query.split("&")
            kept = [p for p in parameters if not ("=" in p and p.partition("=")[0] in drop)]
            if len(kept) < len(parameters):
                front = front + ("?" + "&".join(kept) if kept else "")
                url = front + hash_ + fragment
        out.append(url)
    return out


def nginx(path, urls):
    """nginx itself, on loopback; the URL comes in a header, so that scheme and host can be any."""
    folder = Path(tempfile.mkdtemp(dir=path.parent))
    folder.chmod(0o755)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (folder / "nginx.conf").write_text(
        f"""worker_processes 1; pid {folder}/pid; error_log {folder}/error.log; daemon off;
events {{ worker_connections 64; }}
http {{
    access_log off; keepalive_requests 1000000; large_client_header_buffers 4 128k;
    client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
    uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
    include {path.resolve()};
    server {{
        listen 127.0.0.1:{port};
        set $undust_url $http_x_url;
        location / {{ return 200 $undust_canonical; }}
    }}
}}
"""
    )
    command = ["nginx", "-p", str(folder), "-c", str(folder / "nginx.conf")]
    tested = subprocess.run([*command, "-t"], capture_output=True, text=True)
    if tested.returncode != 0:
        raise SystemExit(tested.stderr)
    server = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        for _ in range(100):
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                time.sleep(0.05)

        def ask(part):
            connection, out = http.client.HTTPConnection("127.0.0.1", port), []
            for url in part:
                connection.request("GET", "/", headers={"X-Url": url.encode()})
                out.append(connection.getresponse().read().decode())
            return out

        size = -(-len(urls) // 4)
        parts = [urls[i : i + size] for i in range(0, len(urls), size)]
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            return [url for part in pool.map(ask, parts) for url in part]
    finally:
        server.terminate()
        server.wait()


READERS = {
    "nutch": java("nutch"),
    "heritrix": java("heritrix"),
    "nginx": nginx,
    "pywb": pywb,
    "clearurls": clearurls,
    "yandex-clean-param": yandex,
}


def odd(urls, seed):
    """URLs that no crawl met: parameters repeated, moved, emptied, in capitals; slashes doubled; marks in odd places."""
    draw = random.Random(seed)
    out = []
    parameters = sorted({p for u in urls if "?" in u for p in u.split("#")[0].partition("?")[2].split("&")})
    for url in draw.sample(urls, min(len(urls), 4000)):
        head, _, fragment = url.partition("#")
        front, mark, query = head.partition("?")
        kept = query.split("&") if mark else []
        for _ in range(draw.randint(1, 3)):
            what = draw.randrange(10)
            if what <= 2 and parameters:
                kept.insert(draw.randint(0, len(kept)), draw.choice(parameters))
            elif what == 3 and kept:
                kept.append(draw.choice(kept))
            elif what == 4 and kept:
                i = draw.randrange(len(kept))
                kept[i] = kept[i].partition("=")[0] + draw.choice(["", "=", "=0", "=a?b", "=a/b"])
            elif what == 5 and kept:
                i = draw.randrange(len(kept))
                name, _, value = kept[i].partition("=")
                kept[i] = draw.choice([name.upper(), "x" + name, name + "x"]) + "=" + value
            elif what == 6:
                cut = draw.randrange(8, len(front) + 1)
                slash = front.find("/", cut)
                front = front[:slash] + "/" + front[slash:] if slash >= 0 else front
            elif what == 7:
                front = front.removesuffix("/") + draw.choice(["/", "/index.html", ".html", "9", "/x"])
            elif what == 8 and not fragment:
                fragment = "a?b=c&d"
            elif what == 9:
                draw.shuffle(kept)
        url = front + ("?" + "&".join(kept) if kept else "") + ("#" + fragment if fragment else "")
        out.append(url)
    return out


# Parts of names and values that mean something to a format, a pattern or a replacement, or that nobody sees.
HOSTILE = ["\u2028", "\u0085", "\u009b", "\u202e", "\ufeff", "\U000e0041", "\U0001f600", "\u00e9", '"', "'", "\\", "\\n", "\\E",
           "-->", "a--b", "]]>", "<x>", "{", "}", ";", "{};", "*/", "-", "?x", ":", "!", "@", "`", "|", "<<", "~", "yes", "null",
           "1e3", "0x1f", "(", ")", "[", "^", ".", "$1", "\\1", "\\g<1>", "x" * 1000]
# What no URL holds: the files must be whole all the same.
NEVER = ["\x1b[2J", "\x07", "\0", "\n", "\r", "\t", "\n# x\n", "\x7f", "\ufffe", "\uffff", "#", "&", "x" * 5000]


def hostile(folder):
    """Rules by hand whose keys, values and site hold hostile text, in a folder; gives URLs that they change."""
    folder.mkdir(exist_ok=True)
    evidence = {"good": 9, "bad": 0, "prior": 0, "support_pairs": 9, "false_positive_pairs": 0, "upper_bound_ppm": 9,
                "clusters": 9}
    lines, urls = [{"format": {"major": 1, "minor": 0}, "program": "undust", "version": "0", "params": {},
                    "input": {"records": 0, "urls": 0, "sites": 0}}], []
    for at, text in enumerate(HOSTILE + NEVER):
        host = f"h{at}.example"
        operations = [(f"query {text}=", {"ignore": "left-out"}), (f"query w{text}=", {"ignore": {"where-present": text}}),
                      ("query c=", {"classes": [[text, "plain"]]})]
        rules = [{"id": f"{100 * at + i:016x}", "kind": "ignore", "scope": [], "operations": [operation],
                  "evidence": {**evidence, "examples": [[text, text]]}} for i, operation in enumerate(operations)]
        lines.append({"site": f"h{at:03} {text}", "hosts": [host], "rules": rules})
        if text in HOSTILE:
            urls += [f"http://{host}/p?{query}" for query in
                     [f"{text}=1", f"a=1&{text}=1&b=2", f"w{text}=1", f"z=1&w{text}=1&y=2", f"c={text}", f"b{text}=1"]]
    (folder / "rules.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "_SUCCESS").write_text("")
    return urls


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--undust", required=True)
    parser.add_argument("--formats", default=",".join(FORMATS))
    args = parser.parse_args()
    corpora = os.environ.get("CORPORA", "phpbb-forum crawl-docs crawl-blog crawl-kb").split()
    work = Path(os.environ.get("WORK") or tempfile.mkdtemp(prefix="undust-exports-"))
    if not CORPORA.is_dir():
        print(f"SKIPPED: {CORPORA} is not there", file=sys.stderr)
        return 2

    def undust(*command, **options):
        done = subprocess.run([args.undust, *map(str, command)], capture_output=True, text=True, **options)
        if done.returncode != 0:
            raise SystemExit(f"undust {' '.join(map(str, command))}\n{done.stderr}")
        return done.stdout

    def normalize(rules, overrides, urls):
        text = "\n".join(urls) + "\n"
        return undust("normalize", "-q", "-w", "1", "--rules", rules, "--overrides", overrides, input=text).split("\n")[:-1]

    def beyond_the_law(rules, overrides, urls):
        """undust leaves a URL as it is where its output, canonicalized again, becomes something else. A chain of patterns
        cannot look back: it goes on from that output, or stays there. So does this, for the URLs among `urls` that are
        refused so: all that they become on the way."""
        made = {}
        for start in range(0, len(urls), 200):
            lines = undust("explain", "--output", "jsonl", "--rules", rules, "--overrides", overrides,
                           *urls[start : start + 200]).split("\n")[:-1]
            for url, line in zip(urls[start : start + 200], lines):
                for step in json.loads(line)["steps"]:
                    if step["step"] == "refused":
                        made[url] = step["url"]
        ways = {url: [to] for url, to in made.items()}
        for _ in range(5 if ways else 0):
            for way, to in zip(ways.values(), normalize(rules, overrides, [way[-1] for way in ways.values()])):
                way.append(to)
        return ways

    failed = 0
    print(f"{'corpus':<12} {'format':<19} {'rules':>5} {'out':>4} {'URLs':>6} {'changed':>7} {'law':>4} {'differ':>6} | "
          f"{'odd URLs':>8} {'law':>4} {'differ':>6}")
    for corpus in [*corpora, "hostile"]:
        rules = work / corpus
        if corpus == "hostile":
            urls = hostile(rules)
        else:
            source = CORPORA / f"{corpus}.jsonl.gz"
            undust("learn", source, "--out", rules, "--overwrite", "-q")
            lines = [json.loads(line) for line in gzip.open(source, "rt")]
            # A path with a backslash is no URL to undust (docs/format.md), and its output as it came.
            urls = list(dict.fromkeys(line["url"] for line in lines if "\\" not in line["url"].split("?")[0]))
        sites = [json.loads(line)["site"] for line in lines_of(rules / "rules.jsonl")[1:]]
        off = work / f"{corpus}.off"
        off.write_text("".join(json.dumps({"site": s, "rule": "*", "reason": "safe syntax alone"}) + "\n" for s in sites))
        safe = {"real": normalize(rules, off, urls), "odd": normalize(rules, off, odd(urls, 1))}
        for form in args.formats.split(","):
            path, left_out = work / f"{corpus}.{form}", work / f"{corpus}.{form}.left-out"
            undust("export", "--rules", rules, "--to", form, "-o", path, "--left-out", left_out, "-q")
            out = len(lines_of(left_out))
            all_rules = sum(len(json.loads(line)["rules"]) for line in lines_of(rules / "rules.jsonl")[1:])
            if form == "csv":
                with open(path, newline="") as file:
                    table = list(csv.DictReader(file))
                bad = int(len(table) != all_rules or any(not re.fullmatch("[0-9a-f]{16}", row["id"]) for row in table))
                failed += bad
                print(f"{corpus:<12} {form:<19} {len(table):>5} {out:>4} {'':>6} {'':>7} {bad:>6}")
                continue
            exported = all_rules - sum(json.loads(line)["rule"] != "look-ups" for line in lines_of(left_out))
            row = []
            for kind, inputs in safe.items():
                if form == "nginx":
                    # The fragment never reaches a server.
                    inputs = [url for url in inputs if "#" not in url]
                if form == "pywb" and corpus == "hostile":
                    # Keys hold other characters as escapes, which undust leaves as they are: rules about them do nothing.
                    inputs = [url for url in inputs if url.isascii()]
                want = normalize(rules, left_out, inputs)
                got = READERS[form](path, inputs)
                assert len(got) == len(want) == len(inputs), (form, len(got), len(want), len(inputs))
                before = inputs
                refused = beyond_the_law(rules, left_out, [u for u, b, c in zip(inputs, want, got) if b == u != c])
                law = len(refused)
                want = [c if c in refused.get(url, []) else refused.get(url, [b])[-1] for url, b, c in zip(inputs, want, got)]
                if form == "pywb":
                    want, before = [surt.surt(url) for url in want], [surt.surt(url) for url in inputs]
                differ = [(a, b, c) for a, b, c in zip(before, want, got) if b != c]
                if form == "pywb":
                    # Keys are in lower case: to pywb, URLs that differ in case are one, with rules or without.
                    other = [url.lower() for url, b, c in zip(inputs, want, got) if b != c]
                    other = [surt.surt(url) for url in normalize(rules, left_out, other)] if other else []
                    law += sum(d[2] == o for d, o in zip(differ, other))
                    differ = [d for d, o in zip(differ, other) if d[2] != o]
                changed = sum(a != b for a, b in zip(before, want))
                row.append((len(inputs), changed, law, len(differ)))
                if os.environ.get("VERBOSE"):
                    for a, b, c in differ[:5]:
                        print(f"  {kind}: {a}\n    undust {b}\n    reader {c}")
            real, strange = row
            failed += real[3]
            print(f"{corpus:<12} {form:<19} {exported:>5} {out:>4} {real[0]:>6} {real[1]:>7} {real[2]:>4} {real[3]:>6} | "
                  f"{strange[0]:>8} {strange[2]:>4} {strange[3]:>6}", flush=True)
    print("out: rules and tables left out, listed by --left-out; law: URLs that undust leaves alone, since canonicalizing twice\n"
          "would not be once, and on which a chain of patterns goes on; for pywb also URLs that undust treats as the reader does once\n"
          "they are in lower case, as the keys of pywb are; odd URLs: made up from parts of the real ones, for\n"
          "what no crawl met (parameters repeated more than three times, doubled extensions): not part of the verdict")
    print("verdict: " + ("every reader gives undust's canonical URL on every URL of the corpora" if not failed else
                         f"FAILED: {failed} differences; rules and exports are in {work}"))
    if not failed and "WORK" not in os.environ:
        shutil.rmtree(work)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
