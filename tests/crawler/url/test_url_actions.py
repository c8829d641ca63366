"""Which URLs change something, over URLs that somebody else collected: those that act, and honest look-alikes."""

import pytest
from acting_urls import acting_urls

from crawler.model import Url
from crawler.url.actions import ACTIONS, action_in, linked_action_in
from crawler.url.params import UrlParams, clean_path, clean_query
from crawler.url.secrets import mask_private

SITE = "https://www.example.com"


def canonical(url: str) -> Url:
    path, mark, query = url.partition("?")
    return Url(SITE + clean_path(path, UrlParams()) + mark + clean_query(query, UrlParams()))


@pytest.mark.parametrize("half", ["shown", "held"])
def test_ours_a_url_that_acts_or_names_somebody_is_known_by_its_path_or_has_parameters(half: str) -> None:
    bare = [each.url for each in acting_urls(half) if each.kind != "honest" and "?" not in each.url]
    missed = [url for url in bare if not action_in(canonical(url)) and mask_private(url) == url]
    # a session in the path, in two forms: the one is dropped from every URL, the other is as rare as old
    assert [url for url in missed if "jsession" not in url and "(S(" not in url] == []


@pytest.mark.parametrize("half", ["shown", "held"])
def test_ours_an_honest_link_is_never_taken_for_an_action(half: str) -> None:
    honest = [canonical(each.url) for each in acting_urls(half) if each.kind == "honest"]
    assert len(honest) == 100
    assert [url for url in honest if linked_action_in(url)] == []


def test_ours_nineteen_of_twenty_honest_urls_that_only_a_log_names_are_requested() -> None:
    honest = [canonical(each.url) for half in ("shown", "held") for each in acting_urls(half) if each.kind == "honest"]
    assert len([url for url in honest if action_in(url) or mask_private(url) != url]) <= len(honest) / 20


@pytest.mark.parametrize(
    "path",
    [
        "/cart/add?id=5", "/delete/5", "/posts/5/delete", "/vote?poll=3&answer=2", "/unsubscribe?u=84121", "/logout",
        "/wiki/Special:UserLogout", "/index.php?title=Special:UserLogout", "/?add-to-cart=5", "/?remove_item=7",
        "/DeleteUser.aspx?user=9", "/l%C3%B6schen/5", "/ucp.php?mode=logout&sid=x", "/account/log-out", "/opt-out/77",
        "/index.php?option=com_users&task=user.logout", "/confirm/9c2f4e71b0a84d6e8f10aB", "/?route=account/logout",
    ],
)  # fmt: skip
def test_ours_a_link_with_what_it_acts_on_is_an_action(path: str) -> None:
    assert linked_action_in(canonical(path))


@pytest.mark.parametrize(
    "path",
    [
        "/docs/delete/", "/how-to-vote.html", "/tag/vote?page=2", "/2026/05/17/vote", "/search?q=delete", "/vote",
        "/unsubscribe-rate-benchmarks", "/docs/logout", "/cart-racing/5", "/delete?lang=de", "/confirm", "/logo.html",
        "/api/5/index.html", "/index.php?title=Delete", "/products?color=blue-shoes", "/manual/en/delete.html",
        "/buy/houses?city=berlin", "/buy/12/berlin/flat", "/report/2024/chapter/intro", "/vote/results?city=1",
        "/vote/2024/candidates", "/publish/guidelines?journal=12", "/bible/niv/mark/3", "/submit/paper?track=a",
        "/report?download=1",
    ],
)  # fmt: skip
def test_ours_a_link_to_a_text_about_an_action_is_none(path: str) -> None:
    assert not linked_action_in(canonical(path))


def test_ours_the_directory_of_the_site_names_no_action() -> None:
    site = f"{SITE}/delete/5/"
    assert linked_action_in(Url(f"{site}finance?quarter=2"), site) == ""
    assert linked_action_in(Url(f"{site}remove/7"), site) == "remove"


@pytest.mark.parametrize("word", sorted(word for word in ACTIONS if word.isascii()))
def test_ours_every_word_of_an_action_is_seen_whole(word: str) -> None:
    assert action_in(Url(f"{SITE}/{word}")) == word
    assert action_in(Url(f"{SITE}/{word}?")) == word


@pytest.mark.parametrize("path", ["/logga-ut", "/ta-bort/5", "/lagg-till/5", "/cerrar-sesion", "/log_out", "/opt-out"])
def test_ours_words_of_an_action_may_be_apart(path: str) -> None:
    assert action_in(Url(SITE + path))
