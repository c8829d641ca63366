"""The targets of a page: each once, in canonical form, with all the evidence for it. Reads no markup."""

import re
from collections.abc import Iterable
from itertools import islice
from typing import Final

from msgspec import Struct

from crawler.model import Url
from crawler.parse.html.outline import LINK
from crawler.url.resolve import UrlResolver


class LinkTargets:
    """Distinct targets in the order they were first seen, at most ``limit`` of them.

    ``left_out`` is set when there were more.
    """

    __slots__ = ("_limit", "_resolver", "flags", "left_out")

    def __init__(self, resolver: UrlResolver, limit: int) -> None:
        self._resolver = resolver
        self._limit = limit
        self.flags: dict[Url, int] = {}
        self.left_out = False

    def add_all(self, links: dict[str, int], base: str, encoding: str) -> None:
        """Resolve links as written; what is no http(s) URL is no target. A fragment makes no other target."""
        urls = self._resolver.resolve_all(base, [href.partition("#")[0] for href in links], encoding)
        for url, flags in zip(urls, links.values(), strict=True):
            if url is not None:
                self.add(url, flags)

    def add_anchors(self, hrefs: Iterable[str], base: str, encoding: str) -> None:
        """The same for plain links, each given once as written."""
        texts = dict.fromkeys([href.partition("#")[0] if "#" in href else href for href in hrefs])
        new: dict[Url | None, int] = dict.fromkeys(self._resolver.resolve_all(base, texts, encoding), LINK)
        new.pop(None, None)
        found = self.flags
        if found:
            for url, flags in found.items():
                if url in new:
                    new[url] = flags | LINK
            found.update(new)  # type: ignore[arg-type]  # None is gone
        else:
            self.flags = found = new  # type: ignore[assignment]
        if len(found) > self._limit:
            self.flags = dict(islice(found.items(), self._limit))
            self.left_out = True

    def add(self, url: Url, flags: int) -> None:
        """Add evidence for a target."""
        seen = self.flags.get(url)
        if seen is not None:
            self.flags[url] = seen | flags
        elif len(self.flags) < self._limit:
            self.flags[url] = flags
        else:
            self.left_out = True


MAX_VALUE: Final = 65_536

"""Characters of one header value that are read."""


_target = re.compile(r"[ \t,]*<([^>]*)>").match

_param = re.compile(
    r"[ \t]*;[ \t]*(?:([!#$%&'*+.^_`|~0-9A-Za-z-]+)[ \t]*(?:=[ \t]*(?:\"((?:[^\"\\]|\\.)*)\"|([^;,\"]*)))?)?"
).match

_next_link = re.compile(r",[ \t]*(?=<)").search

_escape = re.compile(r"\\(.)")


class HeaderLink(Struct, frozen=True):
    """One link of a header: the target as written, its relation types and the other parameters in lower case."""

    target: str
    rels: tuple[str, ...]
    params: dict[str, str]


def parse_link_header(value: str) -> list[HeaderLink]:
    """The links of one header value, in order; what is malformed is skipped up to the next link.

    Only the first ``rel`` of a link counts (https://www.rfc-editor.org/rfc/rfc8288#section-3.3).
    """
    value = value[:MAX_VALUE]
    links: list[HeaderLink] = []
    at = 0
    while at < len(value):
        found = _target(value, at)
        if found is None:
            resume = _next_link(value, at)
            if resume is None:
                break
            at = resume.end()
            continue
        params, at = _params(value, found.end())
        rels = tuple(params.get("rel", "").lower().split())
        links.append(HeaderLink(found[1].strip(), rels, params))
        following = _next_link(value, at)
        if following is None:
            break
        at = following.end()
    return links


def _params(value: str, at: int) -> tuple[dict[str, str], int]:
    params: dict[str, str] = {}
    while found := _param(value, at):
        at = found.end()
        if found[1]:
            quoted, token = found[2], found[3]
            text = _escape.sub(r"\1", quoted) if quoted is not None else (token or "").strip()
            params.setdefault(found[1].lower(), text)
    return params, at


MAX_FAULTS: Final = 50
