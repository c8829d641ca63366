"""The gate: decides whether a run's set may replace the published one, and if not, why. Pure."""

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from crawler.errors import NothingCrawlable, PublishRefused
from crawler.fetch.retry import is_failure
from crawler.model import Outcome, State, Url, Verdict

MIN_SIGNIFICANT: Final = 5
"""Fewer pages than this say nothing about the whole site, however small it is."""
_MAX_CAUSES: Final = 4  # causes that are named with a URL each

_TEMPORARY: Final = frozenset({302, 303, 307})  # RFC 9110 15.4.3, 15.4.4, 15.4.8: the URL stays in use
_GONE_STATUSES: Final = frozenset({404, 410})
_OPERATOR_STATES: Final = frozenset({State.EXCLUDED, State.OUT_OF_SCOPE})
_EXPLAINING_STATES: Final = frozenset({State.NOINDEX, State.CANONICAL_ELSEWHERE, State.REDIRECT, *_OPERATOR_STATES})


class LostPages(Struct, frozen=True, kw_only=True):
    """Published pages that the new set lacks for the same cause: their number, and one of them with its reason.

    ``target`` is the page, without its query, to which :data:`MIN_SIGNIFICANT` or more of them redirect temporarily;
    else "".
    """

    state: State
    status: int | None = None
    target: str = ""
    count: int
    url: Url
    reason: str = ""

    @property
    def is_explained(self) -> bool:
        """Whether the site or the operator removed these pages on purpose."""
        if self.state is State.REDIRECT and self.status in _TEMPORARY:
            return not self.target
        return self.state in _EXPLAINING_STATES or (self.state is State.CLIENT_ERROR and self.status in _GONE_STATUSES)


class IdenticalPages(Struct, frozen=True):
    """Published pages that differed and now have the same content: their number, and one of them."""

    count: int
    url: Url


class StartUrlStatus(Struct, frozen=True):
    """The start URL's verdict in this run (None: not visited), and whether it was and is listed."""

    url: Url
    verdict: Verdict | None = None
    status: int | None = None
    was_published: bool = False
    is_listed: bool = False  # it, or its target, is in the new set


class GateFacts(Struct, frozen=True, kw_only=True):
    """The facts that the gate decides on. ``published`` counts the published pages, ``listed`` those of the new set.

    ``failed`` of ``visited`` pages failed in this run; failed pages that stay listed count as failed, not as ``gone``.
    """

    start: StartUrlStatus
    published: int
    listed: int
    failed: int
    visited: int
    gone: Sequence[LostPages] = ()
    alike: IdenticalPages | None = None


class GateLimits(Struct, frozen=True):
    """The tolerated shares of pages. ``accept_shrink``: the operator accepts a smaller set."""

    max_failed: float = 0.2
    max_shrink: float = 0.2
    accept_shrink: bool = False


class Refusal(Struct, frozen=True):
    """Why nothing is published: a sentence with its remedy, and the exit code."""

    sentence: str
    exit_code: int = PublishRefused.exit_code


def refusal_of(facts: GateFacts, limits: GateLimits) -> Refusal | None:
    """Why the new set must not replace the published one; None when it may. The first rule that applies decides."""
    if not facts.listed:
        return Refusal(_nothing_crawlable(facts.start), NothingCrawlable.exit_code)
    if sentence := _start_failed(facts.start) or _too_many_failed(facts, limits.max_failed):
        return Refusal(sentence)
    if limits.accept_shrink:
        return None
    sentence = (
        _all_identical(facts, limits.max_shrink) or _start_delisted(facts.start) or _shrunk(facts, limits.max_shrink)
    )
    return Refusal(f"{sentence}; if this is intended, run once with --accept-shrink") if sentence else None


def reject_start(outcome: Outcome, *, is_scope_set: bool) -> NothingCrawlable | None:
    """The error that ends the first crawl of a site at once: its start URL does not exist, or means a directory.

    ``is_scope_set``: the configuration names the URL of the sitemap, and with it the scope. In later runs,
    :func:`refusal_of` decides when they have seen the whole site.
    """
    url, verdict = outcome.lease.url, outcome.verdict
    if outcome.status in _GONE_STATUSES:
        return NothingCrawlable(
            f"the start URL {url} {verdict.reason}: correct it, or use --accept-shrink to crawl the pages that other "
            "sources name, such as the site's sitemap"
        )
    if not is_scope_set and verdict.state is State.REDIRECT and verdict.target == f"{url}/":
        parent = url[: url.rindex("/") + 1]
        return NothingCrawlable(
            f"the start URL {url} redirects to {verdict.target}. Start at {verdict.target} for a sitemap of that "
            f"directory, or at {parent} for a sitemap of everything below it"
        )
    return None


def _nothing_crawlable(start: StartUrlStatus) -> str:
    verdict = start.verdict
    if verdict is None or verdict.state is State.INDEXABLE:
        return f"no page from {start.url} on is indexable"
    sentence = f"no page from {start.url} on is indexable: {verdict.reason} ({verdict.state.value})"
    return f"{sentence}; to crawl there: siteatlas crawl {verdict.target}" if verdict.target else sentence


def _start_failed(start: StartUrlStatus) -> str:
    verdict = start.verdict
    if verdict and (is_failure(verdict.state, start.status) or verdict.state is State.BAD_ANSWER):
        return f"the start URL {start.url} failed ({verdict.reason})"
    return ""


def _too_many_failed(facts: GateFacts, limit: float) -> str:
    failed, visited = facts.failed, facts.visited
    if failed < MIN_SIGNIFICANT or failed <= limit * visited:
        return ""
    return f"{failed:,} of {visited:,} pages failed, over the {limit:.0%} that --max-failed allows"


def _start_delisted(start: StartUrlStatus) -> str:
    """Only for a start URL that was published: others may never have been a page."""
    verdict = start.verdict
    if not start.was_published or start.is_listed or verdict is None:
        return ""
    if verdict.state is State.INDEXABLE or verdict.state in _OPERATOR_STATES:
        return ""
    return f"the start URL {start.url} was published and is {verdict.state.value} now ({verdict.reason})"


def _shrunk(facts: GateFacts, limit: float) -> str:
    unexplained = [lost for lost in facts.gone if not lost.is_explained]
    unexplained.sort(key=lambda lost: (-lost.count, lost.url))
    count = sum(lost.count for lost in unexplained)
    if count < MIN_SIGNIFICANT or count <= limit * facts.published:
        return ""
    return (
        f"{count:,} of the {facts.published:,} published pages would leave without a good reason, over the {limit:.0%} "
        f"that --max-shrink allows: {', '.join(_causes(unexplained))}"
    )


def _causes(unexplained: Sequence[LostPages]) -> Iterator[str]:
    for lost in unexplained[:_MAX_CAUSES]:
        cause = f"redirect to {lost.target} for now" if lost.target else lost.state.value
        reason = f": {lost.reason}" if lost.reason and not lost.target else ""
        yield f"{lost.count:,} {cause} ({lost.url}{reason})"
    if rest := sum(lost.count for lost in unexplained[_MAX_CAUSES:]):
        yield f"{rest:,} for other reasons"


def _all_identical(facts: GateFacts, limit: float) -> str:
    identical = facts.alike
    if identical is None or identical.count < MIN_SIGNIFICANT or identical.count <= limit * facts.published:
        return ""
    return (
        f"{identical.count:,} of the {facts.published:,} published pages now have identical content, but were "
        f"different before (such as {identical.url}): is it a maintenance page or a login page?"
    )
