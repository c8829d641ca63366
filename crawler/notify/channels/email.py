"""E-mail: a message in plain text to people, which nothing that a website says can turn into another."""

from collections.abc import Iterable
from datetime import UTC, datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from typing import Final

from crawler.errors import UsageError
from crawler.notify.channels.message import SAMPLE_NOTICES, delivery_id, render_mail
from crawler.notify.channels.smtp import SmtpServer, hand_over
from crawler.notify.channels.template import MessageTemplate, TemplateError
from crawler.notify.notice import Notice, Occasion, SendResult, SendStatus

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
