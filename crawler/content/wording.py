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
_CODE: Final = "(?:EUR|USD|GBP|CHF|JPY|CAD|AUD|SEK|NOK|DKK|PLN|CZK|INR|CNY|BRL)"
_figure = re.compile(
    rf"((?:{_CURRENCY}|\b{_CODE})\s?[0-9][0-9.,]*+|[0-9][0-9.,]*+\s?(?:{_CURRENCY}|{_CODE}\b))"  # a price stays
    r"|(?:(?:[0-9]++|an?|one|a few)\s(?:sec(?:ond)?|min(?:ute)?|hour|day|week|month|year)s?\sago|just now"
    r"|yesterday|today)\b"
    rf"|\b{_MONTH}\b\.?,?|\b{_DAY}\b\.?,?"
    r"|\b(?=[a-z0-9_-]*[0-9])[a-z0-9_-]{1,200}+(?:[.,:/+][0-9a-z]{1,20}+)*+|[0-9]++",
    re.IGNORECASE,
).sub
_counts = re.compile(r"[0-9]|\bago\b|just now|yesterday|today", re.IGNORECASE).search
_run = re.compile(r"\x00(?:[\s\x00,.:/-]|(?:am|pm|utc|gmt|at|st|nd|rd|th)\b)*+", re.IGNORECASE).sub
MAX_MASKED: Final = 2_000
"""Characters of a text that are looked at for figures; what follows counts as it is."""


def mask(text: str) -> str:
    """The text with every run of figures, dates and tokens as one ``#``."""
    if not _counts(text):
        return text
    head, rest = text[:MAX_MASKED], text[MAX_MASKED:]
    return _run("#", _figure(_masked, head)) + rest


def _masked(found: re.Match[str]) -> str:
    return found[1] or "\x00"


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
