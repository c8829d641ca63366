"""``siteatlas export``: writes what the last run knows of every URL and every link as tables."""

import sys
from contextlib import closing
from pathlib import Path
from typing import Any

from crawler.cli.errors import CommandErrors
from crawler.cli.options import StatesConfigOption, with_flags
from crawler.cli.sites import find_state_directory
from crawler.dataset.build import open_dataset
from crawler.dataset.schema import TABLES
from crawler.dataset.write import DataFormat, format_of, write_dataset
from crawler.errors import UsageError
from crawler.units import count_text


@with_flags("state.directory", "site.sitemap_url")
def export(  # noqa: PLR0913 - the options of a command
    output: Path,
    url: str | None = None,
    form: DataFormat | None = None,
    table: list[str] | None = None,
    config: StatesConfigOption = None,
    site: str | None = None,
    verbose: bool = False,
    **flags: Any,
) -> None:
    """Write the pages, links, redirects and changes of a site as tables.

    export reads what the last finished run stored, also while a run is active. It requests nothing from the site.
    """
    with CommandErrors(verbose):
        tables = _known(table or list(TABLES))
        chosen = format_of(output, form)
        with closing(open_dataset(find_state_directory(url, config, site, flags, audited=True))) as db:
            notes = write_dataset(db, output, chosen, tables)
            (pages,) = db.execute("SELECT count(*) FROM pages").fetchone()
            (links,) = db.execute("SELECT count(*) FROM typed_link").fetchone()
        sys.stdout.write(f"{count_text(pages, 'URL')} and {count_text(links, 'link')} in {output}\n")
        for note in notes:
            sys.stdout.write(f"note: {note}\n")


def _known(names: list[str]) -> list[str]:
    for name in names:
        if name not in TABLES:
            raise UsageError(f"there is no table {name!r}. The tables are {', '.join(TABLES)}")
    return names
