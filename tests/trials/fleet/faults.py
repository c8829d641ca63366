"""What befalls a fleet: each fault happens to one worker, to PostgreSQL or to the state store, and passes."""

import os
import random
import resource
import shutil
import signal
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import Popen, TimeoutExpired
from typing import Any, Protocol

import psycopg
from postgres_server import PostgresServer

from .world import Proxy

LEASE = 3.0
_SMALL = 8192  # bytes that a file may have on a full disk


@dataclass
class Worker:
    """A worker of the trial: it stays the same one when it is started again."""

    number: int
    proxy: Proxy
    process: "Popen[bytes] | None" = None
    former: list[int] = field(default_factory=list)
    """Processes of runs whose worker was killed."""

    def processes(self) -> list[int]:
        """The worker, then the processes of its runs."""
        return [self.process.pid, *children(self.process.pid)] if self.process else []

    def signal(self, number: signal.Signals, pids: list[int]) -> None:
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def kill(self, *, runs: bool) -> None:
        """End the worker, and also its runs or not: these see that it is gone."""
        if self.process:
            mine = children(self.process.pid)
            self.former += mine
            self.signal(signal.SIGKILL, [self.process.pid, *(mine if runs else [])])
            self.process.wait()
            self.process = None


class Stage(Protocol):
    """What faults may touch."""

    folder: Path
    workers: list[Worker]
    postgres: PostgresServer

    def start(self, worker: Worker) -> None: ...

    def rows(self, query: str) -> list[dict[str, Any]]: ...


Undo = Callable[[], None]


@dataclass(frozen=True)
class Fault:
    """Something that happened: its name, how long it lasts in seconds, and how it ends."""

    name: str
    seconds: float
    undo: Undo


def draw_fault(dice: random.Random, stage: Stage) -> Fault:
    """Let something happen."""
    workers = [worker for worker in stage.workers if worker.process]
    if not workers:
        return Fault("nothing", 0.0, lambda: None)
    worker = dice.choice(workers)
    do = dice.choices([kind for kind, _ in KINDS], [weight for _, weight in KINDS])[0]
    return do(dice, stage, worker)


def killed_worker(dice: random.Random, stage: Stage, worker: Worker) -> Fault:
    runs = dice.random() < 0.5
    worker.kill(runs=runs)
    name = f"worker {worker.number} killed" + " with its runs" * runs
    return Fault(name, dice.uniform(0, 2 * LEASE), lambda: stage.start(worker))


def killed_runs(dice: random.Random, stage: Stage, worker: Worker) -> Fault:
    worker.signal(signal.SIGKILL, worker.processes()[1:])
    return Fault(f"runs of worker {worker.number} killed", 0.0, lambda: None)


def suspended(dice: random.Random, stage: Stage, worker: Worker) -> Fault:
    """Beyond the lease: somebody else takes its sites before it wakes up."""
    both = worker.processes()
    part, pids = dice.choice([("and its runs", both), ("alone", both[:1]), ("'s runs", both[1:])])
    worker.signal(signal.SIGSTOP, pids)
    name = f"worker {worker.number} {part} suspended"
    return Fault(name, dice.uniform(LEASE + 0.5, 3 * LEASE), lambda: worker.signal(signal.SIGCONT, pids))


def crashed_database(dice: random.Random, stage: Stage, worker: Worker) -> Fault:
    is_crash = dice.random() < 0.5
    stage.postgres.stop(signal.SIGQUIT if is_crash else signal.SIGINT)
    name = "PostgreSQL crashed" if is_crash else "PostgreSQL restarted"
    return Fault(name, dice.uniform(0, 2 * LEASE), lambda: stage.postgres.start("-c", "synchronous_commit=on"))


def cut_off(dice: random.Random, stage: Stage, worker: Worker) -> Fault:
    way = dice.choice(["refused", "silent"])
    worker.proxy.become(way)  # type: ignore[arg-type]
    name = f"worker {worker.number} cut off from PostgreSQL ({way})"
    return Fault(name, dice.uniform(0.5, 3 * LEASE), lambda: worker.proxy.become("open"))


def full_disk(dice: random.Random, stage: Stage, worker: Worker) -> Fault:
    pids = worker.processes()

    def limit(size: int) -> None:
        for pid in {*pids, *worker.processes()}:
            with suppress(ProcessLookupError, PermissionError):
                resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

    limit(_SMALL)
    return Fault(f"disk of worker {worker.number} full", dice.uniform(1, 4), lambda: limit(resource.RLIM_INFINITY))


def lost_state(dice: random.Random, stage: Stage, worker: Worker) -> Fault:
    """Not one with the only newest state of a site, which nobody else can know."""
    try:
        is_only = bool(stage.rows("SELECT 1 FROM site WHERE unsaved IS NOT NULL"))
    except psycopg.OperationalError:
        is_only = True
    if is_only or (stage.folder / "store.away").exists():
        return Fault("nothing", 0.0, lambda: None)
    worker.kill(runs=True)
    shutil.rmtree(stage.folder / f"worker{worker.number}", ignore_errors=True)
    return Fault(f"disk of worker {worker.number} lost", dice.uniform(0, LEASE), lambda: stage.start(worker))


def damaged_snapshot(dice: random.Random, stage: Stage, worker: Worker) -> Fault:
    """Only the newest one, and only that of a site with two or more: what is lost everywhere is lost."""
    folders: dict[Path, list[Path]] = {}
    for path in (stage.folder / "store").rglob("*.tar.zst"):
        folders.setdefault(path.parent, []).append(path)
    kept = [max(paths) for paths in folders.values() if len(paths) > 1]
    newest = dice.choice(kept) if kept else None
    if newest is None or newest.is_symlink() or newest.is_dir():
        return Fault("no snapshot to damage", 0.0, lambda: None)
    how = dice.choice(["damaged", "a directory", "a link to nothing"])
    if how == "damaged":
        with newest.open("r+b") as file:
            file.seek(newest.stat().st_size // 2)
            file.write(dice.randbytes(40))
    else:
        newest.unlink()
        newest.mkdir() if how == "a directory" else newest.symlink_to("nothing")
    return Fault(f"snapshot {newest.name} is {how}", 0.0, lambda: None)


def lost_store(dice: random.Random, stage: Stage, worker: Worker) -> Fault:
    """As a disk that is not mounted: an empty directory, or none."""
    store, away = stage.folder / "store", stage.folder / "store.away"
    if away.exists() or not store.exists():
        return Fault("no store to lose", 0.0, lambda: None)
    store.rename(away)
    is_empty = dice.random() < 0.5
    if is_empty:
        store.mkdir()

    def mount() -> None:
        shutil.rmtree(store, ignore_errors=True)
        away.rename(store)

    name = "the state store is " + ("empty" if is_empty else "away")
    return Fault(name, dice.uniform(1, 3 * LEASE), mount)


def stopped(dice: random.Random, stage: Stage, worker: Worker) -> Fault:
    """Started again in good order."""
    assert worker.process
    process, worker.process = worker.process, None
    process.terminate()

    def again() -> None:
        try:
            process.wait(0)
        except TimeoutExpired:
            process.kill()
            process.wait()
        stage.start(worker)

    return Fault(f"worker {worker.number} stopped", 2 * LEASE, again)


def children(pid: int) -> list[int]:
    """The processes that a process started."""
    with suppress(OSError):
        return [
            int(child) for path in Path(f"/proc/{pid}/task").glob("*/children") for child in path.read_text().split()
        ]
    return []


KINDS = [
    (killed_worker, 3),
    (killed_runs, 1),
    (suspended, 4),
    (crashed_database, 2),
    (cut_off, 3),
    (full_disk, 1),
    (lost_state, 1),
    (damaged_snapshot, 2),
    (lost_store, 2),
    (stopped, 1),
]
