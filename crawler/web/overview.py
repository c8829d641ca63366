"""The page of all sites: what is in trouble first, and then by name."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from crawler.audit.compare.history import AuditStanding
from crawler.board import Board, SiteBoard
from crawler.cli.words import outcome
from crawler.publish.changes import Counts
from crawler.state.runs import Run
from crawler.web.looks import Look
from crawler.web.verdict import TROUBLE, Tone, Verdict, trend, verdict

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
