"""Half a page is recognized by its former version, and an edited page is not taken for one."""

import random

import pytest

from crawler.parse.snapshot.cut import why_cut
from crawler.parse.snapshot.snapshot import take_snapshot


def prose(seed: int, words: int) -> str:
    draw = random.Random(seed)
    return " ".join(f"w{draw.randrange(5_000)}" for _ in range(words))


def page(
    *paragraphs: str, end: str = "</body></html>", footer: str = "<footer>Made by us, in a small town</footer>"
) -> str:
    text = "".join(f"<p>{paragraph}</p>" for paragraph in paragraphs)
    return f"<!doctype html><html><head><title>A page</title></head><body><nav>home</nav>{text}{footer}{end}"


def cut(before: str, after: str, *, is_framed: bool = True) -> str:
    snapshots = (take_snapshot(text.encode()) for text in (before, after))
    return why_cut(*snapshots, after.encode(), is_framed=is_framed)


@pytest.mark.parametrize("seed", range(40))
def test_ours_a_page_that_ends_before_its_end_is_half_a_page(seed: int) -> None:
    draw = random.Random(seed)
    paragraphs = [prose(seed * 10 + n, draw.randrange(5, 80)) for n in range(draw.randrange(2, 12))]
    whole = page(*paragraphs)
    noise = f'<input type="hidden" value="{seed}"><p>{draw.randrange(10**9)} visitors</p>'
    at = draw.randrange(len(whole) // 10, int(0.85 * len(whole)))
    assert "it ends without </html>, after" in cut(whole, whole.replace("</nav>", f"</nav>{noise}")[:at])


@pytest.mark.parametrize("seed", range(40))
def test_ours_an_edited_page_is_whole(seed: int) -> None:
    draw = random.Random(seed)
    paragraphs = [prose(seed * 10 + n, draw.randrange(5, 80)) for n in range(draw.randrange(2, 12))]
    kept = draw.sample(paragraphs, draw.randrange(len(paragraphs) + 1))
    for end in ("</body></html>", ""):
        assert not cut(page(*paragraphs), page(*kept, end="</body></HTML>"))  # whatever is left, it has an end
        assert not cut(page(*paragraphs, end=end), page(*kept, end=end))
    assert not cut(page(*paragraphs), page(*paragraphs, prose(seed, 50), end=""))  # it only grew
    assert not cut(page(*paragraphs), page(*paragraphs, end=""))  # optional tags are left out now


def test_rfc9112_a_body_that_ends_with_the_connection_is_half_a_page_when_it_begins_like_the_whole() -> None:
    before = f"<title>A page</title><p>{prose(1, 90)}<p>{prose(2, 90)}"
    half = before[: len(before) // 2].rsplit(" ", 1)[0]
    assert "it ends in the middle" in cut(before, half, is_framed=False)
    assert not cut(before, half, is_framed=True)  # its author may have written less
    assert "it ends in the middle" in cut(before, f"{half} {before[len(half) + 1]}", is_framed=True)
    assert not cut(before, f"<title>A page</title><p>{prose(2, 90)}", is_framed=False)


@pytest.mark.parametrize("seed", range(40))
def test_html_a_page_without_optional_end_tags_still_ends_its_elements(seed: int) -> None:
    draw = random.Random(seed)
    texts = [prose(seed * 10 + n, draw.randrange(5, 80)) for n in range(draw.randrange(3, 12))]
    text = "".join(f"<p>{paragraph}" for paragraph in texts)
    whole = f"<title>A page</title><nav><a href=/>home</a></nav><main>{{}}{text}</main><footer>Us and you</footer>"
    at = draw.randrange(len(whole) // 5, int(0.85 * len(whole)))
    before, after = whole.format(f"<p>{draw.random()} visits"), whole.format(f"<p>{draw.random()} visits")
    assert cut(before, after[:at])
    assert not cut(before, after.replace(texts[-1], ""))  # its author removed a paragraph


@pytest.mark.parametrize("end", ["</html>", ""])
def test_html_a_page_that_ends_in_its_head_or_in_a_tag_is_half_a_page(end: str) -> None:
    head = '<!doctype html><html><head><meta charset=utf-8><title>A page</title><link rel="icon" href="/i.png">'
    whole = f"{head}<script src='/a.js'></script><body><ul><li><a href=/>home</a></ul><p>{prose(1, 90)}<p>us{end}"
    for at in range(whole.index("</title>") + 1, whole.index("<ul>")):
        assert cut(whole, whole[:at]), whole[:at]
    for at in range(whole.index("<ul>") + 2, whole.index("href=/") + 6):
        assert cut(whole, whole[:at]) or whole[at - 1] == ">", whole[:at]
    assert not cut(whole, f"{head}<body><div id=app></div>" + end)  # an empty template is another thing


def test_ours_a_program_that_dies_says_so() -> None:
    assert cut(page(prose(1, 200)), "<br />\n<b>Fatal error</b>: Uncaught Error in line 12")
