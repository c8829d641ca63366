"""The values of Link headers as RFC 8288 writes them. Resolves nothing and follows nothing."""

import re
from typing import Final

from msgspec import Struct

MAX_VALUE: Final = 65_536
"""Characters of one header value that are read."""

_target = re.compile(r"[ \t,]*<([^>]*)>").match
_param = re.compile(
    r"[ \t]*;[ \t]*(?:([!#$%&'*+.^_`|~0-9A-Za-z-]+)[ \t]*(?:=[ \t]*(?:\"((?:[^\"\\]|\\.)*)\"|([^;,\"]*)))?)?"
).match
_next = re.compile(r",[ \t]*(?=<)").search
_escape = re.compile(r"\\(.)")


class HeaderLink(Struct, frozen=True):
    """One link of a header: the target as written, its relation types and the other parameters in lower case."""

    target: str
    rels: tuple[str, ...]
    params: dict[str, str]


def parse(value: str) -> list[HeaderLink]:
    """The links of one header value, in order; what is malformed is skipped up to the next link.

    Only the first ``rel`` of a link counts (https://www.rfc-editor.org/rfc/rfc8288#section-3.3).
    """
    value = value[:MAX_VALUE]
    links: list[HeaderLink] = []
    at = 0
    while at < len(value):
        found = _target(value, at)
        if found is None:
            resume = _next(value, at)
            if resume is None:
                break
            at = resume.end()
            continue
        params, at = _params(value, found.end())
        rels = tuple(params.get("rel", "").lower().split())
        links.append(HeaderLink(found[1].strip(), rels, params))
        following = _next(value, at)
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
