"""Owns which URLs may be written: absolute ones of http or https, without white space, not too long."""

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from sitemap import limits, location
from sitemap.escape import escape_uri

# xsd:anyURI is wide, but white space is never part of a URL, and a URL loses its meaning with a character.
NO_URL: Final = re.compile(
    "[\x00-\x20\x7f-\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ud800-\udfff\ufeff\ufffe\uffff]"
)

# Nearly every URL is of this kind, and needs no parser to be known as absolute.
_USUAL: Final = re.compile(r"https?://[A-Za-z0-9.-]*[A-Za-z0-9](?::[0-9]{1,4})?(?:[/?#]|$)")


def url_fault(name: str, url: str) -> str:
    """Why a URL cannot be the value of the tag ``name``, or ""."""
    if not url:
        return f"{name} is missing"
    if (
        len(url) > limits.MAX_LOC // 3 and len(escape_uri(url)) > limits.MAX_LOC
    ):  # escaping makes three of one
        return (
            f"{name} has {len(escape_uri(url)):,} characters, fewer than {limits.MAX_LOC + 1:,} are allowed"
        )
    if NO_URL.search(url):
        return f"{name} holds white space or a control character: percent-encode it"
    return "" if is_absolute(url) else f"{name} is no absolute http or https URL without credentials"


def is_absolute(url: str) -> bool:
    """Whether it is an absolute http(s) URL without user name and password."""
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
