"""What all places elsewhere have in common: single files are looked for, put there and removed, and nothing else."""

import os
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Final, Protocol, Self
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from crawler.config.secrets import mask_password
from crawler.config.sections import UploadConfig
from crawler.errors import UsageError
from crawler.fetch.media_type import content_type


class UploadError(Exception):
    """It could not be done. The text is a sentence without secrets; ``again`` says that another try may help."""

    def __init__(self, sentence: str, *, again: bool = False) -> None:
        super().__init__(sentence)
        self.may_retry = again


class LocalFile(Struct, frozen=True, kw_only=True):
    """A published file as it lies in the local directory. Digests are in hexadecimal, ``mtime`` in nanoseconds."""

    name: str
    path: Path
    size: int
    inode: int
    mtime: int
    sha256: str
    md5: str

    @property
    def content_type(self) -> str:
        """What it is served as."""
        return content_type(self.name)

    def open(self) -> BinaryIO:
        """Its bytes. A publisher replaces files and never writes into them, so what was opened stays the same.

        Raises NotTaken when the file is not the one that was looked at any more.
        """
        try:
            file = self.path.open("rb")
        except OSError as error:
            raise UploadError(f"{self.path} cannot be read: {error.strerror}") from None
        found = os.fstat(file.fileno())
        if (found.st_ino, found.st_mtime_ns, found.st_size) == (self.inode, self.mtime, self.size):
            return file
        file.close()
        raise UploadError(f"{self.path} was published anew in the meantime")


class RemoteFile(Struct, frozen=True):
    """What lies there under a name: its size, and the ``mark`` that it has as long as nobody changes it."""

    size: int
    mark: str


class UploadTarget(Protocol):
    """A place for files, to be entered before it is used. All names are plain names of files.

    Each method asks once, and raises NotTaken with what the other side did or could not do.
    """

    @property
    def display_name(self) -> str:
        """What the place is called, without secrets; another name is another place."""

    async def __aenter__(self) -> Self:
        """Nothing is sent yet."""

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let go of what is held."""

    def mark(self, piece: LocalFile) -> str:
        """The mark that the file will have there, if nothing out of the common is done to it."""

    def metadata(self, piece: LocalFile) -> str:
        """How the file is kept there, besides its bytes: what must be put again when it changes."""

    async def list_files(self, names: Collection[str]) -> dict[str, RemoteFile]:
        """What is there, of these names."""

    async def find_same(self, piece: LocalFile) -> RemoteFile | None:
        """What is there under the name of the file, when that can be proved to be this file, in this manner."""

    async def put(self, piece: LocalFile) -> RemoteFile:
        """Put the file there, whole or not at all: nobody sees a part of it, nor nothing in between."""

    async def remove(self, name: str) -> None:
        """Remove what is there under a name. Harmless when there is nothing."""

    async def remove_leftovers(self, names: Sequence[str]) -> None:
        """Remove what a killed process may have left while it was putting these there."""


_SHAPES: Final = "s3://bucket/prefix or sftp://user@host:22/directory"


_bucket = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,254}").fullmatch


@dataclass(frozen=True, slots=True)
class S3Address:
    """Where on S3. ``prefix`` is "" or ends with a slash."""

    bucket: str
    prefix: str

    @property
    def display_name(self) -> str:
        """The address for people."""
        return f"s3://{self.bucket}/{self.prefix}"


@dataclass(frozen=True, slots=True)
class SftpAddress:
    """Where by SFTP. ``user`` may be "", and a relative ``directory`` is one below the home of the user."""

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


def parse_target_address(text: str) -> S3Address | SftpAddress:
    """The place that ``upload.to`` names. Raises UsageError, whose text has no password that stood there."""
    scheme, separator, rest = text.partition("://")
    if not separator or scheme.lower() not in ("s3", "sftp"):
        raise UsageError(f"upload.to wants {_SHAPES}, not {mask_password(text)!r}")
    return _parse_s3(rest) if scheme.lower() == "s3" else _parse_sftp(text)


def target_name(section: UploadConfig) -> str:
    """What the place that is configured is called, without secrets; another name is another place.

    Raises UsageError.
    """
    where = parse_target_address(section.to)
    is_other = isinstance(where, S3Address) and section.s3_endpoint
    return f"{where.display_name} at {section.s3_endpoint}" if is_other else where.display_name


def _parse_s3(rest: str) -> S3Address:
    """Keys are plain text: nothing in them is encoded, and a question mark is a part of them."""
    bucket, _, prefix = rest.partition("/")
    if not _bucket(bucket):
        hint = ": keys belong in upload.s3_access_key and upload.s3_secret_key" if "@" in bucket else ""
        raise UsageError(f"upload.to wants s3://bucket/prefix with the name of a bucket{hint}")
    parts = [part for part in prefix.split("/") if part]
    if any(part in (".", "..") for part in parts):
        raise UsageError(f"upload.to: {prefix!r} has a part . or .., which are plain names on S3")
    return S3Address(bucket, "".join(f"{part}/" for part in parts))


def _parse_sftp(text: str) -> SftpAddress:
    try:
        split = urlsplit(text)
        port = split.port or 22
    except ValueError:
        raise UsageError(f"upload.to wants {_SHAPES}: its host or its port is none") from None
    if split.password is not None:
        raise UsageError("upload.to has a password in it: use upload.sftp_password = env:NAME or file:PATH")
    if not split.hostname:
        raise UsageError(f"upload.to wants {_SHAPES}: the host is missing")
    if split.query or split.fragment:
        raise UsageError("upload.to: in the path of an SFTP URL ? is written %3F, and # %23")
    directory = unquote(split.path)
    if not directory or directory == "/":
        raise UsageError(
            "upload.to names no directory: use sftp://host/directory, or sftp://host/~/directory for one in the home"
        )
    if directory == "/~" or directory.startswith("/~/"):
        directory = directory[3:].lstrip("/") or "."
    if "\0" in directory or ".." in directory.split("/"):
        raise UsageError("upload.to: the directory must not have .. in it")
    directory = directory.rstrip("/") or "/"
    return SftpAddress(unquote(split.username or ""), split.hostname, port, directory)


_LIBRARIES: Final = {"boto3": "s3", "botocore": "s3", "asyncssh": "sftp"}


def connect_target(section: UploadConfig, mode: int, say: Callable[[str], None]) -> UploadTarget:
    """The place that ``upload.to`` names; ``mode`` are the permissions of files there, where there are any.

    ``say`` is told what a person should know of the place. Nothing is asked of the place itself yet. Raises UsageError
    for settings that cannot be used: what is no address, an extra that is not installed, a secret that is not there.
    """
    where = parse_target_address(section.to)
    try:
        if isinstance(where, S3Address):
            from crawler.publish.upload.s3 import S3Target  # noqa: PLC0415 - an extra, and slow to load

            return S3Target(section, where)
        from crawler.publish.upload.sftp import SftpTarget  # noqa: PLC0415 - an extra

        return SftpTarget(section, where, mode, say)
    except ModuleNotFoundError as error:
        if (extra := _LIBRARIES.get((error.name or "").partition(".")[0])) is None:
            raise
        raise UsageError(
            f"upload.to = {where.display_name} needs what is not installed: pip install 'siteatlas[{extra}]'"
        ) from None
