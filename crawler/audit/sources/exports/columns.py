"""Finds the column of a table with the URLs of the site and those with counts and days, and parses their cells."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date
from itertools import chain
from typing import Final

from msgspec import Struct

from crawler.audit.source_record import SourceKind
from crawler.audit.sources.exports.headers import (
    ColumnRole,
    find_roles,
    is_other_url_column,
    is_rating_column,
    is_url_column,
)
from crawler.audit.sources.urls import RejectReason, SourceUrlParser
from crawler.errors import UsageError
from crawler.model import Url

MAX_COUNT: Final = 10**15  # greater counts are broken, and sums must fit the integers of SQLite
_blanks = re.compile(r"[\s\u00a0\u2007\u202f'\u2019_]+").sub
_number = re.compile(r"([<>~≈=+]*)(\d[\d.,]*)([kmb]?)%?", re.IGNORECASE).fullmatch
_grouped = re.compile(r"\d{1,3}([.,])\d{2,3}(?:\1\d{2,3})*").fullmatch
_FACTOR: Final = {"": 1, "k": 1_000, "m": 1_000_000, "b": 1_000_000_000}
_day = re.compile(r"(\d{4})[-/.]?(\d{2})[-/.]?(\d{2})(?!\d)").match
_german_day = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})(?!\d)").match
_days_in = re.compile(r"(?<!\d)(20\d{2})(-?)(\d{2})\2(\d{2})(?!\d)").finditer


def is_count(text: str) -> bool:
    """Whether a text is a number."""
    return _number(_blanks("", text)) is not None


def parse_count(text: str) -> int:
    """The whole part of a number: ``1,234``, ``1.234``, ``1 234``, ``1234.0``, ``1.2K``; 0 for other text.

    ``<10`` counts as 1: the number is not known.
    """
    if text.isascii() and text.isdigit() and len(text) < 16:
        return int(text)
    match = _number(_blanks("", text))
    if match is None:
        return 0
    sign, digits, unit = match.groups()
    value = min(_value(digits, unit), MAX_COUNT)
    return int(value > 1) if "<" in sign else int(value)


def _value(digits: str, unit: str) -> float:
    if len(digits) > 40:
        return MAX_COUNT
    group = _grouped(digits)
    if group and not unit and len(digits) - digits.rindex(group[1]) == 4 and digits[0] != "0":
        return float(re.sub(r"[.,]", "", digits))
    whole, _, fraction = digits.replace(",", ".").rpartition(".")
    if not whole:
        return float(fraction) * _FACTOR[unit.lower()]
    return float(f"{whole.replace('.', '') or 0}.{fraction or 0}") * _FACTOR[unit.lower()]


def parse_day(text: str) -> str:
    """The day (``2026-11-21``) at the beginning of a date: ISO, ``20261121``, ``21.11.2026``; "" for all others.

    ``11/21/2026`` is ambiguous, and so no day.
    """
    text = text.strip()
    if match := _day(text):
        return _iso(*match.groups())
    if match := _german_day(text):
        return _iso(match[3], match[2], match[1])
    return ""


def find_days(text: str) -> list[str]:
    """The days in a text, as ISO or ``20261121``."""
    return [day for match in _days_in(text) if (day := _iso(match[1], match[3], match[4]))]


def _iso(year: str, month: str, number: str) -> str:
    try:
        return date(int(year), int(month), int(number)).isoformat()
    except ValueError:
        return ""


_SAMPLE_ROWS: Final = 100  # cells of each column
_MAX_COLUMNS: Final = 500
_MAX_NAMED: Final = 20  # columns in a sentence
_like_a_host = re.compile(r"[\w-]+(?:\.[\w-]+)*\.[^\W\d_]{2,24}(?::\d+)?(?=[/?]|$)").match
_ROLE_ORDER: Final = {
    SourceKind.SEARCH: (ColumnRole.CLICKS, ColumnRole.IMPRESSIONS),
    SourceKind.ANALYTICS: (ColumnRole.VIEWS,),
    SourceKind.BACKLINKS: (ColumnRole.LINKS,),
}
_COUNT_ROLES: Final = frozenset({ColumnRole.SESSIONS, ColumnRole.USERS, ColumnRole.DOMAINS})
_MAX_COUNT_COLUMNS: Final = 3  # columns of a table of pages with link counts; a table of links has more
_is_status = re.compile(r"0|[1-5]\d\d(?:\.0| .*)?").fullmatch
_is_type = re.compile(r"(?:text|application|image|font|audio|video)/[\w.+-]+", re.IGNORECASE).match
_SCHEMES: Final = ("http://", "https://", "HTTP://", "HTTPS://")


class ExportColumns(Struct, frozen=True):
    """The index of the column with the URLs, the indexes of the others by their roles, and the number of columns.

    ``header`` has the names of the columns, none without a header.
    """

    url: int
    by_role: dict[ColumnRole, int]
    width: int
    header: Sequence[str]


class CellUrlParser:
    """Parses cells as URLs of the site, also without a scheme; see :class:`SourceUrlParser`.

    Without ``addresses`` every URL is foreign.
    """

    def __init__(self, addresses: SourceUrlParser | None) -> None:
        self._url = addresses.parse if addresses else lambda _: RejectReason.FOREIGN

    def parse(self, text: str) -> Url | RejectReason:
        """The URL of a cell."""
        text = text.strip()
        if text.startswith(("/", *_SCHEMES)):
            return self._url(text)
        if match := _like_a_host(text):
            url = self._url(f"https://{text}")
            # "index.html" is a file and "www.example.net" a mere name: only the site's own host needs no path
            if url is not RejectReason.FOREIGN or match.end() < len(text):
                return url
        return RejectReason.UNREAD


def find_columns(
    sample: Sequence[list[str]], source: SourceKind, reader: CellUrlParser, named: str
) -> ExportColumns | None:
    """The columns of a table with these first rows; None when none has URLs.

    ``named`` is the name or the number of the column with the URLs, or "". Raises UsageError without such a column.
    """
    header, body = _split_header(sample, reader)
    width = len(header) if header else _usual_width(body)
    if named:
        url = _named_column(named, header, width)
    else:
        url = _url_column(header, body[:_SAMPLE_ROWS], reader)
        if url < 0:
            return None
    others = find_roles(header, source) if header else {}
    others = {role: at for role, at in others.items() if at != url}
    others = {role: at for role, at in _guess_roles(others, url, header, body, source).items() if at >= 0}
    return ExportColumns(url, others, width, header)


def columns_text(sample: Sequence[list[str]]) -> str:
    """The names of the columns, for a message."""
    width = _usual_width(sample)
    header = next((row for row in sample if len(row) >= width), [])
    names = [re.sub(r"[^\w .:%#()/+-]", " ", name)[:40].strip() or "(no name)" for name in header[:_MAX_NAMED]]
    return ", ".join(names) + (", …" if len(header) > _MAX_NAMED else "")


def _split_header(sample: Sequence[list[str]], reader: CellUrlParser) -> tuple[list[str], Sequence[list[str]]]:
    """The header and the rows after it. Titles before it are narrower. A first row with a URL is no header."""
    width = _usual_width(sample)
    at = next((i for i, row in enumerate(sample) if len(row) >= width), 0)
    if at == len(sample) or any(reader.parse(cell) is not RejectReason.UNREAD for cell in sample[at][:_MAX_COLUMNS]):
        return [], sample
    return sample[at], sample[at + 1 :]


def _usual_width(rows: Iterable[list[str]]) -> int:
    counts: dict[int, int] = {}
    for row in rows:
        counts[len(row)] = counts.get(len(row), 0) + 1
    return max(counts, key=lambda width: (counts[width], width), default=0)


def _named_column(named: str, header: Sequence[str], width: int) -> int:
    names = [name.strip().casefold() for name in header]
    if named.strip().casefold() in names:
        return names.index(named.strip().casefold())
    if named.isdecimal() and 0 < int(named) <= width:
        return int(named) - 1
    raise UsageError(f'has no column "{named}"')


def _url_column(header: Sequence[str], body: Sequence[list[str]], reader: CellUrlParser) -> int:
    """The index of the column with the URLs, -1 without one."""
    best, place = (False, False, False, 0, 0), -1
    for at in range(min(max(map(len, [header, *body])), _MAX_COLUMNS)):
        cells = [row[at] for row in body if at < len(row) and row[at].strip()]
        is_named = at < len(header) and is_url_column(header[at])
        kinds = [(cell, reader.parse(cell)) for cell in cells]
        # search queries contain names of sites: a bare host is no sign of a column of URLs
        read = sum(url is not RejectReason.UNREAD and "/" in cell for cell, url in kinds)
        if read * 2 < len(cells) or (not read and not (is_named and not body)):
            continue
        ours = [cell for cell, url in kinds if isinstance(url, str)]
        whole = sum(not cell.startswith("/") for cell in ours)
        is_other = at < len(header) and is_other_url_column(header[at])
        merit = (bool(ours), not is_other, is_named, whole, len(ours))
        if place < 0 or merit > best:
            best, place = merit, at
    return place


def _guess_roles(
    others: dict[ColumnRole, int], url: int, header: Sequence[str], rows: Sequence[list[str]], source: SourceKind
) -> dict[ColumnRole, int]:
    """The roles of columns by their cells, where the header has no known name."""
    rows = [row for row in rows[:_SAMPLE_ROWS] if len(row) > url]
    width = min(map(len, rows), default=0)
    if source == SourceKind.CRAWL:
        return {**others, **_response_columns(others, rows, width)}
    order = _ROLE_ORDER.get(source, ())
    if any(role in others for role in (*order, *_COUNT_ROLES)) or (
        source == SourceKind.BACKLINKS and (width > _MAX_COUNT_COLUMNS or any(map(is_other_url_column, header)))
    ):
        return others
    # the numbers after the URL, in the order of the products
    unnamed = (at for at in range(url + 1, width) if at >= len(header) or not is_rating_column(header[at]))
    numbers = (at for at in unnamed if all(is_count(row[at]) for row in rows))
    return {**others, **dict(zip(order, numbers, strict=False))}


def _nearly_all(cells: Sequence[str], is_one: Callable[[str], object]) -> bool:
    return all(map(is_one, cells)) and any(cell.startswith(("200", "text/html")) for cell in cells)


def _response_columns(others: dict[ColumnRole, int], rows: Sequence[list[str]], width: int) -> dict[ColumnRole, int]:
    """The columns with the status and the type of answers; one that is only called so is none (-1)."""
    by_role: dict[ColumnRole, int] = {}
    for role, is_one in ((ColumnRole.STATUS, _is_status), (ColumnRole.TYPE, _is_type)):
        named = others.get(role, -1)
        columns = {at: [row[at].strip() for row in rows if at < len(row) and row[at].strip()] for at in range(width)}
        if rows and not any(map(is_one, columns.get(named, ()))):
            # without a name it takes more to believe it: three digits may be anything
            named = next((at for at, cells in columns.items() if _nearly_all(cells, is_one)), -1)
        by_role[role] = named
    return by_role


SAMPLE_ROWS: Final = 300  # rows
_MAX_SAMPLE_CHARACTERS: Final = 4_000_000  # that may be held of them


class ExportTable:
    """One table. ``sample`` are its first rows, which come again in ``rows``; these are to be taken once."""

    def __init__(self, rows: Iterator[list[str]]) -> None:
        self.sample: list[list[str]] = []
        held = 0
        is_over = False
        for row in rows:
            if not row:
                is_over = bool(self.sample)
                if is_over:
                    break
                continue
            self.sample.append(row)
            held += sum(map(len, row))
            if len(self.sample) == SAMPLE_ROWS or held > _MAX_SAMPLE_CHARACTERS:
                break
        # up to the next empty row, which ends it
        self._rest: Iterator[list[str]] = iter(()) if is_over else iter(rows.__next__, [])

    def rows(self) -> Iterator[list[str]]:
        """All rows."""
        return chain(self.sample, self._rest)

    def skip_rest(self) -> None:
        """Skip the remaining rows."""
        for _ in self._rest:
            pass


def split_tables(rows: Iterator[list[str]]) -> Iterator[ExportTable]:
    """The tables of a file, which empty rows separate. Consume each before the next."""
    while (table := ExportTable(rows)).sample:
        yield table
        table.skip_rest()
