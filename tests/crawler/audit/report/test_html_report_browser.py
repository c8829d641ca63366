"""The HTML report in a real Chromium, as a person uses it: without an error, a breach of its policy or a request."""

import collections
import csv
import io
import re
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from audits import Given
from browsing import opened
from made_report import made, write_page
from msgspec.structs import replace
from playwright.sync_api import Browser, Locator, Page, expect
from test_html_report import WORDS, hostile

from crawler.audit.finding import AuditFinding, RuleCount
from crawler.audit.report.tables import write_csv
from crawler.audit.rules import REPORTED_RULES, RULE_GROUPS
from crawler.audit.verdict import group_counts
from sitemap import shorten

pytestmark = [pytest.mark.needs_chromium, pytest.mark.thorough]

Opening = Callable[..., Page]
OPTIONS: dict[str, Any] = {"reduced_motion": "reduce"}
NONE = "\u2013"
MARKUP = [word for word in WORDS if len(word) < 500 and any(sign in word for sign in ("<", "naughty", "script:", "{{"))]
REPORT, FINDINGS = made(2_000)
TOTAL = sum(each.total for each in REPORT.counts)
ORPHANS, REACH = (
    sum(each.total for group in RULE_GROUPS if group.name == name for each in group_counts(group, REPORT))
    for name in ("orphans", "reach")
)


@pytest.fixture(scope="module")
def complete(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("complete") / "audit.html"
    write_page(*made(2_000), path)
    return path


@pytest.fixture(scope="module")
def incomplete(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("incomplete") / "audit.html"
    write_page(*made(2_000, is_complete=False), path)
    return path


@pytest.fixture
def opening(browser: Browser) -> Iterator[Opening]:
    """Opens a file, and in the end sees to it that nothing went wrong and nothing was asked for."""
    with opened(browser, "file://", "blob:") as open_:

        def opening(path: Path, fragment: str = "", **options: Any) -> Page:
            page = open_(path.as_uri() + fragment, **OPTIONS | options)
            if options.get("java_script_enabled", True):
                page.wait_for_selector("#explorer:not([aria-busy])")
            return page

        yield opening


def told(page: Page) -> str:
    return page.locator("#told").inner_text()


def press(page: Page, button: str) -> None:
    """Press a button at once, wherever it is."""
    page.eval_on_selector(button, "button => button.click()")


def field(page: Page, name: str) -> Locator:
    return page.locator(f"#filters [name={name}]")


def cells(page: Page, key: str) -> list[str]:
    return page.locator(f"#table td.{key}").all_inner_texts()


def urls(page: Page) -> list[str]:
    return page.locator("#table td.url a").all_inner_texts()


def fragment(page: Page) -> str:
    return str(page.evaluate("location.hash"))


def test_ours_findings_are_filtered_by_everything(opening: Opening, incomplete: Path) -> None:
    page = opening(incomplete)
    assert told(page) == f"{TOTAL:,} findings"
    assert len(urls(page)) == 100
    field(page, "class").select_option("orphan.log")
    assert told(page) == f"{REPORT.count('orphan.log').total} of {TOTAL:,} findings"
    field(page, "class").select_option("orphans")
    assert told(page) == f"{ORPHANS} of {TOTAL:,} findings"
    field(page, "certainty").select_option("certain")
    assert told(page) == "No finding matches."
    field(page, "certainty").select_option("inconclusive")
    field(page, "section").select_option("/blog/")
    field(page, "source").select_option("log")
    assert all("/blog/" in url for url in urls(page))
    assert all("log" in known for known in cells(page, "known"))
    page.get_by_role("button", name="Clear").click()
    expect(page.locator("#told")).to_have_text(f"{TOTAL:,} findings")
    assert fragment(page) == ""
    islands = collections.Counter(each.group for each in FINDINGS("orphan.island"))
    group = next(iter(islands))
    field(page, "group").select_option(group)
    assert told(page) == f"{islands[group]} of {TOTAL:,} findings"
    field(page, "group").select_option("")
    field(page, "severity").select_option("note")  # which come last of all
    assert {each.partition(" ")[0] for each in cells(page, "rule")} == {"note"}


@pytest.mark.slow
def test_ours_findings_are_searched_by_all_words(opening: Opening, complete: Path) -> None:
    page = opening(complete)
    page.get_by_role("searchbox").press_sequentially("GRANITE  sitemap copper")
    expect(page).to_have_url(re.compile("copper"))
    assert 0 < len(urls(page)) < 100
    assert all("granite" in url for url in urls(page))
    page.get_by_role("searchbox").fill("granite nowhere")
    page.get_by_text("No finding matches.").wait_for()


def test_ours_what_is_new_is_marked_filtered_and_sorted(opening: Opening, tmp_path: Path, complete: Path) -> None:
    report, found = made(2_000, is_compared=True)
    assert report.compared is not None
    new, still = (sum(getattr(each, name) for each in report.compared.trends) for name in ("new", "still"))
    write_page(report, found, tmp_path / "audit.html")
    page = opening(tmp_path / "audit.html")
    page.get_by_role("link", name=f"{new} new").click()
    expect(page.locator("#told")).to_have_text(f"{new} of {TOTAL:,} findings")
    assert set(cells(page, "since")) == {"new"}
    field(page, "since").select_option("still")
    assert told(page) == f"{still:,} of {TOTAL:,} findings"
    assert set(cells(page, "since")) == {"2026-10-01"}
    field(page, "since").select_option("")
    press(page, "th.since button")
    press(page, "th.since button")
    assert set(cells(page, "since")) == {"new"}
    page.locator(".opener").first.click()
    expect(page.locator(".opened")).to_contain_text("2026-11-18: it is new")
    page.evaluate("location.hash = '#class=orphan.log'")  # which could not be compared
    expect(field(page, "class")).to_have_value("orphan.log")
    assert set(cells(page, "since")) == {NONE}
    alone = opening(complete, "#since=new")  # a view from another file
    assert told(alone) == f"{TOTAL:,} findings"
    assert alone.locator("th.since, td.since").count() == 0
    alone.locator(".opener").first.click()
    alone.locator(".opened dl").wait_for()
    assert "since" not in alone.locator(".opened").inner_text().lower()


TITLES = [rule.title for rule in REPORTED_RULES.values()]
SORTED: dict[str, Callable[[str], Any]] = {
    "url": lambda shown: shown.partition("\n")[0],
    "rule": lambda shown: TITLES.index(shown.split(" ", 1)[1]),
    "state": lambda shown: shown.rstrip("0123456789"),
    "depth": int,
    "inlinks": int,
    "weight": float,
    "visits": lambda shown: int(shown.replace(",", "")),
    "lastmod": str,
    "known": lambda shown: len(shown.split(", ")),
}


@pytest.mark.slow
def test_ours_every_column_sorts_both_ways_and_back(opening: Opening, complete: Path) -> None:
    page = opening(complete)
    first = urls(page)
    for key, order in product(SORTED, ("ascending", "descending")):
        press(page, f"th.{key} button")
        assert page.locator(f"th.{key}").get_attribute("aria-sort") == order
        assert page.locator("th[aria-sort=none]").count() == 8
        assert fragment(page) == f"#sort={'-' if order == 'descending' else ''}{key}"
        shown = [SORTED[key](each) for each in cells(page, key) if each != NONE]
        press(page, "[data-step=last]")
        shown += [SORTED[key](each) for each in cells(page, key) if each != NONE]
        assert shown == sorted(shown, reverse=order == "descending")
    page.locator("th.known button").click()
    assert page.locator("th[aria-sort=none]").count() == 9
    assert urls(page) == first


@pytest.mark.slow
def test_ours_pages_of_the_site_are_shown_by_their_paths(opening: Opening, tmp_path: Path) -> None:
    page_, other = "https://shop.example/a?to=https://shop.example/b", "https://www.shop.example/a"
    said = f"it names {page_} as its canonical, which leads to {other}"
    found = [AuditFinding(rule="canonical.lost", url=url, sentence=said, title="A") for url in (page_, other)]
    report, _ = made(1)
    counts = [RuleCount("canonical.lost", 2)]
    write_page(replace(report, counts=counts), Given(lambda _: iter(found)), tmp_path / "audit.html")
    page = opening(tmp_path / "audit.html")
    assert urls(page) == ["/a?to=https://shop.example/b", other]
    assert page.locator("td.url a").first.get_attribute("href") == page_
    assert page.locator("td.url .said").all_inner_texts() == [said] * 2
    page.locator(".opener").first.click()
    expect(page.locator(".opened")).to_contain_text(said)


@pytest.mark.slow
def test_ours_a_row_opens_to_show_all_that_is_known(opening: Opening, complete: Path) -> None:
    page = opening(complete, "#class=weak.noindex")
    for place, finding in zip(range(3), FINDINGS("weak.noindex"), strict=False):
        opener = page.locator(".opener").nth(place)
        assert opener.get_attribute("aria-label") == f"Evidence for {finding.url}"
        opener.press("Enter")
        inside = page.locator(".opened").nth(place)
        inside.locator("dl").wait_for()
        words = inside.inner_text()
        for hub in finding.hubs:
            assert f"{hub.url}: {hub.reason}" in words
        for referrer in finding.referrers:
            assert f"{referrer.url} (noindex)" in words
        for said in (finding.sentence, *finding.evidence, *finding.spellings, ", ".join(finding.known)):
            assert said in words
        assert opener.get_attribute("aria-expanded") == "true"
    page.locator(".opener").first.click()
    assert page.locator(".opened").count() == 2


@pytest.mark.slow
def test_ours_a_fragment_is_a_view_to_be_shared(opening: Opening, complete: Path) -> None:
    page = opening(complete, "#class=reach&severity=note&sort=-weight&page=2")
    assert told(page) == f"{REACH} of {TOTAL:,} findings"
    assert field(page, "class").input_value() == "reach"
    assert page.locator("#page").inner_text() == f"Page 2 of {-(-REACH // 100)}"
    shown = urls(page)
    page.get_by_role("button", name="Previous").click()
    assert fragment(page) == "#class=reach&severity=note&sort=-weight"
    page.get_by_role("button", name="Next").click()
    assert urls(page) == shown
    again = opening(complete, fragment(page))
    assert urls(again) == shown
    page.evaluate("location.hash = '#section=/blog/'")
    expect(field(page, "section")).to_have_value("/blog/")
    assert all("/blog/" in url for url in urls(page))
    odd = opening(complete, "#class=none&section=%3Cb%3E&page=x&sort=no")
    assert told(odd) == "No finding matches."


@pytest.mark.slow
def test_wcag_all_of_it_can_be_done_with_the_keyboard(opening: Opening, complete: Path) -> None:
    page = opening(complete)
    focused = "[document.activeElement.id, document.activeElement.textContent.trim()]"
    page.keyboard.press("Tab")
    assert page.evaluate(focused) == ["", "Skip to the findings"]
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.name") == "search"
    page.keyboard.type("granite")
    expect(page).to_have_url(re.compile("search=granite"))
    for _ in range(4):
        page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.name") == "source"
    page.locator("th.url button").press("Enter")
    assert page.locator("th.url").get_attribute("aria-sort") == "ascending"
    for _ in range(len(SORTED)):
        page.keyboard.press("Tab")
    page.keyboard.press("Space")
    page.locator(".opened dl").wait_for()
    assert "evidence" in str(page.evaluate("document.activeElement.getAttribute('aria-controls')"))
    page.locator(".figures a", has_text="Orphans").press("Enter")  # and one is where one was led to
    page.get_by_text(f"{ORPHANS} of {TOTAL:,} findings").wait_for()
    assert page.evaluate(focused) == ["findings-head", "All findings"]
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.name") == "search"


@pytest.mark.slow
def test_ours_figures_and_sections_lead_to_the_table(opening: Opening, complete: Path) -> None:
    page = opening(complete)
    page.locator(".figures a", has_text="Orphans").click()
    page.get_by_text(f"{ORPHANS} of {TOTAL:,} findings").wait_for()
    page.locator(".sections a", has_text="/blog/").press("Enter")
    expect(field(page, "section")).to_have_value("/blog/")
    assert all("/blog/" in url for url in urls(page))
    assert page.evaluate("scrollY") > 1_000


def exported(page: Page) -> list[list[str]]:
    with page.expect_download(timeout=60_000) as download:
        page.get_by_role("button", name="Export as CSV").click()
    data = Path(download.value.path()).read_bytes()
    assert data.startswith(b"\xef\xbb\xbf")
    return list(csv.reader(io.StringIO(data.decode("utf-8-sig"), newline="")))


def as_table(findings: list[AuditFinding]) -> list[list[str]]:
    file = io.BytesIO()
    write_csv(findings, file)
    return list(csv.reader(io.StringIO(file.getvalue().decode("utf-8-sig"), newline="")))


def alike(rows: list[list[str]]) -> list[list[str]]:
    """Rows in which 1.0 and 1 are the same weight."""
    return [rows[0], *([*row[:8], str(float(row[8])), *row[9:]] for row in rows[1:])]


@pytest.mark.slow
def test_ours_what_is_filtered_is_exported_as_the_csv_report_has_it(opening: Opening, complete: Path) -> None:
    page = opening(complete, "#class=weak.redirect&sort=-weight")
    rows = exported(page)
    expected = sorted(FINDINGS("weak.redirect"), key=lambda each: -round(each.weight, 2))
    assert {row[0] for row in rows[1:]} == {"weak.redirect"}
    assert alike([row[1:] for row in rows]) == alike(as_table(expected))


@pytest.mark.slow
def test_ours_without_a_script_the_figures_and_the_worst_are_there(opening: Opening, incomplete: Path) -> None:
    page = opening(incomplete, java_script_enabled=False)
    assert page.get_by_role("heading", name="INCONCLUSIVE", exact=True).is_visible()
    assert page.locator("noscript p").is_visible()
    assert page.locator(".sections tbody tr").count() == 13
    assert not page.locator("#explorer").is_visible()
    assert not page.locator(".needs-script").first.is_visible()
    folded = page.locator("#classes details:not([open])")
    shown, before = page.locator("#classes details[open] ol li"), folded.count()
    assert shown.count() >= 10
    folded.first.locator("summary").click()
    assert folded.count() == before - 1


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 800, 1_366])
def test_ours_it_fits_a_phone_and_the_dark(opening: Opening, incomplete: Path, scheme: str, width: int) -> None:
    page = opening(incomplete, viewport={"width": width, "height": 740}, color_scheme=scheme)
    page.locator(".opener").first.click()
    page.locator(".opened dl").wait_for()
    page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, colour[4:-1].split(","))) < 100) == (scheme == "dark")
    assert page.locator("#table td.state").first.evaluate("each => getComputedStyle(each).display") == (
        "table-cell" if width == 1_366 else "block"
    )
    assert field(page, "sort").is_visible() == (width < 1_366)


@pytest.mark.parametrize("width", [390, 1_440])
@pytest.mark.parametrize("is_complete", [True, False])
def test_ours_the_first_screen_says_what_to_do_first(
    opening: Opening, tmp_path: Path, width: int, is_complete: bool
) -> None:
    report, findings = made(2_000, is_complete=is_complete)
    write_page(report, findings, tmp_path / "audit.html")
    page = opening(tmp_path / "audit.html", viewport={"width": width, "height": 844})
    shown = page.locator(".actions > li")
    assert [report.actions[place].title in shown.nth(place).inner_text() for place in range(3)] == [True] * 3
    for place in range(3 if width > 1_000 else 1):
        box = shown.nth(place).locator(".examples").bounding_box()
        assert box is not None
        assert box["y"] + box["height"] < 844


def test_ours_the_actions_lead_to_their_findings_in_the_table(opening: Opening, complete: Path) -> None:
    page = opening(complete)
    action = next(each for each in REPORT.actions if each.name == "link")
    page.locator(".actions a[href*='orphan.sitemap']").evaluate("link => link.click()")
    expect(page.locator("#told")).to_have_text(f"{action.count} of {TOTAL:,} findings")


@pytest.mark.parametrize("width", [390, 1_440])
def test_ours_the_kinds_of_the_sources_are_whole_words(opening: Opening, complete: Path, width: int) -> None:
    page = opening(complete, viewport={"width": width, "height": 900})
    lines = page.locator("#sources .kind").evaluate_all(
        """cells => cells.map(cell => {
            const range = document.createRange();
            range.selectNodeContents(cell.firstChild);
            return range.getClientRects().length;
        })"""
    )
    assert lines
    assert {*lines} == {1}


@pytest.mark.slow
def test_ours_it_is_printed_dark_on_white_without_its_buttons(opening: Opening, incomplete: Path) -> None:
    page = opening(incomplete, color_scheme="dark")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    colour = page.evaluate("getComputedStyle(document.querySelector('.actions p')).color")
    assert sum(map(int, colour[4:-1].split(","))) < 150
    assert page.get_by_role("heading", name="INCONCLUSIVE", exact=True).is_visible()
    assert not page.locator("#filters").is_visible()
    assert not page.locator(".actions .needs-script").first.is_visible()
    below = page.locator("#classes details[open] p:has(> code)").first
    assert not below.inner_text().rstrip().endswith("·")
    assert page.locator("#classes details[open] .on-paper").first.is_visible()
    assert page.locator("details:not([open])").count() > 5
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details:not([open])").count() == 0


def test_ours_the_table_fits_the_width_of_a_sheet_of_paper(opening: Opening, tmp_path: Path) -> None:
    write_page(*made(300, is_compared=True), tmp_path / "audit.html")
    page = opening(tmp_path / "audit.html", viewport={"width": 680, "height": 960})
    page.emulate_media(media="print")
    cells = page.locator("#table :is(thead button, tbody td)")
    assert cells.count() > 100
    assert cells.evaluate_all("cells => cells.filter(each => each.scrollWidth > each.clientWidth).length") == 0


@pytest.mark.parametrize("words", [MARKUP, pytest.param(WORDS, marks=pytest.mark.slow)], ids=["markup", "all"])
def test_ours_hostile_strings_stay_text_in_a_browser(opening: Opening, tmp_path: Path, words: list[str]) -> None:
    report, findings = hostile(words)
    write_page(report, findings, tmp_path / "audit.html")
    page = opening(tmp_path / "audit.html")
    assert page.evaluate("window.naughty") is None
    shown = 0
    while True:
        page.evaluate("for (const each of document.querySelectorAll('.opener')) each.click()")
        openers = page.locator(".opener").count()
        expect(page.locator(".opened dl")).to_have_count(openers)
        texts = page.evaluate("[...document.querySelectorAll('.opened p > bdi')].map((each) => each.textContent)")
        assert texts == [shorten(each) for each in words[shown : shown + openers]]
        shown += openers
        tags = page.evaluate(
            "[...new Set([...document.querySelectorAll('#table tbody *')].map((each) => each.localName))]"
        )
        assert set(tags) <= {"tr", "td", "div", "button", "bdi", "a", "span", "p", "dl", "dt", "dd", "ul", "li"}
        links = page.evaluate("[...document.querySelectorAll('#table a')].map((each) => each.protocol)")
        assert set(links) <= {"http:", "https:", ":"}  # ":" is a URL that leads nowhere
        if page.locator("[data-step=next]").is_disabled():
            break
        press(page, "[data-step=next]")
    assert shown == len(words)
    assert page.evaluate("window.naughty") is None
    assert alike([row[1:] for row in exported(page)]) == alike(as_table(list(findings("orphan.sitemap"))))


def test_ours_links_of_the_table_name_the_host_that_they_lead_to(opening: Opening, tmp_path: Path) -> None:
    home = "https://shop.example"
    report, findings = hostile(["a"])
    (finding,) = findings("orphan.sitemap")
    spellings = ["https://sh\u043ep.example/x", f"{home}/\u202egpj.exe", f"{home}:443/y", "https://other.example/z"]
    found = [replace(finding, url=f"{home}/plain", spellings=spellings), replace(finding, url=f"{home}//evil.example/")]
    count = RuleCount("orphan.sitemap", len(found))
    write_page(replace(report, url=f"{home}/", counts=[count]), Given(lambda _: iter(found)), tmp_path / "audit.html")
    page = opening(tmp_path / "audit.html")
    assert urls(page) == ["/plain", f"{home}//evil.example/"]
    page.locator(".opener").first.click()
    page.locator(".opened dl").wait_for()
    texts = page.locator(".opened dd a").all_inner_texts()
    assert texts == ["https://xn--shp-ted.example/x", f"{home}/\\u{{202e}}gpj.exe", f"{home}/y", spellings[3]]


@pytest.mark.slow
def test_ours_a_hundred_thousand_findings_are_fluent(opening: Opening, tmp_path: Path) -> None:
    path = tmp_path / "audit.html"
    write_page(*made(130_000), path)
    assert path.stat().st_size < 40_000_000
    page = opening(path)
    assert told(page) == "100,000 findings"
    page.get_by_role("searchbox").fill("lantern canoe")
    expect(page).to_have_url(re.compile("canoe"))
    assert all("lantern" in url and "canoe" in url for url in urls(page))
    page.locator("th.visits button").click()
    page.get_by_role("button", name="Clear").click()
    page.get_by_text("100,000 findings", exact=True).wait_for()
    assert len(exported(page)) == 100_001
