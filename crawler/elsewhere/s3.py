"""S3 and what is compatible with it, by boto3. A PUT is atomic: readers get the old object or the new one.

https://docs.aws.amazon.com/AmazonS3/latest/userguide/Welcome.html#ConsistencyModel
"""

import base64
import logging
import os
from collections.abc import Collection, Sequence
from functools import cache
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import urlsplit

import anyio.to_thread
import boto3
import botocore.loaders
import botocore.session
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from crawler.config.notify import Upload
from crawler.config.secrets import masked, reveal
from crawler.elsewhere.addresses import S3Address, shown
from crawler.elsewhere.place import NotTaken, Piece, There
from crawler.elsewhere.s3_refusals import explained
from crawler.errors import UsageError

_DIGEST: Final = "siteatlas-sha256"  # metadata of our objects
_PAGE: Final = 1000  # objects in one page of a listing
_FOREIGN_PAGES: Final = 10  # pages that may be full of what is not ours
_PLAIN_TYPES: Final = ("", "AES256")  # encryption with which an ETag still is the MD5 of the content


class S3:
    """A bucket, or a part of it. Raises UsageError for settings that nobody could be asked with."""

    def __init__(self, section: Upload, address: S3Address) -> None:
        logging.getLogger("botocore").setLevel(
            logging.WARNING
        )  # it would log the headers, with session tokens
        self._bucket, self._prefix = address.bucket, address.prefix
        self._cache_control = section.cache_control
        self._section = section
        self._client: Any = None
        _check(section)
        self.shown = shown(section)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._client is not None:
            self._client.close()

    def mark(self, piece: Piece) -> str:
        """The ETag of an object that was put at once, and is not encrypted with a key of KMS."""
        return piece.md5

    def manner(self, piece: Piece) -> str:
        """Its headers."""
        return f"{piece.content_type}\n{self._cache_control}"

    async def look(self, names: Collection[str]) -> dict[str, There]:
        """One request for a thousand objects; where others fill the listing, one for each name that is left."""
        keys = {self._prefix + name: name for name in names}
        start = os.path.commonprefix(list(keys))  # noqa: RUF071 - letters, as keys are no paths
        found: dict[str, There] = {}
        more: dict[str, str] = {}
        for _ in range(_FOREIGN_PAGES + 2 * len(keys) // _PAGE):
            asked = {"Prefix": start, "Delimiter": "/", "MaxKeys": _PAGE, **more}
            page = await self._ask("list_objects_v2", "listing its files", asked)
            for each in page.get("Contents", ()):
                if (key := each.get("Key")) in keys:
                    found[keys[key]] = There(int(each.get("Size", -1)), _etag(each))
            more = {"ContinuationToken": page.get("NextContinuationToken", "")}
            if not page.get("IsTruncated"):
                return found
            if not more["ContinuationToken"]:
                break
        for name in keys.values():
            if name not in found and (head := await self._head(name)) is not None:
                found[name] = There(int(head.get("ContentLength", -1)), _etag(head))
        return found

    async def holds(self, piece: Piece) -> There | None:
        """Asks for the headers: our digest, and an ETag that contradicts it only where it says nothing of the bytes."""
        head = await self._head(piece.name)
        if head is None:
            return None
        digests = {key.lower(): value for key, value in head.get("Metadata", {}).items()}
        as_it_is = (
            head.get("ContentLength"), digests.get(_DIGEST),
            head.get("ContentType"), head.get("CacheControl", ""), head.get("ContentEncoding", ""),
        )  # fmt: skip
        as_it_should_be = (piece.size, piece.sha256, piece.content_type, self._cache_control, "")
        says_nothing = (
            head.get("ServerSideEncryption", "") not in _PLAIN_TYPES or "SSECustomerAlgorithm" in head
        )
        if as_it_is != as_it_should_be or not (says_nothing or _etag(head) == piece.md5):
            return None
        return There(piece.size, _etag(head))

    async def put(self, piece: Piece) -> There:
        """One PUT, whose bytes the other side checks against their MD5."""
        headers = {
            "Key": self._prefix + piece.name,
            "ContentLength": piece.size,
            "ContentMD5": base64.b64encode(bytes.fromhex(piece.md5)).decode(),
            "ContentType": piece.content_type,
            "Metadata": {_DIGEST: piece.sha256},
            **({"CacheControl": self._cache_control} if self._cache_control else {}),
        }
        answer = await self._ask("put_object", f"putting {piece.name} there", headers, piece)
        if not (etag := _etag(answer)):
            raise NotTaken(
                f"it does not say that it took {piece.name}: is upload.s3_endpoint an S3 endpoint?",
                again=True,
            )
        return There(piece.size, etag)

    async def remove(self, name: str) -> None:
        """Remove one object."""
        await self._ask("delete_object", f"removing {name}", {"Key": self._prefix + name})

    async def tidy(self, names: Sequence[str]) -> None:
        """A PUT leaves nothing behind."""

    async def _head(self, name: str) -> dict[str, Any] | None:
        try:
            return await self._ask("head_object", f"looking at {name}", {"Key": self._prefix + name})
        except _Absent:
            return None

    async def _ask(
        self, operation: str, act: str, params: dict[str, Any], piece: Piece | None = None
    ) -> dict[str, Any]:
        if self._client is None:
            section = self._section
            keys, config = _keys(section), _settings(section)
            self._client = _client(section.s3_endpoint, section.s3_region, keys, config)
        try:
            return await anyio.to_thread.run_sync(self._send, operation, params, piece)
        except Exception as error:  # noqa: BLE001 - what garbage makes of the library; none of it may show its request
            if operation == "head_object" and isinstance(error, ClientError) and _says_absent(error):
                raise _Absent(act) from None
            raise explained(error, act, self._bucket) from None

    def _send(self, operation: str, params: dict[str, Any], piece: Piece | None) -> dict[str, Any]:
        method = getattr(self._client, operation)
        if piece is None:
            return dict(method(Bucket=self._bucket, **params))
        with piece.open() as body:
            return dict(method(Bucket=self._bucket, Body=body, **params))


class _Absent(NotTaken):
    """There is no such object."""


def _says_absent(error: ClientError) -> bool:
    return str(error.response.get("Error", {}).get("Code")) in ("404", "NoSuchKey", "NotFound")


def _etag(answer: dict[str, Any]) -> str:
    return str(answer.get("ETag") or "").strip('"')


def _keys(section: Upload) -> tuple[str, str]:
    """What is configured to sign with, "" for what AWS tools use. Raises UsageError."""
    access, secret = reveal(section.s3_access_key), reveal(section.s3_secret_key)
    if bool(access) != bool(secret):
        raise UsageError("upload.s3_access_key and upload.s3_secret_key go together: set both, or none")
    return access, secret


def _check(section: Upload) -> None:
    """Check that somebody could be asked, and that there are keys to sign with. Raises UsageError."""
    keys = _keys(section)
    _check_endpoint(section.s3_endpoint)
    if any(keys):
        _try(section.s3_endpoint, section.s3_region)
    else:
        _client(section.s3_endpoint, section.s3_region, keys, Config()).close()


@cache
def _try(endpoint: str, region: str) -> None:
    """Raises UsageError. It takes a while, and hundreds of sites of one schedule have the same."""
    _client(endpoint, region, ("some", "keys"), Config()).close()


def _client(endpoint: str, region: str, keys: tuple[str, str], config: Config) -> Any:
    """Who asks. Raises UsageError."""
    access, secret = keys
    try:
        core = botocore.session.Session()
        core.register_component("data_loader", _descriptions())
        session = boto3.session.Session(access or None, secret or None, None, region or None, core)
        if session.get_credentials() is None:
            raise UsageError(
                "there are no keys for S3: set upload.s3_access_key and upload.s3_secret_key, or what AWS tools use"
            )
        return session.client("s3", endpoint_url=endpoint or None, config=config)
    except (BotoCoreError, ValueError) as error:
        raise UsageError(f"upload: {_first_line(error)}") from None


@cache
def _descriptions() -> Any:
    """What the library knows of S3: megabytes of JSON, which it would read for each client anew."""
    return botocore.loaders.create_loader()


def _settings(section: Upload) -> Config:
    """No retries, which are the caller's; and no checksums that not every compatible storage knows."""
    return Config(
        connect_timeout=section.upload_timeout,
        read_timeout=section.upload_timeout,
        retries={"total_max_attempts": 1, "mode": "standard"},
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
        s3={"addressing_style": "path"} if section.s3_endpoint else None,
    )


def _check_endpoint(url: str) -> None:
    if not url:
        return
    try:
        split = urlsplit(url)
        usable = split.scheme in ("http", "https") and split.hostname and split.port != 0
    except ValueError:
        usable = False
    else:
        if "@" in split.netloc or split.query or split.fragment:
            raise UsageError(
                "upload.s3_endpoint wants https://host:port and nothing else; keys have settings of their own"
            )
    if not usable:
        raise UsageError(f"upload.s3_endpoint wants a URL like https://s3.example.com, not {masked(url)!r}")


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:300]
