"""Durations and sizes as people write them, and counts as they read them. Pure."""

import re

_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_SIZES = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30}


def duration(text: str) -> float:
    """Seconds of ``90``, ``90s``, ``15m``, ``2h`` or ``1d``. Raises ValueError."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([smhd]?)\s*", text)
    if not match:
        raise ValueError(f'"{text}" is not a duration: write seconds, or 90s, 15m, 2h, 1d')
    return float(match[1]) * _UNITS[match[2]]


def as_size(number: int) -> str:
    """Bytes as :func:`size` reads them, in the largest unit that leaves no rest: ``64M``, ``52428801``."""
    unit = next((unit for unit in "GMK" if number and not number % _SIZES[unit]), "")
    return f"{number // _SIZES[unit]}{unit}"


def size(text: str) -> int:
    """Bytes of ``500000``, ``512K``, ``20M`` or ``1G``. Raises ValueError."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMG]?)(?:i?B)?\s*", text, re.IGNORECASE)
    if not match:
        raise ValueError(f'"{text}" is not a size: write bytes, or 512K, 20M, 1G')
    return int(float(match[1]) * _SIZES[match[2].upper()])


def count(number: int, what: str, many: str = "") -> str:
    """A number and what it counts: ``1 page``, ``1,204 pages``; ``many`` is the plural when it takes no s."""
    if number != 1 and not what.startswith("with"):
        what = many or f"{what}s"
    return f"{number:,} {what}"
