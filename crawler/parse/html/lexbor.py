"""Fills an outline from the tree that Lexbor builds. The only module that knows the parser; no rule lives here.

Lexbor is an HTML5 parser without scripting, so ``noscript`` has content and the content of ``template`` is apart. It
has inputs with quadratic cost (deep nesting): whoever reads the pages of others has a deadline, and :mod:`.scanner`.
One query collects everything: a list that begins with two attributes known to Lexbor is its fastest kind.
"""

from typing import Final

from selectolax.lexbor import LexborCSSSelector, LexborDocumentOptions, LexborHTMLParser, LexborNode

from crawler.parse.html.outline import ELEMENTS, LINK, MEDIA_OWNERS, NOFOLLOW, Element, Outline, anchor_flags

_OPTIONS: Final = LexborDocumentOptions.WO_EVENTS.value
# What these miss is found from its neighbours: a source from the img beside it, a video from its source.
_QUERY: Final = "[href],[src],[content],[type],img,iframe"
_DATE_MARK: Final = b"dateModified"
_DATED_QUERY: Final = (
    f"{_QUERY},[itemprop~=dateModified]"  # another two attributes of every element: only where it can pay
)
# What marks a breadcrumb, by the text that a document with one holds; each query is another walk over all elements.
_CRUMB_MARK: Final = b"readcrumb"  # in all of them: most documents are looked through once
_CRUMBS: Final = (
    (b'"BreadcrumbList"', ""),  # JSON-LD, which says it better
    (b"BreadcrumbList", "[itemtype*=BreadcrumbList],[typeof*=BreadcrumbList]"),
    (_CRUMB_MARK, "[class*=readcrumb],[aria-label*=readcrumb]"),
)
_DEPTH: Final = 32  # elements between a statement and its head or body that are looked at
# Elements that no rule asks for, by the attribute that tells: most of a head is made of them.
_MEANING_ATTRIBUTE: Final = {"meta": "name", "link": "rel", "script": "type"}
_IGNORED_MEANINGS: Final = frozenset(
    {
        "keywords",
        "viewport",
        "generator",
        "stylesheet",
        "icon",
        "shortcut icon",
        "preload",
        "text/javascript",
        "module",
    }
)
_selector: LexborCSSSelector = LexborCSSSelector()  # type: ignore[no-untyped-call]
_ANCHOR: Final = LexborHTMLParser("<a>").css("a")[0].tag_id


def read_outline(body: bytes) -> Outline:
    """The outline of a document in UTF-8."""
    parser = LexborHTMLParser(body, options=_OPTIONS)
    outline = Outline()
    root = parser.root
    if root is None:
        return outline
    others: list[LexborNode] = []
    hrefs, anchor = outline.anchors, _ANCHOR
    for node in _selector.find(_DATED_QUERY if _DATE_MARK in body else _QUERY, root):
        if node.tag_id == anchor:
            attributes = node.attributes
            if "rel" in attributes or "href" not in attributes:
                _add_anchor(outline, attributes)
            else:
                hrefs[attributes["href"] or ""] = None
        else:
            others.append(node)
    for node in others:
        tag = node.tag or ""
        attributes = node.attributes
        if tag not in _MEANING_ATTRIBUTE or attributes.get(_MEANING_ATTRIBUTE[tag]) not in _IGNORED_MEANINGS:
            _add(outline, node, tag, attributes)
    outline.crumbs = _crumbs(body, root)
    outline.title = _title(parser)
    language = root.attributes
    outline.language = language.get("lang") or language.get("xml:lang") or ""
    return outline


def _crumbs(body: bytes, root: LexborNode) -> list[str]:
    """The links of the first thing that is marked as a breadcrumb and has any."""
    if _CRUMB_MARK not in body:
        return []
    query = next((query for mark, query in _CRUMBS if mark in body), "")
    for node in _selector.find(query, root) if query else ():
        if found := [each.attributes["href"] or "" for each in _selector.find("a[href]", node)]:
            return found
    return []


def _add_anchor(outline: Outline, attributes: dict[str, str | None]) -> None:
    """An anchor with a relation, without href, or with an href in the namespace of XLink."""
    name = "href" if "href" in attributes else "xlink:href"
    if name not in attributes:
        return
    if anchor_flags(attributes.get("rel")) == LINK:
        outline.anchors[attributes[name] or ""] = None
    else:
        outline.add_link(attributes[name] or "", NOFOLLOW)


def _add(outline: Outline, node: LexborNode, tag: str, attributes: dict[str, str | None]) -> None:
    if tag == "area":
        if "href" in attributes:
            outline.add_link(attributes["href"] or "", anchor_flags(attributes.get("rel")))
        return
    is_dated = "dateModified" in (attributes.get("itemprop") or "")
    if tag not in ELEMENTS and not is_dated:
        return
    if tag == "script":
        kind = (attributes.get("type") or "").partition(";")[0].strip().lower()
        if kind != "application/ld+json":
            return
    element = _element(tag, attributes)
    if tag in {"link", "meta"}:
        _note_ancestors(element, node)
    elif tag in {"img", "source"}:
        _group(outline, element, node)
    elif tag == "video":
        element.owner, element.owner_tag = node.mem_id, tag
    if tag == "script" or is_dated:
        element.text = node.text()
    outline.add(element)


def _element(tag: str, attributes: dict[str, str | None]) -> Element:
    return Element(tag, {name: value or "" for name, value in attributes.items()})


def _group(outline: Outline, element: Element, node: LexborNode) -> None:
    """Name the picture or video that an img or a source is in, and bring what the query cannot see of it."""
    parent = node.parent
    if parent is None or parent.tag not in MEDIA_OWNERS:
        return
    owner, owner_tag = parent.mem_id, parent.tag
    element.owner, element.owner_tag = owner, owner_tag
    if outline.last_owner == owner:
        return  # its neighbours are known
    if element.tag == "img" and owner_tag == "picture":
        for sibling in parent.iter():
            if sibling.tag == "source":
                source = _element("source", sibling.attributes)
                source.owner, source.owner_tag = owner, owner_tag
                outline.add(source)
    elif owner_tag == "video" and not parent.attributes.get("src"):
        video = _element("video", parent.attributes)
        video.owner, video.owner_tag = owner, owner_tag
        outline.add(video)


def _note_ancestors(element: Element, node: LexborNode) -> None:
    parent = node.parent
    for _ in range(_DEPTH):
        if parent is None:
            return
        tag = parent.tag
        if tag == "noscript":
            element.in_noscript = True
        elif tag == "head":
            element.in_head = True
            return
        elif tag == "body":
            return
        parent = parent.parent


def _title(parser: LexborHTMLParser) -> str:
    head = parser.head
    if head is not None:
        for node in _selector.find("title", head):
            return node.text()
    for node in parser.css("title"):
        parent = node.parent
        if parent is None or parent.tag != "svg":
            return node.text()
    return ""
