"""Going back: the set that was published before the one that is out there now is published again, as a whole."""

import time

from crawler.errors import StorageError, UsageError
from crawler.memory.runs import Run, Runs
from crawler.plan import Plan
from crawler.publish import destination, files, moved
from crawler.state.schema import STATE
from crawler.store import GENERATIONS, held
from crawler.version import __version__
from sitemap import DestinationError, Generations, Published


def rollback(plan: Plan, number: int | None = None) -> Run:
    """Publish the set of run ``number`` again, or that of the run before the last one that is kept.

    Answers the record of this, which is a run of its own. What is remembered of the pages stays: the next run goes on
    from there, and publishes what it finds. Raises UsageError when there is no such set, StateInUse, StorageError.
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
        except DestinationError as error:
            raise StorageError(str(error)) from error


def _record(plan: Plan, wanted: int, published: Published) -> Run:
    """What happened, so that the records tell why the files are others than the last run wrote."""
    db = STATE.connect(plan.state / STATE.file)
    try:
        now = time.time()
        runs = Runs(db)
        newest = runs.last(1)
        record = Run(
            number=newest[0].number + 1 if newest else 1,
            started=now,
            ended=now,
            version=__version__,
            outcome="rolled back",
            refusal=f"the set of run {wanted} is published again",
            exit_code=0,
            listed=published.urls,
            notes=[*moved(runs.published(), published)],
            files=files(published),
        )
        runs.write(record)
        return record
    finally:
        db.close()
