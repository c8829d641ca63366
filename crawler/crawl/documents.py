"""Finds what a person named: a file, the sitemap in a folder, the standard input, a document by URL."""

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final
from urllib.parse import quote, urlsplit

from crawler.errors import NothingCrawlable, UsageError
from sitemap import InvalidLocation, Location, SourceError, sitemaps_in

if TYPE_CHECKING:
    from crawler.crawl.download import Remote

IN_A_FOLDER: Final = ("sitemap.xml", "sitemap_index.xml", "sitemap-index.xml", "sitemap.xml.gz")

AT_A_ROOT: Final = IN_A_FOLDER[:2]  # of a site
_HTML: Final = re.compile(
    rb"\s*(?><!--.*?-->\s*|<\?xml[^>]*>\s*)*+<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE | re.DOTALL
).match


@dataclass(frozen=True, slots=True)
class Place:
    """A document: where its bytes come from, its public address or "", and who opens what it leads to.

    Without an opener that is looked for beside a file.
    """

    source: Path | bytes | BinaryIO
    url: str
    opener: Callable[[str], bytes] | None = None


def is_url(word: str) -> bool:
    """Whether a word of the command line is a URL."""
    return word.lower().startswith(("http://", "https://"))


def local(words: Sequence[str], url: str) -> dict[str, Path]:
    """The file that each word means that is one. ``url`` is the address of the files. Raises UsageError."""
    if url:
        try:
            Location(url)
        except InvalidLocation as error:
            raise UsageError(f"--url: {error}") from None
    found = {word: _file(Path(word)) for word in words if word != "-" and not is_url(word)}
    if url and len(words) == len(set(filter(is_url, words))):
        raise UsageError("--url is the address of a file, and what was named are URLs already")
    if url and not url.endswith("/") and len(words) > 1:
        raise UsageError("--url names one file; for several it is their directory, and ends with a slash")
    return found


def places(
    words: Sequence[str],
    files: dict[str, Path],
    url: str,
    remote: "Remote | None",
    say: Callable[[str], None],
) -> Iterator[Place]:
    """The places in the order named, each opened when its turn comes. NothingCrawlable for a URL without an answer.

    A URL of a page means the sitemaps of its site, which ``say`` is told.
    """
    for word in words:
        if word == "-":
            yield Place(sys.stdin.buffer, url)
        elif word in files:
            path = files[word]
            yield Place(path, url + quote(path.name) if url.endswith("/") else url)
        elif remote is not None:
            if _may_be_a_page(word):
                yield from _of_a_page(word, remote, say)
            else:
                yield _remote(word, remote)


def _remote(url: str, remote: "Remote") -> Place:
    try:
        where, content = remote.locate(url)
    except SourceError as error:
        raise NothingCrawlable(str(error)) from None
    return Place(content, where, remote.open)


def _may_be_a_page(url: str) -> bool:
    """Whether a URL is not plainly that of a sitemap or feed, which is judged even when it answers with a page."""
    name = urlsplit(url).path.rpartition("/")[2].lower()
    return not name.endswith((".xml", ".gz", ".txt", ".rss", ".atom"))


def _of_a_page(url: str, remote: "Remote", say: Callable[[str], None]) -> Iterator[Place]:
    """The document at a URL; of a page the sitemaps of its site, as robots.txt names them or where they usually are."""
    try:
        place = _remote(url, remote)
        if not (isinstance(place.source, bytes) and is_page(place.source)):
            yield place
            return
    except NothingCrawlable:
        if not urlsplit(url).path.endswith("/"):
            raise
    site = "://".join(urlsplit(url)[:2])
    if named := sitemaps_in(remote.robots(f"{site}/robots.txt") or b""):
        say(f"{url} is no sitemap; these are named by robots.txt: {', '.join(named[:5])}")
        yield from (_remote(each, remote) for each in named)
        return
    for name in AT_A_ROOT:
        try:
            place = _remote(f"{site}/{name}", remote)
        except NothingCrawlable:
            continue
        if isinstance(place.source, bytes) and not is_page(place.source):
            say(f"{url} is no sitemap; {place.url} is")
            yield place
            return
    raise NothingCrawlable(
        f"{url} is no sitemap, robots.txt names none, and there is no {' or '.join(AT_A_ROOT)}: name its URL"
    )


def is_page(content: bytes) -> bool:
    """Whether it is HTML."""
    return bool(_HTML(content[:4096]))


def _file(path: Path) -> Path:
    if path.is_dir():
        inside = next((path / name for name in IN_A_FOLDER if (path / name).is_file()), None)
        if inside is None:
            raise UsageError(f"the folder {str(path)!r} has no {' or '.join(IN_A_FOLDER[:2])}")
        return inside
    if not path.exists():
        like_a_url = len(path.parts) > 1 and "." in path.parts[0] and str(path).isprintable()
        hint = f"; did you mean https://{path}?" if like_a_url else ""
        raise UsageError(f"there is no file {str(path)!r}{hint}")
    return path
