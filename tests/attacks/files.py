"""Planted files: another account makes links and directories where we are about to write, under a random umask.

As root, the attacker and the victim are two other accounts; else the victim is this account, and the attacker's things
belong to it too, so that only the rules for links and modes are tried.
"""

import os
import random
import shutil
import stat
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

from audits import audit, findings, of

from crawler.audit.report.write import prepare_directory, write_reports
from crawler.cli.init.files import write_files
from crawler.errors import SiteatlasError
from crawler.publish.upload.files import UploadedFile, UploadManifest
from crawler.state.lock import hold_lock
from crawler.state.schema import STATE_DB
from sitemap import Directory, Entry, Generations, SitemapError, SitemapWriter

PRECIOUS = "what only the victim may change"
_AS_ROOT = os.geteuid() == 0
ATTACKER, VICTIM = (54_321, 54_322) if _AS_ROOT else (os.geteuid(), os.geteuid())


def _report(folder: Path) -> None:
    prepare_directory(folder)
    write_reports(audit(findings()), of(findings()), folder)


def _state(folder: Path) -> None:
    descriptor = hold_lock(folder)
    try:
        STATE_DB.open(folder / STATE_DB.file).close()
    finally:
        os.close(descriptor)


def _publish(folder: Path) -> None:
    with SitemapWriter(Directory(folder, settle=0), "https://a.example/sitemap.xml") as writer:
        writer.add(Entry(f"https://a.example/{random.random()}"))
        published = writer.finish()
    if folder.name != "shared":
        Generations(folder.with_name("generations")).keep(published, Directory(folder), 1)


def _upload(folder: Path) -> None:
    descriptor = hold_lock(folder)
    try:
        manifest = UploadManifest(folder, "s3://bucket/")
        manifest.sent["sitemap.xml"] = UploadedFile("", 1, "", "")
        manifest.save()
    finally:
        os.close(descriptor)


def _init(folder: Path) -> None:
    write_files({folder / "siteatlas.toml": "[site]\n"}, replaces=True)


# Each way to write, and the names that it uses.
WRITERS: dict[str, tuple[Callable[[Path], None], tuple[str, ...]]] = {
    "report": (
        _report,
        ("audit.html", "audit.json", "audit.sarif", "audit.junit.xml", "audit.xlsx", "csv", "csv/entry.gone.csv"),
    ),
    "state": (_state, ("lock", "state.db", "state.db-wal", "state.db-journal")),
    "publish": (_publish, ("sitemap.xml", ".siteatlas-waiting", ".siteatlas-stage-1", "../generations")),
    "upload": (_upload, ("record.json",)),
    "init": (_init, ("siteatlas.toml",)),
}
PLANTS = ("link to a file", "link to a directory", "link to nothing", "directory", "open directory", "file")


def attack(seed: int) -> str | None:
    """Ten random traps. None when all were avoided."""
    _import_all()
    draw = random.Random(seed)
    return next(filter(None, (_spring(draw) for _ in range(10))), None)


def _spring(draw: random.Random) -> str | None:
    root = Path(tempfile.mkdtemp(prefix="planted-"))
    try:
        root.chmod(0o755)
        return _attack(draw, root)
    finally:
        shutil.rmtree(root)


def _attack(draw: random.Random, root: Path) -> str | None:
    name = draw.choice(list(WRITERS))
    write, names = WRITERS[name]
    shared, home, lair = root / "shared", root / "home", root / "lair"
    folders = {shared: (0 if _AS_ROOT else ATTACKER, 0o1777), home: (VICTIM, 0o700), lair: (ATTACKER, 0o777)}
    for made, (owner, mode) in folders.items():
        made.mkdir()
        made.chmod(mode)
        _give(made, owner)
    precious = home / "precious"
    precious.write_text(PRECIOUS)
    precious.chmod(0o600)
    _give(precious, VICTIM)
    folder = draw.choice([shared, shared / "out", shared / "deep" / "out", shared / "deep" / "er" / "out"])
    plants = []
    for _ in range(draw.randint(1, 4)):
        above = [part for part in folder.parents if part.is_relative_to(shared) and part != shared]
        inside = [folder / each for each in names]
        place = draw.choice([folder, *above * 5, *inside, *map(_draft, inside)])
        plants.append(_plant(draw, place, precious, lair))
    mask = draw.choice([0o000, 0o002, 0o022, 0o077])
    trap = f"{name}, umask {mask:03o}, {'; '.join(filter(None, plants))}"
    fault = _as_victim(lambda: write(folder), mask)
    if fault:
        return f"{trap}: {fault}"
    if precious.read_text() != PRECIOUS or stat.S_IMODE(precious.stat().st_mode) != 0o600:
        return f"{trap}: a link was followed"
    return next((f"{trap}: {why}" for why in map(_unsafe, root.rglob("*")) if why), None)


@cache
def _import_all() -> None:
    """Import what writing needs while this account may read the modules."""
    with tempfile.TemporaryDirectory() as folder:
        for name, (write, _) in WRITERS.items():
            write(Path(folder) / name)


def _draft(path: Path) -> Path:
    return path.with_name(f".{path.name}.draft")


def _give(path: Path, owner: int) -> None:
    if _AS_ROOT:
        os.chown(path, owner, owner, follow_symlinks=False)


def _plant(draw: random.Random, place: Path, precious: Path, lair: Path) -> str:
    kind = draw.choice(PLANTS)
    place = Path(os.path.normpath(place))
    if place.parent == precious.parent.parent or not place.parent.is_dir() or os.path.lexists(place):
        return ""
    match kind:
        case "link to a file":
            place.symlink_to(precious)
        case "link to a directory":
            place.symlink_to(lair)
        case "link to nothing":
            place.symlink_to(precious.with_name("new"))
        case "file":
            place.write_text("[]")
        case _:
            place.mkdir()
            place.chmod(0o777 if kind == "open directory" else 0o755)
    _give(place, ATTACKER)
    return f"{kind} at {place.name}"


def _as_victim(write: Callable[[], None], mask: int) -> str:
    """What went wrong in a process of the victim, "" when it wrote or refused in good order."""
    reading, writing = os.pipe()
    if not (process := os.fork()):
        fault = ""
        try:
            os.umask(mask)
            if _AS_ROOT:
                os.setgroups([])
                os.setresgid(VICTIM, VICTIM, VICTIM)
                os.setresuid(VICTIM, VICTIM, VICTIM)
            write()
        except (SiteatlasError, SitemapError):
            pass
        except BaseException as error:  # noqa: BLE001 - the parent tells
            fault = f"{type(error).__name__}: {error}"
        os.write(writing, fault.encode()[:4_000])
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as said:
        fault = said.read()
    os.waitpid(process, 0)
    return fault


def _unsafe(path: Path) -> str:
    """What is wrong with a file or a directory that the victim made, "" if nothing is."""
    status = path.lstat()
    if stat.S_ISLNK(status.st_mode) or (_AS_ROOT and status.st_uid != VICTIM) or path.name in {"shared", "lair"}:
        return ""
    if status.st_mode & stat.S_IWOTH:
        return f"everyone may write to {path.name}"
    if stat.S_ISREG(status.st_mode) and status.st_mode & 0o133:
        return f"{path.name} has the mode {stat.S_IMODE(status.st_mode):o}"
    if _AS_ROOT and path.parent.lstat().st_uid == ATTACKER:
        return f"{path.name} was written in a directory of the attacker"
    return "" if path.name != "new" else "a link was followed"
