"""Owns the value that says what is wrong with an entry."""

from collections.abc import Iterable
from typing import Final, NamedTuple

DATE_FORMS: Final = "YYYY-MM-DD or YYYY-MM-DDThh:mm:ss+00:00"  # as messages name them


class Fault(NamedTuple):
    """A rule id of :data:`sitemap.RULES`, and a sentence without the URL of the entry."""

    rule: str
    sentence: str


def first(faults: Iterable[Fault]) -> str:
    """The sentence of the first fault, or ""."""
    for fault in faults:
        return fault.sentence
    return ""
