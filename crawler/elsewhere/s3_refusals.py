"""What it means when an S3 endpoint does not do what it was asked: one sentence with the remedy, and no secrets.

https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html
"""

import re
from typing import Any, Final

from botocore import exceptions as boto
from botocore.parsers import ResponseParserError

from crawler.elsewhere.place import NotTaken

_KEYS: Final = "upload.s3_access_key and upload.s3_secret_key, or what AWS tools use"
_RIGHTS: Final = "s3:PutObject, s3:GetObject, s3:DeleteObject and s3:ListBucket"
_REGION: Final = "the bucket {bucket} is in another region{region}: set upload.s3_region"
_DENIED: Final = f"it does not allow {{act}}: the keys need {_RIGHTS} for the bucket {{bucket}}"
_FULL: Final = "the storage is full or its quota used up: make room there"
_BUSY: Final = "it is busy or in trouble ({code})"

_FINAL: Final = {
    "NoSuchBucket": "there is no bucket {bucket}: create it, or correct upload.to",
    "404": "there is no bucket {bucket}, or it is not an S3 endpoint: correct upload.to or upload.s3_endpoint",
    "InvalidBucketName": "it cannot have a bucket {bucket}: correct upload.to",
    "AccessDenied": _DENIED,
    "403": _DENIED,
    "AllAccessDisabled": "access to the bucket {bucket} is disabled: ask whoever runs the storage",
    "AccountProblem": "there is a problem with the account: ask whoever runs the storage",
    "NotSignedUp": "the account is not signed up for this storage",
    "InvalidAccessKeyId": f"it does not know the access key: correct {_KEYS}",
    "SignatureDoesNotMatch": f"the secret key is not that of the access key: correct {_KEYS}",
    "401": f"it does not accept the keys: correct {_KEYS}",
    "Unauthorized": f"it does not accept the keys: correct {_KEYS}",
    "ExpiredToken": "the session token has expired: get new credentials",
    "TokenRefreshRequired": "the session token has expired: get new credentials",
    "InvalidToken": f"it does not accept the session token: correct {_KEYS}",
    "RequestTimeTooSkewed": "the clock of this machine differs too much from that of the storage: set it",
    "PermanentRedirect": _REGION,
    "TemporaryRedirect": _REGION,
    "AuthorizationHeaderMalformed": _REGION,
    "IllegalLocationConstraintException": _REGION,
    "301": _REGION,
    "302": _REGION,
    "307": _REGION,
    "EntityTooLarge": "it takes no files of that size: set output.max_bytes",
    "QuotaExceeded": _FULL,
    "XMinioStorageFull": _FULL,
    "507": _FULL,
    "InvalidObjectState": "the object is archived: remove it from there",
    "MethodNotAllowed": "it does not allow {act}: is upload.s3_endpoint an S3 endpoint?",
    "405": "it does not allow {act}: is upload.s3_endpoint an S3 endpoint?",
}
_PASSING: Final = {
    "BadDigest": "what arrived is not what was sent: the file was damaged on the way",
    "IncompleteBody": "the connection ended before the whole file had arrived",
    "RequestTimeout": "the file did not arrive there in time",
    "OperationAborted": "another change of the same file is under way there",
    "ConditionalRequestConflict": "another change of the same file is under way there",
}
_word = re.compile(r"[A-Za-z0-9.-]{0,60}").fullmatch
_BUSY_CODES: Final = frozenset({
    "SlowDown", "ServiceUnavailable", "InternalError", "Throttling", "ThrottlingException", "RequestLimitExceeded",
    "RequestThrottled", "TooManyRequests", "BandwidthLimitExceeded", "ServerBusy",
})  # fmt: skip

_Kinds = type[Exception] | tuple[type[Exception], ...]

# Of what is no answer: the first that fits says what it means, and whether another try may help.
_MEANINGS: Final[tuple[tuple[_Kinds, str, bool], ...]] = (
    (
        (boto.NoCredentialsError, boto.PartialCredentialsError, boto.CredentialRetrievalError),
        f"there are no keys to sign in with: set {_KEYS}",
        False,
    ),
    (
        boto.SSLError,
        "its TLS certificate is not trusted: is upload.s3_endpoint right? AWS_CA_BUNDLE names other authorities",
        False,
    ),
    (
        (boto.ConnectTimeoutError, boto.ReadTimeoutError),
        "it did not answer in time when asked for {act} (upload.upload_timeout)",
        True,
    ),
    (boto.ProxyConnectionError, "the proxy that the environment names cannot be reached", True),
    (boto.EndpointConnectionError, "it cannot be reached", True),
    (
        (boto.ParamValidationError, boto.InvalidEndpointConfigurationError, boto.UnknownEndpointError),
        "the library cannot ask for that: correct upload.to, upload.s3_region or upload.s3_endpoint",
        False,
    ),
    (
        (ResponseParserError, LookupError, ValueError, TypeError, AttributeError),
        "its answer to {act} is none of an S3 storage: is upload.s3_endpoint right?",
        True,
    ),
)


def explained(error: Exception, act: str, bucket: str) -> NotTaken:
    """The refusal that an exception of the library means; ``act`` is what was asked: "putting sitemap.xml there"."""
    if isinstance(error, NotTaken):
        return error
    if isinstance(error, boto.ClientError):
        return _answered(error.response, act, bucket)
    return _unanswered(error, act)


def _answered(response: dict[str, Any], act: str, bucket: str) -> NotTaken:
    told, meta = response.get("Error", {}), response.get("ResponseMetadata", {})
    status = int(meta.get("HTTPStatusCode") or 0)
    code = _plain(str(told.get("Code") or status))
    named = _plain(str(meta.get("HTTPHeaders", {}).get("x-amz-bucket-region") or told.get("Region") or ""))
    about = {"act": act, "bucket": bucket, "code": code, "region": f" ({named})" if named else ""}
    if code in _PASSING:
        return NotTaken(_PASSING[code], again=True)
    if code in _BUSY_CODES or (
        status in (408, 429) or (status >= 500 and status != 507 and code not in _FINAL)
    ):
        hint = ", or upload.s3_endpoint is no S3 endpoint" if code.isdecimal() else ""
        return NotTaken(_BUSY.format_map(about) + hint, again=True)
    if code.startswith("KMS."):
        return NotTaken(
            f"the key that encrypts the bucket {bucket} cannot be used ({code}): look at it in AWS KMS"
        )
    sentence = _FINAL.get(code) or _FINAL.get(str(status))
    if sentence:
        return NotTaken(sentence.format_map(about))
    return NotTaken(
        f"it refuses {act} ({code}, HTTP {status})"
    )  # not what it says: who knows what that repeats


def _unanswered(error: Exception, act: str) -> NotTaken:
    _, sentence, again = next(
        (meaning for meaning in _MEANINGS if isinstance(error, meaning[0])),
        (Exception, "the connection was cut in the middle of {act}", True),
    )
    return NotTaken(sentence.format(act=act), again=again)


def _plain(text: str) -> str:
    """A word that the other side wrote, if it is one."""
    return text if _word(text) else "no code"
