"""Writes all reports of an audit into a directory: each file atomically, and no stale table of an earlier audit."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO, Final

from crawler.audit.actions import LINKS_FILE, REDIRECTS_FILE
from crawler.audit.finding import AuditFindings, AuditReport
from crawler.audit.report.html import write_html
from crawler.audit.report.machine_readable import as_junit, write_json, write_sarif
from crawler.audit.report.tables import (
    write_accepted,
    write_csv,
    write_findings,
    write_links,
    write_not_asked,
    write_redirects,
    write_resolved,
    write_uncrawled,
    write_xlsx,
)
from crawler.audit.rules import REPORTED_RULES
from crawler.audit.verdict import reported_counts
from crawler.errors import StorageError
from crawler.state.lock import RUN_LEASE
from sitemap import make_directory, replacement

CSV_DIRECTORY: Final = "csv"  # the folder of the tables, one for each rule with findings
RESOLVED_FILE: Final = f"{CSV_DIRECTORY}/mended.csv"
ACCEPTED_FILE: Final = f"{CSV_DIRECTORY}/accepted.csv"
FINDINGS_FILE: Final = f"{CSV_DIRECTORY}/findings.csv"  # all in one
NOT_ASKED_FILE: Final = f"{CSV_DIRECTORY}/not-asked.csv"
UNCRAWLED_FILE: Final = f"{CSV_DIRECTORY}/uncrawled.csv"
WORKBOOK_FILE: Final = "audit.xlsx"
_PREPARED: Final = {REDIRECTS_FILE: write_redirects, LINKS_FILE: write_links}  # for a content management system


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
    for name in {
        RESOLVED_FILE,
        ACCEPTED_FILE,
        FINDINGS_FILE,
        UNCRAWLED_FILE,
        NOT_ASKED_FILE,
        WORKBOOK_FILE,
        *_PREPARED,
        *(f"{CSV_DIRECTORY}/{rule}.csv" for rule in REPORTED_RULES),
    } - streams.keys():
        path = directory / name
        RUN_LEASE.check()
        with _storage(path, "removed"):
            path.unlink(missing_ok=True)
    return written


def _tables(report: AuditReport, findings: AuditFindings) -> dict[str, Callable[[BinaryIO], object]]:
    """The tables that have rows, and the workbook, by name."""
    streams: dict[str, Callable[[BinaryIO], object]] = {}
    if report.compared and report.compared.total.gone:
        streams[RESOLVED_FILE] = lambda file: write_resolved(
            chain.from_iterable(map(findings.resolved, REPORTED_RULES)), file
        )
    if any(entry.findings for entry in report.accepted):
        streams[ACCEPTED_FILE] = partial(write_accepted, report, findings)
    for rule in (count.rule for count in reported_counts(report)):
        streams[f"{CSV_DIRECTORY}/{rule}.csv"] = lambda file, rule=rule: write_csv(findings(rule), file)  # type: ignore[misc]
    files = {action.file for action in report.actions}
    for name, write_table in _PREPARED.items():
        if name in files:
            streams[name] = partial(write_table, report, findings)
    if next(findings.uncrawled(), None):
        streams[UNCRAWLED_FILE] = partial(write_uncrawled, findings)
    if report.not_asked:
        streams[NOT_ASKED_FILE] = partial(write_not_asked, report)
    if reported_counts(report):
        streams[FINDINGS_FILE] = partial(write_findings, report, findings)
    if reported_counts(report) or report.bots:
        streams[WORKBOOK_FILE] = partial(write_xlsx, report, findings)
    return streams


def prepare_directory(directory: Path) -> None:
    """Create a directory for reports, and check that it is writable. Raises StorageError, which names it."""
    try:
        make_directory(directory)
        TemporaryFile(dir=directory).close()
    except OSError as error:
        raise StorageError(
            f"reports cannot be written in {directory}: {error.strerror or error}. Choose another directory with -o"
        ) from None


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
        raise StorageError(f"{path} cannot be {done}: {error.strerror or error}") from error
