"""The crawl, the audit and the tables of a site as functions for programs that embed them."""

import sqlite3
from collections import namedtuple
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from crawler.audit.audit import ProgressWatchers, audit
from crawler.audit.finding import AuditFindings, AuditReport
from crawler.config.config import Config
from crawler.config.plan import plan_audit, plan_crawl, plan_scope, state_directory
from crawler.crawl.engine import Tally, Watch
from crawler.dataset.build import open_dataset
from crawler.dataset.history import record
from crawler.dataset.rules import own_rules
from crawler.dataset.schema import TABLES
from crawler.errors import UsageError
from crawler.run.crawl import RunChoices
from crawler.run.regenerate import regenerate_site
from crawler.run.report import Report
from crawler.state.store import Resume


def _ignore_progress(_: Tally) -> None:
    pass


async def crawl_site(  # noqa: PLR0913 - the choices of a person, each with a default
    config: Config,
    *,
    name: str = "",
    watch: Watch = _ignore_progress,
    begin: Resume = Resume.ALWAYS,
    dry_run: bool = False,
    accept_shrink: bool = False,
    replace_foreign: bool = False,
) -> Report:
    """Do what ``siteatlas crawl`` does: crawl a site, publish its sitemap, and notify the configured channels.

    Runs on asyncio, in the caller's event loop. ``config.site.url`` and ``config.output.directory`` are required.
    ``name`` is the name of the site in notifications, its host by default. ``watch`` gets the progress a few times a
    second. ``begin`` says whether to resume an earlier run, ``accept_shrink`` lets a smaller set through the gate,
    ``replace_foreign`` overwrites a sitemap that no run with this state wrote, and ``dry_run`` publishes nothing and
    notifies nobody. In the main thread SIGINT and SIGTERM end the crawl as they end the command; in any thread it can
    be cancelled. Either way the next call resumes it.

    Raises UsageError for an invalid configuration, NothingCrawlable, StateInUse and StorageError, all of them
    SiteatlasErrors. A refused publish and a crawl that was cut short are in the report; its ``exit_code`` is that of
    the command.
    """
    plan = plan_crawl(config)
    choices = RunChoices(begin=begin, dry_run=dry_run, accept_shrink=accept_shrink, replace_foreign=replace_foreign)
    return await regenerate_site(plan, name or plan.scope.origin.partition("://")[2], watch, choices)


@contextmanager
def audit_site(
    config: Config, *, watch: Watch = _ignore_progress, begin: Resume = Resume.ALWAYS
) -> Iterator[tuple[AuditReport, AuditFindings]]:
    """Do what ``siteatlas audit`` does; the findings of each rule are readable while the context lasts.

    The audit rests on the crawl of the last :func:`crawl_site` with this state and these settings, unless that ended
    more than ``config.audit.max_crawl_age`` seconds ago; with 0 it crawls the site itself. ``AuditReport.crawl`` says
    which crawl it rests on.

    Runs its own event loop: from a coroutine, call it in another thread. Raises as :func:`crawl_site`.
    """
    watches = ProgressWatchers(watch, lambda *_: None)
    with audit(plan_audit(config), watches, begin=begin, own=own_rules(config), record=record) as result:
        yield result


class CrawlTables:
    """The tables of the last finished crawl of a site, for reading. ``db`` is their SQLite, for queries of your own."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.db = db

    def rows(self, table: str) -> Iterator[Any]:
        """The rows of a table one by one, each with its columns as attributes. Raises UsageError without the table."""
        if table not in TABLES:
            raise UsageError(f"there is no table {table!r}. There are {', '.join(TABLES)}")
        columns = [column.name for column in TABLES[table]]
        row = namedtuple(table.title(), columns)  # type: ignore[misc]
        return map(row._make, self.db.execute(f"SELECT {', '.join(columns)} FROM {table}"))  # noqa: S608 - our own


@contextmanager
def crawl_tables(config: Config) -> Iterator[CrawlTables]:
    """Open what ``siteatlas query`` asks, while the context lasts. Raises UsageError if no run has finished yet."""
    _, sitemap_url, _ = plan_scope(config)
    with closing(open_dataset(state_directory(Path(config.state.directory), sitemap_url))) as db:
        yield CrawlTables(db)
