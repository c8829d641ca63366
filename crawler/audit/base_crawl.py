"""Chooses the crawl that an audit rests on: the last run's if it is recent and had the same settings, or a new one.

::

    basis of an unfinished audit | last run | why_unusable, why_outdated | CrawlBasis, EarlierCrawl
"""

import dataclasses
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from crawler.audit.finding import CrawlBasis
from crawler.config import plan as planning
from crawler.config.plan import CrawlPlan
from crawler.crawl.assembly import parse_settings_key
from crawler.crawl.revalidation import EarlierCrawl
from crawler.errors import SiteatlasError
from crawler.model import State
from crawler.state.database import storage_errors
from crawler.state.lock import lock_holder
from crawler.state.runs import ROLLED_BACK, Run, RunStore
from crawler.state.schema import STATE_DB
from crawler.state.store import Resume, Store, asked_counts, read_about, write_about
from crawler.units import span
from crawler.version import __version__

MAX_NAMED: Final = 5  # settings that differ
_KEY: Final = "crawl"  # of the table "about" in the state of an audit
# Start and sitemap URL are compared in canonical form. An audit follows no sitemaps, so it needs less than a run saw.
_NOT_COMPARED: Final = ("site.url", "site.sitemap_url", "scope.sitemap_seeds")
_HAS_PENDING: Final = f"SELECT EXISTS (SELECT 1 FROM visit WHERE state = '{State.PENDING}')"  # noqa: S608
_IS_READ_ALIKE: Final = """SELECT NOT EXISTS (SELECT 1 FROM visit WHERE content IS NOT NULL)
  OR EXISTS (SELECT 1 FROM visit v JOIN content c ON c.id = v.content WHERE c.reading = ?)"""
# A trail begins with the time of the first request.
_REUSED: Final = "SELECT count(*) FROM visit WHERE trail != '' AND CAST(trail AS REAL) < ?"


class LastRun(Struct, frozen=True):
    """The facts that decide whether an audit can use the crawl of a run.

    ``settings`` are those that decide what the run saw, by key. ``is_going_on``: a process works on the run.
    ``has_pending``: the run left URLs unvisited. ``is_read_alike``: it parsed pages with the settings of the audit.
    ``is_carried``: it did not ask for all pages.
    """

    run: Run
    settings: Mapping[str, object]
    is_going_on: bool = False
    has_pending: bool = False
    is_read_alike: bool = True
    is_carried: bool = False


_UNUSABLE: Final = {
    "nothing": "the last run had no result",
    "refused": "the gate refused what the last run saw",
    "dry": "the last run was a dry run",  # which may show what the gate would refuse
}


def why_unusable(last: LastRun, wanted: Mapping[str, object]) -> str:
    """Why an audit with the ``wanted`` settings cannot use the crawl of a run, or "". Pure."""
    run = last.run
    if run.is_open or last.has_pending:
        return "a run of this site is active" if last.is_going_on else "the last run was cut short"
    if run.outcome in _UNUSABLE:
        return _UNUSABLE[run.outcome]
    if last.is_carried:
        return "the last run did not request all pages"
    if run.version != __version__:
        return f"the last run used siteatlas {run.version}"
    keys = sorted({*last.settings, *wanted})
    differing = [key for key in keys if last.settings.get(key) != wanted.get(key)]
    if not differing and not last.is_read_alike:
        differing = ["fetch.max_body or parse.max_links"]
    named = ", ".join(differing[:MAX_NAMED])
    more = ", …" if len(differing) > MAX_NAMED else ""
    return f"the last run had other settings: {named}{more}" if differing else ""


def why_outdated(ended: float, now: float, max_age: float, audited: float | None) -> str:
    """Why a crawl that ``ended`` at that time is too old, or "". Pure. In Unix time; ``max_age`` is in seconds.

    ``audited`` is when the previous audit crawled the site itself; None: it did not.
    """
    if now - ended > max_age:
        return f"the last crawl is {span(now - ended)} old"
    return "an audit crawled the site after the last run" if audited and audited > ended else ""


def begin_settings(plan: CrawlPlan) -> dict[str, object]:
    """The settings that an unfinished audit must have begun with, so that this one can resume it."""
    return planning.result_settings(plan.config) | {"--fresh-crawl": not plan.config.audit.max_crawl_age}


@dataclasses.dataclass(frozen=True, slots=True)
class BaseCrawl:
    """The crawl that an audit rests on. ``answers`` are its responses; None: the audit fetches everything itself."""

    basis: CrawlBasis
    answers: EarlierCrawl | None = None

    def reported(self, store: Store, seconds: float) -> CrawlBasis:
        """The basis as the report states it, once the visiting is over. It took ``seconds``."""
        started = store.run.started
        if self.basis.run is None:
            return replace(self.basis, ended=started + seconds)
        with storage_errors():
            (reused,) = store.db.execute(_REUSED, (started,)).fetchone()
        return replace(self.basis, age=max(0.0, started - self.basis.ended), reused=reused)


@contextmanager
def base_crawl(plan: CrawlPlan, store: Store, begin: Resume, now: float) -> Iterator[BaseCrawl]:
    """Choose the crawl that an audit rests on. ``store`` is the state of the audit, ``now`` Unix time.

    An unfinished audit keeps the crawl that it began with. While the context lasts, reads see the run's state as it is
    now; nothing is written to it. Raises StorageError.
    """
    with ExitStack() as stack:
        base = _chosen(plan, store, begin, now, stack)
        with storage_errors():
            write_about(store.db, _KEY, msgspec.json.encode(base.basis).decode())
        yield base


def _chosen(plan: CrawlPlan, store: Store, begin: Resume, now: float, stack: ExitStack) -> BaseCrawl:
    previous = _recorded(store)  # by this audit if it resumes, else by the previous one
    if store.resumed and previous.run is None:
        return BaseCrawl(previous)
    max_age = plan.config.audit.max_crawl_age
    new_crawl = "--fresh" if begin is Resume.FRESH else "" if max_age else "--fresh-crawl"
    last = new_crawl or _of_last_run(plan, stack)
    if store.resumed:
        return BaseCrawl(previous, None if isinstance(last, str) else last.answers)
    if isinstance(last, str):
        return BaseCrawl(CrawlBasis(reason=last))
    reason = why_outdated(last.basis.ended, now, max_age, _audited(store, previous))
    return BaseCrawl(CrawlBasis(reason=reason)) if reason else last


def _recorded(store: Store) -> CrawlBasis:
    """The basis of the last audit that chose one; its own crawl if none is stored."""
    with storage_errors():
        encoded = read_about(store.db, _KEY)
    return msgspec.json.decode(encoded, type=CrawlBasis) if encoded else CrawlBasis(reason="the audit began with it")


def _audited(store: Store, previous: CrawlBasis) -> float | None:
    """When the previous audit began (Unix time), if it crawled the site itself and finished."""
    runs = RunStore(store.db).last(1, before=store.run.number)
    is_own = runs and previous.run is None and runs[0].outcome == "audited"
    return runs[0].started if is_own else None


def _of_last_run(plan: CrawlPlan, stack: ExitStack) -> BaseCrawl | str:
    """The crawl of the last run, or why the audit cannot use it. The ``stack`` closes its state."""
    directory = plan.state.parent
    try:
        if not STATE_DB.is_in(directory):
            return "no run has crawled this site yet"
        db = stack.enter_context(closing(STATE_DB.open_read_only(directory / STATE_DB.file)))
        with storage_errors():
            db.execute("BEGIN")  # one snapshot, whatever a run writes meanwhile
            run = _crawled(RunStore(db))
            if run is None:
                return "no run has crawled this site yet"
            about = dict(db.execute("SELECT key, value FROM about"))
            settings = msgspec.json.decode(about.get("settings", "{}"))
            reading = _reading_key(plan, settings)
            last = LastRun(
                run=run,
                settings=_seen_by(settings, about),
                is_going_on=run.is_open and bool(lock_holder(directory)),
                has_pending=bool(db.execute(_HAS_PENDING).fetchone()[0]),
                is_carried=asked_counts(db) is not None,
                is_read_alike=bool(db.execute(_IS_READ_ALIKE, (reading,)).fetchone()[0]),
            )
    except SiteatlasError as error:
        return str(error)
    wanted = msgspec.json.decode(msgspec.json.encode(planning.result_settings(plan.config)))
    reason = why_unusable(last, _seen_by(wanted, plan.about))
    basis = CrawlBasis(run=run.number, ended=run.ended or 0.0)
    return reason or BaseCrawl(basis, EarlierCrawl(db, reading))


def _crawled(runs: RunStore) -> Run | None:
    """The last run that crawled the site. A rollback is a run too, and crawls nothing."""
    page = runs.last(1)
    while page and page[0].outcome == ROLLED_BACK:
        page = runs.last(1, before=page[0].number)
    return page[0] if page else None


def _seen_by(settings: Mapping[str, object], about: Mapping[str, str]) -> dict[str, object]:
    """The settings that decide what a crawl sees, as the state of a site stores them."""
    named = {"site.url": "url", "site.sitemap_url": "sitemap_url", "fetch.user_agent": "user_agent"}
    requests: dict[str, object] = msgspec.json.decode(about.get("requests", "{}"))
    return (
        {key: value for key, value in settings.items() if key not in _NOT_COMPARED}
        | {key: about.get(name) for key, name in named.items()}
        | requests
    )


def _reading_key(plan: CrawlPlan, settings: Mapping[str, object]) -> str:
    """The key of the settings a run parses pages with, if only following sitemaps differs from the plan's."""
    follows = bool(settings.get("scope.sitemap_seeds", True))
    scope = plan.config.scope.model_copy(update={"sitemap_seeds": follows})
    return parse_settings_key(dataclasses.replace(plan, config=plan.config.model_copy(update={"scope": scope})))
