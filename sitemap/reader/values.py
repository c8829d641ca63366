"""Owns the reading of single values as they occur in the wild: URLs, dates, numbers, words. Pure."""

import re
from typing import Final
from urllib.parse import urljoin, urlsplit

from sitemap import dates, limits
from sitemap.escape import quote_text

_INNER_SPACE = re.compile(r"[\t\n\r]+")
# As xsd:decimal, but never negative.
_NUMBER = re.compile(r"\+?(?:[0-9]{1,18}(?:\.[0-9]{0,18})?|\.[0-9]{1,18})")
_WHOLE = re.compile(r"\+?[0-9]{1,18}")
PRIORITIES: Final = {f"{tenth / 10}": tenth / 10 for tenth in range(11)} | {
    "1": 1.0,
    "0": 0.0,
}  # as most write them
_DATE_FORMS = "YYYY-MM-DD or YYYY-MM-DDThh:mm:ss+00:00"
_FREQUENCY_WORDS = "always, hourly, daily, weekly, monthly, yearly, never"
_YES_NO = {"yes": True, "no": False}
_LENIENT_YES_NO = {
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
_SCHEME = re.compile("[A-Za-z][A-Za-z0-9+.-]*:")
_FULL_URL_REMEDY = "write it in full, with https:// and the host"
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


def parse_url(text: str, base: str) -> tuple[str, str, str]:
    """An absolute http(s) URL or "", and the rule id and sentence of a finding or "".

    Of a URL that is too long, but not so long that it is dropped, nothing is said here: it is judged like any other.
    """
    if is_plain(text):
        return text, "", ""
    stated = text.strip()
    if not stated:
        return "", "sitemap.loc_missing", "there is no URL: write an absolute one, or take the entry out"
    if len(stated) > MAX_URL:
        most = f"fewer than {limits.MAX_LOC + 1:,} are allowed"
        return "", "sitemap.loc_too_long", f"{quote_text(stated)} has {len(stated):,} characters, {most}"
    rule = sentence = ""
    found = _INNER_SPACE.sub("", stated).replace(" ", "%20")
    if found != stated:
        rule, sentence = "sitemap.loc_encoding", f"{quote_text(stated)} holds blank space: {_blank(stated)}"
    if not found[:8].lower().startswith(("http://", "https://")):
        if not base and not _SCHEME.match(found):
            return "", "sitemap.loc_relative", f"{quote_text(stated)} is not absolute: {_FULL_URL_REMEDY}"
        rule, sentence = "sitemap.loc_relative", f"{quote_text(stated)} is not absolute: {_FULL_URL_REMEDY}"
        try:
            found = urljoin(base, found) if base else ""
        except ValueError:
            found = ""
    if not _is_http(found) or _UNUSABLE.search(found):
        return "", "sitemap.loc_invalid", f"{quote_text(stated)} is no http or https URL: {_FULL_URL_REMEDY}"
    return found, rule, sentence


def _blank(text: str) -> str:
    return "write %20" if " " in text else "write it on one line"


def _is_http(text: str) -> bool:
    try:
        split = urlsplit(text)
    except ValueError:
        return False
    return split.scheme in {"http", "https"} and bool(split.netloc)


def parse_lastmod(text: str) -> tuple[str, str, str]:
    """A date in a form that the XSD allows or "", and the rule id and sentence of a finding or ""."""
    stated = text.strip()
    if not stated:
        return "", "lastmod.invalid", "lastmod is empty: leave the tag out"
    if dates.is_valid_date(stated):
        return stated, "", ""
    if found := dates.normalize_date(stated):
        return (
            found,
            "lastmod.form",
            f"lastmod {stated[:64]!r} has a form that the schema does not allow: write {found}",
        )
    if dates.parse_date(stated):
        return "", "lastmod.form", f"lastmod {stated[:64]!r} says no day: write YYYY-MM-DD"
    return "", "lastmod.invalid", f"lastmod {stated[:64]!r} is no date: write {_DATE_FORMS}"


def parse_changefreq(text: str) -> tuple[str, str]:
    """A word of the protocol or "", and a sentence when it was not stated as such."""
    stated = text.strip()
    if stated in limits.CHANGE_FREQUENCIES:
        return stated, ""
    word = stated.lower()
    if word in limits.CHANGE_FREQUENCIES:
        return word, f"changefreq {stated!r} is not spelled as in the protocol: write {word}"
    if not stated:
        return "", "changefreq is empty: leave the tag out"
    return "", f"changefreq {stated[:64]!r} is no word of the protocol: write one of {_FREQUENCY_WORDS}"


def parse_priority(text: str) -> tuple[float | None, str]:
    """A number from 0.0 to 1.0 or None, and a sentence when it was none."""
    value = PRIORITIES.get(text)
    if value is None:
        value = parse_number(text)
    if value is not None and 0.0 <= value <= 1.0:
        return value, ""
    stated = text.strip()[:64]
    if not stated:
        return None, "priority is empty: leave the tag out"
    if value is not None or parse_number(stated.lstrip("-")) is not None:
        return None, f"priority {stated!r} is out of range: write a number from 0.0 to 1.0"
    meant = parse_number(stated.replace(",", "."))
    remedy = str(meant) if meant is not None and meant <= 1.0 else "one from 0.0 to 1.0"
    return None, f"priority {stated!r} is no number: write {remedy}"


def parse_number(text: str) -> float | None:
    """A plain decimal, or None. Never what ``float`` also takes: ``1_0``, ``nan``, full-width digits."""
    text = text.strip()
    return float(text) if _NUMBER.fullmatch(text) else None


def parse_whole(text: str) -> tuple[int | None, str]:
    """A non-negative integer or None, and a sentence when it was not stated as such."""
    text = text.strip()
    if _WHOLE.fullmatch(text):
        return int(text), ""
    value = parse_number(text)
    if value is not None and value == int(value):
        return int(value), f"{text[:64]!r} is no whole number: write {int(value)}"
    if not text:
        return None, "is empty: leave it out"
    return None, f"{text[:64]!r} is no whole number: write one in digits, or leave it out"


def parse_yes_no(text: str) -> tuple[bool | None, str]:
    """``yes`` or ``no`` as a bool or None, and a sentence when it was stated in other words."""
    word = text.strip().lower()
    if word in _YES_NO:
        return _YES_NO[word], ""
    if word in _LENIENT_YES_NO:
        return _LENIENT_YES_NO[
            word
        ], f"{word!r} is neither yes nor no: write {'yes' if _LENIENT_YES_NO[word] else 'no'}"
    if not word:
        return None, "is empty: leave it out"
    return None, f"{text.strip()[:64]!r} is neither yes nor no: write one of them, or leave it out"
