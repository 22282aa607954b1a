"""The dupe filter in real crawls of a real server on loopback, whose pages redirect to themselves and to each other.

Rules are learned from the site: the parameter `sid` makes no difference, not even to /consent, whose answer depends on it.
"""

from __future__ import annotations

import http.server
import json
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

pytest.importorskip("scrapy")

from undust import RuleSet

WALKER = Path(__file__).with_name("walker.py")
STATUSES = (301, 302, 303, 307, 308)
KINDS = [f"to{status}" for status in STATUSES]
KINDS += ["refresh", "check", "wall", "shared", "page", "alias", "back", "loop", "self", "gone", "denied"]
EACH = 6


class Handler(http.server.BaseHTTPRequestHandler):
    """/index?KIND links to the pages of a kind; what a kind does is in `answer`."""

    protocol_version = "HTTP/1.1"

    def answer(self, kind: str, n: str, query: dict[str, list[str]]) -> tuple[int, str, str, list[str]]:
        """Status, address or text, cookie, links."""
        decorated, cookies = "sid" in query, self.headers.get("Cookie", "")
        page, known = f"/{kind}/{n}", f"{kind}{n}=1" in cookies
        # Links back to what the filter must know.
        received = (200, f"{kind} {n}", "", [page, f"{page}?sid=again"])
        match kind:
            case "index":
                first = int(query["first"][0])
                links = [f"/{kind}/{k}" for kind in query["kinds"] for k in range(first, first + EACH)]
                return 200, "index", "", links
            case "refresh" if not decorated:
                return 200, f"refresh:{page}?sid=1", "", []
            case "check" if "checked" in query:
                return 302, page, "", []
            case "check" if not known:
                return 302, f"{page}?checked=1", f"{kind}{n}=1", []
            # A wall of its own for each page; one for all, by the rules.
            case "wall" if not known:
                return 302, f"/login/{n}?next={page}", "", []
            case "login":
                return 302, query["next"][0], f"wall{n}=1", []
            case "shared" if not known:
                return 302, f"/consent?sid={n}", "", []
            case "consent":
                number = query["sid"][0]
                return 302, f"/shared/{number}", f"shared{number}=1", []
            # A wall that is overloaded at first.
            case "late" if not known:
                return 302, f"/busy?sid={n}", "", []
            case "busy" if Site.fetched("/busy") == 1:
                return 403, "busy", "", []
            case "busy":
                number = query["sid"][0]
                return 302, f"/late/{number}", f"late{number}=1", []
            # Fetched before anything redirects to them.
            case "page":
                return 200, f"page {n}", "", [f"/alias/{n}", f"/alias/{n}?sid=1"]
            case "alias":
                return 302, f"/page/{n}?sid=alias", "", []
            # Met by redirects alone.
            case "back":
                return 302, f"/only/{n}?sid=back", "", []
            case "only":
                return 200, f"only {n}", "", [f"/back/{n}?sid=2", f"/back2/{n}", page]
            case "back2":
                return 302, f"/only/{n}?sid=back2", "", []
            case "loop":
                return 302, page if decorated else f"{page}?sid=1", "", []
            case "self":
                return 200, f"refresh:{page}", "", []
            case "gone":
                return 302, "/missing", "", []
            case "missing":
                return 404, "missing", "", []
            case _ if kind.startswith("to") and not decorated:
                return int(kind[2:]), f"{page}?sid=1", "", []
        return received

    def do_GET(self) -> None:
        split = urlsplit(self.path)
        kind, _, n = split.path.strip("/").partition("/")
        with Site.lock:
            Site.hits[self.path] += 1
        status, text, cookie, links = self.answer(kind, n, parse_qs(split.query))
        head, location = "", None
        if status in STATUSES:
            text, location = "moved", text
        elif text.startswith("refresh:"):
            text, head = "wait", f'<meta http-equiv="refresh" content="0;url={text.removeprefix("refresh:")}">'
        anchors = "".join(f'<a href="{link}">link</a>' for link in links)
        body = f"<html><head>{head}</head><body><p>{text}</p>{anchors}</body></html>".encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        if location:
            self.send_header("Location", location)
        if cookie:
            self.send_header("Set-Cookie", f"{cookie}; Path=/")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        pass


class Site:
    lock = threading.Lock()
    hits: Counter[str] = Counter()

    @staticmethod
    def fetched(prefix: str) -> int:
        """Requests of the paths that begin so."""
        return sum(count for path, count in Site.hits.items() if path.startswith(prefix))


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.fixture(scope="session")
def site_rules(server: str, binary: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    work = tmp_path_factory.mktemp("site")
    pages = [f"{kind}/{n}" for kind in [*KINDS, "only", "back2", "login"] for n in range(30)]
    pages += ["consent", "busy", "missing", "index"]
    forms = ("", "?sid=1", "?sid=a2", "?sid=77x")
    lines = [f"{server}/{page}{form}\t{page}\tsite\n" for page in pages for form in forms]
    (work / "train.tsv").write_text("".join(lines))
    subprocess.run([binary, "learn", work / "train.tsv", "--out", work / "rules", "-q"], check=True)
    rules = RuleSet.open(work / "rules")
    for page in [*pages, "to301/999"]:
        assert rules.canonicalize(f"{server}/{page}?sid=new") == f"{server}/{page}"
    return work / "rules"


class Crawl:
    def __init__(self, server: str, rules: Path, work: Path) -> None:
        self.server, self.rules, self.work = server, rules, work

    def __call__(self, *kinds: str, first: int = 0, copy_meta: bool = False, **settings: Any) -> Counter[str]:
        """Crawls pages of some kinds, from a number on; gives what was received, index left out."""
        Site.hits.clear()
        out = self.work / "pages.json"
        settings = {"UNDUST_RULES": str(self.rules), "DUPEFILTER_CLASS": "undust.scrapy.DupeFilter", **settings}
        start = [f"{self.server}/index?first={first}&{'&'.join(f'kinds={kind}' for kind in kinds)}"]
        arguments = {"start": start, "out": str(out), "settings": settings, "copy_meta": copy_meta}
        done = subprocess.run([sys.executable, WALKER, json.dumps(arguments)], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr, done.stderr
        received = Counter(text for _, text in json.loads(out.read_text()))
        assert received.pop("index") == 1
        return received


@pytest.fixture
def crawl(server: str, site_rules: Path, tmp_path: Path) -> Crawl:
    return Crawl(server, site_rules, tmp_path)


def once(*kinds: str) -> dict[str, int]:
    return {f"{kind} {n}": 1 for kind in kinds for n in range(EACH)}


def test_pages_that_redirect_to_a_decorated_form_of_themselves(crawl: Crawl) -> None:
    kinds = [f"to{status}" for status in STATUSES] + ["refresh"]
    assert crawl(*kinds) == once(*kinds)
    # The page, its decorated form, and nothing that it links to.
    assert all(Site.hits[f"/{kind}/{n}"] == Site.hits[f"/{kind}/{n}?sid=1"] == 1 for kind in kinds for n in range(EACH))
    assert Site.hits.total() == 1 + 2 * EACH * len(kinds)


@pytest.mark.parametrize("copy_meta", [False, True])
def test_cookie_walls_and_back(crawl: Crawl, copy_meta: bool) -> None:
    kinds = ("check", "wall", "shared")
    assert crawl(*kinds, copy_meta=copy_meta) == once(*kinds)
    # To the wall, through it, and back: no page a second time.
    assert Site.hits.total() == 1 + 3 * EACH * len(kinds)


def test_one_wall_for_all_is_passed_one_by_one(crawl: Crawl) -> None:
    assert crawl("shared", CONCURRENT_REQUESTS=1) == once("shared")
    assert Site.fetched("/consent") == EACH and Site.fetched("/shared/") == 2 * EACH


def test_redirects_to_pages_that_were_received_are_duplicates(crawl: Crawl) -> None:
    assert crawl("page", "back") == {**once("page"), **once("only")}
    assert Site.fetched("/page/") == Site.fetched("/only/") == EACH
    # The first alias of each; its other forms are the same link.
    assert Site.fetched("/alias/") == Site.fetched("/back/") == Site.fetched("/back2/") == EACH


def test_an_error_page_is_an_answer(crawl: Crawl) -> None:
    assert crawl("gone", CONCURRENT_REQUESTS=1) == {}
    assert Site.fetched("/gone/") == EACH and Site.fetched("/missing") == 1


def test_a_refusal_is_no_answer(crawl: Crawl) -> None:
    assert crawl("late", CONCURRENT_REQUESTS=1).total() == EACH - 1
    assert Site.fetched("/busy") == EACH


def test_loops_end(crawl: Crawl) -> None:
    assert crawl("loop", "self", "page", REDIRECT_MAX_TIMES=4) == once("page")
    assert Site.fetched("/loop/") == EACH * 5, "the request and four redirects"
    assert Site.fetched("/self/") == EACH * 2, "a second time, for there may be a cookie"


def test_spiders_that_copy_meta_fetch_nothing_twice(crawl: Crawl) -> None:
    assert crawl("to301", "page", "back", copy_meta=True) == {**once("to301"), **once("page"), **once("only")}
    assert Site.fetched("/to301/") == 2 * EACH
    assert Site.fetched("/page/") == Site.fetched("/only/") == EACH


def test_a_job_that_goes_on_knows_its_walls_and_pages(crawl: Crawl, tmp_path: Path) -> None:
    job, kinds = str(tmp_path / "job"), ("shared", "to302")
    assert crawl(*kinds, JOBDIR=job) == once(*kinds)
    half = EACH // 2
    assert crawl(*kinds, first=half, JOBDIR=job) == {f"{kind} {EACH + n}": 1 for kind in kinds for n in range(half)}
    assert Site.fetched("/consent") == half and Site.fetched("/shared/") == Site.fetched("/to302/") == 2 * half


@pytest.mark.parametrize("setting", ["nowhere", ""])
@pytest.mark.parametrize("reactor", ["asyncioreactor.AsyncioSelectorReactor", "selectreactor.SelectReactor"])
@pytest.mark.parametrize("command", [["runspider", "quick.py"], ["crawl", "quick"]])
def test_missing_rules_are_what_a_crawl_ends_with(
    server: str, tmp_path: Path, command: list[str], reactor: str, setting: str
) -> None:
    settings: dict[str, Any] = {"UNDUST_RULES": setting, "DUPEFILTER_CLASS": "undust.scrapy.DupeFilter"}
    settings |= {"TWISTED_REACTOR": f"twisted.internet.{reactor}", "LOG_LEVEL": "ERROR", "SPIDER_MODULES": ["quick"]}
    lines = "".join(f"{name} = {value!r}\n" for name, value in settings.items())
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = quick_settings\n")
    (tmp_path / "quick_settings.py").write_text(lines)
    spider = f"import scrapy\nclass Quick(scrapy.Spider):\n    name = 'quick'\n    start_urls = ['{server}/page/1']\n"
    (tmp_path / "quick.py").write_text(spider)
    Site.hits.clear()
    code = [sys.executable, "-m", "scrapy", *command]
    done = subprocess.run(code, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    said = f"{tmp_path / 'nowhere'}: no such file or folder" if setting else "UNDUST_RULES is not set"
    first, *_, last = done.stderr.strip().splitlines()
    assert said in first and "CRITICAL" in first, done.stderr
    assert said in last, done.stderr
    assert done.returncode == 1
    assert not Site.hits
