"""URL patterns of the configuration (include, exclude). Pure.

- ``/private/*``: a glob that begins with ``/`` is matched with path and query.
- ``*/print/*``, ``https://example.com/*``: any other glob is matched with the whole URL.
- ``re:[?&]page=\\d+$``: a regular expression, searched for in the whole URL.

A glob matches the whole text, with regard to case; ``*`` stands for any characters with ``/``, ``?`` for one, ``[ab]``
for one of these. A slow regular expression slows the crawl; a crawled URL has at most 8,192 characters.
"""

import re
from fnmatch import translate
from urllib.parse import quote

from crawler.model import Url
from crawler.url.normalize import path_and_query

_beyond_ascii = re.compile(r"[^\x21-\x7e]+")


class ScopeError(ValueError):
    """A bad setting of the scope. The message names it and the remedy."""


class UrlPattern:
    """One pattern; ``text`` is as it was written."""

    __slots__ = ("_match", "_on_path", "text")

    def __init__(self, text: str) -> None:
        """Raises ScopeError for a regular expression that does not compile and a glob that can match no URL."""
        self.text = text
        self._on_path = text.startswith("/")
        if text.startswith("re:"):
            try:
                self._match = re.compile(text[3:]).search
            except re.error as error:
                position = "" if error.pos is None else f" at position {error.pos + 3}"
                raise ScopeError(f'"{text}" is not a regular expression: {error.msg}{position}') from None
        elif text[:1] in ("/", "*", "?", "[") or text.startswith(("http://", "https://")):
            ascii_only = _beyond_ascii.sub(lambda match: quote(match[0]), text)
            self._match = re.compile(translate(ascii_only)).match
        else:
            hint = f'write "*{text}*" for a part of the URL, "/{text}" for a path, "re:{text}" for an expression'
            raise ScopeError(f'"{text}" cannot match any URL: {hint}')

    def matches(self, url: Url) -> bool:
        """Whether a canonical URL matches."""
        return self._match(path_and_query(url) if self._on_path else url) is not None


def compile_patterns(name: str, texts: tuple[str, ...]) -> tuple[UrlPattern, ...]:
    """The patterns of one setting. Raises ScopeError that names the setting, the pattern and its fault."""
    patterns = []
    for text in texts:
        try:
            patterns.append(UrlPattern(text))
        except ScopeError as error:
            raise ScopeError(f"{name}: {error}") from None
    return tuple(patterns)
