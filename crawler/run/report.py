"""The report of a run as values: how it ended, what was published, what was left out and why.

:func:`run_result` and :func:`run_result_of_error` make the RunResult that the schedule and the
notifications read.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import Struct

from crawler.config.plan import CrawlPlan
from crawler.crawl.engine import FinishReason
from crawler.crawl.frontier.sqlite import SqliteFrontier
from crawler.crawl.visit import VisitResult
from crawler.errors import Incomplete, PublishRefused, SiteatlasError, StateInUse, UsageError
from crawler.model import State, Url
from crawler.packages import install_command
from crawler.publish.changes import Change, ChangeCounts, counts_text
from crawler.publish.states import OMITTED_STATES
from crawler.publish.write import unused_settings_note
from crawler.run.finish import FinishedRun
from crawler.state.runs import PUBLISHING_OUTCOMES, UNSERVED, PublishedFile, RunResult, RunStatus
from crawler.state.store import AskedCounts, Store, asked_counts
from crawler.units import count_text

if TYPE_CHECKING:  # loaded only where they are configured
    from crawler.notify.ledger_status import NotifyResult
    from crawler.publish.upload.upload import UploadResult

# Possible mistakes first, expected omissions last.
_ONE_PAGE_HINT: Final = (
    "only one page was found, and it contains no links to other pages. If a browser shows links on it, JavaScript "
    "creates them. To read such pages, run {}, and install Chromium"
)
_ELSEWHERE_HINT: Final = (
    "only one page was found, and its links lead elsewhere, such as to {} ({}). If the site is there, start the crawl "
    "there, or add the other host with --host"
)


class Example(Struct, frozen=True):
    """An omitted URL and the reason."""

    url: Url
    reason: str


class OmittedUrls(Struct, frozen=True):
    """All URLs that ended in one state: their number, and some examples."""

    state: State
    count: int
    examples: list[Example]


class Traffic(Struct, frozen=True):
    """The requests of a run: how long it took, how many there were, how many told nothing new, and bytes received.

    ``bound_by`` has the share of the time that each stage bounded the crawl (:mod:`crawler.crawl.bottleneck`).
    """

    seconds: float
    fetched: int
    unchanged: int
    bytes: int
    bound_by: dict[str, float] = {}


class EntryDetails(Struct, frozen=True):
    """What the listed pages have beside their URL: pages with a lastmod, and images, videos and language alternates."""

    with_lastmod: int
    images: int
    videos: int
    alternates: int


_GROUPS: Final = ("traffic", "counts", "details")


class Report(Struct, frozen=True, kw_only=True):
    """One run. ``published`` is empty when nothing was published, and ``refusal`` then says why.

    ``completeness`` is "complete", "carried", "degraded" or "truncated"; ``reason`` names what failed or the limit.
    ``kept`` counts pages that failed and stay listed, ``held`` those that the gate holds: ``refusal`` then says why.
    ``uploaded`` and ``announced`` are the results of the upload and of the notifications.
    """

    run: int
    url: Url
    source: str  # the origin the pages were read from, "" for the site itself
    sitemap_url: str
    complete: bool
    ending: str
    outcome: str  # "published", "unchanged", "partial", "refused", "interrupted", "cut short" or "dry"
    completeness: str
    reason: str
    resumed: bool
    traffic: Traffic
    listed: int
    kept: int
    held: int
    is_first: bool  # nothing was published before
    counts: ChangeCounts  # against the set published before
    changes: list[Change]  # some of each kind
    details: EntryDetails
    published: list[PublishedFile]
    other_formats: list[PublishedFile]
    directory: str
    refusal: str
    left_out: list[OmittedUrls]
    notes: list[str]
    state_directory: str
    exit_code: int
    uploaded: "UploadResult | None" = None  # None: not configured, or it failed
    upload_error: str = ""
    asked: AskedCounts | None = None  # None: for all pages
    announced: "NotifyResult | None" = None  # None: notifications are off, or there was nothing to send
    unserved: str = ""  # why visitors do not get the published sitemap
    news: list[str] = []  # the notes, and ``unserved``, that a quiet run tells too: no earlier run did

    def as_json(self) -> dict[str, Any]:
        """The report as JSON values, in one object without groups."""
        flat: dict[str, Any] = {}
        for key, value in msgspec.to_builtins(self).items():
            flat |= value if key in _GROUPS else {key: value}
        del flat["news"]
        return flat


def build_report(
    plan: CrawlPlan,
    store: Store,
    frontier: SqliteFrontier,
    visited: VisitResult,
    finished: FinishedRun,
    examples: int | None,
) -> Report:
    """Build the report of a run, with ``examples`` URLs of each state of omitted URLs (None: all)."""
    tally, listed, run = visited.tally, finished.tally, finished.run
    published = finished.published
    files = run.files if published else []
    notes = unused_settings_note(plan.config.output, published.files) if published else ()
    return Report(
        run=run.number,
        url=plan.seed,
        source=plan.source.display_name if plan.source else "",
        sitemap_url=published.url if published else plan.sitemap_url,
        complete=visited.ending is FinishReason.COMPLETE,
        ending=visited.ending.value,
        outcome=run.outcome,
        completeness=finished.completeness.kind.value,
        reason=finished.completeness.reason,
        resumed=store.resumed,
        traffic=Traffic(tally.seconds, tally.fetched, tally.unchanged, tally.bytes, tally.bound_by),
        listed=listed.pages,
        kept=run.kept,
        held=finished.held,
        is_first=store.is_first,
        counts=ChangeCounts(
            added=run.added, changed=run.changed, removed=run.removed, moved=run.moved, deindexed=run.deindexed
        ),
        changes=list(finished.changes),
        details=EntryDetails(listed.with_lastmod, listed.images, listed.videos, listed.alternates),
        published=files,
        other_formats=run.other_formats if published else [],
        directory=str(plan.output),
        refusal=run.refusal,
        left_out=omitted_urls(frontier, examples),
        notes=[*run.notes, *notes, *_hints(frontier, listed.pages, visited, is_new=store.is_first and not plan.source)],
        state_directory=str(store.directory),
        exit_code=run.exit_code or (1 if tally.internal_errors else 0),
        asked=asked_counts(store.db),
    )


def _hints(frontier: SqliteFrontier, pages: int, visited: VisitResult, *, is_new: bool) -> list[str]:
    """Hints about a result that looks wrong, and about the set-up of a site that is new and has no ``fetch.source``."""
    states = set(frontier.counts()) - {State.INDEXABLE, State.SITEMAP_FILE, State.OUT_OF_SCOPE}
    was_rendered = any("rendered" in note for note in visited.notes)  # a browser was tried
    if pages == 1 and not states and not was_rendered and visited.ending is FinishReason.COMPLETE:
        other = next(_first_records(frontier, State.OUT_OF_SCOPE, 1), None)
        hint = _ONE_PAGE_HINT.format(install_command("render"))
        return [_ELSEWHERE_HINT.format(other.url, other.reason) if other else hint]
    return [visited.set_up_hint] if is_new and visited.set_up_hint else []


def omitted_urls(frontier: SqliteFrontier, examples: int | None = 3) -> list[OmittedUrls]:
    """The URLs that are not in the sitemap, by state, with up to ``examples`` of each (None: all)."""
    counts = frontier.counts()
    return [
        OmittedUrls(state, counts[state], list(_first_records(frontier, state, examples)))
        for state in OMITTED_STATES
        if counts.get(state)
    ]


def _first_records(frontier: SqliteFrontier, state: State, limit: int | None) -> Iterator[Example]:
    for number, record in enumerate(frontier.records(state)):
        if number == limit:
            return
        yield Example(record.url, record.reason)


_STATUS_BY_EXIT_CODE: Final = {StateInUse.exit_code: RunStatus.BUSY, UsageError.exit_code: RunStatus.BROKEN}
_LIMITS: Final = (FinishReason.MAX_PAGES.value, FinishReason.MAX_TIME.value)


def run_result(report: Report) -> RunResult:
    """Result of a run that has a report."""
    return RunResult(
        exit_code=report.exit_code,
        status=_run_status(report),
        run=report.run,
        outcome="held" if report.held else UNSERVED if report.unserved else report.outcome,
        message=_sentence(report),
        notify_pending=bool(report.announced and report.announced.notify_pending),
    )


def run_result_of_error(error: SiteatlasError) -> RunResult:
    """Result of a run that failed without a report."""
    exit_code = error.exit_code
    outcome = "" if exit_code in _STATUS_BY_EXIT_CODE else "nothing"
    return RunResult(
        exit_code=exit_code,
        status=_STATUS_BY_EXIT_CODE.get(exit_code, RunStatus.FAILED),
        outcome=outcome,
        message=str(error),
    )


def _run_status(report: Report) -> RunStatus:
    """Meaning of the run for the schedule. A refusal is retried when the site was in trouble."""
    if report.ending == FinishReason.INTERRUPTED.value:
        return RunStatus.STOPPED
    if report.exit_code == StateInUse.exit_code:  # another process uploads
        return RunStatus.BUSY
    if report.exit_code == Incomplete.exit_code:
        return RunStatus.DONE if report.ending in _LIMITS else RunStatus.FAILED
    if report.exit_code == PublishRefused.exit_code:
        return RunStatus.FAILED if report.completeness == "degraded" else RunStatus.DONE
    # an internal error in one page does not fail the run; a failed upload is retried
    return RunStatus.DONE if report.exit_code == 0 or _has_internal_problem(report) else RunStatus.FAILED


def _has_internal_problem(report: Report) -> bool:
    """Whether the run published despite an internal error."""
    return report.exit_code == 1 and report.outcome in PUBLISHING_OUTCOMES


def _sentence(report: Report) -> str:
    if report.upload_error:
        return report.upload_error
    if report.exit_code and not _has_internal_problem(report):
        return report.refusal or report.reason
    if report.unserved:
        return report.unserved
    pages = count_text(report.listed, "page")
    return f"{_internal_problem(report)}{pages} listed: {counts_text(report.counts)}"


def _internal_problem(report: Report) -> str:
    """The internal errors, which the sentence names even when the rest is published."""
    failed = sum(group.count for group in report.left_out if group.state is State.INTERNAL_ERROR)
    return f"internal error with {count_text(failed, 'URL')}, left out; " if failed else ""
