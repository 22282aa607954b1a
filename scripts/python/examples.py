"""Runs the examples for Python: examples.py EXAMPLES RULES SAMPLE. Exit code 0 when they do what they say."""

from __future__ import annotations

import gzip
import http.server
import json
import os
import pickle
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from undust import RuleSet, RulesError

examples, folder, sample = (Path(argument).resolve() for argument in sys.argv[1:4])
rules = RuleSet.open(folder)
with gzip.open(sample, "rt") as lines:
    urls = list(dict.fromkeys(json.loads(line)["url"] for line in lines))[:2_000]
expected = [rules.canonicalize(url) for url in urls]
assert expected != urls


def script() -> None:
    def run(path: Path) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(examples / "canonicalize.py"), str(path)]
        return subprocess.run(command, input="\n".join(urls) + "\n", capture_output=True, text=True)

    done = run(folder)
    assert (done.returncode, done.stdout.splitlines()) == (0, expected), done.stderr
    failed = run(folder / "missing")
    assert failed.returncode == 1 and "Traceback" not in failed.stderr and "missing" in failed.stderr, failed.stderr


def map_in_pandas() -> None:
    sys.path.insert(0, str(examples))
    from map_in_pandas import Canonical

    # As a worker gets it: pickled, in batches.
    function = pickle.loads(pickle.dumps(Canonical(rules, "url")))
    batches = [{"url": urls[at : at + 500], "n": list(range(500))} for at in range(0, len(urls), 500)]
    mapped = [url for batch in function(iter(batches)) for url in batch["canonical"]]
    assert mapped == expected


class Site(http.server.BaseHTTPRequestHandler):
    """Pages that link to each other under session ids that make no difference."""

    fetched: list[str] = []

    def do_GET(self) -> None:
        Site.fetched.append(self.path)
        page = self.path.split("?")[0].strip("/")
        links = "".join(f'<a href="/p{n}?sid={len(Site.fetched)}">x</a>' for n in range(5))
        body = b"" if page == "robots.txt" else f"<html><body>{page}{links}</body></html>".encode()
        self.send_response(404 if page == "robots.txt" else 200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


def scrapy_project() -> None:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    site = f"http://127.0.0.1:{server.server_port}"
    with tempfile.TemporaryDirectory() as work:
        records = [f"{site}/p{n}?sid={sid}\tp{n}" for n in range(40) for sid in range(3)]
        (Path(work) / "records.tsv").write_text("\n".join(records) + "\n")
        learn = [os.environ["UNDUST"], "learn", "records.tsv", "--out", "rules", "-q"]
        subprocess.run(learn, cwd=work, check=True, stdout=subprocess.DEVNULL)
        environment = {**os.environ, "UNDUST_RULES": str(Path(work) / "rules")}
        command = [sys.executable, "-m", "scrapy", "crawl", "site", "-a", f"start={site}/p0?sid=0", "-O", f"{work}/pages.jsonl"]
        done = subprocess.run(command, cwd=examples / "scrapy_project", env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        pages = (Path(work) / "pages.jsonl").read_text().splitlines()
    fetched = [path for path in Site.fetched if path != "/robots.txt"]
    # Scrapy does not show its filter the URL that a crawl starts with: that page comes twice, each other
    # once.
    assert len({path.split("?")[0] for path in fetched}) == 5, (fetched, done.stderr)
    assert len(pages) == len(fetched) == 6, (fetched, done.stderr)


def refuses_other_rules() -> None:
    pickled = pickle.dumps(rules)
    with (folder / "overrides.jsonl").open("a") as overrides:
        overrides.write("\n")
    try:
        pickle.loads(pickled)
    except RulesError:
        pass
    else:
        raise AssertionError("a worker opened other rules than were sent")
    finally:
        (folder / "overrides.jsonl").unlink()


for example in (script, map_in_pandas, scrapy_project, refuses_other_rules):
    example()
    print(f"examples: {example.__name__}: ok")
