"""Logs as they lie about: packed, rotated, cut, hostile, and bigger than what is counted at a time."""

import bz2
import gzip
import io
import lzma
import os
import random
import sys
import threading
import zipfile
import zlib
from pathlib import Path

import pytest
from backports import zstd

from crawler.audit.source_record import SourceProgress, SourceRecord, SourceReport
from crawler.audit.sources.logs.files import BLOCK_SIZE, LogFile
from crawler.audit.sources.logs.log import LogOptions
from crawler.audit.sources.logs.reader import check_logs, read_logs
from crawler.audit.sources.urls import SourceUrlParser
from crawler.errors import UsageError
from crawler.model import Url
from crawler.url.params import UrlParams

HOME = "https://www.example.com"
PACKED = {
    "log": lambda data: data,
    "gz": lambda data: gzip.compress(data[:5_000]) + gzip.compress(data[5_000:]),
    "bz2": lambda data: bz2.compress(data, 1),
    "xz": lambda data: lzma.compress(data, preset=0),
    "zst": lambda data: zstd.compress(data[:5_000]) + zstd.compress(data[5_000:]),
}


def zipped(members: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return packed.getvalue()


def line(path: str, status: int = 200, agent: str = "Firefox", second: int = 0, day: int = 21) -> str:
    when = f"{day:02}/Nov/2026:10:{second // 60 % 60:02}:{second % 60:02} +0000"
    return f'203.0.113.1 - - [{when}] "GET {path} HTTP/1.1" {status} 12 "-" "{agent}"\n'


def read(
    paths: list[Path | str], options: LogOptions | None = None, seen: list[SourceProgress] | None = None
) -> tuple[list[SourceReport], list[SourceRecord]]:
    addresses = SourceUrlParser(Url(f"{HOME}/"), UrlParams(), lambda url: url.startswith(HOME))
    accounts: list[SourceReport] = []
    claims: list[SourceRecord] = []
    told: list[SourceProgress] = [] if seen is None else seen
    for account, found in read_logs([str(path) for path in paths], addresses, options or LogOptions(), told.append):
        claims += found
        accounts.append(account)
    return accounts, claims


@pytest.mark.parametrize("end", PACKED)
def test_ours_packed_logs_are_read_by_what_is_in_them(tmp_path: Path, end: str) -> None:
    text = "".join(line(f"/page{n}", second=n) for n in range(2_000)).encode()
    log = tmp_path / "access.log"  # the name says nothing
    log.write_bytes(PACKED[end](text))
    seen: list[SourceProgress] = []
    (account,), claims = read([log], seen=seen)
    assert (account.rows, account.used, account.faults, account.complete) == (2_000, 2_000, [], True)
    assert {claim.url for claim in claims} == {f"{HOME}/page{n}" for n in range(2_000)}
    assert account.bytes == log.stat().st_size
    assert (seen[-1].read, seen[-1].lines) == (seen[-1].size, 2_000)


@pytest.mark.thorough
@pytest.mark.parametrize("end", [end for end in PACKED if end != "log"])
def test_ours_a_packed_log_that_ends_too_early_is_read_up_to_there_and_told(tmp_path: Path, end: str) -> None:
    chance = random.Random(1)
    text = "".join(line(f"/page{n}-{chance.random()}", second=n) for n in range(8_000)).encode()
    log = tmp_path / "access.log.1"
    packed = PACKED[end](text)
    log.write_bytes(packed[: len(packed) * 3 // 4])
    (account,), claims = read([log])
    assert len(claims) > 500
    assert not account.complete
    assert account.faults[0].startswith(f"{log} is damaged, so only its first")


@pytest.mark.parametrize("end", [end for end in PACKED if end != "log"])
def test_ours_a_packed_log_of_nothing_but_line_ends_fills_no_memory(tmp_path: Path, end: str) -> None:
    log = tmp_path / "access.log"
    log.write_bytes(PACKED[end](line("/a").encode() + b"\n" * 4_000_000))
    with LogFile(str(log)) as file:
        sizes = [block.count(b"\n") for block in file.blocks()]
    assert sum(sizes) == 4_000_001
    assert max(sizes) <= 2 * BLOCK_SIZE


@pytest.mark.thorough
def test_ours_a_packed_log_with_a_broken_middle_is_told(tmp_path: Path) -> None:
    text = "".join(line(f"/page{n}") for n in range(30_000)).encode()
    packed = bytearray(gzip.compress(text))
    packed[len(packed) // 2 : len(packed) // 2 + 50] = b"\xff" * 50
    log = tmp_path / "access.log.gz"
    log.write_bytes(packed)
    (account,), _ = read([log])
    assert (len(account.faults), account.complete) == (1, False)


@pytest.mark.thorough
def test_ours_what_is_counted_at_a_time_is_bounded_and_adds_up(tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    log.write_text("".join(line(f"/page{n % 3_000}", second=n, agent="bingbot/2.0") for n in range(15_000)))
    (account,), whole = read([log])
    (again,), parts = read([log], LogOptions(most=1_000))
    assert len(whole) == 3_000
    assert len(parts) > len(whole)
    assert sum(claim.agents["bingbot"] for claim in parts) == 15_000 == account.used == again.used
    assert {claim.url for claim in parts} == {claim.url for claim in whole}


def test_ours_days_and_the_newest_answer_hold_whatever_the_order(tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    lines = [line("/a", 200, day=20), line("/a", 404, day=22), line("/a", 301, day=21), line("/b", 499)]
    log.write_text("".join(lines))
    (account,), claims = read([log])
    found = {claim.url: claim for claim in claims}
    a, b = found[Url(f"{HOME}/a")], found[Url(f"{HOME}/b")]
    assert (a.first, a.last, a.status, a.ok, a.moved, a.dead) == ("2026-11-20", "2026-11-22", 404, 1, 1, 1)
    assert (b.people, b.ok, b.dead, b.status) == (1, 0, 0, 0)  # nobody waited for the answer
    assert (account.first, account.last) == ("2026-11-20", "2026-11-22")


@pytest.mark.parametrize("most", [100, 4])
def test_ours_requests_that_differ_in_tracking_parameters_become_one_claim(tmp_path: Path, most: int) -> None:
    log = tmp_path / "access.log"
    chance = random.Random(5)
    lines = [line(f"/a?gclid={n}", day=1 + n % 9, second=n) for n in range(20)]
    lines += [line("/a", 404, day=20), line("/a?fbclid=x", 301, day=10), line("/a?utm_source=y", agent="Googlebot/2.1")]
    lines += [line(f"/c?page={n % 2}&gclid={n}") for n in range(4)]
    chance.shuffle(lines)
    log.write_text("".join(lines) + line("/b", 404, agent="Chrome") * 3)
    (account,), claims = read([log], LogOptions(most=most))
    total = {claim.url: 0 for claim in claims}
    for claim in claims:
        total[claim.url] += claim.people + claim.bots
    assert total == {f"{HOME}/a": 23, f"{HOME}/c?page=0": 2, f"{HOME}/c?page=1": 2, f"{HOME}/b": 3}
    assert account.used == 30
    if most == 100:
        (a,) = [claim for claim in claims if claim.url == f"{HOME}/a"]
        assert (a.people, a.bots, a.engines, a.ok, a.moved, a.dead) == (22, 1, 1, 21, 1, 1)
        assert (a.first, a.last, a.status) == ("2026-11-01", "2026-11-21", 200)
        assert a.agents == {"Googlebot": 1}
        assert sum(a.visitors.values()) == 1


def test_ours_hostile_lines_are_counted_and_harm_nothing(tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    odd = [
        b"\x1b[31m\x00\xff\xfe no line of a log at all\n",
        b"a" * (3 * BLOCK_SIZE) + b"\n",
        line("/" + "b" * 900_000).encode(),
        b'1.2.3.4 - - [21/Nov/2026:10:00:00 +0000] "' + b'\\"' * 100_000 + b'" 400 0 "-" "-"\n',
        b'1.2.3.4 - - [21/Nov/2026:10:00:00 +0000] "' + b"[ " * 100_000 + b"\n",
        b'1.2.3.4 - - [99/Xyz/2026:99:00:00 +9999] "GET /no-day HTTP/1.1" 999 0 "-" "\xff"\n',
        b'1.2.3.4 - - [21/Nov/2026:10:00:00 +0000] "GET /caf\xe9\x01 HTTP/1.1" 200 0 "-" "x"\n',
        b'1.2.3.4 - - [21/Nov/2026:10:00:00 +0000] "GET http://[ HTTP/1.1" 400 0 "-" "x"\n',
        b'1.2.3.4 - - [21/Nov/2026:10:00:00 +0000] "-" 408 0 "-" "-"\n',
    ]
    log.write_bytes(line("/good").encode() * 20 + b"".join(odd) + line("/last").encode()[:-8])
    (account,), claims = read([log])
    assert {claim.url.removeprefix(HOME) for claim in claims} == {"/good", "/no-day", "/caf%E9%01"}
    assert (account.rows, account.unread) == (30, 4)
    assert account.used + account.beside + account.foreign + account.unread == account.rows
    assert len(account.notes) == 4
    assert all(note.isprintable() for note in account.notes)
    assert account.notes[1] == "1 lines are longer than 1,048,576 bytes"
    assert account.notes[2] == "the last line is incomplete: it is being written, or was cut off"
    assert account.notes[3] == "ignored: 4 with a method other than GET and HEAD, or without a URL"
    assert account.complete


def test_ours_a_log_that_is_mostly_something_else_is_a_fault(tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    log.write_text(line("/a") * 300 + "\x1b]0;title\x07 an error\n" * 500)
    (account,), _ = read([log])
    assert not account.complete
    assert account.faults == [
        (
            f"500 of 800 lines of {log} are not in the format combined, for example"
            " of the form '\\x1b]0;a\\x07 a a'; give the right format (audit.log_format)"
        )
    ]


def test_ours_a_log_of_another_site_is_a_fault_that_names_it(tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    log.write_text(f"backend.internal {line('/a')}" * 3)
    (account,), claims = read([log])
    assert (claims, account.foreign) == ([], 3)
    assert account.faults == [
        f"every request in {log} is for another site ('backend.internal'). Give a log of the audited site"
    ]


def test_ours_rotated_logs_are_found_once_each_and_read_from_the_oldest(tmp_path: Path) -> None:
    for name in ("access.log", "access.log.1", "access.log.2.gz", "access.log.10.gz", "error.log"):
        text = "2026/11/21 [error] 1#1: no\n" if "error" in name else line(f"/{name}")
        data = text.encode()
        (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    order = ["access.log.10.gz", "access.log.2.gz", "access.log.1", "access.log"]
    found = check_logs([str(tmp_path), str(tmp_path / "access.*"), str(tmp_path / "access.log")], LogOptions())
    assert [Path(name).name for name in found] == order
    seen: list[SourceProgress] = []
    accounts, _ = read([tmp_path], seen=seen)
    *logs, folder = accounts
    assert [Path(account.name).name for account in logs] == order
    assert (folder.name, folder.complete) == (str(tmp_path), True)
    assert folder.notes == ["1 file was not read: error.log (unknown format)"]
    assert seen[-1].read == seen[-1].size


def test_ours_every_log_of_a_folder_is_read_whatever_its_name(tmp_path: Path) -> None:
    names = ("access.log", "access.log.1", "access_log-20261101.gz", "ex261101.log", "other_vhosts.log", "www", "a.bak")
    names += ("2026/11/01", "cdn.log.zst", "ssl_request_log", "localhost.2026-11-01.txt", "old.xz", "json.log.bz2")
    for number, name in enumerate(names):
        data = line(f"/{number}").encode()
        packed = PACKED.get(name.rpartition(".")[2], lambda text: text)(data)
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(gzip.compress(data) if name == "www" else packed)
    (tmp_path / "core").write_bytes(b"\x7fELF\0\1")
    (tmp_path / "half.log.zip").write_bytes(zipped({"a": line("/a").encode()})[:-8])
    accounts, claims = read([tmp_path])
    assert {claim.url.removeprefix(HOME) for claim in claims} == {f"/{number}" for number in range(len(names))}
    folder = accounts[-1]
    assert (folder.complete, len(accounts)) == (False, len(names) + 1)
    assert folder.faults == ["1 file was not read: half.log.zip (cannot be read: File is not a zip file)"]
    assert folder.notes == ["1 file was not read: core (neither text nor compressed as .gz, .zst, .bz2, .xz or .zip)"]


def test_ours_what_cannot_be_read_is_refused_with_a_remedy(tmp_path: Path) -> None:
    for given, why in (
        ("missing.log", "matches no file"),
        ("none*.gz", "matches no file"),
        (".", "contains no logs"),
        ("n" * 300, "nnn cannot be read: File name too long"),
    ):
        with pytest.raises(UsageError, match=why):
            check_logs([str(tmp_path / given)], LogOptions())
    log = tmp_path / "odd.log"
    log.write_bytes(b"\x1b[2Jwhat is this\nand this\n")
    with pytest.raises(UsageError) as raised:
        check_logs([str(log)], LogOptions())
    assert str(raised.value).startswith(
        f"the format of the log {log} is unknown (its first line has the form '\\x1b[0a a a"
    )
    assert "audit.log_format" in str(raised.value)


@pytest.mark.parametrize("log_format", ["", "combined", '%h %l %u %t "%r" %>s %b'])
def test_ours_no_content_of_a_file_that_is_no_log_is_printed(tmp_path: Path, log_format: str) -> None:
    """Another account may have put a link to a secret in place of a log."""
    secret = tmp_path / "secret"
    secret.write_text("root:x:0:0:hunter2éß token=abc123def456:/root:/bin/bash\n" * 3)
    log = tmp_path / "access.log"
    log.symlink_to(secret)
    with pytest.raises(UsageError) as raised:
        check_logs([str(log)], LogOptions(format=log_format))
    said = str(raised.value).replace(str(log), "")
    assert not [word for word in ("root", "hunter", "abc", "123", "token", "bash", "éß", "\\xe9") if word in said]
    assert "'a:a:0:0:a0a a=a" in said


def test_ours_what_is_no_text_is_never_printed(tmp_path: Path) -> None:
    log = tmp_path / "odd.log"
    for data in (random.Random(7).randbytes(4_000), b"\x7fELF\x02\x01\x01\x00\x00"):
        log.write_bytes(data)
        with pytest.raises(UsageError) as raised:
            check_logs([str(log)], LogOptions())
        assert str(raised.value) == f"the log {log} is neither text nor compressed as .gz, .zst, .bz2, .xz or .zip"
    log.write_bytes(zipped({"access.log": line("/a").encode()})[:-8])
    with pytest.raises(UsageError, match=r"^the log [^ ]*odd\.log cannot be read: File is not a zip file$"):
        check_logs([str(log)], LogOptions())


def test_ours_an_archive_is_read_file_by_file(tmp_path: Path) -> None:
    log = tmp_path / "logs.zip"
    old, new = line("/old").encode() * 3, line("/new").encode()
    log.write_bytes(zipped({"a/access.log": new, "a/access.log.2.gz": gzip.compress(old[:-1]), ".x": b"no"}))
    check_logs([str(log)], LogOptions())
    seen: list[SourceProgress] = []
    (account,), claims = read([log], seen=seen)
    assert {claim.url.removeprefix(HOME): claim.people for claim in claims} == {"/old": 3, "/new": 1}
    assert (account.rows, account.faults) == (4, [])
    assert seen[-1].read == seen[-1].size


@pytest.mark.thorough
@pytest.mark.parametrize("end", ["gz", "xz", "bz2", "zst"])
def test_ours_what_comes_before_a_cut_is_read(tmp_path: Path, end: str) -> None:
    chance = random.Random(11)
    text = "".join(line(f"/{chance.randbytes(12).hex()}", second=n) for n in range(2_500)).encode()
    packed = PACKED[end](text[:100_000]) + PACKED[end](text[100_000:])
    log = tmp_path / "access.log"
    whole = 0
    for cut in (len(packed) // 3, len(packed) // 2, len(packed) * 9 // 10, len(packed) - 1):
        log.write_bytes(packed[:cut])
        (account,), _ = read([log])
        assert not account.complete
        assert not any("is empty" in note for note in account.notes)
        assert "is damaged, so only its first" in account.faults[0]
        if end in ("gz", "xz"):  # which give what they have at any place
            stream = zlib.decompressobj(31) if end == "gz" else lzma.LZMADecompressor()
            left, there = packed[:cut], b""
            while left:
                there += stream.decompress(left)
                left = stream.unused_data
                stream = zlib.decompressobj(31) if end == "gz" else lzma.LZMADecompressor()
            assert account.used >= there.count(b"\n")
        assert account.used >= whole
        whole = account.used
    assert whole > 2_000


def test_ours_an_empty_log_is_no_fault(tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    log.touch()
    check_logs([str(log)], LogOptions())
    (account,), claims = read([log])
    assert (account.rows, claims, account.faults, account.notes) == (0, [], [], [f"{log} is empty"])


def test_ours_a_pipe_is_read_once(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=((line("/a") * 50_000).encode(),))
    writer.start()
    assert check_logs([str(pipe)], LogOptions()) == [str(pipe)]
    seen: list[SourceProgress] = []
    (account,), claims = read([pipe], seen=seen)
    writer.join()
    assert (account.rows, claims[0].people, seen[-1].size) == (50_000, 50_000, 0)


def test_ours_standard_input_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    data = io.BytesIO(gzip.compress((line("/a") * 50_000).encode()))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(data)))  # type: ignore[type-var]
    assert check_logs(["-"], LogOptions()) == ["-"]
    seen: list[SourceProgress] = []
    (account,), claims = read(["-"], seen=seen)
    assert (account.name, account.rows, claims[0].people) == ("standard input", 50_000, 50_000)
    assert (seen[-1].size, seen[-1].lines) == (0, 50_000)
