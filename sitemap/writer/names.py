"""File names and URLs of a set, made by a template. Independent of the content."""

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
_MAX_NAME: Final = 255  # bytes of a file name on all common file systems
TOKEN: Final = 8  # characters that tell an interim name from the name that the file will get


class FileNames:
    """The file names of the set at a public URL.

    A single file has the name in the URL, with ``.gz`` added by ``gzip``. If there are several, the index has that
    name, or the name ``index``, and ``template`` names the children. A file is compressed if and only if its name ends
    in ``.gz``, so an index is compressed only if its URL ends in it.

    A template is a plain file name with fields: ``{stem}`` is the name in the URL without its suffix, ``{suffix}`` that
    of the format (".xml", ".txt"), ``{n}`` the number of the file in its group from 1, ``{next}`` the same but empty
    for the first, ``{group}`` the name of the group. It has one number, and ``{group}`` exactly if there are groups; a
    character other than a digit separates the two. The default is ``{stem}-{n}{suffix}`` or
    ``{stem}-{group}-{n}{suffix}``; ``{group}-sitemap{next}.xml`` makes ``post-sitemap.xml``, ``post-sitemap2.xml``.

    InvalidLocation for a URL that is not absolute http(s) or has no usable file name, for an index that is not a plain
    file name, and for a template whose names are not plain or not always different.
    """

    def __init__(
        self,
        url: str,
        template: str = "",
        *,
        gzip: bool = False,
        suffix: str = ".xml",
        grouped: bool = False,
        index: str = "",
    ) -> None:
        self.directory = location.directory(url)
        self.location = url
        self._named = _file_name(url)
        self.index = index or self._named
        if self.index.startswith(".") or not _is_plain(self.index):
            raise InvalidLocation(
                f"{quote_text(index)} is not a valid name of a sitemap index. Use a file name such as sitemap.xml"
            )
        plain = self._named.removesuffix(".gz")
        self._gz = ".gz" if gzip or self._named != plain else ""
        self.single = plain + self._gz
        self._roots = list(dict.fromkeys((plain, self.index.removesuffix(".gz"))))
        self.grouped = grouped
        stem = next((plain.removesuffix(end) for end in _SUFFIXES if plain.endswith(end)), plain)
        fixed = {"stem": stem, "suffix": suffix}
        self._tokens = _tokens(template or (_GROUPED if grouped else _PLAIN), fixed)
        _check_fields(self._tokens, template, grouped=grouped)
        self._ungrouped = [] if template or not grouped else [_pattern(_tokens(_PLAIN, fixed))]
        self._check_names(template)

    def child(self, number: int, group: str = "") -> str:
        """The name of a child by its number from 1 and the slug of its group (:func:`group_slugs`)."""
        values = {"group": group, "n": str(number), "next": str(number) if number > 1 else ""}
        return "".join(text if not field else values[field] for text, field in self._tokens) + self._gz

    def is_index(self, group: str = "") -> bool:
        """Whether a child would have the name of the set itself."""
        children = _pattern(self._tokens, re.escape(group))
        return any(re.fullmatch(children, root, re.IGNORECASE) for root in self._roots)

    def url(self, name: str) -> str:
        """The public URL of a file of the set."""
        return self.location if name == self._named else self.directory + quote(name, safe=_SAFE)

    def file(self, url: str) -> str:
        """The file name of a URL in the directory of the set, or "" if it is in another one or has a query."""
        try:
            if location.directory(url) != self.directory or urlsplit(url).query:
                return ""
            return _file_name(url)
        except InvalidLocation:
            return ""

    def own_pattern(self, groups: Iterable[str] = (), former: Iterable[str] = ()) -> re.Pattern[str]:
        """A pattern of the file names of this set: itself and its children in these groups, compressed or not.

        Files of other groups never match, because they may belong to another tool. ``former`` are full names of earlier
        files that match, too.
        """
        any_group = "|".join(map(re.escape, groups))
        children = [*self._ungrouped, *([_pattern(self._tokens, any_group)] if any_group or not self.grouped else [])]
        own = rf"(?:{'|'.join([*children, *map(re.escape, self._roots)])})(?:\.gz)?"
        return re.compile("|".join([own, *map(re.escape, former)]))

    def _check_names(self, template: str) -> None:
        shortest = self.child(1, "x" if self.grouped else "")
        longest = self.child(limits.MAX_CHILDREN, "x" * (_MAX_SLUG + 65) if self.grouped else "")
        if any(name.startswith(".") or not _is_plain(name) for name in (shortest, longest)):
            raise InvalidLocation(
                f"{quote_text(template)} cannot be the name of a file. Use a plain name without a directory"
            )
        if longest.endswith(".gz") and not self._gz:
            raise InvalidLocation(f"{quote_text(template)} must not end in .gz, because the gzip option adds .gz")
        longest = interim_name(longest, "0" * TOKEN)
        if len(longest.encode()) > _MAX_NAME or len(self.url(longest)) > limits.MAX_LOC:
            raise InvalidLocation(
                f"{quote_text(template or self.location)} would make the names of the files too long. Shorten it"
            )
        if not self.grouped and self.is_index():
            raise InvalidLocation(
                f"{quote_text(template)} can produce {' or '.join(map(repr, self._roots))}, which is the name of the "
                "sitemap itself. Choose another template"
            )


def group_slugs(group: str) -> Iterator[str]:
    """Slugs for the file names of a group, in order of preference: ASCII letters, digits, ``.``, ``-``, ``_``.

    The first is the name of the group with ``-`` for all other characters; it is left out if too little of the name
    remains. The others add a part of its SHA-256, and are for groups whose first slug is taken.
    """
    whole = re.sub("[^A-Za-z0-9_.]+", "-", group).strip("-.")
    nice = re.sub(r"\.(?=gz$)", "-", whole[:_MAX_SLUG].rstrip("-."), flags=re.IGNORECASE)  # .gz would mean compressed
    if 2 * len(nice) > len(group) and len(whole) <= _MAX_SLUG:
        yield nice
    nice = nice or "group"
    digest = hashlib.sha256(group.encode("utf-8", "surrogatepass")).hexdigest()
    yield f"{nice}-{digest[:8]}"
    yield f"{nice}-{digest}"


def url_beside(url: str, name: str) -> str:
    """The URL of a file in the directory of another."""
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
        raise InvalidLocation(f"{quote_text(url)} does not end in a file name. Add a file name, such as …/sitemap.xml")
    return name


def _is_plain(name: str) -> bool:
    return bool(name) and "/" not in name and "\\" not in name and name.isprintable()


def _tokens(template: str, fixed: dict[str, str]) -> list[tuple[str, str]]:
    """The template as pairs of a text and a field, one of which is "". Fixed fields become text."""
    tokens: list[tuple[str, str]] = []

    def text(addition: str) -> None:
        if tokens and tokens[-1][0]:
            addition = tokens.pop()[0] + addition
        if addition:
            tokens.append((addition, ""))

    try:
        parsed = list(Formatter().parse(template))
    except ValueError as error:
        raise InvalidLocation(f"{quote_text(template)} is not a template: {error}") from error
    for literal, field, spec, conversion in parsed:
        text(literal)
        if field in fixed:
            text(fixed[field])
        elif field is not None:
            if field not in {*_NUMBERS, "group"} or spec or conversion:
                raise InvalidLocation(
                    f"{quote_text(template)} contains the field {field[:64]!r}. Use only {{stem}}, {{suffix}}, "
                    f"{{group}}, "
                    "{n} and {next}, without a format"
                )
            tokens.append(("", field))
    return tokens


def _check_fields(tokens: list[tuple[str, str]], template: str, *, grouped: bool) -> None:
    fields = [field for _, field in tokens if field]
    numbers = [place for place, (_, field) in enumerate(tokens) if field in _NUMBERS]
    groups = [place for place, (_, field) in enumerate(tokens) if field == "group"]
    if len(numbers) != 1:
        raise InvalidLocation(f"{quote_text(template)} must contain {{n}} or {{next}} once, so that the names differ")
    if len(groups) != grouped:
        fault = (
            "must contain {group} once, because the sitemap has groups"
            if grouped
            else "must not contain {group}, because the sitemap has no groups"
        )
        raise InvalidLocation(f"{quote_text(template)} {fault}")
    if grouped:
        number, group = numbers[0], groups[0]
        between = tokens[min(number, group) + 1][0]
        if not between or between[0 if number < group else -1].isdigit() or len(fields) != 2:
            raise InvalidLocation(
                f"{quote_text(template)} must contain a character other than a digit between {{group}} and the number"
            )


def _pattern(tokens: list[tuple[str, str]], group: str = "") -> str:
    values = {"group": f"(?:{group})", **_NUMBERS}
    return "".join(re.escape(text) if not field else values[field] for text, field in tokens)
