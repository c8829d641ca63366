"""What a page says of the pages above it."""

import json

import pytest
from htmlpages import URL, read, scan

from crawler.url.normalize import join_url

TRAIL = ["/", "/shop/", "/shop/boats/"]


def linked(items: object) -> str:
    data = {"@context": "https://schema.org", "@type": "BreadcrumbList", "itemListElement": items}
    return f'<script type="application/ld+json">{json.dumps(data)}</script>'


def crumbs(body: str) -> list[str]:
    return [url.removeprefix("https://example.com") for url in read(body).breadcrumb]


def item(position: object, value: object) -> dict[str, object]:
    return {"@type": "ListItem", "position": position, "name": "x", "item": value}


@pytest.mark.parametrize(
    "items",
    [
        [item(number, path) for number, path in enumerate(TRAIL, 1)],
        [item(str(number), {"@id": path, "name": "x"}) for number, path in reversed([*enumerate(TRAIL, 1)])],
        [item(1, "/"), item(2, "/shop/#top"), item(3, "/shop/boats/"), item(4, URL), {"position": 5, "name": "x"}],
        [item(1, "/"), item(2, {"url": "https://example.com/shop/"}), {"url": "/shop/boats/"}, "x", None],
        [item(1, "/"), item(2, "/shop/"), item(3, "/shop/"), item(4, ["/x"]), item(5, "/shop/boats/")],
    ],
)
def test_google_breadcrumbs_are_read_from_structured_data(items: object) -> None:
    assert crumbs(linked(items)) == TRAIL
    page = scan(linked(items))
    assert page.breadcrumb == [join_url(URL, path) for path in TRAIL]


def test_google_breadcrumbs_the_first_trail_that_names_pages_counts() -> None:
    assert crumbs(linked([{"name": "x"}]) + linked(item(1, "/a")) + linked([item(1, "/b")])) == ["/a"]


@pytest.mark.parametrize(
    "mark",
    [
        "<nav aria-label=Breadcrumb><ol>{}</ol></nav>",
        "<nav aria-label='breadcrumbs'>{}</nav>",
        "<ul class='nav breadcrumb-list'>{}</ul>",
        "<div id=x class=siteBreadcrumbs><p>{}</p></div>",
        "<ol vocab=https://schema.org/ typeof=BreadcrumbList>{}</ol>",
        "<ol itemscope itemtype=https://schema.org/BreadcrumbList>{}</ol>",
    ],
)
def test_ours_breadcrumbs_are_read_from_the_text(mark: str) -> None:
    trail = "".join(f"<li><a itemprop=item href='{path}'>x</a></li>" for path in TRAIL)
    inside = mark.format(f"{trail}<li><a href='{URL}#x'>here</a></li><li>here</li>")
    assert crumbs(f"<p><a href=/elsewhere>x</a></p>{inside}<p>our breadcrumbs <a href=/later>x</a>") == TRAIL


def test_ours_structured_data_goes_before_the_text_and_most_pages_have_none() -> None:
    assert crumbs(f"<nav class=breadcrumb><a href=/text>x</a></nav>{linked([item(1, '/data')])}") == ["/data"]
    assert crumbs("<a href=/a>x</a>") == []
    assert crumbs(linked("nonsense") + linked([item({}, "mailto:a@b.c"), item(True, "ftp://x/")])) == []


def test_ours_a_breadcrumb_has_an_end() -> None:
    assert len(crumbs(linked([item(number, f"/{number}") for number in range(500)]))) == 20
