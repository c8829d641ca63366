"""Reads the site's own sitemaps and feeds into a :class:`Page`, as an HTML document is. Pure."""

from collections.abc import Iterable

from crawler.model import DiscoveredBy, FetchedDocument, Page, Url
from crawler.url.normalize import InvalidUrl, normalize_url
from crawler.url.params import UrlParams
from sitemap import FEEDS, Child, Entry, SitemapError, SitemapParser


def read_sitemap(document: FetchedDocument, params: UrlParams, *, with_dates: bool = False) -> Page:
    """The entries of a sitemap or a feed as links, the children of an index as sitemaps.

    A document that cannot be read gives a page with the fault only. ``with_dates``: lastmod counts too.
    """
    parser = SitemapParser(document.url)
    items: list[Entry | Child] = []
    try:
        items += parser.feed(document.body)
        items += parser.close()
    except SitemapError as error:
        return Page(is_html=False, faults=[str(error)])
    is_feed = parser.format in FEEDS
    flag = DiscoveredBy.FEED if is_feed else DiscoveredBy.SITEMAP
    faults = [finding.sentence for finding in parser.findings[:3]]
    dated = (item for item in items if with_dates and isinstance(item, Entry) and item.lastmod)
    return Page(
        is_html=False,
        links=[(url, flag) for url in _urls((item.loc for item in items if isinstance(item, Entry)), params, faults)],
        sitemaps=_urls((item.loc for item in items if isinstance(item, Child)), params, faults),
        faults=faults,
        dates={url: item.lastmod for item in dated for url in _urls([item.loc], params, [])},
    )


def _urls(locs: Iterable[str], params: UrlParams, faults: list[str]) -> list[Url]:
    """The distinct valid URLs in order. Invalid ones become faults: the first with its reason, then their number."""
    urls: dict[Url, None] = {}
    refused = 0
    for loc in locs:
        try:
            urls[normalize_url(loc, params)] = None
        except InvalidUrl as error:
            refused += 1
            if refused == 1:
                faults.append(str(error))
    if refused > 1:
        faults.append(f"{refused:,} entries are no URLs that can be visited")
    return list(urls)
