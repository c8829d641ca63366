"""Finds the links to parts of pages that do not exist.

https://html.spec.whatwg.org/#find-a-potential-indicated-element : the id, or the name of a link, as written or
percent-decoded; "" and "top" are the top. A text directive is no part of it
(https://wicg.github.io/scroll-to-text-fragment/). The parser has numbered the parts of each page and those that its
links name. Where these differ, the markup decides.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from html import unescape
from typing import Final
from urllib.parse import unquote

from msgspec.structs import replace

from crawler.audit.finding import AuditFinding
from crawler.audit.shown import MANY, MAX_REFERRERS, ShownPages, finding
from crawler.parse.html.parts import NO_PARTS, ROUTES, page_number, part_number, unpack_numbers
from crawler.parse.snapshot.details import read_details
from crawler.parse.snapshot.snapshot import MAX_SNAPSHOT, is_whole
from crawler.units import count_text, size_text
from crawler.url.normalize import InvalidUrl, join_url
from crawler.url.resolve import UrlResolver

_MAX_READ: Final = 1_000  # pages whose links are read: more of them have a link in common, or a script makes the parts
_VALUE: Final = r"\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s\"'>]++))"
_hrefs = re.compile(rf"\shref{_VALUE}", re.IGNORECASE).findall
_ids = re.compile(rf"[\s\"'/]id{_VALUE}", re.IGNORECASE).findall
_names = re.compile(rf"<a\s(?:[^<>]*?\s)?name{_VALUE}", re.IGNORECASE).findall


class MissingParts:
    """The check over the pages of an audit. ``notes`` say what was not read. Raises StorageError."""

    def __init__(self, shown: ShownPages) -> None:
        self._shown = shown
        self._resolver = UrlResolver()
        self._named: set[int] = set()
        self._numbers: dict[str, int] = {}  # the ids of pages by their URLs
        self._long: list[str] = []
        self.notes: list[str] = []

    def findings(self) -> Iterator[AuditFinding]:
        """The findings, one for a link that the pages of a template have to a part of their own."""
        linked = self._links()
        own: dict[str, list[str]] = defaultdict(list)
        for target, parts in linked.items():
            missing = self._missing(target, [*parts])
            for part in missing:
                if parts[part] == [target]:
                    own[part].append(target)
                else:
                    found = finding("target.fragment", f"{target}#{part}", "the page has no such part", parts[part])
                    yield replace(found, rests_on=[*parts[part], target])
        for part, pages in sorted(own.items()):
            if len(pages) > MANY:
                told = (
                    f"the page has no such part, nor have {len(pages) - 1:,} other pages with this link to themselves"
                )
                found = finding("target.fragment", f"{pages[0]}#{part}", told, [], pages[1:MAX_REFERRERS])
                yield replace(found, rests_on=pages)
            else:
                for page in pages:
                    yield finding("target.fragment", f"{page}#{part}", "the page has no such part", [page])
        if self._long:
            where = f"on {count_text(len(self._long), 'longer page')}, such as {self._long[0]}"
            kept = size_text(MAX_SNAPSHOT)
            self.notes.append(f"links to parts behind the first {kept} of a page are not checked: {where}")

    def _links(self) -> dict[str, dict[str, list[str]]]:
        """The pages that link to parts that may not exist, by target and part."""
        parsed = self._shown.parsed
        self._numbers = {page.url: page.number for page in parsed}
        self._named.update(unpack_numbers(b"".join(page.named_parts for page in parsed)))
        missing = self._named.difference(unpack_numbers(b"".join(page.parts for page in parsed)))
        found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
        if missing:
            pages = [page.number for page in parsed if not missing.isdisjoint(unpack_numbers(page.named_parts))]
            if len(pages) > _MAX_READ:
                self.notes += [f"{len(pages):,} pages link to parts that may not exist: {_MAX_READ:,} were read"]
            for number in pages[:: -(-len(pages) // _MAX_READ)]:
                source, markup = self._shown.markup(number)
                for target, part in self._parts(source, markup, missing):
                    found[target][part].append(source)
        return found

    def _parts(self, source: str, markup: str, missing: set[int]) -> set[tuple[str, str]]:
        hrefs = [href.strip() for href in map(_value, _hrefs(markup)) if "#" in href]
        base = source
        if "<base" in markup.lower():
            with suppress(InvalidUrl):
                base = join_url(source, read_details(markup).base)
        self._resolver.begin()
        targets = self._resolver.resolve_all(base, [href.partition("#")[0] for href in hrefs])
        found = set[tuple[str, str]]()
        for target, href in zip(targets, hrefs, strict=True):
            written = href.partition("#")[2]
            part = written.partition(":~:")[0]
            if part.lower() in NO_PARTS or part[0] in ROUTES or target not in self._numbers:
                continue
            if part_number(page_number(target), written) in missing:
                found.add((target, part))
        return found

    def _missing(self, target: str, parts: list[str]) -> list[str]:
        """Those of the parts that a page does not have; none if a script makes them, or the page is too long."""
        _, markup = self._shown.markup(self._numbers[target])
        there = {*map(_value, _ids(markup)), *map(_value, _names(markup))}
        missing = [part for part in parts if there.isdisjoint((part, unquote(part), f"user-content-{part}"))]
        if missing and not is_whole(markup):
            self._long.append(target)
            return []
        number = page_number(target)
        if len(missing) >= MANY and self._named.isdisjoint(part_number(number, part) for part in there):
            return []
        return missing


def _value(found: tuple[str, ...]) -> str:
    return unescape("".join(found))
