"""Independent readers of the formats: a file and URLs -> what the system makes of them."""

import concurrent.futures
import http.client
import json
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import regex
import surt
from pywb.warcserver.index.fuzzymatcher import FuzzyMatcher

HERE = Path(__file__).parent
APPLIER = HERE.parent.parent / "examples" / "json-rules" / "canonical.js"


def lines_of(path):
    """Lines as undust ends them: U+2028 and its like are no ends."""
    return path.read_text(encoding="utf-8").split("\n")[:-1]


def java(kind):
    def read(path, urls):
        command = ["java", str(HERE / "Reader.java"), kind, str(path)]
        done = subprocess.run(command, input="\n".join(urls) + "\n", capture_output=True, text=True, check=True)
        return done.stdout.split("\n")[:-1]

    return read


def pywb(path, urls):
    """pywb: keys in SURT form, each pair of `url_normalize` in turn, as pywb's own class reads them."""
    matcher = FuzzyMatcher(str(path))
    assert matcher.rules and matcher.default_filters["not_exts"] and matcher.default_filters["mimes"] == []
    out = []
    for url in urls:
        key = surt.surt(url)
        for pattern, replacement in matcher.url_normalize_rx:
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
        exceptions = [regex.compile(rule, regex.I) for rule in provider["exceptions"]]
        raw = [regex.compile(rule, regex.I) for rule in provider["rawRules"]]
        compiled.append((regex.compile(provider["urlPattern"], regex.I), exceptions, raw))
    out = []
    for url in urls:
        for pattern, exceptions, raw in compiled:
            if pattern.search(url) and not any(rule.search(url) for rule in exceptions):
                for rule in raw:
                    url = rule.sub("", url)
        out.append(url)
    return out


def yandex(path, urls):
    """Clean-param: parameters by name, in the robots.txt of an origin, below a path prefix."""
    origins, names = {}, None
    for line in lines_of(path):
        if line.startswith("# robots.txt of "):
            names = origins.setdefault(line.removeprefix("# robots.txt of "), [])
        elif line.startswith("Clean-param: "):
            assert len(line) <= 520, "line too long"
            field, _, prefix = line.removeprefix("Clean-param: ").partition(" ")
            names.append((set(field.split("&")), prefix or "/"))
    out = []
    for url in urls:
        head, hash_, fragment = url.partition("#")
        front, mark, query = head.partition("?")
        parts = front.split("/", 3)
        origin, path_of = "/".join(parts[:3]), "/" + (parts[3] if len(parts) > 3 else "")
        drop = set().union(*[n for n, prefix in origins.get(origin, []) if path_of.startswith(prefix)])
        if mark and drop and query.count("&") < 64:
            parameters = query.split("&")
            kept = [p for p in parameters if not ("=" in p and p.partition("=")[0] in drop)]
            if len(kept) < len(parameters):
                front = front + ("?" + "&".join(kept) if kept else "")
                url = front + hash_ + fragment
        out.append(url)
    return out


def json_rules(path, urls):
    """The reference applier, in JavaScript."""
    done = subprocess.run(["node", str(APPLIER), str(path)], input="\n".join(urls) + "\n", capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    return done.stdout.split("\n")[:-1]


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
    "json-rules": json_rules,
}


def fuzzy_pairs(path, urls, canonical):
    """Pairs of URLs that pywb's own look-up takes for one page although their canonical URLs differ, of URLs with one path."""
    matcher, by_path, out = FuzzyMatcher(str(path)), {}, []
    for url, key in zip(urls, canonical):
        by_path.setdefault(url.split("?")[0].split("#")[0], []).append((url, key))
    for group in by_path.values():
        # The first asks for each of the others; more would be the same keys again.
        (url, key), others = group[0], group[1:100]
        urlkey = surt.surt(url)
        assert matcher.get_fuzzy_match(urlkey, url, {}), f"pywb looks for no other captures of {url}"
        for other, other_key in others:
            cdx = {"urlkey": surt.surt(other), "url": other, "status": "200", "mime": "text/html"}
            known = matcher.get_ext(url)[1]
            if known and known not in matcher.default_filters["not_exts"]:
                continue  # pywb leaves out the query, rules or not: said in the file
            if key != other_key and urlkey != cdx["urlkey"] and matcher.match_general_fuzzy_query(url, urlkey, cdx, {}):
                out.append(("is one page to pywb's look-up", url, other, key))
    return out
