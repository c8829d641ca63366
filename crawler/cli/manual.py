"""``siteatlas manual``: prints the pages of the manual, which the distribution contains."""

import sys
from pathlib import Path
from typing import Final

from crawler.cli.errors import CommandErrors
from crawler.cli.options import with_parameters
from crawler.errors import UsageError

_PACKAGE: Final = Path(__file__).parents[1]
_FOLDERS: Final = (_PACKAGE / "manual", _PACKAGE.parent / "docs")  # of an installed program, of a checkout


@with_parameters()
def manual(page: str = "README") -> None:
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
        if name not in pages:  # without its folder
            name = next((known for known in pages if known.endswith(f"/{name}")), "")
        if not name:
            raise UsageError(f"the manual has no page {page!r}. siteatlas manual lists the pages")
        sys.stdout.write(pages[name].read_text(encoding="utf-8"))
