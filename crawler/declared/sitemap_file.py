"""Whether what is served at the address of a sitemap is the sitemap that was published there. Judges an answer."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from crawler.declared.looks import Look, ok, problem, unknown
from crawler.media_type import media_type
from crawler.model import Reply, Url
from sitemap import (
    CrossSubmits,
    Format,
    ReadLimits,
    SitemapError,
    SitemapReader,
    TreeLimits,
    iter_entries,
)

MAX_HOSTS: Final = 20  # whose robots.txt is asked
MAX_FILES: Final = 50  # of a set that are read for the hosts in them
_FEEDS: Final = {"application/rss+xml", "application/atom+xml", "application/rdf+xml"}
_XML: Final = {"application/xml", "text/xml", *_FEEDS}
_PACKED: Final = {"application/gzip", "application/x-gzip", "application/octet-stream"}
_GZIP: Final = b"\x1f\x8b"
_ENOUGH: Final = ReadLimits(max_entries=1)


def served(reply: Reply, sitemap_url: Url) -> Iterator[Look]:
    """Whether an answer with status 200 is a sitemap, at its own address and under its own label."""
    yield ok("sitemap.answers", f"{reply.url} answered 200, {len(reply.body):,} bytes")
    if reply.url != sitemap_url:
        yield problem(
            "sitemap.direct",
            f"{sitemap_url} redirects to {reply.url}",
            f"declare {reply.url} instead (--sitemap-url), or serve the file without a redirect",
        )
    else:
        yield ok("sitemap.direct", "the sitemap is there itself, without a redirect")
    fault, kind = _read(reply.body, sitemap_url)
    yield _labelled(reply, kind)
    if fault:
        yield problem(
            "sitemap.is_one", fault, "have the web server serve the file that was published there, as it is"
        )
    else:
        yield ok("sitemap.is_one", f"what is served is a sitemap ({kind})")


def _read(body: bytes, url: str) -> tuple[str, Format | None]:
    """Why it is no sitemap, or "", and what it is. A glance at its beginning is enough."""
    reader = SitemapReader(body, url, _ENOUGH)
    try:
        list(reader)
    except SitemapError as error:
        return str(error), reader.format
    return "", reader.format


def _labelled(reply: Reply, kind: Format | None) -> Look:
    label = media_type(reply.header("content-type") or "")
    if reply.body.startswith(_GZIP):
        fits, wanted = label in _PACKED, "application/gzip"
    elif kind is Format.TEXT:
        fits, wanted = label == "text/plain", "text/plain"
    else:
        fits, wanted = label in _XML, "application/xml"
    if fits:
        return ok("sitemap.type", f"the sitemap is served as {label}")
    return problem(
        "sitemap.type",
        f"the sitemap is served as {label or 'nothing in particular'}",
        f"serve it with Content-Type: {wanted}",
    )


def same(body: bytes, file: Path) -> Look:
    """Whether what is served is the local file, byte by byte."""
    try:
        here = file.read_bytes()
    except OSError as error:
        return unknown("sitemap.same", f"{file}: {error.strerror or error}")
    if here == body:
        return ok("sitemap.same", f"the sitemap is {file}, byte by byte")
    return problem(
        "sitemap.same",
        f"the sitemap is not {file}: {len(body):,} bytes are served, and the file has {len(here):,}",
        "let the web server serve that directory, or copy the files there; a cache may hold an older one",
    )


def hosts(
    source: bytes | Path,
    sitemap_url: Url,
    opener: Callable[[str], bytes] | None,
    robots: Callable[[str], bytes | None],
) -> Iterator[tuple[str, Look]]:
    """For each other origin whose URLs the set lists: whether its robots.txt names the sitemap, which must be so.

    https://www.sitemaps.org/protocol.html#sitemaps_cross_submits
    """
    submits = CrossSubmits(sitemap_url, robots, max_origins=MAX_HOSTS)
    limits = TreeLimits(max_files=MAX_FILES)
    try:
        for entry in iter_entries(source, opener, sitemap_url, limits, unread=lambda _: None):
            submits.vouched(entry.loc)
    except SitemapError:
        return  # told already
    for where, is_named in submits.origins.items():
        told = f"the sitemap lists URLs of {where}, whose robots.txt"
        if is_named:
            yield where, ok("hosts.declared", f"{told} names it")
        else:
            yield where, problem("hosts.declared", f"{told} does not name it", "add the line below there")
    if submits.full:
        yield (
            "",
            unknown("hosts.declared", f"the sitemap lists URLs of more than {MAX_HOSTS} hosts; the others"),
        )
