"""Owns what a feed says about itself."""

from dataclasses import dataclass

from sitemap.acceptance import url_fault
from sitemap.errors import SitemapError
from sitemap.xml_text import FORBIDDEN


@dataclass(frozen=True, slots=True)
class Channel:
    """The feed as a whole: plain texts, ``link`` the absolute URL of the site, ``url`` that of the feed itself ("" if
    not known), ``language`` a language tag such as ``en-GB``.

    SitemapError without a title, and for a ``link`` or ``url`` that is no absolute http(s) URL.
    https://www.rssboard.org/rss-specification#requiredChannelElements,
    https://www.rfc-editor.org/rfc/rfc4287#section-4.1.1
    """

    title: str
    link: str
    description: str = ""
    language: str = ""
    url: str = ""

    def __post_init__(self) -> None:
        if not FORBIDDEN.sub("", self.title).strip():
            raise SitemapError("a feed needs a title: give its Channel one")
        fault = url_fault("link", self.link) or (url_fault("url", self.url) if self.url else "")
        if fault:
            raise SitemapError(f"the Channel of a feed is not complete: its {fault}")
