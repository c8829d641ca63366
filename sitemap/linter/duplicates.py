"""Owns the search for URLs that are listed more than once, in one file or in several of a set."""

from collections import Counter
from dataclasses import dataclass
from itertools import chain

from sitemap.escape import quote_text
from sitemap.finding import FindingCollector
from sitemap.linter.urls import normal_key
from sitemap.reader.tree import LineOf


@dataclass(frozen=True, slots=True)
class _Repeat:
    """A URL that was listed before: the rule it breaks, where and how it stands, and its hash."""

    rule: str
    line: int
    loc: str
    number: int


class _UrlHashes:
    """The hashes of the URLs of all documents."""

    def __init__(self) -> None:
        self.hashes: set[int] = set()
        self._batches: list[list[int]] = []  # all of them again, until the first duplicate
        self._repeats = False

    def add(self, hashes: list[int]) -> set[int] | None:
        """Add a batch, and answer which of it were there before; None when it holds nothing twice either.

        Until the first duplicate only the growth of the set is looked at: each look into so large a set is slow.
        """
        before = self.hashes.intersection(hashes) if self._repeats else set()
        known = len(self.hashes)
        self.hashes.update(hashes)
        if len(self.hashes) - known == len(hashes):
            if not self._repeats:
                self._batches.append(hashes)
            return None
        if not self._repeats:
            self._repeats = True
            before = set(hashes).intersection(chain.from_iterable(self._batches))
            self._batches.clear()
        return before


class DocumentUrls:
    """The URLs of one document; made by :meth:`Duplicates.begin`."""

    def __init__(self, file: str, findings: FindingCollector, seen: _UrlHashes) -> None:
        self.file = file
        self.findings = findings
        self.repeats: list[_Repeat] = []  # of each rule as many as will be said
        self.counts: Counter[str] = Counter()  # of each rule, all
        self._batches: list[list[int]] = []  # the hashes of all URLs, in their order
        self._seen = seen  # in this document and those before it
        self._own: set[int] = set()  # those of this document, once duplicates make it needed
        self._in_own = 0  # how many of the batches are in it

    def add(self, locs: list[str], keys: list[str], line_of: LineOf) -> None:
        """Take down a batch of URLs, given also by the keys that tell them apart."""
        hashes = list(map(hash, keys))
        if (before := self._seen.add(hashes)) is not None:
            self._take_down(locs, hashes, before, line_of)
        self._batches.append(hashes)

    def places(self, wanted: set[int]) -> dict[int, int]:
        """Where each of some hashes is listed first, from 1, as far as they are here."""
        found: dict[int, int] = {}
        for place, number in enumerate(chain.from_iterable(self._batches), 1):
            if number in wanted and found.setdefault(number, place) == place and len(found) == len(wanted):
                break
        return found

    def _take_down(self, locs: list[str], hashes: list[int], before: set[int], line_of: LineOf) -> None:
        here: set[int] = set()
        own = self._own
        own.update(*self._batches[self._in_own :])
        self._in_own = len(self._batches)
        for place, number in enumerate(hashes):
            if number in here or number in own:
                rule = "duplicate.loc"
            elif number in before:
                rule = "duplicate.across_files"
            else:
                rule = ""
            here.add(number)
            if not rule:
                continue
            self.counts[rule] += 1
            if self.counts[rule] <= self.findings.most:  # of others the first place need not be known
                self.repeats.append(_Repeat(rule, line_of(place), locs[place], number))


class DuplicateChecks:
    """Remembers of each URL its 64-bit hash, in a set and in order.

    That takes about 90 bytes, as measured: 170 MiB for two million URLs, and 340 for four.
    That two different URLs of ten million have one hash happens in one of a hundred thousand such sets.
    """

    def __init__(self) -> None:
        self._seen = _UrlHashes()
        self._listings: list[DocumentUrls] = []

    def begin(self, file: str, findings: FindingCollector) -> DocumentUrls:
        """Begin a document."""
        listing = DocumentUrls(file, findings, self._seen)
        self._listings.append(listing)
        return listing

    def is_listed(self, url: str) -> bool:
        """Whether a URL, given in the form to compare, is listed in any document."""
        return hash(normal_key(url)) in self._seen.hashes

    def finish(self) -> None:
        """Say of the duplicates where each was listed first."""
        wanted = {
            again.number
            for listing in self._listings
            for again in listing.repeats
            if again.rule == "duplicate.across_files"
        }
        first: dict[int, str] = {}
        for listing in self._listings:
            if not wanted:
                break
            places = listing.places(wanted)
            first |= {number: f"entry {place:,} of {listing.file}" for number, place in places.items()}
            wanted -= places.keys()
        for listing in self._listings:
            own = {again.number for again in listing.repeats if again.rule == "duplicate.loc"}
            places = listing.places(own) if own else {}
            for again in listing.repeats:
                own_place = again.rule == "duplicate.loc"
                where = f"entry {places[again.number]:,}" if own_place else first[again.number]
                listing.findings.add(
                    again.rule, again.line, f"{quote_text(again.loc)} is listed already, as {where}"
                )
            for rule, times in listing.counts.items():
                listing.findings.count(rule, max(times - listing.findings.most, 0))
