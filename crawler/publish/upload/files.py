"""Which files are published elsewhere: the set of a run, its stylesheets and the feed beside it; nothing else."""

import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from msgspec import Struct

from crawler.config.plan import CrawlPlan
from crawler.errors import StorageError
from crawler.publish.recent_feed import recent_feed_url
from crawler.publish.upload.target import LocalFile
from crawler.state.runs import Run
from sitemap import stylesheet_names

_CHUNK_SIZE: Final = 1024 * 1024  # bytes


class FileDigests(Struct, frozen=True):
    """The digests of a local file, and what it looked like when they were made. They hold as long as it looks so."""

    size: int
    inode: int
    mtime: int
    sha256: str
    md5: str


def file_names(plan: CrawlPlan, run: Run) -> list[str]:
    """The names of the files, the one that leads to the others last. Raises UsageError."""
    listed = [file.name for file in run.files]
    if not listed:
        return []
    lead = listed[0] if len(listed) == 1 else lead_file_name(plan)
    beside = stylesheet_names(plan.config.output.stylesheet)
    feed = [_name(address)] if (address := recent_feed_url(plan)) else []
    there = [name for name in (*beside, *feed) if name not in listed and (plan.output / name).is_file()]
    return [*there, *sorted(name for name in listed if name != lead), lead]


def lead_file_name(plan: CrawlPlan) -> str:
    """The name of the file that leads to the others, when there are several."""
    return _name(plan.sitemap_url)


def local_files(plan: CrawlPlan, run: Run, known: Mapping[str, FileDigests]) -> list[LocalFile]:
    """The files in that order, with their digests: ``known`` ones, or made now.

    Raises StorageError when a file is not the one that the run published, and UsageError.
    """
    recorded = {file.name: file.bytes for file in run.files}
    found = [local_file(plan.output / name, known.get(name)) for name in file_names(plan, run)]
    for each in found:
        if recorded.get(each.name, each.size) != each.size:
            raise StorageError(
                f"{each.path} is not the file that run {run.number} published: it was changed since; run again"
            )
    return found


def local_file(path: Path, known: FileDigests | None) -> LocalFile:
    """One local file. Raises StorageError when it cannot be read."""
    try:
        with path.open("rb") as file:
            seen = os.fstat(file.fileno())
            looks = (seen.st_size, seen.st_ino, seen.st_mtime_ns)
            if known is None or (known.size, known.inode, known.mtime) != looks:
                sha256, md5 = hashlib.sha256(), hashlib.md5(usedforsecurity=False)
                while part := file.read(_CHUNK_SIZE):
                    sha256.update(part)
                    md5.update(part)
                known = FileDigests(*looks, sha256.hexdigest(), md5.hexdigest())
    except OSError as error:
        raise StorageError(
            f"{path} cannot be read, though it was published: {error.strerror}; run again to publish it anew"
        ) from None
    return LocalFile(
        name=path.name,
        path=path,
        size=known.size,
        inode=known.inode,
        mtime=known.mtime,
        sha256=known.sha256,
        md5=known.md5,
    )


def digests_of(found: Sequence[LocalFile]) -> dict[str, FileDigests]:
    """What is known of these from now on."""
    return {
        each.name: FileDigests(each.size, each.inode, each.mtime, each.sha256, each.md5) for each in found
    }


def _name(url: str) -> str:
    return unquote(url.partition("?")[0].rpartition("/")[2])
