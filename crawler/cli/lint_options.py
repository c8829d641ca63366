"""The options of ``siteatlas lint``, with their help."""

from enum import StrEnum
from typing import Annotated

import typer


class LintFormat(StrEnum):
    """The format of the report."""

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


SourcesArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="FILE|URL|-",
        help="Sitemaps, indexes or feeds. A folder stands for the sitemap.xml or sitemap_index.xml in it, the URL of a "
        "page for the sitemaps of its site, and - for standard input.",
        show_default=False,
    ),
]
UrlOption = Annotated[
    str,
    typer.Option(
        "--url",
        metavar="URL",
        help="Public URL of FILE, for the location rule. For several files: the URL of their directory, with a slash "
        "at its end.",
        show_default=False,
    ),
]
FormatOption = Annotated[
    LintFormat,
    typer.Option("--format", help="Format of the report or the list.", envvar="SITEATLAS_FORMAT", show_envvar=False),
]
FailOnOption = Annotated[
    FailOn,
    typer.Option(
        "--fail-on",
        help="Exit with code 10 for findings of this severity or worse.",
        envvar="SITEATLAS_FAIL_ON",
        show_envvar=False,
    ),
]
IgnoreOption = Annotated[
    list[str] | None,
    typer.Option(
        "--ignore",
        metavar="RULES",
        help="Leave out the findings of these rules: ids, or families such as lastmod, separated by commas. "
        "May be repeated.",
        envvar="SITEATLAS_IGNORE",
        show_envvar=False,
    ),
]
RulesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--only",
        metavar="RULES",
        help="Report the findings of these rules only, named as in --ignore. May be repeated.",
        envvar="SITEATLAS_ONLY",
        show_envvar=False,
    ),
]
RulesTableOption = Annotated[bool, typer.Option("--rules", help="Print the table of rules and exit.")]
ListOption = Annotated[
    ListMode | None,
    typer.Option("--list", help="List the content instead of checking it: the files, every URL, or counts."),
]
FollowOption = Annotated[
    bool,
    typer.Option(
        "--follow/--no-follow",
        help="Read the sitemaps that an index lists.",
        envvar="SITEATLAS_FOLLOW",
        show_envvar=False,
    ),
]
MaxDepthOption = Annotated[
    int, typer.Option("--max-depth", min=1, metavar="N", help="Maximum levels below the first file.")
]
MaxFilesOption = Annotated[
    int,
    typer.Option(
        "--max-files",
        min=1,
        metavar="N",
        help="Maximum files to read in total.",
        envvar="SITEATLAS_MAX_FILES",
        show_envvar=False,
    ),
]
MaxBytesOption = Annotated[
    str,
    typer.Option(
        "--max-bytes",
        metavar="SIZE",
        help="Maximum bytes of one file, uncompressed.",
        envvar="SITEATLAS_MAX_BYTES",
        show_envvar=False,
    ),
]
MaxEntriesOption = Annotated[
    int,
    typer.Option(
        "--max-entries",
        min=1,
        metavar="N",
        help="Maximum entries to read from one file.",
        envvar="SITEATLAS_MAX_ENTRIES",
        show_envvar=False,
    ),
]
MaxFindingsOption = Annotated[
    int,
    typer.Option(
        "--max-findings",
        min=0,
        metavar="N",
        help="Maximum findings of one rule in one file to show one by one. 0: all.",
        envvar="SITEATLAS_MAX_FINDINGS",
        show_envvar=False,
    ),
]
CrossSubmitsOption = Annotated[
    bool | None,
    typer.Option(
        "--cross-submits/--no-cross-submits",
        help="If a sitemap lists URLs of other hosts, check whether the robots.txt of those hosts names the "
        "sitemap. Default: on for a URL, off for a FILE.",
        show_default=False,
        envvar="SITEATLAS_CROSS_SUBMITS",
        show_envvar=False,
    ),
]
VerboseOption = Annotated[bool, typer.Option("--verbose", "-v", help="Show what each rule demands, and its source.")]
