"""The gate: whether the set that a run found deserves to replace the one that is published, and if not, why not."""

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from crawler.errors import NothingCrawlable, PublishRefused
from crawler.fetch.retry import is_failure
from crawler.model import State, StatusBadge, Url

MIN_SIGNIFICANT: Final = 5
"""Pages that say nothing about the site as a whole, however small it is."""
_MAX_CAUSES: Final = 4  # that are told with a URL each

_TEMPORARY: Final = frozenset(
    {302, 303, 307}
)  # RFC 9110 15.4.3, 15.4.4, 15.4.8: the page is still to be asked for
_GONE_STATUSES: Final = frozenset({404, 410})
_OPERATOR_STATES: Final = frozenset({State.EXCLUDED, State.OUT_OF_SCOPE})
_EXPLAINING_STATES: Final = frozenset(
    {State.NOINDEX, State.CANONICAL_ELSEWHERE, State.REDIRECT, *_OPERATOR_STATES}
)


class LostPages(Struct, frozen=True, kw_only=True):
    """Published pages that the new set lacks, which ended in one way: how many, and one of them with its reason.

    ``target`` is the one page, without its query, to which :data:`FEW` or more of them redirect for now; else "".
    """

    state: State
    status: int | None = None
    target: str = ""
    count: int
    url: Url
    reason: str = ""

    @property
    def is_explained(self) -> bool:
        """Whether the site, or the operator, has said that these pages are to go."""
        if self.state is State.REDIRECT and self.status in _TEMPORARY:
            return not self.target
        return self.state in _EXPLAINING_STATES or (
            self.state is State.CLIENT_ERROR and self.status in _GONE_STATUSES
        )


class IdenticalPages(Struct, frozen=True):
    """Published pages that differed from one another and now all have the same content: how many, and one of them."""

    count: int
    url: Url


class StartUrlStatus(Struct, frozen=True):
    """How the start URL ended in this run (None: it was not visited), and where the sets stand to it."""

    url: Url
    verdict: StatusBadge | None = None
    status: int | None = None
    was_published: bool = False
    is_listed: bool = False  # it, or where it leads to now, is in the new set


class GateFacts(Struct, frozen=True, kw_only=True):
    """What the gate looks at. ``published`` counts the pages out there, ``listed`` those of the new set.

    ``failed`` of ``visited`` pages failed in this run; those that are listed all the same, because they keep their
    place, count as failed here and not as ``gone``.
    """

    start: StartUrlStatus
    published: int
    listed: int
    failed: int
    visited: int
    gone: Sequence[LostPages] = ()
    alike: IdenticalPages | None = None


class GateLimits(Struct, frozen=True):
    """How much may be amiss: shares of the pages. ``accept_shrink``: the operator has said that it is right so."""

    max_failed: float = 0.2
    max_shrink: float = 0.2
    accept_shrink: bool = False


class Refusal(Struct, frozen=True):
    """Why nothing is published: a sentence with its remedy, and the exit code that it comes to."""

    sentence: str
    exit_code: int = PublishRefused.exit_code


def refusal_of(facts: GateFacts, allowed: GateLimits) -> Refusal | None:
    """Why the new set must not replace the published one; None when it may. The first rule that speaks wins."""
    if not facts.listed:
        return Refusal(_nothing_crawlable(facts.start), NothingCrawlable.exit_code)
    if sentence := _start_failed(facts.start) or _too_many_failed(facts, allowed.max_failed):
        return Refusal(sentence)
    if allowed.accept_shrink:
        return None
    sentence = (
        _start_missing(facts)
        or _all_identical(facts, allowed.max_shrink)
        or _start_delisted(facts.start)
        or _shrunk(facts, allowed.max_shrink)
    )
    return Refusal(f"{sentence}; if that is right, run once with --accept-shrink") if sentence else None


def _nothing_crawlable(start: StartUrlStatus) -> str:
    verdict = start.verdict
    if verdict is None or verdict.state is State.INDEXABLE:
        return f"no page from {start.url} on is indexable"
    told = f"no page from {start.url} on is indexable: {verdict.reason} ({verdict.state.value})"
    return f"{told}; to crawl there: siteatlas crawl {verdict.target}" if verdict.target else told


def _start_failed(start: StartUrlStatus) -> str:
    verdict = start.verdict
    if verdict and (is_failure(verdict.state, start.status) or verdict.state is State.BAD_ANSWER):
        return f"the start URL {start.url} failed ({verdict.reason})"
    return ""


def _too_many_failed(facts: GateFacts, most: float) -> str:
    failed, visited = facts.failed, facts.visited
    if failed < MIN_SIGNIFICANT or failed <= most * visited:
        return ""
    return f"{failed:,} of {visited:,} pages failed, over the {most:.0%} that --max-failed allows"


def _start_missing(facts: GateFacts) -> str:
    """Only before anything is published: whoever types a URL that is not there is not at the right place."""
    start = facts.start
    if facts.published or start.verdict is None or start.status not in _GONE_STATUSES:
        return ""
    return f"the start URL {start.url} {start.verdict.reason}; the pages are known from elsewhere, such as a sitemap"


def _start_delisted(start: StartUrlStatus) -> str:
    """Only for one that was published: of a start URL that never was a page of its own, this says nothing."""
    verdict = start.verdict
    if not start.was_published or start.is_listed or verdict is None:
        return ""
    if verdict.state is State.INDEXABLE or verdict.state in _OPERATOR_STATES:
        return ""
    return f"the start URL {start.url} was published and is {verdict.state.value} now ({verdict.reason})"


def _shrunk(facts: GateFacts, most: float) -> str:
    unexplained = sorted(
        (gone for gone in facts.gone if not gone.is_explained), key=lambda gone: (-gone.count, gone.url)
    )
    lost = sum(gone.count for gone in unexplained)
    if lost < MIN_SIGNIFICANT or lost <= most * facts.published:
        return ""
    return (
        f"{lost:,} of the {facts.published:,} published pages would leave without a good reason, over the {most:.0%} "
        f"that --max-shrink allows: {', '.join(_causes(unexplained))}"
    )


def _causes(unexplained: Sequence[LostPages]) -> Iterator[str]:
    for gone in unexplained[:_MAX_CAUSES]:
        what = f"redirect to {gone.target} for now" if gone.target else gone.state.value
        why = f": {gone.reason}" if gone.reason and not gone.target else ""
        yield f"{gone.count:,} {what} ({gone.url}{why})"
    if rest := sum(gone.count for gone in unexplained[_MAX_CAUSES:]):
        yield f"{rest:,} for other reasons"


def _all_identical(facts: GateFacts, most: float) -> str:
    alike = facts.alike
    if alike is None or alike.count < MIN_SIGNIFICANT or alike.count <= most * facts.published:
        return ""
    return (
        f"{alike.count:,} of the {facts.published:,} published pages, which differed, now all say the same "
        f"(such as {alike.url}): is this a maintenance page, or a login?"
    )
