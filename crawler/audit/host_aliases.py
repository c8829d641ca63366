"""Fetches URLs that sitemaps list under another name of the site: other scheme, with or without ``www.``."""

from collections.abc import Iterable
from typing import Final

from crawler.audit.health.visit import VisitedUrl
from crawler.audit.media import MediaRequests
from crawler.config.plan import CrawlPlan
from crawler.crawl.indexability import IndexabilityJudge, is_readable
from crawler.crawl.visit import parser_options
from crawler.fetch.fetcher import Fetcher
from crawler.fetch.limits import BodyLimits
from crawler.model import Failure, FetchedDocument, Page, Reply, Url
from crawler.parse.html.page import scan_page
from crawler.robots.cache import RobotsCache
from crawler.url.resolve import UrlResolver

MAX_ALIAS_URLS: Final = 100
"""URLs to fetch at most: the others most likely lead to the same origin."""
HEAD: Final = 64 * 1024  # bytes: the canonical is in the head of a page
_LIMITS: Final = BodyLimits(wire=HEAD, decoded=HEAD, refuse=2**62, ratio=2**30)
_OWN_FAILURES: Final = ("policy.", "internal.")


async def check_host_aliases(
    plan: CrawlPlan, fetcher: Fetcher, robots_cache: RobotsCache, urls: Iterable[Url]
) -> list[VisitedUrl]:
    """Fetch the URLs and judge each, without those that robots.txt forbids.

    Obeys the robots.txt of each host, follows no redirects. With ``--source`` it fetches nothing: the public host may
    differ from the source. Raises StorageError.
    """
    requests = MediaRequests(plan.config, fetcher, robots_cache)
    judge, visited = IndexabilityJudge(plan.scope, plan.params), []
    for url in urls if plan.source is None else ():
        answer = await requests.get(url, _LIMITS)
        if answer is None or (isinstance(answer, Failure) and answer.code.startswith(_OWN_FAILURES)):
            continue
        if isinstance(answer, Failure):
            verdict, page = judge.failure(answer), None
        else:
            page = _page(plan, answer) if is_readable(answer) else None
            verdict = judge.verdict(answer, page)
        visited.append(
            VisitedUrl(
                url=url,
                state=verdict.state,
                reason=verdict.reason,
                status=answer.status if isinstance(answer, Reply) else None,
                target=verdict.target or "",
                title=page.title if page else "",
            )
        )
    return visited


def _page(plan: CrawlPlan, reply: Reply) -> Page:
    """The page, scanned from its first bytes in linear time."""
    document = FetchedDocument.of_reply(reply)
    return scan_page(document, parser_options(plan).options, UrlResolver(plan.params), reply.fetched_at, "")
