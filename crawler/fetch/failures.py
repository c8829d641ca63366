"""The ways a fetch can fail: codes, whether another try may help, and the sentence a person reads. Does no I/O."""

from enum import StrEnum

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
