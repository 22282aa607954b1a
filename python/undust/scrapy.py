"""undust in Scrapy: a dupe filter, and a processor of links.

settings.py::

    UNDUST_RULES = "rules"
    DUPEFILTER_CLASS = "undust.scrapy.DupeFilter"

Two requests are one where their URLs have one canonical URL; the first of them is fetched, as it is. To fetch canonical
URLs instead, rewrite links where they are found::

    Rule(LinkExtractor(), follow=True, process_links=CanonicalLinks(RuleSet.open("rules")))
"""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy import signals, version_info
from scrapy.dupefilters import RFPDupeFilter
from scrapy.exceptions import NotConfigured
from scrapy.utils.job import job_dir

from . import RulesError, RuleSet

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy.crawler import Crawler
    from scrapy.http import Request, Response
    from scrapy.link import Link

logger = logging.getLogger(__name__)

# Key in `Request.meta`: the number of redirects behind the request when it passed the filter.
PASSED = "undust_redirects"
# File in JOBDIR: the fingerprints in `DupeFilter.hops`, one a line in hexadecimal digits.
HOPS_FILE = "requests.hops"


class DupeFilter(RFPDupeFilter):
    """Scrapy's own filter on the canonical URL; requests other than GET and HEAD keep their URL.

    A redirect to a URL that was seen passes while that URL has redirected and has not given a page: a page that adds a
    session id to its own URL, or that sends visitors for a cookie and back, is fetched, and so is the next page behind
    the same wall. A missed duplicate costs one fetch, a lost page is lost. Redirects to a page that was received, or
    that a link has queued already, are duplicates. Loops end by REDIRECT_MAX_TIMES, and those of a page that refreshes
    itself at the second fetch.
    """

    rules: RuleSet
    hops: set[bytes]
    """Fingerprints of URLs that redirected, or to which a redirect is under way, and that gave no page so far."""
    _hops_path: Path | None
    _refusal: Exception | None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> DupeFilter:
        self: DupeFilter = super().from_crawler(crawler)
        self._refusal = None
        folder = job_dir(crawler.settings)
        self._hops_path = Path(folder, HOPS_FILE) if folder else None
        self.hops = set()
        if self._hops_path and self._hops_path.exists():
            self.hops.update(map(bytes.fromhex, self._hops_path.read_text("ascii").split()))
        crawler.signals.connect(self._received, signal=signals.response_received)
        path = crawler.settings.get("UNDUST_RULES")
        try:
            if not path:
                raise NotConfigured("UNDUST_RULES is not set: name the folder of rules, or take the dupe filter out")
            self.rules = RuleSet.open(path)
        except (NotConfigured, RulesError) as error:
            self._refuse(crawler, error)
        return self

    def _refuse(self, crawler: Crawler, error: Exception) -> None:
        """Has `open` fail with this error. Failing earlier, Scrapy trips over its half-made engine and reports that."""
        logger.critical("No crawl without the rules in UNDUST_RULES: %s", error)
        self._refusal = error

        def remove_spider() -> None:
            crawler.spider = None

        # Scrapy before 2.16 exits with 0 after a start that failed, except for a crawler without a spider.
        if version_info < (2, 16):
            crawler.signals.connect(remove_spider, signal=signals.spider_closed, weak=False)

    def open(self) -> None:
        if self._refusal:
            raise self._refusal.with_traceback(None)
        super().open()

    def close(self, reason: str) -> None:
        super().close(reason)
        if self._hops_path:
            partial = self._hops_path.with_suffix(".partial")
            partial.write_text("".join(f"{key.hex()}\n" for key in sorted(self.hops)), "ascii")
            os.replace(partial, self._hops_path)

    def request_seen(self, request: Request) -> bool:
        canonical = self._canonical(request, request.url)
        seen = bool(super().request_seen(canonical))
        urls = request.meta.get("redirect_urls", [])
        # Only a redirect of a request that passed has one more: spiders copy meta from responses into new
        # requests.
        if request.meta.get(PASSED) == len(urls) - 1:
            seen = self._redirect_seen(request, canonical, urls, seen)
        if not seen:
            request.meta[PASSED] = len(urls)
        return seen

    def _redirect_seen(self, request: Request, canonical: Request, urls: list[str], seen: bool) -> bool:
        """Whether a redirect is a duplicate. `urls` redirected to it; `seen` is the answer of Scrapy's filter."""
        key = self._key(canonical)
        self.hops.add(self._key(self._canonical(request, urls[-1])))
        if not seen:
            self.hops.add(key)
            return False
        # The first time, there may be a cookie with it.
        refreshes_itself = urls[-2:] == [request.url, request.url]
        return refreshes_itself or key not in self.hops

    def _received(self, response: Response, request: Request) -> None:
        # Other statuses (401, 403, 429, 5xx) may be meant for this visitor or this moment.
        if self.hops and (response.status < 400 or response.status in (404, 410)):
            self.hops.discard(self._key(self._canonical(request, request.url)))

    def _canonical(self, request: Request, url: str) -> Request:
        if request.method in ("GET", "HEAD"):
            url = self.rules.canonicalize(url)
        return request if url == request.url else request.replace(url=url)

    def _key(self, request: Request) -> bytes:
        return bytes(self.fingerprinter.fingerprint(request))


class CanonicalLinks:
    """Gives links their canonical URLs, and takes out those that a page links to twice."""

    def __init__(self, rules: RuleSet) -> None:
        self.rules = rules

    def __call__(self, links: Iterable[Link]) -> list[Link]:
        first: dict[str, Link] = {}
        for link in links:
            link.url = self.rules.canonicalize(link.url)
            first.setdefault(link.url, link)
        return list(first.values())
