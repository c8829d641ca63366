"""The Sitemap lines of a robots.txt: reads them, and makes the missing ones. Pure.

https://www.sitemaps.org/protocol.html#submit_robots and https://www.rfc-editor.org/rfc/rfc9309#section-2.2.4
"""

import re
from collections.abc import Iterable, Iterator
from itertools import islice

from sitemap import limits
from sitemap.location import Location, is_same_document, url_origin

_LINE_END = re.compile(r"\r\n|\r|\n")
# Accepts the same spellings as Google's parser: https://github.com/google/robotstxt
_SITEMAP = re.compile(r"[ \t]*+site-?maps?(?:[ \t]*+:|[ \t])", re.IGNORECASE).match
_BLANK = re.compile(r"[\s\x00-\x1f\x7f]")


def sitemap_lines(robots_txt: bytes | str) -> Iterator[str]:
    """The value of each Sitemap line of a robots.txt, in order and unchecked.

    Sitemap lines count in every group of user agents. Reads at most 500 KiB, up to the last whole line (RFC 9309
    section 2.5).
    """
    for line in _LINE_END.split(_text(robots_txt)):
        field = _SITEMAP(line)
        if field and (value := line[field.end() :].partition("#")[0].strip()):
            yield value


def sitemaps_in(robots_txt: bytes | str) -> list[str]:
    """The sitemaps that a robots.txt names, each once; at most 500. Only absolute http(s) URLs count."""
    sitemaps = dict.fromkeys(filter(_is_url, sitemap_lines(robots_txt)))
    return list(islice(sitemaps, limits.MAX_ROBOTS_SITEMAPS))


def missing_lines(robots_txt: bytes | str, sitemap_urls: Iterable[str]) -> list[str]:
    """The lines to append to a robots.txt so that it names these sitemaps. InvalidLocation for an invalid URL.

    >>> missing_lines("User-agent: *\\nDisallow: /cart/\\n", ["https://example.com/sitemap.xml"])
    ['Sitemap: https://example.com/sitemap.xml']
    """
    sitemaps = sitemaps_in(robots_txt)
    lines: list[str] = []
    for url in sitemap_urls:
        address = Location(url).url.partition("#")[0]  # "#" begins a comment
        if not any(is_same_document(address, other) for other in sitemaps):
            sitemaps.append(address)
            lines.append(f"Sitemap: {address}")
    return lines


def _text(robots_txt: bytes | str) -> str:
    limit = limits.MAX_ROBOTS_BYTES
    if isinstance(robots_txt, str):
        robots_txt = robots_txt[: limit + 1].encode("utf-8", "replace")
    if len(robots_txt) > limit:
        end = max(robots_txt.rfind(b"\n", 0, limit), robots_txt.rfind(b"\r", 0, limit))
        robots_txt = robots_txt[: max(end, 0)]
    return robots_txt.decode("utf-8-sig", "replace")


def _is_url(text: str) -> bool:
    try:
        return not _BLANK.search(text) and bool(url_origin(text))
    except ValueError:
        return False
