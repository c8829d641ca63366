"""Builds the parts of a crawl from its plan: seeds, indexability rules, worker and parser options."""

import hashlib

import msgspec

from crawler.config import source as sources
from crawler.config.config import Config
from crawler.config.plan import Plan
from crawler.crawl.indexability import Judge
from crawler.crawl.worker import Manners
from crawler.fetch.limits import BodyLimits
from crawler.model import Find, Found, Kind
from crawler.parse.html.page import ReadOptions
from crawler.parse.protocol import Hello
from crawler.robots.rules import Robots, product_token
from crawler.url.normalize import normalise, origin
from crawler.version import __version__


def reading_key(ready: Plan) -> str:
    """A short name for everything that decides what is read in a page: what was read otherwise cannot be reused."""
    config = ready.config
    said = (
        hello(ready),
        config.obey.nofollow,
        config.scope.sitemap_seeds,
        config.fetch.max_body,
        __version__,
    )
    return hashlib.blake2b(msgspec.msgpack.encode(said), digest_size=8).hexdigest()


def source_key(ready: Plan) -> str:
    """A short name for the server that is asked: validators are of one server."""
    return sources.key(ready.config, ready.seed)


def seeds(ready: Plan, robots: Robots) -> list[Find]:
    """Where the crawl begins: the start URL, and the site's own sitemaps if they are wanted."""
    found = [Find(ready.seed, Found.SEED, 0)]
    if ready.config.scope.sitemap_seeds:
        given = (*robots.sitemaps, f"{origin(ready.seed)}/sitemap.xml")
        named = dict.fromkeys(normalise(url, ready.params.whole) for url in given)
        found += [Find(url, Found.SITEMAP, 0, kind=Kind.SITEMAP) for url in named if url != ready.seed]
    return found


def judge(ready: Plan) -> Judge:
    """Who judges the pages."""
    obey = ready.config.obey
    return Judge(ready.scope, ready.params, obey.noindex, obey.canonical)


def manners(config: Config) -> Manners:
    """What a journey is told."""
    fetch = config.fetch
    return Manners(
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


def hello(ready: Plan) -> Hello:
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
    return Hello(options, ready.params, parse.timeout, parse.memory)
