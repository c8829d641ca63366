"""Decides what an audit did not check and what it could not decide, with the reasons. Pure."""

from collections.abc import Container, Mapping, Sequence
from typing import Final

from crawler.audit.source_record import SourceKind, SourceReport
from crawler.units import count_text

NO_SOURCE_GIVEN: Final = (
    "no sitemap, log or export to compare with, so orphans cannot be found; give one with --sitemap, --log, "
    "--search, --analytics, --backlinks, --list or --crawl"
)
CRAWL_INCOMPLETE: Final = "the crawl did not reach every page that links lead to"
_VISIT_SOURCES: Final = frozenset({SourceKind.LOG, SourceKind.SEARCH, SourceKind.ANALYTICS, SourceKind.BACKLINKS})
RULE_SOURCES: Final = (
    (("orphan.log",), frozenset({SourceKind.LOG}), "no --log given"),
    (("bots.uncrawled",), frozenset({SourceKind.LOG}), "no --log given"),
    (("orphan.search",), frozenset({SourceKind.SEARCH, SourceKind.ANALYTICS}), "no --search or --analytics given"),
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
    (("gone.visited", "gone.down"), _VISIT_SOURCES, "no --log, --search, --analytics or --backlinks given"),
)
"""Rules, the kinds of sources of which they need at least one, and the reason if there is none."""
MAX_ALWAYS_REPORTED: Final = 12
_SITEMAP_GROUPS: Final = ("health", "media", "lint")


def not_checked(inputs: Sequence[SourceReport], media: bool) -> dict[str, str]:
    """The reasons why groups of rules, or rules, were not checked, by name or id.

    ``inputs`` are all sources that were read; ``media``: images and videos were fetched.
    """
    used = {report.source for report in inputs if report.used}
    reasons: dict[str, str] = {} if media else {"media": "--no-media"}
    if not used:
        reasons["orphans"] = NO_SOURCE_GIVEN
    for rules, sources, why in RULE_SOURCES:
        if not used & sources:
            reasons |= dict.fromkeys(rules, why)
    if why := _no_sitemap([report for report in inputs if report.source is SourceKind.SITEMAP]):
        reasons |= {"orphan.sitemap": why, "health": why, "media": reasons.get("media", why)}
        if not any(report.source is SourceKind.SITEMAP and (report.bytes or report.rows) for report in inputs):
            reasons["lint"] = why
    return {name: why for name, why in reasons.items() if used or not name.startswith("orphan.")}


def _no_sitemap(sitemaps: Sequence[SourceReport]) -> str:
    if not sitemaps:
        return "no sitemap of the site is known: give one with --sitemap"
    if any(report.used for report in sitemaps):
        return ""
    return (
        "no sitemap could be read"
        if not any(report.rows for report in sitemaps)
        else "no sitemap lists a page of the site"
    )


def inconclusive(inputs: Sequence[SourceReport], *, is_doubtful: bool, stopped: str, unasked: int) -> dict[str, str]:
    """The reasons why no finding of a rule does not mean no fault, by key as in :func:`not_checked`.

    ``stopped`` says why the crawl was cut short, or is ""; ``unasked`` counts URLs that only sources know and that were
    not fetched.
    """
    reasons: dict[str, str] = {}
    if is_doubtful:
        reasons |= dict.fromkeys(("orphans", "weak", "reach"), CRAWL_INCOMPLETE)
    if stopped:
        reasons |= dict.fromkeys(
            ("dead", "health", "links", "hreflang", "media"), f"the crawl was cut short: {stopped}"
        )
    if unasked:
        why = f"{unasked:,} URLs that only sources name were not fetched: raise --max-unlinked"
        reasons = dict.fromkeys(("orphans", "gone.visited", "gone.down", "health"), why) | reasons
    for source, names in _read_in_part(inputs).items():
        why = f"these sources could not be read completely: {names}"
        if source is SourceKind.SITEMAP:
            reasons = dict.fromkeys((*_SITEMAP_GROUPS, "orphan.sitemap"), why) | reasons
        for rules, sources, _ in RULE_SOURCES:
            if source in sources:
                reasons = dict.fromkeys(rules, why) | reasons
    return reasons


def why_inlinks_not_reported(scarce: int, pages: int, few: int) -> str:
    """Why no page is reported for having at most ``few`` inlinks, as ``scarce`` of all ``pages`` do; "" unless most do.

    A site with one list for each of its parts is built that way: no page is at fault. A dozen of them are reported all
    the same, since a person can look at each.
    """
    if scarce <= MAX_ALWAYS_REPORTED or 2 * scarce <= pages:
        return ""
    return f"few inlinks are normal on this site: {scarce:,} of {count_text(pages, 'page')} have at most {few:,}"


def nothing_to_check(
    undecided: Container[str], *, has_media: bool, has_versions: bool, has_rendered: bool
) -> dict[str, str]:
    """The reasons why groups of rules had nothing to check, by name, without those that are ``open_``."""
    reasons = {} if has_media else {"media": "no sitemap lists images or videos"}
    if not has_versions:
        reasons["hreflang"] = "no page has hreflang annotations"
    if not has_rendered:
        reasons["render"] = "no page differs when it is rendered"
    return {name: why for name, why in reasons.items() if name not in undecided}


def _read_in_part(inputs: Sequence[SourceReport]) -> Mapping[SourceKind, str]:
    """The names of the sources that were read in part, by their kind."""
    names: dict[SourceKind, list[str]] = {}
    for report in inputs:
        if not report.complete:
            names.setdefault(report.source, []).append(report.name)
    return {
        source: first if not more else f"{first} and {len(more):,} more" for source, (first, *more) in names.items()
    }
