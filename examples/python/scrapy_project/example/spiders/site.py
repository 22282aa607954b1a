"""Follows all links of one site.

scrapy crawl site -a start=https://shop.example/ -O pages.jsonl
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from scrapy import Spider
from scrapy.http import Response, TextResponse
from scrapy.linkextractors import LinkExtractor


class SiteSpider(Spider):
    name = "site"

    def __init__(self, start: str, **options: Any) -> None:
        super().__init__(**options)
        self.start_urls = [start]
        self.links = LinkExtractor(allow_domains=[urlsplit(start).netloc])

    def parse(self, response: Response) -> Iterator[Any]:
        yield {"url": response.url, "bytes": len(response.body)}
        if isinstance(response, TextResponse):
            for link in self.links.extract_links(response):
                yield response.follow(link)
