"""Owns the entries that are written and read across packages: with everything in them, and texts that hurt."""

from collections.abc import Iterable
from datetime import UTC
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from sitemap import Alternate, Directory, Entry, Image, News, Published, SitemapWriter, Video, WriterOptions, dates

SITE = "https://example.com"
# What must be escaped, what looks like the end of something, what is not in the basic plane or runs the other way.
TEXT = 'R&D <b>"it\'s"</b> ]]> --> 10% &amp; \u00e9 \u65e5\u672c \U0001f6a4 \u05e9\u05dc\u05d5\u05dd'
PATHS = (
    "/",
    "/a?b=1&c=2",
    "/%E6%97%A5%E6%9C%AC/%7Eme",
    "/a;b=c,d/e@f:g!$*+",
    "/" + "x" * 1_900,
    '/it\'s-(a)-"boat"?q=<>',  # from here on not as a browser would write it
    "/\u65e5\u672c/\U0001f6a4",
    "/\u05e9\u05dc\u05d5\u05dd?\u00e9=\u00e8",
)
USUAL = 5  # the number of paths as a browser would write them


def video(number: int) -> Video:
    """A video with every tag that Google documents."""
    return Video(
        f"{SITE}/{number}.jpg?a=1&b=2",
        f"{TEXT} {number}",
        f"{TEXT} in full",
        content_loc=f"https://media.example/{number}.mp4",
        player_loc=f"https://player.example/?v={number}&x=1",
        duration=28_800,
        expiration_date="2050-01-31T12:30:00+02:00",
        rating=4.5,
        view_count=1_234_567,
        publication_date="2024-02-29",
        family_friendly=True,
        restriction=("allow", "DE AT CH"),
        platform=("deny", "tv mobile"),
        requires_subscription=False,
        uploader=("R&D", f"{SITE}/users/1?a&b"),
        live=False,
        tags=("boats", "R&D <1>", "\u65e5\u672c"),
    )


def page(number: int) -> Entry:
    """A page with everything that is read today, news apart."""
    loc = SITE + PATHS[number % len(PATHS)]
    return Entry(
        f"{loc}{'&' if '?' in loc else '?'}n={number}",
        lastmod=("2024-02-29", "2024-02-29T23:59:59+00:00", "2024-02-29T23:59:59.123-03:30")[number % 3],
        changefreq="weekly",
        priority=0.3,
        images=(Image(f"{SITE}/a.jpg?x=1&y=2"), Image(f"https://images.example/{number}.png")),
        videos=(video(number), Video(f"{SITE}/t.jpg", "T", "D", player_loc="https://player.example/2")),
        alternates=(
            Alternate("en", loc),
            Alternate("zh-Hant-TW", f"https://tw.example/{number}?a=1&b=2"),
            Alternate("x-default", f"{SITE}/?n={number}"),
        ),
    )


def article(number: int) -> Entry:
    """An article for a news sitemap."""
    return Entry(
        f"{SITE}/news/{number}?a=1&b=2",
        news=News("The R&D Times", "en", "2024-02-29T23:59:59+00:00", f"{TEXT} {number}"),
    )


def translated(number: int, languages: int = 60) -> Entry:
    """A page in so many languages that the bytes of a file are full long before its entries are."""
    hosts = [f"{chr(97 + n // 26)}{chr(97 + n % 26)}" for n in range(languages)]
    return Entry(
        f"{SITE}/{number}",
        alternates=tuple(Alternate(host, f"https://{host}.example.com/{number}/a-page?x=1&y=2") for host in hosts),
    )


def dated(entries: Iterable[Entry]) -> list[Entry]:
    """The entries with one form of date: others write the same instant in another."""
    moments = [(entry, dates.to_instant(entry.lastmod)) for entry in entries]
    return [replace(entry, lastmod=moment.astimezone(UTC).isoformat() if moment else "") for entry, moment in moments]


def publish(folder: Path, entries: Iterable[Entry], name: str = "sitemap.xml", **options: Any) -> Published:
    """Write entries as the set that is announced at the name."""
    with SitemapWriter(Directory(folder), f"{SITE}/{name}", WriterOptions(**options)) as writer:
        for entry in entries:
            writer.add(entry)
        return writer.finish()


def children(folder: Path, published: Published) -> list[Path]:
    """The files of a set that list pages."""
    return [folder / facts.name for facts in published.files[: -1 if published.index else None]]
