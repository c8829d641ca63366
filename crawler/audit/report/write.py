"""Writes all reports of an audit into a directory: each file atomically, and no stale table of an earlier audit."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO, Final

from crawler.audit.finding import AuditFindings, AuditReport
from crawler.audit.report.csv import write_csv, write_resolved
from crawler.audit.report.html import write_html
from crawler.audit.report.json import write_json
from crawler.audit.report.junit import as_junit
from crawler.audit.report.sarif import write_sarif
from crawler.audit.rule_groups import REPORTED_RULES, reported_counts
from crawler.errors import StorageError

CSV_DIRECTORY: Final = "csv"  # the folder of the tables, one for each rule with findings
RESOLVED_FILE: Final = f"{CSV_DIRECTORY}/mended.csv"


def write_reports(
    report: AuditReport, findings: AuditFindings, directory: Path, fail_on: Sequence[str] = ("error",)
) -> list[Path]:
    """Write all reports into a directory, which is created if missing; returns their paths.

    They are ``audit.html``, ``audit.json``, ``audit.sarif``, ``audit.junit.xml``, ``csv/RULE.csv`` for each rule with
    findings, and ``csv/mended.csv`` if some are resolved or replaced. Tables of rules without findings are removed; no
    other file is touched. ``fail_on`` decides which cases of JUnit fail. Raises StorageError that names the path, and
    UsageError for a bad ``fail_on``.
    """
    junit = as_junit(report, findings, fail_on).encode()
    written = [_write_atomically(directory / "audit.html", lambda path: write_html(report, findings, path))]
    streams: dict[str, Callable[[BinaryIO], object]] = {
        "audit.json": partial(write_json, report, findings),
        "audit.sarif": partial(write_sarif, report, findings),
        "audit.junit.xml": lambda file: file.write(junit),
    }
    if report.compared and report.compared.total.gone:
        streams[RESOLVED_FILE] = lambda file: write_resolved(
            chain.from_iterable(map(findings.resolved, REPORTED_RULES)), file
        )
    for rule in (count.rule for count in reported_counts(report)):
        streams[f"{CSV_DIRECTORY}/{rule}.csv"] = lambda file, rule=rule: write_csv(findings(rule), file)  # type: ignore[misc]
    for name, write in streams.items():
        written.append(_write_atomically(directory / name, partial(_write_stream, write)))
    for name in {RESOLVED_FILE, *(f"{CSV_DIRECTORY}/{rule}.csv" for rule in REPORTED_RULES)} - streams.keys():
        path = directory / name
        with _storage(path, "removed"):
            path.unlink(missing_ok=True)
    return written


def prepare_directory(directory: Path) -> None:
    """Create a directory for reports, and check that it is writable. Raises StorageError, which names it."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        TemporaryFile(dir=directory).close()
    except OSError as error:
        raise StorageError(
            f"reports cannot be written in {directory}: {error.strerror or error}; choose another directory with -o"
        ) from None


def _write_atomically(path: Path, write: Callable[[Path], object]) -> Path:
    """Write a draft, sync it to the disk, and rename it."""
    draft = path.with_name(f".{path.name}.draft")
    with _storage(path, "written"):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            write(draft)
            with draft.open("rb") as file:
                os.fsync(file.fileno())
            draft.replace(path)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
    return path


def _write_stream(write: Callable[[BinaryIO], object], path: Path) -> None:
    with path.open("wb") as file:
        write(file)


@contextmanager
def _storage(path: Path, done: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StorageError(f"{path} cannot be {done}: {error.strerror or error}") from error
