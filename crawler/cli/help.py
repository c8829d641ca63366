"""Formats the help of a command: its most used options, all of them, or one group of them, as plain text."""

import re
from collections import Counter
from inspect import cleandoc
from typing import TYPE_CHECKING, Final

from typer import BadParameter, echo
from typer.core import TyperCommand, TyperOption

from crawler.errors import UsageError

if TYPE_CHECKING:
    from typer._click import Context, HelpFormatter, Parameter

EXIT_CODES: Final = (
    "Exit codes: 0 done, 1 internal error, 2 usage or configuration, 3 the gate refused the sitemap or held pages, "
    "4 incomplete (run again to continue), 5 nothing to crawl, 6 another process uses the state, 7 storage error, "
    "10 findings."
)
RAW: Final = "\b\n"  # click keeps the line breaks of the paragraph that follows
COMMON_OPTIONS: Final = frozenset(
    (
        *("--output", "--include", "--exclude", "--max-pages", "--subdomains", "--host", "--concurrency", "--rate"),
        *("--user-agent", "--header", "--render", "--lastmod", "--gzip", "--state", "--sitemap", "--log", "--report"),
        *("--fail-on", "--min-visits", "--search", "--cron", "--every", "--listen", "--upload"),
    )
)
"""The flags of the configuration that ``--help`` shows of a command with more than ``MAX_SHOWN`` of them."""
MAX_SHOWN: Final = 12
_ALL: Final = "--help-all"
_GROUP_KEY: Final = "siteatlas.help"  # in the context: the group to show, "" for all, absent for the most used options
_OPTIONS_PANEL: Final = "Options"
_HYPHEN: Final = "\u2011"  # replaces hyphens while lines are wrapped, so that no line breaks there
_MARGIN: Final = 2  # columns that click leaves free; a command in an example may use them
_PLAIN_MESSAGES: Final = {
    "Input should be a valid integer, unable to parse string as an integer": "it must be a whole number",
    "Input should be a valid number, unable to parse string as a number": "it must be a number",
}


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
        """Parse the options; rewords the messages of pydantic."""
        if _ALL in args[: args.index("--") if "--" in args else None] and not ctx.resilient_parsing:
            self.show_help(ctx, "")
        if not ctx.resilient_parsing:
            self._warn_of_hidden(ctx, args)
        try:
            return super().parse_args(ctx, args)
        except BadParameter as error:
            plain = _PLAIN_MESSAGES.get(error.message, error.message).removeprefix("Value error, ")
            error.message = plain.replace("Input should be greater than or equal to", "it must be at least")
            raise

    def _warn_of_hidden(self, ctx: "Context", args: list[str]) -> None:
        """Warn of options that belong into the configuration file."""
        typed = {word.partition("=")[0]: None for word in args}
        for option in self.get_params(ctx):
            if isinstance(option, TyperOption) and option.hidden:
                section, _, key = (option.name or "").partition("__")
                place = f"set {key} in [{section}] of the configuration file"
                for flag in typed.keys() & {*option.opts, *option.secondary_opts}:
                    echo(f"siteatlas: {flag} is deprecated in this command: {place}", err=True)

    def show_help(self, ctx: "Context", group: str) -> None:
        """Print the help with all options, or with those of one group, and end the command."""
        ctx.meta[_GROUP_KEY] = group
        echo(self.get_help(ctx))
        ctx.exit()

    def find_group(self, ctx: "Context", start: str) -> str:
        """The group of options whose name starts so, "" for all. Raises UsageError."""
        counts = self.group_sizes(ctx)
        found = [name for name in counts if name.lower().startswith(start.lower())]
        if start and not found:
            listed = f"Its groups are {', '.join(counts)}" if counts else "It has only one group"
            raise UsageError(f"{self.name} has no group of options named {start!r}. {listed}")
        return found[0] if start else ""

    def group_sizes(self, ctx: "Context") -> dict[str, int]:
        """The groups of options beside the command's own, with the number of options in each."""
        shown = (option for option in self.get_params(ctx) if not getattr(option, "hidden", False))
        return Counter(panel for option in shown if (panel := getattr(option, "rich_help_panel", None)))

    def format_options(self, ctx: "Context", formatter: "HelpFormatter") -> None:
        """Write the options, group by group: the most used ones, all, or those of one group."""
        sizes, chosen = self.group_sizes(ctx), ctx.meta.get(_GROUP_KEY)
        is_short = chosen is None and sum(sizes.values()) > MAX_SHOWN
        groups: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            name = "Arguments" if parameter.param_type_name == "argument" else _OPTIONS_PANEL
            panel = getattr(parameter, "rich_help_panel", None) or name
            is_rare = panel in sizes and is_short and COMMON_OPTIONS.isdisjoint(parameter.opts)
            if is_rare or (chosen and panel != chosen):
                continue
            if record := parameter.get_help_record(ctx):
                name, text = _plain(parameter, *record)
                groups.setdefault(panel, []).append((name, _first_sentence(text) if is_short else text))
        for name, records in groups.items():
            with formatter.section(name):
                formatter.write_dl(records, col_max=26)
        if is_short:
            listed = ", ".join(f"{panel} ({count})" for panel, count in sizes.items())
            name = ctx.command_path.partition(" ")[2]
            _write(formatter, f"These are the most used options. {ctx.command_path} {_ALL} shows all options.")
            _write(formatter, f"siteatlas help {name} GROUP shows those of one group: {listed}.")


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


def _first_sentence(text: str) -> str:
    """The first sentence of the help of an option, and its default."""
    sentence, end, rest = text.partition(". ")
    _, mark, default = rest.partition("  [default: ")
    return f"{sentence}{end.strip()}{mark}{default}"


def _plain(parameter: "Parameter", name: str, text: str) -> tuple[str, str]:
    """Name and help of a parameter, without Python types: ``--runs N``, ``Number of last runs to show.``"""
    if parameter.param_type_name == "argument":
        name = parameter.metavar or parameter.name
    return re.sub("[<>]", "", name), re.sub(r"x>=(\d+)", r"at least \1", text).replace("-", _HYPHEN)
