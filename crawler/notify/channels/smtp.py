"""Hands one message to an SMTP server, within bounds, and says what became of it. Blocks: it is run in a thread.

https://www.rfc-editor.org/rfc/rfc5321, https://www.rfc-editor.org/rfc/rfc3207 (STARTTLS)
"""

import base64
import smtplib
import socket
import ssl
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from email.message import EmailMessage
from functools import lru_cache
from io import BufferedReader
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from msgspec import Struct
from typing_extensions import override

from crawler.errors import UsageError
from crawler.notify.channels.http import quoted
from crawler.notify.notice import Answer, Reception

Security = Literal["none", "starttls", "tls"]
_PORTS: Final[Mapping[Security, int]] = {"none": 25, "starttls": 587, "tls": 465}
_MOST: Final = 64 * 1024  # bytes that a server may say in all


class Server(Struct, frozen=True, kw_only=True):
    """Where e-mail is handed over. ``login`` is a user and a password; a PEM bundle in ``ca_file`` is trusted too."""

    host: str
    port: int
    security: Security = "none"
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


def server(address: str, security: Security, login: str = "", ca_file: Path | None = None) -> Server:
    """The server at ``host:port``, or ``host`` with the usual port; ``login`` is ``user:password``, "" for none.

    Raises UsageError for an address that is none, for a login that would be sent in the clear (it is not shown), and
    for a CA file that cannot be read.
    """
    try:
        parts = urlsplit(f"//{address}")
        host, port = parts.hostname, parts.port or _PORTS[security]
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
    made = Server(
        host=host, port=port, security=security, login=(user, password) if login else None, ca_file=ca_file
    )
    try:
        _context(ca_file)
    except OSError as error:
        raise UsageError(f"cannot read the CA file {ca_file}: {error.strerror or error}") from None
    return made


class Handover:
    """One attempt to hand over a message. ``timeout`` (seconds) is for each step; :meth:`hang_up` ends them all."""

    def __init__(self, to: Server, timeout: float) -> None:
        self.is_over = threading.Event()
        self.client: smtplib.SMTP | None = None
        self._server = to
        self.timeout = timeout
        user, password = to.login or ("", "")
        tokens = [base64.b64encode(each.encode()).decode() for each in (f"\0{user}\0{password}", password)]
        self._secrets = (password, *tokens) if to.login else ()

    def run(self, message: EmailMessage, sender: str, to: Sequence[str]) -> Answer:
        """Never raises."""
        try:
            refused = self._hand_over(message, sender, to)
        except smtplib.SMTPRecipientsRefused as error:
            is_later = any(400 <= code < 500 for code, _ in error.recipients.values())
            return self._answer(f"takes none of the recipients: {self._refusals(error.recipients)}", is_later)
        except smtplib.SMTPResponseException as error:
            if error.smtp_code < 200:
                return self._answer("does not speak SMTP", is_later=True)
            reply = self._reply(error.smtp_code, error.smtp_error)
            return self._answer(f"answered {reply}", is_later=not 500 <= error.smtp_code < 600)
        except (smtplib.SMTPServerDisconnected, ConnectionResetError, BrokenPipeError):
            return self._answer("hung up", is_later=True)
        except smtplib.SMTPException as error:
            return self._answer(f"cannot do that: {quoted(str(error), self._secrets)}", is_later=False)
        except ssl.SSLCertVerificationError as error:
            return self._answer(f"has a bad certificate: {quoted(error.verify_message)}", is_later=True)
        except OSError as error:
            reason = quoted(error.strerror or str(error)) or type(error).__name__
            return self._answer(f"was not reached: {reason}", is_later=True)
        except Exception as error:  # noqa: BLE001 - the fence: no mail server ends a run
            return self._answer(f"is not understood ({type(error).__name__})", is_later=True)
        some = f", but not for all: {self._refusals(refused)}" if refused else ""
        return Answer(
            reception=Reception.ACCEPTED, said=f"the mail server {self._server.name} took the message{some}"
        )

    def hang_up(self) -> None:
        """Let what waits for the server end at once. May be called from another thread, also when all is done."""
        self.is_over.set()
        connection = getattr(self.client, "sock", None)
        if connection is not None:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def _hand_over(
        self, message: EmailMessage, sender: str, to: Sequence[str]
    ) -> dict[str, tuple[int, bytes]]:
        """Those of the recipients that were refused. Raises smtplib.SMTPException, OSError."""
        where = self._server
        kind = _SecureClient if where.security == "tls" else _Client
        client = kind(self, where)
        try:
            if where.security == "starttls":
                client.starttls(context=_context(where.ca_file))
            if where.login:
                client.login(*where.login)
            refused = client.send_message(message, sender, to)
            with suppress(smtplib.SMTPException, OSError):  # it has the message, whatever it says now
                client.quit()
        finally:
            client.close()
        return refused

    def _answer(self, said: str, is_later: bool) -> Answer:
        return Answer(
            reception=Reception.LATER if is_later else Reception.REFUSED,
            said=f"the mail server {self._server.name} {said}",
        )

    def _refusals(self, refused: Mapping[str, tuple[int, bytes]]) -> str:
        return "; ".join(f"{quoted(address)}: {self._reply(*reply)}" for address, reply in refused.items())

    def _reply(self, code: int, text: bytes | str) -> str:
        told = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
        return f"{code} {quoted(told, self._secrets)}".strip()


class _Client(smtplib.SMTP):
    """Reads no more than 64 KiB, and nothing when its handover is over. It is told to hang up while it connects."""

    def __init__(self, handover: Handover, where: Server, **options: Any) -> None:
        self._handover = handover
        handover.client = self
        super().__init__(where.host, where.port, timeout=handover.timeout, **options)

    @override
    def getreply(self) -> tuple[int, bytes]:
        if self._handover.is_over.is_set():
            raise smtplib.SMTPServerDisconnected("over")
        if self.file is None and self.sock is not None:
            self.file = _Bounded(self.sock.makefile("rb"))
        return super().getreply()


class _SecureClient(_Client, smtplib.SMTP_SSL):
    """The same over TLS from the start."""

    def __init__(self, handover: Handover, where: Server) -> None:
        super().__init__(handover, where, context=_context(where.ca_file))


class _Bounded:
    """What a server says, to a limit."""

    def __init__(self, file: BufferedReader) -> None:
        self._file = file
        self._left = _MOST

    def readline(self, limit: int) -> bytes:
        """The next line. Raises OSError when there are too many."""
        line = self._file.readline(limit)
        self._left -= len(line)
        if self._left < 0:
            raise OSError("it says too much")
        return line

    def close(self) -> None:
        """Close it."""
        self._file.close()
