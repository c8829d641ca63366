"""Owns the reading of single values as they occur in the wild: URLs, dates, numbers, words. Pure."""

import re
from urllib.parse import urljoin, urlsplit

from sitemap import limits, w3c

_INNER_SPACE = re.compile(r"[\t\n\r]+")
_NUMBER = re.compile(r"[0-9]{1,18}(?:\.[0-9]{1,18})?")
_UNUSABLE = re.compile("[\x00-\x20\x7f\ud800-\udfff\ufffe\uffff]")
_USERINFO = re.compile(r"//[^/?#]*@")
MAX_URL = 8_192  # characters of a URL that is still handed on


def url(text: str, base: str) -> tuple[str, str, str]:
    """An absolute http(s) URL or "", and the rule id and sentence of a finding or ""."""
    stated = _INNER_SPACE.sub("", text.strip())
    if not stated:
        return "", "sitemap.loc_missing", "there is no URL"
    if len(stated) > MAX_URL:
        return "", "sitemap.loc_too_long", f"a URL has {len(stated):,} characters and was dropped"
    rule = sentence = ""
    if not stated[:8].lower().startswith(("http://", "https://")):
        rule, sentence = "sitemap.loc_relative", f"{_shown(stated)} is not absolute"
        try:
            stated = urljoin(base, stated) if base else ""
        except ValueError:
            stated = ""
    found = stated.replace(" ", "%20")
    if not _is_http(found) or _UNUSABLE.search(found):
        return (
            "",
            "sitemap.loc_invalid",
            f"{_shown(text.strip())} is no absolute http or https URL and was dropped",
        )
    if not rule and len(found) > limits.MAX_LOC:
        rule, sentence = (
            "sitemap.loc_too_long",
            f"a URL has {len(found):,} characters, fewer than 2,048 are allowed",
        )
    return found, rule, sentence


def _is_http(text: str) -> bool:
    try:
        split = urlsplit(text)
    except ValueError:
        return False
    return split.scheme in {"http", "https"} and bool(split.netloc)


def lastmod(text: str) -> tuple[str, str]:
    """A date in a form that the XSD allows, or "", and a sentence when it was not stated in such a form."""
    stated = text.strip()
    if not stated or w3c.is_valid(stated):
        return stated, "" if stated else "lastmod is empty"
    found = w3c.normalise(stated)
    return (
        found,
        f"lastmod {stated[:64]!r} was read as {found}" if found else f"lastmod {stated[:64]!r} is no date",
    )


def changefreq(text: str) -> tuple[str, str]:
    """A word of the protocol, or "", and a sentence when it was none."""
    word = text.strip().lower()
    if word in limits.CHANGE_FREQUENCIES:
        return word, ""
    return "", f"changefreq {text.strip()[:64]!r} is not a word of the protocol"


def priority(text: str) -> tuple[float | None, str]:
    """A number from 0.0 to 1.0, or None, and a sentence when it was none."""
    value = number(text)
    if value is not None and 0.0 <= value <= 1.0:
        return value, ""
    return None, f"priority {text.strip()[:64]!r} is not between 0.0 and 1.0"


def number(text: str) -> float | None:
    """A plain decimal, or None. Never what ``float`` also takes: ``1_0``, ``nan``, full-width digits."""
    text = text.strip()
    return float(text) if _NUMBER.fullmatch(text) else None


def whole(text: str) -> int | None:
    """A plain non-negative integer, or None."""
    value = number(text)
    return int(value) if value is not None and value == int(value) else None


def yes_no(text: str) -> bool | None:
    """``yes`` or ``no`` in any case, or None."""
    return {"yes": True, "no": False}.get(text.strip().lower())


def _shown(stated: str) -> str:
    """A URL as a message may quote it: cut to size, harmless, and without a user name or password."""
    return repr(_USERINFO.sub("//", stated)[:120])
