"""E-mail: a message in plain text to people, which nothing that a website says can turn into another."""

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

from crawler.errors import UsageError
from crawler.notify.channels.http import quote_message
from crawler.notify.channels.message import (
    SAMPLE_NOTICES,
    MessageTemplate,
    TemplateError,
    delivery_id,
    render_mail,
)
from crawler.notify.notice import Notice, Occasion, SendResult, SendStatus

SmtpSecurity = Literal["none", "starttls", "tls"]

_Reply = aiosmtplib.SMTPResponse | aiosmtplib.SMTPResponseException

_DEFAULT_PORTS: Final[Mapping[SmtpSecurity, int]] = {"none": 25, "starttls": 587, "tls": 465}


class SmtpServer(Struct, frozen=True, kw_only=True):
    """Where e-mail is handed over. ``login`` is a user and a password; a PEM bundle in ``ca_file`` is trusted too."""

    host: str
    port: int
    security: SmtpSecurity = "none"
    login: tuple[str, str] | None = None
    ca_file: Path | None = None

    @override
    def __repr__(self) -> str:
        return f"Server({self.name!r}, {self.security!r}, …)"

    @property
    def name(self) -> str:
        """Host and port."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@lru_cache(maxsize=4)
def _context(ca_file: Path | None) -> ssl.SSLContext:
    """What the system trusts, and a PEM bundle besides; loading it takes a while. Raises OSError."""
    context = ssl.create_default_context()
    if ca_file:
        context.load_verify_locations(cafile=ca_file)
    return context


def parse_server(
    address: str, security: SmtpSecurity, login: str = "", ca_file: Path | None = None
) -> SmtpServer:
    """The server at ``host:port``, or ``host`` with the usual port; ``login`` is ``user:password``, "" for none.

    Raises UsageError for an address that is none, for a login that would be sent in the clear (it is not shown), and
    for a CA file that cannot be read.
    """
    try:
        parts = urlsplit(f"//{address}")
        host, port = parts.hostname, parts.port or _DEFAULT_PORTS[security]
    except ValueError:
        host, port = None, 0
    if not host or parts.netloc != address or "@" in address:
        shown = "it" if "@" in address else repr(address)
        raise UsageError(f"email.server: {shown} is not like mail.example.com:25")
    user, colon, password = login.partition(":")
    if login and not (user and colon and password):
        raise UsageError("email.login is not like user:password (it is not shown)")
    if login and not login.isascii():
        raise UsageError("email.login has a character that is not ASCII, which SMTP has no way to send")
    if login and security == "none":
        raise UsageError(
            "email.login would be sent over a connection that everybody can read: set email.security to starttls or tls"
        )
    made = SmtpServer(
        host=host, port=port, security=security, login=(user, password) if login else None, ca_file=ca_file
    )
    try:
        _context(ca_file)
    except OSError as error:
        raise UsageError(f"cannot read the CA file {ca_file}: {error.strerror or error}") from None
    return made


async def hand_over(
    server: SmtpServer, message: EmailMessage, sender: str, to: Sequence[str], timeout: float
) -> SendResult:
    """What became of a message that was handed over within ``timeout`` seconds. Never raises, but for cancellation."""
    answer: SendResult | None = None
    with anyio.move_on_after(timeout):
        try:
            async with await _client(server) as client:
                refused, _ = await client.sendmail(sender, to, message.as_bytes())
                answer = _taken(server, refused)  # whatever happens to the connection now
        except Exception as error:  # noqa: BLE001 - the fence: no mail server ends a run
            answer = answer or _no_response(server, error)
    return answer or _later(server, f"did not take the message within {timeout:g} seconds")


async def _client(server: SmtpServer) -> aiosmtplib.SMTP:
    """A client that connects when it is entered. It has no time limits of its own."""
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
        local_hostname=await to_thread.run_sync(
            lambda: smtplib.SMTP().local_hostname, abandon_on_cancel=True
        ),
        timeout=None,
    )


def _taken(server: SmtpServer, refused: Mapping[str, _Reply]) -> SendResult:
    some = f", but not for all: {_replies(server, refused)}" if refused else ""
    return SendResult(
        reception=SendStatus.ACCEPTED, message=f"the mail server {server.name} took the message{some}"
    )


def _no_response(server: SmtpServer, error: Exception) -> SendResult:
    match _origin(error):
        case aiosmtplib.SMTPRecipientsRefused(recipients=refused):
            is_later = any(400 <= each.code < 500 for each in refused)
            replies = _replies(server, {each.recipient: each for each in refused})
            return _answer(server, f"takes none of the recipients: {replies}", is_later)
        case aiosmtplib.SMTPResponseException(code=code) if code < 200:
            return _later(server, "does not speak SMTP")
        case aiosmtplib.SMTPResponseException() as refusal:
            is_later = not 500 <= refusal.code < 600
            return _answer(server, f"answered {_reply(server, refusal)}", is_later)
        case aiosmtplib.SMTPServerDisconnected() | ConnectionResetError() | BrokenPipeError():
            return _later(server, "hung up")
        case aiosmtplib.SMTPException() as known:
            return _answer(
                server, f"cannot do that: {quote_message(str(known), _secrets(server))}", is_later=False
            )
        case ssl.SSLCertVerificationError(verify_message=message):
            return _later(server, f"has a bad certificate: {quote_message(message)}")
        case OSError(errno=number, strerror=text) as unreachable:
            # asyncio writes its own text for some errors; those of a resolver are negative
            reason = os.strerror(number) if number and number > 0 else text or str(unreachable)
            return _later(server, f"was not reached: {quote_message(reason) or type(unreachable).__name__}")
        case unknown:
            return _later(server, f"is not understood ({type(unknown).__name__})")


def _origin(error: BaseException) -> BaseException:
    """What went wrong first, which the library tells in words of its own."""
    return _origin(error.__cause__) if error.__cause__ else error


def _later(server: SmtpServer, said: str) -> SendResult:
    return _answer(server, said, is_later=True)


def _answer(server: SmtpServer, said: str, is_later: bool) -> SendResult:
    reception = SendStatus.DEFERRED if is_later else SendStatus.REFUSED
    return SendResult(reception=reception, message=f"the mail server {server.name} {said}")


def _replies(server: SmtpServer, replies: Mapping[str, _Reply]) -> str:
    return "; ".join(
        f"{quote_message(address)}: {_reply(server, reply)}" for address, reply in replies.items()
    )


def _reply(server: SmtpServer, reply: _Reply) -> str:
    return f"{reply.code} {quote_message(reply.message, _secrets(server))}".strip()


def _secrets(server: SmtpServer) -> tuple[str, ...]:
    """What a server may repeat of a login: the password, and what PLAIN and LOGIN send."""
    if not server.login:
        return ()
    user, password = server.login
    sent = (f"\0{user}\0{password}", password)
    return (password, *(base64.b64encode(each.encode()).decode() for each in sent))


_MAIL_POLICY: Final = SMTP.clone(cte_type="7bit")  # not every server takes 8 bits

_MAX_LINE: Final = 998  # characters of a line, RFC 5322 section 2.1.1


class EmailChannel:
    """Sends one message to all of ``to``. Implements :class:`crawler.notify.channels.channel.Channel`.

    ``timeout`` are the seconds that it may take. The same message has the same Message-ID whenever it is sent. Raises
    UsageError for what is no address, and for a template that fails on a sample.
    """

    key: Final = "email"

    def __init__(
        self,
        server: SmtpServer,
        to: Iterable[str],
        on: Iterable[Occasion],
        sender: str = "",
        template: MessageTemplate | None = None,
        timeout: float = 30.0,
    ) -> None:
        self._to = tuple(_address(each, "email.to") for each in to)
        self._from = _address(sender, "email.sender") if sender else self._to[0]
        self.occasions = frozenset(on)
        self._server = server
        self._template = template or MessageTemplate.builtin("mail.txt")
        self._timeout = timeout
        for sample in SAMPLE_NOTICES:
            try:
                self.build_message(sample)
            except TemplateError as fault:
                raise UsageError(str(fault)) from None

    def build_message(self, notice: Notice) -> EmailMessage:
        """The whole message but for its date. Raises TemplateFault."""
        subject, text = render_mail(self._template, notice, self.key)
        message = EmailMessage(policy=_MAIL_POLICY)
        message["From"] = self._from
        message["To"] = self._to
        message["Subject"] = subject
        message["Message-ID"] = f"<{delivery_id(notice, self.key)}@{self._from.domain}>"
        message["Auto-Submitted"] = "auto-generated"  # RFC 3834 section 5: nobody's vacation answers it
        is_plain = text.isascii() and max(map(len, text.splitlines())) < _MAX_LINE
        message.set_content(text, cte="7bit" if is_plain else None)
        return message

    async def send(self, notice: Notice) -> SendResult:
        """See :class:`crawler.notify.channels.channel.Channel`."""
        try:
            message = self.build_message(notice)
        except TemplateError as fault:
            return SendResult(reception=SendStatus.REFUSED, message=str(fault))
        message["Date"] = format_datetime(datetime.now(UTC))
        recipients = [each.addr_spec for each in self._to]
        return await hand_over(self._server, message, self._from.addr_spec, recipients, self._timeout)


def _address(text: str, setting: str) -> Address:
    """One address, with or without a name. Raises UsageError. The domain is put into ASCII."""
    try:
        (found,) = SMTP.header_factory("To", text if text.isprintable() else "").addresses
        domain = found.domain.encode("idna").decode("ascii")
        address = Address(found.display_name, found.username, domain)
    except Exception:  # noqa: BLE001 - the parser of the standard library fails in many ways
        address = Address()
    is_mended = address.addr_spec.rpartition("@")[0] not in text  # it makes an address of almost anything
    if not address.username or not address.domain or is_mended:
        raise UsageError(f"{setting} {text!r} is no address like name@example.com")
    return address
