"""When a template of URLs is a trap: how many of its pages are read, and what is news."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from endless_sites import HOME, QUIET, anchors, last_page_for_ever, visit, word

from crawler.crawl.frontier import url_templates
from crawler.crawl.frontier.storage import pack_links
from crawler.crawl.frontier.traps import Novelty, TemplateMember
from crawler.crawl.frontier.url_templates import UrlTemplate
from crawler.model import State, Url
from crawler.parse.snapshot.snapshot import take_snapshot
from crawler.state.schema import STATE_DB

PATIENCE = 25


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
