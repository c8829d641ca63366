"""Owns what is told of a finding in a few words: who comes, from when to when, and the islands that pages form."""

from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from crawler.claim import Source
from crawler.finding import Finding
from crawler.quantities import count

ISLAND: Final = "orphan.island"  # the rule whose findings come in groups
_KNOWN_TO_ALL: Final = Source.SITEMAP.value


class Island(Struct):
    """Pages that only link to one another; ``entry`` is the one to link, ``pages`` how many they are.

    ``is_new``: some of them are no orphans of the audit before.
    """

    entry: Finding
    pages: int = 0
    is_new: bool = False


def visits(finding: Finding) -> list[str]:
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
            told.append(f"{count(number, what)}{rest}")
    return told


def islands(findings: Iterable[Finding]) -> list[Island]:
    """The islands of the pages, in the order in which they are met. Memory grows with the islands, not the pages.

    The page to link is the one that visitors know best, else one in a sitemap, else that of the shortest URL.
    """
    found: dict[str, Island] = {}
    for each in findings:
        island = found.setdefault(each.group or each.url, Island(each))
        island.pages += each.times
        island.is_new = island.is_new or each.is_new
        island.entry = max(island.entry, each, key=_known)
    return list(found.values())


def _known(finding: Finding) -> tuple[int, bool, int]:
    visitors = finding.people + finding.clicks + finding.sessions + finding.backlinks
    return visitors, _KNOWN_TO_ALL in finding.known, -len(finding.url)
