"""The files of an upload: those of a run and beside it, and the manifest of the remote files that are ours.

To upload are the set of a run, its stylesheets, the feed and the other formats. The manifest also says since when a
remote file is no longer needed. It is a file beside the state of the site, written before anything is sent: a killed
process may leave files that no sitemap lists, but none that the manifest does not know.
"""

import hashlib
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import unquote

import msgspec
from msgspec import Struct
from msgspec.structs import asdict, replace

from crawler.config.plan import CrawlPlan
from crawler.errors import StorageError
from crawler.publish.recent_feed import recent_feed_url
from crawler.publish.upload.target import FileDigests, LocalFile, RemoteFile
from crawler.state.runs import Run
from sitemap import replacement, stylesheet_names

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
                f"{local.path} has changed since run {run.number} published the file. The next run publishes the "
                "file again"
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
            f"the published file {path} cannot be read: {error.strerror}. The next run publishes the file again"
        ) from None
    return LocalFile(**asdict(known), path=path)


def digests_of(files: Sequence[LocalFile]) -> dict[str, FileDigests]:
    """The digests to store for these files."""
    return {local.name: FileDigests(local.size, local.inode, local.mtime, local.sha256, local.md5) for local in files}


def _name(url: str) -> str:
    return unquote(url.partition("?")[0].rpartition("/")[2])


_MANIFEST_FILE: Final = "record.json"
_MAX_FORMER: Final = 8  # killed uploads of one file in a row that are all remembered


class UploadedFile(Struct, frozen=True):
    """A file that was uploaded, or was about to be: then ``sure`` is false, and ``mark`` is the expected one.

    ``former`` are our earlier files that may still be there instead. ``manner`` is the metadata. ``left`` is the Unix
    time when the remote set no longer needed the file, or None.
    """

    sha256: str
    size: int
    manner: str
    mark: str
    sure: bool = False
    former: tuple[RemoteFile, ...] = ()
    left: float | None = None

    def matches(self, remote: RemoteFile | None) -> bool:
        """Whether the remote file is this one. One that also matches a former file may be that."""
        return remote == RemoteFile(self.size, self.mark) and remote not in self.former

    def is_ours(self, remote: RemoteFile | None) -> bool:
        """Whether the remote file is one of ours, unchanged."""
        return remote in (RemoteFile(self.size, self.mark), *self.former)


class ManifestData(Struct):
    """The manifest on disk: the digests of local files by name, and the uploaded files by target and name."""

    here: dict[str, FileDigests] = {}
    there: dict[str, dict[str, UploadedFile]] = {}


class UploadManifest:
    """The manifest of one target. ``folder`` is private to the uploads of a site. Raises StorageError.

    ``data.here`` are the stored digests of the local files. ``sent`` are all files that were uploaded, or were about to
    be, by name; the caller drops those that are gone, or not ours.
    """

    def __init__(self, folder: Path, target: str) -> None:
        self._file = folder / _MANIFEST_FILE
        try:
            self.data = msgspec.json.decode(self._file.read_bytes(), type=ManifestData)
        except (FileNotFoundError, ValueError):  # then every file is checked, and none removed
            self.data = ManifestData()
        except OSError as error:
            raise self._refused(error) from None
        self.sent = self.data.there.setdefault(target, {})
        self._saved = self._encoded()

    def pending(self) -> list[str]:
        """The names of files that a killed process was about to upload."""
        return [name for name, sent in self.sent.items() if not sent.sure]

    def add_pending(self, files: Iterable[tuple[LocalFile, str, str]]) -> None:
        """Store durably that these files are about to be uploaded: each with its metadata and expected mark."""
        for local, metadata, mark in files:
            sent = self.sent.get(local.name)
            former = (*sent.former, RemoteFile(sent.size, sent.mark))[-_MAX_FORMER:] if sent else ()
            self.sent[local.name] = UploadedFile(local.sha256, local.size, metadata, mark, former=former)
        self.save()

    def confirm(self, local: LocalFile, metadata: str, remote: RemoteFile) -> None:
        """Record that a file is uploaded, and part of the set."""
        self.sent[local.name] = UploadedFile(local.sha256, remote.size, metadata, remote.mark, sure=True)

    def mark_unlisted(self, listed: Collection[str], now: float) -> None:
        """Record that the remote set no longer needs files that are not ``listed``, from ``now`` on."""
        for name, sent in self.sent.items():
            since = now if sent.left is None else min(sent.left, now)  # if the clock was set back
            self.sent[name] = replace(sent, left=None if name in listed else since)

    def unlisted_before(self, before: float) -> list[tuple[str, UploadedFile]]:
        """The files that have not been needed since then or earlier."""
        return [(name, sent) for name, sent in self.sent.items() if sent.left is not None and sent.left <= before]

    def save(self) -> None:
        """Store the manifest durably, if it has changed."""
        encoded = self._encoded()
        if encoded == self._saved:
            return
        try:
            with replacement(self._file, 0o600) as file:
                file.write(encoded)
        except OSError as error:
            raise self._refused(error) from None
        self._saved = encoded

    def _encoded(self) -> bytes:
        return msgspec.json.encode(self.data, order="deterministic")

    def _refused(self, error: OSError) -> StorageError:
        return StorageError(
            f"{self._file}, in which uploads are recorded, cannot be used: {error.strerror}; the files are in the "
            "directory, and the next run uploads them"
        )
