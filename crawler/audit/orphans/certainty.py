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

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

from crawler.audit.finding import Certainty
from crawler.audit.graph.links import has_failed
from crawler.model import State
from crawler.units import count_text
from sitemap import shorten

REFUSED_STATUSES: Final = frozenset({401, 403, 407, 451})  # the page exists, but not for us
MAX_MISTAKEN: Final = 0.02  # share of the findings; 3 of 100 likely findings may be wrong
MAX_UNSEEN: Final = 0.03  # share of the pages

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
    ``no_robots`` lists origins whose robots.txt could not be fetched. ``scripted``
    are the pages that a script which was not run may add links to, ``render_remedy`` says how it can be run.
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

    @property
    def unrendered(self) -> str:
        """Why no page differs when it is rendered, if none does."""
        return (
            "no page needs to be rendered" if self.scripted is None else f"JavaScript was not run. {self.render_remedy}"
        )


def best_certainty(coverage: CrawlCoverage) -> Certainty:
    """The certainty of findings about links that no failed page is likely to disprove."""
    limits = limits_of_crawl(coverage)
    if not limits:
        return Certainty.CERTAIN
    read = sum(ended.count for key, ended in coverage.end_states.items() if not (has_failed(*key) or is_closed(*key)))
    is_much = len(coverage.unread) > MAX_UNSEEN * read
    scripts = () if coverage.linked_pages else _scripted_links(coverage)
    boxes = _changing_boxes(coverage) if coverage.unseen_in_boxes < 1 / 2 else ()
    mild = {*_failures(coverage), *_closed(coverage), *boxes, *_swapped_links(coverage), *scripts}
    return Certainty.INCONCLUSIVE if is_much or not mild.issuperset(limits) else Certainty.LIKELY


def assumptions(coverage: CrawlCoverage) -> list[str]:
    """A sentence for each way in which the crawl may have missed links, and that the user vouches for."""
    blocked = _blocked(coverage) if coverage.trust_blocked else ()
    # the last sentence is the remedy
    return [
        f"{shorten(text.rpartition('. ')[0])}; --set audit.trust_blocked=true assumes that they contain no other links"
        for text in blocked
    ]


def is_closed(state: State, status: int | None) -> bool:
    """Whether robots.txt or a login keeps the crawl from reading a URL."""
    return state is State.ROBOTS or (state is State.CLIENT_ERROR and status in REFUSED_STATUSES)


def is_mostly_right(mistaken: float, findings: int) -> bool:
    """Whether few enough of so many findings are expected to be ``mistaken``."""
    return mistaken <= MAX_MISTAKEN * max(1, findings)


def limits_of_crawl(coverage: CrawlCoverage) -> list[str]:
    """A sentence with the remedy for each way in which the crawl may have missed links; none: it saw all links."""
    limits = [
        *_limits(coverage),
        *_failures(coverage),
        *_unread_robots(coverage),
        *(() if coverage.trust_blocked else _blocked(coverage)),
        *_operator_limits(coverage),
        *_cut(coverage),
        *_changing_boxes(coverage),
        *_swapped_links(coverage),
        *_scripted_links(coverage),
    ]
    return [shorten(limit) for limit in limits]


def _limits(coverage: CrawlCoverage) -> Iterator[str]:
    pending = _ended_as(coverage, State.PENDING)
    if coverage.stopped:
        left = f", with {_count_urls(pending)} left to visit" if pending else ""
        yield f"the crawl is not complete: {coverage.stopped}{left}. Run the same command again to continue"
    elif pending:
        yield (
            f"{_count_urls(pending)} {_were(pending)} not visited, such as {pending.example}. "
            "Run the same command again to continue"
        )
    if deep := _ended_as(coverage, State.TOO_DEEP):
        yield (
            f"{_count_urls(deep)} {_were(deep)} further from the start than scope.max_depth allows. Audit without "
            f"scope.max_depth"
        )


def _failures(coverage: CrawlCoverage) -> Iterator[str]:
    failed: dict[State, EndedUrls] = {}
    for (state, status), ended in coverage.end_states.items():
        if has_failed(state, status):
            failed[state] = add_ended(failed.get(state), ended)
    for state, ended in failed.items():
        yield (
            f"{_count_urls(ended)} failed ({state.value}), {_example_text(ended)}. Audit again when these pages respond"
        )


def _unread_robots(coverage: CrawlCoverage) -> Iterator[str]:
    if coverage.no_robots:
        origins = ", ".join(coverage.no_robots[:3])
        yield f"robots.txt could not be fetched from {origins}, so no page there was read. Audit again later"


def _closed(coverage: CrawlCoverage) -> Iterator[str]:
    if blocked := _ended_as(coverage, State.ROBOTS):
        yield (
            f"{_count_urls(blocked)} {_are(blocked)} blocked by robots.txt and {_were(blocked)} not read, "
            f"{_example_text(blocked)}. If the site is yours, use --set obey.robots=false to read them, {_TRUST}"
        )
    refused = None
    for (state, status), ended in coverage.end_states.items():
        if state is State.CLIENT_ERROR and status in REFUSED_STATUSES:
            refused = add_ended(refused, ended)
    if refused:
        yield (
            f"{_count_urls(refused)} refused the crawl (401, 403), {_example_text(refused)}. "
            f"Log in with --basic-auth, --header or --cookie, {_TRUST}"
        )


def _blocked(coverage: CrawlCoverage) -> Iterator[str]:
    yield from _closed(coverage)
    if endless := _ended_as(coverage, State.TRAP):
        yield (
            f"{_count_urls(endless)} {_look_like_text(endless)} of a crawler trap and {_were(endless)} not read, "
            f"{_example_text(endless)}. To read more of them, raise scope.max_segments, scope.max_repeats or "
            f"scope.trap_limit, {_TRUST}"
        )
    if coverage.out_of_scope:
        yield (
            f"{_count_urls(coverage.out_of_scope)} outside the directory of the start URL "
            f"{_were(coverage.out_of_scope)} not read, {_example_text(coverage.out_of_scope)}. "
            f"Start from a page in a higher directory, {_TRUST}"
        )
    nofollow = None if coverage.stopped else _ended_as(coverage, State.NOFOLLOW)
    if nofollow:  # the audit requests them last
        yield (
            f"{_count_urls(nofollow)} {_are(nofollow)} linked only by nofollow links and {_were(nofollow)} not "
            f"read, such as {nofollow.example}. Raise --max-unlinked, {_TRUST}"
        )


def _operator_limits(coverage: CrawlCoverage) -> Iterator[str]:
    if excluded := _ended_as(coverage, State.EXCLUDED):
        yield (
            f"{_count_urls(excluded)} {_were(excluded)} left out by --include or --exclude, {_example_text(excluded)}. "
            "Audit without these patterns"
        )
    if coverage.alias_urls and not coverage.stopped:
        yield (
            f"{_count_urls(coverage.alias_urls)} with another name of the site {_were(coverage.alias_urls)} not read, "
            f"such as {coverage.alias_urls.example}. Raise --max-unlinked"
        )
    if long := _ended_as(coverage, State.TOO_LONG):
        yield f"{_count_urls(long)} {_were(long)} too long to be fetched, such as {long.example}"


def _cut(coverage: CrawlCoverage) -> Iterator[str]:
    if coverage.cut:
        yield (
            f"{_count_urls(coverage.cut)} {_were(coverage.cut)} read in part only, {_example_text(coverage.cut)}. "
            "Raise fetch.max_body, fetch.max_download or parse.max_links"
        )


def _changing_boxes(coverage: CrawlCoverage) -> Iterator[str]:
    if coverage.unseen_in_boxes:
        count = round(coverage.unseen_in_boxes)
        pages = f"probably lead to about {count_text(count, 'page')}" if count else "may lead to a page"
        yield (
            f"some pages show other links at each request, and {pages} that no read showed. Audit again: audits add up "
            "what they read"
        )


def _swapped_links(coverage: CrawlCoverage) -> Iterator[str]:
    if coverage.swapping:
        pages = count_text(coverage.swapping.count, "page")
        yield (
            f"{pages} had other links in an earlier audit, {_example_text(coverage.swapping)}. Somebody may have "
            "edited the links, or a box may show other links each day. Audit again on other days"
        )


def _scripted_links(coverage: CrawlCoverage) -> Iterator[str]:
    if (scripted := coverage.scripted) and scripted.count:
        pages = count_text(scripted.count, "page")
        few = f", and links without it lead to only {count_text(coverage.linked_pages, 'page')}"
        yield (
            f"JavaScript may add links to {pages}, {_example_text(scripted)}, but it was not run"
            f"{few if coverage.linked_pages else ''}. {coverage.render_remedy}"
        )


def _ended_as(coverage: CrawlCoverage, state: State) -> EndedUrls | None:
    """The URLs that ended so without a request: a page that is too long for a sitemap, for example, was read."""
    return coverage.end_states.get((state, None))


def add_ended(total: EndedUrls | None, more: EndedUrls) -> EndedUrls:
    """Both together, with the first example."""
    return EndedUrls(total.count + more.count, total.example, total.reason) if total and total.count else more


def _example_text(ended: EndedUrls) -> str:
    return f"such as {ended.example}{f' ({ended.reason})' if ended.reason else ''}"


def _count_urls(ended: EndedUrls) -> str:
    return count_text(ended.count, "URL")


def _were(ended: EndedUrls) -> str:
    return "was" if ended.count == 1 else "were"


def _look_like_text(ended: EndedUrls) -> str:
    return "looks like a part" if ended.count == 1 else "look like parts"


def _are(ended: EndedUrls) -> str:
    return "is" if ended.count == 1 else "are"
