"""Compares an audit with the previous one, rule by rule, and stores what the next comparison needs.

::

    coverage of rules | pair the findings | new | resolved, or undecided | trends | (reports written) | store
"""

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import msgspec
from msgspec.structs import replace

from crawler.audit.compare.finding_status import (
    AuditScope,
    CurrentState,
    FindingStatus,
    PreviousFinding,
    RuleCoverage,
    replaced_by,
    what_became,
    why_none_new,
    why_undecided,
)
from crawler.audit.compare.store import AuditHistory
from crawler.audit.finding import AuditComparisonResult, AuditReport
from crawler.audit.media import CheckedMedia
from crawler.audit.rules import OWN, RULE_GROUPS
from crawler.audit.source_record import SourceReport
from crawler.audit.summary import AuditSummary
from crawler.audit.verdict import RULE_SOURCES, why_inconclusive, why_not_checked
from crawler.config import plan as planning
from crawler.config.plan import CrawlPlan
from crawler.config.sections import AuditConfig
from crawler.errors import StorageError, UsageError

_MAX_UNDECIDED: Final = 10  # findings
FIRST_AUDIT: Final = "first audit of this site: nothing to compare with"
_SITEMAP_GROUPS: Final = ("health", "media", "lint")
_OWN_SITEMAPS: Final = "the sitemaps that the site names"
_FORGOTTEN: Final = "--fresh deleted the results of earlier visits"
_SOURCES_BY_RULE: Final = {rule: sources for rules, sources, _ in RULE_SOURCES for rule in rules}
_Decision = Callable[[PreviousFinding, CurrentState], tuple[FindingStatus, str, str]]
_LIMITS: Final = {
    "reach.deep": "max_clicks",
    "reach.few": "min_inlinks",
    "bots.uncrawled": "min_log_days",
    **dict.fromkeys(("gone.visited", "gone.down", "gone.named"), "min_visits"),
}
_RULES_FROM_STATE: Final = ("entry.lastmod_late", "entry.lastmod_early")  # they need earlier visits


class AuditComparison:
    """Compares one audit. ``db`` has its findings, ``directory`` the history of earlier audits.

    If the history cannot be used, the report says so, and the audit goes on. ``is_fresh``: earlier visits were deleted.
    """

    def __init__(self, db: sqlite3.Connection, directory: Path, plan: CrawlPlan, *, is_fresh: bool) -> None:
        self._fault = ""
        self._plan = plan
        self._is_fresh = is_fresh
        self._settings = planning.result_settings(plan.config)
        self._past: AuditHistory | None = None
        self._started: float | None = None  # of the previous audit
        self._then: Mapping[str, tuple[float, RuleCoverage]] = {}
        self._changed = ""
        try:
            self._past = AuditHistory(db, directory)
            if last := self._past.last_audit():
                self._started, settings = last
                self._changed = _changed_settings(settings, self._settings)
            self._then = self._past.rule_coverage()
        except (StorageError, UsageError) as error:
            self._warn_unusable(error)

    def compare(self, report: AuditReport, media: CheckedMedia, unsure: Sequence[str] = ()) -> AuditReport:
        """The report with its comparison, if there is a previous audit; marks new findings in the database.

        Of ``unsure`` targets of links it is unknown whether they can be fetched.
        """
        if self._past is None:
            return self._with_comparison(report, None)
        now = self._rule_coverage(report)
        reasons = {rule: self._why_none_new(rule, coverage) for rule, coverage in now.items()}
        try:
            today = datetime.fromtimestamp(report.started, UTC).date().isoformat()
            self._past.compare(today, (rule for rule, reason in reasons.items() if not reason))
            if self._started is None:
                return replace(report, why_uncompared=FIRST_AUDIT)
            self._past.resolve_missing(self._decider(now, report, media, unsure))
            trends = [trend for trend in self._past.trends() if trend.rule in now]  # a rule of your own may be gone
            undecided = self._past.undecided(_MAX_UNDECIDED)
        except StorageError as error:
            self._warn_unusable(error)
            return self._with_comparison(report, None)
        totals = {count.rule: count.total for count in report.counts}
        uncompared = {
            trend.rule: reason
            for trend in trends
            if trend.undecided or totals.get(trend.rule, 0) > trend.new + trend.still
            if (reason := reasons[trend.rule] or now[trend.rule].gap)
        }
        started = self._started
        earlier = {
            count.rule: compared_start
            for count in trends
            for compared_start, _ in [self._then.get(count.rule, (started, RuleCoverage()))]
            if count.rule not in uncompared and compared_start != started
        }
        return self._with_comparison(
            report,
            AuditComparisonResult(
                started=started, trends=trends, uncompared=uncompared, earlier=earlier, undecided=undecided
            ),
        )

    def audits_before(self, number: int) -> list[AuditSummary]:
        """The finished audits before the one with this number, the oldest first; none if they cannot be read."""
        try:
            return self._past.audits_before(number) if self._past else []
        except StorageError as error:
            self._warn_unusable(error)
            return []

    def store(self, report: AuditReport, news: AuditSummary) -> None:
        """Store this audit for the next comparison and for notifications. Raises StorageError."""
        if self._past is None:
            return
        coverage = {  # also that of a rule which no earlier audit could decide either
            rule: rule_coverage
            for rule, rule_coverage in self._rule_coverage(report).items()
            if not rule_coverage.gap or self._changed or rule not in self._then or self._then[rule][1].gap
        }
        keep_runs = self._plan.config.state.keep_runs
        self._past.store(news, self._settings, coverage, keep_runs, anew=bool(self._changed))

    def _warn_unusable(self, error: Exception) -> None:
        self._past = None
        self._fault = f"compared with no earlier audit: {error}"

    def _with_comparison(self, report: AuditReport, compared: AuditComparisonResult | None) -> AuditReport:
        return replace(report, compared=compared, why_uncompared=self._fault)

    def _why_none_new(self, rule: str, now: RuleCoverage) -> str:
        if self._changed:
            return self._changed
        return why_none_new(self._then[rule][1] if rule in self._then else None, now)

    def _rule_coverage(self, report: AuditReport) -> dict[str, RuleCoverage]:
        audit = self._plan.config.audit
        return {
            rule: RuleCoverage(
                (_FORGOTTEN if self._is_fresh and rule in _RULES_FROM_STATE else "")
                or why_not_checked(report, rule, group)
                or why_inconclusive(report, rule, group),
                _limit(rule, audit),
                _compared_sources(rule, group.name, report.inputs, audit),
            )
            for group in RULE_GROUPS
            for rule in group.rules
        }

    def _decider(
        self, now: Mapping[str, RuleCoverage], report: AuditReport, media: CheckedMedia, unsure: Sequence[str]
    ) -> _Decision:
        scope = AuditScope(
            is_doubtful=bool(report.doubts),
            trusts_blocked=self._plan.config.audit.trust_blocked,
            is_named=bool(self._plan.config.audit.sitemaps),
            is_media_whole=media.is_whole,
            answering=frozenset(media.answering),
            unsure=frozenset([*media.uncertain, *unsure]),
        )

        def decide(previous: PreviousFinding, current: CurrentState) -> tuple[FindingStatus, str, str]:
            coverage = now.get(previous.rule)
            if coverage is None or self._changed:
                return FindingStatus.DROPPED, self._changed or "the rule is no longer in the configuration", ""
            if coverage.gap:
                return FindingStatus.INCONCLUSIVE, coverage.gap, ""
            earlier = self._then[previous.rule][1] if previous.rule in self._then else coverage
            if earlier.limit != coverage.limit:
                return FindingStatus.DROPPED, why_none_new(earlier, coverage), ""
            if previous.rule not in _SOURCES_BY_RULE and (left := set(earlier.sources) - set(coverage.sources)):
                return FindingStatus.INCONCLUSIVE, f"this audit did not have {', '.join(sorted(left))}", ""
            if not (text := what_became(previous, current, scope)):
                return FindingStatus.INCONCLUSIVE, why_undecided(previous, current, scope), ""
            rule = replaced_by(previous, current)
            return (FindingStatus.REPLACED if rule else FindingStatus.RESOLVED), text, rule

        return decide


def _limit(rule: str, audit: AuditConfig) -> str:
    if name := _LIMITS.get(rule):
        return f"audit.{name}={getattr(audit, name)}"
    own = audit.rules.get(rule.removeprefix(f"{OWN}."))
    return own.version if own else ""


def _compared_sources(rule: str, group: str, inputs: Sequence[SourceReport], audit: AuditConfig) -> tuple[str, ...]:
    """The kinds of sources, or the sitemaps, that a rule compares the crawl with."""
    if group in _SITEMAP_GROUPS or rule == "orphan.sitemap":
        return tuple(sorted({f"--sitemap {name}" for name in audit.sitemaps})) or (_OWN_SITEMAPS,)
    kinds = _SOURCES_BY_RULE.get(rule, frozenset())
    return tuple(sorted({f"--{report.source}" for report in inputs if report.used and report.source in kinds}))


def _changed_settings(previous: Mapping[str, object], now: Mapping[str, object]) -> str:
    """That settings which decide what a crawl finds have changed, or ""."""
    now = msgspec.json.decode(msgspec.json.encode(now))
    # a key that an older version lacked has its default value there
    changed = sorted(key for key, value in previous.items() if value != now.get(key))
    return f"the previous audit had other settings ({', '.join(changed)})" if changed else ""
