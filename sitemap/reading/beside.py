"""Owns where the children of a local index are: in its folder or below, and never elsewhere."""

from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote

from sitemap import location
from sitemap.errors import SourceError
from sitemap.quoting import shown


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
            found = (folder / unquote(relative)).resolve()
            if found.is_relative_to(folder.resolve()) and found.is_file():
                return folder / unquote(relative)
        except (OSError, ValueError) as error:
            raise SourceError(f"{shown(child)} is not beside its index: {error}") from error
        raise SourceError(
            f"{shown(child)} is not beside its index: there is no file {shown(unquote(relative))}"
        )

    return find
