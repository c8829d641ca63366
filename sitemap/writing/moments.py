"""Owns the dates of feeds, made from those of entries."""

from datetime import UTC, datetime
from email.utils import format_datetime

from sitemap import dates


def rfc822(lastmod: str) -> str:
    """The date as RSS wants it, in GMT and to the second, or "" for none. A day begins at midnight GMT.

    https://www.rssboard.org/rss-specification#optionalChannelElements, https://www.rfc-editor.org/rfc/rfc822#section-5
    """
    moment = _utc(lastmod)
    return format_datetime(moment, usegmt=True) if moment else ""


def rfc3339(lastmod: str) -> str:
    """The date as Atom wants it, in UTC and to the second, or "" for none. A day begins at midnight UTC.

    https://www.rfc-editor.org/rfc/rfc4287#section-3.3
    """
    moment = _utc(lastmod)
    return moment.replace(tzinfo=None, microsecond=0).isoformat() + "Z" if moment else ""


def _utc(lastmod: str) -> datetime | None:
    moment = dates.instant(lastmod)
    if moment is None:
        return None
    try:
        return moment.astimezone(UTC)
    except OverflowError:  # the first and the last day of the calendar have no other zone
        return moment.replace(tzinfo=UTC)
