"""``/metrics``: the daemon and its sites, for Prometheus.

https://prometheus.io/docs/practices/naming/: base units in the name; the labels are ``site``, ``kind`` of changes,
``severity`` of findings and ``result``, so that the number of series depends on the number of sites only. An unknown
value has no sample. Counters come from the stored history, so they survive a restart of the daemon.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import takewhile
from typing import Any, Final

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from crawler.notify.messages import NEUTRAL_EXIT_CODES
from crawler.notify.notice import SendStatus
from crawler.publish.changes import ChangeKind
from crawler.schedule.status import ScheduleStatus, SiteStatus
from crawler.schedule.web.snapshots import URGENT, SiteSnapshot, condition, is_by_hand, notify_pending
from crawler.state.runs import Run

_Sample = Callable[[SiteStatus, SiteSnapshot], float | None]
_Numbers = Callable[[SiteSnapshot], Mapping[str, float]]


def exposition(metrics: Collector, accept: str) -> tuple[bytes, str]:
    """The metrics in the format that the header ``accept`` chooses, and its media type."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(metrics)
    encode, media_type = choose_encoder(accept)
    return encode(registry), media_type


class SiteMetrics(Collector):
    """The metrics at one moment."""

    def __init__(self, board: ScheduleStatus, snapshots: Mapping[str, SiteSnapshot]) -> None:
        self._status = board
        self._snapshots = snapshots

    def collect(self) -> Iterator[Metric]:
        """All metric families, also those without a sample."""
        yield from self._daemon()
        for name, help_, sample in _SITE_METRICS:
            family = GaugeMetricFamily(f"siteatlas_site_{name}", help_, labels=["site"])
            for site in self._status.sites:
                value = sample(site, self._snapshot(site))
                if value is not None:
                    family.add_metric([site.name], value)
            yield family
        for kind, name, label, help_, numbers in _LABELLED_METRICS:
            labelled = kind(f"siteatlas_site_{name}", help_, labels=["site", label])
            for site in self._status.sites:
                for of, number in numbers(self._snapshot(site)).items():
                    labelled.add_metric([site.name, of], number)
            yield labelled

    def _snapshot(self, site: SiteStatus) -> SiteSnapshot:
        return self._snapshots.get(site.name, SiteSnapshot())

    def _daemon(self) -> Iterator[Metric]:
        board = self._status
        yield InfoMetricFamily("siteatlas_build", "The version of siteatlas", {"version": board.version})
        gauges: tuple[tuple[str, str, float | None], ...] = (
            ("sites", "Sites in the configuration", len(board.sites)),
            ("stopping", "Whether the daemon is stopping", board.is_stopping),
            ("start_time_seconds", "When the daemon started, Unix time", board.started),
            (
                "config_last_reload_successful",
                "Whether the current configuration file could be loaded",
                not board.config_error,
            ),
            (
                "config_last_reload_success_timestamp_seconds",
                "When the configuration was loaded last, Unix time",
                board.config_read,
            ),
        )
        for name, help_, value in gauges:
            family = GaugeMetricFamily(f"siteatlas_{name}", help_)
            if value is not None:
                family.add_metric([], float(value))
            yield family


def _value(path: str) -> _Sample:
    """What the names of a path lead to in a snapshot; None as soon as one of them has no value."""

    def sample(_: SiteStatus, snapshot: SiteSnapshot) -> float | None:
        found: Any = snapshot
        for name in path.split("."):
            found = getattr(found, name, None)
        return None if found is None else float(found)

    return sample


def _compared_audit_value(name: str) -> _Sample:
    """A number of the last completed audit, if it could be compared with the previous one."""
    return lambda _, snapshot: (
        getattr(snapshot.audit.last, name) if snapshot.audit.last and snapshot.audit.last.before else None
    )


def _last_run_value(read: Callable[[Run], float | None]) -> _Sample:
    """A number of the last run that has ended; 0 is unknown when the run kept no figures."""

    def sample(_: SiteStatus, snapshot: SiteSnapshot) -> float | None:
        run = snapshot.last_ended
        value = read(run) if run else None
        return value if value or (run and run.has_figures) else None

    return sample


def _ended(site: SiteStatus, snapshot: SiteSnapshot) -> float | None:
    """When the last run ended, or the last attempt that did not get as far as a run."""
    run, attempt = snapshot.last_ended, site.last
    times = [time for time in (run and run.ended, attempt and attempt.ended) if time]
    return max(times, default=None)


def _exit_code(site: SiteStatus, snapshot: SiteSnapshot) -> float | None:
    run, attempt = snapshot.last_ended, site.last
    if run and (is_by_hand(site, run) or attempt is None or attempt.exit_code is None):
        return run.exit_code
    return attempt.exit_code if attempt else None


def _failures(site: SiteStatus, snapshot: SiteSnapshot) -> float:
    """The failed attempts of the daemon, which may leave no run, or the failed runs."""
    since_success = takewhile(lambda run: run.exit_code != 0, snapshot.ended)
    failed = sum(run.exit_code not in NEUTRAL_EXIT_CODES for run in since_success)
    return failed if is_by_hand(site, snapshot.last_ended) else max(site.failures, failed)


def _pages(_: SiteStatus, snapshot: SiteSnapshot) -> float | None:
    standing = snapshot.standing
    return standing.pages if standing and standing.published else None


def _audit_failed(_: SiteStatus, snapshot: SiteSnapshot) -> float | None:
    return bool(snapshot.audit.trouble) if snapshot.audit.newest else None


def _run_totals(name: str) -> _Numbers:
    """A total of all runs that have ended, by their result."""
    return lambda snapshot: {
        result: getattr(totals, name)
        for result, totals in (snapshot.standing.totals if snapshot.standing else {}).items()
    }


def _audit_totals(snapshot: SiteSnapshot) -> dict[str, float]:
    return {result: totals.runs for result, totals in snapshot.audit_totals.items()}


def _message_totals(snapshot: SiteSnapshot) -> dict[str, float]:
    totals = snapshot.notifications.totals if snapshot.notifications else {}
    return {result: totals[reception] for reception, result in _SEND_RESULTS.items() if reception in totals}


def _changes(snapshot: SiteSnapshot) -> dict[str, float]:
    run = snapshot.last_ended
    return {kind.value: getattr(run, kind) for kind in ChangeKind} if run else {}


def _findings(snapshot: SiteSnapshot) -> Mapping[str, float]:
    return snapshot.audit.last.severities if snapshot.audit.last else {}


_SEND_RESULTS: Final = {SendStatus.ACCEPTED: "accepted", SendStatus.DEFERRED: "deferred", SendStatus.REFUSED: "refused"}
_TOTAL = CounterMetricFamily
_LAST = GaugeMetricFamily
_LABELLED_METRICS: Final[tuple[tuple[type[_TOTAL | _LAST], str, str, str, _Numbers], ...]] = (
    (_TOTAL, "runs", "result", "Runs that have ended, by result", _run_totals("runs")),
    (_TOTAL, "run_requests", "result", "Requests of all runs, by the result of the run", _run_totals("fetched")),
    (_TOTAL, "run_received_bytes", "result", "Bytes that all runs received, by the result of the run",
     _run_totals("bytes")),
    (_TOTAL, "run_seconds", "result", "Duration of all runs, by the result of the run", _run_totals("seconds")),
    (_TOTAL, "audits", "result", "Audits that have ended, by result", _audit_totals),
    (_TOTAL, "messages", "result", "Messages of notifications, by result", _message_totals),
    (_LAST, "last_run_changes", "kind", "URLs that the last run changed, by kind", _changes),
    (_LAST, "last_audit_findings", "severity", "Findings of the last audit, by severity", _findings),
)  # fmt: skip
_SITE_METRICS: Final[tuple[tuple[str, str, _Sample], ...]] = (
    ("attention", "Whether a person should look at the site, as /healthz says",
     lambda *values: condition(*values).tone in URGENT),
    ("running", "Whether a run is in progress", lambda site, _: site.running_since is not None),
    ("scheduled", "Whether the site has a schedule", lambda site, _: bool(site.schedule)),
    ("next_run_timestamp_seconds", "Earliest start of the next run, Unix time", lambda site, _: site.next_at),
    ("consecutive_failures", "Runs in a row that failed, were refused or had pages held", _failures),
    ("notify_pending", "Whether a notification is not delivered yet", lambda *values: bool(notify_pending(*values))),
    (
        "refused_messages",
        "Messages that a channel refused and that were not accepted since",
        lambda _, snapshot: len(snapshot.refused) if snapshot.notifications else None,
    ),
    ("state_readable", "Whether the state can be read", lambda _, snapshot: not snapshot.error),
    ("last_run_timestamp_seconds", "End of the last run, Unix time", _ended),
    ("last_success_timestamp_seconds", "End of the last run whose whole result is published, Unix time",
     _value("last_good.ended")),
    ("last_run_exit_code", "Exit code of the last run; negative: the signal that killed it", _exit_code),
    ("last_run_duration_seconds", "Duration of the last run", _last_run_value(lambda run: run.seconds)),
    ("last_run_requests", "Requests of the last run", _last_run_value(lambda run: run.fetched)),
    ("last_run_received_bytes", "Bytes that the last run received", _last_run_value(lambda run: run.bytes)),
    ("listed_pages", "Pages in the published sitemap", _pages),
    ("held_pages", "Pages in it that the gate holds", _value("standing.held")),
    ("asked_pages", "Pages that the last run requested, if not all (fetch.recheck_within)",
     _value("standing.asked.asked")),
    ("known_pages", "Pages of which it requested some", _value("standing.asked.known")),
    ("oldest_visit_timestamp_seconds", "When the page was requested that it requested longest ago",
     _value("standing.asked.oldest")),
    ("last_audit_timestamp_seconds", "Start of the last completed audit, Unix time", _value("audit.last.started")),
    ("last_audit_new_findings", "New findings of the last audit", _compared_audit_value("new")),
    ("last_audit_mended_findings", "Findings of the previous audit that are resolved", _compared_audit_value("mended")),
    ("audit_failed", "Whether an audit that started later did not complete", _audit_failed),
    ("search_console_errors", "Errors that Google found in the sitemap", _value("search_console.errors")),
    ("search_console_warnings", "Warnings of Google about the sitemap", _value("search_console.warnings")),
)  # fmt: skip
