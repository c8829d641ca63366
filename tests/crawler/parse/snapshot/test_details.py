"""What a page shows, read from the markup of its snapshot."""

import gc
from collections.abc import Iterator

import pytest

from crawler.parse.snapshot.blocks import MAX_CONTAINERS, Container
from crawler.parse.snapshot.details import _Point, read_details

_TEXT = "<p>Some words that stand alone here.</p>"


@pytest.fixture
def uncollected() -> Iterator[None]:
    """A process that collects no cycles, as those that read pages."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def _kept() -> list[Container | _Point]:
    return [each for each in gc.get_objects() if isinstance(each, Container | _Point)]


@pytest.mark.parametrize("text", ["", _TEXT], ids=["without a text", "with texts"])
@pytest.mark.usefixtures("uncollected")
def test_ours_pages_that_have_other_elements_each_take_no_more_memory(text: str) -> None:
    for page in range(4):
        elements = "".join(f'<div id="a{page}b{number}">{text}</div>' for number in range(MAX_CONTAINERS * 3 // 4))
        read_details(f"<body>{elements}{_TEXT}")
    assert sum(isinstance(each, Container) for each in _kept()) <= MAX_CONTAINERS + 1_000


@pytest.mark.usefixtures("uncollected")
def test_ours_pages_that_have_other_drawings_each_take_no_more_memory() -> None:
    size = 1_000_000
    for page in range(12):
        read_details(f'<body>{_TEXT}<svg><path d="{page}{"M" * size}"/></svg>{_TEXT}')
    assert sum(len(tags) for each in _kept() for tags in each) < 10 * size


def test_ours_a_text_finds_each_of_its_links_though_they_lead_to_one_page() -> None:
    link = '<a href="/a"><img src="/a">first</a>'
    details = read_details(f'<body><p>These are {link} words, {link} and <a href="/b">other</a> links of a text.</p>')
    assert [(a.href, a.in_prose, bool(a.slot)) for a in details.anchors] == [
        ("/a", True, True), ("/a", True, True), ("/b", True, True)
    ]  # fmt: skip
    assert [text[:2] for text in details.texts] == [(0, 3)]
