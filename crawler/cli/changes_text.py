"""How changes are told to a person: in groups by kind, with counts, both dates and reasons."""

from collections.abc import Iterable

from crawler.change import Change, ChangeKind, Counts, Few
from sitemap import safe


def lines(changes: Iterable[Change], limit: int) -> list[str]:
    """The changes for a person: at most ``limit`` URLs of each kind (0: all), with the number of the others."""
    few = Few(changes, limit)
    shown = list(few)
    return lines_of(shown, few.counts)


def lines_of(shown: Iterable[Change], counts: Counts) -> list[str]:
    """The same of some changes that were chosen already, and the ``counts`` of all."""
    groups: dict[ChangeKind, list[Change]] = {kind: [] for kind in ChangeKind}
    for change in shown:
        groups[change.kind].append(change)
    out = [told_counts(counts)]
    for kind, group in groups.items():
        if group:
            out += ["", kind.value, *(_line(change) for change in group)]
        if group and (more := getattr(counts, kind) - len(group)) > 0:
            out.append(f"  … {more:,} more")
    return out


def told_counts(counts: Counts) -> str:
    """The numbers in words: ``3 added, 1 removed``."""
    numbers = ((getattr(counts, kind), kind) for kind in ChangeKind)
    return ", ".join(f"{number:,} {kind}" for number, kind in numbers if number) or "nothing changed"


def _line(change: Change) -> str:
    target = f" → {safe(change.target)}" if change.target else ""
    return f"  {safe(change.url)}{target}{_dates(change)}  ({safe(change.reason)})"


def _dates(change: Change) -> str:
    if change.kind is not ChangeKind.CHANGED or change.before == change.lastmod:
        return ""
    return f"  {change.before or 'no date'} → {change.lastmod or 'no date'}"
