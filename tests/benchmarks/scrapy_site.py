"""A whole site into a sitemap with Scrapy, as fast as its CrawlSpider goes. It knows nothing of the project.

Runs in a virtual environment that has Scrapy. What every site needs is on (redirects, HTTP errors); what this tree
does not need is off. Scrapy resolves and cleans each link of each page, which is most of its time: here a link that
was seen before in the same folder never gets that far.

::

    scrapy_site.py URL DIRECTORY CONCURRENCY
"""

import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from scrapy.crawler import CrawlerProcess
from scrapy.http import HtmlResponse, Response
from scrapy.link import Link
from scrapy.linkextractors import LinkExtractor
from scrapy.linkextractors.lxmlhtml import LxmlParserLinkExtractor
from scrapy.spiders import CrawlSpider, Rule

DOWNLOADER = (
    *("robotstxt.RobotsTxt", "httpauth.HttpAuth", "downloadtimeout.DownloadTimeout"),
    *("defaultheaders.DefaultHeaders", "useragent.UserAgent", "retry.Retry", "redirect.MetaRefresh"),
    *("httpcompression.HttpCompression", "cookies.Cookies", "httpproxy.HttpProxy", "httpcache.HttpCache"),
    *("offsite.Offsite",),
)
SPIDER = ("referer.Referer", "urllength.UrlLength", "depth.Depth")


class FirstTime(LxmlParserLinkExtractor):
    """Scrapy's own extractor, which is shown only the links that were not seen in this folder before."""

    def __init__(self) -> None:
        super().__init__(tag="a", attr="href", process=self._unseen)
        self._raw: dict[str, set[str]] = {}
        self._seen: set[str] = set()
        self._here: set[str] = set()

    def _extract_links(self, selector: Any, response_url: str, encoding: str, base_url: str) -> list[Link]:
        self._here = self._raw.setdefault(base_url.rpartition("/")[0], set())
        return list(super()._extract_links(selector, response_url, encoding, base_url))

    def _iter_links(self, document: Any) -> Iterator[tuple[Any, str, str]]:
        here = self._here
        for element in document.iter("a", "area"):
            href = element.get("href", "").partition("#")[0]
            if href and href not in here:
                here.add(href)
                yield element, "href", href

    def _unseen(self, url: str) -> str | None:
        if url in self._seen:
            return None
        self._seen.add(url)
        return url


class Site(CrawlSpider):
    """Follows all links below the start URL and remembers each page with its Last-Modified."""

    name = "site"

    def __init__(self, root: str) -> None:
        self.start_urls = [root]
        extractor = LinkExtractor(allow=f"^{re.escape(root)}", unique=False)
        extractor.link_extractor = FirstTime()
        extractor.link_extractor._seen.add(root)
        self.rules = (Rule(extractor, callback="page", follow=True),)
        super().__init__()
        self.pages: dict[str, str] = {}

    def parse_start_url(self, response: Response, **kwargs: object) -> Iterable[object]:
        return self.page(response)

    def page(self, response: Response) -> Iterable[object]:
        if isinstance(response, HtmlResponse):
            self.pages[response.url] = (response.headers.get("Last-Modified") or b"").decode("latin-1")
        return ()


def settings(concurrency: int) -> dict[str, object]:
    """Full speed, nothing written, nothing optional."""
    found: dict[str, object] = {
        "CONCURRENT_REQUESTS": concurrency,
        "CONCURRENT_REQUESTS_PER_DOMAIN": concurrency,
        "CONCURRENT_ITEMS": 1,
        "DOWNLOAD_DELAY": 0,
        "RANDOMIZE_DOWNLOAD_DELAY": False,
        "ROBOTSTXT_OBEY": False,
        "COOKIES_ENABLED": False,
        "RETRY_ENABLED": False,
        "LOG_ENABLED": False,
        "LOG_INSTALL_ROOT_HANDLER": False,
        "TELNETCONSOLE_ENABLED": False,
        "MEMUSAGE_ENABLED": False,
        "DOWNLOADER_STATS": False,
        "LOGSTATS_INTERVAL": 0,
        "DUPEFILTER_CLASS": "scrapy.dupefilters.BaseDupeFilter",
        "DOWNLOADER_MIDDLEWARES": {f"scrapy.downloadermiddlewares.{name}Middleware": None for name in DOWNLOADER},
        "SPIDER_MIDDLEWARES": {f"scrapy.spidermiddlewares.{name}Middleware": None for name in SPIDER},
    }
    try:
        import uvloop  # noqa: F401
    except ImportError:
        return found
    return {**found, "ASYNCIO_EVENT_LOOP": "uvloop.Loop"}


def main(root: str, folder: str, concurrency: str) -> None:
    """Crawl and write."""
    process = CrawlerProcess(settings(int(concurrency)))
    crawler = process.create_crawler(Site)
    process.crawl(crawler, root)
    process.start()
    lines = [
        f"<url><loc>{escape(url)}</loc><lastmod>{escape(modified)}</lastmod></url>"
        for url, modified in sorted(crawler.spider.pages.items())
    ]
    head = '<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
    text = "\n".join([head, *lines, "</urlset>\n"])
    (Path(folder) / "sitemap.xml").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
