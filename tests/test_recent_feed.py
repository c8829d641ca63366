"""The feed of recent changes beside the sitemap: which pages, which bytes, and when the file is left alone."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from site_history import SITE, History, Seen

from crawler.config.load import build_config
from crawler.config.plan import CrawlPlan, plan_crawl
from crawler.errors import UsageError
from crawler.model import DiscoveredBy, State
from crawler.publish.recent_feed import publish_recent_feed, recent_feed_url
from crawler.state.schema import STATE_DB
from sitemap import Directory, lint, read

HOME = Seen(found=DiscoveredBy.SEED, source=None, title="Home", lastmod="2025-01-01")
GONE = Seen(State.CLIENT_ERROR, "answered 404, not found")


@pytest.fixture
def db(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    opened = STATE_DB.open(tmp_path / "state.db")
    yield opened
    opened.close()


def planned(directory: Path, **output: object) -> CrawlPlan:
    sitemap_url = str(output.pop("sitemap_url", f"{SITE}/sitemap.xml"))
    site = {"url": sitemap_url.rpartition("/")[0] + "/", "sitemap_url": sitemap_url}
    return plan_crawl(build_config({"site": site, "output": {"directory": str(directory), **output}}))


def publish(db: sqlite3.Connection, directory: Path, **output: object) -> Path:
    """The one file that is published."""
    published = publish_recent_feed(db, planned(directory, **output), Directory(directory))
    assert published is not None
    (file,) = published.files
    return directory / file.name


@pytest.mark.parametrize("kind", ["atom", "rss"])
def test_ours_the_feed_has_the_pages_that_were_added_or_changed_last(
    db: sqlite3.Connection, tmp_path: Path, kind: str
) -> None:
    history = History(db)
    history.run({"/": HOME, "/a": Seen(lastmod="2025-06-06", title="A <b>"), "/gone": Seen(), "/still": Seen()})
    history.run({"/": HOME, "/a": Seen(lastmod="2025-06-06"), "/gone": GONE, "/new": Seen(), "/still": Seen()})
    edited = Seen(changed=1, evidence="the price", lastmod="2026-01-03", title="A <c>")
    history.run({"/": HOME, "/a": edited, "/gone": GONE, "/new": Seen(), "/still": Seen()})
    file = publish(db, tmp_path / "public", recent=kind)
    assert file.name == f"sitemap-recent.{kind}"
    assert [(entry.loc, entry.lastmod[:10], entry.title) for entry in read(file)] == [
        (f"{SITE}/a", "2026-01-03", "A <c>"),
        (f"{SITE}/new", "2026-01-02", ""),
        (f"{SITE}/still", "2026-01-01", ""),
        (f"{SITE}/", "2025-01-01", "Home"),
    ]
    report = lint(file, url=f"{SITE}/{file.name}")
    assert report.findings == ()
    assert b"changed: the price" in file.read_bytes()
    assert [entry.loc for entry in read(publish(db, tmp_path / "few", recent=kind, recent_urls=2))] == [
        f"{SITE}/a",
        f"{SITE}/new",
    ]


def test_ours_a_run_without_a_change_leaves_the_file_alone(db: sqlite3.Connection, tmp_path: Path) -> None:
    history = History(db)
    history.run({"/": HOME, "/a": Seen()})
    file = publish(db, tmp_path / "public", recent="atom")
    before, content = file.stat(), file.read_bytes()
    history.run({"/": HOME, "/a": Seen()}, "unchanged")
    assert publish(db, tmp_path / "public", recent="atom") == file
    after = file.stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert publish(db, tmp_path / "elsewhere", recent="atom").read_bytes() == content
    history.run({"/": HOME, "/a": Seen(changed=1, evidence="the text", lastmod="2026-01-03")})
    publish(db, tmp_path / "public", recent="atom")
    assert file.read_bytes() != content


@pytest.mark.parametrize("kind", ["atom", "rss"])
def test_ours_the_files_of_the_sitemap_are_left_alone(db: sqlite3.Connection, tmp_path: Path, kind: str) -> None:
    names = ["sitemap.xml", "sitemap-1.xml", "sitemap-recent-1.xml", "sitemap-recent.xml", "sitemap-recent-1.xml.gz"]
    for name in names:
        (tmp_path / name).write_text(name)
    history = History(db)
    for number in range(3):
        history.run({"/": HOME, f"/{number}": Seen()})
        publish_recent_feed(db, planned(tmp_path, recent=kind), Directory(tmp_path, settle=0, grace=0))
    assert {path.name for path in tmp_path.glob("sitemap*")} == {*names, f"sitemap-recent.{kind}"}
    assert all((tmp_path / name).read_text() == name for name in names)


def test_ours_without_a_wish_or_without_pages_there_is_no_file(db: sqlite3.Connection, tmp_path: Path) -> None:
    destination = Directory(tmp_path / "public")
    assert publish_recent_feed(db, planned(tmp_path / "public", recent="rss"), destination) is None
    History(db).run({"/": HOME})
    assert publish_recent_feed(db, planned(tmp_path / "public"), destination) is None
    assert not (tmp_path / "public").exists()


@pytest.mark.parametrize(
    ("output", "address"),
    [
        ({}, f"{SITE}/sitemap-recent.atom"),
        ({"recent": "rss"}, f"{SITE}/sitemap-recent.rss"),
        ({"sitemap_url": f"{SITE}/maps/site.xml.gz"}, f"{SITE}/maps/site-recent.atom"),
        ({"sitemap_url": f"{SITE}/map"}, f"{SITE}/map-recent.atom"),
        ({"recent_name": "new pages.atom"}, f"{SITE}/new%20pages.atom"),
        ({"recent": ""}, ""),
    ],
)
def test_ours_the_feed_is_called_after_the_sitemap(output: dict[str, object], address: str, tmp_path: Path) -> None:
    ready = planned(tmp_path, **{"recent": "atom", **output})
    assert recent_feed_url(ready) == address


@pytest.mark.parametrize("name", ["sitemap.xml", "a/b.atom", ".rss", "feed", "sitemap-1.xml"])
def test_ours_a_name_that_may_be_that_of_a_sitemap_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"output\.recent_name"):
        recent_feed_url(planned(tmp_path, recent="atom", recent_name=name))
