"""How sizes, durations and outcomes are said to a person."""


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
