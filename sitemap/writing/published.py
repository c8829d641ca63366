"""Owns the last step of every set: its files are read back, compared, and swapped in; and what is told of it then."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sitemap.writing.destination import Stage
from sitemap.writing.target import FileFacts
from sitemap.writing.verify import Kind, verify


@dataclass(frozen=True, slots=True)
class Published:
    """A published set. ``files`` has the children in order and, last, the file at ``url`` that leads to them.

    ``urls`` counts the entries; of an index that was written alone, the sitemaps it lists.
    """

    url: str  # the address to announce
    urls: int
    index: bool
    files: tuple[FileFacts, ...]
    beside: tuple[FileFacts, ...] = ()  # stylesheets


def commit(stage: Stage, files: Sequence[tuple[FileFacts, Kind]], stale: re.Pattern[str]) -> None:
    """Publish the staged files in this order, the one that leads to the others last. DestinationError, OSError."""
    for facts, kind in files:
        with stage.read(facts.name) as file:
            verify(file, facts, kind)
    stage.commit([facts.name for facts, _ in files], stale)
