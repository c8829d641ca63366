"""The pages in a real Chromium: pleasant on a phone and in the dark, and safe whatever names, URLs and reasons say."""

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from urllib.parse import quote

import pytest
from browsing import opened
from made_report import made as made_audit
from msgspec.structs import replace
from naughty import NAUGHTY, storable
from playwright.sync_api import Browser, Page
from web_made import LATER, NOW, PAGES, Seen, attempt, audited, board, site, state, usual
from web_served import serving

from crawler.audit.report.write import write_reports
from crawler.notify.ledger import Ledger, SentMessage
from crawler.notify.notice import Occasion, SendStatus
from crawler.schedule.status import ScheduleStatus, SiteStatus
from crawler.state.runs import RunStatus
from crawler.state.schema import STATE_DB

pytestmark = [pytest.mark.needs_chromium, pytest.mark.thorough]

Opening = Callable[..., Page]
WORDS = [storable(word) for word in NAUGHTY if len(word) < 500]
MARKUP = [word for word in WORDS if any(sign in word for sign in ("<", "naughty", "script:", "{{", "\u202e", "\0"))]


@pytest.fixture
def opening(browser: Browser) -> Iterator[Opening]:
    """Opens a page, and in the end sees to it that nothing went wrong and nobody else was asked."""
    with opened(browser, "http://127.0.0.1:") as open_:
        yield lambda served, path, **options: open_(served.origin + path, **options)


def hostile(folder: Path, words: list[str]) -> tuple[SiteStatus, ScheduleStatus]:
    """A site whose pages, reasons, notes, refusals, files, channels and audits are called so, and a board of more."""
    one = usual(folder, "one", url=words[0], schedule=words[0], report=None)
    with closing(STATE_DB.open(one.state / "state.db")) as db, db:
        db.execute("DELETE FROM change")
        db.executemany(
            "INSERT INTO change (run, url, kind, target, lastmod, before, reason) VALUES (2, ?, ?, ?, ?, ?, ?)",
            [
                (f"{'' if number % 2 else 'https://example.com/'}{word}#{number}", kind, word, word, word[::-1], word)
                for number, word in enumerate(words)
                for kind in (("changed", "moved", "added", "removed", "deindexed")[number % 5],)
            ],
        )
        files = [{"name": word, "url": word, "urls": 1, "bytes": 1} for word in words]
        db.execute(
            "UPDATE run SET added = 999, changed = 999, notes = ?, because = ?, refusal = ?, outcome = ?,"
            " completeness = ?, files = ?",
            (json.dumps(words), words[0], words[1], words[2], words[3], json.dumps(files)),
        )
    with Ledger.opened(one.state, 10_000) as ledger:
        ledger.set_channels([f"channel {word}" for word in words[:20]])
        for word in words[:20]:
            sent = SentMessage(
                at=NOW,
                channel=word,
                occasion=Occasion.CHANGES,
                host=word,
                urls=3,
                reception=SendStatus.DEFERRED,
                said=word,
            )
            line = ledger.begin_delivery(ledger.start(f"channel {word}", 1), 2)
            ledger.defer(line, word, NOW + 500, sent)
    others = [
        replace(
            one, name=word, url=word, sitemap_url=word, state=folder / "none", failures=number % 2,
            last=attempt(word, status=RunStatus.FAILED, message=word, outcome=word, run=None),
        )
        for number, word in enumerate(words)
    ]  # fmt: skip
    made = board(one, *others, config=words[0], config_error=words[1], trouble=words[2], version=words[3])
    return one, made


TAGS = {
    "html", "head", "meta", "title", "link", "style", "body", "a", "header", "p", "h1", "h2", "main", "ul", "li", "b",
    "strong", "span", "small", "form", "label", "input", "button", "table", "caption", "thead", "tbody", "tr", "th",
    "td", "bdi", "div", "time", "section", "details", "summary", "ol", "footer", "code",
}  # fmt: skip


def look(page: Page) -> None:
    """See that there are only elements of ours, and links that lead to us or to the web."""
    page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    assert page.evaluate("window.naughty") is None
    tags = page.evaluate("[...new Set([...document.querySelectorAll('*')].map((each) => each.localName))]")
    assert set(tags) <= TAGS, set(tags) - TAGS
    names = page.evaluate(
        "[...new Set([...document.querySelectorAll('*')].flatMap((each) => each.getAttributeNames()))]"
    )
    assert not [name for name in names if name.startswith("on") or name in ("style", "src", "srcdoc")]
    links = page.evaluate("[...document.querySelectorAll('a')].map((each) => each.protocol)")
    assert set(links) <= {"http:", "https:", ":"}  # ":" is a URL that leads nowhere


@pytest.mark.parametrize("words", [MARKUP[::4], pytest.param(WORDS, marks=pytest.mark.slow)], ids=["some", "all"])
def test_ours_hostile_strings_stay_text(opening: Opening, tmp_path: Path, words: list[str]) -> None:
    words = list(dict.fromkeys(word for word in words if word.strip("/.")))
    _, made = hostile(tmp_path, words)
    with serving(made, serve_sitemaps=True) as served:
        page = opening(served, "/")
        look(page)
        assert page.locator(".sites tbody tr").count() == len(words) + 1
        told = page.locator(".sites tbody th a bdi").all_text_contents()
        assert {word for word in words if word.isprintable() and word.isascii()} <= set(told)
        page = opening(served, "/sites/one")
        look(page)
        reasons = set(page.locator(".changes bdi").all_text_contents())
        assert {word for word in words[:500] if word.isprintable() and word.isascii()} <= reasons
        for word in [word for word in words if "<script>" in word][:2]:
            look(opening(served, f"/?q={quote(word)}"))
            if "/" not in word and "\0" not in word:
                look(opening(served, f"/sites/{quote(word, safe='')}"))


def every(folder: Path) -> ScheduleStatus:
    """Sites that show all there is on a page."""
    shop, big = usual(folder), site(folder, "big")
    audited(shop)
    state(
        big.state,
        [PAGES, LATER],
        ["sitemap.xml"],
        added=12_345,
        changed=123_456,
        removed=99_999,
        deindexed=54_321,
        fetched=1_500_000,
        bytes=50_000_000_000,
        seconds=90_000.0,
    )
    failed = attempt(
        "blog", status=RunStatus.FAILED, exit_code=5, outcome="", run=None, message="robots.txt cannot be had " * 9
    )
    blog = site(folder, "blog", last=failed, failures=3, url="https://example.com/" + "long" * 60)
    page = "https://docs.example.com/the-office/of-salzburg/furniture/index.html"
    gone = attempt(
        "docs",
        status=RunStatus.FAILED,
        outcome="",
        run=None,
        message=f"the start URL {page} answered 404: --accept-shrink",
    )
    docs = site(folder, "documentation-of-the-salzburg-office", last=gone, failures=1, url=page)
    news = site(folder, "news")
    state(
        news.state,
        [PAGES, {**LATER, f"/{'x' * 300}": Seen()}],
        ["sitemap.xml"],
        outcome="refused",
        refusal="why " * 40,
        exit_code=3,
    )
    return board(
        shop, big, blog, docs, news, site(folder, "new", running_since=NOW - 60), site(folder, "n" * 80),
        config_error="line 3 is wrong", is_stopping=True,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("width", "scheme"),
    [
        (360, "dark"),
        *(pytest.param(*each, marks=pytest.mark.thorough) for each in ((1_024, "light"), (1_280, "dark"))),
        *(
            pytest.param(width, scheme, marks=pytest.mark.slow)
            for width, scheme in (
                (360, "light"),
                (768, "dark"),
                (800, "dark"),
                (961, "light"),
                (1_024, "dark"),
                (1_152, "light"),
                (1_280, "light"),
                (1_366, "light"),
                (1_366, "dark"),
                (1_600, "light"),
            )
        ),
    ],
)
def test_ours_it_fits_a_phone_and_the_dark(opening: Opening, tmp_path: Path, scheme: str, width: int) -> None:
    with serving(every(tmp_path), serve_sitemaps=True) as served:
        options = {"viewport": {"width": width, "height": 740}, "color_scheme": scheme, "java_script_enabled": True}
        for path in ("/", "/sites/shop", "/sites/news", "/sites/big"):
            page = opening(served, path, **options)
            page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
            assert page.evaluate("document.documentElement.scrollWidth") <= width, path
            colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
            assert (sum(map(int, colour[4:-1].split(","))) < 100) == (scheme == "dark")
            faint = page.evaluate(CONTRAST)
            assert faint == [], path
            assert page.evaluate(BROKEN) == [], path
            lines = "(each) => [...each.querySelectorAll('bdi')].map((each) => each.getClientRects().length)"
            urls = page.get_by_role("row").get_by_text("https://www.example.com/", exact=True)
            assert set(urls.evaluate_all(f"(all) => all.map({lines}).flat()")) <= {1}, path
            hidden = page.evaluate(
                "[...document.querySelectorAll('.cards td, .cards th')].filter((each) =>"
                " each.getBoundingClientRect().right > innerWidth).map((each) => each.textContent)"
            )
            assert hidden == [], path


# Words of ours in a table that go on in the next line; those of strangers, in a <bdi>, may be of any length.
BROKEN = """() => [...document.querySelectorAll(":is(td, th), :is(td, th) *")].flatMap((each) => [...each.childNodes])
  .filter((node) => node.nodeType === 3 && !node.parentElement.closest("bdi"))
  .flatMap((node) => [...node.data.matchAll(/[^ \\n]+/g)].filter((word) => {
    const range = document.createRange();
    range.setStart(node, word.index);
    range.setEnd(node, word.index + word[0].length);
    return new Set([...range.getClientRects()].map((each) => each.top)).size > 1;
  }).map((word) => word[0]))"""

# Texts whose colour is not 4.5 times as light as what is behind them, or the other way round (WCAG 2.2, 1.4.3).
CONTRAST = """() => {
  const channels = (colour) => (colour.match(/[0-9.]+/g) ?? []).map(Number);
  const light = (colour) => {
    const [r, g, b] = channels(colour).slice(0, 3).map((each) => each / 255)
      .map((each) => each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if (colour.startsWith("rgb(")) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  return [...document.querySelectorAll("main *, header *, footer *")]
    .filter((each) => [...each.childNodes].some((node) => node.nodeType === 3 && node.data.trim()))
    .filter((each) => {
      const [a, b] = [light(getComputedStyle(each).color), light(behind(each))];
      return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) < 4.5;
    })
    .map((each) => each.outerHTML.slice(0, 200));
}"""


@pytest.mark.slow
def test_ours_a_person_finds_a_site_its_changes_and_its_audit_without_a_script(
    opening: Opening, tmp_path: Path
) -> None:
    made = every(tmp_path)
    report = made.sites[0].report
    assert report
    write_reports(*made_audit(200), report)
    with serving(made, serve_sitemaps=True) as served:
        page = opening(served, "/", java_script_enabled=False)
        page.get_by_role("searchbox").fill("sho")
        page.get_by_role("button", name="Filter").click()
        assert page.locator(".sites tbody tr").count() == 1
        page.get_by_role("link", name="shop", exact=True).click()
        assert page.get_by_role("heading", level=1).inner_text() == "shop"
        page.get_by_role("link", name="3 added").click()
        assert page.url.endswith("?run=1#changes")
        assert page.locator(".changes li").count() == 3
        page.get_by_role("link", name="the last changes").click()
        page.get_by_role("link", name="audit.html").click()
        assert page.locator("h1").inner_text().startswith("http")
        page = opening(served, "/sites/shop/audit/audit.html")
        page.wait_for_selector("#explorer:not([aria-busy])")
        assert "findings" in page.locator("#told").inner_text(), "its own script runs"


@pytest.mark.slow
def test_ours_the_page_is_read_aloud_in_order(opening: Opening, tmp_path: Path) -> None:
    """WCAG 2.2: names for fields and tables, one h1, no level of headings left out, a language, a way past the head."""
    with serving(every(tmp_path), serve_sitemaps=True) as served:
        for path in ("/", "/sites/shop"):
            page = opening(served, path)
            assert page.locator("html").get_attribute("lang") == "en"
            assert page.locator("h1").count() == 1
            levels = page.evaluate(
                "[...document.querySelectorAll('h1, h2, h3')].map((each) => Number(each.localName[1]))"
            )
            assert levels[0] == 1
            assert all(after <= before + 1 for before, after in pairwise(levels))
            assert page.evaluate("[...document.querySelectorAll('input')].every((each) => each.labels.length)")
            page.keyboard.press("Tab")
            assert page.evaluate("document.activeElement.className") == "skip"
            ids = page.evaluate("[...document.querySelectorAll('[id]')].map((each) => each.id)")
            assert len(ids) == len(set(ids))


@pytest.mark.slow
def test_ours_the_stylesheet_of_a_sitemap_works_here(opening: Opening, tmp_path: Path) -> None:
    shop = usual(tmp_path)
    (shop.output / "sitemap.css").write_text("urlset { color: rgb(1, 2, 3); }")
    sitemap = shop.output / "sitemap-1.xml"
    head, _, body = sitemap.read_text().partition("\n")
    sitemap.write_text(f'{head}\n<?xml-stylesheet type="text/css" href="sitemap.css"?>\n{body}')
    with serving(board(shop), serve_sitemaps=True) as served:
        page = opening(served, "/published/shop/sitemap-1.xml")
        assert page.evaluate("getComputedStyle(document.documentElement).color") == "rgb(1, 2, 3)"
