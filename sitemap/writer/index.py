"""Sitemap indexes: which sitemaps an index may list, its limits, its lastmods, and its bytes."""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final
from urllib.parse import urlsplit

from sitemap import dates, limits, location, namespaces
from sitemap.errors import DestinationError, EmptySitemap, InvalidEntry, LimitExceeded, NotASitemap, SourceError
from sitemap.escape import XML_DECLARATION
from sitemap.model import Child, Entry
from sitemap.validation import entry_fault
from sitemap.writer.destination import Destination, Directory, Stage, place_of
from sitemap.writer.extensions import text_element, url_element
from sitemap.writer.files import destination_error, has_same_bytes
from sitemap.writer.names import TOKEN, FileNames, interim_name
from sitemap.writer.options import Stylesheet, stylesheet_instructions
from sitemap.writer.staged import FileFacts, FileKind, Published, SitemapFile, commit_set, verify

INDEX_FOOT: Final = b"</sitemapindex>\n"


def index_head(stylesheets: Sequence[Stylesheet | str] = ()) -> bytes:
    """The bytes before the first child."""
    return (
        f'{XML_DECLARATION}{stylesheet_instructions(stylesheets)}<sitemapindex xmlns="{namespaces.SITEMAP}">\n'
    ).encode()


def encode_child(child: Child) -> bytes:
    """One ``sitemap`` element and a line end, UTF-8."""
    return f"<sitemap>{url_element('loc', child.loc)}{text_element('lastmod', child.lastmod)}</sitemap>\n".encode()


_LASTMOD: Final = "0000-00-00T00:00:00.000000+00:00"  # reserves room for a lastmod that is not known yet
_NOTHING: Final = re.compile("(?!)")

Vouched = Callable[[str], bool]


class IndexChildren:
    """The sitemaps of one index: counts those of the set itself, and keeps the others.

    An index has at most 50,000 sitemaps and 52,428,800 bytes (https://www.sitemaps.org/protocol.html#index).
    """

    def __init__(self, names: FileNames, head: bytes, vouched: Vouched | None = None) -> None:
        self.others: list[Child] = []
        self._location = names.url(names.index)
        self._directory = names.directory
        self._head = head
        self._vouched = vouched
        self._count = 0
        self._size = len(head) + len(INDEX_FOOT)
        self._known: set[tuple[tuple[str, str], str]] = set()

    def reserve(self, loc: str) -> None:
        """Reserve room for a sitemap of the set under an interim name. LimitExceeded if the index is full."""
        self._count_child(Child(interim_name(loc, "0" * TOKEN), _LASTMOD))

    def add(self, child: Child | Published) -> Child:
        """Add a sitemap of another set. InvalidEntry if it cannot be listed, LimitExceeded if the index is full."""
        if isinstance(child, Published):
            if child.index:
                raise InvalidEntry(
                    child.url, "an index cannot list another index. Add the sitemaps of that index instead"
                )
            child = Child(child.url, child.files[-1].lastmod)
        is_vouched = self._vouched is not None and self._vouched(child.loc)
        if fault := entry_fault(Entry(child.loc, child.lastmod), "" if is_vouched else self._directory):
            raise InvalidEntry(child.loc, fault)
        try:
            key = (location.origin_and_path(child.loc), urlsplit(child.loc).query)
        except ValueError as error:
            raise InvalidEntry(child.loc, str(error)) from error
        if location.is_same_document(child.loc, self._location):
            raise InvalidEntry(child.loc, "it is the index itself")
        if key in self._known:
            raise InvalidEntry(child.loc, "the index lists this sitemap already")
        self._count_child(child)
        self._known.add(key)
        self.others.append(child)
        return child

    def write(self, stage: Stage, name: str, own: Iterable[Child]) -> FileFacts:
        """Stage the index: the set's own sitemaps, then the others. LimitExceeded if it is too large."""
        children = [*own, *self.others]
        with SitemapFile(stage, name) as target:
            target.write(self._head)
            for child in children:
                target.write(encode_child(child))
            target.write(INDEX_FOOT)
        newest = dates.newest_date([child.lastmod for child in children]) or ""
        facts = target.facts(self._location, len(children), newest)
        if facts.size > limits.MAX_BYTES:  # a lastmod may have more digits than reserved
            raise LimitExceeded(
                f"the index {self._location} would have {facts.size:,} bytes, which is too many. List the sitemaps "
                "in several indexes"
            )
        return facts

    def _count_child(self, child: Child) -> None:
        size = len(encode_child(child))
        if self._count >= limits.MAX_CHILDREN or self._size + size > limits.MAX_BYTES:
            raise LimitExceeded(
                f"the index {self._location} is full with {self._count:,} sitemaps. Use several indexes"
            )
        self._count += 1
        self._size += size


def write_index(
    destination: Destination | str | os.PathLike[str],
    location: str,
    children: Iterable[Child | Published],
    *,
    vouched: Vouched | None = None,
    stylesheets: Sequence[Stylesheet | str] = (),
) -> Published:
    """Publish an index of existing sitemaps, in their order: sitemaps of other tools, feeds, published sets.

    They must be in the directory of ``location`` or below, or vouched for. ``stylesheets`` are the URLs of stylesheets
    to link. Raises InvalidLocation, InvalidEntry for a sitemap that cannot be listed (an index, the index itself, a
    sitemap that is already listed), LimitExceeded, EmptySitemap without children, DestinationError. After any error
    nothing is published.
    """
    names = FileNames(location)
    listed = IndexChildren(names, index_head(stylesheets), vouched)
    for child in children:
        listed.add(child)
    if not listed.others:
        raise EmptySitemap(f"the index {location} would list no sitemaps, so the published files stay unchanged")
    if isinstance(destination, str | os.PathLike):
        destination = Directory(destination)
    stage = destination.stage()
    try:
        facts = listed.write(stage, names.index, ())
        commit_set(stage, [(facts, FileKind.XML)], _NOTHING)
    except OSError as error:
        raise destination_error(f"{place_of(destination, location)} cannot be written", error) from error
    finally:
        stage.discard()
    return Published(location, facts.entries, True, (facts,))


def index_children(stage: Stage, index: str, files: Sequence[FileFacts], today: str) -> Iterator[Child]:
    """The staged files as children of the index; ``today`` is a W3C date, or "" for none.

    Without a published index, ``lastmod`` is the newest of a file's entries. With one, an unchanged file keeps its
    published lastmod. A changed file gets its newest entry's lastmod if that is later than the published one, else
    ``today`` if that is later, so that crawlers that fetch only changed sitemaps fetch it
    (https://www.sitemaps.org/protocol.html#sitemapIndexTagDefinitions). OSError and DestinationError if a staged or
    published file cannot be read.
    """
    published = _published_dates(stage, index)
    for facts in files:
        if published is None:
            yield Child(facts.url, facts.lastmod)
            continue
        lastmod = published.get(facts.url, "")
        if facts.url not in published or not _is_published(stage, facts):
            lastmod = next((date for date in (facts.lastmod, today) if dates.is_later(date, lastmod)), lastmod)
        yield Child(facts.url, lastmod)


def _published_dates(stage: Stage, index: str) -> dict[str, str] | None:
    """The lastmods of the published index by URL, as far as it can be read; None if there is no index."""
    from sitemap.reader.parser import SitemapReader  # noqa: PLC0415 - needed only for sets with an index

    file = stage.published(index)
    if file is None:
        return None
    lastmods: dict[str, str] = {}
    with file:
        try:
            for item in SitemapReader(file, file=index):
                if not isinstance(item, Child):
                    return None  # a set of one file
                lastmods[item.loc] = item.lastmod
        except (NotASitemap, SourceError):
            pass
    return lastmods or None


def _is_published(stage: Stage, facts: FileFacts) -> bool:
    """Whether the published file has the same content, even if compressed differently."""
    file = stage.published(facts.name)
    if file is None:
        return False
    with file, stage.read(facts.name) as staged:
        if has_same_bytes(file, staged):
            return True
        if not facts.name.endswith(".gz"):
            return False
        file.seek(0)
        try:
            verify(file, facts, FileKind.ANY)
        except DestinationError:
            return False
        return True
