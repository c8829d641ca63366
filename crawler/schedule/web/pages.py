"""The values of the page of one site: its condition, changes, runs, published files, notifications and audits."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from starlette.responses import Response

from crawler.audit.compare.history import AuditStatus, finished_audits
from crawler.audit.finding import AuditPoint
from crawler.audit.report.html import csp_source, is_http_url, read_style
from crawler.audit.summary import audit_point, rule_histories
from crawler.config.plan import AUDIT
from crawler.notify.ledger_status import NotifyStatus, notify_status
from crawler.publish.changes import Change, ChangeCounts, counts_text
from crawler.schedule.status import ScheduleStatus, SiteStatus
from crawler.schedule.web.files import list_reports
from crawler.schedule.web.snapshots import (
    MAX_RUNS,
    READ_ERRORS,
    URGENT,
    Condition,
    SiteSnapshot,
    Tone,
    changes_of,
    condition,
    query_runs,
    reason_of,
)
from crawler.state.runs import PublishedFile, Run
from crawler.units import clock_text, count_text, outcome_text, size_text
from sitemap import safe

if TYPE_CHECKING:
    from jinja2 import Environment


MAX_QUERY: Final = 200  # characters

_TONES: Final = list(Tone)


class LastEnd(Struct, frozen=True, kw_only=True):
    """When the last run ended (Unix time), its outcome, and its duration if that is known."""

    at: float
    outcome: str
    seconds: float | None = None


class SiteRow(Struct, frozen=True, kw_only=True):
    """A site in the table.

    ``last`` is the last run of which the state knows the end; ``ended`` the end of the last attempt, also of one that
    did not get as far as a run. ``pages`` are listed, ``kept`` of them despite errors.
    """

    site: SiteStatus
    condition: Condition
    last: Run | None
    ended: LastEnd | None
    pages: int | None
    kept: int
    counts: ChangeCounts
    audit: AuditStatus


def overview_page(board: ScheduleStatus, snapshots: Mapping[str, SiteSnapshot], query: str) -> dict[str, Any]:
    """The values of the page. A site is shown when its name, URL and condition contain all words of ``query``."""
    rows = [site_row(site, snapshots.get(site.name, SiteSnapshot())) for site in board.sites]
    words = query[:MAX_QUERY].casefold().split()
    return {
        "board": board,
        "query": query[:MAX_QUERY],
        "rows": sorted((row for row in rows if _matches(row, words)), key=_order),
        "total": len(rows),
        "figures": list(_figures(rows)),
        "has_audits": any(row.audit.newest or row.site.audit_every is not None for row in rows),
    }


def _matches(row: SiteRow, words: Sequence[str]) -> bool:
    text = f"{row.site.name} {row.site.url} {row.condition.word}".casefold()
    return all(word in text for word in words)


def _order(row: SiteRow) -> tuple[int, str, str]:
    tone, name = row.condition.tone, row.site.name
    return _TONES.index(tone) if tone in URGENT else len(_TONES), name.casefold(), name


def site_row(site: SiteStatus, snapshot: SiteSnapshot) -> SiteRow:
    """The row of a site."""
    last, standing = snapshot.last_tried, snapshot.standing
    return SiteRow(
        site=site,
        condition=condition(site, snapshot),
        last=last,
        ended=_last_end(site, last),
        pages=standing.pages if standing and standing.published else None,
        kept=standing.kept if standing else 0,
        counts=run_counts(last) if last else ChangeCounts(),
        audit=snapshot.audit,
    )


def _last_end(site: SiteStatus, run: Run | None) -> LastEnd | None:
    """The end of the last run; the schedule knows it when the attempt left no run in the state."""
    last = site.last
    at = (run.ended or run.started + run.seconds) if run else 0.0  # one that was cut short may be continued
    if last and last.ended and last.ended > at and (run is None or run.ended is None or last.run != run.number):
        result = f"{last.status}, exit code {last.exit_code}" if last.status else "interrupted"
        result = outcome_text(last.outcome) if last.outcome else result
        return LastEnd(at=last.ended, outcome=result, seconds=last.ended - last.began)
    if run is None:
        return None
    seconds = run.seconds if run.has_figures or run.seconds else None
    return LastEnd(at=at, outcome=outcome_text(run.result), seconds=seconds)


def run_counts(run: Run) -> ChangeCounts:
    """How many URLs a run changed, by kind."""
    return ChangeCounts(**{name: getattr(run, name) for name in ChangeCounts.__struct_fields__})


def _figures(rows: Sequence[SiteRow]) -> Iterator[tuple[str, int, str]]:
    """Label, number and tone of the large figures at the top."""
    tones = [row.condition.tone for row in rows]
    running = sum(row.site.running_since is not None or row.condition.tone is Tone.RUNNING for row in rows)
    yield "sites" if len(rows) != 1 else "site", len(rows), ""
    yield "with errors", tones.count(Tone.ERROR), "error"
    yield "with warnings", tones.count(Tone.WARNING), "warning"
    yield "running now", running, "running"
    yield "pages listed", sum(row.pages or 0 for row in rows), ""


MAX_CHANGES: Final = 200  # of each kind on the page

MAX_AUDITS: Final = 8  # whose findings are shown as a trend

MAX_MESSAGES: Final = 20  # notifications on the page

_ORDER: Final = {"removed": 0, "deindexed": 1, "moved": 2, "changed": 3, "added": 4}


class ChangeGroup(Struct, frozen=True):
    """The changes of one kind: the first of them, and how many there are."""

    kind: str
    first: list[Change]
    total: int


class RunChanges(Struct, frozen=True, kw_only=True):
    """What a run changed. ``error`` says why that cannot be read."""

    run: Run | None = None
    groups: Sequence[ChangeGroup] = ()
    counts: ChangeCounts | None = None
    error: str = ""


class RunTable(Struct, frozen=True, kw_only=True):
    """Some runs, the newest first; there may be more before run ``older``. ``error`` says why they cannot be read."""

    runs: Sequence[Run] = ()
    older: int | None = None
    error: str = ""


def site_page(site: SiteStatus, snapshot: SiteSnapshot, number: int | None, before: int | None) -> dict[str, Any]:
    """The values of the page of a site. Blocks.

    The changes are those of the run ``number``, else of the last run with changes. The runs are the last ones, or
    those ``before`` a number.
    """
    messages, messages_error = NotifyStatus(), ""
    try:
        messages = notify_status(site.state, MAX_MESSAGES)
    except READ_ERRORS as error:
        messages_error = reason_of(error)
    standing = snapshot.standing
    audits = _last_audits(site)
    return {
        "site": site,
        "audits": audits,
        "histories": rule_histories(audits) if len(audits) > 1 else [],
        "snapshot": snapshot,
        "row": site_row(site, snapshot),
        "changes": _changes(site, snapshot, number),
        "table": _table(site, snapshot, before),
        "files": _sort_files(snapshot.files, site.sitemap_url),
        "writer": standing.wrote if standing else None,
        "is_running": bool(standing and standing.holder) or site.running_since is not None,
        "messages": messages,
        "messages_error": messages_error,
        "reports": list_reports(site.report) if site.report else [],
        "counts_of": run_counts,
        "outcome": outcome_text,
    }


def _last_audits(site: SiteStatus) -> list[AuditPoint]:
    """The last audits, the oldest first; none if they cannot be read, and the next audit says why."""
    try:
        return list(map(audit_point, finished_audits(site.state / AUDIT, MAX_AUDITS)))
    except READ_ERRORS:
        return []


def _table(site: SiteStatus, snapshot: SiteSnapshot, before: int | None) -> RunTable:
    runs: Sequence[Run] = snapshot.runs
    if before is not None:
        try:
            runs = query_runs(site.state, lambda records: records.last(MAX_RUNS, before))
        except READ_ERRORS as error:
            return RunTable(error=reason_of(error))
    return RunTable(runs=runs, older=runs[-1].number if len(runs) == MAX_RUNS and runs[-1].number > 1 else None)


def _run(site: SiteStatus, runs: Sequence[Run], number: int | None) -> Run | None:
    """The run of a number, or the last with changes; read from the state when it is not among the last ``runs``."""
    for run in runs:
        if run.number == number if number is not None else run_counts(run).total:
            return run
    if not runs:
        return None
    if number is None:
        return query_runs(site.state, lambda records: records.changed())
    found = query_runs(site.state, lambda records: records.last(1, number + 1))
    return found[0] if found and found[0].number == number else None


def _changes(site: SiteStatus, snapshot: SiteSnapshot, number: int | None) -> RunChanges:
    run = None
    try:
        run = _run(site, snapshot.runs, number)
        if run is None:
            return RunChanges()
        totals, changes = run_counts(run), changes_of(site.state, run.number, MAX_CHANGES)
    except READ_ERRORS as error:
        return RunChanges(run=run, error=reason_of(error))
    groups = [
        ChangeGroup(kind.value, first := list(group), max(getattr(totals, kind), len(first)))
        for kind, group in groupby(changes, key=attrgetter("kind"))
    ]
    return RunChanges(run=run, groups=sorted(groups, key=lambda group: _ORDER[group.kind]), counts=totals)


def _sort_files(files: Sequence[PublishedFile], sitemap_url: str) -> list[PublishedFile]:
    """The sitemap that readers start from first, and its children by number: 2 before 10."""
    first = next((file for file in files if file.url == sitemap_url), files[-1] if files else None)
    return sorted(files, key=lambda file: (file is not first, len(file.name), file.name))


_LONGEST: Final = 1e10  # seconds: longer ones come from a damaged state

_STEPS: Final = ((60.0, "s"), (60.0, "min"), (24.0, "h"), (7.0, "day"), (4.35, "week"), (12.0, "month"))


_RELOAD_SECONDS: Final = "60"


def render_page(template: str, status: int = 200, **values: Any) -> Response:
    """A page from a template, for no cache and no search engine. Lone surrogates are shown as escapes.

    Starlette's Jinja2Templates cannot encode those. A page that ``reloads`` says so on the page, with a link that ends
    it (https://www.w3.org/TR/WCAG22/#timing-adjustable).
    """
    templates, policy = _templates()
    text = templates.get_template(template).render(values)
    headers = {"content-security-policy": policy, "x-robots-tag": "noindex, nofollow"}
    if values.get("reloads"):
        headers["refresh"] = _RELOAD_SECONDS
    body = text.encode("utf-8", "backslashreplace")
    return Response(body, status, headers, media_type="text/html")


@cache
def _templates() -> "tuple[Environment, str]":
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 - needed for the first page only
    from markupsafe import Markup  # noqa: PLC0415

    sheet = read_style("crawler.schedule.web", "web.css")
    templates = Environment(
        loader=PackageLoader("crawler.schedule.web"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    templates.filters.update(
        shown=safe, amount=size_text, took=duration_text, moment=time_text, day=day_text, w3c=w3c_time,
        number="{:,}".format,
    )  # fmt: skip
    templates.globals.update(
        style=Markup(sheet),  # noqa: S704 - a file of ours
        count=count_text, relative=relative_time, is_web=is_http_url, change_counts=counts_text,
    )  # fmt: skip
    policy = (
        f"default-src 'none'; style-src {csp_source(sheet)}; img-src data:; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'"
    )
    return templates, policy


def time_text(when: float) -> str:
    """A Unix time for people: ``21 Nov 2026, 18:14 UTC``; outside the calendar, the number."""
    date = _datetime(when)
    return f"{date.day} {date:%b %Y, %H:%M} UTC" if date else f"{when:g}"


def day_text(when: float) -> str:
    """The day of a Unix time for people: ``21 Nov``; outside the calendar, the number."""
    date = _datetime(when)
    return f"{date.day} {date:%b}" if date else f"{when:g}"


def duration_text(seconds: float) -> str:
    """A duration for people; an impossible one as the number of seconds."""
    return clock_text(seconds) if 0 <= seconds < _LONGEST else f"{seconds:g} s"


def w3c_time(when: float) -> str:
    """A Unix time as a W3C datetime."""
    date = _datetime(when)
    return date.isoformat(timespec="seconds") if date else ""


def relative_time(when: float, now: float) -> str:
    """How long ago a time is, or how soon: ``just now``, ``12 min ago``, ``in 3 h``, ``5 days ago``."""
    distance = abs(when - now)
    if distance > _LONGEST:
        return time_text(when)
    if distance < 5:
        return "just now" if when <= now else "now"
    unit = "year"
    for steps, name in _STEPS:
        if distance < steps:
            unit = name
            break
        distance /= steps
    whole = max(1, int(distance))
    text = f"{whole} {unit}" if unit in ("s", "min", "h") else count_text(whole, unit)
    return f"{text} ago" if when <= now else f"in {text}"


def _datetime(when: float) -> datetime | None:
    try:
        return datetime.fromtimestamp(when, UTC)
    except (ValueError, OverflowError, OSError):
        return None
