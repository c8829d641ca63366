"""A page's own address is hidden in its texts, and only there."""

import pytest

from crawler.parse.snapshot.address import hide_address
from crawler.parse.snapshot.snapshot import load_snapshot, take_snapshot


def hidden(text: str, url: str = "https://a.example/fish/old-cod.html") -> str:
    return str(load_snapshot(hide_address(take_snapshot(text.encode()), url)))


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("<p>in query for '{}'", "/fish/old-cod.html"),
        ("{} failed", "/fish/old-cod.html"),
        ("<p>see {}, please", "https://a.example/fish/old-cod.html"),
        ("<p>'{}'", "/page?a=1&b=2"),
        ("<p>{} and {}", "/fish/"),
        ("<p>{}.", "/f%C3%A4hre"),
    ],
)
def test_ours_the_address_in_a_text_is_hidden(text: str, url: str) -> None:
    whole = url if url.startswith("https:") else f"https://a.example{url}"
    for said in (url, url.replace("&", "&amp;"), url.replace("%C3%A4", "ä")):
        assert hidden(text.replace("{}", said), whole) == text.replace("{}", "#")


@pytest.mark.parametrize(
    "text",
    [
        '<a href="/fish/old-cod.html">cod</a>',
        "<p>/fish/old-cod.html.bak2/x and /more/fish/old-cod.html",
        "<p>/fish/old-cod.htmlx",
        "<p>other words",
    ],
)
def test_ours_anything_else_stays(text: str) -> None:
    assert hidden(text) == text.replace("/fish/old-cod.html.", "#.") or hidden(text) == text
    assert hidden("<p>a/b and / and /b", "https://a.example/") == "<p>a/b and / and /b"
