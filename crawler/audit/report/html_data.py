"""Chooses the findings that an HTML report includes, and packs them in chunks that a browser can unpack.

A chunk is JSON, gzipped, in base64: nothing in it can end its element, and a file with a hundred thousand findings is
still small enough to mail.
"""

from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, Final

import msgspec
from msgspec import Struct

from crawler.audit.finding import AuditFinding, AuditFindings, Certainty, RuleCount
from crawler.audit.rules import REPORTED_RULES
from crawler.audit.source_record import SourceKind
from crawler.units import count_text

FINDINGS_PER_CHUNK: Final = 1_000  # a browser shows the first chunk while it unpacks the others
_GZIP: Final = 31  # zlib's window bits for gzip, which every DecompressionStream reads
_SOURCE_BITS: Final = {source.value: 1 << place for place, source in enumerate(SourceKind)}


def allotment(counts: Sequence[RuleCount], limit: int) -> dict[str, int]:
    """How many findings of each rule to include, the worst rule first, up to ``limit`` in all.

    Every rule gets an even share, so that none crowds out another. The worst rules take the rest: errors before
    warnings and notes, then in the order of the reports.
    """
    places = _places()
    counted = [count for count in counts if count.total and count.rule in REPORTED_RULES]
    counted.sort(key=lambda count: places[count.rule])
    counted.sort(key=lambda count: REPORTED_RULES[count.rule].severity, reverse=True)
    taken = {count.rule: min(count.total, limit // len(counted)) for count in counted}
    left = limit - sum(taken.values())
    for count in counted:
        more = min(left, count.total - taken[count.rule])
        taken[count.rule] += more
        left -= more
    return taken


def pack_findings(findings: AuditFindings, taken: dict[str, int]) -> Iterator[tuple[str, str]]:
    """Pack the included findings, the worst first, holding one chunk of them at a time.

    Of each chunk come the columns that the table filters and sorts by, and the whole findings.
    """
    encode = msgspec.json.Encoder().encode
    chosen = chain.from_iterable(islice(findings(rule), number) for rule, number in taken.items())
    while chunk := list(islice(chosen, FINDINGS_PER_CHUNK)):
        yield _pack(encode(_columns(chunk))), _pack(encode(chunk))


def _pack(data: bytes) -> str:
    from isal import isal_zlib  # noqa: PLC0415 - only the HTML report needs it

    return b64encode(isal_zlib.compress(data, 2, _GZIP)).decode()


_CERTAINTY_CODES: Final = {Certainty.INCONCLUSIVE: 0, Certainty.CERTAIN: 1, Certainty.LIKELY: 2}  # as in rows.js


def _places() -> dict[str, int]:
    """The index of each rule."""
    return {rule: place for place, rule in enumerate(REPORTED_RULES)}


_PLAIN_COLUMNS: Final = (
    *("url", "title", "sentence", "state", "status", "depth", "inlinks"),
    *("group", "segment", "lastmod", "since"),
)


def _columns(chunk: Sequence[AuditFinding]) -> dict[str, list[Any]]:
    places = _places()
    return {name: [getattr(finding, name) for finding in chunk] for name in _PLAIN_COLUMNS} | {
        "rule": [places[finding.rule] for finding in chunk],
        "certain": [_CERTAINTY_CODES[finding.certainty] for finding in chunk],
        "weight": [round(finding.weight, 2) for finding in chunk],
        "visits": [known_visits(finding) for finding in chunk],
        "new": [int(bool(finding.is_new)) for finding in chunk],
        "known": [sum(_SOURCE_BITS.get(source, 0) for source in finding.known) for finding in chunk],
    }


ISLAND_RULE: Final = "orphan.island"  # the rule whose findings come in groups


class OrphanIsland(Struct):
    """Pages that only link to one another; ``entry`` is the one to link, ``pages`` counts them.

    ``is_new``: some of them were no orphans in the previous audit.
    """

    entry: AuditFinding
    pages: int = 0
    is_new: bool = False


def known_visits(finding: AuditFinding) -> int:
    """The visits that the sources show: the largest count, because each source counts the same visits.

    A visit may have several views, so the views count only if there is nothing else.
    """
    return max(finding.people, finding.sessions, finding.users, finding.clicks) or finding.views


def visit_texts(finding: AuditFinding) -> list[str]:
    """The visits by kind: ``31 visits by people``, ``4 visits by bots``, ``12 clicks in search`` and so on."""
    texts = []
    for number, noun, suffix in (
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
            texts.append(f"{count_text(number, noun)}{suffix}")
    return texts


def find_orphan_islands(findings: Iterable[AuditFinding]) -> list[OrphanIsland]:
    """The islands in the order of the findings. Memory grows with the islands, not the pages.

    The page to link is the first entrance: findings with more visits come first.
    """
    islands: dict[str, OrphanIsland] = {}
    for finding in findings:
        island = islands.setdefault(finding.group or finding.url, OrphanIsland(finding))
        island.pages += finding.times
        island.is_new = bool(island.is_new or finding.is_new)
        island.entry = max(island.entry, finding, key=lambda each: each.entrance == each.url)
    return list(islands.values())
