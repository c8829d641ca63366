"""Collects the link targets of a page: the distinct URLs in its markup, Link headers, refresh and breadcrumb.

- https://www.rfc-editor.org/rfc/rfc8288 defines the Link header.
- A refresh is a redirect or a link: https://html.spec.whatwg.org/#shared-declarative-refresh-steps reads the meta
  element and the Refresh header alike.
- The breadcrumb names the pages above a page, the start page first. JSON-LD counts before marked links:
  https://developers.google.com/search/docs/appearance/structured-data/breadcrumb
"""

import re
from collections.abc import Collection, Iterable
from contextlib import suppress
from itertools import islice
from typing import Any, Final

from msgspec import Struct

from crawler.model import DiscoveredBy, Url
from crawler.parse.html.jsonld import JsonLdNode
from crawler.parse.html.outline import CANONICAL, LINK, Outline, link_flags
from crawler.parse.html.parts import pack_named
from crawler.url.normalize import InvalidUrl, join_url, origin_of
from crawler.url.resolve import UrlResolver

MAX_FAULTS: Final = 50
"""Faults of one kind that a page reports."""
MAX_VALUE: Final = 65_536
"""Characters of one Link header that are read."""
_target = re.compile(r"[ \t,]*<([^>]*)>").match
_param = re.compile(
    r"[ \t]*;[ \t]*(?:([!#$%&'*+.^_`|~0-9A-Za-z-]+)[ \t]*(?:=[ \t]*(?:\"((?:[^\"\\]|\\.)*)\"|([^;,\"]*)))?)?"
).match
_next_link = re.compile(r",[ \t]*(?=<)").search
_escape = re.compile(r"\\(.)")


class PageUrls(Struct, frozen=True):
    """Resolves the URLs that one page states. ``page`` is its own URL, ``base`` and ``encoding`` are for its markup."""

    page: Url
    base: Url
    encoding: str
    resolver: UrlResolver

    def in_markup(self, href: str) -> Url | None:
        """The canonical form of an href, or None when it is refused."""
        return self.resolver.resolve(self.base, href, self.encoding)

    def in_header(self, href: str) -> Url | None:
        """The same for a header, whose URLs are relative to the page whatever ``base`` says (RFC 8288, 3.2)."""
        return self.resolver.resolve(self.page, href)


def base_url(outline: Outline, page: Url, resolver: UrlResolver) -> Url:
    """The first ``base`` that names an http(s) URL, or the page's own URL."""
    for element in outline.named("base"):
        with suppress(InvalidUrl):  # however long, it applies: what is relative to it is then too long to be fetched
            if href := element.get("href"):
                return join_url(page, href, resolver.params)
    return page


class HeaderLink(Struct, frozen=True):
    """One link of a header: the target as written, its relation types and the other parameters in lower case."""

    target: str
    rels: tuple[str, ...]
    params: dict[str, str]


class LinkTargets:
    """Distinct targets in the order of their first mention, at most ``limit`` of them.

    ``flags`` maps each to its evidence. ``left_out`` is true when there are more than ``limit``.
    """

    __slots__ = ("_limit", "_urls", "flags", "left_out", "named_parts")

    def __init__(self, urls: PageUrls, limit: int) -> None:
        self._urls = urls
        self._limit = limit
        self.flags: dict[Url, int] = {}
        self.left_out = False
        self.named_parts = b""

    def add_links(self, links: dict[str, int]) -> None:
        """Add links as written, with their flags. URLs that are refused are left out; fragments are dropped."""
        urls = self._resolve(href.partition("#")[0] for href in links)
        for url, flags in zip(urls, links.values(), strict=True):
            if url is not None:
                self.add(url, flags)

    def add_anchors(self, hrefs: Collection[str]) -> None:
        """The same for the distinct hrefs of plain links, which may name parts of pages."""
        split = [href.partition("#") for href in hrefs]
        texts = dict.fromkeys([text for text, _, _ in split])
        urls = self._resolve(texts)
        new: dict[Url | None, int] = dict.fromkeys(urls, LINK)
        by_text = dict(zip(texts, urls, strict=True))
        named = [(text, part) for text, _, part in split[: self._limit] if part]
        self.named_parts = pack_named(named, by_text, origin_of(self._urls.page))
        new.pop(None, None)
        targets = self.flags
        if targets:
            for url, flags in targets.items():
                if url in new:
                    new[url] = flags | LINK
            targets.update(new)  # type: ignore[arg-type]  # None is gone
        else:
            self.flags = targets = new  # type: ignore[assignment]
        if len(targets) > self._limit:
            self.flags = dict(islice(targets.items(), self._limit))
            self.left_out = True

    def add_headers(self, links: list[HeaderLink]) -> None:
        """Add the links of Link headers whose relation type leads to a page or a feed."""
        for link in links:
            flags = link_flags(link.rels, link.params.get("type", ""))
            if "canonical" in link.rels:
                flags |= CANONICAL
            url = self._urls.in_header(link.target) if flags and link.target else None
            if url is not None:
                self.add(url, flags)

    def add(self, url: Url, flags: int) -> None:
        """Add evidence for a target."""
        earlier = self.flags.get(url)
        if earlier is not None:
            self.flags[url] = earlier | flags
        elif len(self.flags) < self._limit:
            self.flags[url] = flags
        else:
            self.left_out = True

    def _resolve(self, hrefs: Iterable[str]) -> list[Url | None]:
        return self._urls.resolver.resolve_all(self._urls.base, hrefs, self._urls.encoding)


def read_link_headers(values: list[str], urls: PageUrls) -> list[HeaderLink]:
    """The links of all Link headers that are about this page: ``anchor`` can name another one (RFC 8288, 3.2)."""
    return [link for value in values for link in parse_link_header(value) if _is_about_page(link, urls)]


def _is_about_page(link: HeaderLink, urls: PageUrls) -> bool:
    anchor = link.params.get("anchor")
    return anchor is None or urls.in_header(anchor or "#") == urls.page


def parse_link_header(value: str) -> list[HeaderLink]:
    """The links of one header value, in order; malformed text is skipped up to the next link.

    Only the first ``rel`` of a link counts (https://www.rfc-editor.org/rfc/rfc8288#section-3.3).
    """
    value = value[:MAX_VALUE]
    links: list[HeaderLink] = []
    at = 0
    while at < len(value):
        target = _target(value, at)
        if target is None:
            resume = _next_link(value, at)
            if resume is None:
                break
            at = resume.end()
            continue
        params, at = _params(value, target.end())
        rels = tuple(params.get("rel", "").lower().split())
        links.append(HeaderLink(target[1].strip(), rels, params))
        following = _next_link(value, at)
        if following is None:
            break
        at = following.end()
    return links


def _params(value: str, at: int) -> tuple[dict[str, str], int]:
    params: dict[str, str] = {}
    while match := _param(value, at):
        at = match.end()
        name, quoted, token = match.groups()
        if name:
            text = _escape.sub(r"\1", quoted) if quoted is not None else (token or "").strip()
            params.setdefault(name.lower(), text)
    return params, at


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


MAX_CRUMBS: Final = 20
_NO_POSITION: Final = 1_000_000.0  # an item without a position stays in its order, after the others


def read_breadcrumb(nodes: list[JsonLdNode], marked: list[str], urls: PageUrls) -> list[Url]:
    """The distinct URLs of the first breadcrumb that has any, without the page's own.

    ``marked`` are the hrefs of the links that the markup marks as a breadcrumb.
    """
    hrefs = [href.partition("#")[0] for href in (_structured(nodes) or marked)[:MAX_CRUMBS]]
    resolved = urls.resolver.resolve_all(urls.base, hrefs, urls.encoding) if hrefs else ()
    return [url for url in dict.fromkeys(resolved) if url is not None and url != urls.page]


def _structured(nodes: list[JsonLdNode]) -> list[str]:
    for node in nodes:
        if "BreadcrumbList" in node.types:
            value = node.values.get("itemListElement")
            items = [item for item in (value if isinstance(value, list) else [value]) if isinstance(item, dict)]
            items.sort(key=_position)
            if hrefs := [href for href in map(_href, items) if href]:
                return hrefs
    return []


def _position(item: dict[str, Any]) -> float:
    try:
        return float(item.get("position", _NO_POSITION))
    except (TypeError, ValueError):
        return _NO_POSITION


def _href(item: dict[str, Any]) -> str:
    """``item`` is a URL or an object with one; old markup has ``url`` on the list item itself."""
    target = item.get("item", item.get("url"))
    if isinstance(target, dict):
        target = target.get("@id") or target.get("url")
    return target.strip() if isinstance(target, str) else ""
