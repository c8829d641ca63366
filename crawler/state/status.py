"""How a site stands, as its state tells without a run: what is published, what is going on, which runs there were."""

import sqlite3
from pathlib import Path

from msgspec import Struct

from crawler.errors import SiteatlasError
from crawler.model import Url
from crawler.state.lock import lock_holder
from crawler.state.migrations import STATE_DB
from crawler.state.runs import Run, RunsPage


class StateStatus(Struct, frozen=True, kw_only=True):
    """A site as it stands. ``holder`` is the process that is working on it, or "".

    ``sitemap_url`` is where what is published is, or will be when nothing is: with gzip one file has another address
    than an index.
    ``pages`` is how many are published, ``kept`` how many of them failed lately and keep their place; ``published`` is
    the last run after which its files are out there, and ``wrote`` the number of the one that wrote them. ``runs`` are
    the last ones, the newest first.
    """

    url: str
    sitemap_url: str
    directory: Path
    holder: str
    pages: int
    kept: int
    published: Run | None
    wrote: int | None
    runs: list[Run]

    @property
    def unfinished(self) -> Run | None:
        """The run that is going on, or that the next one goes on with."""
        return self.runs[0] if self.runs and self.runs[0].is_open else None


def state_status(directory: Path, runs: int) -> StateStatus:
    """Look at the state in a directory, also while a run is working on it. ``runs`` is how many are told of.

    Raises UsageError when there is no state or one of another version, StorageError when it cannot be read.
    """
    with STATE_DB.reading(directory) as db:
        db.execute("BEGIN")  # everything from one moment
        about = dict(db.execute("SELECT key, value FROM about WHERE key IN ('url', 'sitemap_url')"))
        pages, kept = _published_counts(db)
        records = RunsPage(db)
        there = records.published()
        wrote = records.wrote()
        return StateStatus(
            url=about.get("url", ""),
            sitemap_url=(there and there.sitemap_url) or about.get("sitemap_url", ""),
            directory=directory,
            holder=lock_holder(directory),
            pages=pages,
            kept=kept,
            published=there,
            wrote=wrote.number if wrote else None,
            runs=records.last(runs),
        )


def published_sitemap_url(directory: Path, planned: Url) -> Url:
    """Where the sitemap is that is published, as a state tells; ``planned`` when none is, or the state does not."""
    try:
        with STATE_DB.reading(directory) as db:
            there = RunsPage(db).published()
    except SiteatlasError:  # whoever needs more of it will tell
        return planned
    return Url(there.sitemap_url) if there else planned


def _published_counts(db: sqlite3.Connection) -> tuple[int, int]:
    pages, kept = db.execute("SELECT count(*), coalesce(sum(kept), 0) FROM published").fetchone()
    return int(pages), int(kept)
