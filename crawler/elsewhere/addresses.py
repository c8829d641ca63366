"""What the setting ``upload.to`` says: a bucket and a prefix, or a host and a directory."""

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote, urlsplit

from crawler.config.notify import Upload
from crawler.config.secrets import masked
from crawler.errors import UsageError

_SHAPES: Final = "s3://bucket/prefix or sftp://user@host:22/directory"
_bucket = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,254}").fullmatch


@dataclass(frozen=True, slots=True)
class S3Address:
    """Where on S3. ``prefix`` is "" or ends with a slash."""

    bucket: str
    prefix: str

    @property
    def shown(self) -> str:
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
    def shown(self) -> str:
        """The address for people."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        user = f"{self.user}@" if self.user else ""
        port = "" if self.port == 22 else f":{self.port}"
        home = "" if self.directory.startswith("/") else "/~/"
        return f"sftp://{user}{host}{port}{home}{self.directory}"


def address(text: str) -> S3Address | SftpAddress:
    """The place that ``upload.to`` names. Raises UsageError, whose text has no password that stood there."""
    scheme, separator, rest = text.partition("://")
    if not separator or scheme.lower() not in ("s3", "sftp"):
        raise UsageError(f"upload.to wants {_SHAPES}, not {masked(text)!r}")
    return _s3(rest) if scheme.lower() == "s3" else _sftp(text)


def shown(section: Upload) -> str:
    """What the place that is configured is called, without secrets; another name is another place.

    Raises UsageError.
    """
    where = address(section.to)
    is_other = isinstance(where, S3Address) and section.s3_endpoint
    return f"{where.shown} at {section.s3_endpoint}" if is_other else where.shown


def _s3(rest: str) -> S3Address:
    """Keys are plain text: nothing in them is encoded, and a question mark is a part of them."""
    bucket, _, prefix = rest.partition("/")
    if not _bucket(bucket):
        hint = ": keys belong in upload.s3_access_key and upload.s3_secret_key" if "@" in bucket else ""
        raise UsageError(f"upload.to wants s3://bucket/prefix with the name of a bucket{hint}")
    parts = [part for part in prefix.split("/") if part]
    if any(part in (".", "..") for part in parts):
        raise UsageError(f"upload.to: {prefix!r} has a part . or .., which are plain names on S3")
    return S3Address(bucket, "".join(f"{part}/" for part in parts))


def _sftp(text: str) -> SftpAddress:
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
