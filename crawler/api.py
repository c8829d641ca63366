"""The crawl and the audit of a site as two functions, for programs that have them inside."""

from collections.abc import Iterator
from contextlib import contextmanager

from crawler.audit.audit import ProgressWatchers
from crawler.audit.audit import audit as audited
from crawler.audit.finding import AuditFindings, AuditReport
from crawler.config import plan as planning
from crawler.config.config import Config
from crawler.crawl.engine import Tally, Watch
from crawler.run.regenerate import regenerate_site
from crawler.run.report import Report
from crawler.state.store import Resume


def _ignore_progress(_: Tally) -> None:
    pass


async def crawl_site(
    config: Config,
    *,
    name: str = "",
    watch: Watch = _ignore_progress,
    begin: Resume = Resume.ALWAYS,
    dry_run: bool = False,
    accept_shrink: bool = False,
) -> Report:
    """Do what ``siteatlas crawl`` does: crawl a site, publish its sitemap, and tell whom the configuration names.

    Runs on asyncio, in the event loop of the caller. ``config.site.url`` and ``config.output.directory`` must be given;
    ``name`` is what the site is called in what others are told, its host by default. ``watch`` is told a few times a
    second how far it is. ``begin`` says what becomes of an earlier run, and ``accept_shrink`` lets a smaller set than
    before through the gate; a ``dry_run`` publishes nothing and tells nobody. In the main thread SIGINT and SIGTERM
    end the crawl as they end the command's; in any thread it can be cancelled. Either way the next call goes on.

    Raises UsageError for a configuration that cannot be, NothingCrawlable, StateInUse and StorageError, all of them
    SiteatlasErrors; a refused publish and a crawl that was cut short are in the report, whose ``exit_code`` is that
    of the command.
    """
    plan = planning.plan_crawl(config)
    return await regenerate_site(
        plan,
        name or plan.scope.origin.partition("://")[2],
        watch,
        begin=begin,
        dry_run=dry_run,
        accept_shrink=accept_shrink,
    )


@contextmanager
def audit_site(
    config: Config, *, watch: Watch = _ignore_progress, begin: Resume = Resume.ALWAYS
) -> Iterator[tuple[AuditReport, AuditFindings]]:
    """Do what ``siteatlas audit`` does; the findings of each rule can be asked for while the context lasts.

    The audit rests on the crawl of the last :func:`crawl_site` with this state and these settings, unless that ended
    more than ``config.audit.max_crawl_age`` seconds ago; with 0 it crawls the site itself. ``AuditReport.crawl`` says
    which crawl it rests on.

    Runs an event loop of its own: from a coroutine, call it in another thread. Raises as :func:`crawl_site`.
    """
    watches = ProgressWatchers(watch, lambda *_: None)
    with audited(planning.plan_audit(config), watches, begin=begin) as audit:
        yield audit
