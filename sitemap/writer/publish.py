"""The last step of a set: reads the staged files back, verifies them, and publishes them."""

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

_START: Final = b"<sitemap>"
_END: Final = b"</loc>"


def write_interim_index(stage: Stage, index: FileFacts, name: str, urls: Mapping[str, str]) -> FileFacts:
    """Stage our index again as ``name``, with new URLs for the children in ``urls``.

    Flat memory: an index has a line for each child. DestinationError if a child is not listed, LimitExceeded if the new
    URLs make the index too long.
    """
    new_locs = {_loc(url): _loc(new) for url, new in urls.items()}
    with stage.read(index.name) as file, SitemapFile(stage, name) as target:
        compressed = index.name.endswith(".gz")
        for line in cast("BinaryIO", gzip.GzipFile(fileobj=file)) if compressed else file:
            listed = line.partition(_END)[0] + _END if line.startswith(_START) else b""
            new = new_locs.pop(listed, b"")
            target.write(line.replace(listed, new, 1) if new else line)
    facts = target.facts(index.url, index.entries, index.lastmod)
    if facts.size > limits.MAX_BYTES:
        raise LimitExceeded(
            f"the index {index.url} takes {facts.size:,} bytes while the files have temporary "
            f"names, which is too large: split the set"
        )
    if new_locs:
        raise DestinationError(f"the staged {index.name} does not list all files of its set; nothing was published")
    return facts


def _loc(url: str) -> bytes:
    return _START + url_element("loc", url).encode()


@dataclass(frozen=True, slots=True)
class Published:
    """A published set. ``files`` has the children in order and, last, the file at ``url`` that lists them.

    ``urls`` is the number of entries, or for an index written alone, of the listed sitemaps.
    """

    url: str  # the URL to announce
    urls: int
    index: bool
    files: tuple[FileFacts, ...]
    beside: tuple[FileFacts, ...] = ()  # stylesheets


def commit_set(stage: Stage, files: Sequence[tuple[FileFacts, FileKind]], stale: re.Pattern[str]) -> None:
    """Publish the staged files, of which the last lists the others. Files without entries are not listed.

    DestinationError, OSError; LimitExceeded if an index has no room for interim names.
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
