"""The S3 target, for S3 and compatible storages, and one bucket of them by boto3: keys, requests, errors with a remedy.

A PUT is atomic: readers get the old object or the new one
(https://docs.aws.amazon.com/AmazonS3/latest/userguide/Welcome.html#ConsistencyModel).
"""

import base64
import logging
import os
import re
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cache, partial
from typing import Any, BinaryIO, Final, Self, TypeVar
from urllib.parse import urlsplit

import anyio.to_thread
import boto3
import botocore.session
from botocore import exceptions as boto
from botocore.config import Config
from botocore.exceptions import BotoCoreError
from msgspec import Struct
from msgspec.structs import asdict

from crawler.config.secrets import mask_password, reveal_secret
from crawler.config.sections import FleetConfig, UploadConfig
from crawler.errors import UsageError
from crawler.publish.upload.target import (
    ErrorMeaning,
    LocalFile,
    RemoteFile,
    S3Address,
    UploadError,
    error_meanings,
    meaning_of,
    target_name,
)
from crawler.state.lock import RUN_LEASE

T = TypeVar("T")

_MEANINGS: Final = error_meanings("s3")
_BUSY: Final = _MEANINGS["ServerBusy"]
_NOT_S3: Final = ErrorMeaning(f"{_BUSY.sentence}, or {{section}}.s3_endpoint is not an S3 endpoint", may_retry=True)
MAX_ANSWER: Final = 16 * 2**20
"""Bytes of an answer that is no object: a listing has 1,000 keys of at most 1,024 bytes."""

_word = re.compile(r"[A-Za-z0-9.-]{0,60}").fullmatch


def _plain_word(text: str) -> str:
    """A code from the server, or "no code" when it is no plain word."""
    return text if _word(text) else "no code"


class SettingNames(Struct, frozen=True):
    """The section, and in it the address and the timeout; ``smaller`` is the remedy for a file that is too large."""

    section: str
    to: str
    timeout: str
    smaller: str


class S3Bucket:
    """A bucket. Nothing is sent before the first :meth:`call`. Raises UsageError for invalid settings.

    ``timeout`` is in seconds; ``named`` says what messages call the settings. The keys of the ``section`` may be
    references to secrets; "" means the settings of the AWS tools.
    """

    def __init__(self, name: str, section: UploadConfig | FleetConfig, timeout: float, named: SettingNames) -> None:
        logging.getLogger("botocore").setLevel(logging.WARNING)  # its debug log shows session tokens
        self.name = name
        self._named = asdict(named)
        self._timeout = timeout
        self._client: Any = None
        self._place = section.s3_endpoint, section.s3_region, named.section
        self._keys = section.s3_access_key, section.s3_secret_key
        keys = _signing_keys(*self._keys, named.section)
        _check_endpoint(section.s3_endpoint, named.section)
        if any(keys):
            _check_client(*self._place)
        else:
            _build_client(*self._place, keys, Config()).close()

    async def call(self, act: str, send: Callable[[Any], T]) -> T:
        """Call ``send`` with the client, in a thread. Raises UploadError, whose sentence names the ``act``."""
        if self._client is None:
            self._client = self._connected()
        try:
            return await anyio.to_thread.run_sync(self._send, send)
        except Exception as error:  # noqa: BLE001 - the library fails in many ways on garbage; no error may show the request
            raise self._error(error, act) from None

    def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            self._client.close()

    def _connected(self) -> Any:
        """A client without retries, which are the caller's, and without checksums that some storages lack."""
        endpoint, _, section = self._place
        config = Config(
            connect_timeout=self._timeout,
            read_timeout=self._timeout,
            retries={"total_max_attempts": 1, "mode": "standard"},
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
            s3={"addressing_style": "path"} if endpoint else None,
        )
        client = _build_client(*self._place, _signing_keys(*self._keys, section), config)
        connection = client._endpoint  # noqa: SLF001 - there is no public way
        connection.http_session = _BoundedSession(connection.http_session, self._timeout)
        return client

    def _send(self, send: Callable[[Any], T]) -> T:
        return send(self._client)

    def _error(self, error: Exception, act: str) -> UploadError:
        if isinstance(error, UploadError):
            return error
        if isinstance(error, boto.ClientError):
            return self._response_error(error.response, act)
        return meaning_of(error, _MEANINGS).upload_error({"act": act, **self._named})

    def _response_error(self, response: dict[str, Any], act: str) -> UploadError:
        details, meta = response.get("Error", {}), response.get("ResponseMetadata", {})
        status = int(meta.get("HTTPStatusCode") or 0)
        code = _plain_word(str(details.get("Code") or status))
        region = _plain_word(str(meta.get("HTTPHeaders", {}).get("x-amz-bucket-region") or details.get("Region") or ""))
        values = {"act": act, "bucket": self.name, "code": code, "region": f" ({region})" if region else ""}
        values |= self._named
        meaning = _MEANINGS.get(code)
        if status in (408, 429) or (status >= 500 and status != 507 and not meaning):
            meaning = _NOT_S3 if code.isdecimal() else meaning if meaning and meaning.may_retry else _BUSY
        if code.startswith("KMS.") and not meaning:
            return UploadError(
                f"the key that encrypts the bucket {self.name} cannot be used ({code}): check the key in AWS KMS"
            )
        if meaning := meaning or _MEANINGS.get(str(status)):
            return meaning.upload_error(values)
        # without the server's message, which may repeat a secret
        return UploadError(f"it refuses {act} ({code}, HTTP {status})")


def is_missing(error: Exception) -> bool:
    """Whether an error of the client says that there is no such object."""
    return isinstance(error, boto.ClientError) and str(error.response.get("Error", {}).get("Code")) in _MISSING


_MISSING: Final = ("404", "NoSuchKey", "NotFound")


def _signing_keys(access_key: str, secret_key: str, section: str) -> tuple[str, str]:
    """The configured keys, "" for those of the AWS tools. Raises UsageError."""
    access, secret = reveal_secret(access_key), reveal_secret(secret_key)
    if bool(access) != bool(secret):
        raise UsageError(
            f"{section}.s3_access_key and {section}.s3_secret_key work only together. Set both keys, or none"
        )
    return access, secret


@cache
def _check_client(endpoint: str, region: str, section: str) -> None:
    """Raises UsageError. Cached, because it is slow and many sites of a schedule share a target."""
    _build_client(endpoint, region, section, ("some", "keys"), Config()).close()


def _build_client(endpoint: str, region: str, section: str, keys: tuple[str, str], config: Config) -> Any:
    """A client of the library. Raises UsageError."""
    access, secret = keys
    try:
        core = botocore.session.Session()
        core.register_component("data_loader", _service_models())
        session = boto3.session.Session(access or None, secret or None, None, region or None, core)
        if session.get_credentials() is None:
            raise UsageError(
                f"there are no keys for S3. Set {section}.s3_access_key and {section}.s3_secret_key, or configure the "
                "AWS tools"
            )
        return session.client("s3", endpoint_url=endpoint or None, config=config)
    except (BotoCoreError, ValueError) as error:
        raise UsageError(f"{section}: {_first_line(error)}") from None


class _BoundedSession:
    """The HTTP session of the library, which reads the whole body of an answer: no more, and no longer, than this."""

    def __init__(self, inner: Any, timeout: float) -> None:
        self._inner, self._timeout = inner, timeout
        self.close = inner.close

    def send(self, request: Any) -> Any:
        """The answer. The content of an object is streamed otherwise."""
        is_object, request.stream_output = request.stream_output, True  # so that the library does not read it
        answer = self._inner.send(request)
        answer.raw.stream = partial(self._stream, answer.raw, answer.raw.stream, time.monotonic() + self._timeout)
        if not is_object:
            _ = answer.content  # read, and kept
        return answer

    def _stream(self, raw: Any, stream: Callable[..., Iterator[bytes]], end: float, *options: Any) -> Iterator[bytes]:
        size = 0
        for piece in stream(*options):
            size += len(piece)
            if size > MAX_ANSWER or time.monotonic() > end:
                raw.close()
                raise boto.ReadTimeoutError(endpoint_url="") if size <= MAX_ANSWER else ValueError("too many bytes")
            yield piece


@cache
def _service_models() -> Any:
    """The library's model of S3: megabytes of JSON, loaded once for all clients."""
    return botocore.loaders.create_loader()


def _check_endpoint(url: str, section: str) -> None:
    if not url:
        return
    try:
        parts = urlsplit(url)
        is_valid = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        is_valid = False
    else:
        if "@" in parts.netloc or parts.query or parts.fragment:
            raise UsageError(
                f"{section}.s3_endpoint may contain only scheme, host and port, as in https://host:port. Set the "
                f"keys with {section}.s3_access_key and {section}.s3_secret_key"
            )
    if not is_valid:
        raise UsageError(f"{section}.s3_endpoint must be a URL like https://s3.example.com, not {mask_password(url)!r}")


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:300]


_NAMES: Final = SettingNames("upload", "to", "timeout", "set output.max_bytes")
_DIGEST: Final = "siteatlas-sha256"  # metadata of our objects
_PAGE_SIZE: Final = 1000  # objects in a page of a listing

_FOREIGN_PAGES: Final = 10  # pages that foreign objects may fill

_PLAIN_TYPES: Final = ("", "AES256")  # with this encryption, an ETag is the MD5 of the content


class S3Target:
    """A bucket, or a prefix in it. Raises UsageError for invalid settings."""

    def __init__(self, section: UploadConfig, address: S3Address) -> None:
        self._bucket = S3Bucket(address.bucket, section, section.timeout, _NAMES)
        self._prefix = address.prefix
        self._cache_control = section.cache_control
        self.display_name = target_name(section)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._bucket.close()

    def mark(self, local: LocalFile) -> str:
        """The ETag of an object that was uploaded in one piece, without a KMS key."""
        return local.md5

    def metadata(self, local: LocalFile) -> str:
        """Its headers."""
        return f"{local.content_type}\n{self._cache_control}"

    async def list_files(self, names: Collection[str]) -> dict[str, RemoteFile]:
        """One request per thousand objects; when foreign objects fill the listing, one per remaining name."""
        keys = {self._prefix + name: name for name in names}
        start = os.path.commonprefix(list(keys))  # noqa: RUF071 - letters, as keys are no paths
        files: dict[str, RemoteFile] = {}
        continuation: dict[str, str] = {}
        for _ in range(_FOREIGN_PAGES + 2 * len(keys) // _PAGE_SIZE):
            params = {"Prefix": start, "Delimiter": "/", "MaxKeys": _PAGE_SIZE, **continuation}
            page = await self._request("list_objects_v2", "listing its files", params)
            for item in page.get("Contents", ()):
                if (key := item.get("Key")) in keys:
                    files[keys[key]] = RemoteFile(int(item.get("Size", -1)), _etag(item))
            continuation = {"ContinuationToken": page.get("NextContinuationToken", "")}
            if not page.get("IsTruncated"):
                return files
            if not continuation["ContinuationToken"]:
                break
        for name in keys.values():
            if name not in files and (head := await self._head(name)):
                files[name] = RemoteFile(int(head.get("ContentLength", -1)), _etag(head))
        return files

    async def find_same(self, local: LocalFile) -> RemoteFile | None:
        """Compare headers: our digest, and the ETag where it depends on the content alone."""
        head = await self._head(local.name)
        digests = {key.lower(): value for key, value in head.get("Metadata", {}).items()}
        actual = (
            head.get("ContentLength"), digests.get(_DIGEST),
            head.get("ContentType"), head.get("CacheControl", ""), head.get("ContentEncoding", ""),
        )  # fmt: skip
        expected = (local.size, local.sha256, local.content_type, self._cache_control, "")
        is_opaque = head.get("ServerSideEncryption", "") not in _PLAIN_TYPES or "SSECustomerAlgorithm" in head
        if actual != expected or not (is_opaque or _etag(head) == local.md5):
            return None
        return RemoteFile(local.size, _etag(head))

    async def put(self, local: LocalFile) -> RemoteFile:
        """One PUT, whose bytes the storage checks against their MD5."""
        headers = {
            "Key": self._prefix + local.name,
            "ContentLength": local.size,
            "ContentMD5": base64.b64encode(bytes.fromhex(local.md5)).decode(),
            "ContentType": local.content_type,
            "Metadata": {_DIGEST: local.sha256},
            **({"CacheControl": self._cache_control} if self._cache_control else {}),
        }
        response = await self._request("put_object", f"putting {local.name} there", headers, local)
        if not (etag := _etag(response)):
            raise UploadError(
                f"the server does not confirm that it stored {local.name}. Check that upload.s3_endpoint is an S3 "
                "endpoint",
                again=True,
            )
        return RemoteFile(local.size, etag)

    async def remove(self, name: str) -> None:
        """Remove one object."""
        await self._request("delete_object", f"removing {name}", {"Key": self._prefix + name})

    async def remove_leftovers(self, names: Sequence[str]) -> None:
        """A PUT leaves nothing behind."""

    async def _head(self, name: str) -> dict[str, Any]:
        """The headers of an object, empty when there is none."""
        return await self._request("head_object", f"looking at {name}", {"Key": self._prefix + name})

    async def _request(
        self, operation: str, act: str, params: dict[str, Any], local: LocalFile | None = None
    ) -> dict[str, Any]:
        def send(client: Any) -> dict[str, Any]:
            method = getattr(client, operation)
            try:
                if local is None:
                    return dict(method(Bucket=self._bucket.name, **params))
                with local.open() as body:
                    return dict(method(Bucket=self._bucket.name, Body=_LeasedBody(body), **params))
            except Exception as error:
                if operation == "head_object" and is_missing(error):
                    return {}
                raise

        return await self._bucket.call(act, send)


class _LeasedBody:
    """The body of a PUT. Raises LeaseLost where the lease of the run ended meanwhile: half a body stores nothing."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.seek, self.tell = file.seek, file.tell

    def read(self, size: int = -1) -> bytes:
        """The next bytes."""
        RUN_LEASE.check()
        return self._file.read(size)


def _etag(response: dict[str, Any]) -> str:
    return str(response.get("ETag") or "").strip('"')
