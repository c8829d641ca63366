"""Checks URLs: their length, their characters, whether the document may list them, and whether they are listed twice.

The checks work on batches: a few passes in C clear nearly every batch. Only in the other batches is each URL checked.
"""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from typing import Final

from sitemap import limits, location
from sitemap.errors import InvalidLocation
from sitemap.escape import quote_text
from sitemap.reader.tree import LineOf
from sitemap.rules import FindingCollector

# The characters of the form to compare (RFC 3986 sections 2.2 and 2.3), and the blank between two URLs.
_SAFE_BYTES: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~!$&'()*+,;=:@/?% "
_UNRESERVED: Final = "2[DE]|3[0-9]|4[1-9A-F]|5[0-9AF]|6[1-9A-F]|7[0-9AE]"  # needlessly escaped
_SOUND_URL: Final = re.compile(
    rf"https?://[a-z0-9-]++(?:\.[a-z0-9-]++)*+/(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/?]++|%(?!{_UNRESERVED})[0-9A-F]{{2}})*+"
)
# Each finds the same in a URL and in URLs joined by blanks. Asked only of texts with an "@" or a byte that is not safe.
_CHARACTER_FAULTS: Final = (
    ("sitemap.loc_not_ascii", re.compile(r"[^\x00-\x7f]").search, "is not in ASCII"),
    ("sitemap.loc_fragment", re.compile("#").search, "has a fragment, which search engines ignore"),
    (
        "sitemap.loc_credentials",
        re.compile(r"(?<!\S)https?://[^/?#@]*@", re.IGNORECASE).search,
        "contains a user name or a password: anyone can read it here",
    ),
)
_DOT_SEGMENT: Final = re.compile(r"/\.")  # perhaps; several times as fast as a substring search


def is_normal_form(url: str) -> bool:
    """Whether a URL is certainly valid and in the form to compare. False for a few such URLs, too."""
    return len(url) <= limits.MAX_LOC and "/." not in url and _SOUND_URL.fullmatch(url) is not None


def normal_form(url: str) -> str:
    """A URL in the form to compare, without its fragment; unchanged if it is not http(s)."""
    if is_normal_form(url):
        return url
    try:
        return location.form(url)
    except ValueError:
        return url


class UrlChecks:
    """Checks the URLs of one document.

    ``url`` is the URL of the document, or "" if unknown. ``vouched`` returns whether the robots.txt of a URL's origin
    names the sitemap; it is called once for each origin.
    """

    def __init__(self, url: str, findings: FindingCollector, vouched: Callable[[str], bool]) -> None:
        try:
            self._directory = location.directory(url) if url else ""
        except InvalidLocation:
            self._directory = ""  # for example the path of a file
        self._findings = findings
        self._vouched = vouched
        self._vouched_origins: dict[str, bool] = {}
        self._prefix = normal_form(self._directory)  # nearly all URLs begin with it
        self._first_origin = ""  # of the URLs, while the URL of the document is unknown
        self._has_hosts = False  # whether the URLs have several origins, and this is reported

    def check(self, locs: list[str], line_of: LineOf) -> list[str]:
        """Check a batch of URLs and return their forms to compare (:func:`normal_form`)."""
        text = " ".join(locs)  # the reader has escaped blanks in URLs
        lengths = set(map(len, locs))
        if max(lengths) > limits.MAX_LOC or min(lengths) < limits.MIN_LOC:
            self._check_lengths(locs, line_of)
        unsafe = text.encode("utf-8", "replace").translate(None, _SAFE_BYTES)
        if unsafe or "@" in text:
            self._check_characters(text, locs, line_of)
        forms = list(map(normal_form, locs)) if unsafe or "%" in text else locs
        if not unsafe and self._are_plain(forms):
            return forms
        if self._directory:
            self._check_location(locs, line_of)
        else:
            self._check_hosts(locs, line_of)
        return list(map(normal_form, forms))

    def _are_plain(self, forms: list[str]) -> bool:
        """Whether all URLs are below the prefix and have no dot segments."""
        if not self._prefix:
            self._prefix = self._first_origin = self._first_origin or _origin(forms[0])
        text = " " + " ".join(forms)
        below = self._prefix and text.count(" " + self._prefix) == len(forms)
        return bool(below) and not _DOT_SEGMENT.search(text)

    def _check_lengths(self, locs: list[str], line_of: LineOf) -> None:
        for number, loc in enumerate(locs):
            if len(loc) > limits.MAX_LOC:
                rule, limit = "sitemap.loc_too_long", f"fewer than {limits.MAX_LOC + 1:,} are allowed"
            elif len(loc) < limits.MIN_LOC:
                rule, limit = "sitemap.loc_too_short", f"the schema requires at least {limits.MIN_LOC}"
            else:
                continue
            self._findings.add(rule, line_of(number), f"{quote_text(loc)} has {len(loc):,} characters, {limit}")

    def _check_characters(self, text: str, locs: list[str], line_of: LineOf) -> None:
        """Report characters that a URL should not contain. A look at the whole batch skips most checks."""
        for rule, is_faulty, fault in _CHARACTER_FAULTS:
            if is_faulty(text):
                for number, loc in enumerate(locs):
                    if is_faulty(loc):
                        self._findings.add(rule, line_of(number), f"{quote_text(loc)} {fault}")

    def _check_location(self, locs: list[str], line_of: LineOf) -> None:
        for number, loc in enumerate(locs):
            if location.is_within(self._directory, loc):
                continue
            origin = _origin(loc)  # "" if the reader or another check has reported it
            if not origin or (not self._directory.startswith(origin) and self._is_vouched(origin, loc)):
                continue
            if _host_of_origin(origin) == _host_of_origin(_origin(self._directory)):
                self._findings.add(
                    "location.outside", line_of(number), f"{quote_text(loc)} is not below {self._directory}"
                )
            else:
                self._findings.add(
                    "location.other_host",
                    line_of(number),
                    f"{quote_text(loc)} is on another host than {self._directory}: remove it, list it in a sitemap of"
                    " that host, or name this sitemap in the robots.txt of that host",
                )

    def _check_hosts(self, locs: list[str], line_of: LineOf) -> None:
        """Report the first URL on another host than the URLs before it: at most one finding for a document."""
        for number, loc in enumerate(locs):
            origin = _origin(loc)
            if not origin or self._has_hosts:
                continue
            self._first_origin = self._first_origin or origin
            if origin != self._first_origin:
                self._has_hosts = True
                self._findings.add(
                    "location.several_hosts",
                    line_of(number),
                    f"{quote_text(loc)} is on {origin}, and earlier URLs are on {self._first_origin}: give the URL of"
                    " this sitemap, so that its location can be checked",
                )

    def _is_vouched(self, origin: str, loc: str) -> bool:
        if origin not in self._vouched_origins:
            self._vouched_origins[origin] = self._vouched(loc)
        return self._vouched_origins[origin]


def _origin(loc: str) -> str:
    """The origin of a URL with a slash, or "" if the URL is not http(s)."""
    try:
        return location.url_origin(loc) + "/"
    except ValueError:
        return ""


def _host_of_origin(origin: str) -> str:
    """The host of an origin from :func:`_origin`."""
    host = origin.split("/")[2]
    return host if host.endswith("]") else host.rpartition(":")[0] or host


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
        self.hashes: set[int] = set()  # without those of feeds
        self.of_feeds: set[int] = set()
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
        self._of_feed = _UrlHashes()  # of this document, if it is a feed
        self.is_feed = False
        self._own: set[int] = set()  # the hashes of this document, filled only if there are duplicates
        self._in_own = 0  # the number of batches in it

    def add(self, locs: list[str], keys: list[str], line_of: LineOf, *, in_feed: bool = False) -> None:
        """Add a batch of URLs with the forms by which they are compared.

        A feed repeats the newest URLs of a sitemap, as search engines advise:
        https://developers.google.com/search/blog/2014/10/best-practices-for-xml-sitemaps-rssatom
        """
        hashes = list(map(hash, keys))
        self.is_feed = in_feed
        if in_feed:
            self._all_hashes.of_feeds.update(hashes)
        if (known := (self._of_feed if in_feed else self._all_hashes).add(hashes)) is not None:
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
        digest = hash(normal_form(url))
        return digest in self._hashes.hashes or digest in self._hashes.of_feeds

    def finish(self) -> None:
        """Report the duplicates, each with the place where it is listed first."""
        missing = {
            repeat.digest
            for listing in self._listings
            for repeat in listing.repeats
            if repeat.rule == "duplicate.across_files"
        }
        first: dict[int, str] = {}
        for listing in (each for each in self._listings if not each.is_feed):
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
