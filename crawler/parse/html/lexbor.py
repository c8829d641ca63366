"""Builds an outline with Lexbor, an HTML5 parser. The only module that uses the parser; it holds no rule.

Lexbor runs no scripts, so ``noscript`` has content; it keeps the content of ``template`` apart. Some input takes it
quadratic time (deep nesting): the caller needs a deadline, and :func:`read_flat_outline` as a fallback. One query
collects everything: Lexbor is fastest with a list that begins with two attributes known to it.
"""

import re
from typing import Any, Final

from selectolax.lexbor import LexborCSSSelector, LexborDocumentOptions, LexborHTMLParser, LexborNode

from crawler.parse.html.jsonld import MAIN, JsonLdNode, local_name
from crawler.parse.html.outline import ELEMENTS, LINK, MEDIA_OWNERS, NOFOLLOW, Element, Outline, anchor_flags, is_jsonld

_OPTIONS: Final = LexborDocumentOptions.WO_EVENTS.value
# An element that the query misses is found from another: a source from the img beside it, a video from its source.
_QUERY: Final = "[href],[src],[content],[type],img,iframe"
_DATE_MARK: Final = b"dateModified"
_DATED_QUERY: Final = f"{_QUERY},[itemprop~=dateModified]"  # slower, so only for documents that hold the word
# Text that a document with a breadcrumb holds, and the query for it. Each query walks over all elements again.
_CRUMB_MARK: Final = b"readcrumb"  # part of all of them, so that most documents are searched once
_CRUMBS: Final = (
    (b'"BreadcrumbList"', ""),  # JSON-LD, which takes precedence
    (b"BreadcrumbList", "[itemtype*=BreadcrumbList],[typeof*=BreadcrumbList]"),
    (_CRUMB_MARK, "[class*=readcrumb],[aria-label*=readcrumb]"),
)
_MAX_DATED: Final = 50  # elements with a date of an item
_DEPTH: Final = 32  # ancestors searched for the head or body around an element
_STREAMED: Final = 200  # elements of a head that are streamed together
_STREAMED_TAGS: Final = frozenset({"title", "meta", "link"})
_is_segment = re.compile(r"S:[0-9a-f]+").fullmatch
_places_segment = re.compile(r"\$R[CR]\(\"B:").search
# Elements that no rule needs, by their attribute that shows it. Most elements of a head are such.
_MEANING_ATTRIBUTE: Final = {"meta": "name", "link": "rel", "script": "type"}
_IGNORED_MEANINGS: Final = frozenset(
    {"keywords", "viewport", "generator", "stylesheet", "icon", "shortcut icon", "preload", "text/javascript"}
    | {"module"}
)
_selector: LexborCSSSelector = LexborCSSSelector()  # type: ignore[no-untyped-call]
_ANCHOR: Final = LexborHTMLParser("<a>").css("a")[0].tag_id


_NEEDED: Final = b"|".join(
    name.encode()
    for name in (
        *("a", "html", "head", "title", "body", "frameset", "noframes", "noscript", "template", "style", "textarea"),
        *("xmp", "noembed", "plaintext", "select", "svg", "math", "foreignobject", "desc", "image", *ELEMENTS),
        *("area", *MEDIA_OWNERS),
    )
)
_other_tags = re.compile(rb"<(/?)(?!(?:%s)[\s/>])[a-z][^<>]*+>" % _NEEDED, re.IGNORECASE).sub


def read_flat_outline(body: bytes) -> Outline:
    """The outline of a document on which the parser hung or crashed: without the elements that no rule needs.

    Their nesting is what takes the parser quadratic time. Each becomes one that has no content, and ends the head too.
    """
    return read_outline(_other_tags(lambda tag: b"" if tag[1] else b"<wbr/>", body))


def read_outline(body: bytes) -> Outline:
    """The outline of a document in UTF-8."""
    parser = LexborHTMLParser(body, options=_OPTIONS)
    outline = Outline()
    root = parser.root
    if root is None:
        return outline
    others: list[LexborNode] = []
    anchors, anchor_tag = outline.anchors, _ANCHOR
    for node in _selector.find(_DATED_QUERY if _DATE_MARK in body else _QUERY, root):
        if node.tag_id != anchor_tag:
            others.append(node)
            continue
        attributes = node.attributes
        href = attributes.get("href")
        if href is None or "rel" in attributes:
            _add_anchor(outline, attributes)
        else:
            anchors[href] = None
    for node in others:
        tag = node.tag or ""
        attributes = node.attributes
        if tag not in _MEANING_ATTRIBUTE or attributes.get(_MEANING_ATTRIBUTE[tag]) not in _IGNORED_MEANINGS:
            _add(outline, node, tag, attributes)
    outline.crumbs = _crumbs(body, root)
    outline.title = _title(parser)
    attributes = root.attributes
    outline.language = attributes.get("lang") or attributes.get("xml:lang") or ""
    return outline


def _crumbs(body: bytes, root: LexborNode) -> list[str]:
    """The hrefs in the first element that is marked as a breadcrumb and has any."""
    if _CRUMB_MARK not in body:
        return []
    query = next((query for mark, query in _CRUMBS if mark in body), "")
    for node in _selector.find(query, root) if query else ():
        if hrefs := [link.attributes["href"] or "" for link in _selector.find("a[href]", node)]:
            return hrefs
    return []


def _add_anchor(outline: Outline, attributes: dict[str, str | None]) -> None:
    """Add an anchor that has a rel or an XLink href, or no href at all."""
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
    if "dateModified" in (attributes.get("itemprop") or "").split() and len(outline.items) < _MAX_DATED:
        outline.items.append(_item(node, attributes))
    if tag not in ELEMENTS:
        return
    if tag == "script" and not is_jsonld(attributes.get("type") or ""):
        return
    element = _element(tag, attributes)
    if tag in {"link", "meta"}:
        _set_position(element, node)
    elif tag in {"img", "source"}:
        _set_owner(outline, element, node)
    elif tag == "video":
        element.owner, element.owner_tag = node.mem_id, tag
    if tag == "script":
        element.text = node.text()
    outline.add(element)


def _item(node: LexborNode, attributes: dict[str, str | None]) -> JsonLdNode:
    """The item of microdata that a dated element belongs to; the page itself without one."""
    values: dict[str, Any] = {"dateModified": attributes.get("content") or attributes.get("datetime") or node.text()}
    scope = _scope(node)
    if scope is None:
        return JsonLdNode(("WebPage",), values, is_main=True)
    for named in _selector.find("[itemprop~=url],[itemprop~=mainEntityOfPage]", scope):
        around = _scope(named)
        if around is not None and around.mem_id == scope.mem_id:  # to compare elements takes the time of their markup
            given = named.attributes
            values.setdefault("url", []).append(given.get("href") or given.get("content") or given.get("itemid") or "")
    own = scope.attributes
    types = tuple(map(local_name, (own.get("itemtype") or "WebPage").split()))
    return JsonLdNode(types, values, is_main="itemprop" not in own or (own["itemprop"] or "").startswith(MAIN))


def _scope(node: LexborNode) -> LexborNode | None:
    """The element of the item that an element is a property of."""
    parent = node.parent
    while parent is not None and "itemscope" not in parent.attributes:
        parent = parent.parent
    return parent


def _element(tag: str, attributes: dict[str, str | None]) -> Element:
    return Element(tag, {name: value or "" for name, value in attributes.items()})


def _set_owner(outline: Outline, element: Element, node: LexborNode) -> None:
    """Record the picture, video or audio around an img or a source, and add those parts of it that the query misses."""
    parent = node.parent
    if parent is None or parent.tag not in MEDIA_OWNERS:
        return
    owner, owner_tag = parent.mem_id, parent.tag
    element.owner, element.owner_tag = owner, owner_tag
    if outline.last_owner == owner:
        return  # its other parts are already added
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


def _set_position(element: Element, node: LexborNode) -> None:
    parent = node.parent
    for distance in range(_DEPTH):
        if parent is None:
            return
        tag = parent.tag
        if tag == "noscript":
            element.in_noscript = True
        elif tag == "head":
            element.in_head = True
            return
        elif tag == "body":
            element.in_head = element.is_streamed = distance == 0 and _is_streamed(node)
            return
        parent = parent.parent


def _is_streamed(node: LexborNode) -> bool:
    """Whether React streamed an element of the head after the head, which varies from one response to the next.

    Behind such elements come a hidden segment, until it is in its place, and the script that puts it there.
    """
    following = node.next
    for _ in range(_STREAMED):
        if following is None or following.tag not in _STREAMED_TAGS:
            break
        following = following.next
    if following is not None and _is_segment(following.attributes.get("id") or ""):
        following = following.next
    return following is not None and following.tag == "script" and _places_segment(following.text()) is not None


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
