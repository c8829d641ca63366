"""Durations, sizes, counts and dates as text, and durations and sizes read from text. Pure."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime

_TIME_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_SPANS = (("day", 86400), ("hour", 3600), ("minute", 60), ("second", 1))
_SIZE_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30}


def parse_duration(text: str) -> float:
    """Seconds of ``90``, ``90s``, ``15m``, ``2h`` or ``1d``. Raises ValueError."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([smhd]?)\s*", text)
    if not match:
        raise ValueError(f'"{text}" is not a duration. Write seconds, or 90s, 15m, 2h, 1d')
    return float(match[1]) * _TIME_UNITS[match[2]]


def format_size(number: int) -> str:
    """Bytes as :func:`parse_size` reads them, in the largest unit that divides them: ``64M``, ``52428801``."""
    unit = next((unit for unit in "GMK" if number and not number % _SIZE_UNITS[unit]), "")
    return f"{number // _SIZE_UNITS[unit]}{unit}"


def parse_size(text: str) -> int:
    """Bytes of ``500000``, ``512K``, ``20M`` or ``1G``. Raises ValueError."""
    match = re.fullmatch(r"\s*(\d{1,15}(?:\.\d+)?)\s*([KMG]?)(?:i?B)?\s*", text, re.IGNORECASE)
    if not match:
        raise ValueError(f'"{text}" is not a size. Write bytes, or 512K, 20M, 1G')
    return int(float(match[1]) * _SIZE_UNITS[match[2].upper()])


def span(seconds: float) -> str:
    """A duration for people, in whole units of the largest that fits: ``3 days``, ``18 minutes``, ``1 second``."""
    name, unit = next(((name, unit) for name, unit in _SPANS if seconds >= unit), _SPANS[-1])
    return count_text(int(seconds // unit), name)


def count_text(number: int, what: str, many: str = "") -> str:
    """A number and its noun: ``1 page``, ``1,204 pages``; ``many`` is a plural without s."""
    if number != 1 and not what.startswith("with"):
        what = many or f"{what}s"
    return f"{number:,} {what}"


def names_text(names: Sequence[str], most: int = 5) -> str:
    """The first names, and the number of the others: ``a, b and 3 more``."""
    return ", ".join(names[:most]) + (f" and {len(names) - most:,} more" if len(names) > most else "")


def outcome_text(outcome: str) -> str:
    """The outcome of a run, as its record has it, for people."""
    return "no result" if outcome in ("", "nothing") else outcome


def size_text(size: float) -> str:
    """Bytes for people: ``812 bytes``, ``1.4 MB``."""
    if size < 1000:
        return f"{size:.0f} bytes"
    unit = ""
    for unit in ("kB", "MB", "GB"):  # noqa: B007 - used after the loop
        size /= 1000
        if size < 1000:
            break
    return f"{size:.1f} {unit}" if size < 100 else f"{size:,.0f} {unit}"


def clock_text(seconds: float) -> str:
    """``4.2 s``, ``42 s``, ``3:07`` or ``2:03:07``."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def w3c(moment: float) -> str:
    """A moment (Unix time) as a W3C datetime in UTC, to the second."""
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="seconds")
