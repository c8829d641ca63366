"""The rules ``media.*``: whether the images and videos that a sitemap lists can be fetched. Pure.

https://developers.google.com/search/docs/crawling-indexing/sitemaps/image-sitemaps and
https://developers.google.com/search/docs/crawling-indexing/sitemaps/video-sitemaps
"""

from enum import StrEnum
from typing import Final

from msgspec import Struct

from crawler.audit.finding import AuditFinding, Referrer
from crawler.audit.health.visit import TRANSIENT_STATUSES
from crawler.audit.source_record import SourceKind
from crawler.fetch.header_values import parse_media_type
from crawler.fetch.redirect import REDIRECTS
from crawler.model import Failure, Reply

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
        return None if answer.code.startswith(_OWN_FAILURES) else _finding(medium, answer.message, None)
    status = answer.status
    if status in TRANSIENT_STATUSES:
        return None
    if status in REDIRECTS:
        return _finding(medium, f"its redirects (status {status}) form a loop", status)
    if status >= 400:
        return _finding(medium, f"it answered {status}", status)
    label = parse_media_type(answer.header("content-type") or "")
    if medium.role is not MediaRole.PLAYER and label in _PAGES:
        return _finding(medium, f"it returned a web page ({label})", status)
    return None


def _finding(medium: ListedMedia, reason: str, status: int | None) -> AuditFinding:
    where = f"{medium.file} line {medium.line}" if medium.line else medium.file
    return AuditFinding(
        rule="media.image" if medium.role is MediaRole.IMAGE else "media.video",
        url=medium.url,
        sentence=f"the {medium.role} cannot be fetched: {reason}",
        status=status,
        known=[SourceKind.SITEMAP],
        referrers=[Referrer(medium.page, medium.role)],
        evidence=[f"{where} lists it as {medium.role} of {medium.page}"],
        file=medium.file,
        line=medium.line,
    )
