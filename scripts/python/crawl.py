"""A real Scrapy spider on a real site on loopback: plainly, with undust's dupe filter, and with canonical links.

The site is a shop whose pages link to each other with session ids, sort orders, print views and tracking parameters, as
such sites do. Rules are learned from a plain crawl of a third of it (cluster = digest of the page's content), which is
all that undust gets to know. Every crawl then starts at the front page. Printed: pages fetched, distinct contents. Exit
code 1 where content is lost or no fetch is saved.
"""

import hashlib
import http.server
import json
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from scrapy.crawler import CrawlerProcess
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule

ITEMS, LISTS, EACH = 240, 24, 10


def page(path, query):
    """Title, text and links of a page; None where there is none."""
    parts = path.strip("/").split("/")
    if parts == [""]:
        return "Shop", "Welcome", [f"/list/{n}" for n in range(LISTS)]
    if len(parts) == 2 and parts[0] == "list" and parts[1].isdigit() and int(parts[1]) < LISTS:
        n = int(parts[1])
        second = query.get("page") == "2"
        items = range(n * EACH, n * EACH + EACH)[EACH // 2 :] if second else range(n * EACH, n * EACH + EACH // 2)
        return f"List {n}{', page 2' if second else ''}", "Items", [f"/item/{i}" for i in items] + [f"/list/{n}?page=2"]
    if len(parts) == 2 and parts[0] == "item" and parts[1].isdigit() and int(parts[1]) < ITEMS:
        i = int(parts[1])
        return f"Item {i}", f"This is item {i * 7919}.", [f"/item/{(i * 3 + 1) % ITEMS}", f"/list/{i // EACH}"]
    return None


class Site(http.server.BaseHTTPRequestHandler):
    """Links carry what the site adds to them: whatever the visitor came with, and more."""

    protocol_version = "HTTP/1.1"
    served = 0

    def do_GET(self):
        split = urlsplit(self.path)
        found = page(split.path, dict(parse_qsl(split.query)))
        Site.served += 1
        if found is None:
            body, status = b"<h1>Not found</h1>", 404
        else:
            title, text, links = found
            # What is added depends on the page alone, so that a plain crawl ends: each page has some ten URLs.
            number, made = len(title) + sum(map(ord, title)), []
            for k, link in enumerate(links):
                glue = "&" if "?" in link else "?"
                session = hashlib.md5(f"{link} {(number + k) % 3}".encode()).hexdigest()[:8]
                made += [link, f"{link}{glue}sid={session}", f"{link}{glue}print=1"]
                made.append(f"{link}{glue}utm_source=mail{number % 2}&utm_medium=web")
                made.append(f"{link}{glue}sid={session}&utm_source=web&utm_medium=feed{k % 2}")
            anchors = "".join(f'<a href="{link.replace("&", "&amp;")}">{k}</a>\n' for k, link in enumerate(made))
            body, status = f"<h1>{title}</h1><p>{text}</p>{anchors}".encode(), 200
        self.send_response(status)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


class Spider(CrawlSpider):
    name = "shop"

    def __init__(self, address, out, rules_path=None, limit=0, **kwargs):
        self.start_urls = [f"http://{address}/"]
        process = None
        if rules_path:
            from undust import RuleSet
            from undust.scrapy import CanonicalLinks

            process = CanonicalLinks(RuleSet.open(rules_path))
        self.rules = [Rule(LinkExtractor(), callback="keep", follow=True, process_links=process)]
        self.out, self.pages = out, []
        super().__init__(**kwargs)

    def keep(self, response):
        self.pages.append((response.url, response.css("h1::text").get("") + "|" + response.css("p::text").get("")))

    def closed(self, reason):
        Path(self.out).write_text(json.dumps({"pages": self.pages}))


def crawl(address, out, settings, **arguments):
    """One crawl, in a process of its own: Twisted's reactor runs once."""
    code = [sys.executable, __file__, "--crawl", json.dumps([address, str(out), settings, arguments])]
    before = Site.served
    subprocess.run(code, check=True)
    return Site.served - before, json.loads(Path(out).read_text())["pages"]


def main():
    work = Path(tempfile.mkdtemp(prefix="undust-crawl-"))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"127.0.0.1:{server.server_port}"

    fetched, pages = crawl(address, work / "plain.json", {})
    contents = {text for _, text in pages}
    # A third of the lists and items is what undust learns from.
    train = [(url, text) for url, text in pages if int(hashlib.md5(text.encode()).hexdigest(), 16) % 3 == 0]
    with open(work / "train.tsv", "w") as file:
        file.writelines(f"{url}\t{hashlib.md5(text.encode()).hexdigest()}\tshop\n" for url, text in train)
    rules = work / "rules"
    subprocess.run([os.environ["UNDUST"], "learn", work / "train.tsv", "--out", rules, "-q"], check=True)
    settings = {"UNDUST_RULES": str(rules), "DUPEFILTER_CLASS": "undust.scrapy.DupeFilter"}
    rows = [("plain", fetched, contents)]
    for name, settings, arguments in [
        ("dupe filter", settings, {}),
        ("canonical links", {}, {"rules_path": str(rules)}),
    ]:
        count, pages = crawl(address, work / "out.json", settings, **arguments)
        rows.append((name, count, {text for _, text in pages}))
    failed = False
    print(f"{'crawl':<16} {'fetched':>8} {'contents':>8} {'lost':>5} {'saved':>6}")
    for name, count, found in rows:
        lost = len(contents - found)
        failed |= lost > 0 or (name != "plain" and count >= fetched)
        print(f"{name:<16} {count:>8} {len(found):>8} {lost:>5} {1 - count / fetched:>6.1%}")
    print("verdict: " + ("FAILED" if failed else "fewer pages fetched, no content lost"))
    return int(failed)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--crawl"]:
        address, out, settings, arguments = json.loads(sys.argv[2])
        process = CrawlerProcess({"LOG_LEVEL": "ERROR", "TELNETCONSOLE_ENABLED": False, "ROBOTSTXT_OBEY": False,
                                  "DOWNLOAD_DELAY": 0, "CONCURRENT_REQUESTS_PER_DOMAIN": 8, **settings})
        process.crawl(Spider, address=address, out=out, **arguments)
        process.start()
    else:
        sys.exit(main())
