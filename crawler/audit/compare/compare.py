"""The comparison of an audit with the one before: how each looked for each rule, and what is remembered for the next.

::

    looked | pair the findings | new | mended, or not decided | trends | (report told) | keep
"""

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import msgspec
from msgspec.structs import replace

from crawler.audit.claim import Account
from crawler.audit.compare.rules import Before, Fate, Looked, Sight, Today, became, successor, why_none_new
from crawler.audit.compare.store import Last, Past
from crawler.audit.finding import AuditReport, Compared
from crawler.audit.media import CheckedMedia
from crawler.audit.not_checked import WANTED
from crawler.audit.rules import GROUPS
from crawler.audit.summary import AuditNews
from crawler.audit.verdict import why_undecided, why_unlooked
from crawler.config import plan as planning
from crawler.config.audit import Audit
from crawler.config.plan import Plan
from crawler.errors import StorageError, UsageError

FIRST: Final = "first audit of this site: nothing to compare with"
_OF_SITEMAPS: Final = ("health", "media", "lint")
_OWN: Final = "the sitemaps that the site names"
_FORGOTTEN: Final = "what earlier visits saw was forgotten (--fresh)"
_OF_VISITS: Final = {rule: sources for rules, sources, _ in WANTED for rule in rules}
_Decide = Callable[[Before, Today], tuple[Fate, str, str]]
_BY_MEMORY: Final = ("entry.lastmod_late", "entry.lastmod_early")  # they rest on what earlier audits saw


class Comparing:
    """Compares one audit. ``db`` has what it found, ``directory`` the memory of those before.

    A memory that cannot be used is told in the report, and costs the audit nothing else. ``is_fresh``: what earlier
    visits brought was forgotten.
    """

    def __init__(self, db: sqlite3.Connection, directory: Path, plan: Plan, *, is_fresh: bool) -> None:
        self._fault = ""
        self._plan = plan
        self._is_fresh = is_fresh
        self._settings = planning.deciding(plan.config)
        self._past: Past | None = None
        self._last: Last | None = None
        self._then: Mapping[str, tuple[float, Looked]] = {}
        self._changed = ""
        try:
            self._past = Past(db, directory)
            self._last = self._past.last()
            self._then = self._past.looked()
        except (StorageError, UsageError) as error:
            self._give_up(error)
        if self._last:
            self._changed = _changed(self._last.settings, self._settings)

    def compared(self, report: AuditReport, media: CheckedMedia) -> AuditReport:
        """The report with what the audit before says of it, if there is one; the findings get theirs."""
        if self._past is None:
            return self._told(report, None)
        now = self._looked(report)
        why = {rule: self._why_none_new(rule, how) for rule, how in now.items()}
        try:
            self._past.compare(_day(report.started), (rule for rule, said in why.items() if not said))
            if self._last is None:
                return replace(report, why_uncompared=FIRST)
            self._past.mend(self._deciding(now, report, media))
            trends = self._past.trends()
        except StorageError as error:
            self._give_up(error)
            return self._told(report, None)
        uncompared = {each.rule: why[each.rule] for each in report.counts if why.get(each.rule)}
        for trend in trends:
            if trend.undecided and (said := self._changed or now[trend.rule].gap):
                uncompared.setdefault(trend.rule, said)
        started = self._last.started
        earlier = {
            each.rule: then
            for each in trends
            for then, _ in [self._then.get(each.rule, (started, Looked()))]
            if each.rule not in uncompared and then != started
        }
        return self._told(
            report, Compared(started=started, trends=trends, uncompared=uncompared, earlier=earlier)
        )

    def keep(self, report: AuditReport, news: AuditNews) -> None:
        """Let this be the audit that the next one is compared with, and others are told of. Raises StorageError."""
        if self._past is None:
            return
        looked = {
            rule: how
            for rule, how in self._looked(report).items()
            if not how.gap or self._knows_no_better(rule)
        }
        most = self._plan.config.state.keep_runs
        self._past.keep(news, self._settings, looked, most, anew=bool(self._changed))

    def _give_up(self, error: Exception) -> None:
        self._past = None
        self._fault = f"compared with no earlier audit: {error}"

    def _told(self, report: AuditReport, compared: Compared | None) -> AuditReport:
        return replace(report, compared=compared, why_uncompared=self._fault)

    def _knows_no_better(self, rule: str) -> bool:
        """Whether no audit before could decide a rule either."""
        return bool(self._changed) or rule not in self._then or bool(self._then[rule][1].gap)

    def _why_none_new(self, rule: str, now: Looked) -> str:
        if self._changed:
            return self._changed
        return why_none_new(self._then[rule][1] if rule in self._then else None, now)

    def _looked(self, report: AuditReport) -> dict[str, Looked]:
        audit = self._plan.config.audit
        return {
            rule: Looked(
                (_FORGOTTEN if self._is_fresh and rule in _BY_MEMORY else "")
                or why_unlooked(report, rule, group)
                or why_undecided(report, rule, group),
                _limit(rule, audit),
                _sources(rule, group.name, report.inputs, audit),
            )
            for group in GROUPS
            for rule in group.rules
        }

    def _deciding(self, now: Mapping[str, Looked], report: AuditReport, media: CheckedMedia) -> _Decide:
        sight = Sight(
            is_doubtful=bool(report.doubts),
            is_named=bool(self._plan.config.audit.sitemaps),
            is_media_whole=media.is_whole,
            answering=frozenset(media.answering),
            unsure=frozenset(media.unsure),
        )

        def decide(before: Before, today: Today) -> tuple[Fate, str, str]:
            how = now.get(before.rule)
            if how is None or self._changed:
                return Fate.DROPPED, "", ""
            if how.gap:
                return Fate.CARRIED, "", ""
            then = self._then[before.rule][1] if before.rule in self._then else how
            if then.limit != how.limit:
                return Fate.DROPPED, "", ""
            if before.rule not in _OF_VISITS and set(then.sources) - set(how.sources):
                return Fate.CARRIED, "", ""
            if not (said := became(before, today, sight)):
                return Fate.CARRIED, "", ""
            rule = successor(before, today)
            return (Fate.BECAME if rule else Fate.MENDED), said, rule

        return decide


def _limit(rule: str, audit: Audit) -> str:
    match rule:
        case "reach.deep":
            return f"--max-clicks {audit.max_clicks}"
        case "reach.few":
            return f"--min-inlinks {audit.min_inlinks}"
        case "gone.visited" | "gone.down" | "gone.named":
            return f"--min-visits {audit.min_visits}"
    return ""


def _sources(rule: str, group: str, inputs: Sequence[Account], audit: Audit) -> tuple[str, ...]:
    """What a rule is compared with: the kinds of sources, or the sitemaps."""
    if group in _OF_SITEMAPS or rule == "orphan.sitemap":
        return tuple(sorted({f"--sitemap {name}" for name in audit.sitemaps})) or (_OWN,)
    kinds = _OF_VISITS.get(rule, frozenset())
    return tuple(sorted({f"--{each.source}" for each in inputs if each.used and each.source in kinds}))


def _changed(then: Mapping[str, object], now: Mapping[str, object]) -> str:
    """That settings are others now which decide what a crawl finds, or ""."""
    now = msgspec.json.decode(msgspec.json.encode(now))
    # what an older version did not know yet, it did as this one does by default
    changed = sorted(key for key, value in then.items() if value != now.get(key))
    return f"the audit before had other settings ({', '.join(changed)})" if changed else ""


def _day(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).date().isoformat()
