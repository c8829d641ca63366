"""Chooses the findings that a page has room for, and packs them so that a browser can unpack them piece by piece.

A piece is JSON, gzipped, in base64: nothing in it can end the element that it stands in, and a hundred thousand
findings are a file that can still be sent around.
"""

from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, Final

import msgspec
from msgspec import Struct

from crawler.audit.claim import SourceKind
from crawler.audit.finding import AuditFinding, AuditFindings, RuleCount
from crawler.audit.rules import REPORTED_RULES
from crawler.units import count_text

FINDINGS_PER_CHUNK: Final = 1_000  # findings; a browser shows the first piece while it unpacks the others

RULE_INDEXES: Final = {rule: place for place, rule in enumerate(REPORTED_RULES)}

_GZIP: Final = 31  # zlib's sign for a gzip header: the form that every DecompressionStream reads

_SOURCE_BITS: Final = {source.value: 1 << place for place, source in enumerate(SourceKind)}


class PackedFindings(Struct, frozen=True):
    """Some findings. ``rows`` holds what a table is filtered and sorted by, in columns; ``evidence`` all of each."""

    rows: str
    evidence: str


def allotment(counts: Sequence[RuleCount], limit: int) -> dict[str, int]:
    """How many findings of each rule to take, the worst rule first, so that there are not more than ``limit``.

    Every class has a right to an even part of the room, so that none crowds out another. What is left is taken by the
    worst: errors before warnings and notes, then in the order in which the rules are told.
    """
    found = [each for each in counts if each.total and each.rule in REPORTED_RULES]
    found.sort(key=lambda each: RULE_INDEXES[each.rule])
    found.sort(key=lambda each: REPORTED_RULES[each.rule].severity, reverse=True)
    taken = {each.rule: min(each.total, limit // len(found)) for each in found}
    left = limit - sum(taken.values())
    for each in found:
        more = min(left, each.total - taken[each.rule])
        taken[each.rule] += more
        left -= more
    return taken


def chosen_findings(findings: AuditFindings, taken: dict[str, int]) -> Iterator[AuditFinding]:
    """The findings that there is room for, the worst first."""
    return chain.from_iterable(islice(findings(rule), number) for rule, number in taken.items())


def pack_findings(findings: Iterator[AuditFinding]) -> Iterator[PackedFindings]:
    """Pack findings, never holding more than a piece of them."""
    encode = msgspec.json.Encoder().encode
    while some := list(islice(findings, FINDINGS_PER_CHUNK)):
        yield PackedFindings(_pack(encode(_columns(some))), _pack(encode(some)))


def _pack(data: bytes) -> str:
    from isal import isal_zlib  # noqa: PLC0415 - only who packs pays for it

    return b64encode(isal_zlib.compress(data, 2, _GZIP)).decode()


def _columns(some: Sequence[AuditFinding]) -> dict[str, list[Any]]:
    return {
        "rule": [RULE_INDEXES[each.rule] for each in some],
        "url": [each.url for each in some],
        "title": [each.title for each in some],
        "sentence": [each.sentence for each in some],
        "certain": [int(each.is_certain) for each in some],
        "state": [each.state for each in some],
        "status": [each.status for each in some],
        "depth": [each.depth for each in some],
        "inlinks": [each.inlinks for each in some],
        "weight": [round(each.weight, 2) for each in some],
        "visits": [max(each.people, each.sessions, each.views, each.users, each.clicks) for each in some],
        "group": [each.group for each in some],
        "lastmod": [each.lastmod for each in some],
        "since": [each.since for each in some],
        "new": [int(each.is_new) for each in some],
        "known": [sum(_SOURCE_BITS.get(source, 0) for source in each.known) for each in some],
    }


ISLAND_RULE: Final = "orphan.island"  # the rule whose findings come in groups

_KNOWN_TO_ALL: Final = SourceKind.SITEMAP.value


class OrphanIsland(Struct):
    """Pages that only link to one another; ``entry`` is the one to link, ``pages`` how many they are.

    ``is_new``: some of them are no orphans of the audit before.
    """

    entry: AuditFinding
    pages: int = 0
    is_new: bool = False


def visit_texts(finding: AuditFinding) -> list[str]:
    """Who comes, each apart: ``31 visits by people``, ``4 visits by bots``, ``12 clicks in search`` and so on."""
    told = []
    for number, what, rest in (
        (finding.people, "visit", " by people"),
        (finding.bots, "visit", " by bots"),
        (finding.clicks, "click", " in search"),
        (finding.impressions, "impression", ""),
        (finding.sessions, "session", ""),
        (finding.views, "view", ""),
        (finding.users, "user", ""),
        (finding.backlinks, "link", " from other sites"),
        (finding.domains, "domain", " with links to it"),
    ):
        if number:
            told.append(f"{count_text(number, what)}{rest}")
    return told


def find_orphan_islands(findings: Iterable[AuditFinding]) -> list[OrphanIsland]:
    """The islands of the pages, in the order in which they are met. Memory grows with the islands, not the pages.

    The page to link is the one that visitors know best, else one in a sitemap, else that of the shortest URL.
    """
    found: dict[str, OrphanIsland] = {}
    for each in findings:
        island = found.setdefault(each.group or each.url, OrphanIsland(each))
        island.pages += each.times
        island.is_new = island.is_new or each.is_new
        island.entry = max(island.entry, each, key=_entry_key)
    return list(found.values())


def _entry_key(finding: AuditFinding) -> tuple[int, bool, int]:
    visitors = finding.people + finding.clicks + finding.sessions + finding.backlinks
    return visitors, _KNOWN_TO_ALL in finding.known, -len(finding.url)
