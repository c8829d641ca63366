"""Owns what a feed says about itself."""

from dataclasses import dataclass

from sitemap.errors import SitemapError
from sitemap.escape import FORBIDDEN
from sitemap.validation import url_fault


@dataclass(frozen=True, slots=True)
class Channel:
    """The feed as a whole: plain texts, ``link`` the absolute URL of the site, ``url`` that of the feed itself ("" if
    not known), ``language`` a language tag such as ``en-GB``. ``hubs`` are told of changes, and tell those who
    subscribed to it; they need the ``url`` (https://www.w3.org/TR/websub/#discovery).

    SitemapError without a title, for a ``link``, ``url`` or hub that is no absolute http(s) URL, and for hubs without a
    ``url``.
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
        if not FORBIDDEN.sub("", self.title).strip():
            raise SitemapError("a feed needs a title: give its Channel one")
        urls = [("link", self.link), *([("url", self.url)] if self.url or self.hubs else [])]
        faults = [url_fault(name, url) for name, url in (*urls, *(("hub", hub) for hub in self.hubs))]
        if fault := next(filter(None, faults), ""):
            raise SitemapError(f"the Channel of a feed is not complete: its {fault}")
