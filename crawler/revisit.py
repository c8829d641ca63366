"""The second visit: what makes a request conditional, what a 304 stands for, what of an answer is remembered.

https://www.rfc-editor.org/rfc/rfc9110#section-13 , https://www.rfc-editor.org/rfc/rfc9111#section-4.3
"""

from msgspec.structs import replace

from crawler.lastmod.policy import believable, schema_form, w3c
from crawler.model import Failure, Kind, Page, Remembered, Reply, Request, Sighting
from crawler.robots.meta import HEADER, NOTHING, read_header


def reading_of(key: str, kind: Kind) -> str:
    """What a document was read as: ``key`` names the settings, and a sitemap is read otherwise than a page."""
    return key if kind is Kind.PAGE else f"{key} {kind.name.lower()}"


def conditions(before: Remembered | None) -> list[tuple[str, str]]:
    """What makes a request conditional: a server then answers 304 without a body (RFC 9110 13.1.2 and 13.1.3).

    A page that a header kept out is read whole: a 304 need not say that the header is gone (RFC 9110 15.4.5).
    """
    if before is None or before.is_due or not before.validates:
        return []
    if before.page and before.page.noindex.startswith(HEADER):
        return []
    seen = before.sighting
    named = (("If-None-Match", seen.etag), ("If-Modified-Since", seen.last_modified))
    return [(name, value) for name, value in named if value]


def request_of(answer: Reply | Failure, conditional: bool, now: float) -> Request:
    """How a request is remembered that was answered at ``now`` (Unix time)."""
    if isinstance(answer, Failure):
        return Request(now, answer.code, conditional, 0, answer.elapsed)
    return Request(answer.fetched_at, str(answer.status), conditional, answer.wire_bytes, answer.elapsed)


def as_before(answer: Reply, before: Remembered) -> Reply:
    """The answer that a 304 stands for: what was stored, brought up to date by its header fields (RFC 9111 4.3.4)."""
    seen = before.sighting
    stored = (
        ("content-type", seen.content_type),
        ("etag", seen.etag),
        ("last-modified", seen.last_modified),
    )
    fresh = {name for name, _ in answer.headers}
    kept = [(name, value) for name, value in stored if value and name not in fresh]
    return replace(answer, status=200, headers=(*answer.headers, *kept))


def as_told(answer: Reply, page: Page, token: str) -> Page:
    """A page that was stored, with what the X-Robots-Tag of a 304 says of it now. ``token`` is our product token."""
    asked = NOTHING
    for value in answer.header_all("x-robots-tag"):
        asked = asked.merge(read_header(value, token, answer.fetched_at))
    return replace(
        page,
        noindex=page.noindex or asked.noindex_at(answer.fetched_at),
        nofollow=page.nofollow or asked.nofollow,
    )


def sighting(answer: Reply, page: Page | None) -> Sighting:
    """What a good answer says about itself. One that was read in part only has nothing to be asked by the next time:
    "not modified" would not say that it is more than what was read."""
    last_modified = answer.header("last-modified") or ""
    moment = believable(last_modified, answer.header("date") or "", answer.fetched_at, answer.elapsed)
    return Sighting(
        answer.fetched_at,
        answer.header("content-type") or "",
        "" if answer.cut else answer.header("etag") or "",
        "" if answer.cut else last_modified,
        "" if moment is None else w3c(moment),
        schema_form(page.modified, answer.fetched_at + answer.elapsed) if page else "",
        page.modified_source if page else "",
    )


def kept(answer: Reply, page: Page | None) -> Page | None:
    """What is worth remembering of an answer: what was read, or that it is no page, if a server can say "the same"."""
    if answer.status != 200 or page is not None:
        return page
    return Page(is_html=False) if answer.header("etag") or answer.header("last-modified") else None
