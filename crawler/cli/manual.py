"""``siteatlas manual``: prints the pages of the manual, which the distribution contains."""

import sys
from pathlib import Path
from typing import Annotated, Final

import typer

from crawler.cli.errors import CommandErrors
from crawler.cli.help import RAW
from crawler.errors import UsageError

EPILOG: Final = f"""{RAW}Examples:
  siteatlas manual                list the pages
  siteatlas manual audit          print the page about audits
  siteatlas manual setups/hugo    print the shortest way for a site of Hugo
"""
_PACKAGE: Final = Path(__file__).parents[1]
_FOLDERS: Final = (_PACKAGE / "manual", _PACKAGE.parent / "docs")  # of an installed program, of a checkout


def manual(
    page: Annotated[
        str, typer.Argument(metavar="PAGE", help="Name of the page. Without it, the list.", show_default=False)
    ] = "README",
) -> None:
    """Print a page of the manual as Markdown.

    The pages are those of the installed version.
    """
    with CommandErrors(verbose=False):
        pages = {
            str(file.relative_to(folder).with_suffix("")): file
            for folder in filter(Path.is_dir, _FOLDERS)
            for file in folder.rglob("*.md")
        }
        name = page.removeprefix("docs/").removesuffix(".md")
        if name not in pages:
            raise UsageError(f"the manual has no page {page!r}. siteatlas manual lists the pages")
        sys.stdout.write(pages[name].read_text(encoding="utf-8"))
