"""Sites of a fleet whose clock a test sets."""

import math

from crawler.config.sections import ScheduleConfig
from crawler.fleet.database import FleetDatabase
from crawler.fleet.registry import FleetSite
from crawler.state.runs import RunResult, RunStatus

START = 1_800_000_000.0  # a Unix time


LEASE = 60.0  # seconds


DONE = RunResult(exit_code=0, status=RunStatus.DONE, outcome="published")


HOURLY = ScheduleConfig(every=3_600.0, run_on_start=False)


def site(name: str, schedule: ScheduleConfig = HOURLY) -> FleetSite:
    url = f"https://{name}.example"
    settings = {"site": {"url": url}, "schedule": schedule.model_dump(mode="json", exclude_defaults=True)}
    return FleetSite(name, settings, url)


async def next_at(fleet: FleetDatabase, name: str) -> float:
    (row,) = await fleet.rows(
        "SELECT extract(epoch FROM next_at)::float8 AS at FROM site WHERE name = %(name)s", name=name
    )
    return math.inf if row["at"] is None else float(row["at"])
