"""Owns the names and addresses of the files of a set. Knows nothing of their content."""

import hashlib
import re
from collections.abc import Iterable, Iterator
from string import Formatter
from typing import Final
from urllib.parse import quote, unquote, urlsplit

from sitemap import limits, location
from sitemap.errors import InvalidLocation
from sitemap.escape import quote_text

_SAFE = "-._~!$&'()*+,;=:@"  # RFC 3986 section 3.3, pchar
_SUFFIXES: Final = (".xml", ".txt", ".rss", ".atom")
_NUMBERS: Final = {"n": "[1-9][0-9]*", "next": "(?:[2-9]|[1-9][0-9]+)?"}
_PLAIN: Final = "{stem}-{n}{suffix}"
_GROUPED: Final = "{stem}-{group}-{n}{suffix}"
_MAX_SLUG: Final = 60
_MAX_NAME: Final = 255  # bytes of a file name that every usual file system takes
TOKEN: Final = (
    8  # characters that tell a file that is there for a moment from the one whose place it will take
)


class FileNames:
    """How the files of the set at a public URL are called.

    One file keeps the name in the URL, with ``.gz`` added when ``gzip`` asks for it. Of several, that name is the
    index, and the children are called after ``template``. A file is packed exactly when its name ends in ``.gz``; so
    an index is packed only if the URL itself says so.

    A template is a plain file name with fields: ``{stem}`` is the name in the URL without its suffix, ``{suffix}`` that
    of the format (".xml", ".txt"), ``{n}`` the number of the file in its group from 1, ``{next}`` the same but nothing
    for the first, ``{group}`` the group's name. It has one number, and ``{group}`` exactly when there are groups;
    something other than a digit stands between the two. The default is ``{stem}-{n}{suffix}`` or
    ``{stem}-{group}-{n}{suffix}``; ``{group}-sitemap{next}.xml`` makes ``post-sitemap.xml``, ``post-sitemap2.xml``.

    InvalidLocation for a URL that is not absolute http(s) or has no usable file name, and for a template that makes no
    plain file names, or not always different ones.
    """

    def __init__(
        self, url: str, template: str = "", *, gzip: bool = False, suffix: str = ".xml", grouped: bool = False
    ) -> None:
        self.directory = location.directory(url)
        self.location = url
        self.index = _file_name(url)
        plain = self.index.removesuffix(".gz")
        self._gz = ".gz" if gzip or self.index != plain else ""
        self.single = plain + self._gz
        self._root = re.escape(plain)
        self.grouped = grouped
        stem = next((plain.removesuffix(end) for end in _SUFFIXES if plain.endswith(end)), plain)
        fixed = {"stem": stem, "suffix": suffix}
        self._tokens = _tokens(template or (_GROUPED if grouped else _PLAIN), fixed)
        _check_fields(self._tokens, template, grouped=grouped)
        self._before = [] if template or not grouped else [_pattern(_tokens(_PLAIN, fixed))]
        self._check_names(template)

    def child(self, number: int, group: str = "") -> str:
        """The name of a child, counted from 1 in its group, which is one of :func:`slugs`."""
        values = {"group": group, "n": str(number), "next": str(number) if number > 1 else ""}
        return "".join(text if not field else values[field] for text, field in self._tokens) + self._gz

    def is_index(self, group: str = "") -> bool:
        """Whether a child would be called as the set itself."""
        children = _pattern(self._tokens, re.escape(group))
        return bool(re.fullmatch(children, self.index.removesuffix(".gz"), re.IGNORECASE))

    def url(self, name: str) -> str:
        """The public address of a file of the set."""
        return self.location if name == self.index else self.directory + quote(name, safe=_SAFE)

    def file(self, url: str) -> str:
        """The name of the file that is served at a URL beside the set, or "" when it is elsewhere or has a query."""
        try:
            if location.directory(url) != self.directory or urlsplit(url).query:
                return ""
            return _file_name(url)
        except InvalidLocation:
            return ""

    def own_pattern(self, groups: Iterable[str] = (), former: Iterable[str] = ()) -> re.Pattern[str]:
        """What the file names of this set look like: itself and its children in the given groups, packed or not.

        Groups that are not given are left out, however much a file looks like one of theirs: it may be another tool's.
        What it was called before is ``former``, by full names.
        """
        any_group = "|".join(map(re.escape, groups))
        children = [
            *self._before,
            *([_pattern(self._tokens, any_group)] if any_group or not self.grouped else []),
        ]
        own = rf"(?:{'|'.join([*children, self._root])})(?:\.gz)?"
        return re.compile("|".join([own, *map(re.escape, former)]))

    def _check_names(self, template: str) -> None:
        shortest = self.child(1, "x" if self.grouped else "")
        longest = self.child(limits.MAX_CHILDREN, "x" * (_MAX_SLUG + 65) if self.grouped else "")
        if any(name.startswith(".") or not _is_plain(name) for name in (shortest, longest)):
            raise InvalidLocation(f"{quote_text(template)} cannot name files: use one plain path segment")
        if longest.endswith(".gz") and not self._gz:
            raise InvalidLocation(f"{quote_text(template)} must not end in .gz: the option gzip adds it")
        longest = interim_name(longest, "0" * TOKEN)
        if len(longest.encode()) > _MAX_NAME or len(self.url(longest)) > limits.MAX_LOC:
            raise InvalidLocation(f"{quote_text(self.location)} is too long for the address of a sitemap")
        if not self.grouped and self.is_index():
            raise InvalidLocation(
                f"{quote_text(template)} can make {self.index!r}, which is the set itself: choose another template"
            )


def group_slugs(group: str) -> Iterator[str]:
    """Names for the files of a group, from the nicest to the longest: letters, digits, ``.``, ``-``, ``_`` of ASCII.

    The nicest is the group's own name, with ``-`` for all else, and is for the first who wants it. The others have a
    part of its SHA-256. So have all names of a group of which too little would be left to know it by.
    """
    whole = re.sub("[^A-Za-z0-9_.]+", "-", group).strip("-.")
    nice = re.sub(r"\.(?=gz$)", "-", whole[:_MAX_SLUG].rstrip("-."), flags=re.IGNORECASE)  # .gz says packed
    if 2 * len(nice) > len(group) and len(whole) <= _MAX_SLUG:
        yield nice
    nice = nice or "group"
    digest = hashlib.sha256(group.encode("utf-8", "surrogatepass")).hexdigest()
    yield f"{nice}-{digest[:8]}"
    yield f"{nice}-{digest}"


def url_beside(url: str, name: str) -> str:
    """The address of a file in the same directory as another."""
    return url[: url.rindex("/") + 1] + quote(name, safe=_SAFE)


def interim_name(name: str, token: str) -> str:
    """Another name for a file, with the same suffix: ``sitemap-3.5f2a9c1b.xml.gz``."""
    plain = name.removesuffix(".gz")
    stem, _, suffix = plain.rpartition(".")
    return (f"{stem}.{token}.{suffix}" if stem else f"{plain}.{token}") + name[len(plain) :]


def _file_name(url: str) -> str:
    try:
        name = unquote(urlsplit(url).path.rpartition("/")[2], errors="strict")
    except ValueError as error:
        raise InvalidLocation(f"a sitemap cannot be at {quote_text(url)}: {error}") from error
    if name.startswith(".") or not _is_plain(name) or len(name) > 200:
        raise InvalidLocation(
            f"{quote_text(url)} does not end in a file name: give one, such as …/sitemap.xml"
        )
    return name


def _is_plain(name: str) -> bool:
    return bool(name) and "/" not in name and "\\" not in name and name.isprintable()


def _tokens(template: str, fixed: dict[str, str]) -> list[tuple[str, str]]:
    """The template as texts and fields in turn, each a pair of which one is "". Known fields become text."""
    tokens: list[tuple[str, str]] = []

    def text(more: str) -> None:
        if tokens and tokens[-1][0]:
            more = tokens.pop()[0] + more
        if more:
            tokens.append((more, ""))

    try:
        parsed = list(Formatter().parse(template))
    except ValueError as error:
        raise InvalidLocation(f"{quote_text(template)} is no template: {error}") from error
    for literal, field, spec, conversion in parsed:
        text(literal)
        if field in fixed:
            text(fixed[field])
        elif field is not None:
            if field not in {*_NUMBERS, "group"} or spec or conversion:
                raise InvalidLocation(
                    f"{quote_text(template)} has a field {field[:64]!r}: there are {{stem}}, {{suffix}}, "
                    f"{{group}}, {{n}} "
                    "and {next}, as they stand"
                )
            tokens.append(("", field))
    return tokens


def _check_fields(tokens: list[tuple[str, str]], template: str, *, grouped: bool) -> None:
    fields = [field for _, field in tokens if field]
    numbers = [place for place, (_, field) in enumerate(tokens) if field in _NUMBERS]
    groups = [place for place, (_, field) in enumerate(tokens) if field == "group"]
    if len(numbers) != 1:
        raise InvalidLocation(
            f"{quote_text(template)} must have one of {{n}} and {{next}}, so that names differ"
        )
    if len(groups) != grouped:
        wanted = "needs {group} once: there are groups" if grouped else "has {group}, and there are no groups"
        raise InvalidLocation(f"{quote_text(template)} {wanted}")
    if grouped:
        number, group = numbers[0], groups[0]
        between = tokens[min(number, group) + 1][0]
        if not between or between[0 if number < group else -1].isdigit() or len(fields) != 2:
            raise InvalidLocation(
                f"{quote_text(template)} must have something other than a digit between {{group}} and the number"
            )


def _pattern(tokens: list[tuple[str, str]], group: str = "") -> str:
    values = {"group": f"(?:{group})", **_NUMBERS}
    return "".join(re.escape(text) if not field else values[field] for text, field in tokens)
