"""``/metrics``: the daemon and its sites as Prometheus measures them.

https://prometheus.io/docs/practices/naming/: base units in the name, one label ``site``, ``kind`` for changes and
``severity`` for findings, so that there are as many series as there are sites, whatever their pages do. What is not
known has no sample.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from crawler.publish.changes import ChangeKind
from crawler.schedule.status import Board, SiteBoard
from crawler.schedule.web.site_status import untold
from crawler.schedule.web.snapshots import Look
from crawler.state.runs import Run

Reading = Callable[[SiteBoard, Look], float | None]


def exposed(board: Board, looks: Mapping[str, Look], accept: str) -> tuple[bytes, str]:
    """The text, and its media type, which ``accept`` chooses."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Sites(board, looks))
    encode, media_type = choose_encoder(accept)
    return encode(registry), media_type


class Sites(Collector):
    """The metrics of one moment."""

    def __init__(self, board: Board, looks: Mapping[str, Look]) -> None:
        self._board = board
        self._looks = looks

    def collect(self) -> Iterator[Metric]:
        """All families, also those without a sample."""
        yield from self._daemon()
        for name, help_, read in _OF_SITES:
            family = GaugeMetricFamily(f"siteatlas_site_{name}", help_, labels=["site"])
            for site in self._board.sites:
                value = read(site, self._looks.get(site.name, Look()))
                if value is not None:
                    family.add_metric([site.name], value)
            yield family
        yield self._changes()
        yield self._findings()

    def _daemon(self) -> Iterator[Metric]:
        board = self._board
        yield InfoMetricFamily("siteatlas_build", "The version of siteatlas", {"version": board.version})
        gauges: tuple[tuple[str, str, float | None], ...] = (
            ("sites", "Sites of the configuration", len(board.sites)),
            ("stopping", "Whether the daemon is stopping", board.is_stopping),
            ("start_time_seconds", "When the daemon started, Unix time", board.started),
            (
                "config_last_reload_successful",
                "Whether the configuration as it is now is used",
                not board.config_error,
            ),
            (
                "config_last_reload_success_timestamp_seconds",
                "When it was read, Unix time",
                board.config_read,
            ),
        )
        for name, help_, value in gauges:
            family = GaugeMetricFamily(f"siteatlas_{name}", help_)
            if value is not None:
                family.add_metric([], float(value))
            yield family

    def _changes(self) -> Metric:
        family = GaugeMetricFamily(
            "siteatlas_site_last_run_changes",
            "URLs that the last run changed, by kind",
            labels=["site", "kind"],
        )
        for site in self._board.sites:
            run = self._looks.get(site.name, Look()).ended
            for kind in ChangeKind if run else ():
                family.add_metric([site.name, kind.value], getattr(run, kind))
        return family

    def _findings(self) -> Metric:
        family = GaugeMetricFamily(
            "siteatlas_site_last_audit_findings",
            "Findings of the last audit, by severity",
            labels=["site", "severity"],
        )
        for site in self._board.sites:
            audit = self._looks.get(site.name, Look()).audit.last
            for severity, number in audit.severities.items() if audit else ():
                family.add_metric([site.name, severity], number)
        return family


def _of_audit(what: str) -> Reading:
    """A number of the last audit that came to its end."""
    return lambda _, look: getattr(look.audit.last, what, None)


def _since_audit(what: str) -> Reading:
    """The same of one that is compared with the one before."""
    return lambda _, look: (
        getattr(look.audit.last, what) if look.audit.last and look.audit.last.before else None
    )


def _of_last(read: Callable[[Run], float | None]) -> Reading:
    """Something of the last run that ended."""

    def reading(_: SiteBoard, look: Look) -> float | None:
        found = read(look.ended) if look.ended else None
        return found if found or (look.ended and look.ended.has_figures) else None

    return reading


def _ended(site: SiteBoard, look: Look) -> float | None:
    """When the last run ended, as its state says, or an attempt that came to no run."""
    run, attempt = look.ended, site.last
    moments = [moment for moment in (run and run.ended, attempt and attempt.ended) if moment]
    return max(moments, default=None)


def _exit_code(site: SiteBoard, look: Look) -> float | None:
    run, attempt = look.ended, site.last
    if attempt is None or attempt.exit_code is None:
        return run.exit_code if run else None
    is_older = run is not None and run.number != attempt.run and (run.ended or 0.0) > (attempt.ended or 0.0)
    return run.exit_code if run and is_older else attempt.exit_code  # a run by hand is one too


def _pages(_: SiteBoard, look: Look) -> float | None:
    return look.standing.pages if look.standing and look.standing.published else None


def _untold(site: SiteBoard, look: Look) -> float | None:
    return bool(untold(site, look))


def _success(_: SiteBoard, look: Look) -> float | None:
    return look.good.ended if look.good else None


def _audit_failed(_: SiteBoard, look: Look) -> float | None:
    return bool(look.audit.trouble) if look.audit.newest else None


def _of_google(what: str) -> Reading:
    """A number of what Google said last."""
    return lambda _, look: getattr(look.google, what, None)


_OF_SITES: Final[tuple[tuple[str, str, Reading], ...]] = (
    ("running", "Whether a run is going on", lambda site, _: site.running_since is not None),
    ("scheduled", "Whether the schedule runs it", lambda site, _: bool(site.timetable)),
    ("next_run_timestamp_seconds", "When the next run begins at the soonest, Unix time", lambda site, _: site.next_at),
    ("consecutive_failures", "Attempts in a row that failed", lambda site, _: site.failures),
    ("untold", "Whether others could not yet be told of something", _untold),
    ("state_readable", "Whether its state can be read", lambda _, look: not look.error),
    ("last_run_timestamp_seconds", "When the last run ended, Unix time", _ended),
    ("last_success_timestamp_seconds", "When the last run ended that is published, Unix time", _success),
    ("last_run_exit_code", "The exit code of the last run; negative: the signal that killed it", _exit_code),
    ("last_run_duration_seconds", "How long the last run took", _of_last(lambda run: run.seconds)),
    ("last_run_requests", "Requests of the last run", _of_last(lambda run: run.fetched)),
    ("last_run_received_bytes", "Bytes that the last run received", _of_last(lambda run: run.bytes)),
    ("listed_pages", "Pages in the published sitemap", _pages),
    ("last_audit_timestamp_seconds", "When the last whole audit began, Unix time", _of_audit("started")),
    ("last_audit_new_findings", "Findings of the last audit that the one before did not have", _since_audit("new")),
    ("last_audit_mended_findings", "Findings of the audit before that are mended", _since_audit("mended")),
    ("audit_failed", "Whether an audit was begun since that came to no end", _audit_failed),
    ("search_console_errors", "Errors that Google found in the sitemap", _of_google("errors")),
    ("search_console_warnings", "Warnings of Google about the sitemap", _of_google("warnings")),
)  # fmt: skip
