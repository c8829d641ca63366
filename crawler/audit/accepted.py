"""Accepted findings: those that a person has decided to leave as they are, why, and until when.

A file has them, beside the configuration and under version control. An accepted finding is not counted and never new.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from crawler.audit.finding import AcceptedCount, AuditReport
from crawler.audit.rules import RULE_GROUPS
from crawler.audit.verdict import rules_failing, why_inconclusive, why_not_checked_or_absent
from crawler.config.load import read_toml
from crawler.errors import UsageError
from crawler.model import Url
from crawler.units import count_text
from crawler.url.scope import ScopeError, UrlPattern

_EXAMPLE: Final = 'url = "/old/*", rule = "gone.linked", reason = "archived", until = 2027-01-31'
_GLOB: Final = frozenset("*?[")


class Acceptance(Struct, frozen=True, forbid_unknown_fields=True):
    """An entry of the file.

    ``url`` is a pattern as of --exclude, ``rule`` a name as of --fail-on, and ``until`` the last day (UTC) on which
    the findings are accepted.
    """

    url: str
    rule: str
    reason: str
    until: date


class _AcceptedFile(Struct, forbid_unknown_fields=True):
    accepted: list[Acceptance] = []


class Acceptances:
    """The entries of one file, in their order."""

    def __init__(self, entries: Sequence[Acceptance] = ()) -> None:
        """Raises UsageError for an unknown rule, a bad pattern, or an entry without a reason."""
        self.entries = tuple(entries)
        self._read = [_read_entry(entry, place) for place, entry in enumerate(entries, 1)]

    def find(self, findings: Iterable[tuple[int, str, str]], today: date) -> Iterator[tuple[int, int]]:
        """The findings that are accepted ``today``, each as its id and the index of the first entry that accepts it.

        ``findings`` have an id, a rule, and a URL or the name of a file.
        """
        literal: dict[tuple[str, str], int] = {}
        patterns: dict[str, list[tuple[int, UrlPattern]]] = {}
        for place, (entry, (rules, pattern)) in enumerate(zip(self.entries, self._read, strict=True)):
            for rule in rules if entry.until >= today else ():
                if entry.url.startswith(("https://", "http://")) and not _GLOB & set(entry.url):
                    literal.setdefault((rule, entry.url), place)
                else:
                    patterns.setdefault(rule, []).append((place, pattern))
        for number, rule, url in findings:
            places = [literal[rule, url]] if (rule, url) in literal else []
            if "://" in url:
                fitting = (place for place, pattern in patterns.get(rule, ()) if pattern.matches(Url(url)))
                places += [place for place in (next(fitting, None),) if place is not None]
            if places:
                yield number, min(places)

    def counts(self, found: Counter[int], today: date) -> list[AcceptedCount]:
        """Each entry with the number of findings that it accepts; ``found`` counts them by its index."""
        return [
            AcceptedCount(
                url=entry.url,
                rule=entry.rule,
                reason=entry.reason,
                until=entry.until.isoformat(),
                findings=found[place],
                is_expired=entry.until < today,
            )
            for place, entry in enumerate(self.entries)
        ]


def read_acceptances(path: str) -> Acceptances:
    """The entries of a TOML file; none for "". Raises UsageError that names the file, the entry and the remedy."""
    if not path:
        return Acceptances()
    tables = read_toml(Path(path), f"the file of accepted findings {path}")
    try:
        return Acceptances(msgspec.convert(tables, _AcceptedFile).accepted)
    except msgspec.ValidationError as error:
        raise UsageError(
            f"the file of accepted findings {path}: {error}. Write entries as in [[accepted]] {_EXAMPLE}"
        ) from None
    except UsageError as error:
        raise UsageError(f"the file of accepted findings {path}: {error}") from None


def acceptance_notes(report: AuditReport) -> Iterator[str]:
    """Sentences on accepted findings in total, and on entries that have expired or match nothing."""
    if total := sum(count.findings for count in report.accepted):
        verb = "is" if total == 1 else "are"
        yield f"{count_text(total, 'finding')} {verb} accepted, and not counted"
    for count in report.accepted:
        name = f"the acceptance of {count.rule} for {count.url}"
        if count.is_expired:
            yield f"{name} expired on {count.until}: resolve its findings, or set a later date"
        elif not count.findings and _is_checked(report, count.rule):
            yield f"{name} matches no finding: remove it"


def _is_checked(report: AuditReport, name: str) -> bool:
    """Whether the audit could decide all rules of an entry."""
    rules = rules_failing([name]).always
    return not any(
        why_not_checked_or_absent(report, rule, group) or why_inconclusive(report, rule, group)
        for group in RULE_GROUPS
        for rule in rules.intersection(group.rules)
    )


def _read_entry(entry: Acceptance, place: int) -> tuple[frozenset[str], UrlPattern]:
    """The rules and the pattern of an entry. Raises UsageError."""
    if not entry.reason.strip():
        raise UsageError(f'entry {place} has no reason. Write why the findings are accepted, as in reason = "archived"')
    try:
        rules, pattern = rules_failing([entry.rule]).always, UrlPattern(entry.url)
    except (UsageError, ScopeError) as error:
        raise UsageError(f"entry {place}: {error}") from None
    if not rules:
        raise UsageError(
            f'entry {place} names the rule "{entry.rule}", which does not exist. siteatlas audit --rules lists '
            "all rules"
        )
    return rules, pattern
