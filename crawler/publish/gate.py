"""The gate: decides whether a run's set may replace the published one, which pages it holds back, and why. Pure.

A landslide is doubtful, whatever its reason: an accident looks like a decision (a template with noindex, a redirect
rule that catches every page). So pages of which too many would leave at once, or lose their own text at once, are held:
their entries stay as published, and the rest is published. Pages behind a firewall failed and stay anyway: several are
told like a hold. When the crawl itself cannot be believed, because the start URL is hit or links vanished, nothing is
published.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from crawler.errors import NEXT_RUN, NothingCrawlable, PublishRefused
from crawler.fetch.challenge import remedy
from crawler.fetch.retry import is_failure
from crawler.model import Outcome, State, Url, Verdict
from crawler.units import count_text
from crawler.url.normalize import origin_of
from crawler.url.scope import WHERE_SITEMAP_IS

MIN_FAILED: Final = 5
"""Fewer failed pages than this say nothing about the whole site, however small it is."""
MIN_LOST: Final = 3
"""Fewer pages than this may leave, or lose their text, at once, however small the site is."""
MIN_RUNS: Final = 3
"""Fewer runs in a row than this could see two accidents, and not one cause that stays."""
_MAX_CAUSES: Final = 4  # causes that are named with a URL each

STILL_HELD: Final = "that the last run held"
"""What a sentence says of pages that are held again."""
_GONE_STATUSES: Final = frozenset({404, 410})
TEMPORARY: Final = frozenset({302, 303, 307})  # RFC 9110 15.4.3, 15.4.4, 15.4.8: the URL stays in use
EXPLICIT: Final = frozenset(
    {
        (State.CLIENT_ERROR, 404),
        (State.CLIENT_ERROR, 410),
        (State.REDIRECT, 301),
        (State.REDIRECT, 308),
        (State.NOINDEX, 200),
    }
)
"""State and status that say for good that a page is not to be listed: RFC 9110 15.5.5, 15.5.11, 15.4.2, 15.4.9."""
OPERATOR_STATES: Final = frozenset({State.EXCLUDED, State.OUT_OF_SCOPE})
"""The operator's own configuration leaves these pages out."""
LINK_STATES: Final = frozenset({State.UNLINKED, State.NOFOLLOW, State.TOO_DEEP})
"""What the links of other pages decide."""


def kind_of(state: State, status: int | None) -> str:
    """What is judged together: the state with the status. Only what links decide has no status of its own."""
    return state.value if state in LINK_STATES else f"{state.value} {status or ''}"


class LostPages(Struct, frozen=True, kw_only=True):
    """Published pages that the new set lacks for the same cause: their number, and one of them with its reason.

    ``target`` is the URL, without its query, to which several of them redirect; else "". ``runs`` is the number of runs
    in a row, with this one, in which all of them had this cause. ``are_held``: the last run did not let them go.
    """

    state: State
    status: int | None = None
    target: str = ""
    count: int
    url: Url
    reason: str = ""
    runs: int = 1
    are_held: bool = False

    @property
    def is_explicit(self) -> bool:
        """Whether the site says for good that these pages are not to be listed."""
        return (self.state, self.status) in EXPLICIT

    @property
    def kind(self) -> str:
        """What is judged together."""
        return kind_of(self.state, self.status)


class AlikePages(Struct, frozen=True):
    """Published pages whose own text is gone, or that gained the same text: their number, and one of them.

    ``has_start``: the own text of the start URL is gone. ``held`` of them were held by the last run. ``gained`` is what
    they gained, "" when their own text is gone. ``is_turned``: they say something else, as most pages do. ``runs`` is
    the number of runs in a row, with this one, that held all of them.
    """

    count: int
    url: Url
    has_start: bool = False
    held: int = 0
    gained: str = ""
    is_turned: bool = False
    runs: int = 1


class ChallengedPages(Struct, frozen=True):
    """Pages in whose place a firewall responded: the reason, their number, and one of them."""

    reason: str
    count: int
    url: Url


class StartUrlStatus(Struct, frozen=True):
    """The start URL's verdict in this run (None: not visited), and whether it was and is listed.

    ``is_accepted``: it left for a reason that has stood long enough.
    """

    url: Url
    verdict: Verdict | None = None
    status: int | None = None
    was_published: bool = False
    is_listed: bool = False  # it, or its target, is in the new set
    is_accepted: bool = False


class GateFacts(Struct, frozen=True, kw_only=True):
    """The facts that the gate decides on. ``published`` counts the published pages, ``listed`` those of the new set.

    ``failed`` of ``visited`` pages failed in this run; failed pages that stay listed count as failed, not as ``gone``.
    ``failure`` is the URL of one of them and its reason.
    Pages that moved to a URL of their own, and those whose reason has stood long enough, are not ``gone`` either.
    ``are_bare``: most of those that no page links to show something short or alike in place of their main text.
    """

    start: StartUrlStatus
    published: int
    listed: int
    failed: int
    failure: tuple[str, str] = ("", "")
    visited: int
    gone: Sequence[LostPages] = ()
    are_bare: bool = False
    alike: AlikePages | None = None
    challenged: Sequence[ChallengedPages] = ()


class GateLimits(Struct, frozen=True):
    """The tolerated shares of pages. ``accept_shrink``: the operator accepts the set as it is.

    ``accept_after`` is the number of days after which an explicit reason is believed; 0: never.
    ``user_agent`` is the name under which a firewall may let the crawler through. ``is_build``: the pages are a build,
    which goes live as a whole or not at all, so no pages of it are held.
    """

    max_failed: float = 0.2
    max_shrink: float = 0.2
    accept_shrink: bool = False
    accept_after: int = 7
    user_agent: str = "Siteatlas"
    is_build: bool = False


class Refusal(Struct, frozen=True):
    """Why nothing is published: a sentence with its remedy, and the exit code. ``kinds`` are those of a landslide."""

    sentence: str
    exit_code: int = PublishRefused.exit_code
    kinds: frozenset[str] = frozenset()


class Hold(Struct, frozen=True):
    """The held pages: those that were held before, lost ones by kind, and if ``alike`` those whose text is gone.

    None at all when only a firewall is to be told of.

    ``sentence`` says why, with a remedy.
    """

    sentence: str
    kinds: frozenset[str] = frozenset()
    alike: bool = False


def judge(facts: GateFacts, limits: GateLimits) -> Refusal | Hold | None:
    """What the gate does with a set: refuse it, hold some pages, or let it pass. The first rule that fits decides."""
    if not facts.listed:
        return Refusal(_with_challenges(_nothing_crawlable(facts.start), facts, limits), NothingCrawlable.exit_code)
    if sentence := _start_failed(facts.start) or _too_many_failed(facts, limits.max_failed):
        return Refusal(_with_challenges(f"{sentence}; when that works, run again", facts, limits))
    # a person accepts what was seen to leave; pages that failed, above, were not seen
    if limits.accept_shrink:
        return None
    landslide = _landslide(facts, limits.max_shrink)
    kinds = frozenset(lost.kind for lost in landslide.lost)
    start = facts.start
    if start.verdict and (sentence := _start_delisted(start)):
        kinds |= {kind_of(start.verdict.state, start.status)}
        return Refusal(f"{sentence}; if this is intended, {_accept()}", kinds=kinds)
    if landslide.breaks_crawl or (limits.is_build and (landslide.lost or landslide.is_over_alike)):
        sentence = "; ".join(_sentences(facts, landslide, limits))
        return Refusal(f"{sentence}; if this is intended, {_accept()}", kinds=kinds)
    if limits.is_build:
        return None
    held = [lost for lost in landslide.rest if lost.are_held]
    if not landslide.lost and not held and not landslide.alike:
        is_walled = sum(pages.count for pages in facts.challenged) >= MIN_LOST
        return Hold(challenge_note(facts.challenged, limits.user_agent)) if is_walled else None
    sentence = "; ".join((*_sentences(facts, landslide, limits), *_still_held(held, landslide)))
    until = _until([*landslide.lost, *held], landslide.alike, limits.accept_after)
    # links of the held pages may be what led to others
    text = f"{sentence}. Their entries stay as they were. If this is intended, {_accept()}.{until}"
    return Hold(text, kinds | LINK_STATES, landslide.is_over_alike)


def accepted_note(facts: GateFacts, limits: GateLimits) -> str:
    """What a person lets pass with ``limits.accept_shrink``, in a sentence; "" if the gate would not object to it."""
    landslide = _landslide(facts, limits.max_shrink)
    held = [lost for lost in landslide.rest if lost.are_held]
    losses = (_start_delisted(facts.start), *_sentences(facts, landslide, limits), *_still_held(held, landslide))
    accepted = "; ".join(filter(None, losses)) if limits.accept_shrink else ""
    return accepted and f"--accept-shrink accepts this: {accepted}. Later runs compare the site with what it shows now"


def _accept() -> str:
    return NEXT_RUN.having("--accept-shrink")


def reject_start(outcome: Outcome, *, is_scope_set: bool) -> NothingCrawlable | None:
    """The error that ends the first crawl of a site at once: its start URL does not exist, or means a directory.

    ``is_scope_set``: the configuration names the URL of the sitemap, and with it the scope. In later runs,
    :func:`judge` decides when they have seen the whole site.
    """
    url, verdict = outcome.lease.url, outcome.verdict
    if outcome.status in _GONE_STATUSES:
        return NothingCrawlable(
            f"the start URL {url} {verdict.reason}: correct it, or {_accept()} to crawl the pages that other "
            "sources name, such as the site's sitemap"
        )
    if not is_scope_set and verdict.state is State.REDIRECT and verdict.target == f"{url}/":
        parent = url[: url.rindex("/") + 1]
        return NothingCrawlable(
            f"the start URL {url} redirects to {verdict.target}. Start at {verdict.target} for a sitemap of that "
            f"directory, or at {parent} for a sitemap of everything below it"
        )
    return None


def challenge_note(challenged: Sequence[ChallengedPages], user_agent: str, said: str = "") -> str:
    """Who responded in place of the site, and how its owner lets the crawler through; "" without challenges.

    A reason that is ``said`` before the note is not repeated.
    """
    if not challenged:
        return ""
    vendors = ", ".join(dict.fromkeys(pages.reason.partition(" responded")[0] for pages in challenged))
    count = sum(pages.count for pages in challenged)
    first = min(challenged, key=lambda pages: (-pages.count, pages.url))
    example = "" if first.reason in said else f" ({'such as ' if count > 1 else ''}{first.url}: {first.reason})"
    who, how = "a firewall", remedy(vendors, user_agent)
    if all("it seems" in pages.reason for pages in challenged):
        who, how = "a firewall, or a broken deploy,", f"open one of them in a browser; if it is a firewall, {how}"
    return f"{who} responded in place of {count_text(count, 'page')}{example}: {how}"


def _with_challenges(sentence: str, facts: GateFacts, limits: GateLimits) -> str:
    note = challenge_note(facts.challenged, limits.user_agent, sentence)
    return f"{sentence}; {note}" if note else sentence


def _is_over(count: int, published: int, limit: float) -> bool:
    return count >= MIN_LOST and count > limit * published


class _Landslide(Struct, frozen=True):
    """The lost pages that are too many, the other lost pages, and the pages without own text if any is in doubt."""

    lost: list[LostPages]
    rest: list[LostPages]
    alike: AlikePages | None = None
    is_over_alike: bool = False

    @property
    def breaks_crawl(self) -> bool:
        """Whether the crawl itself cannot be believed."""
        has_start = self.is_over_alike and self.alike is not None and self.alike.has_start
        return has_start or any(lost.state in LINK_STATES for lost in self.lost)


def _landslide(facts: GateFacts, limit: float) -> _Landslide:
    """What is too much: each kind that alone is over the limit; all kinds, when the others together still are."""
    lost = sorted(
        (lost for lost in facts.gone if lost.state not in OPERATOR_STATES), key=lambda lost: (-lost.count, lost.url)
    )
    alike = facts.alike.count if facts.alike else 0
    counts: Counter[str | None] = Counter({None: alike})
    for group in lost:
        counts[group.kind] += group.count
    over = {kind for kind, count in counts.items() if _is_over(count, facts.published, limit)}
    rest = sum(count for kind, count in counts.items() if kind not in over)
    # one accident may have several causes, each of them under the limit
    if _is_over(rest, facts.published, limit):
        over = {kind for kind, count in counts.items() if count}
    is_doubtful = facts.alike is not None and (None in over or facts.alike.held > 0)
    return _Landslide(
        [group for group in lost if group.kind in over],
        [group for group in lost if group.kind not in over],
        facts.alike if is_doubtful else None,
        None in over,
    )


def _sentences(facts: GateFacts, landslide: _Landslide, limits: GateLimits) -> Iterator[str]:
    published = f"of the {facts.published:,} published pages"
    bare = (
        "no longer show their main text, and what they show is short or alike (such as {}), as with a login, a "
        "maintenance page, a firewall or an empty template"
    )
    unlinked = next((lost.url for lost in landslide.lost if lost.state is State.UNLINKED), None)
    if unlinked and facts.are_bare:  # the likely cause first
        yield f"most {published} {bare.format(unlinked)}"
    if landslide.lost:
        count = sum(lost.count for lost in landslide.lost)
        yield (
            f"{count:,} {published} would leave, over the {limits.max_shrink:.0%} that output.max_shrink allows: "
            f"{', '.join(_causes(landslide.lost))}"
        )
    if landslide.alike and landslide.is_over_alike and landslide.alike.gained:
        yield (
            f"{landslide.alike.count:,} {published} gained the same text (such as {landslide.alike.url}: "
            f"{landslide.alike.gained}), as with an error message or a notice"
        )
    elif landslide.alike and landslide.is_over_alike and landslide.alike.is_turned:
        yield (
            f"{landslide.alike.count:,} {published} say something else than before in most of their texts (such as "
            f"{landslide.alike.url}), as in another language or after a relaunch"
        )
    elif landslide.alike and landslide.is_over_alike:
        yield f"{landslide.alike.count:,} {published} {bare.format(landslide.alike.url)}"


def _still_held(held: Sequence[LostPages], landslide: _Landslide) -> Iterator[str]:
    if held:
        count = sum(lost.count for lost in held)
        yield f"{count_text(count, 'page')} {STILL_HELD} would still leave: {', '.join(_causes(held))}"
    if landslide.alike and not landslide.is_over_alike:
        is_one = landslide.alike.held == 1
        gained = "shows the same new text" if is_one else "show the same new text"
        lost = "does not show its main text" if is_one else "do not show their main text"
        if landslide.alike.is_turned:
            lost = "says something else" if is_one else "say something else"
        pages = count_text(landslide.alike.held, "page")
        yield f"{pages} {STILL_HELD} still {gained if landslide.alike.gained else lost}"


def _until(doubtful: Sequence[LostPages], alike: AlikePages | None, accept_after: int) -> str:
    """When the set is accepted without a person, as a sentence after a space; "" for never."""
    if not accept_after or not all(lost.is_explicit for lost in doubtful):
        return ""
    runs = min([lost.runs for lost in doubtful] + ([alike.runs] if alike else []))
    what = "what these pages show if it" if alike else "a loss that"
    return (
        f" Siteatlas accepts {what} stays the same for {count_text(accept_after, 'day')} and "
        f"{count_text(min(accept_after, MIN_RUNS), 'run')} in a row (output.accept_after). So far: "
        f"{count_text(runs, 'run')}."
    )


def _nothing_crawlable(start: StartUrlStatus) -> str:
    verdict = start.verdict
    if verdict is None or verdict.state is State.INDEXABLE:
        return f"no page that {start.url} leads to is indexable"
    sentence = f"no page that {start.url} leads to is indexable: {verdict.reason} ({verdict.state.value})"
    if verdict.reason.endswith(WHERE_SITEMAP_IS):
        top = f"{origin_of(start.url)}/sitemap.xml"
        return f"{sentence}. A sitemap may list only URLs below its directory. For the whole site: --sitemap-url {top}"
    return f"{sentence}; to crawl there, {NEXT_RUN.starting_at(verdict.target)}" if verdict.target else sentence


def _start_failed(start: StartUrlStatus) -> str:
    verdict = start.verdict
    if verdict and (is_failure(verdict.state, start.status) or verdict.state is State.BAD_ANSWER):
        return f"the start URL {start.url} failed ({verdict.reason})"
    return ""


def _too_many_failed(facts: GateFacts, limit: float) -> str:
    failed, visited = facts.failed, facts.visited
    if failed < MIN_FAILED or failed <= limit * visited:
        return ""
    example = " (such as {}: {})".format(*facts.failure) if facts.failure[0] and not facts.challenged else ""
    return f"{failed:,} of {visited:,} pages failed{example}, over the {limit:.0%} that output.max_failed allows"


def _start_delisted(start: StartUrlStatus) -> str:
    """Only for a start URL that was published: others may never have been a page."""
    verdict = start.verdict
    if not start.was_published or start.is_listed or start.is_accepted or verdict is None:
        return ""
    if verdict.state is State.INDEXABLE or verdict.state in OPERATOR_STATES:
        return ""
    return f"the start URL {start.url} was published, and its state is {verdict.state.value} now ({verdict.reason})"


def _causes(doubtful: Sequence[LostPages]) -> Iterator[str]:
    for lost in doubtful[:_MAX_CAUSES]:
        temporarily = " for now" if lost.status in TEMPORARY else ""
        cause = f"redirect to {lost.target}{temporarily}" if lost.target else lost.state.value
        reason = f": {lost.reason}" if lost.reason and not lost.target else ""
        yield f"{lost.count:,} {cause} ({lost.url}{reason})"
    if rest := sum(lost.count for lost in doubtful[_MAX_CAUSES:]):
        yield f"{rest:,} for other reasons"
