"""The sites of a fleet: registered from a configuration, changed, retired, paused, resumed, and run at once.

A configuration is applied as a whole and any number of times: what is in it is registered or changed, and what is not
any more is retired. Secrets stay references (``env:NAME``, ``file:PATH``), which each worker resolves by itself.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct
from psycopg.types.json import Jsonb
from pydantic import ValidationError

from crawler.config.config import Config
from crawler.config.plan import CrawlPlan, plan_crawl
from crawler.errors import UsageError
from crawler.fleet.database import Connection, FleetDatabase, rows
from crawler.fleet.leases import SITE_COLUMNS, load_attempts, next_time, state_of
from crawler.fleet.trust import SECRET_SETTINGS, texts_in
from crawler.url.normalize import origin_of

_BATCH: Final = 1_000
_KNOWN: Final = "SELECT name, config, retired IS NOT NULL AS retired FROM site WHERE name = ANY(%(names)s) FOR UPDATE"
_PUT: Final = """INSERT INTO site (name, config, origin, handled)
  SELECT w.name, w.config, w.origin, extract(epoch FROM now())::float8
  FROM unnest(%(names)s::text[], %(configs)s::jsonb[], %(origins)s::text[]) AS w (name, config, origin)
  ON CONFLICT (name) DO UPDATE SET config = excluded.config, origin = excluded.origin, retired = NULL,
    address = CASE WHEN site.origin = excluded.origin THEN site.address END"""
_RETIRE: Final = """UPDATE site SET retired = now(), next_at = NULL
  WHERE retired IS NULL AND NOT name = ANY(%(names)s) RETURNING name"""
_ALL: Final = f"SELECT {SITE_COLUMNS} FROM site WHERE name = ANY(%(names)s) FOR UPDATE"  # noqa: S608 - names of our own
_SCHEDULE: Final = """UPDATE site SET next_at = to_timestamp(w.at), handled = w.handled
  FROM unnest(%(names)s::text[], %(ats)s::float8[], %(handled)s::float8[]) AS w (name, at, handled)
  WHERE site.name = w.name"""
_PAUSE: Final = "UPDATE site SET paused = true, next_at = NULL WHERE name = ANY(%(names)s) RETURNING name"
_RESUME: Final = "UPDATE site SET paused = false WHERE name = ANY(%(names)s) RETURNING name"
_RETIRED: Final = """SELECT name, config FROM site WHERE retired IS NOT NULL AND origin = ANY(%(origins)s)
  ORDER BY retired DESC"""
_RENAME: Final = (
    """INSERT INTO site SELECT (jsonb_populate_record(s, jsonb_build_object('name', %(new)s::text))).*
  FROM site s WHERE name = %(old)s""",
    "UPDATE attempt SET site = %(new)s WHERE site = %(old)s",
    "UPDATE delivery SET site = %(new)s WHERE site = %(old)s",
    "DELETE FROM site WHERE name = %(old)s",  # a run that is under way has lost its lease
)
_FORGET_STATE: Final = """UPDATE site SET snapshot = '', older = '{}', output = '', home = NULL, unsaved = NULL,
  epoch = epoch + 1 WHERE name = ANY(%(names)s)"""
_RUN_NOW: Final = """UPDATE site SET run_now = now(), requested = coalesce(%(asked)s, requested),
  next_at = CASE WHEN lease_until > now() THEN next_at ELSE now() END
  WHERE name = ANY(%(names)s) AND retired IS NULL RETURNING name"""


class AppliedSites(Struct):
    """What applying a configuration did, by names of sites; ``renamed`` has the former names by the new ones."""

    added: list[str] = []
    changed: list[str] = []
    retired: list[str] = []
    unchanged: int = 0
    renamed: dict[str, str] = {}


class FleetSite(Struct, frozen=True):
    """A site to register. ``config`` has the settings that differ from the defaults, as JSON values.

    ``state`` is the name of the directory of its state, the same for the same site under another name.
    """

    name: str
    config: dict[str, Any]
    origin: str
    state: str = ""


def fleet_site(name: str, plan: CrawlPlan) -> FleetSite:
    """A site from its plan. Raises UsageError when a secret is written out, or no worker could use its paths."""
    settings = plan.config.model_dump(mode="json", exclude_defaults=True, exclude={"fleet"})
    settings.get("state", {}).pop("directory", None)  # each worker has its own
    for section, key in sorted(SECRET_SETTINGS):
        texts = filter(None, texts_in(settings.get(section, {}).get(key)))
        if not all(text.startswith(("env:", "file:")) for text in texts):
            raise UsageError(
                f'the site "{name}" has {section}.{key} in plain text. Write env:NAME or file:PATH, because the '
                "database of a fleet must not contain secrets"
            )
    return FleetSite(name, settings, origin_of(plan.seed), plan.state.name)


async def apply_sites(fleet: FleetDatabase, sites: Sequence[FleetSite]) -> AppliedSites:
    """Register, change and retire sites in one transaction, so that these are the sites of the fleet.

    A site with the state of a retired one is that site under a new name.
    """
    done = AppliedSites()
    async with fleet.transaction() as connection:
        await connection.execute("SELECT pg_advisory_xact_lock(hashtext('siteatlas apply'))")
        names = [site.name for site in sites]
        retired = {row["name"] for row in await rows(connection, _RETIRE, names=names)}
        for start in range(0, len(sites), _BATCH):
            batch = sites[start : start + _BATCH]
            done.renamed.update(await _rename(connection, batch))
            known = {row["name"]: row for row in await rows(connection, _KNOWN, names=[site.name for site in batch])}
            added = [site for site in batch if site.name not in known]
            changed = [
                site
                for site in batch
                if site.name in known and (known[site.name]["config"] != site.config or known[site.name]["retired"])
            ]
            others = [site.name for site in changed if _is_another(site, known[site.name]["config"])]
            await rows(connection, _FORGET_STATE, names=others)
            await _put(connection, [*added, *changed], {name: row["config"] for name, row in known.items()})
            done.added.extend(site.name for site in added)
            done.changed.extend(site.name for site in changed if site.name not in done.renamed)
            done.unchanged += len(batch) - len(added) - len(changed)
    done.retired = sorted(retired - set(done.renamed.values()))
    return done


async def _rename(connection: Connection, sites: Sequence[FleetSite]) -> dict[str, str]:
    """Give retired sites the names under which these sites have their states; the former names by the new ones."""
    known = {row["name"] for row in await rows(connection, _KNOWN, names=[site.name for site in sites])}
    added = {site.state: site for site in sites if site.state and site.name not in known}
    renamed = {}
    origins = [site.origin for site in added.values()]
    for row in await rows(connection, _RETIRED, origins=origins) if added else ():
        if site := added.pop(_state_name(row["config"]), None):
            renamed[site.name] = row["name"]
            for statement in _RENAME:
                await rows(connection, statement, old=row["name"], new=site.name)
    return renamed


def _is_another(site: FleetSite, before: Mapping[str, Any]) -> bool:
    """Whether the name stood for a site with another state ``before``."""
    return bool(site.state) and _state_name(before) not in ("", site.state)


def _state_name(config: Mapping[str, Any]) -> str:
    """The name of the state directory of a registered site; "" when this version cannot read its configuration."""
    try:
        return plan_crawl(Config.model_validate(config)).state.name
    except (ValidationError, UsageError):
        return ""


async def _put(connection: Connection, sites: Sequence[FleetSite], before: Mapping[str, Any]) -> None:
    names = [site.name for site in sites]
    configs, origins = [Jsonb(site.config) for site in sites], [site.origin for site in sites]
    await rows(connection, _PUT, names=names, configs=configs, origins=origins)
    await _schedule(connection, names, before)


async def _schedule(connection: Connection, names: Sequence[str], before: Mapping[str, Any] | None = None) -> None:
    """Compute when the sites are due; one that runs is left to the end of its run.

    ``before`` has the configurations that the sites had before. With another configuration, a site that only a person
    could fix is tried again, and the slots that a new schedule would have had until now are skipped, as by the daemon.
    """
    attempts = await load_attempts(connection, names)
    planned = []
    for site in await rows(connection, _ALL, names=list(names)):
        name, now = site["name"], site["now"]
        if site["lease_until"] is not None or site["paused"] or site["retired"]:
            continue
        state = state_of(site, Config.model_validate(site["config"]), attempts[name])
        if before is not None:
            state.clear_broken(now)
            if name in before:
                old = state_of(site, Config.model_validate(before[name]), attempts[name])
                if old.site_schedule.run_schedule != state.site_schedule.run_schedule and old.slot > now:
                    state.handled = max(state.handled, now)
                    state.plan(now)
        planned.append((name, next_time(state, site), state.handled))
    ats, handled = [at for _, at, _ in planned], [handled for _, _, handled in planned]
    await rows(connection, _SCHEDULE, names=[name for name, _, _ in planned], ats=ats, handled=handled)


async def pause_sites(fleet: FleetDatabase, names: Sequence[str]) -> list[str]:
    """Start no more runs of these sites; running ones continue. Returns the names that the fleet has."""
    return _names(await fleet.rows(_PAUSE, names=list(names)))


async def resume_sites(fleet: FleetDatabase, names: Sequence[str]) -> list[str]:
    """Continue with the schedule of these sites. Returns the names that the fleet has."""
    async with fleet.transaction() as connection:
        found = _names(await rows(connection, _RESUME, names=list(names)))
        await _schedule(connection, found)
    return found


async def run_sites_now(
    fleet: FleetDatabase, names: Sequence[str], asked: Mapping[str, Any] | None = None
) -> list[str]:
    """Make these sites due at once, also paused ones. Returns the names that the fleet has and has not retired.

    ``asked`` is what the run is to do besides, see ``SiteJob.options``. It replaces what was asked before.
    """
    return _names(await fleet.rows(_RUN_NOW, names=list(names), asked=Jsonb(asked) if asked else None))


def _names(found: Iterable[Mapping[str, Any]]) -> list[str]:
    return sorted(row["name"] for row in found)
