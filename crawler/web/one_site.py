"""The page of one site: how it stands, what its runs changed and why, what is published, who was told, the audits."""

import re
from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any, Final

from msgspec import Struct

from crawler.board import Board, SiteBoard
from crawler.cli.words import outcome
from crawler.notify.ledger_status import Told, told
from crawler.publish.changes import Change, Counts
from crawler.state.runs import PublishedFile, Run
from crawler.web.looks import FAULTS, RUNS, Look, feed, recorded
from crawler.web.looks import told as why
from crawler.web.overview import counts, row
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
