"""Parses single values as they occur in real sitemaps: URLs, dates, numbers, words. Pure."""

import re
from typing import Final
from urllib.parse import urljoin, urlsplit

from sitemap import dates, limits
from sitemap.escape import quote_text

_INNER_SPACE = re.compile(r"[\t\n\r]+")
# As xsd:decimal, but never negative.
_NUMBER = re.compile(r"\+?(?:[0-9]{1,18}(?:\.[0-9]{0,18})?|\.[0-9]{1,18})")
_WHOLE = re.compile(r"\+?[0-9]{1,18}")
PRIORITIES: Final = {"0": 0.0, "1": 1.0, **{f"{tenth / 10}": tenth / 10 for tenth in range(11)}}  # the usual texts
_DATE_FORMS = "YYYY-MM-DD or YYYY-MM-DDThh:mm:ss+00:00"
_FREQUENCY_WORDS = "always, hourly, daily, weekly, monthly, yearly, never"
_YES_NO = {"yes": True, "no": False}
_LENIENT_YES_NO = {**dict.fromkeys(("true", "y", "t", "1"), True), **dict.fromkeys(("false", "n", "f", "0"), False)}
_UNUSABLE = re.compile("[\x00-\x20\x7f\ud800-\udfff\ufffe\uffff]")
_SCHEME = re.compile("[A-Za-z][A-Za-z0-9+.-]*+:").match
_FULL_URL_REMEDY = "write it in full, with https:// and the host"
MAX_URL: Final = 8_192  # characters; a longer URL is dropped


def is_plain(text: str) -> bool:
    """Whether a text is a usual URL: absolute, printable ASCII, no blanks, not too short or long."""
    return (
        text.startswith(("https://", "http://"))
        and text.isascii()
        and text.isprintable()
        and " " not in text
        and limits.MIN_LOC <= len(text) <= limits.MAX_LOC
    )


def parse_url(text: str, base: str) -> tuple[str, str, str]:
    """An absolute http(s) URL or "", and the rule id and sentence of a finding or "".

    Only a URL that is so long that it is dropped is reported as too long here.
    """
    if is_plain(text):
        return text, "", ""
    stated = text.strip()
    if not stated:
        return "", "sitemap.loc_missing", "there is no URL: write an absolute one, or remove the entry"
    if len(stated) > MAX_URL:
        limit = f"fewer than {limits.MAX_LOC + 1:,} are allowed"
        return "", "sitemap.loc_too_long", f"{quote_text(stated)} has {len(stated):,} characters, {limit}"
    rule = sentence = ""
    url = _INNER_SPACE.sub("", stated).replace(" ", "%20")
    if url != stated:
        rule, sentence = ("sitemap.loc_encoding", f"{quote_text(stated)} contains blank space: {_blank_remedy(stated)}")
    if not url[:8].lower().startswith(("http://", "https://")):
        if not base and not _SCHEME(url):
            return "", "sitemap.loc_relative", f"{quote_text(stated)} is not absolute: {_FULL_URL_REMEDY}"
        rule, sentence = "sitemap.loc_relative", f"{quote_text(stated)} is not absolute: {_FULL_URL_REMEDY}"
        try:
            url = urljoin(base, url) if base else ""
        except ValueError:
            url = ""
    if not _is_http(url) or _UNUSABLE.search(url):
        return ("", "sitemap.loc_invalid", f"{quote_text(stated)} is not an http or https URL: {_FULL_URL_REMEDY}")
    return url, rule, sentence


def _blank_remedy(text: str) -> str:
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
    if normal := dates.normalize_date(stated):
        return (
            normal,
            "lastmod.form",
            f"lastmod {stated[:64]!r} has a form that the schema does not allow: write {normal}",
        )
    if dates.parse_date(stated):
        return "", "lastmod.form", f"lastmod {stated[:64]!r} states no day: write YYYY-MM-DD"
    return "", "lastmod.invalid", f"lastmod {stated[:64]!r} is not a date: write {_DATE_FORMS}"


def parse_changefreq(text: str) -> tuple[str, str]:
    """A word of the protocol or "", and a sentence if the text is another, else ""."""
    stated = text.strip()
    if stated in limits.CHANGE_FREQUENCIES:
        return stated, ""
    word = stated.lower()
    if word in limits.CHANGE_FREQUENCIES:
        return word, f"changefreq {stated!r} is not spelled as in the protocol: write {word}"
    if not stated:
        return "", "changefreq is empty: leave the tag out"
    return "", f"changefreq {stated[:64]!r} is not a word of the protocol: write one of {_FREQUENCY_WORDS}"


def parse_priority(text: str) -> tuple[float | None, str]:
    """A number from 0.0 to 1.0 or None, and a sentence if the text is none, else ""."""
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
    number = parse_number(stated.replace(",", "."))
    remedy = str(number) if number is not None and number <= 1.0 else "one from 0.0 to 1.0"
    return None, f"priority {stated!r} is not a number: write {remedy}"


def parse_number(text: str) -> float | None:
    """A plain decimal, or None; also for ``1_0``, ``nan`` and full-width digits, which ``float`` accepts."""
    text = text.strip()
    return float(text) if _NUMBER.fullmatch(text) else None


def parse_whole(text: str) -> tuple[int | None, str]:
    """A non-negative integer or None, and a sentence if the text is not in this form, else ""."""
    text = text.strip()
    if _WHOLE.fullmatch(text):
        return int(text), ""
    value = parse_number(text)
    if value is not None and value == int(value):
        return int(value), f"{text[:64]!r} is not a whole number: write {int(value)}"
    if not text:
        return None, "is empty: leave it out"
    return None, f"{text[:64]!r} is not a whole number: write one in digits, or leave it out"


def parse_yes_no(text: str) -> tuple[bool | None, str]:
    """``yes`` or ``no`` as a bool or None, and a sentence if the text is another, else ""."""
    word = text.strip().lower()
    if word in _YES_NO:
        return _YES_NO[word], ""
    if word in _LENIENT_YES_NO:
        value = _LENIENT_YES_NO[word]
        return value, f"{word!r} is neither yes nor no: write {'yes' if value else 'no'}"
    if not word:
        return None, "is empty: leave it out"
    return None, f"{text.strip()[:64]!r} is neither yes nor no: write one of them, or leave it out"
