"""Owns the making of single XML elements from values. What is "" or None gives no element."""

from sitemap.escape import escape, uri


def tag(name: str, text: str, attributes: str = "") -> str:
    """An element with escaped text, or "" when there is none. ``attributes`` are as :func:`attribute` makes them."""
    return f"<{name}{attributes}>{escape(text)}</{name}>" if text else ""


def link(name: str, url: str, attributes: str = "") -> str:
    """An element with a URL."""
    return tag(name, uri(url), attributes)


def attribute(name: str, value: str) -> str:
    """A blank, the name and the escaped value, or "" when there is none."""
    return f' {name}="{escape(value)}"' if value else ""


def number(name: str, value: float | None) -> str:
    """An element with a number."""
    return "" if value is None else f"<{name}>{decimal(value)}</{name}>"


def yes_no(name: str, value: bool | None) -> str:
    """An element with ``yes`` or ``no``."""
    return "" if value is None else f"<{name}>{said(value)}</{name}>"


def said(value: bool) -> str:
    """``yes`` or ``no``."""
    return "yes" if value else "no"


def decimal(value: float) -> str:
    """A number as ``xsd:decimal``: never in scientific notation."""
    if isinstance(value, int):
        return str(int(value))
    text = repr(value)
    return text if "e" not in text and "n" not in text else f"{value:.6f}".rstrip("0").ljust(3, "0")
