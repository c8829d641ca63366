"""E-mail: a plain-text message to people. No text from a website can add a header or a recipient."""

import base64
import os
import smtplib
import ssl
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from functools import lru_cache
from pathlib import Path
from typing import Final, Literal
from urllib.parse import urlsplit

import aiosmtplib
import anyio
from anyio import to_thread
from msgspec import Struct
from typing_extensions import override

from crawler.config.secrets import quote_message
from crawler.errors import UsageError
from crawler.notify.channels.message import delivery_id, mail_texts
from crawler.notify.notice import Notice, Occasion, SendResult, SendStatus

SmtpSecurity = Literal["none", "starttls", "tls"]

_Reply = aiosmtplib.SMTPResponse | aiosmtplib.SMTPResponseException

_DEFAULT_PORTS: Final[Mapping[SmtpSecurity, int]] = {"none": 25, "starttls": 587, "tls": 465}


class SmtpServer(Struct, frozen=True, kw_only=True):
    """The mail server. ``login`` is a user and a password; a PEM bundle in ``ca_file`` is trusted too."""

    host: str
    port: int
    security: SmtpSecurity = "none"
    login: tuple[str, str] | None = None
    ca_file: Path | None = None

    @override
    def __repr__(self) -> str:
        return f"SmtpServer({self.name!r}, {self.security!r}, …)"

    @property
    def name(self) -> str:
        """Host and port."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@lru_cache(maxsize=4)
def _context(ca_file: Path | None) -> ssl.SSLContext:
    """A TLS context with the system's authorities and a PEM bundle; slow to load. Raises OSError."""
    context = ssl.create_default_context()
    if ca_file:
        context.load_verify_locations(cafile=ca_file)
    return context


def parse_server(address: str, security: SmtpSecurity, login: str = "", ca_file: Path | None = None) -> SmtpServer:
    """The server at ``host:port``, or ``host`` with the default port; ``login`` is ``user:password``, "" for none.

    Raises UsageError for an invalid address, for a login that would be sent in the clear (it is not shown), and for a
    CA file that cannot be read.
    """
    try:
        parts = urlsplit(f"//{address}")
        host, port = parts.hostname, parts.port or _DEFAULT_PORTS[security]
    except ValueError:
        host, port = None, 0
    if not host or parts.netloc != address or "@" in address:
        shown = "it" if "@" in address else repr(address)
        raise UsageError(f"email.server: {shown} does not have the form mail.example.com:25")
    user, colon, password = login.partition(":")
    if login and not (user and colon and password):
        raise UsageError("email.login must have the form user:password (its value is not shown)")
    if login and not login.isascii():
        raise UsageError(
            "email.login contains a character that is not ASCII, which SMTP cannot send. Use only ASCII characters"
        )
    if login and security == "none":
        raise UsageError(
            "email.login would be sent over an unencrypted connection. Set email.security to starttls or tls"
        )
    server = SmtpServer(
        host=host, port=port, security=security, login=(user, password) if login else None, ca_file=ca_file
    )
    try:
        _context(ca_file)
    except OSError as error:
        raise UsageError(f"the CA file {ca_file} cannot be read: {error.strerror or error}") from None
    return server


async def hand_over(
    server: SmtpServer, message: EmailMessage, sender: str, to: Sequence[str], timeout: float
) -> SendResult:
    """Hand a message over within ``timeout`` seconds. Never raises, except for cancellation."""
    result: SendResult | None = None
    with anyio.move_on_after(timeout):
        try:
            async with await _client(server) as client:
                refused, _ = await client.sendmail(sender, to, message.as_bytes())
                result = _accepted(server, refused)  # even if closing the connection fails
        except Exception as error:  # noqa: BLE001 - the fence: no mail server ends a run
            result = result or _no_response(server, error)
    return result or _later(server, f"did not accept the message within {timeout:g} seconds")


async def _client(server: SmtpServer) -> aiosmtplib.SMTP:
    """A client that connects when it is entered, without time limits of its own."""
    user, password = server.login or (None, None)
    return aiosmtplib.SMTP(
        hostname=server.host,
        port=server.port,
        username=user,
        password=password,
        use_tls=server.security == "tls",
        start_tls=server.security == "starttls",
        tls_context=_context(server.ca_file),
        # where this machine has no full name, smtplib takes its address (RFC 5321 section 4.1.4)
        local_hostname=await to_thread.run_sync(lambda: smtplib.SMTP().local_hostname, abandon_on_cancel=True),
        timeout=None,
    )


def _accepted(server: SmtpServer, refused: Mapping[str, _Reply]) -> SendResult:
    exceptions = f", but not for all: {_replies(server, refused)}" if refused else ""
    return SendResult.accepted(f"the mail server {server.name} accepted the message{exceptions}")


def _no_response(server: SmtpServer, error: Exception) -> SendResult:
    match _origin(error):
        case aiosmtplib.SMTPRecipientsRefused(recipients=refused):
            is_later = any(400 <= recipient.code < 500 for recipient in refused)
            replies = _replies(server, {recipient.recipient: recipient for recipient in refused})
            return _answer(server, f"rejected all recipients: {replies}", is_later)
        case aiosmtplib.SMTPResponseException(code=code) if code < 200:
            return _later(server, "does not speak SMTP")
        case aiosmtplib.SMTPResponseException() as refusal:
            is_later = not 500 <= refusal.code < 600
            return _answer(server, f"answered {_reply(server, refusal)}", is_later)
        case aiosmtplib.SMTPServerDisconnected() | ConnectionResetError() | BrokenPipeError():
            return _later(server, "closed the connection")
        case aiosmtplib.SMTPException() as known:
            return _answer(
                server, f"does not support this: {quote_message(str(known), _secrets(server))}", is_later=False
            )
        case ssl.SSLCertVerificationError(verify_message=message):
            return _later(server, f"has a bad certificate: {quote_message(message)}")
        case OSError(errno=number, strerror=text) as unreachable:
            # asyncio replaces the text of some errors; a resolver's error numbers are negative
            reason = os.strerror(number) if number and number > 0 else text or str(unreachable)
            return _later(server, f"cannot be reached: {quote_message(reason) or type(unreachable).__name__}")
        case unknown:
            return _later(server, f"sent an invalid response ({type(unknown).__name__})")


def _origin(error: BaseException) -> BaseException:
    """The first error in the chain, which the library rephrases."""
    return _origin(error.__cause__) if error.__cause__ else error


def _later(server: SmtpServer, message: str) -> SendResult:
    return _answer(server, message, is_later=True)


def _answer(server: SmtpServer, text: str, is_later: bool) -> SendResult:
    reception = SendStatus.DEFERRED if is_later else SendStatus.REFUSED
    return SendResult(reception=reception, message=f"the mail server {server.name} {text}")


def _replies(server: SmtpServer, replies: Mapping[str, _Reply]) -> str:
    return "; ".join(f"{quote_message(address)}: {_reply(server, reply)}" for address, reply in replies.items())


def _reply(server: SmtpServer, reply: _Reply) -> str:
    return f"{reply.code} {quote_message(reply.message, _secrets(server))}".strip()


def _secrets(server: SmtpServer) -> tuple[str, ...]:
    """The parts of a login that a server may repeat: the password, and what PLAIN and LOGIN send."""
    if not server.login:
        return ()
    user, password = server.login
    tokens = (f"\0{user}\0{password}", password)
    return (password, *(base64.b64encode(token.encode()).decode() for token in tokens))


_MAIL_POLICY: Final = SMTP.clone(cte_type="7bit")  # not every server accepts 8-bit text

_MAX_LINE: Final = 998  # characters, RFC 5322 section 2.1.1


class EmailChannel:
    """Sends one message to all of ``to``. Implements :class:`crawler.notify.notice.MessageChannel`.

    ``timeout`` is in seconds. The same notice always has the same Message-ID. Raises UsageError for an invalid address.
    """

    key: Final = "email"

    def __init__(
        self, server: SmtpServer, to: Iterable[str], on: Iterable[Occasion], sender: str = "", timeout: float = 30.0
    ) -> None:
        self._to = tuple(_address(address, "email.to") for address in to)
        user = server.login[0] if server.login else ""  # many servers send for the account of the login only
        own = user if "@" in user else f"siteatlas@{self._to[0].domain}"
        self._from = _address(sender or own, "email.sender")
        self.occasions = frozenset(on)
        self._server = server
        self._timeout = timeout

    def build_message(self, notice: Notice) -> EmailMessage:
        """The whole message except its date."""
        subject, text = mail_texts(notice, self.key)
        message = EmailMessage(policy=_MAIL_POLICY)
        message["From"] = self._from
        message["To"] = self._to
        message["Subject"] = subject
        message["Message-ID"] = f"<{delivery_id(notice, self.key)}@{self._from.domain}>"
        message["Auto-Submitted"] = "auto-generated"  # RFC 3834 section 5: no vacation reply
        is_plain = text.isascii() and max(map(len, text.splitlines())) < _MAX_LINE
        message.set_content(text, cte="7bit" if is_plain else None)
        return message

    async def send(self, notice: Notice) -> SendResult:
        """See :class:`crawler.notify.notice.MessageChannel`."""
        message = self.build_message(notice)
        message["Date"] = format_datetime(datetime.now(UTC))
        recipients = [address.addr_spec for address in self._to]
        return await hand_over(self._server, message, self._from.addr_spec, recipients, self._timeout)


def _address(text: str, setting: str) -> Address:
    """Parse one address, with or without a name; the domain becomes ASCII. Raises UsageError."""
    try:
        (parsed,) = SMTP.header_factory("To", text if text.isprintable() else "").addresses
        domain = parsed.domain.encode("idna").decode("ascii")
        address = Address(parsed.display_name, parsed.username, domain)
    except Exception:  # noqa: BLE001 - the parser of the standard library fails in many ways
        address = Address()
    is_repaired = address.addr_spec.rpartition("@")[0] not in text  # the parser repairs any text
    if not address.username or not address.domain or is_repaired:
        raise UsageError(f"{setting} {text!r} is not an address such as name@example.com")
    return address
