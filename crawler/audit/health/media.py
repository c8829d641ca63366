"""Whether an image or a video that a sitemap lists can be had, by what the request for it brought. Pure.

https://developers.google.com/search/docs/crawling-indexing/sitemaps/image-sitemaps and
https://developers.google.com/search/docs/crawling-indexing/sitemaps/video-sitemaps
"""

from enum import StrEnum
from typing import Final

from msgspec import Struct

from crawler.audit.claim import SourceKind
from crawler.audit.finding import AuditFinding, Referrer
from crawler.audit.health.visit import TRANSIENT_STATUSES
from crawler.fetch.media_type import parse_media_type
from crawler.fetch.redirect import REDIRECTS
from crawler.model import Failure, Reply

_PAGES: Final = frozenset({"text/html", "application/xhtml+xml"})
# Ways of getting no answer that are not the server's doing, or say only that we read no further.
_OWN_FAILURES: Final = ("policy.", "internal.", "body.", "net.proxy")


class MediaRole(StrEnum):
    """What a URL is to be."""

    IMAGE = "image"
    THUMBNAIL = "thumbnail"
    VIDEO = "video"
    PLAYER = "player"


class ListedMedia(Struct, frozen=True, kw_only=True):
    """A URL that an entry lists beside its page. ``url`` is in canonical form, ``page`` the URL of the entry."""

    url: str
    role: MediaRole
    page: str
    file: str
    line: int = 0


def check_media_url(medium: ListedMedia, answer: Reply | Failure) -> AuditFinding | None:
    """What is wrong with a medium, by the last answer to it; None when nothing is, or when that is not known.

    An answer that asks to come again (429, 503) says nothing, nor does a host at a private address.
    """
    if isinstance(answer, Failure):
        return None if answer.code.startswith(_OWN_FAILURES) else _finding(medium, answer.message, None)
    status = answer.status
    if status in TRANSIENT_STATUSES:
        return None
    if status in REDIRECTS:
        return _finding(medium, f"it redirects (answered {status}) and never to an answer", status)
    if status >= 400:
        return _finding(medium, f"it answered {status}", status)
    label = parse_media_type(answer.header("content-type") or "")
    if medium.role is not MediaRole.PLAYER and label in _PAGES:
        return _finding(medium, f"it answered with a page ({label})", status)
    return None


def _finding(medium: ListedMedia, said: str, status: int | None) -> AuditFinding:
    where = f"{medium.file} line {medium.line}" if medium.line else medium.file
    return AuditFinding(
        rule="media.image" if medium.role is MediaRole.IMAGE else "media.video",
        url=medium.url,
        sentence=f"the {medium.role} cannot be had: {said}",
        status=status,
        known=[SourceKind.SITEMAP],
        referrers=[Referrer(medium.page, medium.role)],
        evidence=[f"{where} lists it as {medium.role} of {medium.page}"],
        file=medium.file,
        line=medium.line,
    )
