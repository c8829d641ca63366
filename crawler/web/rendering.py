"""How pages are made of templates and values: everything that comes from elsewhere is escaped, and shown as it is.

The policy of a page (https://www.w3.org/TR/CSP3/) lets the browser use its one style, named by its hash, and nothing
else: no script, no frame, no other host.
"""

from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from starlette.responses import Response

from crawler.audit.report.html import is_web
from crawler.audit.report.style import source, style
from crawler.cli.words import amount, clock
from crawler.publish.changes import Counts, told_counts
from crawler.quantities import count
from sitemap import safe

if TYPE_CHECKING:
    from jinja2 import Environment

_EVER: Final = 1e10  # seconds: what is longer comes of a damaged state
_STEPS: Final = ((60.0, "s"), (60.0, "min"), (24.0, "h"), (7.0, "day"), (4.35, "week"), (12.0, "month"))


def page(template: str, status: int = 200, **values: Any) -> Response:
    """A page of a template. What is no character is shown as an escape. It is not to be kept, or found by search."""
    rooms, policy = _rooms()
    text = rooms.get_template(template).render(values)
    headers = {"content-security-policy": policy, "x-robots-tag": "noindex, nofollow"}
    body = text.encode("utf-8", "backslashreplace")
    return Response(body, status, headers, media_type="text/html")


@cache
def _rooms() -> "tuple[Environment, str]":
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 - only who is asked pays for it
    from markupsafe import Markup  # noqa: PLC0415

    sheet = style("crawler.web", "web.css")
    rooms = Environment(
        loader=PackageLoader("crawler.web"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    rooms.filters.update(shown=safe, amount=size, took=took, moment=moment, w3c=w3c, number=number)
    rooms.globals.update(
        style=Markup(sheet),  # noqa: S704 - our own
        count=count, relative=relative, is_web=is_web, told_counts=counted,
    )  # fmt: skip
    policy = (
        f"default-src 'none'; style-src {source(sheet)}; img-src data:; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'"
    )
    return rooms, policy


def number(value: int) -> str:
    """A number for people: ``1,204``."""
    return f"{value:,}"


def moment(when: float) -> str:
    """A Unix time for people: ``21 Nov 2026, 18:14 UTC``; one that no calendar has is told as it is."""
    found = _datetime(when)
    return f"{found.day} {found:%b %Y, %H:%M} UTC" if found else f"{when:g}"


def took(seconds: float) -> str:
    """How long something took, for people; what nothing takes is told as it is. It is never broken in two lines."""
    return (clock(seconds) if 0 <= seconds < _EVER else f"{seconds:g} s").replace(" ", "\xa0")


def size(number: float) -> str:
    """Bytes for people, in one word."""
    return amount(number).replace(" ", "\xa0")


def counted(counts: Counts) -> str:
    """``3 added, 1 changed``; a number stays with its word."""
    return told_counts(counts).replace(" ", "\xa0").replace(",\xa0", ", ")


def w3c(when: float) -> str:
    """A Unix time as a W3C datetime."""
    found = _datetime(when)
    return found.isoformat(timespec="seconds") if found else ""


def relative(when: float, now: float) -> str:
    """How long ago a moment is, or how soon: ``just now``, ``12 min ago``, ``in 3 h``, ``5 days ago``."""
    distance = abs(when - now)
    if distance > _EVER:
        return moment(when)
    if distance < 5:
        return "just now" if when <= now else "now"
    unit = "year"
    for steps, name in _STEPS:
        if distance < steps:
            unit = name
            break
        distance /= steps
    whole = max(1, int(distance))
    told = f"{whole} {unit}" if unit in ("s", "min", "h") else count(whole, unit)
    return f"{told} ago" if when <= now else f"in {told}"


def _datetime(when: float) -> datetime | None:
    try:
        return datetime.fromtimestamp(when, UTC)
    except (ValueError, OverflowError, OSError):
        return None
