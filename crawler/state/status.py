"""The status of a site from its state: what is published, which process works on it, and its runs."""

import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec import Struct

from crawler.errors import SiteatlasError
from crawler.model import State, Url
from crawler.state.lock import lock_holder
from crawler.state.runs import CONTINUED_KEY, TRIES_KEY, Continued, Run, RunStore, RunTotals, read_continued
from crawler.state.schema import STATE_DB
from crawler.state.store import OUTPUT_KEY, AskedCounts, asked_counts
from crawler.units import count_text
from crawler.url.normalize import origin_of

_COPIED_ROBOTS: Final = "SELECT said FROM robots WHERE origin = ? AND copy_at < fetched_at"
_PROGRESS: Final = f"""SELECT (SELECT count(*) FROM visit WHERE state != '{State.OUT_OF_SCOPE}'),
  (SELECT count(*) FROM visit WHERE state = '{State.PENDING}')"""  # noqa: S608 - our own


class StateStatus(Struct, frozen=True, kw_only=True):
    """The status of a site. ``holder`` is the process that works on it, or "".

    ``sitemap_url`` is the URL of the published sitemap, or the planned one. ``pages`` counts the published pages,
    ``kept`` those of them that failed lately and stay listed, ``held`` those that the gate holds. ``published`` is the
    last run whose files are published, ``wrote`` the number of the run that wrote these, ``succeeded`` the last one
    with exit code 0 whose files are published. ``runs`` are the last ones,
    the newest first. ``totals`` are those of all runs that have ended, by their result. While a process works on it,
    ``known`` counts the URLs that the run knows, and ``pending`` those of them that it has not visited yet. ``asked``
    is None for a run that asks for all pages. ``continued`` is the last run that was continued. ``robots`` says why
    the last robots.txt is a copy, or is "". ``file`` is the first published file; None if none is known.
    """

    url: str
    sitemap_url: str
    directory: Path
    holder: str
    pages: int
    kept: int
    held: int
    published: Run | None
    wrote: int | None
    succeeded: Run | None = None
    runs: list[Run]
    totals: dict[str, RunTotals] = {}
    known: int = 0
    pending: int = 0
    asked: AskedCounts | None = None
    continued: Continued = Continued()
    robots: str = ""
    file: Path | None = None

    @property
    def deleted(self) -> str:
        """That the first published file is not in its directory any more, in a sentence; "" if that is not seen."""
        with suppress(OSError):  # a directory that we may not enter shows nothing
            try:
                if self.file:
                    self.file.lstat()
            except FileNotFoundError:
                if self.file and self.file.parent.is_dir():
                    return f"{self.file} was deleted: siteatlas rollback writes it again, or a run that publishes"
        return ""

    @property
    def unended(self) -> str:
        """That the process of the last run was lost, in a sentence; "" if it ended or is active."""
        return self.unfinished.unended if self.unfinished and not self.holder else ""

    @property
    def unfinished(self) -> Run | None:
        """The run that is running, or that the next one resumes."""
        return self.runs[0] if self.runs and self.runs[0].is_open else None

    @property
    def progress(self) -> str:
        """How far the active run is, in words; "" without one."""
        return f"{self.known - self.pending:,} of {count_text(self.known, 'known URL')} visited" if self.known else ""


def state_status(directory: Path, runs: int) -> StateStatus:
    """The status of the state in a directory, with its last ``runs``; also while a run works on it.

    Raises UsageError when published_run is no state or it has another version, StorageError when it cannot be read.
    """
    holder = lock_holder(directory)  # also before the view: the process may end in between
    with STATE_DB.reading(directory) as db:
        db.execute("BEGIN")  # a consistent view
        keys = ("url", "sitemap_url", CONTINUED_KEY, TRIES_KEY, OUTPUT_KEY)
        about = dict(db.execute("SELECT key, value FROM about WHERE key IN (?, ?, ?, ?, ?)", keys))
        url = about.get("url", "")
        robots = db.execute(_COPIED_ROBOTS, (origin_of(Url(url)),)).fetchone() if url else None
        pages, kept, held = _published_counts(db)
        holder = holder or lock_holder(directory)
        known, pending = db.execute(_PROGRESS).fetchone() if holder else (0, 0)
        records = RunStore(db)
        published_run, output = records.published(), about.get(OUTPUT_KEY)
        wrote = records.wrote()
        return StateStatus(
            url=url,
            sitemap_url=(published_run and published_run.sitemap_url) or about.get("sitemap_url", ""),
            directory=directory,
            holder=holder,
            pages=pages,
            kept=kept,
            held=held,
            published=published_run,
            wrote=wrote.number if wrote else None,
            succeeded=records.succeeded(),
            runs=records.last(runs),
            totals=records.totals(),
            known=known,
            pending=pending,
            asked=asked_counts(db),
            continued=read_continued(about.get),
            robots=f"at the last request, {robots[0]}: crawlers obey an old copy or stay away" if robots else "",
            file=Path(output, published_run.files[0].name) if output and published_run else None,
        )


def published_sitemap_url(directory: Path, planned: Url) -> Url:
    """The URL of the published sitemap; ``planned`` without one, or without a readable state."""
    try:
        with STATE_DB.reading(directory) as db:
            published_run = RunStore(db).published()
    except SiteatlasError:  # who needs the state itself reports the error
        return planned
    return Url(published_run.sitemap_url) if published_run else planned


def _published_counts(db: sqlite3.Connection) -> tuple[int, int, int]:
    query = "SELECT count(*), coalesce(sum(kept = 1), 0), coalesce(sum(kept = 2), 0) FROM published"
    pages, kept, held = db.execute(query).fetchone()
    return int(pages), int(kept), int(held)
