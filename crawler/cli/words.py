"""How numbers, sizes and texts from the web are put on a terminal."""

import re

# Controls (C0, C1), soft hyphens, what turns the line around or ends it, what is never seen (zero width space, word
# joiner, byte order mark, tags), halves of characters, and what is no character. Joiners stay: words need them.
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufdd0-\ufdef\ufeff"
    "\ufff0-\ufffb\ufffe\uffff\U000e0000-\U000e0fff]"
)


def safe(text: str) -> str:
    """Text that a terminal shows and never obeys: what controls it or is not seen becomes a visible escape.

    The direction characters are those of https://www.unicode.org/reports/tr9/#Directional_Formatting_Characters.
    """
    if text.isascii() and text.isprintable():
        return text
    return _UNSAFE.sub(lambda found: repr(found[0])[1:-1], text)


def count(number: int, what: str, many: str = "") -> str:
    """A number and what it counts: ``1 page``, ``1,204 pages``; ``many`` is the plural when it takes no s."""
    if number != 1 and not what.startswith("with"):
        what = many or f"{what}s"
    return f"{number:,} {what}"


def outcome(said: str) -> str:
    """What came of a run that ended, as its record says it."""
    return "came to nothing" if said in ("", "nothing") else said


def amount(size: float) -> str:
    """Bytes for people: ``812 bytes``, ``1.4 MB``."""
    if size < 1000:
        return f"{size:.0f} bytes"
    unit = ""
    for unit in ("kB", "MB", "GB"):  # noqa: B007 - the unit that fits is what is wanted
        size /= 1000
        if size < 1000:
            break
    return f"{size:.1f} {unit}" if size < 100 else f"{size:,.0f} {unit}"


def clock(seconds: float) -> str:
    """``4.2 s``, ``42 s``, ``3:07`` or ``2:03:07``."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
