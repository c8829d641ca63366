"""A real SMTP server on the loopback address, which keeps what it is given and refuses what it is told to."""

import asyncio
import ssl
import threading
import warnings
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from typing import Any

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session


@dataclass
class Mailbox:
    """What arrived. ``refusals`` are the replies to recipients, ``data`` the reply to a message, "" for acceptance."""

    refusals: dict[str, str] = field(default_factory=dict)
    sender: str = ""
    data: str = ""
    login: tuple[bytes, bytes] | None = None
    address: str = ""
    envelopes: list[Envelope] = field(default_factory=list)
    secured: list[bool] = field(default_factory=list)
    logins: list[tuple[bytes, bytes]] = field(default_factory=list)

    @property
    def messages(self) -> list[EmailMessage]:
        """The messages, parsed."""
        parsed = [message_from_bytes(_unix(each.content), policy=default) for each in self.envelopes]
        return [each for each in parsed if isinstance(each, EmailMessage)]

    async def handle_MAIL(  # noqa: N802
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if self.sender:
            return self.sender
        envelope.mail_from = address
        envelope.mail_options.extend(options)
        return "250 OK"

    async def handle_RCPT(  # noqa: N802
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if refusal := self.refusals.get(address):
            return refusal
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802
        if self.data:
            return self.data
        self.envelopes.append(envelope)
        self.secured.append(session.ssl is not None)
        return "250 OK"

    def authenticate(self, server: SMTP, session: Session, envelope: Envelope, mechanism: str, data: Any) -> AuthResult:
        """Whether a login is that which is wanted. The refusal repeats it, as no server should."""
        assert isinstance(data, LoginPassword)
        self.logins.append((data.login, data.password))
        echo = f"535 {mechanism} {data.password.decode()} {b64encode(data.password).decode()} is wrong"
        is_right = self.logins[-1] == self.login
        return AuthResult(success=is_right, handled=False, message=None if is_right else echo)


def _unix(content: bytes | str | None) -> bytes:
    assert isinstance(content, bytes)
    return content.replace(b"\r\n", b"\n")


@contextmanager
def mailbox(
    starttls: ssl.SSLContext | None = None, tls: ssl.SSLContext | None = None, login: tuple[bytes, bytes] | None = None
) -> Iterator[Mailbox]:
    """A server while it is entered, with STARTTLS or TLS or neither; with a ``login`` nothing goes without it."""
    box = Mailbox(login=login)
    ready = threading.Event()
    loop = asyncio.new_event_loop()
    options: dict[str, Any] = {"hostname": "mail.example", "tls_context": starttls, "require_starttls": bool(starttls)}
    if login:
        options |= {"authenticator": box.authenticate, "auth_required": True, "auth_require_tls": not tls}

    def session() -> SMTP:
        with warnings.catch_warnings(action="ignore"):  # it does not see that TLS was there from the start
            return SMTP(box, loop=loop, **options)

    async def serve() -> asyncio.Server:
        return await loop.create_server(session, "127.0.0.1", 0, ssl=tls)

    def run() -> None:
        asyncio.set_event_loop(loop)
        server = loop.run_until_complete(serve())
        box.address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        ready.set()
        loop.run_forever()
        for listening in server.sockets:  # who was accepted before a server is closed is lost with it, still open
            loop.remove_reader(listening.fileno())
        loop.run_until_complete(asyncio.sleep(0.01))
        server.close()
        tasks = asyncio.all_tasks(loop)
        for task in tasks:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        loop.close()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    ready.wait(10)
    try:
        yield box
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
