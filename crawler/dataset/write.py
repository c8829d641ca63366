"""Writes the data set as a SQLite file, a folder of CSV, JSON lines or Parquet, or a workbook."""

import csv
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from enum import StrEnum
from functools import partial
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any, Final

import msgspec

from crawler.audit.report.tables import cell_text
from crawler.dataset.query import lacking_orphans
from crawler.dataset.schema import DATASET, TABLES
from crawler.errors import StorageError, UsageError
from crawler.packages import missing_packages
from sitemap import create_file

_ROWS_OF_SHEET: Final = 1_048_575  # https://support.microsoft.com/office/excel-specifications-and-limits
_CHUNK: Final = 5_000  # rows
_CACHE: Final = 64_000  # kB of the database in memory
_ROW_GROUP: Final = 50_000  # rows of a Parquet file that are written together
_NUMBERED: Final = {
    "source": ("url", "url", "TEXT"),
    "target": ("url", "url", "TEXT"),
    "kind": ("link_type", "kind", "TEXT"),
    "nofollow": ("link_type", "nofollow", "INTEGER"),
    "place": ("link_type", "place", "TEXT"),
    "internal": ("url", "internal", "INTEGER"),
}
"""The columns of links of which ``typed_link`` has an id: the table with what it means, the column there, its type."""


class DataFormat(StrEnum):
    """A format of the data set."""

    SQLITE = "sqlite"
    CSV = "csv"
    JSONL = "jsonl"
    PARQUET = "parquet"
    XLSX = "xlsx"


_BY_ENDING: Final = {
    ".sqlite": DataFormat.SQLITE,
    ".sqlite3": DataFormat.SQLITE,
    ".db": DataFormat.SQLITE,
    ".xlsx": DataFormat.XLSX,
}
_OF_ONE_TABLE: Final = (".csv", ".tsv", ".ods", ".json", ".jsonl", ".parquet")


def format_of(target: Path, given: DataFormat | None) -> DataFormat:
    """The format by the name of the target, CSV for a folder. Raises UsageError if it contradicts the given one."""
    by_name = _BY_ENDING.get(target.suffix.lower())
    if by_name is None and target.suffix.lower() in _OF_ONE_TABLE:
        raise UsageError(
            f"{target} looks like a file of one table, which siteatlas query prints with --format csv. For all tables, "
            f"name a folder, such as {target.with_suffix('')}/, or a file whose name ends in .sqlite or .xlsx"
        )
    if given is None:
        return by_name or DataFormat.CSV
    if (by_name in _FILE_WRITERS or given in _FILE_WRITERS) and by_name != given:
        endings = " or ".join(ending for ending, form in _BY_ENDING.items() if form is given)
        wanted = f"a file whose name ends in {endings}" if given in _FILE_WRITERS else "a folder"
        raise UsageError(f"{target} does not fit the format {given}. Name {wanted}")
    return given


def write_dataset(db: sqlite3.Connection, target: Path, form: DataFormat, tables: Sequence[str]) -> list[str]:
    """Write tables to a file or into a folder. Returns notes on what is missing. Raises UsageError, StorageError.

    Every file is complete before it replaces one of its name.
    """
    if form in _FILE_WRITERS and target.is_dir():
        raise UsageError(f"{target} is a directory. Name a file")
    notes = [*filter(None, (lacking_orphans(db),))] if "pages" in tables else []
    try:
        (target.parent if form in _FILE_WRITERS else target).mkdir(parents=True, exist_ok=True)
        if form in _FILE_WRITERS:
            return notes + _replace(target, partial(_FILE_WRITERS[form], db, tables))
        for name in tables:
            _replace(target / f"{name}.{form}", partial(_FOLDER_WRITERS[form], db, name))
    except (OSError, sqlite3.Error) as error:
        reason = getattr(error, "strerror", None) or error
        raise StorageError(
            f"{target} cannot be written: {reason}. Free space there, or name another place with -o"
        ) from error
    return notes


def _replace(target: Path, write: Callable[[Path], list[str] | None]) -> list[str]:
    draft = target.with_name(f".{target.name}.draft")
    draft.unlink(missing_ok=True)
    try:
        notes = write(draft)
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)
    return notes or []


def _rows(db: sqlite3.Connection, table: str) -> Iterator[tuple[object, ...]]:
    if table == "links":
        db.execute(f"PRAGMA cache_size = -{_CACHE}")  # each link looks for two URLs
    names = ", ".join(column.name for column in TABLES[table])
    cursor = db.execute(f"SELECT {names} FROM {table}")  # noqa: S608 - our own
    while rows := cursor.fetchmany(_CHUNK):
        yield from rows


def _write_sqlite(db: sqlite3.Connection, tables: Sequence[str], draft: Path) -> None:
    with closing(DATASET.create(draft)) as copy:
        db.backup(copy)
        copy.execute("DROP TABLE read")
        dropped = TABLES.keys() - {*tables}
        for name in dropped:
            copy.execute(f"DROP {'VIEW' if name == 'links' else 'TABLE'} {name}")
        if dropped:
            copy.execute("DROP VIEW pages_in_search")
            copy.execute("VACUUM")


def _write_csv(db: sqlite3.Connection, table: str, draft: Path) -> None:
    with (
        create_file(draft, 0o666) as raw,
        open(raw.fileno(), "w", encoding="utf-8-sig", newline="", closefd=False) as file,
    ):
        writer = csv.writer(file)
        writer.writerow(column.name for column in TABLES[table])
        writer.writerows(map(csv_cells, _rows(db, table)))


def csv_cells(row: Sequence[object]) -> list[object]:
    """A row as a spreadsheet may read it: no text is a formula."""
    return [cell_text(value) if isinstance(value, str) else value for value in row]


def _write_jsonl(db: sqlite3.Connection, table: str, draft: Path) -> None:
    names = [column.name for column in TABLES[table]]
    encoder = msgspec.json.Encoder()
    with create_file(draft, 0o666) as file:
        for row in _rows(db, table):
            file.write(encoder.encode(dict(zip(names, row, strict=True))) + b"\n")


def _write_parquet(db: sqlite3.Connection, table: str, draft: Path) -> None:
    if find_spec("pyarrow") is None:
        raise missing_packages("Parquet", "parquet")
    import pyarrow as pa  # noqa: PLC0415 - an extra
    from pyarrow.parquet import ParquetWriter  # noqa: PLC0415 - an extra

    kinds = {"TEXT": pa.string(), "INTEGER": pa.int64(), "REAL": pa.float64()}
    schema = pa.schema([(column.name, kinds[column.type]) for column in TABLES[table]])
    numbered = _NUMBERED if table == "links" else {}
    by_id = {of: pa.chunked_array(_by_id(db, *of[:2]), kinds[of[2]]) for of in {*numbered.values()}}
    rows = _rows(db, table)
    rest = (zip(*group, strict=True) for group in iter(lambda: [*islice(rows, _ROW_GROUP)], []))
    # the thread ends before the writer is closed, also if this is interrupted
    with ParquetWriter(draft, schema, compression="zstd") as writer, ThreadPoolExecutor(1) as thread:
        written = thread.submit(int)
        for columns in _link_groups(db) if numbered else rest:
            arrays = [
                by_id[of].take(pa.array(values, pa.int64())).combine_chunks() if of else pa.array(values, field.type)
                for field, values in zip(schema, columns, strict=True)
                for of in (numbered.get(field.name),)
            ]
            written.result()  # while SQLite reads a group, the one before is written
            written = thread.submit(writer.write_batch, pa.record_batch(arrays, schema=schema))
        written.result()


def _by_id(db: sqlite3.Connection, table: str, column: str) -> Iterator[list[Any]]:
    """A column of a table from the id 0 on, in parts."""
    query = f"SELECT id, {column} FROM {table} WHERE id >= ? AND id < ?"  # noqa: S608 - our own
    for ids in _ids(db, table):
        found = dict(db.execute(query, ids).fetchall())
        yield [*map(found.get, range(*ids))]


def _ids(db: sqlite3.Connection, table: str) -> Iterator[tuple[int, int]]:
    (last,) = db.execute(f"SELECT coalesce(max(rowid), 0) FROM {table}").fetchone()  # noqa: S608 - our own
    return ((first, first + _ROW_GROUP) for first in range(0, last + 1, _ROW_GROUP))


def _link_groups(db: sqlite3.Connection) -> Iterator[list[list[Any]]]:
    """The columns of links with ids: to look up here what they mean takes a third of the time that SQLite needs."""
    stored = {"kind": "type", "nofollow": "type", "place": "type", "internal": "target"}
    columns = ", ".join(f"json_group_array({stored.get(column.name, column.name)})" for column in TABLES["links"])
    query = f"SELECT json_array({columns}) FROM typed_link WHERE rowid >= ? AND rowid < ?"  # noqa: S608 - our own
    return (msgspec.json.decode(db.execute(query, ids).fetchone()[0]) for ids in _ids(db, "typed_link"))


def _write_xlsx(db: sqlite3.Connection, tables: Sequence[str], draft: Path) -> list[str]:
    from xlsxwriter import Workbook  # noqa: PLC0415 - only this format needs it

    notes = []
    book = Workbook(
        str(draft),
        {"constant_memory": True, "strings_to_formulas": False, "strings_to_urls": False, "in_memory": False},
    )
    bold = book.add_format({"bold": True})
    for name in tables:
        sheet = book.add_worksheet(name)
        for number, column in enumerate(TABLES[name]):
            sheet.write_string(0, number, column.name, bold)
        sheet.freeze_panes(1, 1)
        for place, row in enumerate(_rows(db, name), 1):
            if place > _ROWS_OF_SHEET:
                notes.append(f"{name} has more rows than a sheet: the first {_ROWS_OF_SHEET:,} are in the workbook")
                break
            for number, value in enumerate(csv_cells(row)):
                if isinstance(value, str):
                    sheet.write_string(place, number, value)
                elif value is not None:
                    sheet.write_number(place, number, value)
    book.close()
    return notes


_FILE_WRITERS: Final = {DataFormat.SQLITE: _write_sqlite, DataFormat.XLSX: _write_xlsx}
_FOLDER_WRITERS: Final = {
    DataFormat.CSV: _write_csv,
    DataFormat.JSONL: _write_jsonl,
    DataFormat.PARQUET: _write_parquet,
}
