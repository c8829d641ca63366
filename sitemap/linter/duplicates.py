"""Finds URLs that are listed more than once, in one file or in several files of a set."""

from collections import Counter
from dataclasses import dataclass
from itertools import chain

from sitemap.escape import quote_text
from sitemap.linter.urls import normal_key
from sitemap.reader.tree import LineOf
from sitemap.rules import FindingCollector


@dataclass(frozen=True, slots=True)
class _Repeat:
    """A URL that is already listed: the rule that it breaks, its line, the URL as written, and its hash."""

    rule: str
    line: int
    loc: str
    digest: int


class _UrlHashes:
    """The hashes of the URLs of all documents."""

    def __init__(self) -> None:
        self.hashes: set[int] = set()
        self._batches: list[list[int]] = []  # all hashes, until the first duplicate
        self._repeats = False

    def add(self, hashes: list[int]) -> set[int] | None:
        """Add a batch. Returns those that an earlier batch has, or None if the batch has no duplicate at all.

        Until the first duplicate only the size of the set is checked: a lookup in a set this large is slow.
        """
        known = self.hashes.intersection(hashes) if self._repeats else set()
        size = len(self.hashes)
        self.hashes.update(hashes)
        if len(self.hashes) - size == len(hashes):
            if not self._repeats:
                self._batches.append(hashes)
            return None
        if not self._repeats:
            self._repeats = True
            known = set(hashes).intersection(chain.from_iterable(self._batches))
            self._batches.clear()
        return known


class DocumentUrls:
    """The URLs of one document; made by :meth:`DuplicateChecks.begin`."""

    def __init__(self, file: str, findings: FindingCollector, all_hashes: _UrlHashes) -> None:
        self.file = file
        self.findings = findings
        self.repeats: list[_Repeat] = []  # of each rule only as many as are reported
        self.counts: Counter[str] = Counter()  # by rule
        self._batches: list[list[int]] = []  # the hashes of all URLs, in their order
        self._all_hashes = all_hashes  # of this document and the earlier ones
        self._own: set[int] = set()  # the hashes of this document, filled only if there are duplicates
        self._in_own = 0  # the number of batches in it

    def add(self, locs: list[str], keys: list[str], line_of: LineOf) -> None:
        """Add a batch of URLs with the keys by which they are compared."""
        hashes = list(map(hash, keys))
        if (known := self._all_hashes.add(hashes)) is not None:
            self._add_repeats(locs, hashes, known, line_of)
        self._batches.append(hashes)

    def places(self, hashes: set[int]) -> dict[int, int]:
        """The place, from 1, where each of the hashes is listed first in this document."""
        first: dict[int, int] = {}
        for place, digest in enumerate(chain.from_iterable(self._batches), 1):
            if digest in hashes and first.setdefault(digest, place) == place and len(first) == len(hashes):
                break
        return first

    def _add_repeats(self, locs: list[str], hashes: list[int], known: set[int], line_of: LineOf) -> None:
        here: set[int] = set()
        own = self._own
        own.update(*self._batches[self._in_own :])
        self._in_own = len(self._batches)
        for number, digest in enumerate(hashes):
            if digest in here or digest in own:
                rule = "duplicate.loc"
            elif digest in known:
                rule = "duplicate.across_files"
            else:
                rule = ""
            here.add(digest)
            if not rule:
                continue
            self.counts[rule] += 1
            if self.counts[rule] <= self.findings.limit:  # the others are only counted
                self.repeats.append(_Repeat(rule, line_of(number), locs[number], digest))


class DuplicateChecks:
    """Keeps the 64-bit hash of each URL, in a set and in order.

    Measured: about 90 bytes for each URL, 170 MiB for two million, 340 MiB for four million. The chance that two of ten
    million different URLs share a hash is one in a hundred thousand.
    """

    def __init__(self) -> None:
        self._hashes = _UrlHashes()
        self._listings: list[DocumentUrls] = []

    def begin(self, file: str, findings: FindingCollector) -> DocumentUrls:
        """Begin a document."""
        listing = DocumentUrls(file, findings, self._hashes)
        self._listings.append(listing)
        return listing

    def is_listed(self, url: str) -> bool:
        """Whether any document lists a URL, which is in the form to compare."""
        return hash(normal_key(url)) in self._hashes.hashes

    def finish(self) -> None:
        """Report the duplicates, each with the place where it is listed first."""
        missing = {
            repeat.digest
            for listing in self._listings
            for repeat in listing.repeats
            if repeat.rule == "duplicate.across_files"
        }
        first: dict[int, str] = {}
        for listing in self._listings:
            if not missing:
                break
            places = listing.places(missing)
            first |= {digest: f"entry {place:,} of {listing.file}" for digest, place in places.items()}
            missing -= places.keys()
        for listing in self._listings:
            own = {repeat.digest for repeat in listing.repeats if repeat.rule == "duplicate.loc"}
            places = listing.places(own) if own else {}
            for repeat in listing.repeats:
                is_own = repeat.rule == "duplicate.loc"
                place = f"entry {places[repeat.digest]:,}" if is_own else first[repeat.digest]
                sentence = f"{quote_text(repeat.loc)} is listed already, as {place}"
                listing.findings.add(repeat.rule, repeat.line, sentence)
            for rule, times in listing.counts.items():
                listing.findings.count(rule, max(times - listing.findings.limit, 0))
