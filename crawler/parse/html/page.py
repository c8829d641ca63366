"""Reads an HTML document into a page: detects and decodes it, builds its outline and applies each rule. Pure."""

from collections.abc import Callable, Iterator
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from crawler.model import EMPTY_BODY, DiscoveredBy, FetchedDocument, Page
from crawler.parse import robots_meta
from crawler.parse.html import dates, jsonld, lexbor
from crawler.parse.html.canonical import read_canonicals
from crawler.parse.html.encoding import Utf8Body, is_html, to_utf8
from crawler.parse.html.hreflang import read_alternates
from crawler.parse.html.images import find_images
from crawler.parse.html.links import (
    MAX_FAULTS,
    REFRESH,
    LinkTargets,
    PageUrls,
    base_url,
    read_breadcrumb,
    read_link_headers,
    read_refresh,
)
from crawler.parse.html.outline import Outline
from crawler.parse.html.parts import pack_parts
from crawler.parse.html.text import MAX_TITLE, one_line
from crawler.parse.html.video import VideoCollector
from crawler.units import count_text, size_text
from crawler.url.resolve import UrlResolver

GOOGLEBOT_BYTES: Final = 2_000_000
"""Bytes of a page, uncompressed, that Googlebot reads: 2 MB with the HTTP header. It takes them for the whole page.

https://developers.google.com/search/blog/2026/03/crawler-blog-post
"""


class ReadOptions(Struct, frozen=True, array_like=True):
    """The choices of a crawl about what is read.

    ``token`` is the crawler's product token, which a robots meta element may name. A refresh after at most
    ``refresh_limit`` seconds counts as a redirect, a slower one as a link.
    ``sitemap_dates``: lastmod in the site's sitemaps counts.
    """

    images: bool = True
    videos: bool = True
    alternates: bool = True
    dates: bool = True
    max_links: int = 20_000
    token: str = "siteatlas"  # noqa: S105 - the token of robots.txt, no secret
    refresh_limit: float = 0.0
    sitemap_dates: bool = False


def read_page(document: FetchedDocument, options: ReadOptions, resolver: UrlResolver, now: float) -> Page:
    """Read a document with the HTML5 parser. ``now`` is Unix time.

    Never raises. Some markup makes the parser very slow, so run it with a deadline.
    """
    return _read(document, options, resolver, now, lexbor.read_outline)


def read_flat_page(
    document: FetchedDocument, options: ReadOptions, resolver: UrlResolver, now: float, why: str
) -> Page:
    """The same of a document on which the parser hung or crashed (``why``: ``parse.timeout``), with less of it."""
    return replace(_read(document, options, resolver, now, lexbor.read_flat_outline), fallback=why)


def _read(
    document: FetchedDocument,
    options: ReadOptions,
    resolver: UrlResolver,
    now: float,
    build_outline: Callable[[bytes], Outline],
) -> Page:
    body = document.body
    if not body or body.isspace():
        return Page(is_html=False, faults=[EMPTY_BODY])  # an empty response is often labelled as HTML
    if not is_html(document.content_type, body):
        return Page(is_html=False)
    decoded = to_utf8(body, document.content_type)
    outline = build_outline(decoded.body)
    page = _page(document, options, resolver, now, outline, decoded)
    if len(body) <= GOOGLEBOT_BYTES:
        return page
    part = to_utf8(body[:GOOGLEBOT_BYTES], document.content_type)
    start = build_outline(part.body)
    seen = _page(document, options, resolver, now, start, part)
    if seen.noindex:
        return page  # nothing is lost: Google drops it
    unread = ", ".join([*_unread(page, seen), *_unread_data(outline, start)]) or "only text"
    note = f"google.size: its HTML has {size_text(len(body))}; Googlebot does not read the last part: {unread}"
    return replace(page, notes=[note])


def _unread(page: Page, seen: Page) -> Iterator[str]:
    """What a page has beside what Googlebot has ``seen`` of it, in words."""
    read = dict(seen.links)
    links = [url for url, found in page.links if found & DiscoveredBy.LINK and url not in read]
    if links:
        yield f"{count_text(len(links), 'link')} (such as {links[0]})"
    if page.canonicals != seen.canonicals:
        yield "its canonical"
    if page.noindex or page.engine_noindex != seen.engine_noindex:
        yield "its noindex"
    if page.alternates != seen.alternates:
        yield "hreflang versions"


def _unread_data(outline: Outline, start: Outline) -> Iterator[str]:
    """How many blocks of structured data do not end in the part that Googlebot reads, in words."""
    blocks, whole = outline.named("script"), {element.text for element in start.named("script")}
    if count := sum(block.text not in whole for block in blocks):
        yield count_text(count, "block of JSON-LD", "blocks of JSON-LD")


def _page(
    document: FetchedDocument,
    options: ReadOptions,
    resolver: UrlResolver,
    now: float,
    outline: Outline,
    decoded: Utf8Body,
) -> Page:
    """The page of an outline."""
    resolver.begin()
    urls = PageUrls(document.url, base_url(outline, document.url, resolver), decoded.encoding, resolver)
    media_urls = replace(urls, resolver=resolver.keeping_all)  # a parameter may choose the size of a picture
    headers = read_link_headers(document.links, urls)
    canonicals, canonical_faults = read_canonicals(outline, headers, urls)
    redirect, refresh_links = read_refresh(document.refresh, outline, urls, options.refresh_limit)
    targets = LinkTargets(urls, options.max_links)
    targets.add_links(outline.links)
    targets.add_anchors(outline.anchors)
    targets.add_headers(headers)
    for url in refresh_links:
        targets.add(url, REFRESH)
    alternates, faults = read_alternates(outline, headers, urls) if options.alternates else ([], [])
    # a meta element in the body counts too, which is the more restrictive reading
    robots = robots_meta.read_directives(outline.metas, document.robots, options.token, now)
    noindex = robots.noindex_at(now)
    nodes, bad_data, data_fault = jsonld.read_nodes([element.text for element in outline.named("script")])
    with_images = options.images and not robots.noimageindex
    videos, video_faults = VideoCollector(outline, nodes, media_urls).read() if options.videos else ([], [])
    modified, source = dates.modified_date(outline, nodes, urls) if options.dates else ("", "")
    if targets.left_out:
        faults.insert(0, f"links cut at {options.max_links:,} (parse.max_links)")
    elif resolver.is_over:
        faults.insert(0, f"links cut at {resolver.document_bytes:,} bytes of URLs (parse.max_link_bytes)")
    return Page(
        links=list(targets.flags.items()),
        canonicals=canonicals,
        canonical_faults=canonical_faults,
        noindex=noindex,
        nofollow=robots.nofollow,
        refresh=redirect,
        alternates=alternates,
        images=find_images(outline, nodes, media_urls) if with_images else [],
        videos=videos,
        video_faults=video_faults,
        modified=modified,
        modified_source=source,
        title=one_line(outline.title, MAX_TITLE),
        language=one_line(outline.language, 35),
        faults=faults[:MAX_FAULTS],
        expires=robots.expires,
        expires_evidence=robots.expires_evidence,
        breadcrumb=read_breadcrumb(nodes, outline.crumbs, urls),
        by_header=bool(document.refresh)
        or (any("canonical" in link.rels for link in headers) and canonicals != [urls.page]),
        engine_noindex="" if noindex else robots_meta.read_engine_noindex(outline.metas, document.robots, now),
        parts=pack_parts(urls.page, decoded.body),
        named_parts=targets.named_parts,
        bad_data=bad_data,
        data_fault=data_fault,
    )
