"""Logs that are there twice: each request counts once, and the report says which file was not read."""

import bz2
import gzip
from pathlib import Path

import pytest

from crawler.audit.source_record import SourceReport
from crawler.audit.sources.logs.files import MIN_COPY
from crawler.audit.sources.logs.log import LogOptions
from crawler.audit.sources.logs.reader import read_logs
from crawler.audit.sources.urls import SourceUrlParser
from crawler.model import Url
from crawler.url.params import UrlParams

ADDRESSES = SourceUrlParser(Url("https://www.example.com/"), UrlParams(), lambda _: True)


def lines(first: int, last: int, path: str = "/a") -> bytes:
    """Lines of a log in the combined format, each a second after the one before."""
    return "".join(
        f'192.0.2.1 - - [21/Nov/2026:10:{n // 60:02}:{n % 60:02} +0000] "GET {path} HTTP/1.1" 200 5 "-" "Firefox"\n'
        for n in range(first, last)
    ).encode()


def read(*paths: Path) -> tuple[int, dict[str, SourceReport]]:
    """The requests that count, and the reports by file name."""
    requests, reports = 0, {}
    for report, records in read_logs([str(path) for path in paths], ADDRESSES, LogOptions(), lambda _: None):
        requests += sum(record.people + record.bots for record in records)
        reports[Path(report.name).name] = report
    return requests, reports


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("access.log.1.gz", gzip.compress(lines(0, 90))),
        ("access.log.1.bz2", bz2.compress(lines(0, 90))),
        ("copy.log", lines(0, 90)),
        ("earlier.log", lines(0, 60)),  # the log grew after it was copied
    ],
)
def test_ours_a_log_that_is_there_twice_counts_once(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / "access.log.1").write_bytes(lines(0, 90))
    (tmp_path / name).write_bytes(content)
    (tmp_path / "access.log").write_bytes(lines(90, 100))
    requests, reports = read(tmp_path)
    assert requests == 100
    (copy,) = (report for report in reports.values() if not report.rows)
    assert copy.complete
    assert len(reports) == 3
    kept = next(other for other in ("access.log.1", name) if other != Path(copy.name).name)
    assert copy.notes == [f"not read, because {tmp_path / kept} contains all of its lines: each request counts once"]


def test_ours_three_copies_of_one_log_count_once(tmp_path: Path) -> None:
    for name in ("a.log", "b.log", "c.log"):
        (tmp_path / name).write_bytes(lines(0, 3))
    requests, reports = read(tmp_path)
    assert (requests, len(reports)) == (3, 3)


def test_ours_logs_of_two_servers_that_begin_alike_all_count(tmp_path: Path) -> None:
    (tmp_path / "one.log").write_bytes(lines(0, 2) + lines(2, 200, "/b"))
    (tmp_path / "two.log").write_bytes(lines(0, 200))
    (tmp_path / "short.log").write_bytes(lines(0, 2))
    assert len(lines(0, 2)) < MIN_COPY
    requests, reports = read(tmp_path)
    assert requests == 402
    assert all(report.rows for report in reports.values())


def test_ours_headers_that_are_alike_make_no_copy(tmp_path: Path) -> None:
    header = b"#Version: 1.0\n#Fields: date time cs-method cs-uri-stem sc-status\n"
    for day in (20, 21):
        (tmp_path / f"{day}.log").write_bytes(header + b"2026-11-%d 10:00:00 GET /a 200\n" % day)
    requests, _ = read(tmp_path)
    assert requests == 2


def test_ours_a_damaged_copy_is_read_as_a_log_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(lines(0, 90))
    (tmp_path / "a.log.gz").write_bytes(gzip.compress(lines(0, 90))[:-20])
    _, reports = read(tmp_path)
    assert reports["a.log.gz"].faults
