"""Numbers and days as exports and people's spreadsheets write them. Pure."""

import re
from datetime import date
from typing import Final

MAX_COUNT: Final = 10**15
"""No count is greater: what claims it is broken, and sums must stay integers of the database."""

_blanks = re.compile(r"[\s\u00a0\u2007\u202f'\u2019_]+").sub
_number = re.compile(r"([<>~≈=+]*)(\d[\d.,]*)([kmb]?)%?", re.IGNORECASE).fullmatch
_grouped = re.compile(r"\d{1,3}([.,])\d{2,3}(?:\1\d{2,3})*").fullmatch
_FACTOR: Final = {"": 1, "k": 1_000, "m": 1_000_000, "b": 1_000_000_000}
_day = re.compile(r"(\d{4})[-/.]?(\d{2})[-/.]?(\d{2})(?!\d)").match
_german_day = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})(?!\d)").match
_days_in = re.compile(r"(?<!\d)(20\d{2})(-?)(\d{2})\2(\d{2})(?!\d)").finditer


def is_count(text: str) -> bool:
    """Whether it can be read as a number."""
    return _number(_blanks("", text)) is not None


def parse_count(text: str) -> int:
    """The whole part of a number: ``1,234``, ``1.234``, ``1 234``, ``1234.0``, ``1.2K``; 0 for what is none.

    ``<10`` says that there was something, and no more: 1.
    """
    if text.isascii() and text.isdigit() and len(text) < 16:
        return int(text)
    match = _number(_blanks("", text))
    if match is None:
        return 0
    sign, digits, unit = match.groups()
    value = min(_value(digits, unit), MAX_COUNT)
    return int(value > 1) if "<" in sign else int(value)


def _value(digits: str, unit: str) -> float:
    if len(digits) > 40:
        return MAX_COUNT
    group = _grouped(digits)
    if group and not unit and len(digits) - digits.rindex(group[1]) == 4 and digits[0] != "0":
        return float(re.sub(r"[.,]", "", digits))
    whole, _, fraction = digits.replace(",", ".").rpartition(".")
    if not whole:
        return float(fraction) * _FACTOR[unit.lower()]
    return float(f"{whole.replace('.', '') or 0}.{fraction or 0}") * _FACTOR[unit.lower()]


def parse_day(text: str) -> str:
    """The day (``2026-11-21``) that a date begins with: ISO, ``20261121``, ``21.11.2026``; "" for all others.

    ``11/21/2026`` is none: half the world reads it the other way round.
    """
    text = text.strip()
    if match := _day(text):
        return _iso(*match.groups())
    if match := _german_day(text):
        return _iso(match[3], match[2], match[1])
    return ""


def find_days(text: str) -> list[str]:
    """The days that a line of words names, as ISO or ``20261121``."""
    return [found for match in _days_in(text) if (found := _iso(match[1], match[3], match[4]))]


def _iso(year: str, month: str, number: str) -> str:
    try:
        return date(int(year), int(month), int(number)).isoformat()
    except ValueError:
        return ""
