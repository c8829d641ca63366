"""Lists the files to upload: the set of a run, its stylesheets, and the feed and the other formats beside it."""

import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from msgspec.structs import asdict

from crawler.config.plan import CrawlPlan
from crawler.errors import StorageError
from crawler.publish.recent_feed import recent_feed_url
from crawler.publish.upload.target import FileDigests, LocalFile
from crawler.state.runs import Run
from sitemap import stylesheet_names

_CHUNK_SIZE: Final = 1024 * 1024  # bytes


def file_names(plan: CrawlPlan, run: Run) -> list[str]:
    """The names of the files, the index or only file last. Raises UsageError."""
    set_names = [file.name for file in run.files]
    if not set_names:
        return []
    lead = set_names[0] if len(set_names) == 1 else lead_file_name(plan)
    stylesheets = stylesheet_names(plan.config.output.stylesheet)
    feed = [_name(url)] if (url := recent_feed_url(plan)) else []
    beside = [*stylesheets, *(file.name for file in run.other_formats), *feed]
    extras = [name for name in beside if name not in set_names and (plan.output / name).is_file()]
    return [*extras, *sorted(name for name in set_names if name != lead), lead]


def lead_file_name(plan: CrawlPlan) -> str:
    """The name of the index, which is the sitemap's URL."""
    return _name(plan.sitemap_url)


def local_files(plan: CrawlPlan, run: Run, known: Mapping[str, FileDigests]) -> list[LocalFile]:
    """The files in that order, with digests: those in ``known``, or new ones.

    Raises StorageError when a file is not the one that the run published, and UsageError.
    """
    sizes = {file.name: file.bytes for file in run.files}
    files = [local_file(plan.output / name, known.get(name)) for name in file_names(plan, run)]
    for local in files:
        if sizes.get(local.name, local.size) != local.size:
            raise StorageError(
                f"{local.path} has changed since run {run.number} published it; the next run publishes it again"
            )
    return files


def local_file(path: Path, known: FileDigests | None) -> LocalFile:
    """One local file. Raises StorageError when it cannot be read."""
    try:
        with path.open("rb") as file:
            stat = os.fstat(file.fileno())
            stat_values = (stat.st_size, stat.st_ino, stat.st_mtime_ns)
            if known is None or (known.size, known.inode, known.mtime) != stat_values:
                sha256, md5 = hashlib.sha256(), hashlib.md5(usedforsecurity=False)
                while part := file.read(_CHUNK_SIZE):
                    sha256.update(part)
                    md5.update(part)
                known = FileDigests(*stat_values, sha256.hexdigest(), md5.hexdigest())
    except OSError as error:
        raise StorageError(
            f"the published file {path} cannot be read: {error.strerror}; the next run publishes it again"
        ) from None
    return LocalFile(**asdict(known), path=path)


def digests_of(files: Sequence[LocalFile]) -> dict[str, FileDigests]:
    """The digests to store for these files."""
    return {local.name: FileDigests(local.size, local.inode, local.mtime, local.sha256, local.md5) for local in files}


def _name(url: str) -> str:
    return unquote(url.partition("?")[0].rpartition("/")[2])
