"""Owns what a feed says about itself."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Channel:
    """The feed as a whole: plain texts, ``link`` the absolute URL of the site, ``url`` that of the feed itself ("" if
    not known), ``language`` a language tag such as ``en-GB``.

    https://www.rssboard.org/rss-specification#requiredChannelElements,
    https://www.rfc-editor.org/rfc/rfc4287#section-4.1.1
    """

    title: str
    link: str
    description: str
    language: str = ""
    url: str = ""
