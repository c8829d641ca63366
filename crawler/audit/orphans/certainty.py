"""Whether a page can be called an orphan at all: what of the site a crawl did not see, and what to do about it.

What was not read may link to anything. So one page that failed, or one section that robots.txt keeps us from, makes
every verdict of the kind "nothing leads here" inconclusive. Only what the start leads to counts: a page that nothing
leads to cannot lead another page into the site.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from crawler.fetch.retry import is_failure
from crawler.model import State
from crawler.units import count_text

REFUSED_STATUSES: Final = frozenset({401, 403, 407, 451})  # the page is there, and not for us
_EMPTY_STATUSES: Final = frozenset(
    {204, 205, *range(300, 400)}
)  # statuses without a page: browsers get no further either


class EndedUrls(Struct, frozen=True):
    """How many URLs ended in one way, of those that the start leads to, and one of them with its reason."""

    count: int
    example: str
    reason: str = ""


class CrawlCoverage(Struct, frozen=True, kw_only=True):
    """What there is to judge by. ``ends`` has the URLs that the start leads to, by state and status.

    ``stopped`` says why the visiting ended too early, as the end of a sentence, or is "". ``cut`` are pages of which
    only a part was read, ``beside`` URLs of the site's own origin outside of its directory, ``doors`` those under
    another name of the site. ``few`` counts the pages that links lead to, if these are so few that perhaps scripts make
    the links to the others, or is 0.
    """

    end_states: Mapping[tuple[State, int | None], EndedUrls]
    stopped: str = ""
    cut: EndedUrls | None = None
    out_of_scope: EndedUrls | None = None
    alias_urls: EndedUrls | None = None
    no_robots: tuple[str, ...] = ()
    linked_pages: int = 0
    trust_blocked: bool = False


def limits_of_crawl(seen: CrawlCoverage) -> list[str]:
    """A sentence for each way in which links may have been missed, with the remedy; none: all were seen."""
    found = [*_limits(seen), *_failures(seen), *_blocked(seen), *_operator_limits(seen), *_cut(seen)]
    # what was not read explains why few pages are linked, also if it is trusted to lead to nothing else
    kept_out = replace(seen, trust_blocked=False)
    return found or list(
        () if any((*_blocked(kept_out), *_operator_limits(kept_out))) else _scripted_links(seen)
    )


def _limits(seen: CrawlCoverage) -> Iterator[str]:
    pending = _ended_as(seen, State.PENDING)
    if seen.stopped:
        left = f", with {_count_urls(pending)} left to visit" if pending else ""
        yield f"the crawl is not complete: {seen.stopped}{left}; run the same command again to go on"
    elif pending:
        yield (
            f"{_count_urls(pending)} {_were(pending)} not visited, such as {pending.example}; "
            "run the same command again to go on"
        )
    if deep := _ended_as(seen, State.TOO_DEEP):
        yield f"{_count_urls(deep)} {_were(deep)} further from the start than --max-depth; leave that out"


def _failures(seen: CrawlCoverage) -> Iterator[str]:
    failed: dict[State, EndedUrls] = {}
    for (state, status), each in seen.end_states.items():
        if is_failure(state, status) or (state is State.BAD_ANSWER and status not in _EMPTY_STATUSES):
            failed[state] = _add(failed.get(state), each)
    for state, each in failed.items():
        yield f"{_count_urls(each)} failed ({state.value}), {_example_text(each)}; run it again when that is mended"
    if seen.no_robots:
        shown = ", ".join(seen.no_robots[:3])
        yield f"robots.txt could not be had from {shown}, and so nothing there was read; run it again later"


def _blocked(seen: CrawlCoverage) -> Iterator[str]:
    if seen.trust_blocked:
        return
    if blocked := _ended_as(seen, State.ROBOTS):
        yield (
            f"{_count_urls(blocked)} {_are(blocked)} blocked by robots.txt and {_were(blocked)} not read, "
            f"{_example_text(blocked)}; --ignore-robots reads them if the site is yours, --trust-blocked "
            "takes it that they "
            "lead to nothing else"
        )
    refused = None
    for (state, status), each in seen.end_states.items():
        if state is State.CLIENT_ERROR and status in REFUSED_STATUSES:
            refused = _add(refused, each)
    if refused:
        yield (
            f"{_count_urls(refused)} refused us (401, 403), {_example_text(refused)}; --basic-auth, "
            "--header or --cookie let "
            "us in, --trust-blocked takes it that they lead to nothing else"
        )
    if endless := _ended_as(seen, State.TRAP):
        yield (
            f"{_count_urls(endless)} {_look_like_text(endless)} endlessly many and {_were(endless)} not "
            f"read, {_example_text(endless)}; "
            "--max-segments, --max-repeats and --trap-limit allow more, --trust-blocked takes it that they lead to "
            "nothing else"
        )
    if seen.out_of_scope:
        yield (
            f"{_count_urls(seen.out_of_scope)} outside of the directory of the start "
            f"{_were(seen.out_of_scope)} not read, "
            f"{_example_text(seen.out_of_scope)}; start from a page further up, or --trust-blocked takes it that "
            "they lead to "
            "nothing else"
        )


def _operator_limits(seen: CrawlCoverage) -> Iterator[str]:
    if excluded := _ended_as(seen, State.EXCLUDED):
        yield (
            f"{_count_urls(excluded)} {_were(excluded)} left out by --include or --exclude, {_example_text(excluded)}; "
            "audit without these patterns"
        )
    nofollow = None if seen.stopped or seen.trust_blocked else _ended_as(seen, State.NOFOLLOW)
    if nofollow:  # they are asked for at the end
        yield (
            f"{_count_urls(nofollow)} {_are(nofollow)} linked by nofollow only and {_were(nofollow)} not read, such "
            f"as {nofollow.example}; raise --max-unlinked, or --trust-blocked takes it that they lead to nothing else"
        )
    if seen.alias_urls and not seen.stopped:
        yield (
            f"{_count_urls(seen.alias_urls)} with another name of the site {_were(seen.alias_urls)} not read, such as "
            f"{seen.alias_urls.example}; raise --max-unlinked"
        )
    if long := _ended_as(seen, State.TOO_LONG):
        yield f"{_count_urls(long)} {_were(long)} too long to be fetched, such as {long.example[:200]}"


def _cut(seen: CrawlCoverage) -> Iterator[str]:
    if seen.cut:
        yield (
            f"{_count_urls(seen.cut)} {_were(seen.cut)} read in part only, {_example_text(seen.cut)}; "
            "raise --max-body, "
            "--max-download or --max-links"
        )


def _scripted_links(seen: CrawlCoverage) -> Iterator[str]:
    if seen.linked_pages:
        found = "one page was" if seen.linked_pages == 1 else f"{seen.linked_pages:,} pages were"
        yield (
            f"only {found} found by links, which are perhaps made by JavaScript: that is not run, so every other "
            "page would seem to be an orphan"
        )


def _ended_as(seen: CrawlCoverage, state: State) -> EndedUrls | None:
    """What ended so unasked: a page may be too long for a sitemap, say, and was read."""
    found = None
    for (each, status), some in seen.end_states.items():
        if each is state and status is None:
            found = _add(found, some)
    return found


def _add(one: EndedUrls | None, other: EndedUrls) -> EndedUrls:
    return EndedUrls(one.count + other.count, one.example, one.reason) if one else other


def _example_text(seen: EndedUrls) -> str:
    return f"such as {seen.example}{f' ({seen.reason})' if seen.reason else ''}"


def _count_urls(seen: EndedUrls) -> str:
    return count_text(seen.count, "URL")


def _were(seen: EndedUrls) -> str:
    return "was" if seen.count == 1 else "were"


def _look_like_text(seen: EndedUrls) -> str:
    return "looks like one of" if seen.count == 1 else "look like some of"


def _are(seen: EndedUrls) -> str:
    return "is" if seen.count == 1 else "are"
