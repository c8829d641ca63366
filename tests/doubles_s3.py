"""A double of S3 on the loopback address: what clients of one bucket need, and every kind of trouble on demand.

Written from the API reference: https://docs.aws.amazon.com/AmazonS3/latest/API/Welcome.html
"""

import base64
import contextlib
import hashlib
import os
import re
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, quote, unquote, urlsplit
from xml.sax.saxutils import escape

BUCKET, ACCESS, SECRET = "shop", "AKIDEXAMPLE", "a very secret key"

# https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html: the codes that the operations used here can get
FINAL = {
    301: "PermanentRedirect",
    307: "TemporaryRedirect",
    400: "AuthorizationHeaderMalformed AuthorizationQueryParametersError BucketAlreadyExists "
    "CredentialsNotSupported EntityTooLarge EntityTooSmall ExpiredToken IllegalLocationConstraintException "
    "IllegalVersioningConfigurationException InvalidArgument InvalidBucketName InvalidDigest "
    "InvalidEncryptionAlgorithmError InvalidLocationConstraint InvalidRequest InvalidStorageClass "
    "InvalidTargetBucketForLogging InvalidToken InvalidURI KeyTooLongError KMS.DisabledException KMS.NotFoundException "
    "MalformedXML MetadataTooLarge MissingAttachment MissingSecurityElement RequestIsNotMultiPartContent "
    "TokenRefreshRequired TokenCodeInvalidError UnresolvableGrantByEmailAddress UserKeyMustBeSpecified",
    401: "Unauthorized",
    403: "AccessDenied AccountProblem AllAccessDisabled InvalidAccessKeyId InvalidObjectState InvalidPayer "
    "InvalidSecurity NotSignedUp RequestTimeTooSkewed SignatureDoesNotMatch QuotaExceeded",
    404: "NoSuchBucket NoSuchKey NoSuchUpload NoSuchVersion",
    405: "MethodNotAllowed",
    409: "BucketNotEmpty InvalidBucketState",
    411: "MissingContentLength",
    412: "PreconditionFailed",
    501: "NotImplemented501",
    507: "XMinioStorageFull",
}
PASSING = {
    400: "BadDigest IncompleteBody RequestTimeout",
    408: "RequestTimeout",
    409: "OperationAborted ConditionalRequestConflict",
    429: "TooManyRequests SlowDown",
    500: "InternalError",
    502: "BadGateway",
    503: "SlowDown ServiceUnavailable Busy",
    504: "GatewayTimeout",
}


@dataclass(frozen=True)
class Stored:
    """An object: its bytes, its ETag and the headers that it was put with."""

    body: bytes
    etag: str
    headers: dict[str, str]


@dataclass(frozen=True)
class Asked:
    """A request that was answered: what the bucket held after it, and the status, 0 for no answer."""

    method: str
    key: str
    status: int
    after: dict[str, Stored]
    query: dict[str, list[str]]


@dataclass(frozen=True)
class Fault:
    """What is done instead of answering. ``kind`` is one of those that :meth:`_Handler.fail` knows."""

    kind: str
    status: int = 500
    code: str = ""
    body: bytes = b""
    seconds: float = 0.0
    headers: dict[str, str] = field(default_factory=dict)


class Bucket:
    """What the endpoint holds, what it was asked, and which faults it has. ``fault`` is asked before each request."""

    def __init__(self) -> None:
        self.objects: dict[str, Stored] = {}
        self.parts: dict[str, dict[int, bytes]] = {}  # of unfinished uploads
        self.log: list[Asked] = []
        self.page = 1000
        self.kms = False
        self.fault: Callable[[str, str, int], Fault | None] = lambda method, key, number: None
        self.victim = -1
        self.armed = threading.Event()
        self.lock = threading.RLock()
        self.url = ""
        self.count = 0
        self.endless = 0  # bytes of endless answers

    def put(self, key: str, body: bytes, **headers: str) -> None:
        """What somebody else put there."""
        self.objects[key] = Stored(body, hashlib.md5(body).hexdigest(), headers)

    def asked(self, method: str) -> list[str]:
        """The keys of requests of a method, in order."""
        return [asked.key for asked in self.log if asked.method == method]

    def fails(self, method: str, *faults: Fault | None, key: str = "") -> None:
        """The next requests of a method, for a key if it is given, have these faults, one after the other."""
        waiting = list(faults)

        def fault(asked: str, of: str, _: int) -> Fault | None:
            return waiting.pop(0) if waiting and asked == method and (not key or of == key) else None

        self.fault = fault

    def always(self, method: str, fault: Fault) -> None:
        """All requests of a method have this fault."""
        self.fault = lambda asked, key, number: fault if asked == method else None


@contextmanager
def s3_double() -> Iterator[Bucket]:
    bucket = Bucket()

    class Handler(_Handler):
        held = bucket

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    bucket.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield bucket
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    held: Bucket
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_: object) -> None:
        pass

    def handle(self) -> None:
        try:
            super().handle()
        except (ConnectionError, TimeoutError):
            self.close_connection = True

    def do_GET(self) -> None:
        self.serve()

    do_HEAD = do_PUT = do_DELETE = do_POST = do_GET  # noqa: N815 - as the base class calls them

    def serve(self) -> None:
        split = urlsplit(self.path)
        bucket, _, key = unquote(split.path).lstrip("/").partition("/")
        self.query = parse_qs(split.query, keep_blank_values=True)
        method = "LIST" if self.command == "GET" and not key else self.command
        with self.held.lock:
            number = self.held.count
            self.held.count += 1
            fault = self.held.fault(method, key, number)
        if fault and fault.kind == "kill before":
            self.kill()
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if fault and fault.kind not in ("cut after", "kill after"):
            self.fail(fault, method, key)
            return
        with self.held.lock:
            status, answer, headers = self.answer(bucket, method, key, body)
            shown = 0 if fault else status
            self.held.log.append(Asked(method, key, shown, dict(self.held.objects), self.query))
        if fault and fault.kind == "kill after":
            self.kill()
        if fault:
            self.cut()
            return
        self.tell(status, answer, headers)

    def answer(self, bucket: str, method: str, key: str, body: bytes) -> tuple[int, bytes, dict[str, str]]:
        if f"Credential={ACCESS}/" not in self.headers.get("Authorization", ""):
            return self.refusal(403, "InvalidAccessKeyId")
        if bucket != BUCKET:
            return self.refusal(404, "NoSuchBucket")
        if method == "LIST":
            return self.listing()
        if "uploads" in self.query or "uploadId" in self.query:
            return self.in_parts(method, key, body)
        if method == "PUT":
            return self.take(key, body)
        if method == "DELETE":
            self.held.objects.pop(key, None)
            return 204, b"", {}
        if (stored := self.held.objects.get(key)) is None:
            return self.refusal(404, "NoSuchKey")
        return 200, stored.body, {**stored.headers, "ETag": f'"{stored.etag}"'}

    def take(self, key: str, body: bytes) -> tuple[int, bytes, dict[str, str]]:
        given = self.headers.get("Content-MD5")
        if given is None or given != base64.b64encode(hashlib.md5(body).digest()).decode():
            return self.refusal(400, "BadDigest")
        signed = self.headers.get("x-amz-content-sha256", "")
        if re.fullmatch("[0-9a-f]{64}", signed) and signed != hashlib.sha256(body).hexdigest():
            return self.refusal(400, "XAmzContentSHA256Mismatch")
        if "x-amz-acl" in self.headers or "x-amz-checksum-crc32" in self.headers:
            return self.refusal(501, "NotImplemented")
        kept = {
            name: value
            for name, value in self.headers.items()
            if name.lower() in ("content-type", "cache-control", "content-encoding")
            or name.lower().startswith("x-amz-meta-")
        }
        etag = hashlib.md5(body + (os.urandom(4) if self.held.kms else b"")).hexdigest()
        if self.held.kms:
            kept["x-amz-server-side-encryption"] = "aws:kms"
        self.held.objects[key] = Stored(body, etag, kept)
        return 200, b"", {"ETag": f'"{etag}"'}

    def in_parts(self, method: str, key: str, body: bytes) -> tuple[int, bytes, dict[str, str]]:
        """https://docs.aws.amazon.com/AmazonS3/latest/userguide/mpuoverview.html"""
        xml = {"Content-Type": "application/xml"}
        if "uploads" in self.query:
            upload = f"upload-{len(self.held.parts) + 1}"
            self.held.parts[upload] = {}
            told = f"<InitiateMultipartUploadResult><UploadId>{upload}</UploadId></InitiateMultipartUploadResult>"
            return 200, told.encode(), xml
        upload = self.asked("uploadId")
        if (parts := self.held.parts.get(upload)) is None:
            return self.refusal(404, "NoSuchUpload")
        if method == "PUT":
            if self.headers.get("x-amz-content-sha256") != hashlib.sha256(body).hexdigest():
                return self.refusal(400, "XAmzContentSHA256Mismatch")
            parts[int(self.asked("partNumber"))] = body
            return 200, b"", {"ETag": f'"{hashlib.md5(body).hexdigest()}"'}
        del self.held.parts[upload]
        if method == "DELETE":
            return 204, b"", {}
        named = [int(number) for number in re.findall(rb"<PartNumber>(\d+)", body)]
        if named != sorted(parts):
            return self.refusal(400, "InvalidPart")
        whole = b"".join(parts[number] for number in named)
        etag = f"{hashlib.md5(whole).hexdigest()}-{len(named)}"
        self.held.objects[key] = Stored(whole, etag, {})
        told = f"<CompleteMultipartUploadResult><ETag>{etag}</ETag></CompleteMultipartUploadResult>"
        return 200, told.encode(), xml

    def listing(self) -> tuple[int, bytes, dict[str, str]]:
        prefix, after = self.asked("prefix"), self.asked("continuation-token") or self.asked("start-after")
        delimiter = self.asked("delimiter")
        names = sorted(key for key in self.held.objects if key.startswith(prefix) and key > after)
        names = [key for key in names if not delimiter or delimiter not in key[len(prefix) :]]
        shown = names[: min(self.held.page, int(self.asked("max-keys") or 1000))]
        told = "".join(
            f"<Contents><Key>{escape(quote(key))}</Key><ETag>&quot;{self.held.objects[key].etag}&quot;</ETag>"
            f"<Size>{len(self.held.objects[key].body)}</Size></Contents>"
            for key in shown
        )
        more = f"<NextContinuationToken>{escape(shown[-1])}</NextContinuationToken>" if len(names) > len(shown) else ""
        answer = (
            '<?xml version="1.0" encoding="UTF-8"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
            f"<Name>{BUCKET}</Name><EncodingType>url</EncodingType><KeyCount>{len(shown)}</KeyCount>"
            f"<IsTruncated>{'true' if more else 'false'}</IsTruncated>{more}{told}</ListBucketResult>"
        )
        return 200, answer.encode(), {"Content-Type": "application/xml"}

    def asked(self, name: str) -> str:
        return self.query.get(name, [""])[0]

    def refusal(self, status: int, code: str) -> tuple[int, bytes, dict[str, str]]:
        text = f"<Error><Code>{code}</Code><Message>no: {SECRET}\n&#9;</Message><RequestId>1</RequestId></Error>"
        return status, text.encode(), {"Content-Type": "application/xml"}

    def fail(self, fault: Fault, method: str, key: str) -> None:
        with self.held.lock:
            self.held.log.append(Asked(method, key, fault.status, dict(self.held.objects), self.query))
        if fault.kind == "slow":
            time.sleep(fault.seconds)
        elif fault.kind == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        if fault.kind == "error":
            status, body, headers = self.refusal(fault.status, fault.code)
            self.tell(status, body, {**headers, **fault.headers})
        elif fault.kind == "garbage":
            self.tell(fault.status, fault.body, {"Content-Type": "text/html"})
        elif fault.kind == "endless":
            self.wfile.write(b"HTTP/1.1 %d OK\r\nTransfer-Encoding: chunked\r\n\r\n" % fault.status)
            with contextlib.suppress(OSError):
                while time.sleep(fault.seconds) is None:  # type: ignore[func-returns-value]
                    self.wfile.write(b"%x\r\n%b\r\n" % (len(fault.body), fault.body))
                    self.held.endless += len(fault.body)
            self.cut()
        elif fault.kind == "raw":
            self.wfile.write(fault.body)
            self.cut()
        else:
            self.cut()

    def tell(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD" and status != 204:
            self.wfile.write(body)

    def cut(self) -> None:
        self.close_connection = True
        self.connection.close()

    def kill(self) -> None:
        """Kill the process that asks, once it is known which that is."""
        if not self.held.armed.wait(20):
            return
        os.kill(self.held.victim, signal.SIGKILL)


def there(bucket: Bucket) -> dict[str, bytes]:
    """The files below ``maps/``."""
    return {key.removeprefix("maps/"): stored.body for key, stored in bucket.objects.items()}
