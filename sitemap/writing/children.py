"""Owns what an index lists: which sitemaps may be in it, how many find room, and its bytes."""

import os
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final
from urllib.parse import urlsplit

from sitemap import dates, limits, location
from sitemap.errors import EmptySitemap, InvalidEntry, LimitExceeded
from sitemap.model import Child, Entry
from sitemap.validation import entry_fault
from sitemap.writing.destination import Destination, Directory, Stage
from sitemap.writing.explain import failure
from sitemap.writing.index import INDEX_FOOT, encode_child, index_head
from sitemap.writing.naming import TOKEN, Names, interim_name
from sitemap.writing.published import Published, commit
from sitemap.writing.stylesheet import Stylesheet
from sitemap.writing.target import FileFacts, Target
from sitemap.writing.verify import Kind

_LASTMOD: Final = "0000-00-00T00:00:00.000000+00:00"  # what is kept free for one that is not known yet
_NOTHING: Final = re.compile("(?!)")
Vouched = Callable[[str], bool]


class Children:
    """The sitemaps of one index: those of the set itself, which are counted, and others, which are kept.

    An index has at most 50,000 sitemaps and 52,428,800 bytes (https://www.sitemaps.org/protocol.html#index).
    """

    def __init__(self, names: Names, head: bytes, vouched: Vouched | None = None) -> None:
        self.others: list[Child] = []
        self._location = names.location
        self._directory = names.directory
        self._head = head
        self._vouched = vouched
        self._count = 0
        self._size = len(head) + len(INDEX_FOOT)
        self._known: set[tuple[tuple[str, str], str]] = set()

    def reserve(self, loc: str) -> None:
        """Keep room for a sitemap of the set, also under an interim name. LimitExceeded when the index is full."""
        self._count_in(Child(interim_name(loc, "0" * TOKEN), _LASTMOD))

    def add(self, child: Child | Published) -> Child:
        """Keep another set's sitemap. InvalidEntry when it cannot be listed, LimitExceeded when the index is full."""
        if isinstance(child, Published):
            if child.index:
                raise InvalidEntry(
                    child.url, "it is an index, and an index lists sitemaps only: add its children"
                )
            child = Child(child.url, child.files[-1].lastmod)
        elsewhere = self._vouched is not None and self._vouched(child.loc)
        if fault := entry_fault(Entry(child.loc, child.lastmod), "" if elsewhere else self._directory):
            raise InvalidEntry(child.loc, fault)
        try:
            key = (location.parts(child.loc), urlsplit(child.loc).query)
        except ValueError as error:
            raise InvalidEntry(child.loc, str(error)) from error
        if location.same(child.loc, self._location):
            raise InvalidEntry(child.loc, "it is the index itself")
        if key in self._known:
            raise InvalidEntry(child.loc, "it is in the index already")
        self._count_in(child)
        self._known.add(key)
        self.others.append(child)
        return child

    def write(self, stage: Stage, name: str, own: Iterable[Child]) -> FileFacts:
        """Stage the index: the set's own sitemaps, then the others. LimitExceeded when it is too big after all."""
        children = [*own, *self.others]
        with Target(stage, name) as target:
            target.write(self._head)
            for child in children:
                target.write(encode_child(child))
            target.write(INDEX_FOOT)
        newest = dates.newest([child.lastmod for child in children]) or ""
        facts = target.facts(self._location, len(children), newest)
        if facts.size > limits.MAX_BYTES:  # a lastmod may have any number of digits
            raise LimitExceeded(f"the index {self._location} takes {facts.size:,} bytes: split the set")
        return facts

    def _count_in(self, child: Child) -> None:
        size = len(encode_child(child))
        if self._count >= limits.MAX_CHILDREN or self._size + size > limits.MAX_BYTES:
            raise LimitExceeded(
                f"the index {self._location} is full with {self._count:,} sitemaps: split the set"
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
    """Publish an index of sitemaps that exist already, in their order: other tools' sitemaps, feeds, published sets.

    They must be in the directory of ``location`` or below, or vouched for. ``stylesheets`` are the addresses of
    stylesheets to link. Raises InvalidLocation, InvalidEntry for a sitemap that cannot be listed (an index, the index
    itself, one that is listed already), LimitExceeded, EmptySitemap when there are none, DestinationError.
    Whatever is raised, nothing was published.
    """
    names = Names(location)
    listed = Children(names, index_head(stylesheets), vouched)
    for child in children:
        listed.add(child)
    if not listed.others:
        raise EmptySitemap(f"{location} would list nothing: the published set is left as it is")
    if isinstance(destination, str | os.PathLike):
        destination = Directory(destination)
    stage = destination.stage()
    try:
        facts = listed.write(stage, names.index, ())
        commit(stage, [(facts, Kind.XML)], _NOTHING)
    except OSError as error:
        raise failure(f"{location} cannot be written", error) from error
    finally:
        stage.discard()
    return Published(location, facts.entries, True, (facts,))
