"""Where links stand, on pages of templates whose links were labelled by hand."""

import lzma
import random
import re
from collections import Counter
from pathlib import Path
from urllib.parse import urljoin

import pytest

from crawler.audit.graph.places import Place, PlacedPage, find_places
from crawler.parse.snapshot.details import Anchor, read_details

TEMPLATES = Path(__file__).parents[3] / "fixtures" / "places"
UNSEEN = {"mkdocs", "pydata"}  # while the rule was written
HOME = "https://site.example"
LABELS = {"side": "side box", "changing": "changing box"}
LANDMARKS = {"nav": "menu", "header": "menu", "footer": "footer", "aside": "side box"}
_pages = re.compile(r"<!-- page (\S+) -->\n").split
_links = re.compile(r"<a\b[^>]*?\bhref=[^>]*>").findall
_label = re.compile('data-place="([a-z]+)"').search


def judged(template: str) -> list[tuple[str, Place, str]]:
    """The label, the place and the landmark of each link to another page."""
    _, *parts = _pages(lzma.decompress((TEMPLATES / f"{template}.html.xz").read_bytes()).decode())
    pages, labels, changing = [], [], {}
    for path, markup in zip(parts[::2], parts[1::2], strict=True):
        details, url, tags = read_details(markup), HOME + path, _links(markup)
        targets = [urljoin(url, anchor.href).partition("#")[0] for anchor in details.anchors]
        assert len(tags) == len(targets)
        if moved := {target for target, tag in zip(targets, tags, strict=True) if "data-moved" in tag}:
            changing[url] = moved
        labels.append([found[1] if (found := _label(tag)) else "" for tag in tags])
        pages.append(PlacedPage(url, targets, details.anchors, details.texts))
    found = find_places(pages, changing)
    return [
        (LABELS.get(label, label), place, LANDMARKS.get(anchor.landmark, "body"))
        for page, places, names in zip(pages, found, labels, strict=True)
        for target, anchor, place, label in zip(page.targets, page.anchors, places, names, strict=True)
        if label and target != page.url and not anchor.href.startswith("#")
    ]


def f1(links: list[tuple[str, Place, str]], place: str, column: int) -> float:
    right = sum(link[0] == place == link[column] for link in links)
    return 2 * right / sum((link[0] == place) + (link[column] == place) for link in links)


def test_ours_the_places_of_links_are_learned_from_repetition() -> None:
    links = [link for file in sorted(TEMPLATES.iterdir()) for link in judged(file.name.partition(".")[0])]
    seen = [
        link
        for file in sorted(TEMPLATES.iterdir())
        if (name := file.name.partition(".")[0]) not in UNSEEN
        for link in judged(name)
    ]
    assert set(Counter(label for label, *_ in seen)) == set(Place)
    for some in (seen, links):
        assert sum(label == place for label, place, _ in some) >= 0.95 * len(some)
        assert sum(label == landmark for label, _, landmark in some) < 0.6 * len(some)  # by names alone
        assert all(f1(some, place, 1) >= 0.85 for place in Place)


@pytest.mark.parametrize("template", sorted(UNSEEN))
def test_ours_the_places_of_templates_that_the_rule_does_not_know(template: str) -> None:
    links = judged(template)
    assert sum(label == place for label, place, _ in links) >= 0.9 * len(links)


def test_ours_a_link_to_the_next_page_is_no_tool_where_the_next_page_was_not_read() -> None:
    link = '<p><a href="/{next}">next</a></p>'
    markup = "<nav><a href=/>Home</a></nav><main><p>About boats that have sails and {n}.</p>{link}</main>"
    pages = []
    for number in range(0, 40, 2):
        shown = read_details(markup.format(n=chr(97 + number) * 4, link=link.format(next=number + 1)))
        targets = [f"{HOME}{anchor.href}" for anchor in shown.anchors]
        pages.append(PlacedPage(f"{HOME}/{number}", targets, shown.anchors, shown.texts))
    listed = {f"{HOME}/{number}" for number in range(41)}
    assert {places[-1] for places in find_places(pages, {}, listed)} == {Place.LIST}
    assert {places[-1] for places in find_places(pages, {})} == {Place.FOOTER}


def test_ours_a_list_in_main_after_a_text_is_no_side_box_and_a_text_of_a_page_in_the_footer_is_no_part_of_it() -> None:
    dice, pages = random.Random(7), []
    for number in range(40):
        texts = "".join(f"<p>{' '.join(dice.choices('abcdefghijklmnopqrst', k=9))} is a text.</p>" for _ in range(6))
        links = "".join(f"<li><a href=/{dice.randrange(900)}>{dice.randrange(900)}</a>" for _ in range(4))
        quote = " ".join(dice.choices("abcdefghijklmnopqrst", k=9))
        footer = f"<footer><a href=/terms>Terms</a> <p>{quote} said somebody.</p> <a href=/imprint>Imprint</a></footer>"
        shown = read_details(f"<main><h1>{number}</h1>{texts}<ul>{links}</ul></main>{footer}")
        targets = [f"{HOME}{anchor.href}" for anchor in shown.anchors]
        pages.append(PlacedPage(f"{HOME}/{number}", targets, shown.anchors, shown.texts))
    for places in find_places(pages, {}):
        assert places == [Place.LIST] * 4 + [Place.FOOTER] * 2


def test_ours_places_take_linear_time() -> None:
    anchors = [Anchor(f"/{n}", str(n), "", "", 1) for n in range(3_000)]
    pages = [PlacedPage(f"{HOME}/{n}", [f"{HOME}/{m}" for m in range(3_000)], anchors, []) for n in range(30)]
    assert {place for places in find_places(pages, {}) for place in places} == {Place.MENU}
