"""The page of one site: how it stands, what its runs changed and why, what is published, who was told, the audits."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from starlette.responses import Response

from crawler.audit.compare.history import AuditStanding
from crawler.audit.report.html import is_web
from crawler.audit.report.style import source, style
from crawler.notify.ledger_status import Told, told
from crawler.publish.changes import Change, Counts, told_counts
from crawler.schedule.status import Board, SiteBoard
from crawler.schedule.web.files import reports
from crawler.schedule.web.site_status import TROUBLE, Tone, Verdict, trend, verdict
from crawler.schedule.web.snapshots import FAULTS, RUNS, Look, feed, recorded
from crawler.schedule.web.snapshots import told as why
from crawler.state.runs import PublishedFile, Run
from crawler.units import amount, clock, count, outcome
from sitemap import safe

if TYPE_CHECKING:
    from jinja2 import Environment


LONGEST: Final = 200  # characters of a query that are looked for


class Ending(Struct, frozen=True, kw_only=True):
    """When and how the last run ended, and how long it took, if that is known."""

    at: float
    how: str
    seconds: float | None = None


class Row(Struct, frozen=True, kw_only=True):
    """A site in the table. ``last`` is the last run that the state has an end of, ``ended`` the end of any attempt.

    ``audit`` is how its audits stand.
    """

    site: SiteBoard
    verdict: Verdict
    last: Run | None
    ended: Ending | None
    pages: int | None
    kept: int
    counts: Counts
    trend: str
    audit: AuditStanding

    @property
    def is_trouble(self) -> bool:
        """Whether a person should look at it."""
        return self.verdict.tone in TROUBLE


def overview(board: Board, looks: Mapping[str, Look], query: str) -> dict[str, Any]:
    """The values of the page; only sites whose name, URL or state has all words of the ``query`` are listed."""
    rows = [row(site, looks.get(site.name, Look())) for site in board.sites]
    words = query[:LONGEST].casefold().split()
    shown = [each for each in rows if _has(each, words)]
    shown.sort(
        key=lambda each: (_TONES.index(each.verdict.tone) if each.is_trouble else len(_TONES), _name(each))
    )
    return {
        "board": board,
        "query": query[:LONGEST],
        "rows": shown,
        "total": len(rows),
        "figures": list(_figures(rows)),
        "has_audits": any(each.audit.newest or each.site.audit_every is not None for each in rows),
    }


_TONES: Final = list(Tone)


def row(site: SiteBoard, look: Look) -> Row:
    """What is told of a site in one line."""
    last, standing = look.ended, look.standing
    return Row(
        site=site,
        verdict=verdict(site, look),
        last=last,
        ended=_ended(site, last),
        pages=standing.pages if standing and standing.published else None,
        kept=standing.kept if standing else 0,
        counts=counts(last) if last else Counts(),
        trend=trend(look.runs),
        audit=look.audit,
    )


def _ended(site: SiteBoard, run: Run | None) -> Ending | None:
    """How the last run ended, as the schedule says when it came to nothing that the state knows of."""
    last = site.last
    known, at = (run.number, run.ended or 0.0) if run else (None, 0.0)
    if last is not None and last.ended is not None and last.ended > at and (run is None or last.run != known):
        how = f"{last.fate}, exit code {last.exit_code}" if last.fate else "cut short"
        how = outcome(last.outcome) if last.outcome else how
        return Ending(at=last.ended, how=how, seconds=last.ended - last.began)
    if run is None or run.ended is None:
        return None
    is_known = run.has_figures or run.seconds
    return Ending(at=run.ended, how=outcome(run.outcome), seconds=run.seconds if is_known else None)


def counts(run: Run) -> Counts:
    """What a run changed."""
    return Counts(**{name: getattr(run, name) for name in Counts.__struct_fields__})


def _figures(rows: Sequence[Row]) -> Iterator[tuple[str, int, str]]:
    """Number, label and tone of what stands large at the top."""
    tones = [each.verdict.tone for each in rows]
    running = sum(each.site.running_since is not None or each.verdict.tone is Tone.RUNNING for each in rows)
    yield "sites" if len(rows) != 1 else "site", len(rows), ""
    yield "in trouble", tones.count(Tone.ERROR), "error"
    yield "to look at", tones.count(Tone.WARNING), "warning"
    yield "running now", running, "running"
    yield "pages listed", sum(each.pages or 0 for each in rows), ""


def _has(each: Row, words: Sequence[str]) -> bool:
    text = f"{each.site.name} {each.site.url} {each.verdict.word}".casefold()
    return all(word in text for word in words)


def _name(each: Row) -> tuple[str, str]:
    return each.site.name.casefold(), each.site.name


CHANGES: Final = 200  # of each kind that are told

MESSAGES: Final = 20  # to others


class Group(Struct, frozen=True):
    """The changes of one kind: the first of them, and how many there are."""

    kind: str
    first: list[Change]
    total: int


class Feed(Struct, frozen=True, kw_only=True):
    """What a run changed. ``error`` says why it cannot be told."""

    run: Run | None = None
    groups: Sequence[Group] = ()
    counts: Counts | None = None
    error: str = ""


class Runs(Struct, frozen=True, kw_only=True):
    """Some runs, the newest first, and whether there may be ``older`` ones. ``error`` says why they cannot be told."""

    runs: Sequence[Run] = ()
    older: int | None = None
    error: str = ""


def one_site(
    board: Board, site: SiteBoard, look: Look, serves: bool, *, number: int | None, before: int | None
) -> dict[str, Any]:
    """The values of the page; the changes are those of the run ``number``, else of the last that has any. Blocks.

    The runs are the last ones, or those ``before`` a number.
    """
    messages, fault = Told(), ""
    try:
        messages = told(site.state, MESSAGES)
    except FAULTS as error:
        fault = why(error)
    return {
        "board": board,
        "site": site,
        "look": look,
        "row": row(site, look),
        "feed": _feed(site, look, number),
        "asked": number,
        "table": _runs(site, look, before),
        "before": before,
        "files": _in_order(look.files, site.sitemap_url),
        "wrote": look.standing.wrote if look.standing else None,
        "is_held": bool(look.standing and look.standing.holder) or site.running_since is not None,
        "messages": messages,
        "messages_error": fault,
        "reports": reports(site.report) if site.report else [],
        "serves": serves,
        "counts_of": counts,
        "outcome": outcome,
    }


def _runs(site: SiteBoard, look: Look, before: int | None) -> Runs:
    found: Sequence[Run] = look.runs
    if before is not None:
        try:
            found = recorded(site.state, lambda records: records.last(RUNS, before))
        except FAULTS as error:
            return Runs(error=why(error))
    return Runs(runs=found, older=found[-1].number if len(found) == RUNS and found[-1].number > 1 else None)


def _chosen(site: SiteBoard, runs: Sequence[Run], number: int | None) -> Run | None:
    """The run of a number, or the last that changed anything; from the disk when it is none of the last ones."""
    for run in runs:
        if run.number == number if number is not None else counts(run).total:
            return run
    if not runs:
        return None
    if number is None:
        return recorded(site.state, lambda records: records.changed())
    found = recorded(site.state, lambda records: records.last(1, number + 1))
    return found[0] if found and found[0].number == number else None


def _feed(site: SiteBoard, look: Look, number: int | None) -> Feed:
    run = None
    try:
        run = _chosen(site, look.runs, number)
        if run is None:
            return Feed()
        found, changes = counts(run), feed(site.state, run.number, CHANGES)
    except FAULTS as error:
        return Feed(run=run, error=why(error))
    groups = [
        Group(kind.value, first := list(some), max(getattr(found, kind), len(first)))
        for kind, some in groupby(changes, key=attrgetter("kind"))
    ]
    order = {"removed": 0, "deindexed": 1, "moved": 2, "changed": 3, "added": 4}
    return Feed(run=run, groups=sorted(groups, key=lambda each: order[each.kind]), counts=found)


def _in_order(files: Sequence[PublishedFile], sitemap_url: str) -> list[PublishedFile]:
    """The file that leads to the others first, and these as people count: 2 before 10."""
    lead = next((file for file in files if file.url == sitemap_url), files[-1] if files else None)
    return sorted(files, key=lambda file: (file is not lead, _as_counted(file.name)))


def _as_counted(name: str) -> list[tuple[int, str]]:
    parts = [part.lstrip("0") if place % 2 else part for place, part in enumerate(re.split("([0-9]+)", name))]
    return [(len(part) if place % 2 else 0, part) for place, part in enumerate(parts)]


_EVER: Final = 1e10  # seconds: what is longer comes of a damaged state

_STEPS: Final = ((60.0, "s"), (60.0, "min"), (24.0, "h"), (7.0, "day"), (4.35, "week"), (12.0, "month"))


def page(template: str, status: int = 200, **values: Any) -> Response:
    """A page of a template. What is no character is shown as an escape. It is not to be kept, or found by search."""
    rooms, policy = _rooms()
    text = rooms.get_template(template).render(values)
    headers = {"content-security-policy": policy, "x-robots-tag": "noindex, nofollow"}
    body = text.encode("utf-8", "backslashreplace")
    return Response(body, status, headers, media_type="text/html")


@cache
def _rooms() -> "tuple[Environment, str]":
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 - only who is asked pays for it
    from markupsafe import Markup  # noqa: PLC0415

    sheet = style("crawler.schedule.web", "web.css")
    rooms = Environment(
        loader=PackageLoader("crawler.schedule.web"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    rooms.filters.update(shown=safe, amount=size, took=took, moment=moment, w3c=w3c, number=number)
    rooms.globals.update(
        style=Markup(sheet),  # noqa: S704 - our own
        count=count, relative=relative, is_web=is_web, told_counts=counted,
    )  # fmt: skip
    policy = (
        f"default-src 'none'; style-src {source(sheet)}; img-src data:; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'"
    )
    return rooms, policy


def number(value: int) -> str:
    """A number for people: ``1,204``."""
    return f"{value:,}"


def moment(when: float) -> str:
    """A Unix time for people: ``21 Nov 2026, 18:14 UTC``; one that no calendar has is told as it is."""
    found = _datetime(when)
    return f"{found.day} {found:%b %Y, %H:%M} UTC" if found else f"{when:g}"


def took(seconds: float) -> str:
    """How long something took, for people; what nothing takes is told as it is. It is never broken in two lines."""
    return (clock(seconds) if 0 <= seconds < _EVER else f"{seconds:g} s").replace(" ", "\xa0")


def size(number: float) -> str:
    """Bytes for people, in one word."""
    return amount(number).replace(" ", "\xa0")


def counted(counts: Counts) -> str:
    """``3 added, 1 changed``; a number stays with its word."""
    return told_counts(counts).replace(" ", "\xa0").replace(",\xa0", ", ")


def w3c(when: float) -> str:
    """A Unix time as a W3C datetime."""
    found = _datetime(when)
    return found.isoformat(timespec="seconds") if found else ""


def relative(when: float, now: float) -> str:
    """How long ago a moment is, or how soon: ``just now``, ``12 min ago``, ``in 3 h``, ``5 days ago``."""
    distance = abs(when - now)
    if distance > _EVER:
        return moment(when)
    if distance < 5:
        return "just now" if when <= now else "now"
    unit = "year"
    for steps, name in _STEPS:
        if distance < steps:
            unit = name
            break
        distance /= steps
    whole = max(1, int(distance))
    told = f"{whole} {unit}" if unit in ("s", "min", "h") else count(whole, unit)
    return f"{told} ago" if when <= now else f"in {told}"


def _datetime(when: float) -> datetime | None:
    try:
        return datetime.fromtimestamp(when, UTC)
    except (ValueError, OverflowError, OSError):
        return None
