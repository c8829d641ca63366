"""Fetches URLs under other names of the site: other scheme, with or without ``www.``.

These are the URLs that sitemaps list there, and the start page, which may be published under two names.
"""

from collections.abc import Iterable
from typing import Final

import anyio

from crawler.audit.finding import AuditFinding
from crawler.audit.health.visit import VisitedUrl
from crawler.audit.media import MediaRequests
from crawler.config.plan import CrawlPlan
from crawler.crawl.indexability import IndexabilityJudge, is_readable
from crawler.fetch.fetcher import Fetcher
from crawler.fetch.limits import BodyLimits
from crawler.model import Failure, FetchedDocument, Reply, State, Url
from crawler.parse.pool import ParsePool
from crawler.robots.cache import RobotsCache
from crawler.url.normalize import host_of, origin_of
from crawler.url.scope import alias_origins, registrable_domain

MAX_ALIAS_URLS: Final = 100
"""URLs to fetch at most: the others most likely lead to the same origin."""
HEAD: Final = 64 * 1024  # bytes: the canonical is in the head of a page
_LIMITS: Final = BodyLimits(wire=HEAD, decoded=HEAD, refuse=2**62, ratio=2**30)
_DUPLICATE_SECONDS: Final = 30.0
"""For the start page under all other names: most of them do not answer at all."""
_OWN_FAILURES: Final = ("policy.", "internal.")


async def check_host_aliases(
    plan: CrawlPlan, fetcher: Fetcher, robots_cache: RobotsCache, pool: ParsePool, urls: Iterable[Url]
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
            page = await pool.read(FetchedDocument.of_reply(answer)) if is_readable(answer) else None
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


async def check_duplicate_origins(
    plan: CrawlPlan, fetcher: Fetcher, robots_cache: RobotsCache, pool: ParsePool, start: VisitedUrl
) -> list[AuditFinding]:
    """The findings about other names of the site that return the start page themselves.

    A name that redirects, that names another page as its canonical, or whose page has another title is none.
    """
    if start.state != State.INDEXABLE or not start.title:
        return []
    path = start.url[len(origin_of(Url(start.url))) :]
    findings: list[AuditFinding] = []

    async def check(origin: str) -> None:
        for visited in await check_host_aliases(plan, fetcher, robots_cache, pool, [Url(f"{origin}{path}")]):
            if visited.is_page and visited.title == start.title:
                sentence = f"it returns the page {start.url} itself: no redirect and no canonical names that URL"
                finding = AuditFinding(
                    rule="canonical.origin",
                    url=visited.url,
                    sentence=sentence,
                    state=visited.state,
                    status=visited.status,
                )
                findings.append(finding)

    with anyio.move_on_after(_DUPLICATE_SECONDS):
        async with anyio.create_task_group() as group:
            for origin in possible_duplicates(Url(start.url)):
                group.start_soon(check, origin)
    return sorted(findings, key=lambda finding: finding.url)


def possible_duplicates(start: Url) -> list[str]:
    """The other origins at which servers publish the same site by accident.

    A host that is no domain has one name only, and one port speaks one scheme.
    """
    own, host = origin_of(start), host_of(start)
    if "." not in host or host.rpartition(".")[2].isdigit() or ":" in host:  # localhost, or an address
        return []
    origins = alias_origins(start)
    domain = registrable_domain(host) or host.removeprefix("www.")
    if host not in (domain, f"www.{domain}"):  # nobody types www before shop.example.com
        origins = [origin for origin in origins if host_of(Url(f"{origin}/")) == host]
    if own.rpartition(":")[2].isdigit():
        origins = [origin for origin in origins if origin.partition(":")[0] == own.partition(":")[0]]
    return origins
