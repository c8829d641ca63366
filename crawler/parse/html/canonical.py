"""Decides which URLs a page states as canonical: by ``link`` elements in ``<head>`` and by Link headers. Pure.

https://www.rfc-editor.org/rfc/rfc6596 defines the relation.
https://developers.google.com/search/docs/crawling-indexing/consolidate-duplicate-urls says where a statement counts,
and with which attributes it does not.
React, and so Next.js, may stream the canonical after the head, and does so in one response and not in the next. It is
the same statement, so it counts. But Google may miss it (https://github.com/vercel/next.js/issues/80868).
``noscript`` is only for browsers without scripts; search engines run scripts, so a canonical in it does not count.
"""

from collections.abc import Mapping
from typing import Final

from crawler.model import Url
from crawler.parse.html.links import MAX_FAULTS, HeaderLink, PageUrls
from crawler.parse.html.outline import Outline
from sitemap import quote_text

_OF_A_VERSION: Final = frozenset({"hreflang", "lang", "media", "type"})


def read_canonicals(outline: Outline, headers: list[HeaderLink], urls: PageUrls) -> tuple[list[Url], list[str]]:
    """The distinct canonical URLs in the order stated, and a sentence for each statement that may not count."""
    faults: list[str] = []
    stated: list[tuple[Url, str, str, Mapping[str, str]]] = []
    for element in outline.named("link"):
        if "canonical" not in element.get("rel").lower().split():
            continue
        if element.in_noscript:
            faults.append("a canonical inside <noscript> does not count")
        elif element.in_head:
            stated.append((urls.base, element.get("href"), urls.encoding, element.attributes))
            if element.is_streamed:
                faults.append("a canonical is streamed after <head>, where Google may miss it")
        else:
            faults.append("a canonical outside <head> does not count")
    stated.extend((urls.page, link.target, "", link.params) for link in headers if "canonical" in link.rels)
    canonicals: list[Url] = []
    for base, href, encoding, attributes in stated:
        if names := sorted(_OF_A_VERSION.intersection(attributes)):
            faults.append(f"a canonical with the attribute {names[0]} does not count")
            continue
        if not href:
            faults.append("the canonical is empty")
            continue
        url = urls.resolver.resolve(base, href, encoding)
        if url is not None:
            canonicals.append(url)
        else:
            error = urls.resolver.refusal(base, href)
            why = f"{quote_text(href)} does not count: {error.message}" if error else "does not count: it is refused"
            faults.append(f"the canonical {why}")
    return list(dict.fromkeys(canonicals)), list(dict.fromkeys(faults))[:MAX_FAULTS]
