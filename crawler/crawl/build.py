"""Builds the parts of a crawl from its plan: seeds, indexability rules, worker and parser options."""

import hashlib

import msgspec

from crawler.config import source as sources
from crawler.config.config import Config
from crawler.config.plan import CrawlPlan
from crawler.crawl.indexability import IndexabilityJudge
from crawler.crawl.worker import WorkerOptions
from crawler.fetch.limits import BodyLimits
from crawler.model import DiscoveredBy, DiscoveredUrl, DocumentKind
from crawler.parse.html.page import ReadOptions
from crawler.parse.protocol import ParserOptions
from crawler.robots.rules import Robots, product_token
from crawler.url.normalize import normalize_url, origin_of
from crawler.version import __version__


def parse_settings_key(ready: CrawlPlan) -> str:
    """A short name for everything that decides what is read in a page: what was read otherwise cannot be reused."""
    config = ready.config
    said = (
        parser_options(ready),
        config.obey.nofollow,
        config.scope.sitemap_seeds,
        config.fetch.max_body,
        __version__,
    )
    return hashlib.blake2b(msgspec.msgpack.encode(said), digest_size=8).hexdigest()


def source_key(ready: CrawlPlan) -> str:
    """A short name for the server that is asked: validators are of one server."""
    return sources.server_key(ready.config, ready.seed)


def seed_urls(ready: CrawlPlan, robots: Robots) -> list[DiscoveredUrl]:
    """Where the crawl begins: the start URL, and the site's own sitemaps if they are wanted."""
    found = [DiscoveredUrl(ready.seed, DiscoveredBy.SEED, 0)]
    if ready.config.scope.sitemap_seeds:
        given = (*robots.sitemaps, f"{origin_of(ready.seed)}/sitemap.xml")
        named = dict.fromkeys(normalize_url(url, ready.params.keeping_all) for url in given)
        found += [
            DiscoveredUrl(url, DiscoveredBy.SITEMAP, 0, kind=DocumentKind.SITEMAP)
            for url in named
            if url != ready.seed
        ]
    return found


def build_judge(ready: CrawlPlan) -> IndexabilityJudge:
    """Who judges the pages."""
    obey = ready.config.obey
    return IndexabilityJudge(ready.scope, ready.params, obey.noindex, obey.canonical)


def worker_options(config: Config) -> WorkerOptions:
    """What a journey is told."""
    fetch = config.fetch
    return WorkerOptions(
        retries=fetch.retries,
        max_redirects=fetch.max_redirects,
        obey_nofollow=config.obey.nofollow,
        page_body=BodyLimits(wire=fetch.max_download, decoded=fetch.max_body),
        sitemap_body=BodyLimits(wire=fetch.max_sitemap, decoded=fetch.max_sitemap),
        max_crawl_delay=config.obey.max_crawl_delay,
        max_retry_after=config.pace.max_retry_after,
        follow_sitemaps=config.scope.sitemap_seeds,
        token=product_token(fetch.user_agent),
    )


def parser_options(ready: CrawlPlan) -> ParserOptions:
    """What the parser processes are told."""
    content, parse = ready.config.content, ready.config.parse
    options = ReadOptions(
        images=content.images,
        videos=content.videos,
        alternates=content.alternates,
        dates=content.lastmod in ("observed", "page"),
        max_links=parse.max_links,
        token=product_token(ready.config.fetch.user_agent),
    )
    return ParserOptions(options, ready.params, parse.timeout, parse.memory)
