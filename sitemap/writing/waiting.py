"""Owns the files that no set lists any more and that stay for a while, for readers that hold an older index."""

import contextlib
import stat
import time
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Final

import msgspec

from sitemap.writing.files import sync

WAITING: Final = ".siteatlas-waiting"


class _Leaver(msgspec.Struct):
    since: float  # seconds of the epoch
    mtime: int  # nanoseconds; a file that was changed since is not ours any more


def sweep(target: Path, grace: float, leaving: Iterable[str] = (), listed: Collection[str] = ()) -> None:
    """Note that some files leave, forget those that are listed again, and remove those whose ``grace`` is over.

    ``grace`` is in seconds. What is noted is in a hidden file in ``target``, which is there while something waits. It
    names exact files: what merely looks like one of ours is never touched. Older leavers go first. OSError.
    """
    before, listed = _load(target), frozenset(listed)
    now = time.time()
    after: dict[str, _Leaver] = {}
    for name in [*before, *(name for name in leaving if name not in before)]:
        mtime = _mtime(target / name)
        leaver = before.get(name) or _Leaver(now, mtime)
        if name in listed or mtime != leaver.mtime or not mtime:
            continue
        if now - leaver.since >= grace:
            (target / name).unlink(missing_ok=True)
        else:
            after[name] = _Leaver(min(leaver.since, now), mtime)  # a clock that was set back starts anew
    if after != before:
        _store(target, after)


def _load(target: Path) -> dict[str, _Leaver]:
    draft = target / (WAITING + ".draft")
    draft.unlink(missing_ok=True)
    try:
        found = msgspec.json.decode((target / WAITING).read_bytes(), type=dict[str, _Leaver])
    except (FileNotFoundError, ValueError):
        return {}
    return {name: leaver for name, leaver in found.items() if name == Path(name).name}


def _store(target: Path, waiting: dict[str, _Leaver]) -> None:
    file, draft = target / WAITING, target / (WAITING + ".draft")
    if waiting:
        draft.write_bytes(msgspec.json.encode(waiting))
        sync(draft)
        draft.replace(file)
    else:
        file.unlink(missing_ok=True)
    sync(target)


def _mtime(file: Path) -> int:
    """When a plain file was last written; 0 when there is none."""
    with contextlib.suppress(OSError):
        found = file.stat(follow_symlinks=False)
        return 0 if stat.S_ISDIR(found.st_mode) else found.st_mtime_ns
    return 0
