"""The options of ``siteatlas lint``, with their help."""

from enum import StrEnum
from typing import Annotated, Any

import typer


def variable_of(flag: str) -> str:
    """The environment variable of a flag."""
    return f"SITEATLAS_{flag.removeprefix('--').replace('-', '_').upper()}"


class Form(StrEnum):
    """The formats of a report, as on the command line."""

    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"
    JUNIT = "junit"


class FailOn(StrEnum):
    """The lowest severity of a failure."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"
    NEVER = "never"


class ListMode(StrEnum):
    """What to list instead of checking."""

    TREE = "tree"
    URLS = "urls"
    COUNTS = "counts"


def _option(flag: str, text: str, *, metavar: str | None = None, least: int | None = None) -> Any:
    """An option that its environment variable sets too."""
    return typer.Option(
        flag, help=text, metavar=metavar, min=least, envvar=variable_of(flag.partition("/")[0]), show_envvar=False
    )


SourcesArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="FILE|URL|-",
        help="Sitemaps, indexes or feeds. In a folder, lint reads sitemap.xml or sitemap_index.xml. For the URL of a "
        "page, lint reads the sitemaps of the site. A - means standard input.",
        show_default=False,
    ),
]
UrlOption = Annotated[
    str,
    typer.Option(
        "--url",
        metavar="URL",
        help="Public URL of FILE. With it, lint checks whether the sitemap may list its URLs (the location rule). For "
        "several files, give the URL of their directory, with a slash at the end.",
        show_default=False,
    ),
]
FormatOption = Annotated[Form, _option("--format", "Format of the report or the list.")]
FailOnOption = Annotated[
    FailOn, _option("--fail-on", "End with exit code 10 if there are findings of this severity or worse.")
]
IgnoreOption = Annotated[
    list[str] | None,
    _option(
        "--ignore",
        "Leave out the findings of these rules. RULES are names such as lastmod.invalid, or families such as lastmod, "
        "with commas between them. "
        "May be repeated.",
        metavar="RULES",
    ),
]
RulesOption = Annotated[
    list[str] | None,
    _option(
        "--only", "Report only the findings of these rules. RULES as in --ignore. May be repeated.", metavar="RULES"
    ),
]
RulesTableOption = Annotated[bool, typer.Option("--rules", help="Print the table of rules and exit.")]
ListOption = Annotated[
    ListMode | None,
    typer.Option(
        "--list",
        help="List the content of the sitemaps, and check nothing: a tree of files, all URLs, or their number.",
    ),
]
FollowOption = Annotated[bool, _option("--follow/--no-follow", "Also read the sitemaps that an index lists.")]
MaxDepthOption = Annotated[
    int, typer.Option("--max-depth", min=1, metavar="N", help="Maximum levels of files to read below the first file.")
]
MaxFilesOption = Annotated[int, _option("--max-files", "Maximum files to read in total.", metavar="N", least=1)]
MaxBytesOption = Annotated[
    str, _option("--max-bytes", "Maximum bytes to read of one file, uncompressed.", metavar="SIZE")
]
MaxEntriesOption = Annotated[
    int, _option("--max-entries", "Maximum entries to read from one file.", metavar="N", least=1)
]
MaxFindingsOption = Annotated[
    int, _option("--max-findings", "Maximum findings of one rule in one file to print. 0: all.", metavar="N", least=0)
]
CrossSubmitsOption = Annotated[
    bool | None,
    _option(
        "--cross-submits/--no-cross-submits",
        "If a sitemap lists URLs of other hosts, check whether the robots.txt of those hosts names the sitemap. "
        "Default: on for a URL, off for a FILE.",
    ),
]
VerboseOption = Annotated[
    bool, typer.Option("--verbose", "-v", help="Show what each rule requires, and where the rule comes from.")
]
