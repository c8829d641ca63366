"""The best candidate of a srcset. Resolves nothing."""

import re
from typing import Final

MAX_VALUE: Final = 65_536

# https://html.spec.whatwg.org/#parse-a-srcset-attribute : a URL may hold commas but not begin or end with one.
_candidate = re.compile(r"[\t\n\f\r ,]*([^\t\n\f\r ,][^\t\n\f\r ]*)([^,(]*(?:\([^)]*\)[^,(]*)*)").match
_descriptor = re.compile(r"([0-9]+(?:\.[0-9]+)?)([wx])").fullmatch


def best(value: str) -> str:
    """The candidate with the largest width, or density when no widths are given; the first of equals; "" for none."""
    value = value[:MAX_VALUE]
    best_url, best_size = "", (-1, -1.0)
    at = 0
    while found := _candidate(value, at):
        url, descriptors = found.groups()
        at = found.end()
        if url.endswith(","):
            url, descriptors = url.rstrip(","), ""
            at = found.end(1)
        size = _size(descriptors)
        if size > best_size and not url.lower().startswith("data:"):
            best_url, best_size = url, size
    return best_url


def _size(descriptors: str) -> tuple[int, float]:
    for word in descriptors.split():
        found = _descriptor(word)
        if found:
            return (1, float(found[1])) if found[2] == "w" else (0, float(found[1]))
    return (0, 1.0)
