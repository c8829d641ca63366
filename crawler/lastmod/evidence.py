"""Puts the changes of a page in words: what a visitor sees first, and each change once. Pure."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from operator import itemgetter
from typing import Final

from crawler.parse.snapshot.diff import FACT, LINK, Difference, stated_name

MAX_EVIDENCE: Final = 3
"""Changes that are named for a page."""
_MIN_PART: Final = 16  # characters of a text that repeats a part of another; a shorter one may be in it by chance


def evidence_text(differences: Iterable[Difference]) -> str:
    """The first changes of a page and the number of the others: ``- Price: 20; + Price: 25; 2 more``.

    "-" precedes a text that left the page, "+" one that came, and "~" one whose link, picture or end changed.
    """
    texts = list(_change_texts(order_differences(differences)))
    more = f"; {len(texts) - MAX_EVIDENCE:,} more" if len(texts) > MAX_EVIDENCE else ""
    return "; ".join(texts[:MAX_EVIDENCE]) + more


def discounted_text(discounted: Iterable[tuple[Difference, str]]) -> str:
    """What differs and is no change: for the most frequent reasons one text and the number of the others."""
    known = list(discounted)
    counts = Counter(reason for _, reason in known)
    examples = {reason: difference.text for difference, reason in reversed(known)}
    return "; ".join(
        f'"{examples[reason]}"{f" and {count - 1:,} more" if count > 1 else ""}: {reason}'
        for reason, count in counts.most_common(MAX_EVIDENCE)
    )


def order_differences(differences: Iterable[Difference]) -> list[Difference]:
    """The differences in the order in which people want to read them.

    Visible texts come before links and pictures; prices and availability that are stated as data before other
    statements, and JSON-LD last. Texts stay in the order of the page, each followed by the one that replaced it.
    """
    places: dict[int, int] = {}
    counts: dict[tuple[int, bool], int] = {}
    keyed = []
    for number, difference in enumerate(differences):
        place = places.setdefault(difference.place, len(places))
        nth = counts[place, difference.gone] = counts.get((place, difference.gone), 0) + 1
        keyed.append(((_rank(difference), place, nth, not difference.gone, number), difference))
    return [difference for _, difference in sorted(keyed, key=itemgetter(0))]


def _rank(difference: Difference) -> int:
    name = stated_name(difference)
    if not name:
        return 1 if difference.flags & LINK else 0
    if difference.flags & FACT:
        return 2
    return 4 if name.startswith("JSON-LD") else 3


def _change_texts(differences: list[Difference]) -> Iterator[str]:
    """Each change once: structured data often repeats a text of the page, and a heading the title."""
    lost, came = ({d.text for d in differences if d.gone is gone} for gone in (True, False))
    names = [stated_name(difference) for difference in differences]
    named: dict[str, list[str]] = {"-": [], "+": [], "~": []}
    for name, difference in zip(names, differences, strict=True):
        text = difference.text
        sign = "~" if text in lost & came else "-" if difference.gone else "+"
        is_blurred = sign == "~" and name and "" in names  # data that changed beyond what is known of it
        if text and not is_blurred and not _is_repeated(name, text, named[sign]):
            named[sign].append(text)
            yield f"{sign} {text}"


def _is_repeated(name: str, text: str, named: list[str]) -> bool:
    """Whether a text only repeats another one or a part of it, or is data (``name``) in which that one begins."""
    if not name:
        return text in named or (len(text) >= _MIN_PART and any(text in other for other in named))
    value = text[len(name) + 2 :]
    if len(value) < _MIN_PART:
        return any(map(re.compile(rf"(?<!\w){re.escape(value)}(?!\w)").search, named))
    return any(value in other or (len(other) >= _MIN_PART and other[:_MIN_PART] in value) for other in named)
