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
    from crawler.crawl.download import Downloader

FOLDER_NAMES: Final = ("sitemap.xml", "sitemap_index.xml", "sitemap-index.xml", "sitemap.xml.gz")

ROOT_NAMES: Final = FOLDER_NAMES[:2]  # of a site
_HTML: Final = re.compile(
    rb"\s*(?><!--.*?-->\s*|<\?xml[^>]*>\s*)*+<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE | re.DOTALL
).match


@dataclass(frozen=True, slots=True)
class DocumentSource:
    """A document: where its bytes come from, its public address or "", and who opens what it leads to.

    Without an opener that is looked for beside a file.
    """

    source: Path | bytes | BinaryIO
    url: str
    opener: Callable[[str], bytes] | None = None


def is_url(word: str) -> bool:
    """Whether a word of the command line is a URL."""
    return word.lower().startswith(("http://", "https://"))


def named_files(words: Sequence[str], url: str) -> dict[str, Path]:
    """The file that each word means that is one. ``url`` is the address of the files. Raises UsageError."""
    if url:
        try:
            Location(url)
        except InvalidLocation as error:
            raise UsageError(f"--url: {error}") from None
    found = {word: _sitemap_in(Path(word)) for word in words if word != "-" and not is_url(word)}
    if url and len(words) == len(set(filter(is_url, words))):
        raise UsageError("--url is the address of a file, and what was named are URLs already")
    if url and not url.endswith("/") and len(words) > 1:
        raise UsageError("--url names one file; for several it is their directory, and ends with a slash")
    return found


def open_documents(
    words: Sequence[str],
    files: dict[str, Path],
    url: str,
    remote: "Downloader | None",
    say: Callable[[str], None],
) -> Iterator[DocumentSource]:
    """The places in the order named, each opened when its turn comes. NothingCrawlable for a URL without an answer.

    A URL of a page means the sitemaps of its site, which ``say`` is told.
    """
    for word in words:
        if word == "-":
            yield DocumentSource(sys.stdin.buffer, url)
        elif word in files:
            path = files[word]
            yield DocumentSource(path, url + quote(path.name) if url.endswith("/") else url)
        elif remote is not None:
            if _may_be_a_page(word):
                yield from _documents_of_page(word, remote, say)
            else:
                yield _open_url(word, remote)


def _open_url(url: str, remote: "Downloader") -> DocumentSource:
    try:
        where, content = remote.locate(url)
    except SourceError as error:
        raise NothingCrawlable(str(error)) from None
    return DocumentSource(content, where, remote.open)


def _may_be_a_page(url: str) -> bool:
    """Whether a URL is not plainly that of a sitemap or feed, which is judged even when it answers with a page."""
    name = urlsplit(url).path.rpartition("/")[2].lower()
    return not name.endswith((".xml", ".gz", ".txt", ".rss", ".atom"))


def _documents_of_page(
    url: str, remote: "Downloader", say: Callable[[str], None]
) -> Iterator[DocumentSource]:
    """The document at a URL; of a page the sitemaps of its site, as robots.txt names them or where they usually are."""
    try:
        place = _open_url(url, remote)
        if not (isinstance(place.source, bytes) and looks_like_html(place.source)):
            yield place
            return
    except NothingCrawlable:
        if not urlsplit(url).path.endswith("/"):
            raise
    site = "://".join(urlsplit(url)[:2])
    if named := sitemaps_in(remote.robots(f"{site}/robots.txt") or b""):
        say(f"{url} is no sitemap; these are named by robots.txt: {', '.join(named[:5])}")
        yield from (_open_url(each, remote) for each in named)
        return
    for name in ROOT_NAMES:
        try:
            place = _open_url(f"{site}/{name}", remote)
        except NothingCrawlable:
            continue
        if isinstance(place.source, bytes) and not looks_like_html(place.source):
            say(f"{url} is no sitemap; {place.url} is")
            yield place
            return
    raise NothingCrawlable(
        f"{url} is no sitemap, robots.txt names none, and there is no {' or '.join(ROOT_NAMES)}: name its URL"
    )


def looks_like_html(content: bytes) -> bool:
    """Whether it is HTML."""
    return bool(_HTML(content[:4096]))


def _sitemap_in(path: Path) -> Path:
    if path.is_dir():
        inside = next((path / name for name in FOLDER_NAMES if (path / name).is_file()), None)
        if inside is None:
            raise UsageError(f"the folder {str(path)!r} has no {' or '.join(FOLDER_NAMES[:2])}")
        return inside
    if not path.exists():
        like_a_url = len(path.parts) > 1 and "." in path.parts[0] and str(path).isprintable()
        hint = f"; did you mean https://{path}?" if like_a_url else ""
        raise UsageError(f"there is no file {str(path)!r}{hint}")
    return path
