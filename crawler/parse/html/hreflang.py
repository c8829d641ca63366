"""Reads the hreflang alternates of a page and the language codes that name them.

https://developers.google.com/search/docs/specialty/international/localized-versions#language-codes : a code is an
ISO 639-1 language with an optional ISO 15924 script and an optional ISO 3166-1 region, or ``x-default``. Three-letter
languages and numeric regions of BCP 47 (RFC 5646, section 2.1) count too, by their shape. A region alone is no code,
and the United Kingdom is GB. An alternate that is a feed is no version of the page, whatever its language:
https://html.spec.whatwg.org/multipage/links.html#rel-alternate
"""

import re
from collections.abc import Collection, Mapping
from typing import Final

from crawler.model import Url
from crawler.parse.html.links import HeaderLink, PageUrls
from crawler.parse.html.outline import FEED_TYPES, Outline, essence
from sitemap import Alternate, is_language, is_region

MAX_ALTERNATES: Final = 1_000
_LETTERS: Final = 2  # of a language in ISO 639-1
_code = re.compile(r"([a-z]{2,3})(?:-([a-z]{4}))?(?:-([a-z]{2}|[0-9]{3}))?", re.ASCII | re.IGNORECASE).fullmatch


def read_alternates(outline: Outline, headers: list[HeaderLink], urls: PageUrls) -> tuple[list[Alternate], list[str]]:
    """At most ``MAX_ALTERNATES`` distinct alternates in the order stated, and a sentence for each that is invalid."""
    stated: list[tuple[str, str, Url | None]] = []
    for element in outline.named("link"):
        if _is_version(element.attributes, element.get("rel").lower().split()):
            href = element.get("href")
            stated.append((element.attributes["hreflang"], href, urls.in_markup(href) if href else None))
    for link in headers:
        if _is_version(link.params, link.rels):
            url = urls.in_header(link.target) if link.target else None
            stated.append((link.params["hreflang"], link.target, url))
    alternates: dict[Alternate, None] = {}
    faults: list[str] = []
    for code, href, url in stated:
        language = canonical_hreflang(code)
        if not language:
            faults.append(f"hreflang {code[:40]!a} is no language code")
        elif url is None:
            faults.append(f"the alternate for {language} is no web address: {href[:100]!a}")
        elif len(alternates) < MAX_ALTERNATES:
            alternates[Alternate(language, url)] = None
    return list(alternates), faults


def _is_version(attributes: Mapping[str, str], rels: Collection[str]) -> bool:
    """Whether a link names a version of the page in a language."""
    return "hreflang" in attributes and "alternate" in rels and essence(attributes.get("type", "")) not in FEED_TYPES


def canonical_hreflang(code: str) -> str:
    """The code in its usual spelling (``en-GB``, ``zh-Hant-TW``, ``x-default``), or "" when it is invalid."""
    code = code.strip()
    if code.lower() == "x-default":
        return "x-default"
    match = _code(code)
    if match is None:
        return ""
    language, script, region = match.groups()
    if len(language) == _LETTERS and not is_language(language):
        return ""
    if region and region.isalpha() and not is_region(region):
        return ""
    parts = [language.lower(), (script or "").title(), (region or "").upper()]
    return "-".join(part for part in parts if part)
