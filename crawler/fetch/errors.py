"""Fetch failures: their codes, whether a retry may help, their sentences, and how exceptions become failures."""

import re
import socket
import ssl
import sys
from datetime import UTC, datetime
from enum import StrEnum
from typing import Self

from crawler.model import Failure


class FailureCode(StrEnum):
    """Stable reason codes. Reports and stored state contain them, so their meaning never changes.

    Each has ``is_transient``, whether a retry may help, and its ``sentence``, in which ``{host}`` is the host.
    """

    is_transient: bool
    sentence: str

    def __new__(cls, code: str, is_transient: bool = False, sentence: str = "") -> Self:
        """A member from one row of the table."""
        member = str.__new__(cls, code)
        member._value_ = code
        member.is_transient = is_transient
        member.sentence = sentence
        return member

    DNS_NXDOMAIN = (
        "net.dns_nxdomain",
        False,
        "the host name {host} does not exist; check its spelling and its DNS records",
    )
    DNS_TEMPORARY = "net.dns_temporary", True, "the name {host} could not be resolved at this time"
    REFUSED = "net.refused", True, "{host} refused the connection"
    UNREACHABLE = "net.unreachable", True, "there is no route to {host}"
    RESET = "net.reset", True, "{host} closed the connection without a response"
    PROXY = "net.proxy", True, "the proxy could not connect to {host}; check its address and its credentials"
    TIME_CONNECT = "time.connect", True, "{host} did not accept a connection in time"
    TIME_TLS = "time.tls", True, "{host} did not finish the TLS handshake in time"
    TIME_FIRST_BYTE = "time.first_byte", True, "{host} did not send the response headers in time"
    TIME_IDLE = "time.idle", True, "{host} stopped sending in the middle of its response"
    TIME_TOO_SLOW = "time.too_slow", True, "{host} sent its response too slowly"
    TIME_TOTAL = "time.total_deadline", True, "the response of {host} was not complete within the total time limit"
    TLS_EXPIRED = "tls.expired", False, "the certificate of {host} has expired; renew it on the server"
    TLS_HOSTNAME = "tls.hostname", False, "the certificate of {host} is not valid for this name"
    TLS_UNTRUSTED = (
        "tls.untrusted",
        False,
        "the certificate of {host} is not signed by a trusted authority; add that authority as a CA file",
    )
    TLS_PROTOCOL = (
        "tls.protocol",
        False,
        "no TLS connection with {host} was possible; it may not speak TLS 1.2 or later",
    )
    BAD_RESPONSE = "http.bad_response", True, "the response of {host} is not valid HTTP"
    HEADER_TOO_LARGE = "http.header_too_large", False, "the response headers of {host} are too large"
    BODY_INCOMPLETE = "body.incomplete", True, "the response of {host} is shorter than announced"
    BODY_TRUNCATED = "body.decode_truncated", True, "the compressed body from {host} ends in the middle"
    BODY_DECODE_ERROR = "body.decode_error", True, "the body from {host} cannot be decompressed"
    BODY_BOMB = (
        "body.bomb",
        False,
        "the body from {host} becomes extremely large when decompressed, so Siteatlas rejected it",
    )
    BODY_IN_CRUMBS = "body.in_crumbs", False, "{host} sent its response in extremely small pieces"
    BODY_TOO_MANY_CODINGS = "body.too_many_codings", False, "the body from {host} is compressed too many times"
    BODY_UNKNOWN_CODING = "body.unknown_coding", False, "the body from {host} has an unknown content coding"
    BODY_TOO_LARGE = "body.too_large", False, "the body that {host} announced is too large"
    PRIVATE_ADDRESS = (
        "policy.private_address",
        False,
        (
            "{host} is at a private address, which this crawl must not access; allow this host and port if that is "
            "intended"
        ),
    )
    BECAME_PRIVATE = (
        "policy.became_private",
        False,
        (
            "{host} had a public address before and now has a private one, so Siteatlas does not connect to it; "
            "correct its DNS records, or name the address with --resolve"
        ),
    )
    BLOCKED_PORT = "policy.blocked_port", False, "{host} has a port that web clients never connect to"
    METADATA_ADDRESS = (
        "policy.metadata_address",
        False,
        "{host} is at a cloud metadata address, which siteatlas never requests",
    )
    OPTIONS = (
        "internal.options",
        False,
        "no connection to {host} is possible with the CA file and the proxy that are configured",
    )
    INTERNAL = ("internal.error", False, "an internal error of siteatlas at {host}; please report it")


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
_NOT_AFTER = re.compile(r"not valid after (\d+)")

# Parts of messages of hyper, rustls, reqwest, httpcore and h11, in lower case. The first match decides.
_MESSAGE_WORDS: tuple[tuple[FailureCode, tuple[str, ...]], ...] = (
    (FailureCode.TLS_EXPIRED, ("certificate expired",)),
    (FailureCode.TLS_HOSTNAME, ("not valid for name", "notvalidforname")),
    (FailureCode.TLS_UNTRUSTED, ("invalid peer certificate",)),
    (FailureCode.BODY_INCOMPLETE, ("close_notify", "end of file before message length", "unexpected eof during chunk")),
    (FailureCode.BODY_INCOMPLETE, ("without sending complete message body", "unexpected end of chunk")),
    (
        FailureCode.TLS_PROTOCOL,
        ("corrupt message", "fatal alert", "handshake eof", "peer is incompatible", "peer misbehaved", "tls error"),
    ),
    (FailureCode.PROXY, ("tunnel", "proxy", "socks")),
    (FailureCode.HEADER_TOO_LARGE, ("head is too large", "receive buffer too long", "header list")),
    (FailureCode.REFUSED, ("connection refused",)),
    (FailureCode.UNREACHABLE, ("unreachable", "no route to host", "cannot assign requested address")),
    (FailureCode.TIME_CONNECT, ("tcp connect error: deadline",)),
    (FailureCode.DNS_NXDOMAIN, ("name or service not known", "no address associated", "nodename nor servname")),
    (FailureCode.DNS_TEMPORARY, ("failed to lookup address", "dns error")),
    (
        FailureCode.RESET,
        ("reset by peer", "closed before message completed", "without sending a response", "broken pipe"),
    ),
    (FailureCode.RESET, ("connection closed", "server disconnected", "connection aborted", "goaway", "stream error")),
)


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
        return text.rpartition("certificate: ")[2].rpartition("(Connect): ")[2][:200]
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
