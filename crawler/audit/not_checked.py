"""Owns what an audit did not look at, and what it could not decide, with the reasons: nothing is fine unseen. Pure."""

from collections.abc import Container, Mapping, Sequence
from typing import Final

from crawler.audit.claim import SourceKind, SourceReport
from crawler.units import count_text

NO_SOURCE_GIVEN: Final = (
    "no sitemap, log or export to compare with: orphans cannot be found; "
    "--sitemap, --log, --search, --analytics, --backlinks, --list and --crawl name them"
)
CRAWL_INCOMPLETE: Final = "the crawl did not see everything that the start leads to"
_VISIT_SOURCES: Final = frozenset(
    {SourceKind.LOG, SourceKind.SEARCH, SourceKind.ANALYTICS, SourceKind.BACKLINKS}
)
RULE_SOURCES: Final = (
    (("orphan.log",), frozenset({SourceKind.LOG}), "no --log given"),
    (
        ("orphan.search",),
        frozenset({SourceKind.SEARCH, SourceKind.ANALYTICS}),
        "no --search or --analytics given",
    ),
    (
        ("orphan.list",),
        frozenset({SourceKind.BACKLINKS, SourceKind.LIST, SourceKind.CRAWL}),
        "no --list, --backlinks or --crawl given",
    ),
    (
        ("gone.named",),
        frozenset(SourceKind) - {SourceKind.SITEMAP, SourceKind.LOG},
        "no --list, --crawl, --backlinks, --search or --analytics given",
    ),
    (
        ("gone.visited", "gone.down"),
        _VISIT_SOURCES,
        "no --log, --search, --analytics or --backlinks given",
    ),
)
"""Rules, the kinds of sources of which they need one, and the reason if there is none."""
MAX_ALWAYS_REPORTED: Final = 12
_SITEMAP_GROUPS: Final = ("health", "media", "lint")


def not_checked(inputs: Sequence[SourceReport], media: bool) -> dict[str, str]:
    """What nobody looked for: why, by the name of a group of rules or the id of a rule.

    ``inputs`` are all sources that were read; without ``media`` no image and no video was asked for.
    """
    used = {each.source for each in inputs if each.used}
    told: dict[str, str] = {} if media else {"media": "--no-media"}
    if not used:
        told["orphans"] = NO_SOURCE_GIVEN
    for rules, sources, why in RULE_SOURCES:
        if not used & sources:
            told |= dict.fromkeys(rules, why)
    if why := _no_sitemap([each for each in inputs if each.source is SourceKind.SITEMAP]):
        told |= {"orphan.sitemap": why, "health": why, "media": told.get("media", why)}
        if not any(each.source is SourceKind.SITEMAP and (each.bytes or each.rows) for each in inputs):
            told["lint"] = why
    return {name: why for name, why in told.items() if used or not name.startswith("orphan.")}


def _no_sitemap(sitemaps: Sequence[SourceReport]) -> str:
    if not sitemaps:
        return "the site has no sitemap that is known: --sitemap names one"
    if any(each.used for each in sitemaps):
        return ""
    return (
        "no sitemap could be read"
        if not any(each.rows for each in sitemaps)
        else "no sitemap lists a page of it"
    )


def inconclusive(
    inputs: Sequence[SourceReport], *, is_doubtful: bool, stopped: str, unasked: int
) -> dict[str, str]:
    """What was looked for and, if it was not found, may be there all the same: why, as in :func:`unchecked`.

    ``stopped`` says why the visiting was cut short, or is ""; ``unasked`` counts URLs that only sources know and that
    were not asked for.
    """
    told: dict[str, str] = {}
    if is_doubtful:
        told |= dict.fromkeys(("orphans", "weak", "reach"), CRAWL_INCOMPLETE)
    if stopped:
        told |= dict.fromkeys(
            ("dead", "health", "links", "hreflang", "media"), f"the crawl was cut short: {stopped}"
        )
    if unasked:
        why = f"{unasked:,} URLs that only sources know were not asked for: raise --max-unlinked"
        told = dict.fromkeys(("orphans", "gone.visited", "gone.down", "health"), why) | told
    for source, names in _read_in_part(inputs).items():
        why = f"not all could be read of {names}"
        if source is SourceKind.SITEMAP:
            told = dict.fromkeys((*_SITEMAP_GROUPS, "orphan.sitemap"), why) | told
        for rules, sources, _ in RULE_SOURCES:
            if source in sources:
                told = dict.fromkeys(rules, why) | told
    return told


def why_inlinks_not_reported(scarce: int, pages: int, few: int) -> str:
    """Why no page is told for its ``few`` inlinks: ``scarce`` of all ``pages`` have no more. "" unless most are so.

    On a site with one list for each of its parts that is how it is built, and no fault of any page. A dozen of them are
    told all the same: these can be looked at one by one.
    """
    if scarce <= MAX_ALWAYS_REPORTED or 2 * scarce <= pages:
        return ""
    return (
        f"that is how the site is built: {scarce:,} of {count_text(pages, 'page')} have no more than {few:,}"
    )


def nothing_to_check(open_: Container[str], *, has_media: bool, has_versions: bool) -> dict[str, str]:
    """Of what there was nothing to look at, by the name of a group of rules: why; but for what is ``open_``."""
    told = {} if has_media else {"media": "no sitemap lists images or videos"}
    if not has_versions:
        told["hreflang"] = "no page names its versions in other languages"
    return {name: why for name, why in told.items() if name not in open_}


def _read_in_part(inputs: Sequence[SourceReport]) -> Mapping[SourceKind, str]:
    """The sources that were read in part, by their kind."""
    names: dict[SourceKind, list[str]] = {}
    for each in inputs:
        if not each.complete:
            names.setdefault(each.source, []).append(each.name)
    return {source: _joined_header(some) for source, some in names.items()}


def _joined_header(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1:,} more"
