"""The tables of the manual that are made from the code, in place: ``python -m tests.manual_tables`` writes them.

A table stands between ``<!-- table: NAME -->`` and ``<!-- end of table -->``. Tests compare each with the code.
"""

import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import typer.main

from crawler.audit.rules import RULES as AUDIT
from crawler.cli.app import app
from crawler.config.config import Config
from crawler.config.reference import reference_sections
from crawler.dataset.schema import reference as dataset_tables
from crawler.schedule.status import ScheduleStatus
from crawler.schedule.web.metrics import SiteMetrics
from sitemap import RULES as LINT
from sitemap import Rule

ROOT: Final = Path(__file__).parents[1]
_in_place: Final = re.compile(r"(<!-- table: ([a-z-]+) -->\n).*?(<!-- end of table -->)", re.DOTALL)
_code: Final = re.compile(r"(?:^|[,;] (?:and )?)(?=\d+ )")


def rendered(page: str) -> str:
    """The text of a page with its tables as the code has them now. Raises KeyError for a table nobody makes."""
    return _in_place.sub(lambda found: f"{found[1]}\n{TABLES[found[2]]()}\n{found[3]}", page)


def pages() -> list[Path]:
    """The pages that have such tables."""
    everything = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "docs/setups").glob("*.md")]
    return sorted(page for page in everything if "<!-- table: " in page.read_text(encoding="utf-8"))


def _table(head: Sequence[str], rows: Iterator[Sequence[str]]) -> str:
    lines = (head, ["---"] * len(head), *rows)
    return "".join(f"| {' | '.join(cell.replace('|', '&#124;') for cell in line)} |\n" for line in lines)


def _rules(rules: Sequence[Rule]) -> str:
    return _table(
        ("rule", "severity", "what it says", "what to do"),
        (
            (
                f"[`{rule.id}`]({rule.source})" if rule.source else f"`{rule.id}`",
                rule.severity,
                f"**{rule.title}**: {rule.sentence}",
                rule.remedy,
            )
            for rule in rules
        ),
    )


def _keys() -> str:
    parts = []
    for name, section in reference_sections().items():
        text = " ".join(re.findall("^# (.*)", section.lines, re.MULTILINE))
        rows = ((f"`{key.name}`", _default(key.lines), *_meaning_and_option(key.text)) for key in section.keys.values())
        table = _table(("key", "default", "meaning", "option"), rows) if section.keys else ""
        parts.append(f"## [{name}]\n\n{textwrap.fill(text, 120)}\n\n{table}")
    return "\n".join(parts).rstrip("\n") + "\n"


def _occasions() -> str:
    channels = {name: section for name, section in Config().all_channels.items() if "on" in type(section).model_fields}
    rows = ((f"`[{name}]`", ", ".join(f"`{each}`" for each in section.on)) for name, section in channels.items())
    return _table(("section", "default of `on`"), rows)


def _metrics() -> str:
    families = SiteMetrics(ScheduleStatus(version="", now=0.0, sites=()), {}).collect()
    ends = {"counter": "_total", "info": "_info"}
    return _table(
        ("metric", "meaning"), ((f"`{each.name}{ends.get(each.type, '')}`", each.documentation) for each in families)
    )


def _default(lines: str) -> str:
    setting = re.sub(r"^# .*\n", "", lines, flags=re.MULTILINE)  # without one, it is a comment
    value = " ".join(setting.partition("= ")[2].split())
    return f"`{value}`" if value else ""


def _meaning_and_option(text: str) -> tuple[str, str]:
    found = re.fullmatch(r"(.*) \((--[\w-]+)\)", text)
    return (found[1], f"`{found[2]}`") if found else (text, "")


def _exit_codes() -> str:
    return _table(("command", "exit code", "meaning"), _exit_code_rows(typer.main.get_command(app), "siteatlas"))


def _exit_code_rows(command: Any, name: str) -> Iterator[Sequence[str]]:
    """Rows of a command and of those below it, for what their help says and the help of siteatlas does not."""
    for number, meaning in _exit_codes_of(command).items():
        if meaning not in {"usage", *GENERAL.values()}:
            yield f"`{name}`", number, meaning
    for word, inner in vars(command).get("commands", {}).items():
        yield from _exit_code_rows(inner, f"{name} {word}")


def _exit_codes_of(command: Any) -> dict[str, str]:
    said = " ".join(str(command.epilog or "").partition("Exit codes:")[2].split()).rstrip(".")
    parts = [part.strip().partition(" ") for part in _code.split(said) if part]
    return {number: meaning for number, _, meaning in parts}


GENERAL: Final = _exit_codes_of(typer.main.get_command(app))
"""What an exit code means, if a command does not say something else."""
TABLES: Final[dict[str, Callable[[], str]]] = {
    "audit-rules": lambda: _rules([rule for rule in AUDIT.values() if rule.id not in LINT]),
    "data": dataset_tables,
    "exit-codes": _exit_codes,
    "keys": _keys,
    "lint-rules": lambda: _rules(list(LINT.values())),
    "metrics": _metrics,
    "occasions": _occasions,
}
"""Each table by its name."""


def main() -> None:
    """Write the tables of all pages anew."""
    for page in pages():
        page.write_text(rendered(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
