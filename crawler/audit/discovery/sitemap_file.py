"""Whether what is served at the address of a sitemap is the sitemap that was published there. Judges an answer."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from crawler.audit.discovery.result import DiscoveryCheck, check_failed, check_passed, check_unknown
from crawler.fetch.media_type import parse_media_type
from crawler.model import Reply, Url
from sitemap import (
    CrossSubmits,
    Finding,
    Format,
    ReadLimits,
    SitemapError,
    SitemapReader,
    TreeLimits,
    iter_entries,
)

MAX_HOSTS: Final = 20  # whose robots.txt is asked
MAX_FILES: Final = 6  # of a set that are asked for
MAX_EXAMPLES: Final = 5  # of these, that do not answer
_FEEDS: Final = {"application/rss+xml", "application/atom+xml", "application/rdf+xml"}
_XML: Final = {"application/xml", "text/xml", *_FEEDS}
_GZIP_TYPES: Final = {"application/gzip", "application/x-gzip", "application/octet-stream"}
_GZIP: Final = b"\x1f\x8b"
_ONE_ENTRY: Final = ReadLimits(max_entries=1)


def check_sitemap_response(reply: Reply, sitemap_url: Url) -> Iterator[DiscoveryCheck]:
    """Whether an answer with status 200 is a sitemap, at its own address and under its own label."""
    yield check_passed("sitemap.answers", f"{reply.url} answered 200, {len(reply.body):,} bytes")
    if reply.url != sitemap_url:
        yield check_failed(
            "sitemap.direct",
            f"{sitemap_url} redirects to {reply.url}",
            f"declare {reply.url} instead (--sitemap-url), or serve the file without a redirect",
        )
    else:
        yield check_passed("sitemap.direct", "the sitemap is there itself, without a redirect")
    fault, kind = _sniff(reply.body, sitemap_url)
    yield _check_label(reply, kind)
    if fault:
        yield check_failed(
            "sitemap.is_one", fault, "have the web server serve the file that was published there, as it is"
        )
    else:
        yield check_passed("sitemap.is_one", f"what is served is a sitemap ({kind})")


def is_sitemap(body: bytes, url: str) -> bool:
    """Whether it looks like a sitemap from its beginning."""
    return not _sniff(body, url)[0]


def _sniff(body: bytes, url: str) -> tuple[str, Format | None]:
    """Why it is no sitemap, or "", and what it is. A glance at its beginning is enough."""
    reader = SitemapReader(body, url, _ONE_ENTRY)
    try:
        list(reader)
    except SitemapError as error:
        return str(error), reader.format
    return "", reader.format


def _check_label(reply: Reply, kind: Format | None) -> DiscoveryCheck:
    label = parse_media_type(reply.header("content-type") or "")
    if reply.body.startswith(_GZIP):
        fits, wanted = label in _GZIP_TYPES, "application/gzip"
    elif kind is Format.TEXT:
        fits, wanted = label == "text/plain", "text/plain"
    else:
        fits, wanted = label in _XML, "application/xml"
    if fits:
        return check_passed("sitemap.type", f"the sitemap is served as {label}")
    return check_failed(
        "sitemap.type",
        f"the sitemap is served as {label or 'nothing in particular'}",
        f"serve it with Content-Type: {wanted}",
    )


def check_same(body: bytes, file: Path) -> DiscoveryCheck:
    """Whether what is served is the local file, byte by byte."""
    try:
        here = file.read_bytes()
    except OSError as error:
        return check_unknown("sitemap.same", f"{file}: {error.strerror or error}")
    if here == body:
        return check_passed("sitemap.same", f"the sitemap is {file}, byte by byte")
    return check_failed(
        "sitemap.same",
        f"the sitemap is not {file}: {len(body):,} bytes are served, and the file has {len(here):,}",
        "let the web server serve that directory, or copy the files there; a cache may hold an older one",
    )


class SetContents:
    """What the set lists, as far as that says whether crawlers can use it: its files, and the hosts of its URLs.

    ``robots`` answers the robots.txt of another host, None when there is none. Each host in ``missing`` must name the
    sitemap: https://www.sitemaps.org/protocol.html#sitemaps_cross_submits
    """

    def __init__(self, sitemap_url: Url, robots: Callable[[str], bytes | None]) -> None:
        self.missing: list[str] = []
        self._url = sitemap_url
        self._submits = CrossSubmits(sitemap_url, robots, max_origins=MAX_HOSTS)
        self._firsts: list[str] = []  # the first URL of each of these hosts
        self._unread: list[Finding] = []
        self._is_whole = False

    def read_published(self, body: bytes, opener: Callable[[str], bytes]) -> None:
        """Take the files that are served, the first of them: of a large set they are all alike."""
        self._take(body, opener, TreeLimits(max_files=MAX_FILES))

    def read_local(self, file: Path) -> None:
        """Take the files on disk, all of them."""
        self._take(file, None, TreeLimits())
        self._is_whole = True

    def _take(self, source: bytes | Path, opener: Callable[[str], bytes] | None, limits: TreeLimits) -> None:
        lost = self._unread.append if opener else _ignore
        with suppress(SitemapError):  # told already
            for entry in iter_entries(source, opener, self._url, limits, unread=lost):
                known = len(self._submits.origins)
                self._submits.is_vouched(entry.loc)
                if len(self._submits.origins) > known:
                    self._firsts.append(entry.loc)

    def checks(self) -> Iterator[DiscoveryCheck]:
        """What there is to tell; nothing of a set of one file, all of whose URLs are of its own host."""
        unread = [each for each in self._unread if each.rule == "index.child_unreadable"]
        for each in unread[:MAX_EXAMPLES]:
            yield check_failed(
                "files.answer", each.sentence, "have the web server serve every file that the index lists"
            )
        if len(self._unread) > len(unread) and not self._is_whole:
            yield check_unknown(
                "hosts.declared", f"whether files beyond the first {MAX_FILES} list URLs of other hosts"
            )
        for (where, is_named), first in zip(self._submits.origins.items(), self._firsts, strict=True):
            told = f"the sitemap lists URLs of {where}, such as {first}, whose robots.txt"
            if is_named:
                yield check_passed("hosts.declared", f"{told} names it")
            else:
                self.missing.append(where)
                remedy = "take out of the sitemap what it lists by mistake, or add the line below there"
                yield check_failed("hosts.declared", f"{told} does not name it", remedy)
        if self._submits.full:
            yield check_unknown(
                "hosts.declared", f"the hosts beyond the first {MAX_HOSTS} whose URLs it lists"
            )


def _ignore(_: Finding) -> None:
    """The files on disk are lint's to judge."""
