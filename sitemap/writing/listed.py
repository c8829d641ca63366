"""Owns what an index says of the set's own files: a file that stays the same keeps the date that was said of it."""

from collections.abc import Iterator, Sequence
from typing import BinaryIO, Final

from sitemap import dates
from sitemap.errors import DestinationError, NotASitemap, SourceError
from sitemap.model import Child
from sitemap.writing.destination import Stage
from sitemap.writing.target import FileFacts
from sitemap.writing.verify import Kind, verify

_PIECE: Final = 1024 * 1024  # bytes


def listed(stage: Stage, index: str, files: Sequence[FileFacts], today: str) -> Iterator[Child]:
    """The staged files as the index of this name lists them; ``today`` is a W3C date, or "" when none is to be said.

    Without a published index, ``lastmod`` is the newest of a file's entries. With one, a file with the content of the
    published one keeps what was said of it. Another says its newest entry if that is later, else ``today`` if that is,
    so that whoever reads only what has changed reads it (https://www.sitemaps.org/protocol.html#sitemapIndexTagDefinitions).
    OSError and DestinationError when what is staged or published cannot be read.
    """
    said = _said(stage, index)
    for facts in files:
        if said is None:
            yield Child(facts.url, facts.lastmod)
            continue
        before = said.get(facts.url, "")
        if facts.url in said and _is_published(stage, facts):
            yield Child(facts.url, before)
            continue
        yield Child(
            facts.url, next((date for date in (facts.lastmod, today) if dates.is_later(date, before)), before)
        )


def _said(stage: Stage, index: str) -> dict[str, str] | None:
    """The dates of the published index by URL, as far as it can be read; None when there is no index."""
    from sitemap.reader.reader import SitemapReader  # noqa: PLC0415 - only sets with an index pay for it

    file = stage.published(index)
    if file is None:
        return None
    said: dict[str, str] = {}
    with file:
        try:
            for item in SitemapReader(file, file=index):
                if not isinstance(item, Child):
                    return None  # it was a set of one file
                said[item.loc] = item.lastmod
        except (NotASitemap, SourceError):
            pass
    return said or None


def _is_published(stage: Stage, facts: FileFacts) -> bool:
    """Whether the published file has the same content, however it is packed."""
    file = stage.published(facts.name)
    if file is None:
        return False
    with file, stage.read(facts.name) as staged:
        if _equal(file, staged):
            return True
        if not facts.name.endswith(".gz"):
            return False
        file.seek(0)
        try:
            verify(file, facts, Kind.ANY)
        except DestinationError:
            return False
        return True


def _equal(one: BinaryIO, other: BinaryIO) -> bool:
    while (piece := one.read(_PIECE)) == other.read(_PIECE):
        if not piece:
            return True
    return False
