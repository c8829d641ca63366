"""Reads the URLs that a site had before Siteatlas: in sitemaps, tables, access logs and the Git history of a folder."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from crawler.audit.collect import source_url_parser
from crawler.audit.source_record import SourceKind
from crawler.audit.sources.exports.reader import read_export, refuse_url
from crawler.audit.sources.logs.log import LogOptions
from crawler.audit.sources.logs.reader import is_log, read_logs
from crawler.audit.sources.urls import RejectReason, SourceUrlParser, file_pattern
from crawler.cli.move_sides import is_sitemap, sitemap_urls
from crawler.config.plan import CrawlPlan
from crawler.lastmod.generators import path_key
from crawler.lastmod.git import former_pages
from crawler.model import Url
from crawler.url.normalize import path_of


def former_urls(name: str, plan: CrawlPlan, listed: Sequence[str], flags: Mapping[str, Any]) -> list[Url]:
    """The URLs of a site in a file, a folder or at a URL, each once. ``listed`` are those that its sitemap lists.

    Raises UsageError, NothingCrawlable.
    """
    known = source_url_parser(plan)
    if Path(name).is_dir():
        texts = _spelled(former_pages(Path(name)), listed)
    elif is_sitemap(name):
        texts = iter(sitemap_urls(name, flags))
    elif is_log(name):
        return [*dict.fromkeys(_answered(name, known))]
    else:
        _, records = read_export(name, SourceKind.LIST, known, "", refuse_url)
        return [*dict.fromkeys(record.url for record in records)]
    return [url for url in dict.fromkeys(map(known.parse, texts)) if not isinstance(url, RejectReason)]


def _answered(name: str, known: SourceUrlParser) -> Iterator[Url]:
    """The URLs that a server once answered with a page, by its log."""
    for _, records in read_logs([name], known, LogOptions(), lambda _: None):
        yield from (record.url for record in records if record.ok and not file_pattern(record.url))


def _spelled(pages: set[str], listed: Sequence[str]) -> Iterator[str]:
    """Paths of pages as the site spells them: with .html, a slash or nothing at the end, as most listed URLs have."""
    paths = [path_of(Url(url)) for url in listed]
    spellings = {path_key(path): path for path in paths}
    ends = Counter(next((end for end in (".html", "/") if path.endswith(end)), "") for path in paths if path != "/")
    (end, _), *_ = ends.most_common() or [("", 0)]
    for page in sorted(pages):
        own = page if page.endswith("/") else page.removesuffix(".html") + end
        yield spellings.get(path_key(page), own)
