"""Owns the Sitemap lines of a robots.txt: which sitemaps it names, and which lines it lacks. Fetches nothing.

https://www.sitemaps.org/protocol.html#submit_robots and https://www.rfc-editor.org/rfc/rfc9309#section-2.2.4
"""

import re
from collections.abc import Iterable, Iterator
from itertools import islice

from sitemap import limits
from sitemap.location import Location, is_same_document, url_origin

_LINE_END = re.compile(r"\r\n|\r|\n")
# Other spellings are read as Google's parser reads them: https://github.com/google/robotstxt
_SITEMAP = re.compile(r"[ \t]*site-?maps?(?:[ \t]*:|[ \t])", re.IGNORECASE)
_BLANK = re.compile(r"[\s\x00-\x1f\x7f]")


def sitemap_lines(robots_txt: bytes | str) -> Iterator[str]:
    """What each Sitemap line of a robots.txt says, as it says it: a URL or not, in their order.

    The lines count wherever they stand, in whatever group of user agents. As RFC 9309 section 2.5 allows, 500 KiB are
    read, up to the last whole line.
    """
    for line in _LINE_END.split(_text(robots_txt)):
        field = _SITEMAP.match(line)
        if field and (said := line[field.end() :].partition("#")[0].strip()):
            yield said


def sitemaps_in(robots_txt: bytes | str) -> list[str]:
    """The sitemaps that a robots.txt names in its :func:`sitemap_lines`, each once; at most 500.

    What is no absolute http(s) URL is left out.
    """
    named = dict.fromkeys(filter(_is_url, sitemap_lines(robots_txt)))
    return list(islice(named, limits.MAX_ROBOTS_SITEMAPS))


def missing_lines(robots_txt: bytes | str, sitemap_urls: Iterable[str]) -> list[str]:
    """The lines to append to a robots.txt so that it names these sitemaps; none for those that it names already.

    To a robots.txt with these lines appended nothing is missing. InvalidLocation for a bad URL.

        >>> missing_lines("User-agent: *\\nDisallow: /cart/\\n", ["https://example.com/sitemap.xml"])
        ['Sitemap: https://example.com/sitemap.xml']
    """
    named = sitemaps_in(robots_txt)
    lines: list[str] = []
    for url in sitemap_urls:
        address = Location(url).url.partition("#")[0]  # a # would begin a comment
        if not any(is_same_document(address, other) for other in named):
            named.append(address)
            lines.append(f"Sitemap: {address}")
    return lines


def _text(robots_txt: bytes | str) -> str:
    most = limits.MAX_ROBOTS_BYTES
    if isinstance(robots_txt, str):
        robots_txt = robots_txt[: most + 1].encode("utf-8", "replace")
    if len(robots_txt) > most:
        end = max(robots_txt.rfind(b"\n", 0, most), robots_txt.rfind(b"\r", 0, most))
        robots_txt = robots_txt[: max(end, 0)]
    return robots_txt.decode("utf-8-sig", "replace")


def _is_url(text: str) -> bool:
    try:
        return not _BLANK.search(text) and bool(url_origin(text))
    except ValueError:
        return False
