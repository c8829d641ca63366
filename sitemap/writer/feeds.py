"""Encodes feeds: RSS 2.0 and Atom 1.0, with Media RSS for images and videos.

Language variants are left out, although Atom has a link for them: some readers take the first alternate link for the
page, others the last.
https://www.rssboard.org/rss-specification, https://www.rfc-editor.org/rfc/rfc4287
"""

import html
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime

from sitemap import dates, namespaces
from sitemap.errors import SitemapError
from sitemap.escape import FORBIDDEN_CHARACTERS, XML_DECLARATION, escape_uri, escape_xml
from sitemap.model import Entry, Format
from sitemap.validation import url_fault
from sitemap.writer.encoder import Encoder
from sitemap.writer.extensions import (
    attribute_text,
    media_elements,
    namespace_bits,
    namespace_declarations,
    text_element,
    url_element,
)


@dataclass(frozen=True, slots=True)
class Channel:
    """The metadata of a feed, as plain text. ``link`` is the absolute URL of the site, ``url`` that of the feed ("" if
    unknown), ``language`` a language tag such as ``en-GB``. ``hubs`` are notified of changes and forward them to
    subscribers; they require the ``url`` (https://www.w3.org/TR/websub/#discovery).

    SitemapError without a title, for a ``link``, ``url`` or hub that is not an absolute http(s) URL, and for hubs
    without a ``url``.
    https://www.rssboard.org/rss-specification#requiredChannelElements,
    https://www.rfc-editor.org/rfc/rfc4287#section-4.1.1
    """

    title: str
    link: str
    description: str = ""
    language: str = ""
    url: str = ""
    hubs: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not FORBIDDEN_CHARACTERS.sub("", self.title).strip():
            raise SitemapError("a feed needs a title. Set the title of its Channel")
        urls = [("link", self.link), *([("url", self.url)] if self.url or self.hubs else [])]
        faults = [url_fault(name, url) for name, url in (*urls, *(("hub", hub) for hub in self.hubs))]
        if fault := next(filter(None, faults), ""):
            raise SitemapError(f"the Channel of a feed is invalid: its {fault}")


def rfc822(lastmod: str) -> str:
    """The date in the form of RSS, in GMT and to the second, or "" for none. A day begins at midnight GMT.

    https://www.rssboard.org/rss-specification#optionalChannelElements, https://www.rfc-editor.org/rfc/rfc822#section-5
    """
    moment = _utc(lastmod)
    return format_datetime(moment, usegmt=True) if moment else ""


def rfc3339(lastmod: str) -> str:
    """The date in the form of Atom, in UTC and to the second, or "" for none. A day begins at midnight UTC.

    https://www.rfc-editor.org/rfc/rfc4287#section-3.3
    """
    moment = _utc(lastmod)
    return moment.replace(tzinfo=None, microsecond=0).isoformat() + "Z" if moment else ""


def _utc(lastmod: str) -> datetime | None:
    moment = dates.to_instant(lastmod)
    if moment is None:
        return None
    try:
        return moment.astimezone(UTC)
    except OverflowError:  # the first or the last day of the calendar
        return moment.replace(tzinfo=UTC)


class RssEncoder(Encoder):
    """Encodes RSS 2.0. ``look`` has the stylesheet instructions."""

    format = Format.RSS
    _foot = b"</channel></rss>\n"

    def __init__(self, channel: Channel, look: str = "") -> None:
        about = attribute_text("href", escape_uri(channel.url))
        self._root = f'{XML_DECLARATION}{look}<rss version="2.0"' + (
            f' xmlns:atom="{namespaces.ATOM}"' if about else ""
        )
        self._about = (
            "<channel>"
            + text_element("title", channel.title)
            + url_element("link", channel.link)
            + text_element("description", channel.description or channel.title)
            + text_element("language", channel.language)
            + (f'<atom:link rel="self"{about} type="application/rss+xml"/>' if about else "")
            + "".join(f'<atom:link rel="hub"{attribute_text("href", escape_uri(hub))}/>' for hub in channel.hubs)
        )

    def extensions(self, entry: Entry) -> int:
        """The namespaces that the entry needs."""
        return namespace_bits(entry)

    def entry(self, entry: Entry) -> bytes:
        """One ``item`` element. Readers take its description for HTML, so the summary is escaped as HTML, too."""
        loc = escape_xml(escape_uri(entry.loc))
        summary = text_element("description", html.escape(entry.summary, quote=False))
        return (
            f"<item><title>{escape_xml(_title(entry))}</title><link>{loc}</link>{summary}"
            f'<guid isPermaLink="true">{loc}</guid>{text_element("pubDate", rfc822(entry.lastmod))}'
            f"{media_elements(entry)}</item>\n"
        ).encode()

    def head(self, extensions: int, updated: str) -> bytes:
        """The start of the document and the metadata of the feed."""
        built = text_element("lastBuildDate", rfc822(updated))
        return f"{self._root}{namespace_declarations(extensions)}>{self._about}{built}\n".encode()


class AtomEncoder(Encoder):
    """Encodes Atom 1.0. ``look`` has the stylesheet instructions.

    The title of the channel is also the name of the author, which RFC 4287 section 4.1.1 requires.
    """

    format = Format.ATOM
    _foot = b"</feed>\n"

    def __init__(self, channel: Channel, look: str = "") -> None:
        self._root = f'{XML_DECLARATION}{look}<feed xmlns="{namespaces.ATOM}"'
        self._language = attribute_text("xml:lang", channel.language)
        about = attribute_text("href", escape_uri(channel.url))
        self._about = (
            url_element("id", channel.url or channel.link)
            + text_element("title", channel.title)
            + text_element("subtitle", channel.description)
            + f'<link href="{escape_xml(escape_uri(channel.link))}"/>'
            + (f'<link rel="self"{about}/>' if about else "")
            + "".join(f'<link rel="hub"{attribute_text("href", escape_uri(hub))}/>' for hub in channel.hubs)
            + f"<author>{text_element('name', channel.title)}</author>"
        )

    def fault(self, entry: Entry) -> str:
        """RFC 4287 section 4.1.2: an entry has a date."""
        return "" if entry.lastmod else "an Atom entry needs a date, but it has no lastmod"

    def extensions(self, entry: Entry) -> int:
        """The namespaces that the entry needs."""
        return namespace_bits(entry)

    def entry(self, entry: Entry) -> bytes:
        """One ``entry`` element."""
        loc = escape_xml(escape_uri(entry.loc))
        return (
            f'<entry><id>{loc}</id><title>{escape_xml(_title(entry))}</title><link href="{loc}"/>'
            f"<updated>{rfc3339(entry.lastmod)}"
            f"</updated>{text_element('summary', entry.summary)}{media_elements(entry)}</entry>\n"
        ).encode()

    def head(self, extensions: int, updated: str) -> bytes:
        """The start of the document and the metadata of the feed."""
        changed = text_element("updated", rfc3339(updated))
        return f"{self._root}{namespace_declarations(extensions)}{self._language}>{self._about}{changed}\n".encode()


def _title(entry: Entry) -> str:
    """The first available title: of the page, of the article, of a video; else the URL."""
    titles = [entry.title, entry.news.title if entry.news else "", *(video.title for video in entry.videos[:1])]
    return next((title for title in titles if FORBIDDEN_CHARACTERS.sub("", title).strip()), entry.loc)
