"""A template of a message: made of an operator's file or of ours, tried at once, and run in a sandbox."""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from jinja2 import StrictUndefined, TemplateSyntaxError
from jinja2 import Template as JinjaTemplate
from jinja2.sandbox import ImmutableSandboxedEnvironment

from crawler.errors import UsageError

_FILE: Final = "<template>"  # what Jinja2 calls a template that was given as a text, in tracebacks
_OURS: Final = Path(__file__).parent / "templates"
_environment: Final = ImmutableSandboxedEnvironment(
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
    autoescape=False,
)


class TemplateError(Exception):
    """A template cannot make a message of what there is to tell. The text is a sentence that names the line."""


class MessageTemplate:
    """A Jinja2 template; ``what`` names it in sentences. It sees what is given to it and nothing else.

    Raises UsageError when it is none. A name that does not exist is a fault.
    """

    def __init__(self, source: str, what: str) -> None:
        self._what = what
        try:
            self._template = _compiled(source)
        except TemplateSyntaxError as error:
            raise UsageError(f"{what}, line {error.lineno}: {error.message}") from None

    @classmethod
    def read(cls, path: Path, setting: str) -> "MessageTemplate":
        """The template in a file that ``setting`` names. Raises UsageError."""
        try:
            source = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is no UTF-8 text"
            raise UsageError(f"cannot read the template {path} of {setting}: {why}") from None
        return cls(source, f"the template {path}")

    @classmethod
    def builtin(cls, name: str) -> "MessageTemplate":
        """One of ours, by the name of its file."""
        return cls((_OURS / name).read_text(encoding="utf-8"), f"the template {name}")

    def render(self, document: Mapping[str, Any]) -> str:
        """The text that it makes of a document. Raises TemplateFault."""
        try:
            return self._template.render(document)
        except Exception as error:  # noqa: BLE001 - the fence: a template is foreign code
            line = _line(error.__traceback__)
            raise TemplateError(f"{self._what}{line}: {str(error) or type(error).__name__}") from None

    def error(self, problem: str) -> TemplateError:
        """What to raise when that which it made is not what it should be."""
        return TemplateError(f"{self._what}: {problem}")


@lru_cache(maxsize=64)  # a thousand sites of one schedule have the same
def _compiled(source: str) -> JinjaTemplate:
    return _environment.from_string(source)


def _line(trace: TracebackType | None) -> str:
    line = ""
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == _FILE:
            line = f", line {trace.tb_lineno}"
        trace = trace.tb_next
    return line
