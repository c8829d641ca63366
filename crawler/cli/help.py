"""How a command explains itself: its options in groups, in lines that any terminal can show."""

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Final

from typer import BadParameter, Exit, echo
from typer.core import TyperCommand, TyperOption

from crawler.config.deprecated import FLAGS, deprecated, given_twice
from crawler.errors import UsageError

if TYPE_CHECKING:
    from typer._click import Context, HelpFormatter

EXIT_CODES: Final = (
    "Exit codes: 0 done, 1 internal error, 2 usage or configuration, 3 publish refused, 4 incomplete (run again to go "
    "on), 5 nothing crawlable, 6 state in use by another process, 7 storage error, 10 findings."
)
RAW: Final = "\b\n"  # what follows, up to an empty line, is shown line by line
_OWN: Final = "Options"
_PLAIN: Final = {
    "Input should be a valid integer, unable to parse string as an integer": "it must be a whole number",
    "Input should be a valid number, unable to parse string as a number": "it must be a number",
}


class Command(TyperCommand):
    """A command whose help has a heading for each group of options (``rich_help_panel``), without frames."""

    def get_short_help_str(self, limit: int = 120) -> str:
        """The first sentence, whole, in the list of commands."""
        return super().get_short_help_str(max(limit, 120))

    def parse_args(self, ctx: "Context", args: list[str]) -> list[str]:
        """Read the options; what cannot be one is said in words of our own."""
        try:
            return super().parse_args(ctx, list(self._renamed(ctx, args)))
        except BadParameter as error:
            error.message = _PLAIN.get(error.message, error.message).removeprefix("Value error, ")
            raise

    def _renamed(self, ctx: "Context", args: list[str]) -> Iterator[str]:
        """The arguments with every flag under its present name; warns of deprecated ones, and refuses both at once."""
        options = [option for option in self.get_params(ctx) if isinstance(option, TyperOption)]
        by_flag = {flag: option for option in options for flag in (*option.opts, *option.secondary_opts)}
        typed: dict[TyperOption, set[str]] = {}
        words = iter(args)
        for word in words:
            flag, equals, value = word.partition("=")
            option = by_flag.get(FLAGS.get(flag, flag))
            if word == "--" or option is None:
                yield word
                yield from words if word == "--" else ()
                continue
            typed.setdefault(option, set()).add(flag)
            yield f"{FLAGS.get(flag, flag)}{equals}{value}"
            if not option.is_flag and not equals:
                yield from islice(words, 1)
        for flags in typed.values() if not ctx.resilient_parsing else ():
            for old in sorted(flags & FLAGS.keys()):
                if flags - FLAGS.keys():
                    echo(f"siteatlas: {given_twice(old, FLAGS[old])}", err=True)
                    raise Exit(UsageError.exit_code)
                echo(f"siteatlas: {deprecated(old, FLAGS[old])}", err=True)

    def format_options(self, ctx: "Context", formatter: "HelpFormatter") -> None:
        """Write the options, group by group."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            if record := parameter.get_help_record(ctx):
                name = "Arguments" if parameter.param_type_name == "argument" else _OWN
                groups.setdefault(getattr(parameter, "rich_help_panel", None) or name, []).append(record)
        for name, records in groups.items():
            with formatter.section(name):
                formatter.write_dl(records, col_max=26)
