"""Owns where the children of a local index are: in its folder or below, and never elsewhere."""

import os
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote

from sitemap import location
from sitemap.errors import SourceError
from sitemap.escape import shown


def beside(path: str | Path, url: str = "") -> Callable[[str], Path]:
    """Finds the children of an index that is a local file in its own folder, or below, and never elsewhere.

    With the ``url`` of the index a child is where its URL is relative to that; any other is known by its file name. The
    opener raises SourceError for what is not there.
    """
    folder = Path(path).parent
    prefix = location.directory(url) if url else ""

    def find(child: str) -> Path:
        try:
            where = "".join(location.parts(child))
            relative = (
                where[len(prefix) :] if prefix and where.startswith(prefix) else where.rpartition("/")[2]
            )
            found = Path(os.path.realpath(folder / unquote(relative)))
            if found.is_relative_to(os.path.realpath(folder)) and found.is_file():
                return folder / unquote(relative)
        except (OSError, ValueError) as error:
            raise SourceError(f"no file beside its index can have that name: {error}") from error
        raise SourceError(f"there is no file {shown(unquote(relative))} in the folder {shown(str(folder))}")

    return find
