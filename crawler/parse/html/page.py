"""Makes a page of a document: sniff, decode, outline, then each rule in turn. Pure; ``now`` is an argument."""

from msgspec import Struct

from crawler.model import FetchedDocument, Page, Url
from crawler.parse.html import dates, hreflang, images, jsonld, lexbor, refresh
from crawler.parse.html import encoding as charset
from crawler.parse.html.encoding import is_html
from crawler.parse.html.hreflang import MAX_ALTERNATES
from crawler.parse.html.jsonld import breadcrumb
from crawler.parse.html.links import MAX_FAULTS, LinkTargets, parse_link_header
from crawler.parse.html.outline import CANONICAL, Outline, link_flags
from crawler.parse.html.refresh import REFRESH
from crawler.parse.html.text import MAX_TITLE, one_line
from crawler.parse.html.video import VideoCollector
from crawler.robots import meta
from crawler.url.resolve import UrlResolver
from sitemap import Alternate, Video


class ReadOptions(Struct, frozen=True, array_like=True):
    """Choices that a whole crawl makes.

    ``token`` is the product token of the crawler, which a robots meta element may name. A refresh after at most
    ``refresh_limit`` seconds counts as a redirect, a slower one as a link.
    """

    images: bool = True
    videos: bool = True
    alternates: bool = True
    dates: bool = True
    max_links: int = 20_000
    token: str = "siteatlas"  # noqa: S105 - the token of robots.txt, no secret
    refresh_limit: float = 0.0


def read_page(document: FetchedDocument, options: ReadOptions, resolver: UrlResolver, now: float) -> Page:
    """What a document says. Never raises; may be slow on markup made to be slow, so run it with a deadline."""
    if not _is_html_page(document):
        return Page(is_html=False)
    text = charset.to_utf8(document.body, document.content_type)
    return PageReader(document, lexbor.read_outline(text.body), text.encoding, options, resolver).read(now)


def scan_page(
    document: FetchedDocument, options: ReadOptions, resolver: UrlResolver, now: float, why: str
) -> Page:
    """The same by a linear scan, for a document that timed out or crashed the parser (``why``: ``parse.timeout``).

    It finds what :func:`read_page` finds, or less where only a tree could tell. It may find more in markup that
    browsers take apart while they build the tree, such as SVG or MathML mixed with ``select`` or ``frameset``. It
    always ends in time linear in the body.
    """
    from crawler.parse.html import scanner  # noqa: PLC0415 - only needed for what the parser could not stand

    if not _is_html_page(document):
        return Page(is_html=False, fallback=why)
    text = charset.to_utf8(document.body, document.content_type)
    return PageReader(document, scanner.scan_outline(text.body), text.encoding, options, resolver).read(
        now, why
    )


def _is_html_page(document: FetchedDocument) -> bool:
    """Whether there is HTML: scripts that only do something answer with that label and nothing else."""
    body = document.body
    return bool(body) and not body.isspace() and is_html(document.content_type, body)


class PageReader:
    """One document being read: its outline and what the rules share, the base URL above all."""

    def __init__(
        self,
        document: FetchedDocument,
        outline: Outline,
        encoding: str,
        options: ReadOptions,
        resolver: UrlResolver,
    ) -> None:
        self.document = document
        self.outline = outline
        self.encoding = encoding
        self.options = options
        self.resolver = resolver
        self.headers = (
            [link for value in document.links for link in parse_link_header(value)] if document.links else []
        )
        self.base = self._base()
        self.targets = LinkTargets(resolver, options.max_links)
        self.faults: list[str] = []

    def read(self, now: float, fallback: str = "") -> Page:
        """Apply every rule."""
        outline = self.outline
        self.targets.add_all(outline.links, self.base, self.encoding)
        self.targets.add_anchors(outline.anchors, self.base, self.encoding)
        self._header_links()
        canonicals, canonical_faults = self._canonicals()
        redirect = self._refresh()
        alternates = self._alternates() if self.options.alternates else []
        asked = self._directives(now)
        nodes = jsonld.read_nodes([element.text for element in outline.named("script")])
        pictures = self._images(nodes) if self.options.images and not asked.noimageindex else []
        videos, video_faults = self._videos(nodes) if self.options.videos else ([], [])
        modified, source = dates.modified_date(outline, nodes) if self.options.dates else ("", "")
        if self.targets.left_out:
            self.faults.insert(0, f"links cut at {self.options.max_links:,} (--max-links)")
        return Page(
            links=list(self.targets.flags.items()),
            canonicals=canonicals,
            canonical_faults=canonical_faults,
            noindex=asked.noindex_at(now),
            nofollow=asked.nofollow,
            refresh=redirect,
            alternates=alternates,
            images=pictures,
            videos=videos,
            video_faults=video_faults,
            modified=modified,
            modified_source=source,
            title=one_line(outline.title, MAX_TITLE),
            language=one_line(outline.language, 35),
            faults=self.faults[:MAX_FAULTS],
            fallback=fallback,
            expires=asked.expires,
            expires_evidence=asked.expires_evidence,
            breadcrumb=self._breadcrumb(nodes),
        )

    def _breadcrumb(self, nodes: list[jsonld.JsonLdNode]) -> list[Url]:
        stated = [href.partition("#")[0] for href in breadcrumb(nodes, self.outline.crumbs)]
        urls = self.resolver.resolve_all(self.base, stated, self.encoding) if stated else ()
        return [url for url in dict.fromkeys(urls) if url is not None and url != self.document.url]

    def _images(self, nodes: list[jsonld.JsonLdNode]) -> list[str]:
        return images.find_images(self.outline, nodes, self.base, self.encoding, self.resolver.keeping_all)

    def _videos(self, nodes: list[jsonld.JsonLdNode]) -> tuple[list[Video], list[str]]:
        page, media = (
            self.document.url,
            self.resolver.keeping_all,
        )  # a parameter may choose the size of a picture
        return VideoCollector(self.outline, nodes, page, self.base, self.encoding, media).read()

    def _base(self) -> Url:
        """The document's URL, or the first ``base`` that names a web address."""
        url = self.document.url
        for element in self.outline.named("base"):
            href = element.get("href")
            base = self.resolver.resolve(url, href) if href else None
            if base is not None:
                return base
        return url

    def _directives(self, now: float) -> meta.Directives:
        """What all robots statements ask together. They count in the body too: that is the restrictive reading."""
        token = self.options.token
        asked = meta.NO_DIRECTIVES
        for value in self.document.robots:
            asked = asked.merge(meta.read_header(value, token, now))
        for name in dict.fromkeys(("robots", token.lower())):
            for content in self.outline.metas.get(name, []):
                asked = asked.merge(meta.read_meta(name, content, token, now))
        return asked

    def _header_links(self) -> None:
        """Link headers speak for the document's URL, whatever ``base`` says (RFC 8288, section 3.2)."""
        for link in self.headers:
            flags = link_flags(link.rels, link.params.get("type", ""))
            if "canonical" in link.rels:
                flags |= CANONICAL
            if flags and link.target and self._is_for_this_page(link.params):
                url = self.resolver.resolve(self.document.url, link.target)
                if url is not None:
                    self.targets.add(url, flags)

    def _is_for_this_page(self, params: dict[str, str]) -> bool:
        anchor = params.get("anchor")
        return anchor is None or self.resolver.resolve(self.document.url, anchor or "#") == self.document.url

    def _canonicals(self) -> tuple[list[Url], list[str]]:
        found: dict[Url, None] = {}
        faults: list[str] = []
        for base, href, encoding in self._stated_canonicals(faults):
            if not href:
                faults.append("the canonical is empty")
                continue
            url = self.resolver.resolve(base, href, encoding)
            if url is not None:
                found[url] = None
            else:
                error = self.resolver.refusal(base, href, encoding)
                faults.append(f"the canonical does not count: {error.message if error else 'it is refused'}")
        return list(found), list(dict.fromkeys(faults))[:MAX_FAULTS]

    def _stated_canonicals(self, faults: list[str]) -> list[tuple[Url, str, str]]:
        stated: list[tuple[Url, str, str]] = []
        for element in self.outline.named("link"):
            if "canonical" not in element.get("rel").lower().split():
                continue
            if element.in_head:
                stated.append((self.base, element.get("href"), self.encoding))
            else:
                faults.append("a canonical outside <head> does not count")
        stated.extend(
            (self.document.url, link.target, "")
            for link in self.headers
            if "canonical" in link.rels and self._is_for_this_page(link.params)
        )
        return stated

    def _refresh(self) -> Url | None:
        """The first refresh within the limit that leads elsewhere; the others are links.

        One inside ``noscript`` is what browsers without scripts get, and says nothing about the page: a link.
        """
        url = self.document.url
        stated = [(url, self.document.refresh, "", True)] if self.document.refresh else []
        stated.extend(
            (self.base, element.get("content"), self.encoding, not element.in_noscript)
            for element in self.outline.named("meta")
            if element.get("http-equiv").lower() == "refresh"
        )
        redirect: Url | None = None
        for base, content, encoding, is_for_all in stated:
            asked = refresh.parse_refresh(content)
            target = self.resolver.resolve(base, asked[1], encoding) if asked and asked[1] else None
            if asked is None or target is None or target == url:
                continue
            if asked[0] <= self.options.refresh_limit and is_for_all and redirect is None:
                redirect = target
            else:
                self.targets.add(target, REFRESH)
        return redirect

    def _alternates(self) -> list[Alternate]:
        stated = [
            (self.base, element.get("href"), element.attributes["hreflang"], self.encoding)
            for element in self.outline.named("link")
            if "hreflang" in element.attributes and "alternate" in element.get("rel").lower().split()
        ]
        stated.extend(
            (self.document.url, link.target, link.params["hreflang"], "")
            for link in self.headers
            if "hreflang" in link.params and "alternate" in link.rels and self._is_for_this_page(link.params)
        )
        found: dict[Alternate, None] = {}
        for base, href, code, encoding in stated:
            language = hreflang.canonical_hreflang(code)
            url = self.resolver.resolve(base, href, encoding) if href else None
            if not language:
                self.faults.append(f"hreflang {code[:40]!a} is no language code")
            elif url is None:
                self.faults.append(f"the alternate for {language} is no web address: {href[:100]!a}")
            elif len(found) < MAX_ALTERNATES:
                found[Alternate(language, url)] = None
        return list(found)
