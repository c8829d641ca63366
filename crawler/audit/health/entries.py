"""The rules ``entry.*`` and ``media.*``: whether what a sitemap entry lists, a URL or its media, belongs there. Pure.

A sitemap lists the canonical, fetchable, indexable URLs of a site, each once:
https://developers.google.com/search/docs/crawling-indexing/sitemaps/build-sitemap. For media see
https://developers.google.com/search/docs/crawling-indexing/sitemaps/image-sitemaps and
https://developers.google.com/search/docs/crawling-indexing/sitemaps/video-sitemaps
"""

from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from typing import Final

from msgspec import Struct

from crawler.audit.finding import AuditFinding, Referrer
from crawler.audit.health.visit import (
    TRANSIENT_STATUSES,
    VisitedUrl,
    line_text,
    redirect_text,
    why_blocked,
    why_failing,
    why_gone,
    why_no_document,
    why_no_page,
    why_refused,
)
from crawler.audit.source_record import SourceKind
from crawler.fetch.header_values import parse_media_type
from crawler.fetch.redirect import REDIRECTS
from crawler.model import Failure, Reply, State, Url
from crawler.parse.robots_meta import is_engine_noindex
from crawler.url.normalize import origin_of
from sitemap import form

MAX_LISTED: Final = 20  # entries of one page in a finding


class PublishedEntry(Struct, frozen=True, kw_only=True):
    """An entry as its sitemap states it. ``url`` is the canonical form of ``loc``, "" when ``loc`` is no URL."""

    loc: str
    url: str
    file: str
    line: int = 0
    lastmod: str = ""


def check_entry(
    entry: PublishedEntry, visited: VisitedUrl, listed: Callable[[str], str] = lambda _: ""
) -> AuditFinding | None:
    """The finding about the URL of an entry; None when nothing is wrong, or the crawl did not request the URL.

    ``listed`` returns where a URL in canonical form has its own entry, such as "sitemap.xml line 3", or "".
    """
    for rule, sentence in _faults(visited):
        return _finding(rule, entry, visited, sentence, listed)
    return None


def check_duplicate_spellings(page: VisitedUrl, entries: Sequence[PublishedEntry]) -> AuditFinding | None:
    """The finding that several entries are one page under URLs that lint holds for different ones; or None.

    ``entries`` answer with ``page`` itself. :func:`check_entry` reports those that redirect to it or name it as
    canonical.
    """
    by_form: dict[str, PublishedEntry] = {}
    for entry in entries:
        by_form.setdefault(_comparable(entry.loc), entry)
    spellings = list(by_form.values())
    if len(spellings) < 2:
        return None
    listed = [entry.loc for entry in spellings]
    examples = spellings[:MAX_LISTED]
    return AuditFinding(
        rule="entry.duplicate",
        url=page.url,
        sentence=f"{len(listed):,} entries lead to the same page: {_some_urls(listed)}",
        title=page.title,
        state=page.state,
        status=page.status,
        known=[SourceKind.SITEMAP],
        spellings=[entry.loc for entry in examples if entry.loc != page.url],
        evidence=[f"{entry.loc} is in {_place(entry)}" for entry in examples],
        file=spellings[0].file,
        line=spellings[0].line,
    )


def check_outside_site(entry: PublishedEntry, home: str, *, answers: bool, times: int = 1) -> AuditFinding:
    """The finding that ``times`` entries of a file have another scheme or host than the site's origin, ``home``.

    ``answers``: the URL itself answers with a page; else the crawl did not request it.
    """
    origin = origin_of(Url(entry.url))
    listed = f"listed under {origin}, but the site is {home}"
    if answers:
        sentence = f"it is {listed}: both return a page"
        advice = f"redirect {origin} to {home}, and list {home}"
    else:
        entries = "1 entry is" if times == 1 else f"{times:,} entries are"
        sentence, advice = f"{entries} {listed}: not requested", f"list {home} instead"
    return AuditFinding(
        rule="entry.outside",
        url=entry.url,
        sentence=sentence,
        known=[SourceKind.SITEMAP],
        evidence=[f"{_place(entry)} lists {entry.loc}", advice],
        file=entry.file,
        line=entry.line,
        times=times,
    )


def _comparable(loc: str) -> str:
    try:
        return form(loc)
    except ValueError:
        return loc


def _faults(visited: VisitedUrl) -> Iterator[tuple[str, str]]:
    """The rules that a URL breaks, the worst first, each with a sentence."""
    if reason := why_gone(visited):
        yield "entry.gone", f"the URL {reason}"
    if reason := why_refused(visited):
        yield "entry.refused", f"the URL refuses the crawl: {reason}"
    if reason := why_failing(visited):
        yield "entry.failed", f"the URL {reason}" if reason.startswith(("answered", "redirects")) else reason
    if reason := redirect_text(visited):
        yield "entry.redirect", f"the URL {reason}"
    if visited.state == State.NOINDEX:
        rule = "entry.noindex_engine" if is_engine_noindex(visited.reason) else "entry.noindex"
        yield rule, f"the page has noindex: {visited.reason}"
    if reason := why_blocked(visited):
        yield "entry.blocked", f"robots.txt does not allow crawlers to fetch it: {reason}"
    if reason := why_no_document(visited):
        yield "entry.type", f"the URL is a file, not a page: {reason}"
    if visited.state == State.CANONICAL_ELSEWHERE and visited.target:
        fault = why_no_page(visited.end) if visited.end else ""
        sentence = f"the page names {visited.target} as its canonical"
        yield "entry.canonical", f"{sentence}, which {fault}" if fault else sentence


def _finding(
    rule: str, entry: PublishedEntry, visited: VisitedUrl, sentence: str, listed: Callable[[str], str]
) -> AuditFinding:
    evidence = [f"{_place(entry)} lists {entry.loc}"]
    if visited.end is not None and visited.end.is_page and not visited.is_endless:
        place = listed(visited.end.url)
        is_there = f"{visited.end.url} is listed too ({place}): remove this entry"
        evidence.append(is_there if place else f"list {visited.end.url} instead")
    elif visited.end is not None and not visited.is_endless and why_no_page(visited.end):
        remedy = "fix the canonical, or " if visited.state == State.CANONICAL_ELSEWHERE else ""
        evidence.append(f"it does not lead to a page: {remedy}remove it from the sitemap")
    return AuditFinding(
        rule=rule,
        url=entry.url,
        sentence=sentence,
        title=visited.title,
        state=visited.state,
        status=visited.status,
        lastmod=entry.lastmod,
        known=[SourceKind.SITEMAP],
        spellings=[entry.loc] if entry.loc != entry.url else [],
        evidence=evidence,
        file=entry.file,
        line=entry.line,
    )


def _place(entry: PublishedEntry) -> str:
    return line_text(entry.file, entry.line)


def _some_urls(locs: Sequence[str]) -> str:
    more = len(locs) - 3
    return ", ".join(locs[:3]) + (f" and {more:,} more" if more > 0 else "")


_PAGES: Final = frozenset({"text/html", "application/xhtml+xml"})
# Failures that the server does not cause, or that only say that we stopped reading.
_OWN_FAILURES: Final = ("policy.", "internal.", "body.", "net.proxy")


class MediaRole(StrEnum):
    """What an entry lists a URL as."""

    IMAGE = "image"
    THUMBNAIL = "thumbnail"
    VIDEO = "video"
    PLAYER = "player"


class ListedMedia(Struct, frozen=True, kw_only=True):
    """An image or video URL of an entry. ``url`` is in canonical form, ``page`` is the URL of the entry."""

    url: str
    role: MediaRole
    page: str
    file: str
    line: int = 0


def check_media_url(medium: ListedMedia, answer: Reply | Failure) -> AuditFinding | None:
    """The finding about a medium, by its last answer; None when nothing is wrong or that is unknown.

    A transient answer (429, 503) proves nothing, nor does a host at a private address.
    """
    if isinstance(answer, Failure):
        return None if answer.code.startswith(_OWN_FAILURES) else _media_finding(medium, answer.message, None)
    status = answer.status
    if status in TRANSIENT_STATUSES:
        return None
    if status in REDIRECTS:
        return _media_finding(medium, f"its redirects (status {status}) form a loop", status)
    if status >= 400:
        return _media_finding(medium, f"it answered {status}", status)
    label = parse_media_type(answer.header("content-type") or "")
    if medium.role is not MediaRole.PLAYER and label in _PAGES:
        return _media_finding(medium, f"it returned a web page ({label})", status)
    return None


def _media_finding(medium: ListedMedia, reason: str, status: int | None) -> AuditFinding:
    return AuditFinding(
        rule="media.image" if medium.role is MediaRole.IMAGE else "media.video",
        url=medium.url,
        sentence=f"the {medium.role} cannot be fetched: {reason}",
        status=status,
        known=[SourceKind.SITEMAP],
        referrers=[Referrer(medium.page, medium.role)],
        evidence=[f"{line_text(medium.file, medium.line)} lists it as {medium.role} of {medium.page}"],
        file=medium.file,
        line=medium.line,
    )
