"""Segments: parts of the site by pattern, counted in the reports, and named with every finding."""

import csv
import json
from pathlib import Path

import pytest
from audited import FAST, in_process, pages
from scripted import scripted
from selectolax.lexbor import LexborHTMLParser

from crawler.audit.patterns import NO_SEGMENT, Segments
from crawler.errors import UsageError

SITE = "https://example.com"


@pytest.mark.parametrize(
    ("path", "name"),
    [("/shop/a", "shop"), ("/shop/sale/x", "shop"), ("/sale/x", "sale"), ("/blog?page=2", "paged"), ("/", NO_SEGMENT)],
)
def test_ours_a_url_belongs_to_the_first_segment_that_matches(path: str, name: str) -> None:
    segments = Segments({"shop": "/shop/*", "sale": "*/sale/*", "paged": r"re:[?&]page=\d+$"})
    assert segments.of_url(f"{SITE}{path}") == name


def test_ours_a_file_is_in_no_segment() -> None:
    assert Segments({"all": "*"}).of_url("sitemap.xml") == NO_SEGMENT
    assert not Segments({})
    assert Segments({}).counted({NO_SEGMENT: 9}) == []


def test_ours_a_pattern_that_matches_nothing_names_its_segment() -> None:
    with pytest.raises(UsageError, match=r'audit\.segments\.shop: "shop" cannot match any URL'):
        Segments({"shop": "shop"})


@pytest.mark.thorough
def test_ours_reports_count_each_segment_and_name_it_with_every_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    named = ("--set=audit.segments.hub=/hub/*", "--set=audit.segments.rest=re:/(lost|plain)$")
    with in_process(tmp_path, monkeypatch, capsys) as siteatlas, scripted(pages()) as site:
        ran = siteatlas("audit", site.url, *named, "-o", "out", *FAST)
        bad = siteatlas("audit", site.url, "--set=audit.segments.hub=hub", *FAST)
    assert ran.code == 0, ran.err
    assert (bad.code, "audit.segments.hub" in bad.err) == (2, True)
    report = json.loads(Path("out/audit.json").read_bytes())
    segments = {each["name"]: each for each in report["segments"]}
    assert [(name, each["pages"]) for name, each in segments.items()] == [("hub", 3), ("rest", 2), (NO_SEGMENT, 1)]
    assert segments["rest"]["orphans"] == 1
    for name, each in segments.items():
        severities = [found["severity"] for found in report["findings"] if found["segment"] == name]
        assert [severities.count(kind) for kind in ("error", "warning", "note")] == [
            each["errors"], each["warnings"], each["notes"],
        ]  # fmt: skip
    rows = list(csv.DictReader(Path("out/csv/findings.csv").read_text("utf-8-sig").splitlines()))
    assert {row["URL"].rpartition("/")[2]: row["Segment"] for row in rows}["lost"] == "rest"
    page = LexborHTMLParser(Path("out/audit.html").read_bytes())
    cells = [each.text(strip=True) for each in page.css_first(".segments tbody tr").css("td")]
    assert cells[0] == "3"
    assert [each.text() for each in page.css("select[name=segment] option")] == ["All segments", "hub", "rest"]
