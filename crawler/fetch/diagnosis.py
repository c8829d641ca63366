"""Finds out what an exception of a transport means. The only place that knows how libraries word their errors."""

import re
import socket
import ssl
from datetime import UTC, datetime

import httpx

from crawler.fetch.failures import Code, FetchError

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
