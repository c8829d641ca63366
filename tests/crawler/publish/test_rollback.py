"""Going back in the tables: what is published then, what the history says of it, and what the next run makes of it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from site_history import DAY, SITE, START, History, Seen

from crawler.model import Url
from crawler.publish.changes import ONLY_DATE, ChangeCounts
from crawler.publish.rollback import RestoredPage, restore_published
from crawler.state.database import transaction
from crawler.state.runs import ROLLED_BACK, Run, RunStore
from crawler.state.schema import STATE_DB

OLD, NEW = Seen(lastmod="2026-01-01"), Seen(lastmod="2026-01-02")
WHY = "the sitemap of run 1 is published again"


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    db = STATE_DB.open(tmp_path / "state.db")
    yield History(db)
    db.close()


def back(history: History, pages: dict[str, Seen]) -> ChangeCounts:
    """Publish a set of these pages again, as the run after the last one."""
    number = history.number + 1
    run = Run(number=number, started=START + number * DAY, ended=START, version="", outcome=ROLLED_BACK)
    again = [RestoredPage(Url(SITE + path), page.lastmod, "news", 2, "news-2.xml") for path, page in pages.items()]
    with transaction(history.db):
        counts = restore_published(history.db, run, again, WHY)
    history.number = number
    return counts


def test_ours_the_next_run_compares_with_the_set_that_is_published_again(history: History) -> None:
    history.run({"/": OLD, "/gone": OLD, "/edited": OLD})
    now = {"/": OLD, "/edited": Seen(lastmod="2026-01-02", changed=1, evidence="its text changed"), "/new": NEW}
    history.run(now)
    assert back(history, {"/": OLD, "/gone": OLD, "/edited": OLD}) == ChangeCounts(added=1, changed=1, removed=1)
    step = {each.url.removeprefix(SITE): each for each in history.changes.of_run(3)}
    assert {path: each.kind for path, each in step.items()} == {
        "/edited": "changed",
        "/gone": "added",
        "/new": "removed",
    }
    # of a page whose date alone is another, search engines are not notified
    assert {path: each.reason for path, each in step.items()} == {"/edited": ONLY_DATE, "/gone": WHY, "/new": WHY}
    assert (step["/edited"].before, step["/edited"].lastmod) == ("2026-01-02", "2026-01-01")
    rows = history.db.execute("SELECT DISTINCT lastmod, grp, shard, file FROM published").fetchall()
    assert rows == [("2026-01-01", "news", 2, "news-2.xml")]
    feed = history.run({"/": OLD, "/edited": NEW, "/new": NEW})
    assert {each.url.removeprefix(SITE): each.kind for each in feed} == {
        "/edited": "changed",
        "/gone": "removed",
        "/new": "added",
    }
    both = {each.url.removeprefix(SITE): each.kind for each in history.changes.between(2, 4)}
    assert both == {"/new": "changed"}, "what came and went is not told, nor a date that changed back"


def test_ours_a_page_that_is_forgotten_is_published_again_all_the_same(history: History) -> None:
    history.run({"/": OLD})
    history.begin({"/": NEW})  # cut short
    assert back(history, {"/": OLD, "/forgotten": OLD}) == ChangeCounts(added=1)
    assert [run.outcome for run in RunStore(history.db).last(9)] == ["rolled back", "published"]
    assert [each.kind for each in history.run({"/": OLD})] == ["removed"]
