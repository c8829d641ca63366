"""Builds messages: the JSON document of a notice, its sentence and delivery id, and texts by templates."""

import hashlib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Any, Final

import msgspec
from jinja2 import StrictUndefined, TemplateSyntaxError
from jinja2 import Template as JinjaTemplate
from jinja2.sandbox import ImmutableSandboxedEnvironment
from msgspec.structs import replace

from crawler.audit.summary import AuditSummary, GroupSummary, NewFinding
from crawler.config.secrets import plain_line
from crawler.errors import UsageError
from crawler.model import Url
from crawler.notify.notice import Notice, Occasion
from crawler.publish.changes import Change, ChangeCounts, ChangeKind, counts_text

_FILE: Final = "<template>"  # Jinja2's name in tracebacks for a template without a file

_BUILTIN_TEMPLATES: Final = Path(__file__).parent / "templates"

_environment: Final = ImmutableSandboxedEnvironment(
    undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True, autoescape=False
)


class TemplateError(Exception):
    """A template cannot render a notice. The text is a sentence that names the line."""


class MessageTemplate:
    """A Jinja2 template; ``what`` names it in messages. It sees only the document.

    Raises UsageError for invalid syntax. An unknown name in it is an error.
    """

    def __init__(self, source: str, what: str) -> None:
        self._what = what
        try:
            self._template = _compiled(source)
        except TemplateSyntaxError as error:
            raise UsageError(f"{what}, line {error.lineno}: {error.message}") from None

    @classmethod
    def read(cls, path: Path, setting: str) -> "MessageTemplate":
        """Read the template file that ``setting`` names. Raises UsageError."""
        try:
            source = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
            raise UsageError(f"the template {path} of {setting} cannot be read: {reason}") from None
        return cls(source, f"the template {path}")

    @classmethod
    def builtin(cls, name: str) -> "MessageTemplate":
        """A built-in template, by the name of its file."""
        return cls((_BUILTIN_TEMPLATES / name).read_text(encoding="utf-8"), f"the template {name}")

    def render(self, document: Mapping[str, Any]) -> str:
        """Render a document. Raises TemplateError."""
        try:
            return self._template.render(document)
        except Exception as error:  # noqa: BLE001 - the fence: a template is foreign code
            line = _line(error.__traceback__)
            raise TemplateError(f"{self._what}{line}: {str(error) or type(error).__name__}") from None

    def error(self, problem: str) -> TemplateError:
        """The error for an invalid result."""
        return TemplateError(f"{self._what}: {problem}")


@lru_cache(maxsize=64)  # many sites of a schedule share a template
def _compiled(source: str) -> JinjaTemplate:
    return _environment.from_string(source)


def _line(trace: TracebackType | None) -> str:
    line = ""
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == _FILE:
            line = f", line {trace.tb_lineno}"
        trace = trace.tb_next
    return line


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


def notice_sentence(notice: Notice) -> str:
    """The notice in one sentence without its full stop."""
    if notice.occasion is not Occasion.CHANGES:
        return plain_line(notice.message).rstrip(".")
    listed = f"{notice.pages:,} {'page is' if notice.pages == 1 else 'pages are'} listed"
    if not notice.after:
        return f"the whole sitemap is new: {listed}"
    return f"{counts_text(notice.counts)}; {listed} now"


def notice_document(notice: Notice, key: str) -> dict[str, Any]:
    """The message for programs, version 1, which templates see too.

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


def render_text(template: MessageTemplate, notice: Notice, key: str) -> str:
    """A text for people by a template, which sees every value on one harmless line. Raises TemplateError."""
    document: Any = _made_safe(notice_document(notice, key))
    return template.render(document)


def render_mail(template: MessageTemplate, notice: Notice, key: str) -> tuple[str, str]:
    """The subject and the text of an e-mail: the first non-empty line of the rendered template, and the rest.

    Raises TemplateError.
    """
    text = render_text(template, notice, key).lstrip()
    subject, _, body = text.partition("\n")
    if not plain_line(subject):
        raise template.error("the first line of the output is empty, but this line is the subject of the e-mail")
    return plain_line(subject)[:200], f"{body.strip()}\n"


def render_body(template: MessageTemplate, notice: Notice, key: str) -> bytes:
    """The JSON body that a template makes for a webhook. Raises TemplateError."""
    text = render_text(template, notice, key).strip()
    try:
        msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        problem = str(error).removesuffix(".")
        raise template.error(f"the output is not JSON ({problem}). Write values as {{{{ name | tojson }}}}") from None
    return text.encode()


def _made_safe(value: Any) -> Any:
    if isinstance(value, str):
        return plain_line(value)
    if isinstance(value, dict):
        return {name: _made_safe(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_made_safe(item) for item in value]
    return value


# ---------------------------------------------------------------- samples

_SAMPLE_TIME: Final = "2026-01-31T03:30:00+00:00"

_SAMPLE_CHANGES: Final = tuple(
    Change(url=Url(f"https://www.example.com/{kind}"), kind=kind, reason="a sample", run=7, at=_SAMPLE_TIME)
    for kind in ChangeKind
)

_SAMPLE_CHANGED: Final = Notice(
    site="example",
    url=Url("https://www.example.com/"),
    sitemap_url=Url("https://www.example.com/sitemap.xml"),
    feed_url="https://www.example.com/sitemap-recent.atom",
    occasion=Occasion.CHANGES,
    after=6,
    until=7,
    at=_SAMPLE_TIME,
    pages=120,
    counts=ChangeCounts.of(_SAMPLE_CHANGES),
    changes=_SAMPLE_CHANGES,
)

_SAMPLE_AUDITED: Final = AuditSummary(
    number=2,
    started=1_769_830_200.0,
    before=1_769_225_400.0,
    verdict="conclusive",
    why="",
    pages=120,
    uncompared=0,
    severities={"error": 0, "warning": 2, "note": 0},
    groups=[GroupSummary(name="orphans", title="Orphans", total=2, new=1, mended=1, severities={"warning": 2})],
    first=[
        NewFinding(
            rule="orphan.sitemap",
            severity="warning",
            title="In the sitemap only",
            url="https://www.example.com/lost",
            sentence="a sample",
        )
    ],
)

_SAMPLE_WITHOUT_CHANGES: Final = replace(_SAMPLE_CHANGED, counts=ChangeCounts(), changes=())

SAMPLE_NOTICES: Final = (
    _SAMPLE_CHANGED,
    replace(_SAMPLE_WITHOUT_CHANGES, occasion=Occasion.TROUBLE, exit_code=3, message="publish refused: a sample"),
    replace(_SAMPLE_WITHOUT_CHANGES, occasion=Occasion.RECOVERY, message="published: a sample"),
    replace(
        _SAMPLE_WITHOUT_CHANGES,
        occasion=Occasion.FINDINGS,
        after=0,
        until=0,
        message=f"audit: {_SAMPLE_AUDITED.sentence}",
        audit=_SAMPLE_AUDITED,
        report="/srv/audit",
    ),
    replace(
        _SAMPLE_WITHOUT_CHANGES,
        occasion=Occasion.TEST,
        after=0,
        until=0,
        pages=0,
        message="this is a test message: no event occurred",
    ),
)

"""One notice of each occasion, to check a template before it is needed."""
