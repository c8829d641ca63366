"""A rolling upgrade: workers of an old and of this version side by side on one database, as real processes.

``python -m tests.trials.fleet.versions --old CHECKOUT``; make the checkout with ``git worktree add CHECKOUT COMMIT``.

The old version creates the fleet and starts two workers. A worker of this version must refuse the database. Then this
version migrates it, and starts two workers beside the old ones. This version drains the first old worker, whose sites
the others take, and later the second one. Every due run must run once, none twice at a time, and every sitemap must
list the pages of its site.
"""

import argparse
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from tests.postgres_server import postgres_server
from tests.trials.fleet.hour import EVERY, SHARED, TimedSite, judged_runs, listed, plan, rows, serving, wait_for_none

HERE = Path(__file__).parents[3]
_ATTEMPTS = "SELECT * FROM attempt ORDER BY site, number"
_LIVING = "SELECT count(*) AS number FROM worker WHERE id = ANY(%(names)s)"
_MISSING = "SELECT 4 - count(*) AS number FROM worker"
_DUE = "SELECT count(*) AS number FROM site WHERE extract(epoch FROM next_at) <= %(end)s"
_RUNNING = "SELECT count(*) AS number FROM site WHERE lease_until IS NOT NULL"


class Versions:
    """Two checkouts that work in one folder, on one database."""

    def __init__(self, folder: Path, database: str, old: Path) -> None:
        self._folder = folder
        self._database = database
        self._old = old
        self.workers: dict[str, subprocess.Popen[bytes]] = {}

    def call(self, version: str, *words: str) -> subprocess.CompletedProcess[str]:
        """Run ``siteatlas fleet`` of a version to its end."""
        command, environment = self._command(version, *words)
        return subprocess.run(
            command, cwd=self._folder, env=environment, capture_output=True, text=True, check=False, timeout=120
        )

    def must(self, version: str, *words: str) -> str:
        """The output of a command that has to succeed."""
        ran = self.call(version, *words)
        if ran.returncode:
            raise RuntimeError(f"{version} {' '.join(words)}: exit code {ran.returncode}: {ran.stderr}")
        return ran.stdout

    def start(self, version: str, number: int) -> None:
        """Start a worker, whose state directory has the name of its version."""
        words = ["worker", "--config", "sites.toml", "--database", self._database]
        state = f"{version}{number}"
        command, environment = self._command(version, *words, "--state", state)
        with (self._folder / f"{state}.log").open("wb") as log:
            process = subprocess.Popen(command, cwd=self._folder, env=environment, stdout=log, stderr=log)
        self.workers[state] = process

    def names(self, version: str) -> list[str]:
        """The names of the workers of a version in the database."""
        return [
            (self._folder / state / "worker").read_text().strip() for state in self.workers if state.startswith(version)
        ]

    def end(self) -> None:
        """End all workers."""
        for process in self.workers.values():
            process.terminate()
        for process in self.workers.values():
            process.wait(60)

    def _command(self, version: str, *words: str) -> tuple[list[str], dict[str, str]]:
        root = self._old if version == "old" else HERE
        kept = {name: value for name, value in os.environ.items() if not name.startswith("SITEATLAS_")}
        return [sys.executable, "-m", "crawler", "fleet", *words], {**kept, "PYTHONPATH": str(root)}


def upgrade(folder: Path, database: str, old: Path, sites: int, minutes: float) -> tuple[list[str], list[str]]:
    """Live through a rolling upgrade of so many ``minutes``; returns the facts, and what is wrong."""
    dice = random.Random(1)
    timed = [TimedSite(f"site{n}", dice.randint(3, 9), dice.choice(EVERY) * minutes) for n in range(sites)]
    versions = Versions(folder, database, old)
    with serving(timed):
        _configure(folder, timed)
        versions.must("old", "init", database)
        versions.must("old", "apply", "--config", "sites.toml", "--database", database)
        begin = time.time() + 1
        third = 20 * minutes
        end = begin + 3 * third
        for site in timed:
            plan(site, begin, end, dice)
        try:
            for number in range(2):
                versions.start("old", number)
            _sleep_until(begin + third)
            facts, wrong = _migrate(versions, database)
            migrated = time.time()
            for number in range(2):
                versions.start("new", number)
            wait_for_none(database, _MISSING)
            first, *rest = versions.names("old")
            versions.must("new", "drain", first, "--database", database)  # its sites go to the other workers
            _sleep_until(max(begin + 2 * third, time.time() + third / 2))  # on a busy machine, programs start slowly
            drained, old_names = time.time(), versions.names("old")
            versions.must("new", "drain", *rest, "--database", database)
            wait_for_none(database, _LIVING, names=old_names)
            wrong += [
                f"{state}: exit code {process.wait(30)}"
                for state, process in versions.workers.items()
                if state.startswith("old") and process.wait(30)
            ]
            _sleep_until(end)
            wait_for_none(database, _DUE, end=end)
            versions.must("new", "pause", *(site.name for site in timed), "--database", database)
            wait_for_none(database, _RUNNING)
        finally:
            versions.end()
        attempts = rows(database, _ATTEMPTS)
        more_facts, more_wrong = judged_runs(timed, attempts, begin, end)
        wrong += more_wrong + _wrong_sets(folder, timed)
    phases = {"before": (begin, migrated), "side by side": (migrated, drained), "after": (drained, end + 600)}
    for phase, span in phases.items():
        by_version = _by_version(attempts, set(old_names), span)
        facts.append(f"{phase}: {by_version['old']} runs by the old workers, {by_version['new']} by the new ones")
        expected = {"old"} if phase == "before" else {"old", "new"} if phase == "side by side" else {"new"}
        wrong += [f"{phase}: no run by the {version} workers" for version in expected if not by_version[version]]
    homes = Counter(
        (before["worker"] in old_names, row["worker"] in old_names)
        for before, row in itertools.pairwise(attempts)
        if before["site"] == row["site"]
    )
    facts.append(f"states handed on from an old worker to a new one: {homes[True, False]}, back: {homes[False, True]}")
    return facts + more_facts, wrong


def _migrate(versions: Versions, database: str) -> tuple[list[str], list[str]]:
    """Migrate the database with this version, while the workers of the old one run."""
    wrong = []
    refused = versions.call("new", "worker", "--config", "sites.toml", "--database", database, "--state", "refused")
    applied = json.loads(versions.must("new", "init", database, "--json"))["applied"]
    if applied and refused.returncode != 2:
        wrong.append(f"a worker did not refuse the old schema: exit code {refused.returncode}: {refused.stderr}")
    for words in (["init", database], ["status", "--database", database]):
        ran = versions.call("old", *words)
        wrong += [f"old {words[0]}: {ran.stderr}"] if ran.returncode else []
    return [f"migrations: {', '.join(applied) or 'none'}"], wrong


def _configure(folder: Path, sites: list[TimedSite]) -> None:
    tables = [
        f'[sites.{site.name}]\nsite = {{url = "{site.url}"}}\noutput = {{directory = "out/{site.name}"}}\n'
        f"schedule = {{every = {site.every}, run_on_start = false}}\n"
        for site in sites
    ]
    store = f'[fleet]\nstate_store = "file://{folder}/store"\ndispatch_interval = 0.5\nsites_at_once = 2\n'
    (folder / "sites.toml").write_text(SHARED + store + "".join(tables))


def _wrong_sets(folder: Path, sites: list[TimedSite]) -> list[str]:
    """The sites whose sitemap does not list the pages that they had at their last planned run."""
    wrong = []
    for site in sites:
        if not site.slots:
            continue
        number = site.pages + len(site.edits)
        pages = {f"{site.url}{path}" for path in ("", *(f"page-{page}" for page in range(number)))}
        found = {url for url, _ in listed(folder / "out" / site.name / "sitemap.xml")}
        if found != pages:
            wrong.append(f"{site.name}: {sorted(found ^ pages)} differs from the site")
    return wrong


def _by_version(attempts: list[dict[str, Any]], old: set[str], span: tuple[float, float]) -> Counter[str]:
    """The runs that began in a span of time, by the version of their worker."""
    return Counter("old" if row["worker"] in old else "new" for row in attempts if span[0] <= row["began"] < span[1])


def _sleep_until(moment: float) -> None:
    time.sleep(max(0.0, moment - time.time()))


def main() -> int:
    words = argparse.ArgumentParser(prog="python -m tests.trials.fleet.versions", description=__doc__)
    words.add_argument("--old", type=Path, required=True, metavar="CHECKOUT", help="a checkout of the older version")
    words.add_argument("--sites", type=int, default=60)
    words.add_argument("--minutes", type=float, default=4.0, help="minutes that the upgrade takes (4)")
    given = words.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="fleet-versions-"))
    with postgres_server() as postgres:
        old = given.old.resolve()
        facts, wrong = upgrade(folder, postgres.new_database(), old, given.sites, given.minutes)
    print(*facts, *(f"WRONG: {each}" for each in wrong), f"logs: {folder}", sep="\n")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
