"""undust in Scrapy: a dupe filter, and a processor of links.

settings.py::

    UNDUST_RULES = "rules"
    DUPEFILTER_CLASS = "undust.scrapy.DupeFilter"

Two requests are one where their URLs have one canonical URL; the first of them is fetched, as it is. To fetch canonical
URLs instead, rewrite links where they are found::

    Rule(LinkExtractor(), follow=True, process_links=CanonicalLinks(RuleSet.open("rules")))
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.dupefilters import RFPDupeFilter
from scrapy.exceptions import NotConfigured

from . import RuleSet

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy.crawler import Crawler
    from scrapy.http import Request
    from scrapy.link import Link


class DupeFilter(RFPDupeFilter):
    """Scrapy's own filter, asked about the canonical URL. Requests that send something are left as they are."""

    rules: RuleSet

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> DupeFilter:
        path = crawler.settings.get("UNDUST_RULES")
        if not path:
            raise NotConfigured("UNDUST_RULES names no folder of rules")
        self: DupeFilter = super().from_crawler(crawler)
        self.rules = RuleSet.open(path)
        return self

    def request_seen(self, request: Request) -> bool:
        if request.method in ("GET", "HEAD"):
            request = request.replace(url=self.rules.canonicalize(request.url))
        return bool(super().request_seen(request))


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
