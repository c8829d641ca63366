"""Exports and foreign states that unpack without an end: they are refused within limits of bytes and members."""

import gzip
import io
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from crawler.audit.source_record import SourceKind
from crawler.audit.sources.exports import files
from crawler.audit.sources.exports.reader import check_export, read_export
from crawler.audit.sources.urls import SourceUrlParser
from crawler.errors import UsageError
from crawler.model import Url
from crawler.url.params import UrlParams

MIB = 2**20
SITE = "https://shop.example/"


def zipped(*members: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, content in enumerate(members):
            archive.writestr(f"{number}.csv", content)
    return packed.getvalue()


BOMBS: dict[str, Callable[[], bytes]] = {
    "blank lines": lambda: zipped(b"\n" * 4 * MIB),
    "commas": lambda: zipped((b"," * 1_000 + b"\n") * 4_000),
    "many members": lambda: zipped(*[b"a,b\n" * (MIB // 16)] * 30),
    "gzip": lambda: gzip.compress(b"a,b\n" * MIB),
    "gzip in zip": lambda: zipped(gzip.compress(b"a,b\n" * MIB)),
    "urls": lambda: zipped(b"url,clicks\n" + f"{SITE}a,1\n".encode() * 200_000),
}


def claims(path: Path) -> int:
    """The number of rows that an export claims. Raises UsageError, as the command does before its first request."""
    check_export(str(path), SourceKind.LIST, "")
    addresses = SourceUrlParser(Url(SITE), UrlParams(), lambda _: True)
    report, records = read_export(str(path), SourceKind.LIST, addresses, "", lambda _: b"")
    count = sum(1 for _ in records)
    assert report.complete or report.faults
    return count


@pytest.mark.thorough
@pytest.mark.parametrize("kind", sorted(BOMBS))
def test_ours_an_export_that_unpacks_to_far_more_is_read_up_to_a_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    unpacked = 0
    spend = files._Budget.spend

    def counted(self: files._Budget, size: int) -> int:
        nonlocal unpacked
        unpacked += size
        return spend(self, size)

    monkeypatch.setattr(files._Budget, "spend", counted)
    path = tmp_path / "export.zip"
    path.write_bytes(BOMBS[kind]())
    try:
        claims(path)
    except UsageError as error:
        assert str(path) in str(error)  # noqa: PT017 - or it is read in part
    assert unpacked <= 2 * (files.MAX_RATIO * path.stat().st_size + MIB) + MIB


@pytest.mark.thorough
def test_ours_an_honest_archive_is_read_whole(tmp_path: Path) -> None:
    rows = "".join(f"{SITE}p{n}?utm=1,{n}\n" for n in range(20_000))
    path = tmp_path / "export.zip"
    path.write_bytes(zipped(f"url,clicks\n{rows}".encode()))
    assert claims(path) == 20_000


def test_ours_an_archive_of_too_many_files_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "export.zip"
    path.write_bytes(zipped(*[b""] * (files.MAX_MEMBERS + 1)))
    with pytest.raises(UsageError, match=r"has 10,001 files; the limit is 10,000"):
        claims(path)
