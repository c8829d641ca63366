"""Owns ready-made ways to group entries: each names a group for every entry, always the same for the same."""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final
from urllib.parse import unquote

from sitemap import languages
from sitemap.errors import SitemapError
from sitemap.model import Entry

Grouping = Callable[[Entry], str]

OTHER: Final = "other"
_ROOT: Final = "root"
_LONGEST_CODE: Final = 16  # characters; zh-Hant-TW has 10


def by_section(depth: int = 1) -> Grouping:
    """Groups by the first ``depth`` directories of the path: ``/shop/shoes/red`` is in ``shop``, or ``shop-shoes``.

    What is in no directory is in ``root``. SitemapError for a depth below 1.
    """
    if depth < 1:
        raise SitemapError(f"a section cannot be {depth} directories deep: give 1 or more")

    def section(entry: Entry) -> str:
        return "-".join(unquote(name) for name in _path(entry.loc)[:-1][:depth] if name) or _ROOT

    return section


def by_pattern(patterns: Mapping[str, str | re.Pattern[str]]) -> Grouping:
    """Groups by the first of the named regular expressions that is found in the URL; the rest is in ``other``.

    SitemapError for what is no regular expression.
    """
    try:
        compiled = [(name, re.compile(pattern)) for name, pattern in patterns.items()]
    except re.error as error:
        raise SitemapError(f"{str(error.pattern)[:200]!r} is no regular expression: {error}") from error

    def match(entry: Entry) -> str:
        return next((name for name, pattern in compiled if pattern.search(entry.loc)), OTHER)

    return match


def by_language() -> Grouping:
    """Groups by language: that of the alternate that is the page itself, else of a path such as ``/pt-br/…``.

    Names are in lower case with hyphens; what has no language is in ``other``.
    """

    def language(entry: Entry) -> str:
        own = [one.hreflang.lower() for one in entry.alternates if one.href == entry.loc]
        told = next((name for name in own if name != "x-default"), "")
        if told:
            return told
        return _language(_path(entry.loc)[0])

    return language


def by_type() -> Grouping:
    """Groups by what search engines look for: ``news``, else ``video``, else ``image``, else ``page``."""

    def kind(entry: Entry) -> str:
        if entry.news is not None:
            return "news"
        if entry.videos:
            return "video"
        return "image" if entry.images else "page"

    return kind


@lru_cache(maxsize=1024)
def _language(segment: str) -> str:
    code = segment.lower().replace("_", "-")
    is_one = 2 <= len(code) <= _LONGEST_CODE and code != "x-default" and not languages.hreflang_fault(code)
    return code if is_one else OTHER


def _path(url: str) -> list[str]:
    """The segments of the path; of "" when there is none, so that there is always a first and a last."""
    return url.partition("?")[0].partition("#")[0].split("/")[3:] or [""]
