"""Exports as people and accidents make them: numbers, encodings, dialects, broken files, and what is said of them."""

import csv
import gzip
import io
import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawler.audit.source_record import SourceKind, SourceRecord, SourceReport
from crawler.audit.sources.exports import rows
from crawler.audit.sources.exports.columns import find_days, parse_count, parse_day
from crawler.audit.sources.exports.reader import check_export, read_export
from crawler.audit.sources.urls import SourceUrlParser
from crawler.errors import UsageError
from crawler.url.normalize import host_of, normalize_url
from crawler.url.params import UrlParams
from sitemap import SourceError

SITE = "https://example.com"
READS = SourceUrlParser(normalize_url(f"{SITE}/"), UrlParams(), lambda url: host_of(url) == "example.com")


def reading(path: Path, source: SourceKind, column: str = "") -> tuple[SourceReport, list[SourceRecord]]:
    check_export(str(path), source, column)
    account, claims = read_export(str(path), source, READS, column, lambda url: b"")
    return account, list(claims)


def written(folder: Path, content: bytes | str, name: str = "export.csv") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    ("text", "number"),
    [
        *(("0", 0), ("7", 7), ("1234", 1234), ("1,234", 1234), ("1.234", 1234), ("1 234", 1234), ("1\u202f234", 1234)),
        *(("1\u00a0234", 1234), ("1'234", 1234), ("1\u2019234", 1234), ("1,234,567", 1234567), ("1.234.567", 1234567)),
        *(("12,34,567", 1234567), ("1,234.9", 1234), ("1.234,9", 1234), ("12.0", 12), ("1234.567", 1234), ("0.123", 0)),
        *(
            ("12%", 12),
            ("3,9 %", 3),
            ("<10", 1),
            ("< 1", 0),
            (">1,000", 1000),
            ("~5", 5),
            ("1.2K", 1200),
            ("2m", 2_000_000),
        ),
        *(("", 0), ("-", 0), ("n/a", 0), ("-5", 0), ("=1+1", 0), ("1e9", 0), ("nan", 0), ("²", 0), ("9" * 30, 10**15)),
        *(("9" * 5000, 10**15), ("." * 50, 0), ("1.", 1), ("1..2", 1), (",5", 0), ("١٢٣", 123)),
    ],
)
def test_ours_numbers_as_spreadsheets_write_them(text: str, number: int) -> None:
    assert parse_count(text) == number


@given(st.text(alphabet="0123456789.,' <%kM\u202f-e", max_size=60) | st.text(max_size=20))
def test_ours_no_text_breaks_a_number_or_a_day(text: str) -> None:
    assert 0 <= parse_count(text) <= 10**15
    assert re.fullmatch(r"(\d{4}-\d\d-\d\d)?", parse_day(text), re.ASCII)
    find_days(text)


@given(st.integers(0, 10**12), st.sampled_from([",", ".", " ", "\u00a0", "'"]))
def test_ours_grouped_numbers_come_back(number: int, mark: str) -> None:
    assert parse_count(f"{number:,}".replace(",", mark)) == number


def test_ours_days() -> None:
    assert (
        parse_day("2026-11-21T10:00:00Z")
        == parse_day("20261121")
        == parse_day("21.11.2026")
        == parse_day("2026/11/21")
        == "2026-11-21"
    )
    assert parse_day("11/21/2026") == parse_day("2026-13-01") == parse_day("202611211") == parse_day("yesterday") == ""
    assert find_days("# Start date: 20261024 (property 123456789)") == ["2026-10-24"]
    assert find_days("# 20261024-20261120") == ["2026-10-24", "2026-11-20"]


cells = st.text(st.characters(exclude_categories=["Cs", "Cc"], include_characters="\n\t,;|\"' #="), max_size=12)


@pytest.mark.thorough
@settings(max_examples=80)
@given(
    rows=st.lists(st.tuples(cells, st.integers(0, 10**6), cells), min_size=1, max_size=30),
    delimiter=st.sampled_from(",;\t|"),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
    end=st.sampled_from(["\n", "\r\n"]),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"]),
    pack=st.sampled_from([bytes, gzip.compress]),
)
def test_ours_every_dialect_of_csv_comes_back(
    rows: list[tuple[str, int, str]],
    delimiter: str,
    quoting: int,
    end: str,
    encoding: str,
    pack: Callable[[bytes], bytes],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    table = io.StringIO(newline="")
    writer = csv.writer(table, delimiter=delimiter, quoting=quoting, lineterminator=end)  # type: ignore[arg-type]
    writer.writerow(["Title", "Address", "Clicks", "Note"])
    for number, (title, clicks, note) in enumerate(rows):
        writer.writerow([title, f"{SITE}/a,b;c|d/{number}", clicks, note])
    path = written(tmp_path_factory.mktemp("csv"), pack(table.getvalue().encode(encoding)))
    account, claims = reading(path, SourceKind.SEARCH)
    assert [(claim.url, claim.clicks) for claim in claims] == [
        (f"{SITE}/a,b;c%7Cd/{number}", clicks) for number, (_, clicks, _) in enumerate(rows)
    ]
    assert account.complete
    assert account.rows == account.used == len(rows)


def test_ours_plain_csv_is_quoted_only_where_it_must_be(tmp_path: Path) -> None:
    table = io.StringIO(newline="")
    writer = csv.writer(table)
    writer.writerows([["url", "title"], [f"{SITE}/a", 'A "quoted", one'], [f"{SITE}/b,c", "two\n\n# lines"]])
    _, claims = reading(written(tmp_path, table.getvalue()), SourceKind.LIST)
    assert [claim.url for claim in claims] == [f"{SITE}/a", f"{SITE}/b,c"]


@pytest.mark.thorough
def test_ours_windows_1252_is_read_wherever_it_begins(tmp_path: Path) -> None:
    rows = [f"{SITE}/{number};x\n".encode() for number in range(10_000)]
    content = b"".join([b"url;title\n", *rows, f"{SITE}/über;Grüße \u2013 \u201cx\u201d\n".encode("cp1252")])
    _, claims = reading(written(tmp_path, content), SourceKind.LIST)
    assert claims[-1].url == f"{SITE}/%C3%BCber"


def test_ours_hostile_cells_do_no_harm(tmp_path: Path) -> None:
    content = (
        "url,clicks,title\n"
        f'=HYPERLINK("{SITE}/x"),1,x\n'
        f"{SITE}/a\x00\x1b[31m,2,\u202e\n"
        f"{SITE}/b,=1+1|cmd,x\n"
        f"{SITE}/{'c' * 10_000_000},3,x\n"
        f"{SITE}/d,4,{'x' * 200_000}\n"
        f"javascript:alert(1),5,x\n"
        f"{SITE}/e,6,x,y\n"
        f"{SITE}/f,7\n"
    )
    account, claims = reading(written(tmp_path, content), SourceKind.SEARCH)
    assert [(claim.url, claim.clicks) for claim in claims] == [
        (f"{SITE}/a%00%1B%5B31m", 2),
        (f"{SITE}/b", 0),
        (f"{SITE}/f", 7),
    ]
    assert account.unread == 5
    assert account.rows == 8
    assert not account.complete
    assert account.faults == [
        "1 lines are longer than 1,048,576 characters: left out",
        "1 rows are broken (a quotation mark that is never closed?)",
    ]
    assert all(note.isprintable() for note in account.notes)


def test_ours_no_part_of_an_overlong_line_is_a_url(tmp_path: Path) -> None:
    path = written(tmp_path, f"{SITE}/a\n{SITE}/{'b' * 2_000_000}\n{SITE}/c\n")
    account, claims = reading(path, SourceKind.LIST)
    assert [claim.url for claim in claims] == [f"{SITE}/a", f"{SITE}/c"]
    assert (account.rows, account.unread, account.complete) == (3, 1, False)


def test_ours_an_open_quotation_mark_costs_a_part_and_is_told(tmp_path: Path) -> None:
    rows = [f"{SITE}/{number},x\n" for number in range(20_000)]
    rows[100] = f'{SITE}/100,"never closed\n'
    account, claims = reading(written(tmp_path, "url,title\n" + "".join(rows)), SourceKind.LIST)
    assert 10_000 < len(claims) < 20_000
    assert claims[-1].url == f"{SITE}/19999"
    assert not account.complete


@pytest.mark.thorough
@pytest.mark.parametrize("whole", [True, False])
def test_rfc1952_a_gzip_file_that_ends_early_is_told(whole: bool, tmp_path: Path) -> None:
    lines = "".join(f"{SITE}/{number * 7919 % 100_003}\n" for number in range(20_000))
    packed = gzip.compress(lines.encode()[:200_000]) + gzip.compress(lines.encode()[200_000:])
    account, claims = reading(written(tmp_path, packed if whole else packed[:-10_000], "list.txt"), SourceKind.LIST)
    named = {f"{SITE}/{number}" for number in range(100_003)}
    assert all(claim.url in named for claim in claims)
    assert account.complete is whole
    assert (len(claims) == 20_000) is whole
    assert whole or "cut off" in account.faults[0]


def test_ours_json_that_breaks_off_is_told(tmp_path: Path) -> None:
    text = json.dumps({"rows": [{"page": f"{SITE}/{number}", "clicks": 1} for number in range(5_000)]}, indent=1)
    with pytest.raises(UsageError, match=r"a\.json cannot be read: a part of it is not JSON"):
        reading(written(tmp_path, text[:-200], "a.json"), SourceKind.SEARCH)
    lines = f'{{"url": "{SITE}/a"}}\n{{"url": \n{{"url": "{SITE}/b"}}\n' + "[" * 100_000 + "\n"
    account, claims = reading(written(tmp_path, lines, "a.jsonl"), SourceKind.LIST)
    assert len(claims) == 2
    assert account.unread == 2
    deep = f'[{{"url": "{SITE}/a"}},\n' + "[" * 500_000
    with pytest.raises(UsageError, match="a part of it is not JSON"):
        reading(written(tmp_path, deep, "b.json"), SourceKind.LIST)


@given(
    content=st.binary(max_size=400),
    head=st.sampled_from([b"", b"PK\x03\x04", b"\x1f\x8b\x08", b"[{", b"url\n", b"\xff\xfe"]),
)
@settings(max_examples=80)
def test_ours_any_bytes_are_read_or_refused_in_a_sentence(
    content: bytes, head: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = written(tmp_path_factory.getbasetemp(), head + content, "any")
    for source in (SourceKind.LIST, SourceKind.SEARCH):
        said = ""
        try:
            account, claims = reading(path, source)
        except UsageError as error:
            said = str(error)
        if said:
            assert said.startswith(str(path))
        else:
            assert account.used == len(claims)
            assert account.rows == account.used + account.unread + account.foreign + account.beside


def archive(folder: Path, members: dict[str, str]) -> Path:
    path = folder / "export.zip"
    with zipfile.ZipFile(path, "w") as file:
        for name, content in members.items():
            file.writestr(name, content)
    return path


REMEDY = ". Choose the column with audit.url_column, or export the table of the pages"
REFUSED: dict[str, tuple[bytes | str, str]] = {
    "empty": ("", "{} is empty"),
    "queries": (
        "Top queries,Clicks,Impressions\nshoes,1,2\nexample.com boots,3,4\n",
        "{}: no column contains URLs of pages. The columns are: Top queries, Clicks, Impressions" + REMEDY,
    ),
    "many columns": (
        ",".join(f"c{i}" for i in range(30)) + "\n" + ",".join("x" * 30) + "\n",
        f"{{}}: no column contains URLs of pages. The columns are: {', '.join(f'c{i}' for i in range(20))}, …{REMEDY}",
    ),
    "html": ("<!DOCTYPE html><html><body>Sign in</body></html>", "{} is HTML: export a CSV"),
    "xml": ("\ufeff<?xml version='1.0'?><urlset/>", "{} is XML: give sitemaps with --sitemap, and tables as CSV"),
    "excel": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "{} is an Excel workbook: save the sheet with the URLs as CSV"),
    "pdf": (b"%PDF-1.7\n", "{} is a PDF: export a CSV"),
    "database": (b"SQLite format 3\x00", "{} is a database: siteatlas export writes the tables of a state"),
    "noise": (b"\x07\x00\x01\x02\x03\x04\x05\x06" * 20, "{} is not a text file. Export the table as CSV"),
    "zip": (
        b"PK\x03\x04 and no more",
        "{} is a broken zip archive (File is not a zip file). Download the archive again",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_ours_what_cannot_be_read_is_refused_in_a_sentence(case: str, tmp_path: Path) -> None:
    content, sentence = REFUSED[case]
    path = written(tmp_path, content)
    for source in (SourceKind.SEARCH, SourceKind.LIST):
        with pytest.raises(UsageError) as early:
            check_export(str(path), source, "")
        with pytest.raises(UsageError) as late:
            read_export(str(path), source, READS, "", lambda url: b"")
        assert str(early.value) == str(late.value) == sentence.format(path)


def refusal(path: Path | str, source: SourceKind = SourceKind.LIST, column: str = "") -> str:
    with pytest.raises(UsageError) as error:
        check_export(str(path), source, column)
    return str(error.value)


def test_ours_what_is_not_there_is_refused_in_a_sentence(tmp_path: Path) -> None:
    assert refusal(tmp_path / "none.csv") == f"{tmp_path}/none.csv does not exist"
    assert refusal(tmp_path) == f"the folder {tmp_path} contains no files. Give a file, or a folder with files"
    assert refusal("/dev/null") == "/dev/null is not a regular file. Save its content to a file, and give that file"
    assert refusal("a\x00b") == "a\x00b does not exist"
    written(tmp_path, "", "state.db")
    assert refusal(tmp_path, SourceKind.CRAWL).startswith(f"{tmp_path} is a state of siteatlas. Write its tables with")
    table = written(tmp_path, "a,b\nx,y\n")
    assert (
        refusal(table, column="c")
        == f'{table} has no column "c". Choose one of its columns with audit.url_column: a, b'
    )
    assert (
        refusal(table, column="3")
        == f'{table} has no column "3". Choose one of its columns with audit.url_column: a, b'
    )


def test_ours_a_folder_is_read_as_the_archive_that_it_was(tmp_path: Path) -> None:
    written(tmp_path, f"Top pages,Clicks\n{SITE}/a,3\n", "Pages.csv")
    written(tmp_path, "Top queries,Clicks\nshoes,1\n", "Queries.csv")
    written(tmp_path, "Date,Clicks\n2026-10-01,2\n2026-10-31,1\n", "Chart.csv")
    account, (claim,) = reading(tmp_path, SourceKind.SEARCH)
    assert (claim.clicks, claim.first, claim.last) == (3, "2026-10-01", "2026-10-31")
    assert account.used == 1


def test_ours_archives_without_a_table_are_refused_in_a_sentence(tmp_path: Path) -> None:
    path = archive(tmp_path, {"Queries.csv": "Top queries,Clicks\nshoes,1\n", "logo.png": "\x89PNG\x00\x00"})
    assert (
        refusal(path)
        == f"{path}: none of its files contains URLs of pages. The files are: Queries.csv (Top queries, Clicks)"
    )
    path.write_bytes(b"PK\x05\x06" + bytes(18))
    assert refusal(path) == f"{path}: none of its files contains URLs of pages. The files are: none that can be read"
    path = archive(tmp_path, {"__MACOSX/._a.csv": f"{SITE}/a\n"})
    assert refusal(path) == f"{path}: none of its files contains URLs of pages. The files are: none that can be read"
    path = archive(tmp_path, {"[Content_Types].xml": "<Types/>", "xl/workbook.xml": "<workbook/>"})
    assert refusal(path) == f"{path} is a spreadsheet workbook. Save the sheet with the URLs as CSV, and give that file"
    path = archive(tmp_path, {"Pages.csv": f"{SITE}/a\n"})
    locked = bytearray(path.read_bytes())
    locked[locked.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(locked)
    assert refusal(path) == f"{path} is protected by a password. Unpack the archive, and give the unpacked file"


def test_ours_a_url_that_does_not_answer_is_a_fault_and_no_end() -> None:
    def fails(url: str) -> bytes:
        raise SourceError(f"{url} answered 503")

    name = "https://files.example.net/list.csv"
    account, claims = read_export(name, SourceKind.LIST, READS, "", fails)
    assert list(claims) == []
    assert account.faults == [f"{name} cannot be read: {name} answered 503"]
    assert not account.complete
    account, _ = read_export(name, SourceKind.LIST, READS, "", lambda url: b"<html>sign in")
    assert account.faults == [f"{name} is HTML: export a CSV"]
    check_export(name, SourceKind.LIST, "")


def test_ours_the_export_of_another_site_is_doubted(tmp_path: Path) -> None:
    other = "".join(f"https://shop.example.net/{number},1\n" for number in range(1_200))
    account, claims = reading(written(tmp_path, f"Page,Clicks\n{other}"), SourceKind.SEARCH)
    assert claims == []
    assert account.foreign == 1_200
    assert account.faults == ["all 1,200 URLs belong to shop.example.net. Give an export of the audited site"]
    account, claims = reading(written(tmp_path, f"Page,Clicks\n{SITE}/a,1\n{other}"), SourceKind.SEARCH)
    assert len(claims) == 1
    assert not account.faults
    assert account.notes == ["1,200 of its 1,201 URLs belong to other sites, most of them to shop.example.net"]
    account, _ = reading(written(tmp_path, "Page,Clicks\n"), SourceKind.SEARCH)
    assert account.notes == ["it has no rows"]


def test_ours_scope_is_not_another_site(tmp_path: Path) -> None:
    docs = SourceUrlParser(normalize_url(f"{SITE}/docs/"), UrlParams(), lambda url: url.startswith(f"{SITE}/docs/"))
    path = written(tmp_path, f"{SITE}/a\n{SITE}/b\n")
    account, claims = read_export(str(path), SourceKind.LIST, docs, "", lambda url: b"")
    assert list(claims) == []
    assert account.notes == ["2 of its 2 URLs are outside the audited scope"]
    assert not account.faults


READ_ALL = """
import re, sys
from pathlib import Path
from crawler.audit.source_record import SourceKind
from crawler.audit.sources.exports.reader import read_export
from crawler.audit.sources.urls import SourceUrlParser
from crawler.url.normalize import normalize_url
from crawler.url.params import UrlParams
site = SourceUrlParser(normalize_url("https://example.com/"), UrlParams(), lambda url: True)
account, claims = read_export(sys.argv[1], SourceKind.SEARCH, site, "", lambda url: b"")
taken = sum(1 for _ in claims)
# of this program: the peak that getrusage tells is also that of the process it was forked from
peak = re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]
print(taken, int(account.complete), peak)
"""


def test_ours_a_json_document_that_is_too_large_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "MAX_DOCUMENT", 100_000)
    text = json.dumps([{"page": f"{SITE}/{number}", "clicks": 1} for number in range(5_000)], indent=1)
    with pytest.raises(UsageError, match="larger than 100,000 characters: give it as JSON lines, or as CSV"):
        reading(written(tmp_path, text, "a.json"), SourceKind.SEARCH)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["csv", "one line", "jsonl", "one row"])
def test_ours_memory_is_flat(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "big"
    size = 200_000_000
    with path.open("w") as file:
        if kind == "one line":
            file.write(f"url\n{SITE}/a\n")
            file.writelines(f"{SITE}/" * 1_000 for _ in range(size // 20_000))
        elif kind == "one row":
            file.write("url,title\n" + f"{SITE}/a,x\n" * 1_000 + f'{SITE}/b,"')
            file.writelines("x" * 1_000 + "\n" for _ in range(size // 1_000))
        else:
            file.write({"csv": "url,clicks\n", "jsonl": ""}[kind])
            line = {"csv": f"{SITE}/%d?{'q' * 900},7\n", "jsonl": f'{{"url":"{SITE}/%d?{"q" * 900}","clicks":7}}\n'}
            file.writelines(line[kind] % number for number in range(size // 950))
    run = subprocess.run([sys.executable, "-c", READ_ALL, path], capture_output=True, text=True, check=True)
    taken, complete, peak = map(int, run.stdout.split())
    assert peak < 100 * 1024  # KiB, with the interpreter and all that it imports
    assert taken > 100_000 or kind.startswith("one")
    assert bool(complete) is not kind.startswith("one")
