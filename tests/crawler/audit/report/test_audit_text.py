"""The summary of an audit: what comes first, what fits on a line, and what a terminal never gets to obey."""

import io
import logging
import os
import pty
import re
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest
from audits import DOUBT, SITE, audit, findings, hostile, of
from msgspec.structs import replace
from naughty import NAUGHTY

from crawler.audit.actions import rank_actions
from crawler.audit.finding import AuditFinding, AuditReport
from crawler.audit.report.text import TextReport, write_text
from crawler.audit.rules import REPORTED_RULES
from crawler.audit.source_record import SourceKind, SourceReport
from crawler.audit.verdict import NO_INSPECTION
from crawler.cli.errors import CommandErrors
from crawler.errors import UsageError
from sitemap import RULES as LINT
from sitemap import rules_text, safe


@pytest.fixture(autouse=True)
def _no_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)


PAINT = re.compile("\x1b\\[[0-9]+m")


def told(report: AuditReport, found: list[AuditFinding], *, verbose: bool = False) -> str:
    file = io.StringIO()
    write_text(report, of(found), file, verbose=verbose)
    return file.getvalue()


def test_ours_the_verdict_comes_first() -> None:
    found = findings()
    complete, doubtful = told(audit(found), found), told(audit(found, (DOUBT, "a second reason")), found)
    assert complete.startswith("complete crawl: orphan findings are conclusive\n")
    assert doubtful.startswith(f"INCONCLUSIVE: {DOUBT}\nand: a second reason\n")
    of_sitemaps = replace(audit(found), inputs=[each for each in audit(found).inputs if each.source == "sitemap"])
    assert "an orphan that no sitemap lists cannot be found: give --log" in told(of_sitemaps, found).split("\n")[1]


def test_ours_the_summary_tells_figures_sources_classes_and_what_to_do_next() -> None:
    found = findings()
    text = told(audit(found), found)
    assert "2,140 URLs known, 1,900 of them indexable pages: 1,850 reached by links, 1,800 in a sitemap" in text
    assert "sitemap   https://www.example.com/sitemap.xml (urlset): 1,800 rows, 1,795 used, 3 unread" in text
    assert "20,000 rows, 18,000 used, 1,990 ignored; 2026-10-01 to 2026-11-20; read in part" in text
    assert (
        "Orphans: 6 findings\n  warning  6  In the sitemap, but not linked  orphan.sitemap\n    https://www.example.com/old/page\n"
        in text
    )
    assert "31 visits by people; 4 visits by bots; 12 clicks in search; 400 impressions; 7 sessions" in text
    assert "link it from https://www.example.com/old/ (its directory)" in text
    assert "… 3 more\n    Link to the page from" in text
    assert "\n  note  1  Deep pages  reach.deep\n    https://" in text
    assert "\n    Link to the page from one that is nearer to the start URL.\n" in text
    assert "lastmod 2024" not in text
    assert "URL listed twice in a file  duplicate.loc" in text
    assert text.index("entry.gone") < text.index("orphan.sitemap") < text.index("reach.deep")
    assert "… 0 more" not in text
    assert (
        "nothing found: dead URLs, redirects and canonicals, weakly linked, hreflang, pages that scripts change, "
        "indexing, dead link targets, titles and texts, images and videos, bot activity\n" in text
    )
    assert "\n1 error, 14 warnings, 1 note\nnext: " in text


def test_ours_verbose_names_every_finding_and_its_evidence() -> None:
    found = findings()
    text = told(audit(found), found, verbose=True)
    assert all(each.url in text and all(line in text for line in each.evidence) for each in found)
    assert "more\n" not in text


def test_ours_few_findings_are_told_once_and_rules_that_nobody_asked_for_are_counted() -> None:
    found = [AuditFinding(rule="entry.gone", url=SITE, sentence="it is gone")]
    report = replace(
        audit(found), unchecked={"google": NO_INSPECTION, "orphan.log": "no log"}, absent={"media": "none"}
    )
    report = replace(report, actions=rank_actions(report, of(found)).actions)
    few, all_of_it = told(report, found), told(report, found, verbose=True)
    assert "what to do first\n  1. Correct 1 sitemap entry\n\n" in few
    assert report.actions[0].why not in few
    assert report.actions[0].why in all_of_it
    assert "not checked: in the logs, but not linked (no log)\n" in few
    assert re.search("not checked: [0-9]+ rules? for which no source or option was given; -v names them\n", few)
    assert NO_INSPECTION not in few
    assert f"({NO_INSPECTION})" in all_of_it
    assert "images and videos" not in few
    assert "not checked: images and videos (none)\n" in all_of_it


def test_ours_nothing_found_is_one_line() -> None:
    text = told(audit([]), [])
    assert text.count("nothing found") == 1
    assert text.endswith("nothing found\n0 errors, 0 warnings, 0 notes\nnext: nothing to do\n")


def test_ours_what_nobody_looked_for_is_not_called_fine() -> None:
    report = replace(
        audit([]),
        unchecked={"media": "--set audit.media=false", "orphan.log": "no log"},
        undecided={"reach": "not all was seen", "health": "--set audit.media=false"},
    )
    text = told(report, [])
    assert "all is as it should be" not in text
    assert (
        "nothing found: dead URLs, redirects and canonicals, orphans (in the sitemap, but not linked; in search "
        "or analytics data, but not linked; in lists, backlinks or another crawl, but not linked; isolated islands of "
        "pages), weakly linked, hreflang, pages that scripts change, "
        "indexing, dead link targets, titles and texts, lint of the sitemaps, bot activity\n"
        "not checked: in the logs, but not linked (no log)\n"
        "not checked: images and videos (--set audit.media=false)\n"
        "not decided: sitemap health (--set audit.media=false)\n"
        "not decided: hard to reach (not all was seen)\n"
    ) in text
    assert "next: give the sources that were not read, and audit again" in text


def test_ours_the_rest_of_a_group_is_named_as_such() -> None:
    found = [AuditFinding(rule="entry.gone", url=SITE, sentence="gone")]
    text = told(replace(audit(found), unchecked={"health": "no sitemap"}), found)
    assert "not checked: the rest of sitemap health (no sitemap)\n" in text


def test_ours_a_crawl_without_sources_had_nothing_to_compare_with() -> None:
    text = told(replace(audit([]), unchecked={"orphans": "nothing but links"}), [])
    assert text.startswith("complete crawl: nothing but links\n")
    assert "conclusive" not in text
    assert "not checked: orphans (nothing but links)" in text


def test_ours_the_verdict_names_what_was_not_asked_for() -> None:
    text = told(replace(audit([]), unasked=1_200), [])
    assert text.split("\n")[1].startswith("but 1,200 URLs that only sources name were not fetched")


def test_ours_the_reason_stands_beside_what_a_sitemap_leaves_open() -> None:
    found = [AuditFinding(rule="listed.missing", url=SITE, sentence="linked", is_certain=False)]
    report = audit(found)
    report.inputs[0].complete, report.inputs[0].faults = False, ["no answer"]
    text = told(report, found)
    assert f"\n    inconclusive: {SITE}sitemap.xml could not be read completely: no answer\n" in text


def test_ours_an_island_is_one_line_with_the_page_to_link() -> None:
    def page(path: str, group: str, entrance: str = "", people: int = 0) -> AuditFinding:
        url, entrance = f"{SITE}{path}", f"{SITE}{entrance}" if entrance else ""
        return AuditFinding(rule="orphan.island", url=url, sentence="", group=group, people=people, entrance=entrance)

    found = [
        *(page(f"club/{n}", "island 1", "club/known") for n in range(14)),
        page("club/known", "island 1", "club/known", 3),
        page("club/way", "island 1", "club/way"),
        page("far/long", "island 2", "far/"),
        page("far/", "island 2", "far/"),
        page("b/one", "island 3", "b/listed"),  # which another rule reports
        page("b/two", "island 3", "b/listed"),
        *(page(f"more/{n}", f"island {n}") for n in (4, 5)),
    ]
    assert (
        "  warning  22  Isolated islands of pages  orphan.island\n"
        f"    island of 16 pages; 3 visits by people: link {SITE}club/known\n"
        f"    island of 2 pages: link {SITE}far/\n"
        f"    island of 2 pages: link {SITE}b/listed\n"
        "    … 2 more islands\n"
    ) in told(audit(found), found)
    assert all(each.url in told(audit(found), found, verbose=True) for each in found)


def test_ours_columns_wrap_what_is_piped_only_if_they_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    found = findings()
    assert max(map(len, told(audit(found), found).split("\n"))) > 100
    monkeypatch.setenv("COLUMNS", "80")
    assert max(map(len, told(audit(found), found).split("\n"))) <= 80


@pytest.mark.parametrize("width", [80, 40, 20])
def test_ours_lines_fit_the_terminal_and_addresses_stay_whole(width: int) -> None:
    found = [*findings(), AuditFinding(rule="reach.few", url=f"{SITE}{'x' * 90}", sentence="漢字 " * 60)]
    lines = list(TextReport(audit(found, (DOUBT,)), of(found), verbose=True).lines(width))
    assert len(lines) > len(found)
    for line in lines:
        assert _columns(line) <= width or " " not in line.strip().removeprefix("(inconclusive)"), line


def _columns(line: str) -> int:
    from rich.cells import cell_len

    return cell_len(line)


@pytest.mark.parametrize("verbose", [False, True])
@pytest.mark.parametrize("width", [0, 60])
def test_ours_no_hostile_string_reaches_the_terminal(width: int, verbose: bool) -> None:
    found = hostile()
    doubts = tuple(NAUGHTY)
    report = audit(found, doubts)
    for number, text in enumerate(NAUGHTY):
        report.inputs.append(
            SourceReport(source=SourceKind.LOG, name=text, format=text, rows=number, faults=[text], notes=[text])
        )
        report.notes.append(text)
    lines = list(
        TextReport(report, of(found), has_colours=width > 0, verbose=verbose, written=[Path("a\x1b[2J/b.html")]).lines(
            width
        )
    )
    assert len(lines) > len(NAUGHTY)
    for line in lines:
        bare = PAINT.sub("", line) if width else line
        assert bare == safe(bare)
        assert "\n" not in bare
        assert not re.search("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028\u2029\u200e\u200f\u061c]", bare)
        bare.encode()


@pytest.mark.parametrize("way", ["say", "log"])
def test_ours_no_hostile_string_reaches_the_terminal_by_errors_and_logs(
    way: str, capsys: pytest.CaptureFixture[str]
) -> None:
    some = NAUGHTY if way == "say" else NAUGHTY[::5]  # logging is slow
    with CommandErrors(verbose=True) as told:
        for text in some:
            if way == "say":
                told.report(UsageError(text))
            else:
                logging.getLogger("crawler.test").warning("%s", text)
    logging.getLogger().handlers.clear()
    shown = capsys.readouterr().err
    assert shown.count("\n") >= len(some)
    for line in shown.split("\n"):
        assert line == safe(line)


@pytest.fixture
def terminal() -> Iterator[tuple[int, io.TextIOWrapper]]:
    """What a program writes to a terminal of 60 columns, and the reading end."""
    reading, writing = pty.openpty()
    termios.tcsetwinsize(writing, (24, 60))
    with os.fdopen(writing, "w", encoding="utf-8") as file:
        yield reading, file
    os.close(reading)


@pytest.mark.parametrize(("no_color", "colours"), [("", True), ("1", False)])
def test_no_color_org_colours_are_for_terminals_without_no_color(
    terminal: tuple[int, io.TextIOWrapper], monkeypatch: pytest.MonkeyPatch, no_color: str, colours: bool
) -> None:
    reading, file = terminal
    for name in ("FORCE_COLOR", "NO_COLOR", "COLUMNS", "LINES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    if no_color:
        monkeypatch.setenv("NO_COLOR", no_color)
    write_text(audit([]), of([]), file)
    file.flush()
    seen = os.read(reading, 65_536).decode()
    assert bool(PAINT.search(seen)) is colours
    assert max(map(len, PAINT.sub("", seen).splitlines())) <= 60


def test_ours_a_file_gets_no_colours_even_when_they_are_forced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b" not in told(audit(findings()), findings())


def test_ours_what_to_do_is_one_sentence_for_each_rule_in_the_report_and_in_the_table() -> None:
    assert {rule.id for rule in REPORTED_RULES.values()} >= set(LINT)
    assert not [rule.id for rule in REPORTED_RULES.values() if not rule.remedy or rule.remedy == rule.sentence]
    found = [AuditFinding(rule="duplicate.loc", url=SITE, sentence="listed twice", file="sitemap.xml", line=4)]
    (remedy,) = {REPORTED_RULES["duplicate.loc"].remedy} & set(
        map(str.strip, rules_text(REPORTED_RULES.values()).splitlines())
    )
    assert f"\n    {remedy}\n" in told(audit(found), found)
