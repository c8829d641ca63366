"""The wording of a block without what only counts or dates it: numbers, times, tokens. And addresses without tokens.

Two texts with the same mask say the same with other figures. Prices are wording: a page that asks another price says
something else.
"""

import re
from typing import Final

_MONTH: Final = (
    "(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    "|nov(?:ember)?|dec(?:ember)?)"
)
_DAY: Final = "(?:mon|tues?|wed(?:nes)?|thur?s?|fri|sat(?:ur)?|sun)(?:day)?"
_CURRENCY: Final = "[$\u20ac\u00a3\u00a5\u20b9\u20bd\u20a9]"
# All in lower case, for a case that does not matter costs most of the time.
_CODE: Final = "(?:eur|usd|gbp|chf|jpy|cad|aud|sek|nok|dkk|pln|czk|inr|cny|brl)"
_UNIT: Final = "(?:sec(?:ond)?|min(?:ute)?|hour|day|week|month|year)"
# Prices, which stay, are the groups. Every alternative begins with a figure, at a sign of money, or with a word.
_figure = re.compile(
    rf"([0-9][0-9.,]*+\s?(?:{_CURRENCY}|{_CODE}\b)|{_CURRENCY}\s?[0-9][0-9.,]*+)"
    rf"|[0-9]++\s{_UNIT}s?\sago\b"
    rf"|\b(?:({_CODE}\s?[0-9][0-9.,]*+)|(?:an?|one|a few)\s{_UNIT}s?\sago\b|(?:just now|yesterday|today)\b"
    rf"|{_MONTH}\b\.?,?|{_DAY}\b\.?,?"
    r"|(?=[a-z0-9_-]*[0-9])[a-z0-9_-]{1,200}+(?:[.,:/+][0-9a-z]{1,20}+)*+)|[0-9]++"
).finditer
_digit = re.compile("[0-9]").search
_MOMENTS: Final = (" ago", "just now", "yesterday", "today")
_run = re.compile(r"\x00(?:[\s\x00,.:/-]|(?:am|pm|utc|gmt|at|st|nd|rd|th)\b)*+", re.IGNORECASE).sub
_lower = str.maketrans({letter.upper(): letter for letter in "abcdefghijklmnopqrstuvwxyz"})
MAX_MASKED: Final = 2_000
"""Characters of a text that are looked at for figures; what follows counts as it is."""


def mask(text: str) -> str:
    """The text with every run of figures, dates and tokens as one ``#``."""
    low = text[:MAX_MASKED]
    low = low.lower() if low.isascii() else low.translate(_lower)  # as long as before
    if not _digit(low) and not any(moment in low for moment in _MOMENTS):
        return text
    parts: list[str] = []
    at = 0
    for found in _figure(low):
        if found[1] or found[2]:
            continue
        begin, end = found.span()
        parts += (text[at:begin], "\x00")
        at = end
    parts.append(text[at:MAX_MASKED])
    return _run("#", "".join(parts)) + text[MAX_MASKED:]


_asset = re.compile(
    r"\.(?:png|jpe?g|gif|webp|avif|svg|ico|bmp|mp4|webm|mp3|ogg|pdf|css|js)\Z", re.IGNORECASE
).search
_fleeting = re.compile(
    r"(?:.*(?:csrf|xsrf|token|nonce|session|sessid|signature|cachebust)|sid|_|cb|rnd|rand|random|utm_.*|gclid|fbclid)\Z",
    re.IGNORECASE | re.DOTALL,
).match
_random = re.compile(r"(?=[^=]*[0-9])(?:[0-9a-f]{16,}|[0-9a-zA-Z_-]{24,})\Z").match
MAX_ADDRESS: Final = 2_000


def address(href: str) -> str:
    """An address as a reader means it: without fragments of white space, cache busters, session ids and tokens."""
    href = href.strip()[:MAX_ADDRESS]
    path, mark, query = href.partition("?")
    if not mark:
        return href
    query, mark, fragment = query.partition("#")
    if _asset(path):
        return path
    kept = "&".join(part for part in query.split("&") if not _is_fleeting(part))
    return f"{path}?{kept}{mark}{fragment}" if kept else f"{path}{mark}{fragment}"


def _is_fleeting(part: str) -> bool:
    name, _, value = part.partition("=")
    return bool(_fleeting(name[:80]) or _random(value))
