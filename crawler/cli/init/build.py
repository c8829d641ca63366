"""Finds the generator that builds a directory, and its static files."""

import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from crawler.lastmod.generators import SiteGenerator, find_generator


class SiteBuild(NamedTuple):
    """The ``generator`` in the directory ``root``, and the ``folder`` into which it builds the site."""

    root: Path
    generator: SiteGenerator
    folder: Path


def build_of(folder: Path) -> SiteBuild | None:
    """The generator that builds a folder or one above: that of a directory above, or the one here."""
    for root in (*folder.parents, Path.cwd()):
        with suppress(OSError, UnicodeDecodeError):
            if found := find_generator([f"{path.name}/" if path.is_dir() else path.name for path in root.iterdir()]):
                found = found.with_settings((root / found.marker).read_text(encoding="utf-8"))
                build = SiteBuild(root, found, Path(os.path.normpath(root / found.output)))
                if folder.is_relative_to(build.folder):
                    return build
    return None


def source_of(file: Path) -> Path | None:
    """The file that each build of a generator copies to a published file, whether it exists or not."""
    build = build_of(file.parent)
    static = build.root / build.generator.static if build and build.generator.static else None
    return static / file.relative_to(build.folder) if build and static and static.is_dir() else None
