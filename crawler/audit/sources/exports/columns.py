"""Decides which column of a table holds the URLs of the site, and which what is said of them."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Final

from msgspec import Struct

from crawler.audit.claim import Source
from crawler.audit.sources.exports.headers import Role, is_elsewhere, is_grade, roles, url_rank
from crawler.audit.sources.exports.values import is_count
from crawler.audit.sources.urls import Addresses, Stray
from crawler.errors import UsageError
from crawler.model import Url

_LOOKED_AT: Final = 100  # cells of each column

_MOST_COLUMNS: Final = 500

_SHOWN: Final = 20  # columns in a sentence

_like_a_host = re.compile(r"[\w-]+(?:\.[\w-]+)*\.[^\W\d_]{2,24}(?::\d+)?(?=[/?]|$)").match

_ORDER: Final = {
    Source.SEARCH: (Role.CLICKS, Role.IMPRESSIONS),
    Source.ANALYTICS: (Role.VIEWS,),
    Source.BACKLINKS: (Role.LINKS,),
}

_COUNTED: Final = frozenset({Role.SESSIONS, Role.USERS, Role.DOMAINS})

_LINK_COUNTS: Final = (
    3  # columns of a table of pages with the number of their links; those of links have more
)

_is_status = re.compile(r"0|[1-5]\d\d(?:\.0| .*)?").fullmatch

_is_type = re.compile(r"(?:text|application|image|font|audio|video)/[\w.+-]+", re.IGNORECASE).match

_SCHEMES: Final = ("http://", "https://", "HTTP://", "HTTPS://")


class Columns(Struct, frozen=True):
    """The number of the column with the URLs, those of the others by what they say, and how many there are."""

    url: int
    others: dict[Role, int]
    width: int
    has_header: bool


class Reader:
    """Reads cells as URLs of the site, as :class:`Addresses` does, and without a scheme too.

    Without addresses it only tells what is a URL: everything that is one is foreign.
    """

    def __init__(self, addresses: Addresses | None) -> None:
        self._url = addresses.url if addresses else _foreign

    def url(self, text: str) -> Url | Stray:
        """The URL that a cell means."""
        text = text.strip()
        if text.startswith(("/", *_SCHEMES)):
            return self._url(text)
        if found := _like_a_host(text):
            url = self._url(f"https://{text}")
            # "index.html" is a file, and "www.example.net" no more than a name: only our own host needs no path
            if url is not Stray.FOREIGN or found.end() < len(text):
                return url
        return Stray.UNREAD


def _foreign(text: str) -> Url | Stray:  # noqa: ARG001 - in the place of Addresses.url
    return Stray.FOREIGN


def find(sample: Sequence[list[str]], source: Source, reader: Reader, named: str) -> Columns | None:
    """The columns of a table that begins like this; None when none of them holds URLs.

    ``named`` is the name or the number of the one to take. Raises UsageError when there is no such column.
    """
    header, body = _parted(sample, reader)
    width = len(header) if header else _usual_width(body)
    if named:
        url = _named(named, header, width)
    else:
        url = _best(header, body[:_LOOKED_AT], source, reader)
        if url < 0:
            return None
    others = roles(header, source) if header else {}
    others = {role: at for role, at in others.items() if at != url}
    others = {role: at for role, at in _guessed(others, url, header, body, source).items() if at >= 0}
    return Columns(url, others, width, has_header=bool(header))


def listed(sample: Sequence[list[str]]) -> str:
    """The columns of a table, for a sentence."""
    width = _usual_width(sample)
    header = next((row for row in sample if len(row) >= width), [])
    names = [re.sub(r"[^\w .:%#()/+-]", " ", name)[:40].strip() or "(no name)" for name in header[:_SHOWN]]
    return ", ".join(names) + (", …" if len(header) > _SHOWN else "")


def head_of(sample: Sequence[list[str]], reader: Reader) -> list[str]:
    """The names of the columns, if the table has them."""
    return _parted(sample, reader)[0]


def _parted(sample: Sequence[list[str]], reader: Reader) -> tuple[list[str], Sequence[list[str]]]:
    """The header and what follows. Lines before it (titles) are narrower; a table with a URL in it has no header."""
    width = _usual_width(sample)
    at = next((i for i, row in enumerate(sample) if len(row) >= width), 0)
    if at == len(sample) or any(reader.url(cell) is not Stray.UNREAD for cell in sample[at][:_MOST_COLUMNS]):
        return [], sample
    return sample[at], sample[at + 1 :]


def _usual_width(rows: Iterable[list[str]]) -> int:
    counts: dict[int, int] = {}
    for row in rows:
        counts[len(row)] = counts.get(len(row), 0) + 1
    return max(counts, key=lambda width: (counts[width], width), default=0)


def _named(named: str, header: Sequence[str], width: int) -> int:
    names = [name.strip().casefold() for name in header]
    if named.strip().casefold() in names:
        return names.index(named.strip().casefold())
    if named.isdecimal() and 0 < int(named) <= width:
        return int(named) - 1
    raise UsageError(f'has no column "{named}"')


def _best(header: Sequence[str], body: Sequence[list[str]], source: Source, reader: Reader) -> int:
    """The column that holds the URLs, -1 when none does."""
    best, place = (False, False, 0, 0, 0), -1
    for at in range(min(max(map(len, [header, *body])), _MOST_COLUMNS)):
        cells = [row[at] for row in body if at < len(row) and row[at].strip()]
        rank = url_rank(header[at], source) if at < len(header) else 0
        kinds = [(cell, reader.url(cell)) for cell in cells]
        # who looks for a site types its name: a bare name is no sign of a column of URLs
        read = sum(url is not Stray.UNREAD and "/" in cell for cell, url in kinds)
        if read * 2 < len(cells) or (not read and not (rank and not body)):
            continue
        ours = [cell for cell, url in kinds if isinstance(url, str) or url is Stray.BESIDE]
        whole = sum(not cell.startswith("/") for cell in ours)
        elsewhere = at < len(header) and is_elsewhere(header[at])
        merit = (bool(ours), not elsewhere, rank, whole, len(ours))
        if place < 0 or merit > best:
            best, place = merit, at
    return place


def _guessed(
    others: dict[Role, int], url: int, header: Sequence[str], rows: Sequence[list[str]], source: Source
) -> dict[Role, int]:
    """Columns known by what is in them, where the header says nothing to us."""
    rows = [row for row in rows[:_LOOKED_AT] if len(row) > url]
    width = min(map(len, rows), default=0)
    if source == Source.CRAWL:
        return {**others, **_of_answers(others, rows, width)}
    order = _ORDER.get(source, ())
    if any(role in others for role in (*order, *_COUNTED)) or (
        source == Source.BACKLINKS and (width > _LINK_COUNTS or any(map(is_elsewhere, header)))
    ):
        return others
    # the numbers that follow the URL, in the order in which the products give them
    unsaid = (at for at in range(url + 1, width) if at >= len(header) or not is_grade(header[at]))
    numbers = (at for at in unsaid if all(is_count(row[at]) for row in rows))
    return {**others, **dict(zip(order, numbers, strict=False))}


def _is_clearly(cells: Sequence[str], is_one: Callable[[str], object]) -> bool:
    return all(map(is_one, cells)) and any(cell.startswith(("200", "text/html")) for cell in cells)


def _of_answers(others: dict[Role, int], rows: Sequence[list[str]], width: int) -> dict[Role, int]:
    """The columns with the status and the type of answers; one that is only called so is none (-1)."""
    found: dict[Role, int] = {}
    for role, is_one in ((Role.STATUS, _is_status), (Role.TYPE, _is_type)):
        named = others.get(role, -1)
        columns = {
            at: [row[at].strip() for row in rows if at < len(row) and row[at].strip()] for at in range(width)
        }
        if rows and not any(map(is_one, columns.get(named, ()))):
            # without a name it takes more to believe it: three digits may be anything
            named = next((at for at, cells in columns.items() if _is_clearly(cells, is_one)), -1)
        found[role] = named
    return found


LEARNT_FROM: Final = 300  # rows

_CHARACTERS: Final = 4_000_000  # that may be held of them


class Table:
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
            if len(self.sample) == LEARNT_FROM or held > _CHARACTERS:
                break
        # up to the next empty row, which ends it
        self._rest: Iterator[list[str]] = iter(()) if is_over else iter(rows.__next__, [])

    def rows(self) -> Iterator[list[str]]:
        """All rows."""
        return chain(self.sample, self._rest)

    def finish(self) -> None:
        """Leave out what was not taken."""
        for _ in self._rest:
            pass


def tables(rows: Iterator[list[str]]) -> Iterator[Table]:
    """The tables of a file, which empty rows part. Each is to be taken before the next is asked for."""
    while (table := Table(rows)).sample:
        yield table
        table.finish()
