"""Names of XML elements: the known ones, and the namespaces and base URLs in force at an element."""

import contextlib
from collections.abc import Callable
from typing import Final
from urllib.parse import urljoin

from sitemap import namespaces
from sitemap.model import Format

# Families of elements. Those of sitemaps and of RSS share the empty one.
CORE, IMAGE, VIDEO, NEWS, MOBILE, XHTML = "", "image", "video", "news", "mobile", "xhtml"

ATOM, DC, RDF, MEDIA, CONTENT, ITUNES, OTHER = "atom", "dc", "rdf", "media", "content", "itunes", "other"

# Messages name the first URI of each family.
URIS: Final = {
    CORE: (namespaces.SITEMAP, namespaces.RSS_1),
    IMAGE: (namespaces.IMAGE,),
    VIDEO: (namespaces.VIDEO,),
    NEWS: (namespaces.NEWS,),
    MOBILE: (namespaces.MOBILE,),
    XHTML: (namespaces.XHTML,),
    ATOM: (namespaces.ATOM, namespaces.ATOM_03),
    DC: (namespaces.DCTERMS, namespaces.DC),
    RDF: (namespaces.RDF,),
    MEDIA: (namespaces.MEDIA,),
    CONTENT: ("http://purl.org/rss/1.0/modules/content/",),
    ITUNES: ("http://www.itunes.com/dtds/podcast-1.0.dtd",),
}

PREFIXES: Final = {
    **{family: family for family in URIS if family},
    "dcterms": DC,
    "xsi": OTHER,
    "pagemap": OTHER,
    "geo": OTHER,
}

# Families whose names are case-sensitive and whose unknown elements are defects.
STRICT: Final = frozenset({CORE, IMAGE, VIDEO, NEWS, MOBILE, XHTML})

ROOTS: Final = {
    "urlset": Format.URLSET,
    "sitemapindex": Format.INDEX,
    "rss": Format.RSS,
    "rdf": Format.RSS1,
    "feed": Format.ATOM,
    # Documents without their root are read nevertheless.
    "url": Format.URLSET,
    "sitemap": Format.INDEX,
}

ITEMS: Final = {
    Format.URLSET: frozenset({"url", "sitemap"}),
    Format.INDEX: frozenset({"url", "sitemap"}),
    Format.RSS: frozenset({"item"}),
    Format.RSS1: frozenset({"item"}),
    Format.ATOM: frozenset({"entry"}),
}


_ITEM_TEXTS = {
    **{(CORE, name): name for name in ("title", "link", "guid", "pubdate", "description")},
    (DC, "date"): "date",
    (DC, "modified"): "modified",
    (ATOM, "updated"): "updated",
    (CONTENT, "encoded"): "content",
}

# By the local name of an item: the keys of its plain values, …
TEXTS: Final[dict[str, dict[tuple[str, str], str]]] = {
    "url": {(CORE, name): name for name in ("loc", "lastmod", "changefreq", "priority")},
    "sitemap": {(CORE, name): name for name in ("loc", "lastmod")},
    "item": _ITEM_TEXTS,
    "entry": {
        (ATOM, name): name for name in ("title", "summary", "content", "updated", "modified", "published", "issued")
    },
}

# … and the elements that are read as a whole. In a url they may lack their prefix.
PARTS: Final[dict[str, frozenset[tuple[str, str]]]] = {
    "url": frozenset((family, name) for name in (IMAGE, VIDEO, NEWS, MOBILE) for family in (name, CORE)),
    "sitemap": frozenset(),
    "item": frozenset({(CORE, "enclosure"), (DC, "valid"), (DC, "type"), (ITUNES, "image")}),
    "entry": frozenset({(DC, "valid"), (DC, "type"), (ITUNES, "image")}),
}

MEDIA_PARTS: Final = frozenset(
    {
        "adult",
        "category",
        "community",
        "content",
        "credit",
        "description",
        "group",
        "keywords",
        "license",
        "player",
        "price",
        "rating",
        "restriction",
        "thumbnail",
        "title",
    }
)


def _plain(uri: str) -> str:
    """A namespace URI without common mistakes."""
    plain = uri.lower().rstrip("/#").replace("https://", "http://")
    return plain.replace("//google.", "//www.google.").replace("//sitemaps.", "//www.sitemaps.")


_FAMILIES: Final = {_plain(uri): family for family, uris in URIS.items() for uri in uris}

# An unknown default namespace is foreign, except on one of these elements.
_CORE_NAMES: Final = frozenset({"url", "sitemap", "loc", "lastmod", "changefreq", "priority"})

_MAX_BOUND: Final = 1_000  # prefixes, which are copied for each element that declares one
_MAX_KNOWN: Final = 1_000  # cached names
_MAX_REPORTED: Final = 1_000  # distinct findings


class NamespaceScopes:
    """Resolves a qualified name by the namespaces in force, or else by its prefix. Reports each defect once."""

    def __init__(self, base: str, report: Callable[[str, str], None]) -> None:
        self.depth = 0  # of the innermost element that declares anything
        self.base = base
        self._report = report
        self._bound: dict[str, str] = {}
        self._stack = [(0, base, self._bound)]
        self._own = CORE  # the family of the document's own elements
        self._own_name = ("", "")  # the prefix and namespace URI of its root
        self._strict = False
        self._known: dict[str, tuple[str, str]] = {}
        self._reported: set[tuple[str, str]] = set()

    def enter(self, depth: int, attributes: dict[str, str]) -> bool:
        """Add the declarations of an element. True if they change the meaning of names."""
        declared = {
            name[6:]: uri.strip() for name, uri in attributes.items() if name[:5] == "xmlns" and name[5:6] in {"", ":"}
        }
        base = attributes.get("xml:base", "").strip()
        if not declared and not base:
            return False
        if base:
            with contextlib.suppress(ValueError):
                self.base = urljoin(self.base, base)
        if declared:
            if len(self._bound) + len(declared) > _MAX_BOUND:
                declared = {name: uri for name, uri in declared.items() if name in self._bound}
            self._bound = {**self._bound, **declared}
            self._known.clear()
        self._stack.append((depth, self.base, self._bound))
        self.depth = depth
        return bool(declared)

    def leave(self, depth: int) -> bool:
        """Drop declarations deeper than this. True if that changes the meaning of names."""
        bound = self._bound
        while self._stack[-1][0] > depth:
            self._stack.pop()
        self.depth, self.base, self._bound = self._stack[-1]
        if bound is self._bound:
            return False
        self._known.clear()
        return True

    @property
    def default(self) -> str:
        """The default namespace in force, or ""."""
        return self._bound.get("", "")

    def root(self, name: str) -> tuple[str, str]:
        """The local name of a root element in lower case, and its namespace URI."""
        prefix, _, local = name.rpartition(":")
        uri = self._bound.get(prefix, "")
        self._own = ATOM if local.lower() == "feed" else CORE
        self._own_name = (prefix, uri)
        self._strict = local.lower() in {"urlset", "sitemapindex", "url", "sitemap"}
        self._known.clear()
        self._check_case(name, local, self._own)
        return local.lower(), uri

    def resolve(self, name: str) -> tuple[str, str]:
        """Family and local name, both in lower case, of an element below the root."""
        resolved = self._known.get(name)
        if resolved is None:
            prefix, _, local = name.rpartition(":")
            family = self._family(prefix, local.lower())
            self._check_case(name, local, family)
            resolved = (family, local.lower())
            if len(self._known) < _MAX_KNOWN:
                self._known[name] = resolved
        return resolved

    def _family(self, prefix: str, local: str) -> str:
        uri = self._bound.get(prefix, "")
        family = _FAMILIES.get(_plain(uri)) if uri else None
        if family is not None:
            if family != CORE and uri not in URIS[family]:
                self._report_once(
                    "sitemap.extension_namespace",
                    f"{prefix or 'a tag'!r} has the namespace {uri[:120]!r}, it must be {URIS[family][0]}",
                )
            return family
        if (prefix, uri) == self._own_name or (uri and uri == self._own_name[1]):
            return self._own
        if not prefix:
            return self._without_prefix(local, uri)
        family = PREFIXES.get(prefix.lower())
        if uri and (family is None or family == OTHER):
            return OTHER  # a foreign namespace, which is allowed
        fault = f"has the namespace {uri[:120]!r}" if uri else "is not declared"
        remedy = f", it must be {URIS[family][0]}" if family in URIS else ""
        self._report_once("sitemap.extension_namespace", f"the prefix {prefix[:40]!r} {fault}{remedy}")
        if family is None:  # unknown and undeclared, so it may be the document's own
            return self._own if local in _CORE_NAMES else OTHER
        return family

    def _without_prefix(self, local: str, uri: str) -> str:
        if uri and local not in _CORE_NAMES:
            return OTHER
        if self._strict:
            fault = f"has the namespace {uri[:120]!r}" if uri else "has no namespace"
            self._report_once("sitemap.namespace", f"{local[:40]!r} {fault}, it must be {URIS[CORE][0]}")
        return self._own

    def _check_case(self, name: str, local: str, family: str) -> None:
        if self._strict and family in STRICT and not local.islower() and local.lower() != local:
            self._report_once("sitemap.unknown_element", f"{name[:64]!r} is not {local.lower()[:64]!r}: case matters")

    def _report_once(self, rule: str, sentence: str) -> None:
        if (rule, sentence) not in self._reported and len(self._reported) < _MAX_REPORTED:
            self._reported.add((rule, sentence))
            self._report(rule, sentence)
