"""One bucket of S3 or a compatible storage, by boto3: keys, endpoint, requests, and errors with a remedy."""

import logging
import re
from collections.abc import Callable
from functools import cache
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

import anyio.to_thread
import boto3
import botocore.session
from botocore import exceptions as boto
from botocore.config import Config
from botocore.exceptions import BotoCoreError
from botocore.parsers import ResponseParserError
from msgspec import Struct
from msgspec.structs import asdict

from crawler.config.secrets import mask_password, reveal_secret
from crawler.errors import UsageError
from crawler.publish.upload.target import UploadError

T = TypeVar("T")

_KEYS: Final = "{section}.s3_access_key and {section}.s3_secret_key, or the settings of the AWS tools"
_PERMISSIONS: Final = "s3:PutObject, s3:GetObject, s3:DeleteObject and s3:ListBucket"
_REGION: Final = "the bucket {bucket} is in another region{region}: set {section}.s3_region"
_DENIED: Final = f"it does not allow {{act}}: the keys need {_PERMISSIONS} for the bucket {{bucket}}"
_FULL: Final = "the storage is full or its quota is used up: free some space there"
_BUSY: Final = "it is busy or failed ({code})"


_PERMANENT_ERRORS: Final = {
    "NoSuchBucket": "the bucket {bucket} does not exist: create it, or correct {section}.{to}",
    "404": "the bucket {bucket} does not exist, or it is not an S3 endpoint: correct {section}.{to} or "
    "{section}.s3_endpoint",
    "InvalidBucketName": "{bucket} is not a valid name of a bucket there: correct {section}.{to}",
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
    "EntityTooLarge": "it does not accept files of this size: {smaller}",
    "QuotaExceeded": _FULL,
    "XMinioStorageFull": _FULL,
    "507": _FULL,
    "InvalidObjectState": "the object is archived: remove it from there",
    "MethodNotAllowed": "it does not allow {act}: check that {section}.s3_endpoint is an S3 endpoint",
    "405": "it does not allow {act}: check that {section}.s3_endpoint is an S3 endpoint",
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
    (boto.SSLError, "its TLS certificate is not trusted: check {section}.s3_endpoint, or set AWS_CA_BUNDLE", False),
    (
        (boto.ConnectTimeoutError, boto.ReadTimeoutError),
        "it did not respond to {act} in time ({section}.{timeout})",
        True,
    ),
    (boto.ProxyConnectionError, "the proxy in the environment variables cannot be reached", True),
    (boto.EndpointConnectionError, "it cannot be reached", True),
    (
        (boto.ParamValidationError, boto.InvalidEndpointConfigurationError, boto.UnknownEndpointError),
        "the S3 library cannot make this request: correct {section}.{to}, {section}.s3_region or {section}.s3_endpoint",
        False,
    ),
    (
        (ResponseParserError, LookupError, ValueError, TypeError, AttributeError),
        "its response to {act} is not valid S3: check {section}.s3_endpoint",
        True,
    ),
)


def _plain_word(text: str) -> str:
    """A code from the server, or "no code" when it is no plain word."""
    return text if _word(text) else "no code"


class S3Settings(Struct, frozen=True, kw_only=True):
    """How to reach a storage. The keys may be references to secrets; "" means the settings of the AWS tools.

    ``timeout`` is in seconds; ``named`` says what messages call the settings.
    """

    endpoint: str = ""
    region: str = ""
    access_key: str = ""
    secret_key: str = ""
    timeout: float = 60.0
    named: "SettingNames"


class SettingNames(Struct, frozen=True):
    """The section, and in it the address and the timeout; ``smaller`` is the remedy for a file that is too large."""

    section: str
    to: str
    timeout: str
    smaller: str


class S3Bucket:
    """A bucket. Nothing is sent before the first :meth:`call`. Raises UsageError for invalid settings."""

    def __init__(self, name: str, settings: S3Settings) -> None:
        logging.getLogger("botocore").setLevel(logging.WARNING)  # its debug log shows session tokens
        self.name = name
        self._settings = settings
        self._client: Any = None
        _check_settings(settings)

    async def call(self, act: str, send: Callable[[Any], T]) -> T:
        """Call ``send`` with the client, in a thread. Raises UploadError, whose sentence names the ``act``."""
        if self._client is None:
            self._client = _build_client(self._settings, _signing_keys(self._settings), _client_config(self._settings))
        try:
            return await anyio.to_thread.run_sync(self._send, send)
        except Exception as error:  # noqa: BLE001 - the library fails in many ways on garbage; no error may show the request
            raise self._error(error, act) from None

    def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            self._client.close()

    def _send(self, send: Callable[[Any], T]) -> T:
        return send(self._client)

    def _error(self, error: Exception, act: str) -> UploadError:
        if isinstance(error, UploadError):
            return error
        if isinstance(error, boto.ClientError):
            return self._response_error(error.response, act)
        _, sentence, again = next(
            (meaning for meaning in _S3_ERROR_TEXTS if isinstance(error, meaning[0])),
            (Exception, "the connection was cut in the middle of {act}", True),
        )
        return UploadError(sentence.format(act=act, **asdict(self._settings.named)), again=again)

    def _response_error(self, response: dict[str, Any], act: str) -> UploadError:
        details, meta = response.get("Error", {}), response.get("ResponseMetadata", {})
        status = int(meta.get("HTTPStatusCode") or 0)
        code = _plain_word(str(details.get("Code") or status))
        region = _plain_word(str(meta.get("HTTPHeaders", {}).get("x-amz-bucket-region") or details.get("Region") or ""))
        named = asdict(self._settings.named)
        values = {"act": act, "bucket": self.name, "code": code, "region": f" ({region})" if region else "", **named}
        if code in _TRANSIENT_ERRORS:
            return UploadError(_TRANSIENT_ERRORS[code], again=True)
        if code in _BUSY_CODES or (
            status in (408, 429) or (status >= 500 and status != 507 and code not in _PERMANENT_ERRORS)
        ):
            hint = ", or {section}.s3_endpoint is not an S3 endpoint" if code.isdecimal() else ""
            return UploadError((_BUSY + hint).format_map(values), again=True)
        if code.startswith("KMS."):
            return UploadError(
                f"the key that encrypts the bucket {self.name} cannot be used ({code}): check the key in AWS KMS"
            )
        sentence = _PERMANENT_ERRORS.get(code) or _PERMANENT_ERRORS.get(str(status))
        if sentence:
            return UploadError(sentence.format_map(values))
        # without the server's message, which may repeat a secret
        return UploadError(f"it refuses {act} ({code}, HTTP {status})")


def is_missing(error: Exception) -> bool:
    """Whether an error of the client says that there is no such object."""
    return isinstance(error, boto.ClientError) and str(error.response.get("Error", {}).get("Code")) in _MISSING


_MISSING: Final = ("404", "NoSuchKey", "NotFound")


def _signing_keys(settings: S3Settings) -> tuple[str, str]:
    """The configured keys, "" for those of the AWS tools. Raises UsageError."""
    access, secret = reveal_secret(settings.access_key), reveal_secret(settings.secret_key)
    if bool(access) != bool(secret):
        section = settings.named.section
        raise UsageError(f"{section}.s3_access_key and {section}.s3_secret_key go together: set both, or none")
    return access, secret


def _check_settings(settings: S3Settings) -> None:
    """Check the endpoint and the keys. Raises UsageError."""
    keys = _signing_keys(settings)
    _check_endpoint(settings)
    if any(keys):
        _check_client(S3Settings(endpoint=settings.endpoint, region=settings.region, named=settings.named))
    else:
        _build_client(settings, keys, Config()).close()


@cache
def _check_client(settings: S3Settings) -> None:
    """Raises UsageError. Cached, because it is slow and many sites of a schedule share a target."""
    _build_client(settings, ("some", "keys"), Config()).close()


def _build_client(settings: S3Settings, keys: tuple[str, str], config: Config) -> Any:
    """The client. Raises UsageError."""
    access, secret = keys
    section = settings.named.section
    try:
        core = botocore.session.Session()
        core.register_component("data_loader", _service_models())
        session = boto3.session.Session(access or None, secret or None, None, settings.region or None, core)
        if session.get_credentials() is None:
            raise UsageError(
                f"there are no keys for S3: set {section}.s3_access_key and {section}.s3_secret_key, or configure the "
                "AWS tools"
            )
        return session.client("s3", endpoint_url=settings.endpoint or None, config=config)
    except (BotoCoreError, ValueError) as error:
        raise UsageError(f"{section}: {_first_line(error)}") from None


@cache
def _service_models() -> Any:
    """The library's model of S3: megabytes of JSON, loaded once for all clients."""
    return botocore.loaders.create_loader()


def _client_config(settings: S3Settings) -> Config:
    """No retries, which are the caller's, and no checksums that some compatible storages lack."""
    return Config(
        connect_timeout=settings.timeout,
        read_timeout=settings.timeout,
        retries={"total_max_attempts": 1, "mode": "standard"},
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
        s3={"addressing_style": "path"} if settings.endpoint else None,
    )


def _check_endpoint(settings: S3Settings) -> None:
    url, section = settings.endpoint, settings.named.section
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
                f"{section}.s3_endpoint must be only https://host:port: set keys with {section}.s3_access_key and "
                f"{section}.s3_secret_key"
            )
    if not is_valid:
        raise UsageError(f"{section}.s3_endpoint must be a URL like https://s3.example.com, not {mask_password(url)!r}")


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:300]
