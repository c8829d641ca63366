"""``siteatlas compare``: shows what differs between two crawls, grouped by cause."""

import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from enum import StrEnum
from pathlib import Path
from typing import Final

import msgspec

from crawler.cli.errors import CommandErrors
from crawler.cli.options import with_parameters
from crawler.dataset.build import open_dataset
from crawler.dataset.compare import FIELDS, ComparedPage, Comparison, Group
from crawler.dataset.compare import compare as compare_pages
from crawler.dataset.schema import DATASET
from crawler.errors import UsageError
from crawler.state.schema import STATE_DB
from crawler.units import count_text
from sitemap import safe

_MOST_SECTIONS: Final = 3
_FOUND: Final = 10  # exit code


class ComparisonFormat(StrEnum):
    """The format of a comparison."""

    TEXT = "text"
    JSON = "json"


@with_parameters()
def compare(  # noqa: PLR0913 - the options of a command
    before: Path,
    after: Path,
    maps: list[str] | None = None,
    form: ComparisonFormat = ComparisonFormat.TEXT,
    limit: int = 25,
    fail_on: list[str] | None = None,
    verbose: bool = False,
) -> None:
    """Show what differs between two crawls: pages, and each field of each page, grouped by cause.

    compare leaves out counters, nonces and small changes of counts. What a partial crawl did not see is not gone.
    """
    with CommandErrors(verbose) as errors:
        names = _known_fields(fail_on or [])
        pairs = [_parse_map(text) for text in maps or []]
        with closing(_open(before)) as old, closing(_open(after)) as new:
            last = new.execute("SELECT completeness FROM runs ORDER BY run DESC LIMIT 1").fetchone()
            is_whole = last is not None and last[0] == "complete"
            result = compare_pages(_pages(old, pairs), _pages(new, []), is_whole=is_whole)
        if form is ComparisonFormat.JSON:
            sys.stdout.write(msgspec.json.format(msgspec.json.encode(result)).decode() + "\n")
        else:
            sys.stdout.writelines(_text(result, limit))
        sys.stdout.flush()
        if any(group.field in names or "any" in names for group in result.groups):
            errors.exit_code = _FOUND


def _known_fields(names: list[str]) -> list[str]:
    known = ("any", "pages", *FIELDS)
    for name in names:
        if name not in known:
            raise UsageError(f"--fail-on does not know {name!r}. It knows {', '.join(known)}")
    return names


def _parse_map(text: str) -> tuple[str, str]:
    old, equals, new = text.partition("=")
    if not (old and equals and new):
        raise UsageError(f"--map {text!r} is not OLD=NEW, such as https://www.example.com=https://staging.example.com")
    return old, new


def _open(place: Path) -> sqlite3.Connection:
    """The tables of an exported file or of a state directory. Raises UsageError."""
    if place.is_dir():
        inner = [path.parent for path in place.glob(f"*/{STATE_DB.file}")]
        if not STATE_DB.is_in(place) and len(inner) == 1:
            return open_dataset(inner[0])
        if len(inner) > 1:
            raise UsageError(f"{place} has several sites. Name one: {', '.join(map(str, sorted(inner)))}")
        return open_dataset(place)
    if not place.exists():
        raise UsageError(f"there is no {place}. Name a file that siteatlas export wrote, or a state directory")
    db = DATASET.open_read_only(place)
    with DATASET.used(place):
        names = {name for (name,) in db.execute("SELECT name FROM sqlite_master")}
        if missing := {"pages", "runs"} - names:
            raise UsageError(f"{place} lacks the table {min(missing)}. Export the crawl again, without --table")
    return db


def _pages(db: sqlite3.Connection, maps: list[tuple[str, str]]) -> Iterator[ComparedPage]:
    for url, *values in db.execute(f"SELECT url, {', '.join(FIELDS)} FROM pages"):  # noqa: S608 - our own
        mapped = [_mapped(value, maps) if isinstance(value, str) else value for value in values]
        yield ComparedPage(_mapped(url, maps), dict(zip(FIELDS, mapped, strict=True)))


def _mapped(value: str, maps: list[tuple[str, str]]) -> str:
    for old, new in maps:
        if value.startswith(old):
            return new + value[len(old) :]
    return value


def _text(result: Comparison, limit: int) -> Iterator[str]:
    gone = (
        "gone: not known, because the later crawl is not complete" if result.gone is None else f"{result.gone:,} gone"
    )
    yield f"{count_text(result.both, 'URL')} in both crawls; {result.new:,} new pages, {gone}, {result.moved:,} moved\n"
    if not result.groups:
        yield "nothing else differs\n"
    shown = result.groups[:limit] if limit else result.groups
    for group in shown:
        yield f"{group.pages:>7,}  {group.field}: {safe(group.cause)}, {_places(group)}\n"
        yield f"         such as {safe(group.examples[0])}\n"
    if rest := len(result.groups) - len(shown):
        yield f"{count_text(rest, 'cause')} more; --limit 0 shows all\n"


def _places(group: Group) -> str:
    names = list(group.sections)
    named = ", ".join(
        f"{name} ({group.sections[name]:,})" if len(names) > 1 else name for name in names[:_MOST_SECTIONS]
    )
    return f"under {named}" + (f" and {len(names) - _MOST_SECTIONS} more" if len(names) > _MOST_SECTIONS else "")
