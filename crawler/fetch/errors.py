"""The ways a fetch can fail: codes, whether another try may help, and the sentence a person reads. Does no I/O."""

import re
import socket
import ssl
from datetime import UTC, datetime
from enum import StrEnum

import httpx

from crawler.model import Failure


class Code(StrEnum):
    """Stable reason codes. They are part of reports and of stored state, so they never change their meaning."""

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
    TLS_UNTRUSTED = "tls.untrusted"
    TLS_PROTOCOL = "tls.protocol"
    BAD_RESPONSE = "http.bad_response"
    HEADER_TOO_LARGE = "http.header_too_large"
    BODY_INCOMPLETE = "body.incomplete"
    BODY_TRUNCATED = "body.decode_truncated"
    BODY_DECODE_ERROR = "body.decode_error"
    BODY_BOMB = "body.bomb"
    BODY_TOO_MANY_CODINGS = "body.too_many_codings"
    BODY_UNKNOWN_CODING = "body.unknown_coding"
    BODY_TOO_LARGE = "body.too_large"
    PRIVATE_ADDRESS = "policy.private_address"
    BLOCKED_PORT = "policy.blocked_port"
    METADATA_ADDRESS = "policy.metadata_address"
    OPTIONS = "internal.options"
    INTERNAL = "internal.error"


_TABLE: dict[Code, tuple[bool, str]] = {
    Code.DNS_NXDOMAIN: (False, "the name {host} does not exist; check its spelling and its DNS records"),
    Code.DNS_TEMPORARY: (True, "the name {host} could not be resolved at this time"),
    Code.REFUSED: (True, "{host} refused the connection"),
    Code.UNREACHABLE: (True, "there is no route to {host}"),
    Code.RESET: (True, "{host} closed the connection without an answer"),
    Code.PROXY: (True, "the proxy could not connect to {host}; check its address and its credentials"),
    Code.TIME_CONNECT: (True, "{host} did not accept a connection in time"),
    Code.TIME_TLS: (True, "{host} did not finish the TLS handshake in time"),
    Code.TIME_FIRST_BYTE: (True, "{host} did not send the head of its answer in time"),
    Code.TIME_IDLE: (True, "{host} stopped sending in the middle of its answer"),
    Code.TIME_TOO_SLOW: (True, "{host} sent its answer too slowly"),
    Code.TIME_TOTAL: (True, "the answer of {host} was not complete when the total time limit ended"),
    Code.TLS_EXPIRED: (False, "the certificate of {host} has expired; it has to be renewed there"),
    Code.TLS_HOSTNAME: (False, "the certificate of {host} is not valid for this name"),
    Code.TLS_UNTRUSTED: (
        False,
        "the certificate of {host} is not signed by a trusted authority; add that authority as a CA file",
    ),
    Code.TLS_PROTOCOL: (
        False,
        "no TLS connection with {host} was possible; it may not speak TLS 1.2 or later",
    ),
    Code.BAD_RESPONSE: (True, "the answer of {host} is not valid HTTP"),
    Code.HEADER_TOO_LARGE: (False, "the headers of the answer of {host} are too large"),
    Code.BODY_INCOMPLETE: (True, "the answer of {host} ended before its announced end"),
    Code.BODY_TRUNCATED: (True, "the compressed body from {host} ends in the middle"),
    Code.BODY_DECODE_ERROR: (True, "the body from {host} cannot be decompressed"),
    Code.BODY_BOMB: (False, "the body from {host} grows out of proportion when decompressed; it was refused"),
    Code.BODY_TOO_MANY_CODINGS: (False, "the body from {host} is compressed more often than is accepted"),
    Code.BODY_UNKNOWN_CODING: (False, "the body from {host} has a content coding that is not known"),
    Code.BODY_TOO_LARGE: (False, "the body that {host} announced is too large"),
    Code.PRIVATE_ADDRESS: (
        False,
        "{host} is at a private address, where this crawl must not go; allow that host and port if it is meant",
    ),
    Code.BLOCKED_PORT: (False, "the port of {host} is one that web clients never connect to"),
    Code.METADATA_ADDRESS: (False, "{host} is at a cloud metadata address; it must be allowed explicitly"),
    Code.OPTIONS: (
        False,
        "no connection to {host} is possible with the CA file and the proxy that are configured",
    ),
    Code.INTERNAL: (
        False,
        "an unexpected error of this program while fetching from {host}; please report it",
    ),
}


class FetchError(Exception):
    """A fetch has failed for a known reason. Never leaves :mod:`crawler.fetch`: it becomes a ``Failure`` there."""

    def __init__(self, code: Code, detail: str = "") -> None:
        super().__init__(code, detail)
        self.code = code
        self.detail = detail


def failure(code: Code, host: str, detail: str = "", elapsed: float = 0.0) -> Failure:
    """The value for a failure at ``host``; ``detail`` is put in brackets behind the sentence of the code."""
    transient, sentence = _TABLE[code]
    message = sentence.format(host=host)
    if detail:
        message = f"{message} ({detail})"
    return Failure(code=code.value, message=message, transient=transient, elapsed=elapsed)


# OpenSSL's X509_V_ERR_* numbers
_EXPIRED = 10

_HOSTNAME = frozenset((62, 64))


_NOT_AFTER = re.compile(r"not valid after (\d+)")


# Pieces of messages of hyper, rustls, reqwest, httpcore and h11, lower case. The first that fits names the fault.
_WORDS: tuple[tuple[Code, tuple[str, ...]], ...] = (
    (Code.TLS_EXPIRED, ("certificate expired",)),
    (Code.TLS_HOSTNAME, ("not valid for name", "notvalidforname")),
    (Code.TLS_UNTRUSTED, ("invalid peer certificate",)),
    (
        Code.BODY_INCOMPLETE,
        ("close_notify", "end of file before message length", "unexpected eof during chunk"),
    ),
    (Code.BODY_INCOMPLETE, ("without sending complete message body", "unexpected end of chunk")),
    (
        Code.TLS_PROTOCOL,
        (
            "corrupt message",
            "fatal alert",
            "handshake eof",
            "peer is incompatible",
            "peer misbehaved",
            "tls error",
        ),
    ),
    (Code.PROXY, ("tunnel", "proxy", "socks")),
    (Code.HEADER_TOO_LARGE, ("head is too large", "receive buffer too long", "header list")),
    (Code.REFUSED, ("connection refused",)),
    (Code.UNREACHABLE, ("unreachable", "no route to host", "cannot assign requested address")),
    (Code.TIME_CONNECT, ("tcp connect error: deadline",)),
    (Code.DNS_NXDOMAIN, ("name or service not known", "no address associated", "nodename nor servname")),
    (Code.DNS_TEMPORARY, ("failed to lookup address", "dns error")),
    (
        Code.RESET,
        ("reset by peer", "closed before message completed", "without sending a response", "broken pipe"),
    ),
    (
        Code.RESET,
        ("connection closed", "server disconnected", "connection aborted", "goaway", "stream error"),
    ),
)


_IN_BODY = {Code.RESET: Code.BODY_INCOMPLETE, Code.TIME_FIRST_BYTE: Code.TIME_IDLE}


_NO_SUCH_NAME = frozenset(
    number
    for number in (getattr(socket, name, None) for name in ("EAI_NONAME", "EAI_NODATA"))
    if number is not None
)


def diagnose_lookup(error: OSError) -> FetchError:
    """The failure for an error of a resolver: the name does not exist, or nobody can say now (RFC 3493, 6.1)."""
    gone = isinstance(error, socket.gaierror) and error.errno in _NO_SUCH_NAME
    return FetchError(Code.DNS_NXDOMAIN if gone else Code.DNS_TEMPORARY)


def diagnose(error: Exception, *, tls: bool, in_body: bool) -> FetchError:
    """The failure for an exception of a transport.

    ``tls`` says that the origin is https, ``in_body`` that the head of the answer had arrived. What nothing is known
    about becomes ``http.bad_response`` or ``net.reset`` when httpx's class says so, else ``internal.error``.
    """
    if isinstance(error, FetchError):
        return error
    causes = _causes(error)
    code, detail = _by_class(causes) or _by_words(causes) or _by_kind(error, tls=tls)
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


def _by_class(causes: list[BaseException]) -> tuple[Code, str] | None:
    for cause in causes:
        match cause:
            case ssl.SSLCertVerificationError(verify_code=number):
                if number == _EXPIRED:
                    return Code.TLS_EXPIRED, ""
                code = Code.TLS_HOSTNAME if number in _HOSTNAME else Code.TLS_UNTRUSTED
                return code, str(getattr(cause, "verify_message", ""))
            case ssl.SSLWantReadError() | ssl.SSLWantWriteError() | TimeoutError():
                pass
            case ssl.SSLEOFError() | ssl.SSLZeroReturnError():
                return Code.RESET, ""
            case ssl.SSLError():
                return Code.TLS_PROTOCOL, str(cause.reason or "").replace("_", " ").lower()
            case socket.gaierror():
                return diagnose_lookup(cause).code, ""
            case ConnectionRefusedError():
                return Code.REFUSED, ""
            case ConnectionError():
                return Code.RESET, ""
            case _:
                pass
    return None


def _by_words(causes: list[BaseException]) -> tuple[Code, str] | None:
    said = " ".join(str(cause) for cause in causes if not isinstance(cause, BaseExceptionGroup)).lower()
    for code, words in _WORDS:
        if any(word in said for word in words):
            return code, _detail(code, causes)
    return None


def _detail(code: Code, causes: list[BaseException]) -> str:
    text = str(causes[0])
    if code is Code.TLS_EXPIRED and (found := _NOT_AFTER.search(text)):
        return f"expired on {datetime.fromtimestamp(int(found[1]), UTC):%Y-%m-%d %H:%M} UTC"
    if code in (Code.TLS_HOSTNAME, Code.TLS_UNTRUSTED, Code.TLS_PROTOCOL):
        return text.rpartition("certificate: ")[2].rpartition("(Connect): ")[2][:200]
    return ""


def _by_kind(error: Exception, *, tls: bool) -> tuple[Code, str]:
    match error:
        case httpx.ConnectTimeout():
            # Both transports say "timed out" when TCP stood and the handshake did not end.
            return (Code.TIME_TLS if tls and "timed out" in str(error) else Code.TIME_CONNECT), ""
        case httpx.TimeoutException():
            return Code.TIME_FIRST_BYTE, ""
        case httpx.ProxyError():
            return Code.PROXY, ""
        case httpx.RemoteProtocolError():
            return Code.BAD_RESPONSE, _shown(str(error))
        case httpx.NetworkError() | OSError():
            return Code.RESET, _shown(str(error))
    return Code.INTERNAL, _shown(f"{type(error).__name__}: {error}")


def _shown(text: str) -> str:
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text[:200])
