"""Pages that are like what a site returns for a name that cannot exist, and pages that only look so."""

import pytest

from crawler.model import Url
from crawler.parse.snapshot.not_found import PageWords, is_soft_404, page_words

NOTHING = "<h1>Page not found</h1><p>Sorry, {} is not here.</p>"


def said(markup: str, title: str = "Shop", path: str = "/gone") -> PageWords:
    return page_words(Url(f"http://a.example{path}"), title, markup)


@pytest.mark.parametrize(
    ("page", "nothing", "answer"),
    [
        (NOTHING.format("gone"), NOTHING.format("lost"), True),
        (NOTHING.format("that"), NOTHING.format("lost"), False),
        ("<h1>Fehler 404</h1>", "<h1>Fehler 404</h1>", True),  # few words, the same markup
        ("<h1>Fehler 404</h1>", "<h2>Fehler 404</h2>", False),
        ("", "", True),
        ("<img src=/a.png>", "", False),
        ("<p>One more of these<img src=/a.png>", "<p>One more of these", False),  # a gallery
        ("<p>One more of these<iframe src=/v1>", "<p>One more of these<iframe src=/v2>", False),
        ("<p>One more of these", "<p>One more of these<img src=/a.png>", True),
    ],
)
def test_ours_a_soft_404_has_the_words_of_the_response_and_no_picture_of_its_own(
    page: str, nothing: str, answer: bool
) -> None:
    assert is_soft_404(said(page), said(nothing, path="/lost")) is answer
    assert not is_soft_404(said(page, "Another title"), said(nothing, path="/lost"))


@pytest.mark.parametrize(
    ("page", "answer"),
    [
        ("<h1>Page not found</h1><p>oar and paddle</p>", True),
        ("<h1>404 - Page Not Found!</h1><p>boat</p>", True),
        ("<h1>Page not found</h1><h2>A film</h2><p>of 2004</p>", False),  # another template
        ("<h1>Oars</h1><p>Page not found</p>", True),
        ("<h1>Oars</h1><p>oar and paddle</p>", False),
        ("<title>Page not found</title><h1>Oars</h1><p>oar and paddle</p>", False),
        ("<h1>Page not found on maps</h1><p>an island</p>", False),
    ],
)
def test_ours_where_the_text_of_responses_varies_the_template_and_a_phrase_tell(page: str, answer: bool) -> None:
    title = "<title>Page not found</title>" * page.startswith("<title>")
    nothing = said(f"{title}<h1>Page not found</h1><p>ash and oak</p>", path="/lost")
    assert is_soft_404(said(page), nothing, varies=True) is answer
    assert not is_soft_404(said(page), nothing)
