"""Titles that say that a page does not exist, and titles that only speak of it."""

import pytest

from crawler.model import Url
from crawler.parse.snapshot.not_found import MAX_WORDS, is_called_not_found, page_words, says_little


@pytest.mark.parametrize(
    "title",
    [
        *("Page not found", "404", "404 - Not found", "Not Found - 404 - Example", "Seite nicht gefunden | Firma"),
        *("Page not found \u2013 My blog", "Error 404", "404 Not Found", "My shop: Page Not Found!"),
        *("Error 404 (Not Found)!!1", "Oops! That page can\u2019t be found. | Blog", "Sorry, page not found"),
    ],
)
def test_google_a_title_that_says_not_found_is_of_a_soft_404(title: str) -> None:
    assert is_called_not_found(title)


@pytest.mark.parametrize(
    "title",
    [
        *(
            "How to fix 404 page not found errors",
            "Not found",
            "Error",
            "",
            "Peugeot 404",
            "Photo | 404",
            "Error handling",
        ),
        *("Room 404 - Hotel", "Lost and not found: a story", "Highway 404 | Roads", "Sold out", "Coming soon"),
    ],
)
def test_ours_a_title_that_speaks_of_something_is_of_a_page(title: str) -> None:
    assert not is_called_not_found(title)


def test_ours_an_article_that_is_called_not_found_is_a_page() -> None:
    url = Url("http://a.example/docs/404")
    assert says_little(page_words(url, "404 Not Found", "<p>Sorry, nothing is here.</p>"))
    assert not says_little(page_words(url, "404 Not Found", "<p>" + "The status says that. " * MAX_WORDS))
