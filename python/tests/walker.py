"""A spider that follows every link, in a process of its own: Twisted's reactor runs once.

Argument: JSON with `start` (URLs), `out` (a file for the pages received, as JSON: [URL, text] each), `settings`, and
`copy_meta` (requests get the meta of the response, as many spiders do it).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from scrapy import Request, Spider
from scrapy.crawler import CrawlerProcess
from scrapy.http import Response

QUIET = {"LOG_LEVEL": "ERROR", "TELNETCONSOLE_ENABLED": False, "ROBOTSTXT_OBEY": False, "DOWNLOAD_DELAY": 0}


class Walker(Spider):
    name = "walker"

    def __init__(self, start: list[str], out: str, copy_meta: bool, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.start_urls, self.out, self.copy_meta = start, Path(out), copy_meta
        self.pages: list[tuple[str, str]] = []

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Request]:
        self.pages.append((response.url, response.css("p::text").get("")))
        for link in response.css("a::attr(href)").getall():
            yield response.follow(link, meta=dict(response.meta) if self.copy_meta else None)

    def closed(self, reason: str) -> None:
        self.out.write_text(json.dumps(self.pages))


if __name__ == "__main__":
    arguments = json.loads(sys.argv[1])
    process = CrawlerProcess({**QUIET, **arguments.pop("settings")})
    process.crawl(Walker, **arguments)
    process.start()
