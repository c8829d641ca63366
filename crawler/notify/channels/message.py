"""Builds messages: the JSON document of a notice, its sentence and delivery id, and the text of an e-mail."""

import hashlib
import socket
import textwrap
from pathlib import Path
from typing import Any, Final

import msgspec
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from crawler.config.secrets import plain_line
from crawler.errors import NEXT_RUN
from crawler.notify.notice import Notice, notice_sentence

_environment: Final = Environment(
    loader=FileSystemLoader(Path(__file__).parent),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
    autoescape=False,  # noqa: S701 - plain text, with every value on one harmless line
)
_MAX_SUBJECT: Final = 150  # characters

DOCUMENT_VERSION: Final = 1
"""Version of the document. New fields keep the version; removed or changed ones need a new one."""


def delivery_id(notice: Notice, key: str) -> str:
    """An id of 32 hexadecimal digits, the same whenever one notice is sent to one channel."""
    parts = [notice.sitemap_url, key, notice.occasion.value, str(notice.after), str(notice.until)]
    if not notice.until:  # without a run, only the time distinguishes two notices of trouble
        parts.append(notice.at)
    if notice.audit:
        parts.append(str(notice.audit.number))
    return hashlib.sha256("\n".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def notice_document(notice: Notice, key: str) -> dict[str, Any]:
    """The message for programs, version 1.

    ``changes`` are the first of each kind, ``more`` counts the others; ``id`` is :func:`delivery_id`. ``audit`` is null
    unless the occasion is "findings": then :meth:`crawler.audit.summary.AuditSummary.as_values`, and ``report``, the
    directory of its report on the machine that made it.
    """
    return {
        "version": DOCUMENT_VERSION,
        "id": delivery_id(notice, key),
        "occasion": notice.occasion.value,
        "site": notice.site,
        "url": notice.url,
        "sitemap_url": notice.sitemap_url,
        "feed_url": notice.feed_url,
        "at": notice.at,
        "sentence": notice_sentence(notice),
        "exit_code": notice.exit_code,
        "runs": {"after": notice.after, "until": notice.until},
        "pages": notice.pages,
        "counts": {**msgspec.to_builtins(notice.counts), "total": notice.counts.total},
        "changes": msgspec.to_builtins(notice.changes),
        "more": max(0, notice.counts.total - len(notice.changes)),
        "audit": {**notice.audit.as_values(), "report": notice.report} if notice.audit else None,
    }


def notice_json(notice: Notice, key: str) -> bytes:
    """The document as it is sent: the same notice gives the same bytes."""
    document = notice_document(notice, key)
    try:
        return msgspec.json.encode(document) + b"\n"
    except UnicodeEncodeError:  # a lone surrogate, as in some file names
        return msgspec.json.encode(_made_safe(document)) + b"\n"


def mail_texts(notice: Notice, key: str) -> tuple[str, str]:
    """The subject and the text of an e-mail."""
    document: Any = _made_safe(notice_document(notice, key))
    sender = ", ".join(filter(None, (socket.gethostname(), NEXT_RUN.command)))
    text = _environment.get_template("mail.txt").render(document, effect=notice.effect, sender=plain_line(sender))
    subject, _, body = text.lstrip().partition("\n")
    return textwrap.shorten(plain_line(subject), _MAX_SUBJECT, placeholder=" ..."), f"{body.strip()}\n"


def _made_safe(value: Any) -> Any:
    if isinstance(value, str):
        return plain_line(value)
    if isinstance(value, dict):
        return {name: _made_safe(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_made_safe(item) for item in value]
    return value
