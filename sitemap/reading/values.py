"""Owns the reading of single values as they occur in the wild: URLs, dates, numbers, words. Pure."""

import re
from typing import Final
from urllib.parse import urljoin, urlsplit

from sitemap import limits, w3c
from sitemap.quoting import shown

_INNER_SPACE = re.compile(r"[\t\n\r]+")
# As xsd:decimal, but never negative.
_NUMBER = re.compile(r"\+?(?:[0-9]{1,18}(?:\.[0-9]{0,18})?|\.[0-9]{1,18})")
_WHOLE = re.compile(r"\+?[0-9]{1,18}")
PRIORITIES: Final = {f"{tenth / 10}": tenth / 10 for tenth in range(11)} | {
    "1": 1.0,
    "0": 0.0,
}  # as most write them
_YES_NO = {"yes": True, "no": False}
_AS_GOOD_AS = {
    "true": True,
    "y": True,
    "t": True,
    "1": True,
    "false": False,
    "n": False,
    "f": False,
    "0": False,
}
_UNUSABLE = re.compile("[\x00-\x20\x7f\ud800-\udfff\ufffe\uffff]")
MAX_URL: Final = 8_192  # characters of a URL that is still handed on


def is_plain(text: str) -> bool:
    """Whether a text is a URL as nearly all are: absolute, printable ASCII, no blanks, not too short or long."""
    return (
        text.startswith(("https://", "http://"))
        and text.isascii()
        and text.isprintable()
        and " " not in text
        and limits.MIN_LOC <= len(text) <= limits.MAX_LOC
    )


def url(text: str, base: str) -> tuple[str, str, str]:
    """An absolute http(s) URL or "", and the rule id and sentence of a finding or ""."""
    if is_plain(text):
        return text, "", ""
    stated = text.strip()
    if not stated:
        return "", "sitemap.loc_missing", "there is no URL"
    if len(stated) > MAX_URL:
        return "", "sitemap.loc_too_long", f"a URL has {len(stated):,} characters and was dropped"
    rule = sentence = ""
    found = _INNER_SPACE.sub("", stated).replace(" ", "%20")
    if found != stated:
        rule, sentence = "sitemap.loc_encoding", f"{shown(stated)} holds blank space"
    if not found[:8].lower().startswith(("http://", "https://")):
        rule, sentence = "sitemap.loc_relative", f"{shown(stated)} is not absolute"
        try:
            found = urljoin(base, found) if base else ""
        except ValueError:
            found = ""
    if not _is_http(found) or _UNUSABLE.search(found):
        return (
            "",
            "sitemap.loc_invalid",
            f"{shown(stated)} is no absolute http or https URL and was dropped",
        )
    if not rule and len(found) > limits.MAX_LOC:
        rule, sentence = (
            "sitemap.loc_too_long",
            f"a URL has {len(found):,} characters, fewer than {limits.MAX_LOC + 1:,} are allowed",
        )
    return found, rule, sentence


def _is_http(text: str) -> bool:
    try:
        split = urlsplit(text)
    except ValueError:
        return False
    return split.scheme in {"http", "https"} and bool(split.netloc)


def lastmod(text: str) -> tuple[str, str, str]:
    """A date in a form that the XSD allows or "", and the rule id and sentence of a finding or ""."""
    stated = text.strip()
    if not stated:
        return "", "lastmod.invalid", "lastmod is empty"
    if w3c.is_valid(stated):
        return stated, "", ""
    if found := w3c.normalise(stated):
        return found, "lastmod.form", f"lastmod {stated[:64]!r} was read as {found}"
    if w3c.read(stated):
        return "", "lastmod.form", f"lastmod {stated[:64]!r} says no day and was left out"
    return "", "lastmod.invalid", f"lastmod {stated[:64]!r} is no date"


def changefreq(text: str) -> tuple[str, str]:
    """A word of the protocol or "", and a sentence when it was not stated as such."""
    stated = text.strip()
    if stated in limits.CHANGE_FREQUENCIES:
        return stated, ""
    word = stated.lower()
    if word in limits.CHANGE_FREQUENCIES:
        return word, f"changefreq {stated!r} was read as {word!r}"
    return "", f"changefreq {stated[:64]!r} is not a word of the protocol"


def priority(text: str) -> tuple[float | None, str]:
    """A number from 0.0 to 1.0 or None, and a sentence when it was none."""
    value = PRIORITIES.get(text)
    if value is None:
        value = number(text)
    if value is not None and 0.0 <= value <= 1.0:
        return value, ""
    return None, f"priority {text.strip()[:64]!r} is not between 0.0 and 1.0"


def number(text: str) -> float | None:
    """A plain decimal, or None. Never what ``float`` also takes: ``1_0``, ``nan``, full-width digits."""
    text = text.strip()
    return float(text) if _NUMBER.fullmatch(text) else None


def whole(text: str) -> tuple[int | None, str]:
    """A non-negative integer or None, and a sentence when it was not stated as such."""
    text = text.strip()
    if _WHOLE.fullmatch(text):
        return int(text), ""
    value = number(text)
    if value is not None and value == int(value):
        return int(value), f"{text[:64]!r} was read as {int(value)}"
    return None, f"{text[:64]!r} is no whole number and was left out"


def yes_no(text: str) -> tuple[bool | None, str]:
    """``yes`` or ``no`` as a bool or None, and a sentence when it was stated in other words."""
    word = text.strip().lower()
    if word in _YES_NO:
        return _YES_NO[word], ""
    if word in _AS_GOOD_AS:
        return _AS_GOOD_AS[word], f"{word!r} was read as {'yes' if _AS_GOOD_AS[word] else 'no'!r}"
    return None, f"{text.strip()[:64]!r} is neither yes nor no and was left out"
