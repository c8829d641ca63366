"""Which URLs change something, over URLs that somebody else collected: those that act, and honest look-alikes."""

import pytest
from acting_urls import acting_urls

from crawler.model import Url
from crawler.url.actions import action_in, linked_action_in
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
    ],
)  # fmt: skip
def test_ours_a_link_to_a_text_about_an_action_is_none(path: str) -> None:
    assert not linked_action_in(canonical(path))
