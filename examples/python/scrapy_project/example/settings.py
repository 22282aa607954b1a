"""Settings of a crawl in which each page is fetched once."""

import os

BOT_NAME = "example"
SPIDER_MODULES = ["example.spiders"]
NEWSPIDER_MODULE = "example.spiders"
ROBOTSTXT_OBEY = True

# The folder that `undust learn` wrote. Requests whose URLs have one canonical URL are one; the first
# is fetched, as it is.
UNDUST_RULES = os.environ.get("UNDUST_RULES", "rules")
DUPEFILTER_CLASS = "undust.scrapy.DupeFilter"
