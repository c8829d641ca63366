"""Writes all reports of an audit into a directory: each file atomically, and no stale table of an earlier audit."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO, Final

from crawler.audit.finding import AuditFindings, AuditReport
from crawler.audit.report.html import write_html
from crawler.audit.report.machine_readable import as_junit, write_json, write_sarif
from crawler.audit.report.tables import CSV_DIRECTORY, TABLES, write_csv, write_table, write_xlsx
from crawler.audit.rules import OWN, REPORTED_RULES
from crawler.audit.verdict import reported_counts
from crawler.errors import StorageError
from crawler.state.lock import RUN_LEASE
from sitemap import destination_error, make_directory, replacement

WORKBOOK_FILE: Final = "audit.xlsx"


def write_reports(
    report: AuditReport, findings: AuditFindings, directory: Path, fail_on: Sequence[str] = ("error",)
) -> list[Path]:
    """Write all reports into a directory, which is created if missing; returns their paths.

    They are ``audit.html``, ``audit.json``, ``audit.sarif`` and ``audit.junit.xml``; with findings, ``audit.xlsx``,
    ``csv/findings.csv``, and ``csv/RULE.csv`` for each rule; and ``csv/redirects.csv``, ``csv/links.csv``,
    ``csv/uncrawled.csv``, ``csv/not-asked.csv``, ``csv/accepted.csv`` and ``csv/mended.csv`` if they have rows.
    ``audit.xlsx`` has bot activity too. Tables without rows are removed; no other file is touched. ``fail_on`` decides
    which cases of JUnit fail. Raises StorageError that names the path, UsageError for a bad ``fail_on``, and LeaseLost.
    """
    junit = as_junit(report, findings, fail_on).encode()
    streams: dict[str, Callable[[BinaryIO], object]] = {
        "audit.html": partial(write_html, report, findings),
        "audit.json": partial(write_json, report, findings),
        "audit.sarif": partial(write_sarif, report, findings),
        "audit.junit.xml": lambda file: file.write(junit),
        **_tables(report, findings),
    }
    written = [_write(directory / name, write) for name, write in streams.items()]
    known = {WORKBOOK_FILE, *filter(None, (table.file for table in TABLES)), *map(_rule_file, REPORTED_RULES)}
    known |= {f"{CSV_DIRECTORY}/{file.name}" for file in (directory / CSV_DIRECTORY).glob(f"{OWN}.*.csv")}
    for name in known - streams.keys():
        path = directory / name
        RUN_LEASE.check()
        with _storage(path, "removed"):
            path.unlink(missing_ok=True)
    return written


def _rule_file(rule: str) -> str:
    return f"{CSV_DIRECTORY}/{rule}.csv"


def _tables(report: AuditReport, findings: AuditFindings) -> dict[str, Callable[[BinaryIO], object]]:
    """The tables that have rows, and the workbook, by name."""
    streams: dict[str, Callable[[BinaryIO], object]] = {}
    for rule in (count.rule for count in reported_counts(report)):
        streams[_rule_file(rule)] = lambda file, rule=rule: write_csv(findings(rule), file)  # type: ignore[misc]
    for table in TABLES:
        if table.file and next(table.rows(report, findings), None):
            streams[table.file] = lambda file, table=table: write_table(  # type: ignore[misc]
                table.headings, table.rows(report, findings), file
            )
    if reported_counts(report) or report.bots:
        streams[WORKBOOK_FILE] = partial(write_xlsx, report, findings)
    return streams


def prepare_directory(directory: Path) -> None:
    """Create a directory for reports, and check that it is writable. Raises StorageError, which names it."""
    try:
        make_directory(directory)
        TemporaryFile(dir=directory).close()
    except OSError as error:
        problem = str(destination_error(f"reports cannot be written in {directory}", error))
        raise StorageError(f"{problem} (-o)" if "another directory" in problem else problem) from None


def _write(path: Path, write: Callable[[BinaryIO], object]) -> Path:
    with _storage(path, "written"):
        make_directory(path.parent)
        with replacement(path) as file:
            write(file)
            RUN_LEASE.check()
    return path


@contextmanager
def _storage(path: Path, done: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StorageError(str(destination_error(f"{path} cannot be {done}", error))) from error
