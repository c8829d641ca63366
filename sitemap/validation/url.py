"""Validates URLs for writing: absolute http(s), without white space, not too long."""

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from sitemap import limits, location
from sitemap.escape import escape_uri

# xsd:anyURI allows much, but a URL never contains white space, and loses its meaning if a character is removed.
NO_URL: Final = re.compile(
    "[\x00-\x20\x7f-\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ud800-\udfff\ufeff\ufffe\uffff]"
)

# Nearly every URL matches, so that no parser is needed to see that it is absolute.
_USUAL: Final = re.compile(r"https?://[A-Za-z0-9.-]*[A-Za-z0-9](?::[0-9]{1,4})?(?:[/?#]|$)")


def url_fault(name: str, url: str) -> str:
    """Why a URL cannot be the value of the tag ``name``, or ""."""
    if not url:
        return f"{name} is missing"
    length = len(url) if len(url) <= limits.MAX_LOC // 3 else len(escape_uri(url))  # escaping may triple it
    if length > limits.MAX_LOC:
        return f"{name} has {length:,} characters, fewer than {limits.MAX_LOC + 1:,} are allowed"
    if NO_URL.search(url):
        return f"{name} contains white space or a control character: percent-encode it"
    return "" if is_absolute(url) else f"{name} is not an absolute http or https URL without credentials"


def is_absolute(url: str) -> bool:
    """Whether a URL is absolute http(s), without user name and password."""
    if _USUAL.match(url):
        return True
    try:
        location.origin_and_path(url)
    except ValueError:
        return False
    return True


DATE_FORMS: Final = "YYYY-MM-DD or YYYY-MM-DDThh:mm:ss+00:00"  # as messages name them


class Fault(NamedTuple):
    """A rule id of :data:`sitemap.RULES`, and a sentence without the URL of the entry."""

    rule: str
    sentence: str


def first_sentence(faults: Iterable[Fault]) -> str:
    """The sentence of the first fault, or ""."""
    for fault in faults:
        return fault.sentence
    return ""
