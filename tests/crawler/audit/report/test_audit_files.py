"""The folder of reports: tables that spreadsheets open and do not run, files that are whole, none from yesterday."""

import codecs
import csv
import errno
import io
import os
import unicodedata
from pathlib import Path

import pytest
from audits import audit, findings, hostile, of
from msgspec.structs import replace
from naughty import NAUGHTY, storable

from crawler.audit.actions import rank_actions
from crawler.audit.finding import AuditFinding, LinkSuggestion
from crawler.audit.report.tables import CSV_COLUMNS, cell_text, write_csv
from crawler.audit.report.write import write_reports
from crawler.errors import StorageError
from crawler.state.lock import RUN_LEASE, LeaseLost
from sitemap import safe


def table(found: list[AuditFinding]) -> list[dict[str, str]]:
    file = io.BytesIO()
    write_csv(found, file)
    raw = file.getvalue()
    assert raw.startswith(codecs.BOM_UTF8)
    return list(csv.DictReader(io.StringIO(raw.decode("utf-8-sig"), newline=""), strict=True))


def test_rfc4180_tables_have_headings_quotes_and_line_ends() -> None:
    file = io.BytesIO()
    write_csv([AuditFinding(rule="entry.gone", url="https://example.com/a,b", sentence='He said "no"')], file)
    heading, row, rest = file.getvalue().split(b"\r\n")
    assert heading.startswith(b'\xef\xbb\xbf"URL","Finding","Conclusive","Title"')
    assert row.startswith(b'"https://example.com/a,b","He said ""no""","yes"')
    assert rest == b""
    assert b"\n" not in heading + row


def test_ours_tables_tell_all_of_a_finding_and_numbers_are_numbers() -> None:
    first = table(findings())[0]
    assert len(first) == len(CSV_COLUMNS)
    assert first["URL"] == "https://www.example.com/old/page"
    assert first["Status"] == "200"
    assert first["Crawl depth"] == ""
    assert first["Visits by people"] == "31"
    assert first["Link weight"] == "0.25"
    assert first["Other spellings"] == "https://www.example.com/old/page/ | https://www.example.com/OLD/page"
    assert first["Link it from"].startswith("https://www.example.com/old/ (its directory) | ")
    file = io.BytesIO()
    write_csv([AuditFinding(rule="entry.gone", url="x", sentence="", weight=-5.0)], file)
    assert b",-5.0," in file.getvalue()  # a number of ours is no formula


def test_ours_a_count_is_empty_when_no_source_of_its_kind_knows_the_url() -> None:
    file = io.BytesIO()
    write_csv([AuditFinding(rule="orphan.log", url="x", sentence="", bots=3)], file)
    row = next(csv.DictReader(io.StringIO(file.getvalue().decode("utf-8-sig"))))
    assert (row["Visits by people"], row["Visits by bots"]) == ("0", "3")
    assert {row[name] for name in ("Search clicks", "Sessions", "Users", "Links from other sites")} == {""}


def test_owasp_no_cell_starts_a_formula() -> None:
    rows = table(hostile())
    assert len(rows) == len(NAUGHTY)
    for row in rows:
        for cell in row.values():
            start = unicodedata.normalize("NFKC", cell).lstrip(" \t\r\n\"'\u200c\u200d\ufeff")[:1]
            assert start not in {"=", "+", "-", "@", "\u2212"} or cell[0] == "'", repr(cell)[:99]
            assert cell[:1] not in {"\t", "\r", "\n"}
            assert cell == safe(cell)
            assert len(cell) < 32_767


STARTS = "=+-@\uff1d\uff0b\uff0d\uff20\ufe62\ufe63\ufe66\ufe6b\u2212"
BEFORE = ("", " ", "\t", "\r\n", "\x00", "\ufeff", "\u200b", "\xa0", '"', "'", "\u202e", "\u200d")


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("before", BEFORE)
def test_owasp_formulas_are_texts_whatever_stands_before_them(start: str, before: str) -> None:
    assert cell_text(f"{before}{start}1+1") == f"'{safe(before)}{start}1+1"


@pytest.mark.parametrize("value", ["https://example.com/=a", "a-b", "5", "(a-b)", "#1", "/-a", "漢=1", "", "x @y"])
def test_ours_what_is_no_formula_stays_as_it_is(value: str) -> None:
    assert cell_text(value) == value


@pytest.mark.thorough
def test_openpyxl_takes_every_hostile_cell_for_a_text() -> None:
    import openpyxl

    sheet = openpyxl.Workbook().active
    rows = list(table(hostile()))
    assert sum(map(len, rows)) > 100
    for number, row in enumerate(rows, 1):
        for column, value in enumerate(row.values(), 1):
            # Its own reading of a value: "f" is a formula; characters that no workbook may hold are errors.
            cell = sheet.cell(number, column, value)
            assert cell.data_type != "f", repr(value)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "reports" / "audit"


def names(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


ALWAYS = {"audit.html", "audit.json", "audit.sarif", "audit.junit.xml"}


def test_ours_all_reports_are_written_and_those_of_an_earlier_audit_go(folder: Path) -> None:
    found = findings()
    paths = write_reports(audit(found), of(found), folder)
    rules = ("orphan.sitemap", "reach.deep", "entry.gone", "duplicate.loc")
    tables = {f"csv/{rule}.csv" for rule in (*rules, "findings", "links")} | {"audit.xlsx"}
    assert {str(path.relative_to(folder)) for path in paths} == names(folder) == ALWAYS | tables
    (folder / "csv" / "mine.csv").write_text("mine")
    found = [each for each in found if each.rule == "entry.gone"]
    write_reports(audit(found), of(found), folder)
    assert names(folder) == ALWAYS | {"audit.xlsx", "csv/findings.csv", "csv/entry.gone.csv", "csv/mine.csv"}


@pytest.mark.thorough
def test_ours_hostile_strings_do_not_keep_reports_from_being_written(folder: Path) -> None:
    found = hostile(map(storable, NAUGHTY))  # as they come from the disk
    write_reports(audit(found, tuple(NAUGHTY)), of(found), folder, ["note"])
    assert names(folder) >= ALWAYS


def test_ours_a_file_that_could_not_be_written_is_as_it_was(folder: Path) -> None:
    found = findings()
    write_reports(audit(found), of(found), folder)
    before = (folder / "audit.json").read_bytes()
    taken = folder / ".audit.json.draft"
    taken.mkdir()
    (taken / "x").touch()
    with pytest.raises(StorageError, match=r"audit\.json cannot be written: "):
        write_reports(audit([]), of([]), folder)
    assert (folder / "audit.json").read_bytes() == before


def test_ours_a_run_without_its_lease_writes_no_report(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_reports(audit([]), of([]), folder)
    before = {name: (folder / name).read_bytes() for name in names(folder)}
    monkeypatch.setattr(RUN_LEASE, "deadline", 0.0)
    with pytest.raises(LeaseLost):
        write_reports(audit(findings()), of(findings()), folder)
    assert {name: (folder / name).read_bytes() for name in names(folder)} == before


def test_ours_a_folder_that_is_a_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "out").touch()
    with pytest.raises(StorageError, match=r"out/audit\.html cannot be written"):
        write_reports(audit([]), of([]), tmp_path / "out")


def test_ours_a_full_disk_is_told_and_leaves_no_draft(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("crawler.audit.report.write.write_json", full)
    with pytest.raises(
        StorageError, match=r"audit\.json cannot be written: No space left on device; .*free some space"
    ):
        write_reports(audit(findings()), of(findings()), folder)
    assert not any(name.endswith(".draft") for name in names(folder))


def suggested(url: str) -> list[LinkSuggestion]:
    return [LinkSuggestion(url, "index of its directory", 0.756)]


def rows_of(path: Path) -> list[list[str]]:
    return list(csv.reader(path.read_text(encoding="utf-8-sig").splitlines(), strict=True))


def test_ours_redirects_and_links_are_tables_for_a_cms(folder: Path) -> None:
    site = "https://www.example.com"
    found = [
        AuditFinding(rule="gone.visited", url=f"{site}/old", sentence="", targets=suggested(f"{site}/new")),
        AuditFinding(rule="gone.linked", url=f"{site}/old", sentence="", targets=suggested(f"{site}/new")),
        AuditFinding(rule="gone.linked", url=f"{site}/lost", sentence=""),
        AuditFinding(rule="orphan.log", url=f"{site}/a", sentence="", title="=A | Shop", hubs=suggested(f"{site}/")),
        AuditFinding(rule="weak.head", url=f"{site}/b", sentence="", title="B - C | Shop", hubs=suggested(f"{site}/")),
        AuditFinding(rule="weak.head", url=f"{site}/c/red-hat.html?x=1", sentence="", hubs=suggested(f"{site}/")),
    ]
    report = audit(found)
    write_reports(replace(report, actions=rank_actions(report, of(found)).actions), of(found), folder)
    why = "index of its directory"
    assert rows_of(folder / "csv" / "redirects.csv") == [
        ["From", "To", "Likeness", "Reason"],
        [f"{site}/old", f"{site}/new", "0.76", why],
    ]
    assert rows_of(folder / "csv" / "links.csv") == [
        ["From page", "To page", "Anchor text", "Reason"],
        [f"{site}/", f"{site}/a", "'=A", why],
        [f"{site}/", f"{site}/b", "B - C", why],
        [f"{site}/", f"{site}/c/red-hat.html?x=1", "red hat", why],
    ]
    write_reports(audit([]), of([]), folder)
    assert names(folder) == ALWAYS


def test_ours_one_table_has_all_findings_with_their_rules(folder: Path) -> None:
    found = findings()
    write_reports(audit(found), of(found), folder)
    heading, *rows = rows_of(folder / "csv" / "findings.csv")
    assert heading == ["Rule", "Severity", *(name for name, _ in CSV_COLUMNS)]
    single = {rule: rows_of(folder / "csv" / f"{rule}.csv")[1:] for rule in {each.rule for each in found}}
    assert len(rows) == sum(map(len, single.values())) == len(found)
    assert all(row[2:] in single[row[0]] for row in rows)
    assert {(row[0], row[1]) for row in rows} == {(each.rule, each.severity.value) for each in found}


@pytest.mark.thorough
def test_openpyxl_reads_the_workbook_and_finds_no_formula_and_no_link(folder: Path) -> None:
    import openpyxl

    found = hostile(map(storable, NAUGHTY))
    made = audit(found)
    write_reports(replace(made, actions=rank_actions(made, of(found)).actions), of(found), folder)
    book = openpyxl.load_workbook(folder / "audit.xlsx")
    assert book.sheetnames[:2] == ["What to do", "Findings"]
    sheet = book["Findings"]
    table_ = rows_of(folder / "csv" / "findings.csv")
    assert sheet.max_row == len(table_)
    assert [cell.value for cell in sheet[1]] == table_[0]
    urls = table_[0].index("URL")
    for row, expected in zip(sheet.iter_rows(min_row=2), table_[1:], strict=True):
        assert row[urls].value == (expected[urls] or None)
        for cell in row:
            assert cell.data_type != "f"
            assert cell.hyperlink is None
            assert not isinstance(cell.value, str) or cell.value[0] not in "=+-@\t\r\n"
    assert sheet.auto_filter.ref
    assert sheet.freeze_panes == "B2"


def test_ours_the_workbook_has_the_redirects_and_the_links(folder: Path) -> None:
    import openpyxl

    site = "https://www.example.com"
    found = [
        AuditFinding(rule="gone.visited", url=f"{site}/old", sentence="", targets=suggested(f"{site}/new")),
        AuditFinding(rule="orphan.log", url=f"{site}/a", sentence="", title="A", hubs=suggested(f"{site}/")),
    ]
    write_reports(audit(found), of(found), folder)
    book = openpyxl.load_workbook(folder / "audit.xlsx", read_only=True)
    sheets = (book[name].rows for name in ("Redirects", "Links to add"))
    redirects, links = ([[cell.value for cell in row] for row in rows] for rows in sheets)
    assert redirects[1][:3] == [f"{site}/old", f"{site}/new", 0.76]
    assert links[1][:3] == [f"{site}/", f"{site}/a", "A"]
