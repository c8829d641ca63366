"""Going back: the set that was published before the one that is out there now is published again, as a whole."""

import time
from collections.abc import Iterator
from contextlib import closing

from msgspec.structs import asdict, replace

from crawler.config.plan import Plan
from crawler.errors import StorageError, UsageError
from crawler.memory.changes import Changes
from crawler.memory.feeds import write_feeds
from crawler.memory.going_back import Again, go_back
from crawler.model import Url
from crawler.publish import destination, files, moved
from crawler.state.database import change
from crawler.state.migrations import STATE
from crawler.state.runs import ROLLED_BACK, Run, Runs
from crawler.state.store import GENERATIONS, held
from crawler.version import __version__
from sitemap import Entry, Generations, Published, SitemapError, SitemapReader


def rollback(plan: Plan, number: int | None = None) -> Run:
    """Publish the set of run ``number`` again, or that of the run before the last one that is kept.

    Answers the record of this, which is a run of its own with a feed of what it changed. What is known of the pages
    stays: the next run goes on from there, publishes what it finds, and compares with the set that is out there again.
    Raises UsageError when there is no such set, StateInUse, StorageError.
    """
    output = plan.config.output
    kept = Generations(plan.state / GENERATIONS, output.generations)
    with held(plan.state):
        numbers = kept.numbers()
        wanted = number if number is not None else (numbers[-2] if len(numbers) > 1 else None)
        if wanted is None or wanted not in numbers:
            there = ", ".join(map(str, numbers)) or "none"
            which = "an earlier run" if wanted is None else f"run {wanted}"
            raise UsageError(f"the set of {which} is not kept: there are those of the runs {there}")
        try:
            return _record(plan, wanted, kept.restore(wanted, destination(plan)))
        except SitemapError as error:
            raise StorageError(str(error)) from error


def _record(plan: Plan, wanted: int, published: Published) -> Run:
    """What happened, so that the next run compares with what is out there, and the history tells of the step."""
    with closing(STATE.connect(plan.state / STATE.file)) as db:
        now = time.time()
        runs = Runs(db)
        newest = runs.last(1)
        why = f"the set of run {wanted} is published again"
        dropped = [
            f"run {run.number}, which was cut short, is dropped: the next one begins anew"
            for run in newest
            if run.is_open
        ]
        record = Run(
            number=newest[0].number + 1 if newest else 1,
            started=now,
            ended=now,
            version=__version__,
            outcome=ROLLED_BACK,
            refusal=why,
            exit_code=0,
            listed=published.urls,
            notes=[*moved(runs.published(), published), *dropped],
            files=files(published),
        )
        with change(db):
            counts = go_back(db, record, _pages(plan, published), why)
            record = replace(record, **asdict(counts))
            runs.write(record)
        write_feeds(Changes(db), plan.state)
        return record


def _pages(plan: Plan, published: Published) -> Iterator[Again]:
    """The pages of a set that is published, as its files have them."""
    for file in published.files:
        if not file.shard:  # an index
            continue
        for entry in SitemapReader(destination(plan).path / file.name):
            if isinstance(entry, Entry):
                yield Again(Url(entry.loc), entry.lastmod or "", file.group, file.shard, file.name)
