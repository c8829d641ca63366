"""Fetch failures: their codes, whether a retry may help, their sentences, and how exceptions become failures."""

import csv
import re
import socket
import ssl
import sys
from datetime import UTC, datetime
from enum import StrEnum
from importlib.resources import files
from typing import Final

from crawler.model import Failure


class FailureCode(StrEnum):
    """Stable codes. The trails of requests in the stored state contain them, so their meaning never changes."""

    DNS_NXDOMAIN = "net.dns_nxdomain"
    DNS_TEMPORARY = "net.dns_temporary"
    REFUSED = "net.refused"
    UNREACHABLE = "net.unreachable"
    RESET = "net.reset"
    PROXY = "net.proxy"
    TIME_CONNECT = "time.connect"
    TIME_TLS = "time.tls"
    TIME_FIRST_BYTE = "time.first_byte"
    TIME_IDLE = "time.idle"
    TIME_TOO_SLOW = "time.too_slow"
    TIME_TOTAL = "time.total_deadline"
    TLS_EXPIRED = "tls.expired"
    TLS_HOSTNAME = "tls.hostname"
    TLS_AUTHORITY = "tls.authority"
    TLS_UNTRUSTED = "tls.untrusted"
    TLS_PROTOCOL = "tls.protocol"
    BAD_RESPONSE = "http.bad_response"
    HEADER_TOO_LARGE = "http.header_too_large"
    BODY_INCOMPLETE = "body.incomplete"
    BODY_TRUNCATED = "body.decode_truncated"
    BODY_DECODE_ERROR = "body.decode_error"
    BODY_BOMB = "body.bomb"
    BODY_IN_CRUMBS = "body.in_crumbs"
    BODY_TOO_MANY_CODINGS = "body.too_many_codings"
    BODY_UNKNOWN_CODING = "body.unknown_coding"
    BODY_TOO_LARGE = "body.too_large"
    PRIVATE_ADDRESS = "policy.private_address"
    BECAME_PRIVATE = "policy.became_private"
    BLOCKED_PORT = "policy.blocked_port"
    METADATA_ADDRESS = "policy.metadata_address"
    OPTIONS = "internal.options"
    INTERNAL = "internal.error"

    @property
    def is_transient(self) -> bool:
        """Whether a retry may help."""
        return _TABLE[self]["again"] == "yes"

    @property
    def sentence(self) -> str:
        """What it says, with ``{host}`` for the host."""
        return _TABLE[self]["sentence"]


_ROWS: Final = csv.DictReader((files("crawler.fetch") / "failures.csv").read_text(encoding="utf-8").splitlines())
_TABLE: Final = {FailureCode(row["code"]): row for row in _ROWS}
"""The rows of ``failures.csv``, with parts of messages of hyper, rustls, reqwest, httpcore and h11, in lower case."""


PART_ONLY: Final = "only a part of the page arrived"
SAYS_NOTHING: Final = (
    PART_ONLY,
    *(
        max(code.sentence.partition(";")[0].split("{host}"), key=len)
        for code in FailureCode
        if code.startswith("policy.") or (code.startswith("body.") and not code.is_transient)
    ),
)
"""Parts of the reasons of failures that a limit of the crawl causes: they say nothing about the page."""


class FetchError(Exception):
    """A fetch failed for a known reason. Inside :mod:`crawler.fetch` only: it becomes a ``Failure``."""

    def __init__(self, code: FailureCode, detail: str = "") -> None:
        super().__init__(code, detail)
        self.code = code
        self.detail = detail


def failure(code: FailureCode, host: str, detail: str = "", elapsed: float = 0.0) -> Failure:
    """The failure at ``host``; ``detail`` follows the sentence of the code in brackets."""
    message = code.sentence.format(host=host)
    if detail:
        message = f"{message} ({detail})"
    return Failure(code=code.value, message=message, transient=code.is_transient, elapsed=elapsed)


# OpenSSL's X509_V_ERR_* numbers
_CERT_EXPIRED = 10
_CERT_WRONG_HOST = frozenset((62, 64))
_RUST_NAME: Final = re.compile(r"(?:\w+\()*([A-Z]\w*)\)*").fullmatch
_NOT_AFTER = re.compile(r"not valid after (\d+)")

_MESSAGE_WORDS: Final = [(code, row["words"].split("|")) for code, row in _TABLE.items() if row["words"]]
"""The first match decides."""

_IN_BODY = {FailureCode.RESET: FailureCode.BODY_INCOMPLETE, FailureCode.TIME_FIRST_BYTE: FailureCode.TIME_IDLE}


_NO_SUCH_NAME = frozenset(
    number for number in (getattr(socket, name, None) for name in ("EAI_NONAME", "EAI_NODATA")) if number is not None
)


def diagnose_lookup(error: OSError) -> FetchError:
    """The failure for an error of a resolver: the name does not exist, or DNS fails for now (RFC 3493, 6.1)."""
    gone = isinstance(error, socket.gaierror) and error.errno in _NO_SUCH_NAME
    return FetchError(FailureCode.DNS_NXDOMAIN if gone else FailureCode.DNS_TEMPORARY)


def diagnose(error: Exception, *, tls: bool, in_body: bool) -> FetchError:
    """The failure for an exception of a transport.

    ``tls``: the origin is https. ``in_body``: the head of the answer had arrived. The class of an httpx exception may
    give ``http.bad_response`` or ``net.reset``; any other unknown exception is ``internal.error``.
    """
    if isinstance(error, FetchError):
        return error
    causes = _causes(error)
    code, detail = _by_class(causes) or _by_words(causes) or _by_exception(error, tls=tls)
    if in_body:
        code = _IN_BODY.get(code, code)
    return FetchError(code, detail)


def _causes(error: BaseException) -> list[BaseException]:
    causes: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and len(causes) < 10:
        causes.append(cause)
        inner = cause.exceptions[0] if isinstance(cause, BaseExceptionGroup) else cause.__cause__
        cause = inner or cause.__context__  # anyio suppresses contexts that are needed here
    return causes


def _by_class(causes: list[BaseException]) -> tuple[FailureCode, str] | None:
    for cause in causes:
        match cause:
            case ssl.SSLCertVerificationError(verify_code=number):
                if number == _CERT_EXPIRED:
                    return FailureCode.TLS_EXPIRED, ""
                code = FailureCode.TLS_HOSTNAME if number in _CERT_WRONG_HOST else FailureCode.TLS_UNTRUSTED
                return code, str(getattr(cause, "verify_message", ""))
            case ssl.SSLWantReadError() | ssl.SSLWantWriteError() | TimeoutError():
                pass
            case ssl.SSLEOFError() | ssl.SSLZeroReturnError():
                return FailureCode.RESET, ""
            case ssl.SSLError():
                return FailureCode.TLS_PROTOCOL, str(cause.reason or "").replace("_", " ").lower()
            case socket.gaierror():
                return diagnose_lookup(cause).code, ""
            case ConnectionRefusedError():
                return FailureCode.REFUSED, ""
            case ConnectionError():
                return FailureCode.RESET, ""
            case _:
                pass
    return None


def _by_words(causes: list[BaseException]) -> tuple[FailureCode, str] | None:
    message = " ".join(str(cause) for cause in causes if not isinstance(cause, BaseExceptionGroup)).lower()
    for code, words in _MESSAGE_WORDS:
        if any(word in message for word in words):
            return code, _detail(code, causes)
    return None


def _detail(code: FailureCode, causes: list[BaseException]) -> str:
    text = str(causes[0])
    if code is FailureCode.TLS_EXPIRED and (match := _NOT_AFTER.search(text)):
        return f"expired on {datetime.fromtimestamp(int(match[1]), UTC):%Y-%m-%d %H:%M} UTC"
    if code in (FailureCode.TLS_HOSTNAME, FailureCode.TLS_UNTRUSTED, FailureCode.TLS_PROTOCOL):
        text = text.rpartition("certificate: ")[2].rpartition("(Connect): ")[2]
        # rustls names some reasons as its code does: Other(OtherError(CaUsedAsEndEntity))
        return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", named[1]).lower() if (named := _RUST_NAME(text)) else text[:200]
    return ""


def _by_exception(error: Exception, *, tls: bool) -> tuple[FailureCode, str]:
    if "httpx" in sys.modules:  # else it is none of its exceptions, and loading may fail for the same reason
        import httpx  # noqa: PLC0415

        match error:
            case httpx.ConnectTimeout():
                # Both transports say "timed out" when TCP is connected and the handshake does not end.
                return (FailureCode.TIME_TLS if tls and "timed out" in str(error) else FailureCode.TIME_CONNECT), ""
            case httpx.TimeoutException():
                return FailureCode.TIME_FIRST_BYTE, ""
            case httpx.ProxyError():
                return FailureCode.PROXY, ""
            case httpx.RemoteProtocolError():
                return FailureCode.BAD_RESPONSE, _clean_detail(str(error))
            case httpx.NetworkError():
                return FailureCode.RESET, _clean_detail(str(error))
    if isinstance(error, OSError):
        return FailureCode.RESET, _clean_detail(str(error))
    return FailureCode.INTERNAL, _clean_detail(f"{type(error).__name__}: {error}")


def _clean_detail(text: str) -> str:
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text[:200])
