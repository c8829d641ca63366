"""Endless sites end and cost little, and no page of a site with an end is lost: a frontier against made-up sites."""

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from endless_sites import (
    ENDLESS,
    FINITE,
    HOME,
    QUIET,
    REAL,
    SHOP,
    anchors,
    archive,
    calendar_by_query,
    end_run,
    facets,
    last_page_for_ever,
    shop,
    visit,
    word,
)

from crawler.crawl.frontier import url_templates
from crawler.crawl.frontier.storage import pack_links
from crawler.crawl.frontier.traps import Novelty, TemplateMember, TrapDetector
from crawler.crawl.frontier.url_templates import UrlTemplate
from crawler.model import State, Url
from crawler.parse.snapshot.snapshot import take_snapshot
from crawler.state.schema import STATE_DB

PATIENCE = 25
MOST = {"facets": 600}  # pages that may be read; each set of filters has a few to show what it is


@pytest.mark.parametrize("name", ENDLESS)
def test_ours_an_endless_site_ends_and_its_real_pages_are_all_found(tmp_path: Path, name: str) -> None:
    crawl = visit(ENDLESS[name], tmp_path, patience=PATIENCE)
    assert set(REAL) <= crawl.listed
    assert name != "facets" or set(SHOP) <= crawl.listed
    assert crawl.traps
    assert len(crawl.read) < MOST.get(name, 300)
    assert len(crawl.notes) == 1


@pytest.mark.parametrize("name", ENDLESS)
def test_ours_what_is_listed_of_an_endless_site_does_not_depend_on_the_order_of_answers(
    tmp_path: Path, name: str
) -> None:
    listed = []
    for seed in range(3):
        folder = tmp_path / str(seed)
        folder.mkdir()
        crawl = visit(ENDLESS[name], folder, patience=PATIENCE, seed=seed, width=6 * seed + 1)
        listed.append(crawl.listed)
    assert all(each == listed[0] for each in listed)


@pytest.mark.parametrize("name", FINITE)
def test_ours_no_page_of_a_site_with_an_end_is_lost(tmp_path: Path, name: str) -> None:
    site, real = FINITE[name]()
    crawl = visit(site, tmp_path, patience=PATIENCE)
    assert real - crawl.listed == set()
    assert not crawl.traps
    assert crawl.notes == []


@pytest.mark.slow
def test_ours_twenty_thousand_products_behind_four_hundred_pages_of_a_list_are_all_found(tmp_path: Path) -> None:
    site, real = shop(20_000, 50)
    crawl = visit(site, tmp_path)
    assert crawl.listed == real


def test_ours_a_list_tells_something_though_a_sitemap_has_named_all_that_is_in_it(tmp_path: Path) -> None:
    site, real = shop(1_200, 5)
    crawl = visit(site, tmp_path, patience=PATIENCE, named=sorted(path for path in real if "product" in path))
    assert crawl.read[1].startswith("/product") or crawl.read[2].startswith("/product")
    assert real - crawl.listed == set()
    assert not crawl.traps


def test_ours_a_patience_of_nought_reads_on(tmp_path: Path) -> None:
    crawl = visit(calendar_by_query, tmp_path, patience=0, most=2_000)
    assert len(crawl.read) == 2_000
    assert not crawl.traps


def test_ours_what_waits_is_visited_when_another_page_leads_there(tmp_path: Path) -> None:
    """A link from anywhere else is evidence that no template makes up."""
    site = calendar_by_query

    def linked(path: str) -> str | None:
        page = site(path)
        far = '<a href="/cal?date=900">the party</a>'
        return f"{page}{far}" if path == next(iter(REAL)) else page

    late = next(iter(REAL))

    def later(path: str) -> str | None:
        """The same, found only when the calendar has been left long ago."""
        if path == "/":
            return (site("/") or "").replace(late, "/way-a")
        steps = {f"/way-{'a' * n}": f"/way-{'a' * (n + 1)}" for n in range(1, 80)}
        if path in steps:
            return f'<a href="{steps[path] if len(path) < 80 else late}">on</a>'
        return linked(path)

    for number, each in enumerate((linked, later)):
        folder = tmp_path / str(number)
        folder.mkdir()
        crawl = visit(each, folder, patience=PATIENCE)
        assert "/cal?date=900" in crawl.listed
        assert "/cal?date=901" in crawl.read or "/cal?date=901" in crawl.traps
        assert len(crawl.read) < 300


@pytest.mark.parametrize("reads", [30, 55, 70])
def test_ours_a_crawl_that_was_killed_goes_on_to_the_same_end(tmp_path: Path, reads: int) -> None:
    """Its process is killed after so many pages; what it had committed is there."""
    whole = tmp_path / "whole"
    whole.mkdir()
    expected = visit(facets, whole, patience=PATIENCE).listed
    cut = tmp_path / "cut"
    cut.mkdir()
    child = os.fork()
    if not child:
        try:
            visit(facets, cut, patience=PATIENCE, most=reads * 5, commit_every=7)
        finally:
            os.kill(os.getpid(), signal.SIGKILL)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL
    assert visit(facets, cut, patience=PATIENCE).listed == expected


def test_ours_what_failed_is_no_evidence(tmp_path: Path) -> None:
    """A site whose months all fail from some day on is not endless: it is out of order."""
    site, real = archive(30)
    months = sorted((path for path in real if path.count("/") == 3), reverse=True)

    def failing(path: str) -> str | None:
        return "fails" if path in months[60:] else site(path)

    crawl = visit(failing, tmp_path, patience=PATIENCE)
    assert not crawl.traps


def test_ours_what_was_decided_is_decided_again_by_the_next_process(tmp_path: Path) -> None:
    """A crawl that was killed when all was decided asks for nothing more, and tells the same."""
    first = visit(calendar_by_query, tmp_path, patience=PATIENCE, seed=1)
    again = visit(calendar_by_query, tmp_path, patience=PATIENCE)
    assert again.read == []
    assert again.ends == first.ends
    assert again.notes == first.notes


def test_ours_hundreds_of_endless_paths_are_decided_about_by_reading_what_is_known_a_few_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A shop has as many lists with filters as it has categories. Nothing else is done while it is decided."""
    asked = 0

    def counted(url: str, parent: str, knows: Callable[[str], bool]) -> url_templates.UrlTemplate | None:
        nonlocal asked
        asked += 1
        return shared_template(url, parent, knows)

    shared_template = url_templates.shared_template
    monkeypatch.setattr(url_templates, "shared_template", counted)
    names = [word(number) for number in range(120)]

    def site(path: str) -> str | None:
        if path == "/":
            return anchors(f"/{name}?day=0" for name in names)
        where, _, day = path.partition("?day=")
        return QUIET + anchors(f"{where}?day={int(day) + step}" for step in (1, -1))

    crawl = visit(site, tmp_path, patience=8)
    assert len(crawl.notes) == len(names)
    assert asked < 20 * len(crawl.ends)


@pytest.mark.parametrize("name", sorted(ENDLESS.keys() - {"relative links", "session ids"}))  # these end as copies
def test_ours_what_is_counted_on_the_way_is_what_the_state_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A run that is resumed counts again, and must decide as if it had never stopped."""
    reviewed = TrapDetector.review_postponed
    compared = 0

    def compare(self: TrapDetector) -> bool:
        nonlocal compared
        admitted = reviewed(self)
        if self._is_counted:
            again = TrapDetector(self._db, self._state_counts, self._out, PATIENCE)
            assert +self._family == +again._family
            assert +self._own == +again._own
            compared += 1
        return admitted

    monkeypatch.setattr(TrapDetector, "review_postponed", compare)
    visit(ENDLESS[name], tmp_path, patience=PATIENCE)
    assert compared


LISTS, TALKS = UrlTemplate(f"{HOME}/list", "page"), UrlTemplate(f"{HOME}/list", "talk")


@contextmanager
def novelty(folder: Path, limit: int, **texts: Sequence[str | None]) -> Iterator[Novelty]:
    """The pages of two templates of one path, with these texts; None: the page may not be listed."""
    pages = {}
    with closing(STATE_DB.open(folder / "state.db")) as db:
        for template in (LISTS, TALKS):
            members = pages[template] = []
            for at, text in enumerate(texts.get(template.names, ())):
                number = 1_000 * len(pages) + at
                url, state = Url(f"{HOME}/list?{template.names}={at}"), State.INDEXABLE if text else State.NOINDEX
                members.append(TemplateMember(at, url, number, template, state, 200, number))
                content = (number, 1, "", b"", "", pack_links([]), take_snapshot((text or word(number)).encode()))
                db.execute(
                    "INSERT INTO content (id, run, reading, digest, type, links, text) VALUES (?, ?, ?, ?, ?, ?, ?)",
                    content,
                )
        db.commit()
    pages = {template: members for template, members in pages.items() if members}
    with closing(STATE_DB.open(folder / "state.db")) as db:
        yield Novelty(db, pages, {}, limit)


@pytest.mark.parametrize(("read", "judges"), [(1, False), (2, True)])
def test_ours_the_later_half_of_the_pages_of_a_template_is_judged(tmp_path: Path, read: int, judges: bool) -> None:
    with novelty(tmp_path, 420, page=["<p>A tale."] * read) as found:
        assert found.has_no_news(LISTS) is judges


@pytest.mark.parametrize(
    ("last", "is_news"), [("<p>A tale.", False), ("<p>A tale of all.", True), (None, False), ("<p>A story.", False)]
)
def test_ours_a_page_brings_news_by_a_word_that_no_page_before_it_and_no_other_template_has(
    tmp_path: Path, last: str | None, is_news: bool
) -> None:
    with novelty(tmp_path, 4, page=[*["<p>A tale."] * 9, last], talk=["<p>A story."] * 3) as found:
        assert found.has_no_news(LISTS) is not is_news
        assert found.has_news(LISTS) is is_news


def test_ours_pages_without_news_are_the_indexable_ones_behind_a_page(tmp_path: Path) -> None:
    texts = ["<p>A tale.", "<p>A tale.", None, "<p>A tale of all.", "<p>A tale of all."]
    with novelty(tmp_path, 4, page=texts) as found:
        members = found.pages[LISTS]
        assert [page.depth for page in found.pages_without_news(LISTS, members[0])] == [1, 4]
        assert [page.depth for page in found.pages_without_news(LISTS, members[1])] == [4]
        assert [*found.pages_without_news(TALKS, members[0])] == []


@pytest.mark.parametrize(("patience", "lists"), [(25, 50), (15, 60), (10, 40), (7, 56), (5, 40)])
def test_ours_a_template_whose_last_pages_bring_news_may_have_twice_as_many(
    tmp_path: Path, patience: int, lists: int
) -> None:
    """Twenty pages of a list bring news; so many are read when none of the later half does."""
    crawl = visit(last_page_for_ever, tmp_path, patience=patience)
    found = [path for path in crawl.read if path.startswith("/list?")]
    assert len(found) - 1 == lists  # another page leads to the first one
    assert len([path for path in crawl.listed if path.startswith("/item")]) == 200


def test_ours_an_endless_template_of_which_a_sitemap_lists_some_urls_is_the_same_in_each_run(tmp_path: Path) -> None:
    named = [f"/cal?date={day}" for day in range(100, 110)]
    first = visit(calendar_by_query, tmp_path, patience=PATIENCE, named=named)
    end_run(tmp_path)
    again = visit(calendar_by_query, tmp_path, patience=PATIENCE, named=named)
    assert again.listed == first.listed
    assert {*named} <= again.listed
    assert again.traps
