"""Leases of sites: who runs a site, until when, and what it may record. The lease with the newest epoch counts.

Which attempt is due is decided by the rules of the daemon (``crawler/schedule/site_state.py``) from the attempts in the
database, by the clock of the database. A site whose lease is over can be taken by any worker; whoever held it before
records nothing any more.
"""

import logging
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import asdict
from psycopg.types.json import Jsonb
from pydantic import ValidationError

from crawler.config.config import Config
from crawler.config.schedule import build_schedule
from crawler.errors import PublishRefused
from crawler.fleet.database import Connection, FleetDatabase, rows
from crawler.fleet.deliveries import WANTED
from crawler.fleet.dispatch import IS_BOUND
from crawler.schedule.history import ATTEMPT_COLUMNS, read_attempt
from crawler.schedule.queue import replayed_state
from crawler.schedule.site_state import Attempt, PlannedAttempt, SiteSchedule, SiteState, Trigger
from crawler.state.lock import LeaseLost
from crawler.state.runs import RunResult, RunStatus

log = logging.getLogger(__name__)

OTHERS_SECONDS: Final = 60.0
"""For which a site whose configuration a worker cannot read is left to newer workers."""
# By name: PostgreSQL refuses a prepared SELECT * once a migration of a newer version has added a column.
SITE_COLUMNS: Final = f"""name, config, retired, paused, run_now, handled, lease_until, epoch, generation, snapshot,
  older, output, home, unsaved, coalesce(requested, applying, '{{}}') AS asked,
  extract(epoch FROM now())::float8 AS now,
  ARRAY(SELECT notice FROM delivery d WHERE d.site = name AND {WANTED}) AS wanted"""  # noqa: S608 - of our own
"""The columns of a locked site that :func:`state_of` and a lease need."""
_SITE: Final = f"""SELECT {SITE_COLUMNS},
  home <> %(worker)s AND {IS_BOUND} AS waits,
  (SELECT a.worker FROM attempt a WHERE a.site = name AND a.worker <> '' ORDER BY number DESC LIMIT 1) AS last_worker
  FROM site WHERE name = %(name)s FOR UPDATE"""  # noqa: S608 - names of our own
_SINCE_DONE: Final = f"""SELECT {", ".join(ATTEMPT_COLUMNS)}
  FROM attempt AS a JOIN unnest(%(names)s::text[]) AS w (name) ON site = name
  WHERE number >= coalesce((SELECT max(number) FROM attempt AS d WHERE d.site = name AND d.fate = %(done)s
    AND d.because <> %(tell)s), 0) ORDER BY number"""  # noqa: S608 - names of our own
_TAKE: Final = """WITH begun AS (INSERT INTO attempt (site, slot, because, turn, began, epoch, worker)
    VALUES (%(site)s, %(slot)s, %(trigger)s, %(try_number)s, %(now)s, %(epoch)s, %(worker)s) RETURNING number),
  forgotten AS (DELETE FROM attempt WHERE site = %(site)s AND number <= (
    SELECT number FROM attempt WHERE site = %(site)s ORDER BY number DESC LIMIT 1 OFFSET %(keep)s - 1))
  UPDATE site SET epoch = %(epoch)s, lease_until = now() + %(seconds)s * interval '1 s',
    worker = %(worker)s, job = %(job)s, attempt = (SELECT number FROM begun), handled = %(handled)s,
    applying = coalesce(requested, applying), requested = NULL,
    queued = NULL, run_now = NULL, next_at = NULL WHERE name = %(site)s RETURNING attempt"""
_LEAVE: Final = """UPDATE site SET lease_until = NULL, worker = NULL, job = NULL, queued = NULL, handled = %(handled)s,
  next_at = to_timestamp(%(at)s) WHERE name = %(name)s"""
_RENEW: Final = """UPDATE site SET lease_until = now() + %(seconds)s * interval '1 s'
  FROM unnest(%(names)s::text[], %(epochs)s::bigint[]) AS held (of_name, of_epoch)
  WHERE name = of_name AND epoch = of_epoch AND lease_until > now() RETURNING name"""
_IS_HELD: Final = "WHERE name = %(name)s AND epoch = %(epoch)s AND lease_until > now()"
_HELD: Final = f"SELECT {SITE_COLUMNS} FROM site {_IS_HELD} FOR UPDATE"  # noqa: S608 - names of our own
_STORE_RESULT: Final = """UPDATE attempt SET ended = %(now)s, fate = %(status)s, exit_code = %(exit_code)s,
  run = %(run)s, outcome = %(outcome)s, told = %(message)s, untold = %(notify_pending)s,
  worker = coalesce(%(worker)s, worker) WHERE number = %(number)s"""
_RELEASE: Final = """UPDATE site SET lease_until = NULL, worker = NULL, job = NULL, attempt = NULL,
  applying = %(asked)s, held = coalesce(%(is_held)s, held), left_out = coalesce(%(left_out)s, left_out),
  home = CASE WHEN unsaved IS NULL OR %(is_unsaved)s THEN coalesce(%(home)s, home) ELSE home END,
  unsaved = CASE WHEN %(is_unsaved)s THEN coalesce(unsaved, now()) ELSE unsaved END,
  next_at = to_timestamp(%(at)s) WHERE name = %(name)s"""
_STORE_SNAPSHOT: Final = f"""UPDATE site SET generation = %(generation)s, home = %(worker)s,
  snapshot = (%(keys)s::text[])[1], older = (%(keys)s::text[])[2:],
  applying = %(asked)s, saved = now(), unsaved = NULL {_IS_HELD} RETURNING name"""  # noqa: S608
_STORE_OUTPUT: Final = f"UPDATE site SET output = %(output)s {_IS_HELD} RETURNING name"  # noqa: S608 - our own
_FORGET_WANTED: Final = f"""UPDATE delivery d SET again = NULL
  WHERE site = %(name)s AND notice = ANY(%(notices)s) AND {WANTED} RETURNING what"""  # noqa: S608 - of our own


class SiteLease(Struct, frozen=True):
    """A lease of a site: the attempt to make, the last run that ended, and the newest snapshot of the site's state.

    An attempt that only notifies sends the ``wanted`` notices once more, which a person asked for. ``asked`` is what a
    person asked the run to do besides: see ``SiteJob.options``.
    """

    site: str
    epoch: int
    attempt: Attempt
    last: Attempt | None
    config: Config
    generation: int
    snapshots: list[str]  # the keys of those that the state store keeps, the newest first
    output: str  # the output directory that is known to be the site's own, "" for none
    is_unsaved: bool = False  # the newest state is in no snapshot, but on the disk of this worker
    last_worker: str = ""  # which made the last attempt that could begin; "" if that is not known
    wanted: list[str] = []
    asked: dict[str, Any] = {}

    @property
    def is_notify_only(self) -> bool:
        """Whether nothing is run."""
        return self.attempt.trigger is Trigger.NOTIFY


def schedule_of(name: str, config: Config) -> SiteSchedule:
    """The schedule of a site. Raises UsageError for an invalid one."""
    return SiteSchedule(name, build_schedule(name, config.schedule), config.schedule)


async def load_attempts(connection: Connection, names: Sequence[str]) -> dict[str, list[Attempt]]:
    """The attempts of sites since their last successful runs, the oldest first; the states follow from them."""
    attempts: dict[str, list[Attempt]] = {name: [] for name in names}
    values = {"done": RunStatus.DONE.value, "tell": Trigger.NOTIFY.value}
    for row in await rows(connection, _SINCE_DONE, names=list(names), **values):
        attempts[row["site"]].append(attempt_of(row))
    return attempts


def attempt_of(row: Mapping[str, Any]) -> Attempt:
    """The attempt of a row."""
    return read_attempt(tuple(row[column] for column in ATTEMPT_COLUMNS))


def state_of(site: Mapping[str, Any], config: Config, attempts: Iterable[Attempt]) -> SiteState:
    """The state of a site by its locked row and its attempts. ``site["now"]`` is the time of the database."""
    is_held = site["lease_until"] is not None and site["lease_until"].timestamp() > site["now"]
    state = replayed_state(schedule_of(site["name"], config), site["handled"], attempts, site["now"], is_alive=is_held)
    state.plan(site["now"])
    return state


def next_time(state: SiteState, site: Mapping[str, Any]) -> float | None:
    """When the next attempt of a site with this row is due, as a Unix time: at once if asked for; None for never."""
    at = site["now"] if site["run_now"] or site["wanted"] else math.inf if site["paused"] else state.at
    return None if site["retired"] or math.isinf(at) else at


async def take_lease(fleet: FleetDatabase, name: str, worker: str, job: int | None, seconds: float) -> SiteLease | None:
    """Take a site and begin the attempt that is due; None when none is, or another worker has the site.

    ``seconds`` is the length of the lease. A site whose configuration this version cannot read is left to others.
    """
    async with fleet.transaction() as connection:
        (site,) = await rows(connection, _SITE, name=name, worker=worker) or (None,)
        if site is None or (site["lease_until"] and site["lease_until"].timestamp() > site["now"]):
            return None
        config, planned = _readable_config(site), None
        left = {"name": name, "handled": site["handled"], "at": site["now"] + OTHERS_SECONDS}
        if config is None:
            log.warning("%s: a newer version of siteatlas configured this site; newer workers run it", name)
        elif not site["waits"]:
            state = state_of(site, config, (await load_attempts(connection, [name]))[name])
            planned = _plan(state, site)
            left |= {"handled": state.handled, "at": next_time(state, site)}
        if config is None or planned is None:
            await rows(connection, _LEAVE, **left)
            return None
        epoch, now = site["epoch"] + 1, site["now"]
        handled = state.handled if planned.trigger is Trigger.NOTIFY else planned.slot
        values = {"now": now, "epoch": epoch, "worker": worker, "job": job, "seconds": seconds, "handled": handled}
        keep = config.daemon.history_limit
        (taken,) = await rows(connection, _TAKE, **asdict(planned), **values, keep=keep)
        attempt = Attempt(number=taken["attempt"], began=now, **asdict(planned))
    snapshots = [key for key in (site["snapshot"], *site["older"]) if key]
    known = site["generation"], snapshots, site["output"], bool(site["unsaved"] and site["home"] == worker)
    wanted = site["wanted"] if attempt.trigger is Trigger.NOTIFY else []
    return SiteLease(name, epoch, attempt, state.last, config, *known, site["last_worker"] or "", wanted, site["asked"])


def _readable_config(site: Mapping[str, Any]) -> Config | None:
    """The configuration of a site; None when a newer version wrote it."""
    try:
        return Config.model_validate(site["config"])
    except ValidationError:
        return None


def _plan(state: SiteState, site: Mapping[str, Any]) -> PlannedAttempt | None:
    """The attempt that is due now, or that a person asked for; a due run is what that person asked for too.

    An attempt that sends wanted notices again comes after the run that is due.
    """
    if site["retired"]:
        return None
    now, is_paused = site["now"], site["paused"]
    if site["run_now"] is not None and (is_paused or state.run_at > now):
        return PlannedAttempt(site["name"], state.handled, Trigger.ASKED, state.try_number + 1)
    if state.at <= now and not is_paused:
        return state.start(now)
    if site["wanted"]:
        return PlannedAttempt(site["name"], state.handled, Trigger.NOTIFY, state.failed_notifications + 1)
    return None


async def renew_leases(fleet: FleetDatabase, held: Mapping[str, int], seconds: float) -> set[str]:
    """Renew leases, given as the epochs by site; returns the sites whose lease this process still has.

    The name of a worker would not do: a worker that was killed and started again has the same name, and would keep
    leases that nobody uses.
    """
    values = {"names": list(held), "epochs": list(held.values()), "seconds": seconds}
    return {row["name"] for row in await fleet.rows(_RENEW, **values)} if held else set()


async def store_snapshot(
    fleet: FleetDatabase, lease: SiteLease, worker: str, generation: int, keys: Sequence[str], asked: Mapping[str, Any]
) -> None:
    """Record the newest snapshot of a leased site, and what is ``asked`` that it does not have. Raises LeaseLost.

    ``keys`` are those of all kept snapshots, the newest first: no other one is ever used.
    """
    values = {"generation": generation, "keys": list(keys), "worker": worker, "asked": Jsonb(asked)}
    _checked(lease, await fleet.rows(_STORE_SNAPSHOT, name=lease.site, epoch=lease.epoch, **values))


async def store_output(fleet: FleetDatabase, lease: SiteLease, output: str) -> None:
    """Record that an output directory is the site's own. Raises LeaseLost."""
    _checked(lease, await fleet.rows(_STORE_OUTPUT, name=lease.site, epoch=lease.epoch, output=output))


async def end_lease(
    fleet: FleetDatabase,
    lease: SiteLease,
    result: RunResult,
    asked: Mapping[str, Any] = {},
    home: str | None = None,
    left_out: str | None = None,
) -> float | None:
    """Record the result of the attempt and release the site; returns when its next attempt is due. Raises LeaseLost.

    ``asked`` is what the next run is still to do. ``home`` is the worker that alone has the newest state, because no
    snapshot could be stored; "": the run did not begin, so that any worker may run the site next time. ``left_out`` is
    what the worker did not allow. None is the same as before.
    """
    async with fleet.transaction() as connection:
        site = _checked(lease, await rows(connection, _HELD, name=lease.site, epoch=lease.epoch))
        values = {**asdict(result), "status": result.status.value, "number": lease.attempt.number, "now": site["now"]}
        await rows(connection, _STORE_RESULT, **values, worker=lease.last_worker if home == "" else None)
        if lease.wanted and result.status is not RunStatus.STOPPED:
            for row in await rows(connection, _FORGET_WANTED, name=lease.site, notices=lease.wanted):
                log.warning("%s: this notification could not be sent again: %s", lease.site, row["what"])
            site["wanted"] = set(site["wanted"]) - set(lease.wanted)
        config = _readable_config(site) or lease.config
        state = state_of(site, config, (await load_attempts(connection, [lease.site]))[lease.site])
        at = next_time(state, site)
        is_held = None if lease.is_notify_only else result.exit_code == PublishRefused.exit_code
        left = {"asked": Jsonb(asked), "home": home, "left_out": left_out, "is_unsaved": bool(home), "is_held": is_held}
        await rows(connection, _RELEASE, name=lease.site, at=at, **left)
    return at


def _checked(lease: SiteLease, found: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The row that a statement found if the lease is held. Raises LeaseLost when it is over."""
    if not found:
        raise LeaseLost(f"the lease of {lease.site} has ended, so another worker may run the site")
    return found[0]
