"""Whether the crawl can prove that a page is an orphan: which parts of the site it did not see, and the remedies.

An unread page may link to anything. So a crawl that stops early makes every orphan finding *inconclusive*. Pages that
failed are milder: the links of their last good answer count. The others, and pages that robots.txt or a login closes,
cost a finding no more than its certainty while they are few. Such a finding is *likely*. It is inconclusive all the
same if one of these pages is likely to link to its URL, if more than :data:`MAX_MISTAKEN` of the findings are expected
to be wrong (see :mod:`crawler.audit.graph.unread_pages`), or if they are more than :data:`MAX_UNSEEN` of the pages. A
script that was not run may add links (see :mod:`crawler.parse.html.scripts`), so a finding is *likely* at most, and
inconclusive if few pages are linked without it. Only URLs that the start leads to count: an orphan cannot connect
another page to the site.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from msgspec import Struct

from crawler.audit.finding import Certainty
from crawler.audit.graph.links import has_failed
from crawler.model import State
from crawler.units import count_text
from sitemap import shorten

REFUSED_STATUSES: Final = frozenset({401, 403, 407, 451})  # the page exists, but not for us
MAX_MISTAKEN: Final = 0.02  # share of the findings; 3 of 100 likely findings may be wrong
MAX_UNSEEN: Final = 0.03  # share of the pages
MAX_SCRIPTED: Final = 10  # pages that scripts may add links to; an audit counts no more, because one makes the doubt

_TRUST: Final = "or use --set audit.trust_blocked=true to assume that they contain no other links"


class EndedUrls(Struct, frozen=True):
    """How many URLs that the start leads to ended alike, with one of them and its reason as an example."""

    count: int
    example: str
    reason: str = ""


class CrawlCoverage(Struct, frozen=True, kw_only=True):
    """What the crawl saw of the site. ``end_states`` has the URLs that the start leads to, by state and status.

    ``stopped`` says why the crawl stopped early, as the end of a sentence, or is "". ``cut`` counts pages that were
    read in part, ``out_of_scope`` URLs outside the start's directory, ``alias_urls`` URLs under another name of the
    site. ``unread`` are the nodes of pages that may link to anything, and for which the user does not vouch.
    ``failed`` is how many pages failed if ``unread`` has some of them, else 0.
    ``no_robots`` lists origins whose robots.txt could not be fetched. ``scripted`` are the pages that a script that
    was not run may add links to, at most ``MAX_SCRIPTED`` of them; ``render_remedy`` says how it can be run.
    ``linked_pages`` is the number of linked pages if they are so few that scripts may make most links, else 0.
    ``unseen_in_boxes`` estimates how many pages are shown by boxes that change at each request, but by no read.
    ``swapping`` are pages whose links were swapped between two audits, which boxes do that change by day.
    """

    end_states: Mapping[tuple[State, int | None], EndedUrls]
    stopped: str = ""
    cut: EndedUrls | None = None
    out_of_scope: EndedUrls | None = None
    alias_urls: EndedUrls | None = None
    no_robots: tuple[str, ...] = ()
    linked_pages: int = 0
    unseen_in_boxes: float = 0.0
    swapping: EndedUrls | None = None
    scripted: EndedUrls | None = None
    render_remedy: str = ""
    trust_blocked: bool = False
    unread: Sequence[int] = ()
    failed: int = 0

    @property
    def unrendered(self) -> str:
        """Why no page differs when it is rendered, if none does."""
        return (
            "no page needs to be rendered" if self.scripted is None else f"JavaScript was not run. {self.render_remedy}"
        )


class _Limit(NamedTuple):
    """A way in which the crawl may have missed links, as a sentence with the remedy.

    ``is_mild``: it costs a finding no more than its certainty. ``is_trusted``: audit.trust_blocked vouches for it.
    """

    sentence: str
    is_mild: bool = False
    is_trusted: bool = False


def best_certainty(coverage: CrawlCoverage) -> Certainty:
    """The certainty of findings about links that no failed page is likely to disprove."""
    limits = _untrusted(coverage)
    if not limits:
        return Certainty.CERTAIN
    read = sum(ended.count for key, ended in coverage.end_states.items() if not (has_failed(*key) or is_closed(*key)))
    is_much = len(coverage.unread) > MAX_UNSEEN * read
    is_mild = not is_much and all(limit.is_mild for limit in limits)
    return Certainty.LIKELY if is_mild else Certainty.INCONCLUSIVE


def assumptions(coverage: CrawlCoverage) -> list[str]:
    """A sentence for each way in which the crawl may have missed links, and that the user vouches for."""
    trusted = [limit.sentence for limit in _limits(coverage) if limit.is_trusted and coverage.trust_blocked]
    # the last sentence is the remedy
    return [
        f"{shorten(text.rpartition('. ')[0])}; audit.trust_blocked is set, so they count as pages without other links"
        for text in trusted
    ]


def is_closed(state: State, status: int | None) -> bool:
    """Whether robots.txt or a login keeps the crawl from reading a URL."""
    return state is State.ROBOTS or (state is State.CLIENT_ERROR and status in REFUSED_STATUSES)


def is_mostly_right(mistaken: float, findings: int) -> bool:
    """Whether few enough of so many findings are expected to be ``mistaken``."""
    return mistaken <= MAX_MISTAKEN * max(1, findings)


def limits_of_crawl(coverage: CrawlCoverage) -> list[str]:
    """A sentence with the remedy for each way in which the crawl may have missed links; none: it saw all links."""
    return [shorten(limit.sentence) for limit in _untrusted(coverage)]


def _untrusted(coverage: CrawlCoverage) -> list[_Limit]:
    return [limit for limit in _limits(coverage) if not (limit.is_trusted and coverage.trust_blocked)]


def _limits(coverage: CrawlCoverage) -> Iterator[_Limit]:
    """All limits, in the order of the reports."""

    def ended_as(state: State) -> EndedUrls | None:
        """The URLs that ended so without a request: a page that is too long for a sitemap, for example, was read."""
        return coverage.end_states.get((state, None))

    pending = ended_as(State.PENDING)
    if coverage.stopped:
        left = f", with {count_text(pending.count, 'URL')} left to visit" if pending else ""
        yield _Limit(f"the crawl is not complete: {coverage.stopped}{left}. Run the same command again to continue")
    else:
        yield from _of_urls(pending, "{urls} {were} not visited, {example}. Run the same command again to continue")
    deep = "{urls} {were} further from the start than scope.max_depth allows. Audit without scope.max_depth"
    yield from _of_urls(ended_as(State.TOO_DEEP), deep)
    trust = f", or use --set audit.trust_failed={coverage.failed} to assume that they contain no other links"
    trust = trust if coverage.failed else ""
    for state, ended in _summed(coverage, has_failed).items():
        failed = f"{{urls}} failed ({state.value}), {{example}}. Audit again when these pages respond{trust}"
        yield from _of_urls(ended, failed, is_mild=True)
    if coverage.no_robots:
        origins = ", ".join(coverage.no_robots[:3])
        yield _Limit(f"robots.txt could not be fetched from {origins}, so no page there was read. Audit again later")
    for state, text in _CLOSED.items():
        yield from _of_urls(_summed(coverage, is_closed).get(state), text, is_mild=True, is_trusted=True)
    yield from _of_urls(ended_as(State.TRAP), _TRAP, is_trusted=True)
    yield from _of_urls(coverage.out_of_scope, _OUT_OF_SCOPE, is_trusted=True)
    if not coverage.stopped:  # the audit requests them last
        yield from _of_urls(ended_as(State.NOFOLLOW), _NOFOLLOW, is_trusted=True)
    yield from _of_urls(ended_as(State.EXCLUDED), _EXCLUDED)
    yield from _of_urls(None if coverage.stopped else coverage.alias_urls, _ALIAS)
    yield from _of_urls(ended_as(State.TOO_LONG), "{urls} {were} too long to be fetched, {example}")
    yield from _of_urls(coverage.cut, _CUT)
    yield from _changing_links(coverage)


_CLOSED: Final = {
    State.ROBOTS: "{urls} {are} blocked by robots.txt and {were} not read, {example}. If the site is yours, use "
    f"--set obey.robots=false to read them, {_TRUST}",
    State.CLIENT_ERROR: "{urls} refused the crawl (401, 403), {example}. "
    f"Log in with --basic-auth, --header or --cookie, {_TRUST}",
}
_TRAP: Final = (
    "{urls} {look} of a crawler trap and {were} not read, {example}. To read more of them, raise scope.max_segments, "
    f"scope.max_repeats or scope.trap_limit, {_TRUST}"
)
_OUT_OF_SCOPE: Final = (
    "{urls} outside the directory of the start URL {were} not read, {example}. "
    f"Start from a page in a higher directory, {_TRUST}"
)
_NOFOLLOW: Final = (
    f"{{urls}} {{are}} linked only by nofollow links and {{were}} not read, {{example}}. Raise --max-unlinked, {_TRUST}"
)
_EXCLUDED: Final = "{urls} {were} left out by --include or --exclude, {example}. Audit without these patterns"
_ALIAS: Final = "{urls} with another name of the site {were} not read, {example}. Raise --max-unlinked"
_CUT: Final = "{urls} {were} read in part only, {example}. Raise fetch.max_body, fetch.max_download or parse.max_links"
_SWAPPED: Final = (
    "{pages} had other links in an earlier audit, {example}. Somebody may have edited the links, or a box may show "
    "other links each day. Audit again on other days"
)


def _changing_links(coverage: CrawlCoverage) -> Iterator[_Limit]:
    """The limits of pages whose links change: by request, by day, or by a script."""
    if unseen := coverage.unseen_in_boxes:
        count = round(unseen)
        pages = f"probably lead to about {count_text(count, 'page')}" if count else "may lead to a page"
        yield _Limit(
            f"some pages show other links at each request, and {pages} that no read showed. Audit again: audits add up "
            "what they read",
            is_mild=unseen < 1 / 2,
        )
    yield from _of_urls(coverage.swapping, _SWAPPED, is_mild=True)
    linked = coverage.linked_pages
    few = f", and links without it lead to only {count_text(linked, 'page')}" if linked else ""
    more = " or more" if coverage.scripted and coverage.scripted.count == MAX_SCRIPTED else ""
    lack = f"but it was not run{few}. {coverage.render_remedy}"
    text = f"JavaScript may add links to {{pages}}{more}, {{example}}, {lack}"
    yield from _of_urls(coverage.scripted, text, is_mild=not linked)


def _of_urls(
    ended: EndedUrls | None, text: str, *, is_mild: bool = False, is_trusted: bool = False
) -> Iterator[_Limit]:
    """The limit by some URLs, which ``text`` has places for; nothing without any."""
    if ended and ended.count:
        is_one = ended.count == 1
        sentence = text.format(
            urls=count_text(ended.count, "URL"),
            pages=count_text(ended.count, "page"),
            example=f"such as {ended.example}{f' ({ended.reason})' if ended.reason else ''}",
            were="was" if is_one else "were",
            are="is" if is_one else "are",
            look="looks like a part" if is_one else "look like parts",
        )
        yield _Limit(sentence, is_mild, is_trusted)


def _summed(coverage: CrawlCoverage, is_one: Callable[[State, int | None], bool]) -> dict[State, EndedUrls]:
    """The URLs of some end states, whatever their status, by state."""
    found: dict[State, EndedUrls] = {}
    for (state, status), ended in coverage.end_states.items():
        if is_one(state, status):
            found[state] = add_ended(found.get(state), ended)
    return found


def add_ended(total: EndedUrls | None, more: EndedUrls) -> EndedUrls:
    """Both together, with the first example."""
    return EndedUrls(total.count + more.count, total.example, total.reason) if total and total.count else more
