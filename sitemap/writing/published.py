"""Owns the last step of every set: its files are read back, compared, and swapped in; and what is told of it then."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sitemap.writing.destination import Stage
from sitemap.writing.interim import relist
from sitemap.writing.naming import beside
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
    """Publish the staged files, the one that leads to the others last. What has no entries is not listed anywhere.

    DestinationError, OSError; LimitExceeded when an index is so full that it cannot be published in steps.
    """
    for facts, kind in files:
        _check(stage, facts, kind)
    lead, kind = files[-1]
    listed = {facts.name: facts.url for facts, _ in files[:-1] if facts.entries}

    def interim(name: str, others: Mapping[str, str]) -> None:
        urls = {listed[child]: beside(listed[child], other) for child, other in others.items()}
        _check(stage, relist(stage, lead, name, urls), kind)

    unlisted = [facts.name for facts, _ in files[:-1] if not facts.entries]
    stage.commit([*listed, lead.name], stale, unlisted, interim)


def _check(stage: Stage, facts: FileFacts, kind: Kind) -> None:
    with stage.read(facts.name) as file:
        verify(file, facts, kind)
