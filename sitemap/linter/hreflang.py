"""Checks language variants: those of one entry, and whether the entries of a set name each other.

https://developers.google.com/search/docs/specialty/international/localized-versions#guidelines
"""

from array import array
from typing import Final

from sitemap.escape import quote_text
from sitemap.languages import hreflang_fault
from sitemap.linter.urls import DuplicateChecks, is_normal_form, normal_form
from sitemap.model import Alternate, Entry
from sitemap.rules import FindingCollector
from sitemap.validation import alternate_faults

MAX_HELD: Final = 4_000_000  # URLs of pages and variants in memory: a gigabyte, at 100 characters each
_MAX_CACHED: Final = 4_096  # sets of variants


class _CodeFaults(dict[str, str]):
    """The fault of each language code, or ""; computed once."""

    def __missing__(self, code: str) -> str:
        fault = hreflang_fault(code)
        if len(self) < 10_000:
            self[code] = fault
        return fault


class HreflangChecks:
    """Compares the variants of all documents of a set.

    Each URL is held once (some 200 bytes with its number). The variants of a page are numbers, held once for all pages
    that state the same set, as the versions of a page do. ``full`` is True if there are more than :data:`MAX_HELD`
    URLs, so that some pages are not compared.
    """

    def __init__(self) -> None:
        self.full = False
        self.codes = _CodeFaults()
        self._numbers: dict[str, int] = {}  # of URLs in the form to compare
        self._urls: list[str] = []
        self._sets: dict[bytes, int] = {}  # from the sorted numbers of variants to the number of the set
        self._pages: dict[int, int] = {}  # from page to set
        self._documents: list[tuple[FindingCollector, array[int]]] = []  # with page, line, page, line …
        self._members: list[array[int]] = []  # of each set
        self._cache: dict[int, frozenset[int]] = {}

    def begin(self, findings: FindingCollector) -> "PageHreflangChecks":
        """Begin a document."""
        places = array("L")
        self._documents.append((findings, places))
        return PageHreflangChecks(self, findings, places)

    def add_page(self, page: str, variants: list[str], line: int, places: "array[int]") -> None:
        """Keep the variants of a page, all in the form to compare. A page that is listed again is not compared."""
        if len(self._urls) >= MAX_HELD:
            self.full = True
            return
        number = self._number(page)
        if number not in self._pages:
            stated = array("L", sorted({self._number(url) for url in variants})).tobytes()
            self._pages[number] = self._sets.setdefault(stated, len(self._sets))
            places.extend((number, line))

    def finish(self, listed: DuplicateChecks, *, whole: bool) -> None:
        """Check all documents together. Unlisted variants are reported only if the ``whole`` set was read."""
        self._members = [array("L", stated) for stated in self._sets]
        closed = [self._is_closed(number, members) for number, members in enumerate(self._members)]
        for findings, places in self._documents:
            for page, line in zip(places[::2], places[1::2], strict=True):
                own = self._pages[page]
                if not closed[own] or page not in self._member_set(own):
                    self._check(page, listed, findings, line, whole=whole)

    def _is_closed(self, number: int, members: "array[int]") -> bool:
        """Whether all pages of a set of variants state the same set, so that every link between them is returned."""
        return all(self._pages.get(page) == number for page in members)

    def _check(self, page: int, listed: DuplicateChecks, findings: FindingCollector, line: int, *, whole: bool) -> None:
        silent, unlisted = [], []
        for variant in self._members[self._pages[page]]:
            theirs = self._pages.get(variant)
            if theirs is None and not listed.is_listed(self._urls[variant]):
                unlisted.append(variant)
            elif variant != page and (theirs is None or page not in self._member_set(theirs)):
                silent.append(variant)
        url = quote_text(self._urls[page])
        if silent:
            findings.add("hreflang.not_mutual", line, f"{self._subject(silent)} not list {url} as a version")
        if unlisted and whole:
            findings.add(
                "hreflang.unlisted",
                line,
                f"{self._subject(unlisted)} not have an entry, although listed as a version by {url}",
            )

    def _subject(self, variants: list[int]) -> str:
        """The subject of a sentence: the first URL, the number of the others, and an auxiliary verb."""
        more = len(variants) - 1
        return quote_text(self._urls[variants[0]]) + (f" and {more:,} more do" if more else " does")

    def _member_set(self, number: int) -> frozenset[int]:
        """The members of a set, cached."""
        if number not in self._cache:
            if len(self._cache) >= _MAX_CACHED:
                self._cache.clear()
            self._cache[number] = frozenset(self._members[number])
        return self._cache[number]

    def _number(self, url: str) -> int:
        number = self._numbers.setdefault(url, len(self._urls))
        if number == len(self._urls):
            self._urls.append(url)
        return number


class PageHreflangChecks:
    """Checks the variants of the pages of one document; made by :meth:`HreflangChecks.begin`."""

    def __init__(self, shared: HreflangChecks, findings: FindingCollector, places: "array[int]") -> None:
        self._shared = shared
        self._findings = findings
        self._places = places
        self._without_default = 0
        self._first_without = 0

    def add(self, entry: Entry, line: int) -> None:
        """Check the variants of one page, and keep them for the comparison with other pages."""
        page = normal_form(entry.loc)
        forms = [
            alternate.href if is_normal_form(alternate.href) else self._form(alternate, line)
            for alternate in entry.alternates
        ]
        self._check_codes(entry.alternates, forms, line)
        if page not in forms:
            self._findings.add(
                "hreflang.no_self", line, f"the variants of {quote_text(entry.loc)} leave out the page itself"
            )
        self._shared.add_page(page, forms, line, self._places)

    def end(self) -> None:
        """End the document."""
        if count := self._without_default:
            subject = f"{count:,} pages with variants name" if count > 1 else "a page with variants names"
            self._findings.add("hreflang.no_default", self._first_without, f"{subject} no x-default")

    def _form(self, alternate: Alternate, line: int) -> str:
        for fault in alternate_faults(alternate):
            if fault.rule == "hreflang.url":  # _check_codes() checks the code
                self._findings.add(fault.rule, line, fault.sentence)
        return normal_form(alternate.href)

    def _check_codes(self, alternates: tuple[Alternate, ...], forms: list[str], line: int) -> None:
        targets: dict[str, str] = {}
        for alternate, url in zip(alternates, forms, strict=True):
            if fault := self._shared.codes[alternate.hreflang]:
                self._findings.add("hreflang.code", line, f"hreflang {quote_text(alternate.hreflang)}: {fault}")
            if targets.setdefault(alternate.hreflang.lower(), url) != url:
                self._findings.add(
                    "hreflang.conflict",
                    line,
                    f"{quote_text(alternate.hreflang)} leads to {quote_text(url)} and to another URL: keep one",
                )
        if "x-default" not in targets and len(targets) > 1:
            self._first_without = self._first_without if self._without_default else line
            self._without_default += 1
