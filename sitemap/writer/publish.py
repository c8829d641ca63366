"""Owns the last step of every set: its files are read back, compared, and swapped in; and what is told of it then."""

import gzip
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import BinaryIO, Final, cast

from sitemap import limits
from sitemap.errors import DestinationError, LimitExceeded
from sitemap.writer.destination import Stage
from sitemap.writer.extensions import url_element
from sitemap.writer.names import url_beside
from sitemap.writer.target import FileFacts, FileKind, SitemapFile, verify

_BEFORE: Final = b"<sitemap>"

_AFTER: Final = b"</loc>"


def write_interim_index(stage: Stage, index: FileFacts, name: str, urls: Mapping[str, str]) -> FileFacts:
    """Stage an index of ours once more as ``name``, with the children in ``urls`` at other addresses.

    Flat memory: an index has a line for each child. DestinationError when a child is not listed, LimitExceeded when the
    addresses make the index too long.
    """
    other = {_loc(url): _loc(new) for url, new in urls.items()}
    with stage.read(index.name) as file, SitemapFile(stage, name) as target:
        packed = index.name.endswith(".gz")
        for line in cast("BinaryIO", gzip.GzipFile(fileobj=file)) if packed else file:
            listed = line.partition(_AFTER)[0] + _AFTER if line.startswith(_BEFORE) else b""
            new = other.pop(listed, b"")
            target.write(line.replace(listed, new, 1) if new else line)
    facts = target.facts(index.url, index.entries, index.lastmod)
    if facts.size > limits.MAX_BYTES:
        raise LimitExceeded(
            f"the index {index.url} takes {facts.size:,} bytes under interim names: split the set"
        )
    if other:
        raise DestinationError(
            f"the staged {index.name} lists not all files of its set; nothing was published"
        )
    return facts


def _loc(url: str) -> bytes:
    return _BEFORE + url_element("loc", url).encode()


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


def commit_set(stage: Stage, files: Sequence[tuple[FileFacts, FileKind]], stale: re.Pattern[str]) -> None:
    """Publish the staged files, the one that leads to the others last. What has no entries is not listed anywhere.

    DestinationError, OSError; LimitExceeded when an index is so full that it cannot be published in steps.
    """
    for facts, kind in files:
        _check(stage, facts, kind)
    lead, kind = files[-1]
    listed = {facts.name: facts.url for facts, _ in files[:-1] if facts.entries}

    def interim(name: str, others: Mapping[str, str]) -> None:
        urls = {listed[child]: url_beside(listed[child], other) for child, other in others.items()}
        _check(stage, write_interim_index(stage, lead, name, urls), kind)

    unlisted = [facts.name for facts, _ in files[:-1] if not facts.entries]
    stage.commit([*listed, lead.name], stale, unlisted, interim)


def _check(stage: Stage, facts: FileFacts, kind: FileKind) -> None:
    with stage.read(facts.name) as file:
        verify(file, facts, kind)
