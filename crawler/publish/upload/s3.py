"""The S3 target, by boto3, for S3 and compatible storages. A PUT is atomic: readers get the old object or the new one.

https://docs.aws.amazon.com/AmazonS3/latest/userguide/Welcome.html#ConsistencyModel
"""

import base64
import logging
import os
import re
from collections.abc import Collection, Sequence
from functools import cache
from typing import Any, Final, Self
from urllib.parse import urlsplit

import anyio.to_thread
import boto3
import botocore.session
from botocore import exceptions as boto
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError

from crawler.config.secrets import mask_password, reveal_secret
from crawler.config.sections import UploadConfig
from crawler.errors import UsageError
from crawler.publish.upload.target import LocalFile, RemoteFile, S3Address, UploadError, target_name

_KEYS: Final = "upload.s3_access_key and upload.s3_secret_key, or the settings of the AWS tools"
_PERMISSIONS: Final = "s3:PutObject, s3:GetObject, s3:DeleteObject and s3:ListBucket"
_REGION: Final = "the bucket {bucket} is in another region{region}: set upload.s3_region"
_DENIED: Final = f"it does not allow {{act}}: the keys need {_PERMISSIONS} for the bucket {{bucket}}"
_FULL: Final = "the storage is full or its quota is used up: free some space there"
_BUSY: Final = "it is busy or failed ({code})"


_PERMANENT_ERRORS: Final = {
    "NoSuchBucket": "the bucket {bucket} does not exist: create it, or correct upload.to",
    "404": "the bucket {bucket} does not exist, or it is not an S3 endpoint: correct upload.to or upload.s3_endpoint",
    "InvalidBucketName": "{bucket} is not a valid name of a bucket there: correct upload.to",
    "AccessDenied": _DENIED,
    "403": _DENIED,
    "AllAccessDisabled": "access to the bucket {bucket} is disabled: ask the operator of the storage",
    "AccountProblem": "there is a problem with the account: ask the operator of the storage",
    "NotSignedUp": "the account is not signed up for this storage",
    "InvalidAccessKeyId": f"the access key is unknown there: correct {_KEYS}",
    "SignatureDoesNotMatch": f"the secret key does not belong to the access key: correct {_KEYS}",
    "401": f"it does not accept the keys: correct {_KEYS}",
    "Unauthorized": f"it does not accept the keys: correct {_KEYS}",
    "ExpiredToken": "the session token has expired: get new credentials",
    "TokenRefreshRequired": "the session token has expired: get new credentials",
    "InvalidToken": f"it does not accept the session token: correct {_KEYS}",
    "RequestTimeTooSkewed": "the clock of this machine differs too much from the clock of the storage: correct it",
    "PermanentRedirect": _REGION,
    "TemporaryRedirect": _REGION,
    "AuthorizationHeaderMalformed": _REGION,
    "IllegalLocationConstraintException": _REGION,
    "301": _REGION,
    "302": _REGION,
    "307": _REGION,
    "EntityTooLarge": "it does not accept files of this size: set output.max_bytes",
    "QuotaExceeded": _FULL,
    "XMinioStorageFull": _FULL,
    "507": _FULL,
    "InvalidObjectState": "the object is archived: remove it from there",
    "MethodNotAllowed": "it does not allow {act}: check that upload.s3_endpoint is an S3 endpoint",
    "405": "it does not allow {act}: check that upload.s3_endpoint is an S3 endpoint",
}

_TRANSIENT_ERRORS: Final = {
    "BadDigest": "the storage received other bytes than were sent: the file was damaged in transit",
    "IncompleteBody": "the connection ended before the whole file had arrived",
    "RequestTimeout": "the file did not arrive there in time",
    "OperationAborted": "another process is changing the same file there",
    "ConditionalRequestConflict": "another process is changing the same file there",
}

_word = re.compile(r"[A-Za-z0-9.-]{0,60}").fullmatch

_BUSY_CODES: Final = frozenset({
    "SlowDown", "ServiceUnavailable", "InternalError", "Throttling", "ThrottlingException", "RequestLimitExceeded",
    "RequestThrottled", "TooManyRequests", "BandwidthLimitExceeded", "ServerBusy",
})  # fmt: skip


_S3ExceptionTypes = type[Exception] | tuple[type[Exception], ...]


# Errors without a response: the first match gives the sentence, and whether a retry may help.
_S3_ERROR_TEXTS: Final[tuple[tuple[_S3ExceptionTypes, str, bool], ...]] = (
    (
        (boto.NoCredentialsError, boto.PartialCredentialsError, boto.CredentialRetrievalError),
        f"there are no keys to sign in with: set {_KEYS}",
        False,
    ),
    (boto.SSLError, "its TLS certificate is not trusted: check upload.s3_endpoint, or set AWS_CA_BUNDLE", False),
    ((boto.ConnectTimeoutError, boto.ReadTimeoutError), "it did not respond to {act} in time (upload.timeout)", True),
    (boto.ProxyConnectionError, "the proxy in the environment variables cannot be reached", True),
    (boto.EndpointConnectionError, "it cannot be reached", True),
    (
        (boto.ParamValidationError, boto.InvalidEndpointConfigurationError, boto.UnknownEndpointError),
        "the S3 library cannot make this request: correct upload.to, upload.s3_region or upload.s3_endpoint",
        False,
    ),
    (
        (ResponseParserError, LookupError, ValueError, TypeError, AttributeError),
        "its response to {act} is not valid S3: check upload.s3_endpoint",
        True,
    ),
)


def s3_upload_error(error: Exception, act: str, bucket: str) -> UploadError:
    """The UploadError for an exception of the library; ``act`` names the operation: "putting sitemap.xml there"."""
    if isinstance(error, UploadError):
        return error
    if isinstance(error, boto.ClientError):
        return _response_error(error.response, act, bucket)
    _, sentence, again = next(
        (meaning for meaning in _S3_ERROR_TEXTS if isinstance(error, meaning[0])),
        (Exception, "the connection was cut in the middle of {act}", True),
    )
    return UploadError(sentence.format(act=act), again=again)


def _response_error(response: dict[str, Any], act: str, bucket: str) -> UploadError:
    details, meta = response.get("Error", {}), response.get("ResponseMetadata", {})
    status = int(meta.get("HTTPStatusCode") or 0)
    code = _plain_word(str(details.get("Code") or status))
    region = _plain_word(str(meta.get("HTTPHeaders", {}).get("x-amz-bucket-region") or details.get("Region") or ""))
    values = {"act": act, "bucket": bucket, "code": code, "region": f" ({region})" if region else ""}
    if code in _TRANSIENT_ERRORS:
        return UploadError(_TRANSIENT_ERRORS[code], again=True)
    if code in _BUSY_CODES or (
        status in (408, 429) or (status >= 500 and status != 507 and code not in _PERMANENT_ERRORS)
    ):
        hint = ", or upload.s3_endpoint is not an S3 endpoint" if code.isdecimal() else ""
        return UploadError(_BUSY.format_map(values) + hint, again=True)
    if code.startswith("KMS."):
        return UploadError(
            f"the key that encrypts the bucket {bucket} cannot be used ({code}): check the key in AWS KMS"
        )
    sentence = _PERMANENT_ERRORS.get(code) or _PERMANENT_ERRORS.get(str(status))
    if sentence:
        return UploadError(sentence.format_map(values))
    # without the server's message, which may repeat a secret
    return UploadError(f"it refuses {act} ({code}, HTTP {status})")


def _plain_word(text: str) -> str:
    """A code from the server, or "no code" when it is no plain word."""
    return text if _word(text) else "no code"


_DIGEST: Final = "siteatlas-sha256"  # metadata of our objects
_PAGE_SIZE: Final = 1000  # objects in a page of a listing

_FOREIGN_PAGES: Final = 10  # pages that foreign objects may fill

_PLAIN_TYPES: Final = ("", "AES256")  # with this encryption, an ETag is the MD5 of the content


class S3Target:
    """A bucket, or a prefix in it. Raises UsageError for invalid settings."""

    def __init__(self, section: UploadConfig, address: S3Address) -> None:
        logging.getLogger("botocore").setLevel(logging.WARNING)  # its debug log shows session tokens
        self._bucket, self._prefix = address.bucket, address.prefix
        self._cache_control = section.cache_control
        self._section = section
        self._client: Any = None
        _check_section(section)
        self.display_name = target_name(section)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._client is not None:
            self._client.close()

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
                f"it does not confirm that it stored {local.name}: check that upload.s3_endpoint is an S3 endpoint",
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
        if self._client is None:
            section = self._section
            keys, config = _signing_keys(section), _settings(section)
            self._client = _build_client(section.s3_endpoint, section.s3_region, keys, config)
        try:
            return await anyio.to_thread.run_sync(self._send, operation, params, local)
        except Exception as error:  # noqa: BLE001 - the library fails in many ways on garbage; no error may show the request
            if operation == "head_object" and isinstance(error, ClientError) and _is_missing(error):
                return {}
            raise s3_upload_error(error, act, self._bucket) from None

    def _send(self, operation: str, params: dict[str, Any], local: LocalFile | None) -> dict[str, Any]:
        method = getattr(self._client, operation)
        if local is None:
            return dict(method(Bucket=self._bucket, **params))
        with local.open() as body:
            return dict(method(Bucket=self._bucket, Body=body, **params))


def _is_missing(error: ClientError) -> bool:
    return str(error.response.get("Error", {}).get("Code")) in ("404", "NoSuchKey", "NotFound")


def _etag(response: dict[str, Any]) -> str:
    return str(response.get("ETag") or "").strip('"')


def _signing_keys(section: UploadConfig) -> tuple[str, str]:
    """The configured keys, "" for those of the AWS tools. Raises UsageError."""
    access, secret = reveal_secret(section.s3_access_key), reveal_secret(section.s3_secret_key)
    if bool(access) != bool(secret):
        raise UsageError("upload.s3_access_key and upload.s3_secret_key go together: set both, or none")
    return access, secret


def _check_section(section: UploadConfig) -> None:
    """Check the endpoint and the keys. Raises UsageError."""
    keys = _signing_keys(section)
    _check_endpoint(section.s3_endpoint)
    if any(keys):
        _check_client(section.s3_endpoint, section.s3_region)
    else:
        _build_client(section.s3_endpoint, section.s3_region, keys, Config()).close()


@cache
def _check_client(endpoint: str, region: str) -> None:
    """Raises UsageError. Cached, because it is slow and many sites of a schedule share a target."""
    _build_client(endpoint, region, ("some", "keys"), Config()).close()


def _build_client(endpoint: str, region: str, keys: tuple[str, str], config: Config) -> Any:
    """The client. Raises UsageError."""
    access, secret = keys
    try:
        core = botocore.session.Session()
        core.register_component("data_loader", _service_models())
        session = boto3.session.Session(access or None, secret or None, None, region or None, core)
        if session.get_credentials() is None:
            raise UsageError(
                "there are no keys for S3: set upload.s3_access_key and upload.s3_secret_key, or configure the AWS "
                "tools"
            )
        return session.client("s3", endpoint_url=endpoint or None, config=config)
    except (BotoCoreError, ValueError) as error:
        raise UsageError(f"upload: {_first_line(error)}") from None


@cache
def _service_models() -> Any:
    """The library's model of S3: megabytes of JSON, loaded once for all clients."""
    return botocore.loaders.create_loader()


def _settings(section: UploadConfig) -> Config:
    """No retries, which are the caller's, and no checksums that some compatible storages lack."""
    return Config(
        connect_timeout=section.timeout,
        read_timeout=section.timeout,
        retries={"total_max_attempts": 1, "mode": "standard"},
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
        s3={"addressing_style": "path"} if section.s3_endpoint else None,
    )


def _check_endpoint(url: str) -> None:
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
                "upload.s3_endpoint must be only https://host:port: set keys with upload.s3_access_key and "
                "upload.s3_secret_key"
            )
    if not is_valid:
        raise UsageError(f"upload.s3_endpoint must be a URL like https://s3.example.com, not {mask_password(url)!r}")


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:300]
