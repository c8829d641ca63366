"""The page of one site: how it stands, what its runs changed and why, what is published, who was told, the audits."""

from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any, Final

from msgspec import Struct

from crawler.board import Board, SiteBoard
from crawler.change import Change, Counts
from crawler.ledger.told import Told, told
from crawler.memory.runs import Run
from crawler.web.looks import FAULTS, Look, feed
from crawler.web.looks import told as why
from crawler.web.overview import counts, outcome, row
from crawler.web.shelves import reports

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


def one_site(board: Board, site: SiteBoard, look: Look, number: int | None, serves: bool) -> dict[str, Any]:
    """The values of the page; the changes are those of the run ``number``, else of the last that has any. Blocks."""
    run = _chosen(look.runs, number)
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
        "feed": _feed(site, run) if run else Feed(),
        "asked": number,
        "messages": messages,
        "messages_error": fault,
        "reports": reports(site.report) if site.report else [],
        "serves": serves,
        "counts_of": counts,
        "outcome_of": outcome,
    }


def _chosen(runs: Sequence[Run], number: int | None) -> Run | None:
    if number is not None:
        return next((run for run in runs if run.number == number), None)
    return next((run for run in runs if counts(run).total), None)


def _feed(site: SiteBoard, run: Run) -> Feed:
    found = counts(run)
    try:
        changes = feed(site.state, run.number, CHANGES)
    except FAULTS as error:
        return Feed(run=run, error=why(error))
    groups = [
        Group(kind.value, first := list(some), max(getattr(found, kind), len(first)))
        for kind, some in groupby(changes, key=attrgetter("kind"))
    ]
    order = {"removed": 0, "deindexed": 1, "moved": 2, "changed": 3, "added": 4}
    return Feed(run=run, groups=sorted(groups, key=lambda each: order[each.kind]), counts=found)
