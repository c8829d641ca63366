"""Asks what sitemaps list under another name of the site: ``http://`` on a site of ``https://``, ``www.`` too many."""

from collections.abc import Callable, Iterable
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
"""URLs that are asked for: where they lead, the others most likely lead too."""
HEAD: Final = 64 * 1024  # bytes of a page, which has its canonical among the first of them
_LIMITS: Final = BodyLimits(wire=HEAD, decoded=HEAD, refuse=2**62, ratio=2**30)
_OWN_FAILURES: Final = ("policy.", "internal.")


async def check_host_aliases(
    plan: CrawlPlan, fetcher: Fetcher, rulebook: RobotsCache, urls: Iterable[Url], clock: Callable[[], float]
) -> list[VisitedUrl]:
    """How each URL was found to be, without those that could not be asked for. ``clock`` gives Unix time.

    robots.txt of each host is obeyed, redirects are not followed. Where the site is read elsewhere (``--source``)
    nothing is asked: the public one is another. Raises StorageError when rules cannot be kept.
    """
    asking = MediaRequests(plan.config, fetcher, rulebook, clock)
    judge, found = IndexabilityJudge(plan.scope, plan.params), []
    for url in urls if plan.source is None else ():
        answer = await asking.get(url, _LIMITS)
        if answer is None or (isinstance(answer, Failure) and answer.code.startswith(_OWN_FAILURES)):
            continue
        if isinstance(answer, Failure):
            verdict, page = judge.failure(answer), None
        else:
            page = _page(plan, answer) if is_readable(answer) else None
            verdict = judge.verdict(answer, page)
        found.append(
            VisitedUrl(
                url=url,
                state=verdict.state,
                reason=verdict.reason,
                status=answer.status if isinstance(answer, Reply) else None,
                target=verdict.target or "",
                title=page.title if page else "",
            )
        )
    return found


def _page(plan: CrawlPlan, reply: Reply) -> Page:
    """What the beginning of a page says, read by a scan that no markup can slow down."""
    document = FetchedDocument(
        url=reply.url,
        content_type=reply.header("content-type") or "",
        links=reply.header_all("link"),
        robots=reply.header_all("x-robots-tag"),
        refresh=reply.header("refresh") or "",
        body=reply.body,
    )
    return scan_page(document, parser_options(plan).options, UrlResolver(plan.params), reply.fetched_at, "")
