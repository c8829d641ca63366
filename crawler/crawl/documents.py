"""Opens the documents named on the command line: files, the sitemap in a folder, standard input, URLs."""

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
    from crawler.crawl.sitemap_download import Downloader

FOLDER_NAMES: Final = ("sitemap.xml", "sitemap_index.xml", "sitemap-index.xml", "sitemap.xml.gz")
ROOT_NAMES: Final = FOLDER_NAMES[:2]  # at the root of a site
_HTML: Final = re.compile(
    rb"\s*(?><!--.*?-->\s*|<\?xml[^>]*>\s*)*+<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE | re.DOTALL
).match


@dataclass(frozen=True, slots=True)
class DocumentSource:
    """A document: its bytes, its public URL or "", and the opener of the documents it names.

    Without an opener, the reader looks for these beside the file.
    """

    source: Path | bytes | BinaryIO
    url: str
    opener: Callable[[str], bytes] | None = None


def is_url(word: str) -> bool:
    """Whether a word of the command line is a URL."""
    return word.lower().startswith(("http://", "https://"))


def named_files(words: Sequence[str], url: str) -> dict[str, Path]:
    """The file of each word that names one. ``url`` is the public URL of the files. Raises UsageError."""
    if url:
        try:
            Location(url)
        except InvalidLocation as error:
            raise UsageError(f"--url: {error}") from None
    files = {word: _sitemap_in(Path(word)) for word in words if word != "-" and not is_url(word)}
    if url and len(words) == len(set(filter(is_url, words))):
        raise UsageError("--url is for a FILE, but only URLs are given. Leave --url out")
    if url and not url.endswith("/") and len(words) > 1:
        raise UsageError(
            "--url is the URL of one file, but several files are given. Give the URL of their "
            "directory, with a slash at its end"
        )
    return files


def open_documents(
    words: Sequence[str], files: dict[str, Path], url: str, remote: "Downloader | None", say: Callable[[str], None]
) -> Iterator[DocumentSource]:
    """The documents in the order named, each opened in its turn. Raises NothingCrawlable for a URL that fails.

    The URL of a page stands for the sitemaps of its site; ``say`` prints which.
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
        final_url, content = remote.locate(url)
    except SourceError as error:
        raise NothingCrawlable(str(error)) from None
    return DocumentSource(content, final_url, remote.open)


def _may_be_a_page(url: str) -> bool:
    """Whether a URL may be that of a page: its name does not end as that of a sitemap or feed does."""
    name = urlsplit(url).path.rpartition("/")[2].lower()
    return not name.endswith((".xml", ".gz", ".txt", ".rss", ".atom"))


def _documents_of_page(url: str, remote: "Downloader", say: Callable[[str], None]) -> Iterator[DocumentSource]:
    """The document at a URL; for a page the sitemaps of its site, from robots.txt or at their usual URLs."""
    try:
        document = _open_url(url, remote)
        if not (isinstance(document.source, bytes) and looks_like_html(document.source)):
            yield document
            return
    except NothingCrawlable:
        if not urlsplit(url).path.endswith("/"):
            raise
    site = "://".join(urlsplit(url)[:2])
    if named := sitemaps_in(remote.robots(f"{site}/robots.txt") or b""):
        say(f"{url} is not a sitemap; robots.txt names: {', '.join(named[:5])}")
        yield from (_open_url(sitemap, remote) for sitemap in named)
        return
    for name in ROOT_NAMES:
        try:
            document = _open_url(f"{site}/{name}", remote)
        except NothingCrawlable:
            continue
        if isinstance(document.source, bytes) and not looks_like_html(document.source):
            say(f"{url} is not a sitemap; {document.url} is")
            yield document
            return
    raise NothingCrawlable(
        f"{url} is not a sitemap, robots.txt names no sitemap, and the site has no {' or '.join(ROOT_NAMES)}. Give "
        "the URL of the sitemap"
    )


def looks_like_html(content: bytes) -> bool:
    """Whether a document is HTML, judged by its first bytes."""
    return bool(_HTML(content[:4096]))


def _sitemap_in(path: Path) -> Path:
    if path.is_dir():
        sitemap = next((path / name for name in FOLDER_NAMES if (path / name).is_file()), None)
        if sitemap is None:
            raise UsageError(
                f"the folder {str(path)!r} has no {' or '.join(FOLDER_NAMES[:2])}. Give the file of the sitemap"
            )
        return sitemap
    if not path.exists():
        is_like_url = len(path.parts) > 1 and "." in path.parts[0] and str(path).isprintable()
        hint = f". Did you mean https://{path}?" if is_like_url else ""
        raise UsageError(f"{str(path)!r} does not exist{hint}")
    return path
