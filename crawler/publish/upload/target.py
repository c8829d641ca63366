"""The contract of an upload target: it looks up, puts and removes single files. Also parses target addresses."""

import csv
import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple, Protocol, Self
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from crawler.config.secrets import mask_password
from crawler.config.sections import UploadConfig
from crawler.errors import UsageError
from crawler.fetch.header_values import content_type


class UploadError(Exception):
    """An upload operation failed. The text is a sentence without secrets; ``may_retry``: a retry may help."""

    def __init__(self, sentence: str, *, again: bool = False) -> None:
        super().__init__(sentence)
        self.may_retry = again


class ErrorMeaning(NamedTuple):
    """A row of ``errors.csv``: what an error of a target means, and whether a retry may help."""

    sentence: str
    may_retry: bool

    def upload_error(self, values: Mapping[str, object]) -> UploadError:
        """The error with the ``values`` in its sentence."""
        return UploadError(self.sentence.format_map(values), again=self.may_retry)


def error_meanings(target: str) -> dict[str, ErrorMeaning]:
    """What errors of a kind of target mean, by their names: codes of the server, or classes of exceptions."""
    table = (files("crawler.publish.upload") / "errors.csv").read_text(encoding="utf-8")
    return {
        name: ErrorMeaning(row["sentence"], row["again"] == "yes")
        for row in csv.DictReader(table.splitlines())
        if row["target"] == target
        for name in row["errors"].split("|")
    }


def meaning_of(error: Exception, meanings: Mapping[str, ErrorMeaning]) -> ErrorMeaning:
    """The meaning of an exception: that of its class, or else of the next one above it."""
    return next(meanings[kind.__name__] for kind in type(error).__mro__ if kind.__name__ in meanings)


class FileDigests(Struct, frozen=True):
    """The digests of a local file in hexadecimal, and its stat values; the digests hold as long as these do.

    ``mtime`` is in nanoseconds.
    """

    size: int
    inode: int
    mtime: int
    sha256: str
    md5: str


class LocalFile(FileDigests, frozen=True, kw_only=True):
    """A published file in the local directory."""

    path: Path

    @property
    def name(self) -> str:
        """The file name."""
        return self.path.name

    @property
    def content_type(self) -> str:
        """Its media type."""
        return content_type(self.name)

    def open(self) -> BinaryIO:
        """Open the file. A publisher replaces files and never writes into them, so an open file does not change.

        Raises UploadError when the file was replaced since it was listed.
        """
        try:
            file = self.path.open("rb")
        except OSError as error:
            raise UploadError(f"{self.path} cannot be read: {error.strerror}") from None
        stat = os.fstat(file.fileno())
        if (stat.st_ino, stat.st_mtime_ns, stat.st_size) == (self.inode, self.mtime, self.size):
            return file
        file.close()
        raise UploadError(
            f"{self.path} was replaced by another run during the upload. The next run uploads the new file"
        )


class RemoteFile(Struct, frozen=True):
    """A remote file: its size, and a ``mark`` that changes when the file does."""

    size: int
    mark: str


class UploadTarget(Protocol):
    """A target for files, to be entered before use. All names are plain file names.

    Each method makes one attempt, and raises UploadError with the remote failure.
    """

    display_name: str
    """The name of the target, without secrets; another name is another target."""

    async def __aenter__(self) -> Self:
        """Sends nothing yet."""

    async def __aexit__(self, *_: object) -> None:
        """Close the connection."""

    def mark(self, local: LocalFile) -> str:
        """The mark that the uploaded file will normally have."""

    def metadata(self, local: LocalFile) -> str:
        """The metadata of the remote file; when it changes, the file is uploaded again."""

    async def list_files(self, names: Collection[str]) -> dict[str, RemoteFile]:
        """The remote files of these names."""

    async def find_same(self, local: LocalFile) -> RemoteFile | None:
        """The remote file of this name, when it is provably this file with this metadata."""

    async def put(self, local: LocalFile) -> RemoteFile:
        """Upload the file atomically: no reader sees a part of it, or a moment without it."""

    async def remove(self, name: str) -> None:
        """Remove the file of a name. Harmless when there is none."""

    async def remove_leftovers(self, names: Sequence[str]) -> None:
        """Remove what a killed process may have left of uploads of these names."""


_SHAPES: Final = "s3://bucket/prefix, sftp://user@host:22/directory or plugin:NAME"
PLUGIN: Final = "plugin:"

_bucket = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,254}").fullmatch


@dataclass(frozen=True, slots=True)
class S3Address:
    """An S3 address. ``prefix`` is "" or ends with a slash."""

    bucket: str
    prefix: str

    @property
    def display_name(self) -> str:
        """The address for people."""
        return f"s3://{self.bucket}/{self.prefix}"


@dataclass(frozen=True, slots=True)
class SftpAddress:
    """An SFTP address. ``user`` may be "", and a relative ``directory`` is below the user's home."""

    user: str
    host: str
    port: int
    directory: str

    @property
    def display_name(self) -> str:
        """The address for people."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        user = f"{self.user}@" if self.user else ""
        port = "" if self.port == 22 else f":{self.port}"
        home = "" if self.directory.startswith("/") else "/~/"
        return f"sftp://{user}{host}{port}{home}{self.directory}"


@dataclass(frozen=True, slots=True)
class PluginAddress:
    """The ``name`` of the table of a plug-in."""

    name: str

    @property
    def display_name(self) -> str:
        """The address for people."""
        return f"{PLUGIN}{self.name}"


def parse_target_address(text: str) -> S3Address | SftpAddress | PluginAddress:
    """Parse ``upload.to``. Raises UsageError, without a password from the text."""
    if text.startswith(PLUGIN):
        return PluginAddress(text.removeprefix(PLUGIN))
    scheme, separator, rest = text.partition("://")
    if not separator or scheme.lower() not in ("s3", "sftp"):
        raise UsageError(f"upload.to must be like {_SHAPES}, not {mask_password(text)!r}")
    return parse_s3_address(rest) if scheme.lower() == "s3" else _parse_sftp(text)


def target_name(section: UploadConfig) -> str:
    """The name of the configured target, without secrets; another name is another target. Raises UsageError."""
    address = parse_target_address(section.to)
    has_endpoint = isinstance(address, S3Address) and section.s3_endpoint
    return f"{address.display_name} at {section.s3_endpoint}" if has_endpoint else address.display_name


def parse_s3_address(rest: str, setting: str = "upload.to") -> S3Address:
    """Parse the part after s3:// of a ``setting``. Raises UsageError.

    Keys are plain text: nothing is percent-encoded, and ? is part of a key.
    """
    bucket, _, prefix = rest.partition("/")
    if not _bucket(bucket):
        hint = ". Set keys with upload.s3_access_key and upload.s3_secret_key" if "@" in bucket else ""
        raise UsageError(f"{setting} needs the name of a bucket, as in s3://bucket/prefix{hint}")
    parts = [part for part in prefix.split("/") if part]
    if any(part in (".", "..") for part in parts):
        raise UsageError(
            f"{setting}: {prefix!r} contains '.' or '..' as a path segment, which S3 does not "
            "resolve. Remove this segment"
        )
    return S3Address(bucket, "".join(f"{part}/" for part in parts))


def _parse_sftp(text: str) -> SftpAddress:
    try:
        parts = urlsplit(text)
        port = parts.port or 22
    except ValueError:
        raise UsageError(f"upload.to has an invalid host or port. It must be like {_SHAPES}") from None
    if parts.password is not None:
        raise UsageError("upload.to contains a password. Use upload.sftp_password = env:NAME or file:PATH")
    if not parts.hostname:
        raise UsageError(f"upload.to has no host. It must be like {_SHAPES}")
    if parts.query or parts.fragment:
        raise UsageError("upload.to contains '?' or '#'. In the path of an SFTP URL, write '?' as %3F and '#' as %23")
    directory = unquote(parts.path)
    if not directory or directory == "/":
        raise UsageError(
            "upload.to names no directory. Use sftp://host/directory, or sftp://host/~/directory for a directory in "
            "the home directory"
        )
    if directory == "/~" or directory.startswith("/~/"):
        directory = directory[3:].lstrip("/") or "."
    if "\0" in directory or ".." in directory.split("/"):
        raise UsageError("the directory in upload.to must not contain '..'")
    directory = directory.rstrip("/") or "/"
    return SftpAddress(unquote(parts.username or ""), parts.hostname, port, directory)
