"""What an editor does to one page, and must move its lastmod: text, figures, pictures, links, structured data.

A new comment or review counts: it is text in the main content that a person wrote, and Google's advice names the main
content, the structured data and the links (https://developers.google.com/search/docs/crawling-indexing/sitemaps/build-sitemap).
"""

import copy
import json
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import lxml.html
from lxml.html import HtmlElement

from tests.trials.lastmod.page import MARK, TOKEN, Page, TextNode
from tests.trials.lastmod.prose import NAMES, WORDS, paragraph, sentence, title

_MONEY = re.compile(r"(?P<sign>[€£$])\s?(?P<whole>[\d,]+\.\d\d)")
_STOCK = re.compile(r"\b(in stock|available)\b", re.IGNORECASE)
_DATE = re.compile(
    r"\b(\d{1,2}) (January|February|March|April|May|June|July|August|September|October|November|December)\b"
)


@dataclass(frozen=True)
class Edit:
    """What was done to a page, for the report."""

    path: str
    kind: str
    what: str


Editing = Callable[[Page, random.Random], str]
KINDS: dict[str, Editing] = {}
WHOLE: dict[str, Editing] = {}  # done to every page of a section at once


def _kind(editing: Editing) -> Editing:
    KINDS[editing.__name__.removeprefix("edit_").replace("_", "-")] = editing
    return editing


def _whole(editing: Editing) -> Editing:
    WHOLE[editing.__name__.removeprefix("edit_").replace("_", "-")] = editing
    return editing


def edit(page: Page, kind: str, rng: random.Random) -> Edit | None:
    """Edit a page; None if it has nothing of this kind."""
    what = (KINDS | WHOLE)[kind](page, rng)
    if not what:
        return None
    page.changed()
    return Edit(page.path, kind, what)


# ---------------------------------------------------------------- text


def _made(tag: str, text: str, **attributes: str) -> HtmlElement:
    element = lxml.html.Element(tag, attributes)
    element.text = text
    element.tail = "\n"
    return element


def _picked(found: Sequence[Any], rng: random.Random) -> Any:
    return rng.choice(found) if found else None


def _replaced(node: TextNode | None, change: Callable[[str], str]) -> str:
    if node is None:
        return ""
    before = node.text
    node.text = change(before)
    return f"{before.strip()[:60]!r} → {node.text.strip()[:80]!r}" if node.text != before else ""


def _free(element: HtmlElement) -> bool:
    return not TOKEN.search(lxml.html.tostring(element, encoding="unicode", with_tail=False))


@_kind
def edit_paragraph_added(page: Page, rng: random.Random) -> str:
    behind = _picked(page.own("p", "h2"), rng)
    if behind is None:
        return ""
    added = _made("p", paragraph(rng))
    behind.addnext(added)
    return added.text


@_kind
def edit_word(page: Page, rng: random.Random) -> str:
    def change(text: str) -> str:
        words = text.split(" ")
        places = [place for place, word in enumerate(words) if word.isalpha()]
        if places:
            words[rng.choice(places)] = rng.choice(WORDS)
        return " ".join(words)

    return _replaced(_picked(page.texts(5), rng), change)


@_kind
def edit_figure(page: Page, rng: random.Random) -> str:
    """A figure in the text, but not what is left in stock: that is a noise."""
    nodes = [n for n in page.texts(4) if re.search(r"\b\d{2,4}\b", n.text) and not _STOCK.search(n.text)]
    return _replaced(
        _picked(nodes, rng),
        lambda text: re.sub(r"\b(\d{2,4})\b", lambda at: str(int(at[1]) + rng.randrange(1, 30)), text, count=1),
    )


@_kind
def edit_typo(page: Page, rng: random.Random) -> str:
    def change(text: str) -> str:
        words = text.split(" ")
        place = rng.choice([place for place, word in enumerate(words) if len(word) > 4 and word.isalpha()] or [0])
        word = words[place]
        if len(word) > 4:
            at = rng.randrange(1, len(word) - 1)
            words[place] = word[:at] + word[at] + word[at:]
        return " ".join(words)

    return _replaced(_picked(page.texts(5), rng), change)


@_kind
def edit_rewrite(page: Page, rng: random.Random) -> str:
    found = [each for each in page.own("p") if _free(each)]
    for each in found:
        for inner in list(each):
            each.remove(inner)
        each.text = paragraph(rng)
    return f"{len(found)} paragraphs" if found else ""


@_kind
def edit_paragraph_moved(page: Page, rng: random.Random) -> str:
    found = [each for each in page.own("p") if _free(each) and not len(each) and len((each.text or "").split()) > 4]
    for moved, behind in zip(found, found[2:], strict=False):
        if moved.getparent() is behind.getparent():
            behind.addnext(moved)
            return str(moved.text)[:80]
    return ""


@_kind
def edit_section_removed(page: Page, rng: random.Random) -> str:
    found = [each for each in page.own("h2") if each.getnext() is not None and _free(each)]
    if len(found) < 2:
        return ""
    heading, removed = found[-1], []
    following = heading.getnext()
    while following is not None and following.tag != "h2":
        removed.append(following)
        following = following.getnext()
    removed = [each for each in removed if _free(each) and each in page.own(each.tag)]
    if not removed:
        return ""
    for each in [heading, *removed]:
        each.getparent().remove(each)
    return heading.text_content()


@_kind
def edit_heading(page: Page, rng: random.Random) -> str:
    node = _picked(page.texts(1, frozenset({"h2", "h3"})), rng)
    return _replaced(node, lambda _: title(rng))


@_kind
def edit_title(page: Page, rng: random.Random) -> str:
    new, heading = title(rng), page.tree.xpath("//h1")
    if not heading or not _free(heading[0]):
        return ""
    old = heading[0].text_content().strip()
    for inner in list(heading[0]):
        heading[0].remove(inner)
    heading[0].text = new
    shown = page.tree.find(".//title")
    if shown is not None:
        shown.text = (shown.text or "").replace(old, new) if old in (shown.text or "") else new
    return f"{old!r} → {new!r}"


@_kind
def edit_title_element(page: Page, rng: random.Random) -> str:
    shown = page.tree.find(".//title")
    if shown is None or not _free(shown):
        return ""
    shown.text = f"{title(rng)}: {shown.text}"
    return str(shown.text)


@_kind
def edit_caption(page: Page, rng: random.Random) -> str:
    return _replaced(_picked(page.texts(2, frozenset({"figcaption"})), rng), lambda _: sentence(rng))


@_kind
def edit_quote(page: Page, rng: random.Random) -> str:
    found = [each for each in page.own("blockquote") if _free(each)]
    if not found:
        return ""
    found[0].append(_made("p", sentence(rng)))
    return str(found[0][-1].text)


@_kind
def edit_list_item(page: Page, rng: random.Random) -> str:
    return _replaced(_picked(page.texts(2, frozenset({"li"})), rng), lambda _: sentence(rng))


@_kind
def edit_list_item_added(page: Page, rng: random.Random) -> str:
    found = _picked([each for each in page.own("li") if each.getparent().tag == "ul" and _free(each)], rng)
    if found is None:
        return ""
    added = _made("li", sentence(rng))
    added.tail = None
    children = found.getparent()
    children.insert(children.index(found), added)
    return str(added.text)


@_kind
def edit_table_cell(page: Page, rng: random.Random) -> str:
    return _replaced(_picked(page.texts(1, frozenset({"td"})), rng), lambda old: f"{rng.choice(WORDS)} {len(old)}")


@_kind
def edit_table_row_added(page: Page, rng: random.Random) -> str:
    rows = [each for each in page.own("tr") if _free(each) and len(each)]
    if not rows:
        return ""
    added = copy.deepcopy(rows[-1])
    for cell in added:
        cell.text = f"{rng.choice(WORDS)} {rng.randrange(99)}"
    rows[-1].addnext(added)
    return added.text_content()


@_kind
def edit_code(page: Page, rng: random.Random) -> str:
    found = [each for each in page.own("code", "pre") if not len(each) and each.text]
    each = _picked(found, rng)
    if each is None:
        return ""
    each.text = f"{each.text.rstrip()} --{rng.choice(WORDS)}={rng.randrange(99)}\n"
    return str(each.text)


@_kind
def edit_date_shown(page: Page, rng: random.Random) -> str:
    nodes = [node for node in page.texts(1) if _DATE.search(node.text)]
    return _replaced(
        _picked(nodes, rng),
        lambda text: _DATE.sub(lambda at: f"{(int(at[1]) + rng.randrange(1, 20)) % 28 + 1} {at[2]}", text, count=1),
    )


@_kind
def edit_author(page: Page, rng: random.Random) -> str:
    nodes = [
        node
        for node in page.texts(1, frozenset({"span"}))
        if node.element.get("class") == "byline" and not node.is_tail
    ]
    return _replaced(_picked(nodes, rng), lambda old: rng.choice([name for name in NAMES if name != old]))


@_kind
def edit_comment_added(page: Page, rng: random.Random) -> str:
    box = _made("div", "", **{"class": "comment"})
    box.append(_made("h4", f"{rng.choice(NAMES)} wrote"))
    box.append(_made("p", paragraph(rng)))
    page.main.append(box)
    return box.text_content()


@_kind
def edit_noisy_slot(page: Page, rng: random.Random) -> str:
    """New words in the very element in whose text a noise writes: in the content, not in a sidebar or a footer.

    Not so a box that the template will get: it is not there yet, or the words would be in the template.
    """
    noisy = [each for each in page.main.iter("p", "li", "h2", "span", "div") if re.search(r"Zq\d+vqZ", each.text or "")]
    noisy = [each for each in noisy if each.get(MARK) != "once"]
    found = [each for each in noisy if not each.xpath("ancestor::aside | ancestor::footer | ancestor::nav")]
    each = _picked(found, rng)
    if each is None:
        return ""
    each.text = f"{sentence(rng)} {each.text}"
    return str(each.text)


# ---------------------------------------------------------------- goods


def _prices(page: Page, change: Callable[[float], float], count: int) -> str:
    nodes = [node for node in page.texts(1) if _MONEY.search(node.text)][:count]

    def raised(at: re.Match[str]) -> str:
        return f"{at['sign']}{change(float(at['whole'].replace(',', ''))):,.2f}"

    said = [_replaced(node, lambda text: _MONEY.sub(raised, text)) for node in nodes]
    return "; ".join(each for each in said if each)


@_kind
def edit_price(page: Page, rng: random.Random) -> str:
    return _prices(page, lambda price: price * rng.choice((0.8, 0.9, 1.1, 1.25)) + 0.01, 1)


@_kind
def edit_availability(page: Page, rng: random.Random) -> str:
    nodes = [node for node in page.texts(1) if _STOCK.search(node.text)]
    return _replaced(_picked(nodes, rng), lambda text: _STOCK.sub("sold out", text, count=1))


@_whole
def edit_all_prices_raised(page: Page, rng: random.Random) -> str:
    return _prices(page, lambda price: price * 1.05 + 0.01, 99)


@_whole
def edit_section_text(page: Page, rng: random.Random) -> str:
    """The same text on every page of a section, each among its own: as an editor, not a template, adds it."""
    what, where = rng.choice(tuple(_SAME)), rng.choice((0, 0.5, 1))
    found = [each for each in page.own("p") if _is_own_text(page, each)]
    if not found:
        return ""
    said = _SAME[what](found[round(where * (len(found) - 1))], rng)
    return f"the same on every page: {what}: {said}" if said else ""


def _is_own_text(page: Page, element: HtmlElement) -> bool:
    text = element.text_content().strip()
    return len(text.split()) > 4 and text not in page.common and _free(element)


def _same_paragraph(behind: HtmlElement, rng: random.Random) -> str:
    behind.addnext(_made("p", sentence(rng)))
    return str(behind.getnext().text)


def _same_paragraphs(behind: HtmlElement, rng: random.Random) -> str:
    _same_paragraph(behind, rng)
    return _same_paragraph(behind, rng)


def _same_chapter(behind: HtmlElement, rng: random.Random) -> str:
    said = _same_paragraph(behind, rng)
    behind.addnext(_made("h2", title(rng)))
    return said


def _same_words(home: HtmlElement, rng: random.Random) -> str:
    said = sentence(rng)
    if len(home):
        home[-1].tail = f"{home[-1].tail or ''} {said}"
    else:
        home.text = f"{home.text} {said}"
    return said


def _same_link(home: HtmlElement, rng: random.Random) -> str:
    behind = _made("p", sentence(rng))
    behind.append(_made("a", title(rng), href=f"https://other.example/{rng.choice(WORDS)}"))
    home.addnext(behind)
    return str(behind.text)


_SAME: dict[str, Callable[[HtmlElement, random.Random], str]] = {
    "paragraph": _same_paragraph,
    "paragraphs": _same_paragraphs,
    "chapter": _same_chapter,
    "words": _same_words,
    "link": _same_link,
}


# ---------------------------------------------------------------- pictures, links, videos


@_kind
def edit_image_src(page: Page, rng: random.Random) -> str:
    each = _picked([each for each in page.own("img") if each.get("src")], rng)
    if each is None:
        return ""
    old = each.get("src")
    folder, _, name = old.rpartition("/")
    each.set("src", f"{folder}/{rng.choice(WORDS)}{rng.randrange(9999)}-{name}")
    return f"{old} → {each.get('src')}"


@_kind
def edit_image_alt(page: Page, rng: random.Random) -> str:
    each = _picked(page.own("img"), rng)
    if each is None:
        return ""
    old = each.get("alt", "")
    each.set("alt", sentence(rng))
    return f"{old} → {each.get('alt')}"


@_kind
def edit_image_added(page: Page, rng: random.Random) -> str:
    behind = _picked(page.own("p"), rng)
    if behind is None:
        return ""
    added = _made("figure", "")
    added.append(_made("img", "", src=f"/media/{rng.choice(WORDS)}-{rng.randrange(9999)}.jpg", alt=sentence(rng)))
    behind.addnext(added)
    return str(added[0].get("src"))


@_kind
def edit_image_removed(page: Page, rng: random.Random) -> str:
    each = _picked([each for each in page.own("img") if not each.tail or not each.tail.strip()], rng)
    if each is None:
        return ""
    each.getparent().remove(each)
    return str(each.get("src"))


@_kind
def edit_link_target(page: Page, rng: random.Random) -> str:
    each = _picked([each for each in page.own("a") if each.get("href") and _free(each)], rng)
    if each is None:
        return ""
    old = each.get("href")
    each.set("href", f"https://other.example/{rng.choice(WORDS)}/{rng.randrange(999)}")
    return f"{old} → {each.get('href')}"


@_kind
def edit_link_added(page: Page, rng: random.Random) -> str:
    home = _picked([each for each in page.own("p") if len(each.text_content().split()) > 4], rng)
    if home is None:
        return ""
    home.append(_made("a", title(rng), href=f"https://other.example/{rng.choice(WORDS)}/{rng.randrange(999)}"))
    return str(home[-1].get("href"))


@_kind
def edit_link_removed(page: Page, rng: random.Random) -> str:
    """The words stay; only the link goes."""
    each = _picked(
        [each for each in page.own("a") if "other.example" in each.get("href", "") or each.getparent().tag == "p"], rng
    )
    if each is None or not _free(each) or len(each):
        return ""
    href = each.get("href")
    each.drop_tag()
    return str(href)


@_kind
def edit_video_added(page: Page, rng: random.Random) -> str:
    behind = _picked(page.own("p"), rng)
    if behind is None:
        return ""
    added = _made("video", "", src=f"/media/{rng.choice(WORDS)}-{rng.randrange(999)}.mp4", controls="")
    behind.addnext(added)
    return str(added.get("src"))


# ---------------------------------------------------------------- what machines read


@_kind
def edit_jsonld_description(page: Page, rng: random.Random) -> str:
    return _stated(page, "description", sentence(rng))


@_kind
def edit_jsonld_offer(page: Page, rng: random.Random) -> str:
    def change(thing: dict[str, Any]) -> bool:
        offers = thing.get("offers")
        if isinstance(offers, dict) and "price" in offers:
            offers["price"] = f"{float(offers['price']) * 1.1 + 0.01:.2f}"
            return True
        return False

    return _in_jsonld(page, change)


def _stated(page: Page, name: str, value: str) -> str:
    def change(thing: dict[str, Any]) -> bool:
        if name not in thing:
            return False
        thing[name] = value
        return True

    return _in_jsonld(page, change)


def _in_jsonld(page: Page, change: Callable[[dict[str, Any]], bool]) -> str:
    for script in page.tree.xpath("//script[@type='application/ld+json']"):
        try:
            stated = json.loads(script.text)
        except ValueError:
            continue
        for thing in stated.get("@graph", [stated]) if isinstance(stated, dict) else stated:
            if change(thing):
                script.text = json.dumps(stated, ensure_ascii=False)
                return str(script.text)[:300]
    return ""


@_kind
def edit_meta_description(page: Page, rng: random.Random) -> str:
    found = page.tree.xpath("//meta[@name='description']")
    if not found:
        return ""
    found[0].set("content", sentence(rng))
    return str(found[0].get("content"))
