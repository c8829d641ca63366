"""Resolves the references of documents in bulk, with a cache, because the links of a site repeat. Pure."""

import re
from collections import Counter
from collections.abc import Iterable
from typing import Final

from crawler.model import Url
from crawler.url.normalize import DEFAULT_PARAMS, MAX_FETCHED_LENGTH, InvalidUrl, join_url
from crawler.url.params import UrlParams

ENTRY_BYTES: Final = 256
"""Bytes of one cache entry besides its texts, roughly."""
_MAX_CACHED_LENGTH: Final = 2_048  # characters of a reference in the cache
DOCUMENT_BYTES: Final = 4 * 2**20
"""Bytes of the URLs of one document."""
_MAX_STEPS: Final = 64  # slashes of a directory whose steps are computed
_MAX_TOO_LONG: Final = 5  # URLs of a document that nobody fetches, and that the report names
_REFUSED: Final = Url("")  # in the cache, for a reference that is refused

# A reference that needs no parser: steps up or the root, then segments that do not start with a dot.
_plain = re.compile(
    r"(/|(?:\.\./)*+)((?:[A-Za-z0-9_~!$&'()*+,=@-][A-Za-z0-9._~!$&'()*+,=@-]*+/)*+"
    r"(?:[A-Za-z0-9_~!$&'()*+,=@-][A-Za-z0-9._~!$&'()*+,=@-]*+)?)"
).fullmatch
# A directory that stays as long as it is when a reference is joined to it, and references that stay below it.
_fixed_directory = re.compile(r"https?://[a-z0-9.-]+(?::[0-9]+)?/(?:[A-Za-z0-9_~-][A-Za-z0-9._~-]*+/)*+").fullmatch
_stays_below = re.compile(r"[A-Za-z0-9?][A-Za-z0-9._~=&-]*+").fullmatch
_scheme = re.compile(r"[\x00-\x20]*([A-Za-z][A-Za-z0-9+.\-\t\r\n]*):").match
_LEADING: Final = "".join(map(chr, range(33)))  # C0 controls and space, which a parser strips


class _AnswerCache:
    """The answers for one directory or one origin in one encoding; ``size`` is roughly their bytes.

    ``steps`` are the directory and all above it, the origin last: None until they are needed, and empty when no
    reference may be appended to them as it is.
    """

    __slots__ = ("answers", "size", "steps")

    def __init__(self) -> None:
        self.answers: dict[str, Url] = {}
        self.size = ENTRY_BYTES
        self.steps: tuple[str, ...] | None = None


class UrlResolver:
    """Resolves references with a cache.

    An answer is cached per directory of the base, or per origin when the reference does not depend on the directory,
    so that a menu costs one resolution for a whole site. ``memory`` limits the bytes of the cache, roughly; the oldest
    directories are dropped first. ``refused`` counts the distinct refusals by their code.

    A short reference to a long base makes a long URL, and a small document thousands of them. So a URL that is too long
    to be fetched is refused, and so is every URL of a document after its first ``document_bytes``; ``is_over`` says
    whether that happened since :meth:`begin`.
    """

    def __init__(
        self, params: UrlParams = DEFAULT_PARAMS, memory: int = 16 * 2**20, document_bytes: int = DOCUMENT_BYTES
    ) -> None:
        self.params = params
        self.refused: Counter[str] = Counter()
        self.document_bytes = document_bytes
        self._left = document_bytes
        self._too_long = 0
        self._memory = memory
        self._size = 0
        self._tables: dict[str, _AnswerCache] = {}
        self._base = self._encoding = self._directory = ""
        self._is_too_long = False  # what is below the directory of the base
        self._self: Url | None = None
        self._near = self._far = _AnswerCache()
        self._whole: UrlResolver | None = None

    @property
    def keeping_all(self) -> "UrlResolver":
        """The same without dropping parameters, for URLs that are shown and not crawled."""
        if self._whole is None:
            self._whole = UrlResolver(self.params.keeping_all, self._memory // 8, self.document_bytes)
        return self._whole

    def begin(self) -> None:
        """Begin another document."""
        self._left = self.document_bytes
        self._too_long = 0
        if self._whole is not None:
            self._whole.begin()

    @property
    def is_over(self) -> bool:
        """Whether the URLs of the document have more bytes than it may have."""
        return self._left < 0

    def resolve(self, base: str, href: str, encoding: str = "") -> Url | None:
        """The canonical form of ``href`` in a document with this base and encoding, or None if refused."""
        return self.resolve_all(base, (href,), encoding)[0]

    def resolve_all(self, base: str, hrefs: Iterable[str], encoding: str = "") -> list[Url | None]:
        """The same for the references of one document, in their order."""
        if base is not self._base or encoding != self._encoding:
            self._enter(base, encoding)
        near, far, ask = self._near.answers.get, self._far.answers.get, self._first_time
        urls = [near(href) or far(href) or ask(href) for href in hrefs]
        self._left -= sum(map(len, filter(None, urls)))
        return urls if self._left >= 0 else self._within_bound(urls)

    def _within_bound(self, urls: list[Url | None]) -> list[Url | None]:
        """The URLs that fit, those over the bound replaced by None."""
        over = -self._left
        for place in range(len(urls) - 1, -1, -1):
            if over <= 0:
                break
            over -= len(urls[place] or "")
            urls[place] = None
        return urls

    def refusal(self, base: str, href: str) -> InvalidUrl | None:
        """Why ``href`` is refused, None when it is not."""
        try:
            join_url(base, href, self.params)
        except InvalidUrl as error:
            return error
        return None

    def _enter(self, base: str, encoding: str) -> None:
        self._base, self._encoding, self._self = base, encoding, None
        end = base.find("?")
        self._directory = base[: base.rfind("/", 0, end if end >= 0 else None) + 1]
        third_slash = base.find("/", base.find("//") + 2)
        is_long = len(self._directory) > third_slash + MAX_FETCHED_LENGTH and self.params.mirror is None
        self._is_too_long = is_long and _fixed_directory(self._directory) is not None
        self._far = self._table(f"{encoding} {base[:third_slash]}")
        self._near = self._table(f"{encoding} {self._directory}")
        if self._size > self._memory:
            self._forget()

    def _table(self, name: str) -> _AnswerCache:
        table = self._tables.get(name)
        if table is None:
            table = self._tables[name] = _AnswerCache()
            self._size += table.size
        return table

    def _first_time(self, href: str) -> Url | None:
        """The answer for what has none yet, or was refused."""
        if not href or href[0] == "#":
            if self._self is None:
                self._self = self._join("")
            return self._self or None
        if href in self._near.answers or href in self._far.answers:
            return None
        table, answer = self._plainly(href) or (self._table_for(href), self._join(href))
        if table is not None:
            table.answers[href] = answer
            size = ENTRY_BYTES + len(href) + len(answer)
            table.size += size
            self._size += size
            if self._size > self._memory:
                self._forget()
        return answer or None

    def _plainly(self, href: str) -> tuple[_AnswerCache, Url] | None:
        """The answer for most references: the start of the base and then the reference as it is."""
        if len(href) > _MAX_CACHED_LENGTH or len(self._directory) > _MAX_CACHED_LENGTH:
            return None
        steps = self._near.steps
        if steps is None:
            steps = self._near.steps = self._steps()
        if not steps:
            return None
        origin = steps[-1]
        if href.startswith(origin):
            match = _plain(href, len(origin))
            return (self._far, Url(href)) if match and not match[1] else None
        match = _plain(href)
        if match is None:
            return None
        up, rest = match.groups()
        if up == "/":
            return self._far, Url(origin + rest)
        return self._near, Url(steps[min(len(up) // 3, len(steps) - 1)] + rest)

    def _steps(self) -> tuple[str, ...]:
        directory = self._directory
        if self.params.mirror is not None and self.params.mirror.is_deep:
            return ()  # a path may be a name of the mirror for the site
        try:
            if directory.count("/") > _MAX_STEPS or join_url(directory, "", self.params) != directory:
                return ()
        except InvalidUrl:
            return ()
        steps = [directory]
        end = len(directory) - 1
        while (end := directory.rfind("/", 8, end)) >= 0:
            steps.append(directory[: end + 1])
        return tuple(steps)

    def _table_for(self, href: str) -> _AnswerCache | None:
        if len(href) > _MAX_CACHED_LENGTH:
            return None
        stripped = href.lstrip(_LEADING)
        if not stripped or stripped[0] in "?#":
            return None  # depends on the whole base
        if stripped[0] in "/\\":
            return self._far
        scheme = _scheme(stripped)
        if scheme is None:
            return self._near
        if any(character in stripped for character in "\t\n\r"):
            return None  # the parser removes them, so the text is not what it parses
        # "https:x" against an https base is a relative reference (https://url.spec.whatwg.org/#scheme-state).
        is_web = scheme[1].lower() in ("http", "https")
        return None if is_web and stripped[scheme.end() : scheme.end() + 1] not in ("/", "\\") else self._far

    def _join(self, href: str) -> Url:
        if self._is_too_long and self._too_long > _MAX_TOO_LONG and _stays_below(href):
            self.refused["url.too_long"] += 1  # to join a base of 60 kB takes a millisecond
            return _REFUSED
        try:
            url = join_url(self._base, href, self.params, self._encoding)
        except InvalidUrl as error:
            self.refused[error.code] += 1
            return _REFUSED
        if len(url) > MAX_FETCHED_LENGTH:
            self.refused["url.too_long"] += 1
            self._too_long += 1
            if self._too_long > _MAX_TOO_LONG:
                return _REFUSED
        return url

    def _forget(self) -> None:
        for name, table in list(self._tables.items()):
            if self._size <= self._memory // 2:
                return
            self._size -= table.size
            if table is self._near or table is self._far:
                table.answers.clear()
                table.size = ENTRY_BYTES
                self._size += ENTRY_BYTES
            else:
                del self._tables[name]
