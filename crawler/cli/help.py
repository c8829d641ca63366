"""Formats the help of a command as plain text, and reads an option that went as the setting in its place."""

import re
import tomllib
from importlib.resources import files
from inspect import cleandoc
from pathlib import Path
from typing import TYPE_CHECKING, Final

from typer import BadParameter, Typer, echo
from typer._click.exceptions import NoSuchOption, UsageError
from typer.core import TyperCommand

if TYPE_CHECKING:
    from typer._click import Context, HelpFormatter, Parameter

COMMANDS: Final[dict[str, dict[str, str]]] = tomllib.loads(
    (files("crawler.cli") / "commands.toml").read_text(encoding="utf-8")
)
"""The module of each command, which has a function or a Typer of its name; its first sentence; the end of its help."""
EXIT_CODES: Final = COMMANDS["run"]["epilog"]
RAW: Final = "\b\n"  # click keeps the line breaks of the paragraph that follows
_HAD_OPTIONS: Final = frozenset({"crawl", "audit"})  # the commands that had options which are settings now
_OPTIONS_PANEL: Final = "Options"
_HYPHEN: Final = "\u2011"  # replaces hyphens while lines are wrapped, so that no line breaks there
_MARGIN: Final = 2  # columns that click leaves free; a command in an example may use them
_PLAIN_MESSAGES: Final = {
    "Input should be a valid integer, unable to parse string as an integer": "it must be a whole number",
    "Input should be a valid number, unable to parse string as a number": "it must be a number",
}


def epilog_of(name: str) -> str:
    """The end of the help of a command: examples, which keep their lines, and exit codes."""
    text = COMMANDS[name].get("epilog", "")
    return (RAW if "\n" in text else "") + text.replace("{exit_codes}", EXIT_CODES)


def _is_configuration(word: str) -> bool:
    """Whether a word names a configuration file: no URL, pattern of URLs, or path of one."""
    is_url = word.startswith("/") or "://" in word or "*" in word
    return word.endswith(".toml") and (not is_url or Path(word).is_file())


class HelpfulCommand(TyperCommand):
    """A command whose help has a heading for each group of options (``rich_help_panel``), without frames."""

    def get_short_help_str(self, limit: int = 120) -> str:
        """The first sentence, for the list of commands."""
        return super().get_short_help_str(max(limit, 120))

    def get_help(self, ctx: "Context") -> str:
        """The help as a whole."""
        return super().get_help(ctx).replace(_HYPHEN, "-")

    def collect_usage_pieces(self, ctx: "Context") -> list[str]:
        """The parts of the usage line: optional arguments in brackets."""
        arguments = [parameter for parameter in self.get_params(ctx) if parameter.param_type_name == "argument"]
        return ["[OPTIONS]", *map(_usage, arguments)]

    def format_help(self, ctx: "Context", formatter: "HelpFormatter") -> None:
        """Write what the command does, its options, examples and exit codes."""
        self.format_usage(ctx, formatter)
        _write(formatter, self.help or "")
        self.format_options(ctx, formatter)
        _write(formatter, self.epilog or "")

    def parse_args(self, ctx: "Context", args: list[str]) -> list[str]:
        """Parse the options; rewords the messages of pydantic, and reads an option that went as its setting."""
        words = list(args)
        try:
            return super().parse_args(ctx, args)
        except BadParameter as error:
            plain = _PLAIN_MESSAGES.get(error.message, error.message).removeprefix("Value error, ")
            error.message = plain.replace("Input should be greater than or equal to", "it must be at least")
            raise
        except NoSuchOption as error:
            if self.name in _HAD_OPTIONS and any(parameter.name == "settings" for parameter in self.params):
                from crawler.cli.options import setting_instead  # noqa: PLC0415 - only for a wrong command line

                shown, words = setting_instead(error.option_name, words)
                if shown:
                    name = words[1].partition("=")[0].replace(".", "__")
                    shown = next((parameter.opts[0] for parameter in self.params if parameter.name == name), shown)
                    echo(f"siteatlas: {error.option_name} is an older form of {shown}", err=True)
                    return self.parse_args(ctx, words)
            raise
        except UsageError as error:
            extra = error.message.partition("unexpected extra argument(s) (")[2].removesuffix(")")
            option = "--config" if extra.endswith(".toml") else "--site"
            is_word = len(extra.split()) == 1 and "://" not in extra
            if is_word and any(option in parameter.opts for parameter in self.params):
                error.message += f". Did you mean {option} {extra}?"
            raise

    def invoke(self, ctx: "Context") -> object:
        """Run the command, but not if an argument is a configuration: that is an option, if the command takes one."""
        is_taken = any("--config" in parameter.opts for parameter in self.params)
        for parameter in self.params:
            given = ctx.params.get(parameter.name or "") if parameter.param_type_name == "argument" else None
            for word in given if isinstance(given, list | tuple) else (given,):
                if _is_configuration(str(word)):
                    how = f"Use --config {word}" if is_taken else f"siteatlas {self.name} takes no configuration"
                    raise UsageError(f'"{word}" is the name of a configuration file. {how}', ctx)
        return super().invoke(ctx)

    def format_options(self, ctx: "Context", formatter: "HelpFormatter") -> None:
        """Write the options, group by group."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            name = "Arguments" if parameter.param_type_name == "argument" else _OPTIONS_PANEL
            panel = getattr(parameter, "rich_help_panel", None) or name
            if record := parameter.get_help_record(ctx):
                groups.setdefault(panel, []).append(_plain(parameter, *record))
        for name, records in groups.items():
            with formatter.section(name):
                formatter.write_dl(records, col_max=26)


def command_group(text: str) -> Typer:
    """A command that has commands of its own; ``text`` is its help."""
    return Typer(
        help=text,
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )


def _usage(argument: "Parameter") -> str:
    name = argument.metavar or argument.name
    shown = name if argument.required or name.startswith("[") else f"[{name}]"
    return f"{shown}..." if argument.nargs != 1 and not name.startswith("[") else shown


def _write(formatter: "HelpFormatter", text: str) -> None:
    formatter.write_paragraph()
    with formatter.indentation():
        width = formatter.width + _MARGIN - formatter.current_indent
        paragraphs = cleandoc(text).replace("-", _HYPHEN).split("\n\n")
        formatter.write_text("\n\n".join(_continued(each, width) if RAW[0] in each else each for each in paragraphs))


def _continued(text: str, width: int) -> str:
    """Example commands with lines of at most ``width`` where options allow it, to be pasted into a shell."""
    lines: list[str] = []
    for line in text.split("\n"):
        shown, *options = [line] if len(line) <= width else line.split(f" {_HYPHEN}")
        for option in options:
            if len(f"{shown} {_HYPHEN}{option} \\") > width:
                lines.append(f"{shown} \\")
                shown = "   "
            shown += f" {_HYPHEN}{option}"
        lines.append(shown)
    return "\n".join(lines)


def _plain(parameter: "Parameter", name: str, text: str) -> tuple[str, str]:
    """Name and help of a parameter, without Python types: ``--runs N``, ``Number of last runs to show.``"""
    if parameter.param_type_name == "argument":
        name = parameter.metavar or parameter.name
    name = re.sub(r"--([a-z-]+) / --no-\1", r"--[no-]\1", name)
    return re.sub("[<>]", "", name), re.sub(r"x>=(\d+)", r"at least \1", text).replace("-", _HYPHEN)
