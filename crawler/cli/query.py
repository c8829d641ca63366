"""``siteatlas query``: asks the tables of a crawl by SQL, or one of the questions that come with the program."""

import csv
import io
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import closing
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

import msgspec

from crawler.cli.errors import CommandErrors
from crawler.cli.options import StatesConfigOption, with_flags
from crawler.cli.sites import find_state_directory, find_states
from crawler.crawl.documents import is_url
from crawler.dataset.build import open_dataset
from crawler.dataset.query import Answer, ask, named, questions
from crawler.dataset.schema import TABLES
from crawler.dataset.write import csv_cells
from crawler.errors import UsageError
from sitemap import safe

_MAX_CELL: Final = 100  # characters of a cell of the text table


class AnswerFormat(StrEnum):
    """The format of an answer."""

    TEXT = "text"
    CSV = "csv"
    JSON = "json"


@with_flags("state.directory", "site.sitemap_url")
def query(  # noqa: PLR0913 - the options of a command
    words: list[str] | None = None,
    name: str | None = None,
    lists: bool = False,
    tables: bool = False,
    form: AnswerFormat = AnswerFormat.TEXT,
    limit: int = 1_000,
    seconds: float = 30.0,
    is_for_all: bool = False,
    shows_sql: bool = False,
    config: StatesConfigOption = None,
    site: str | None = None,
    verbose: bool = False,
    **flags: Any,
) -> None:
    """Ask the last finished run of a site by SQL: its pages, links, redirects and changes.

    query only reads. It requests nothing from the site.
    """
    with CommandErrors(verbose):
        if lists or tables:
            sys.stdout.writelines(_questions() if lists else _tables())
            return
        url, sql = _parse_words(words or [], name)
        if shows_sql:
            sys.stdout.write(f"{sql.strip()}\n")
            return
        if is_for_all:
            if url or site:
                raise UsageError("--all-sites asks each site. Leave out the URL and --site")
            answer = _ask_all(find_states(config, flags, []), sql, limit, seconds)
        else:
            with closing(open_dataset(find_state_directory(url, config, site, flags, audited=True))) as db:
                answer = ask(db, sql, limit=limit, seconds=seconds)
        sys.stdout.writelines(_FORMS[form](answer))
        sys.stdout.flush()
        if answer.lacks:
            sys.stderr.write(f"note: {answer.lacks}\n")
        if answer.is_cut:
            sys.stderr.write(f"only the first {limit:,} rows are shown; --limit 0 shows all\n")


def _parse_words(words: list[str], name: str | None) -> tuple[str | None, str]:
    """The URL and the statement. Raises UsageError."""
    urls = [word for word in words if is_url(word)]
    statements = [word for word in words if not is_url(word)]
    if name:
        statements.append(named(name).sql)
    if len(statements) != 1 or len(urls) > 1:
        raise UsageError("give one SELECT statement in quotes, or --named with a question (--list shows them)")
    return (urls[0] if urls else None), statements[0]


def _ask_all(states: Iterable[tuple[str, Path, object]], sql: str, limit: int, seconds: float) -> Answer:
    """The answers of all sites in one, with a column ``site``. Raises UsageError if no site has an answer."""
    found: list[tuple[str, Answer]] = []
    end = time.monotonic() + seconds
    for name, directory, _ in states:
        left = limit and max(1, limit - sum(len(answer.rows) for _, answer in found))
        try:
            with closing(open_dataset(directory)) as tables:
                found.append((name, ask(tables, sql, limit=left, seconds=max(0.1, end - time.monotonic()))))
        except UsageError as error:  # a site that cannot answer must not hide the others
            sys.stderr.write(f"{name}: {error}\n")
    if not found:
        raise UsageError("no site has an answer. Run siteatlas run first if none has a finished run")
    sys.stderr.writelines(f"note: {name}: {answer.lacks}\n" for name, answer in found if answer.lacks)
    rows = [(name, *row) for name, answer in found for row in answer.rows]
    is_cut = any(answer.is_cut for _, answer in found) or bool(limit and len(rows) > limit)
    return Answer(("site", *found[0][1].columns), rows[:limit] if limit else rows, is_cut)


def _questions() -> Iterable[str]:
    known = questions()
    width = max(len(question.name) for question in known)
    return (f"{question.name:{width}}  {question.text}\n" for question in known)


def _tables() -> Iterable[str]:
    for name, columns in TABLES.items():
        yield f"{name}\n"
        yield from (f"  {column.name:18} {column.type.lower():8} {column.meaning}\n" for column in columns)


def _text(answer: Answer) -> Iterable[str]:
    rows = [[_shown(value) for value in row] for row in (answer.columns, *answer.rows)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() + "\n"
    if not answer.rows:
        yield "no rows\n"


def _shown(value: object) -> str:
    text = "" if value is None else safe(str(value))
    return text if len(text) <= _MAX_CELL else f"{text[: _MAX_CELL - 1]}…"


def _csv(answer: Answer) -> Iterable[str]:
    lines = io.StringIO(newline="")
    csv.writer(lines).writerows(map(csv_cells, (answer.columns, *answer.rows)))
    yield f"\ufeff{lines.getvalue()}"


def _json(answer: Answer) -> Iterable[str]:
    rows = [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]
    yield msgspec.json.format(msgspec.json.encode(rows)).decode() + "\n"


_FORMS: Final[dict[AnswerFormat, Callable[[Answer], Iterable[str]]]] = {
    AnswerFormat.TEXT: _text,
    AnswerFormat.CSV: _csv,
    AnswerFormat.JSON: _json,
}
