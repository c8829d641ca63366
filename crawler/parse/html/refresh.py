"""Decides where a page's refresh leads, and whether it is a redirect or a link.

https://html.spec.whatwg.org/#shared-declarative-refresh-steps reads the meta element and the Refresh header alike.
"""

import re
from typing import Final

from crawler.model import DiscoveredBy, Url
from crawler.parse.html.links import PageUrls
from crawler.parse.html.outline import Outline

REFRESH: Final = int(DiscoveredBy.REFRESH)
MAX_SECONDS: Final = 10**9
_delay = re.compile(
    r"[\t\n\f\r ]*+(?:([0-9]++)[0-9.]*+|\.[0-9.]*+)(?=[;,\t\n\f\r ]|$)[\t\n\f\r ]*+[;,]?+[\t\n\f\r ]*+"
).match
_url_prefix = re.compile(r"url[\t\n\f\r ]*=[\t\n\f\r ]*", re.IGNORECASE).match


def read_refresh(header: str, outline: Outline, urls: PageUrls, limit: float) -> tuple[Url | None, list[Url]]:
    """The target of the redirect, if there is one, and the targets of all other refreshes, which count as links.

    The first refresh to another URL after at most ``limit`` seconds is the redirect. One inside ``noscript`` is only
    for browsers without scripts, so it is a link. ``header`` is the value of the Refresh header or "".
    """
    stated = [(parse_refresh(header), urls.in_header, True)] if header else []
    stated.extend(
        (parse_refresh(element.get("content")), urls.in_markup, not element.in_noscript)
        for element in outline.named("meta")
        if element.get("http-equiv").lower() == "refresh"
    )
    redirect: Url | None = None
    links: list[Url] = []
    for refresh, resolve, is_for_all in stated:
        target = resolve(refresh[1]) if refresh and refresh[1] else None
        if refresh is None or target is None or target == urls.page:
            continue
        if refresh[0] <= limit and is_for_all and redirect is None:
            redirect = target
        else:
            links.append(target)
    return redirect, links


def parse_refresh(content: str) -> tuple[int, str] | None:
    """Whole seconds and the target as written ("" for the document itself), or None when the value is invalid."""
    delay = _delay(content)
    if delay is None:
        return None
    digits = delay[1] or "0"
    seconds = int(digits) if len(digits) <= 9 else MAX_SECONDS
    target = content[delay.end() :]
    prefix = _url_prefix(target)
    if prefix:
        target = target[prefix.end() :]
    if target[:1] in {"'", '"'}:
        target = target[1:].partition(target[0])[0]
    return seconds, target.strip()
