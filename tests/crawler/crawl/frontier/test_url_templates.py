"""Templates of URLs, what is an offspring of what, what a page tells, and the rule that a person is given."""

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st
from steps import steps

from crawler.crawl.frontier.url_templates import (
    TemplatePage,
    UrlTemplate,
    exclude_remedy,
    exclude_remedy_of,
    page_contents,
    shared_template,
    template_of,
    trap_note,
    trap_reason,
)
from crawler.model import Url
from crawler.url.normalize import normalize_url
from crawler.url.params import UrlParams
from crawler.url.scope import UrlPattern

HOME = "https://a.example"


def unknown(_: str) -> bool:
    return False


@pytest.mark.parametrize(
    ("path", "template"),
    [
        ("/about", "/about"),
        ("/product/123", "/product/#"),
        ("/product/12-blue-shoe", "/product/#-blue-shoe"),
        ("/2031/05/12/", "/#/"),
        ("/2031/05/", "/#/"),
        ("/2031/may/a-post/", "/#/a-post/"),
        ("/cal/2031-05-12", "/cal/#-#-#"),
        ("/cal/May-2031", "/cal/#-#"),
        ("/mayor/2", "/mayor/#"),
        ("/s/0123456789abcdef0123/cart", "/s/<token>"),
        ("/u/6ba7b810-9dad-11d1-80b4-00c04fd430c8/posts/1", "/u/<token>"),
        ("/(S(lit3py55t21z5v55vlm25s55))/page", "/<token>"),
        ("/the-10-best-movies-of-2019-and-2020/", "/the-#-best-movies-of-#-and-#/"),
        ("/list?b=1&a=2&b=3", "/list?a=…&b=…"),
        ("/list?f[0]=x&f[12]=y", "/list?f[#]=…"),
        ("/list?a=1&amp;amp;b=2&amp;b=3", "/list?a=…&b=…"),
        ("/list?q=1=2&b", "/list?b=…&q=…"),
    ],
)
def test_ours_a_template_is_what_urls_have_in_common(path: str, template: str) -> None:
    assert str(template_of(HOME + path)) == HOME + template


@pytest.mark.parametrize(
    ("url", "parent", "is_one"),
    [
        ("/cal?date=2", "/cal?date=1", True),
        ("/cal?date=1", "/cal", False),  # a page leads into a list: that is no growth
        ("/product/2", "/product/1", True),
        ("/product/2", "/list?page=1", False),
        ("/list?page=2", "/list?page=1", True),
        ("/shoes?color=red&size=4", "/shoes?color=red", True),
        ("/shoes?color=red", "/shoes?color=red&size=4", True),
        ("/shoes?size=4", "/shoes?color=red", False),
        ("/hats?color=red&size=4", "/shoes?color=red", False),
        ("/index.php?title=A&oldid=1", "/index.php?title=A&action=history", False),
        ("/2031/05/12/", "/2031/05/", True),
        ("/2031/05/a-post/", "/2031/05/", False),
        ("/s/0123456789abcdef9999/b", "/s/0123456789abcdef0123/a", True),
        ("/docs/api/map.html", "/docs/api/list.html", False),
        ("/news/shop/news/", "/news/shop/", True),
        ("/2031/5/5/x/", "/2031/5/5/", False),
    ],
)
def test_ours_an_offspring_is_found_on_a_page_of_its_own_template(url: str, parent: str, is_one: bool) -> None:
    assert (shared_template(HOME + url, HOME + parent, unknown) is not None) is is_one


def test_ours_a_path_that_repeats_what_stands_beside_its_page_is_an_offspring() -> None:
    there = {f"{HOME}/shop/", f"{HOME}/en/docs/"}.__contains__
    assert shared_template(f"{HOME}/news/shop/", f"{HOME}/news/", there)
    assert shared_template(f"{HOME}/en/jobs/docs/", f"{HOME}/en/jobs/", there)
    assert shared_template(f"{HOME}/news/press/", f"{HOME}/news/", there) is None
    assert shared_template(f"{HOME}/shop/", f"{HOME}/", there) is None


def test_ours_a_host_of_one_letter_has_the_same_echoes_and_pages() -> None:
    assert shared_template("http://a/news/shop/", "http://a/news/", {"http://a/shop/"}.__contains__)
    assert page_contents(TemplatePage(Url("http://a/list/7"), "", (Url("http://a/part"),))) == {"http://a/part"}


def test_ours_a_date_in_the_name_of_the_host_makes_no_page_a_day_of_a_calendar() -> None:
    brought = Url("https://expo-2031-05.example/hall/1"), Url("https://expo-2031-05.example/hall/2")
    assert page_contents(TemplatePage(Url("https://expo-2031-05.example/"), "", brought)) == {*brought}


def page(markup: str, *brought: str, url: str = "/list/7") -> TemplatePage:
    return TemplatePage(Url(HOME + url), markup, tuple(Url(HOME + each) for each in brought))


@pytest.mark.parametrize(
    ("before", "after", "is_news"),
    [
        (page("<p>No events, Monday 3 May 2031"), page("<p>No events, Friday 9 July 2032"), False),
        (page("<p>No events"), page("<p>No events but one"), True),
        (page("<p>A roll"), page("<p>A roll <a href=x>of marvels</a>"), False),
        (page("<p>Day 7"), page("<p>Day seven", url="/list/seven"), False),
        (page("<img src=/a/1.jpg>"), page("<img src=/b/1.jpg>"), False),
        (page("<img src=/a/1.jpg>"), page("<img src=/a/2.jpg>"), True),
        (page("", "/part/1"), page("", "/part/2"), True),
        (page("", "/part/2031"), page("", "/part/2032"), True),
        (page("", "/yoga/2031-05-01/"), page("", "/yoga/2031-05-02/"), False),
        (page("", "/yoga/2031-05-01/"), page("", "/chess/2031-05-02/"), True),
        (page("", "/day?date=1"), page("", "/day?date=2"), False),
        (page("", "/2031/05/party/"), page("", "/2031/05/match/"), True),
    ],
)
def test_ours_a_page_tells_words_pictures_and_pages(before: TemplatePage, after: TemplatePage, is_news: bool) -> None:
    assert page_contents(before)
    assert bool(page_contents(after) - page_contents(before)) is is_news


@pytest.mark.parametrize(
    "urls",
    [
        ["/cal?date=2", "/cal?date=-40"],
        ["/cal?a=1&date=2", "/cal?date=2&a=1"],
        ["/list?a=1&amp;b=2", "/list?a=1&amp;amp;b=2"],
        ["/list?f[0]=1&f[1]=x", "/list?f[7]=1"],
        ["/cal/2031/05/", "/cal/2031/05/12/", "/cal/2031/may/"],
        ["/p/1/x", "/p/22/x"],
        ["/s/0123456789abcdef0123/a", "/s/ffff456789abcdef0123/b/c"],
    ],
)
def test_ours_the_rule_that_is_told_leaves_out_what_it_is_told_for(urls: list[str]) -> None:
    for url in urls:
        flag, rule = shlex.split(exclude_remedy_of(HOME + url, trap_reason(template_of(HOME + url), 500)))
        assert flag == "--exclude"
        pattern = UrlPattern(rule)
        assert all(pattern.matches(Url(HOME + each)) for each in urls)
        assert not any(pattern.matches(Url(HOME + each)) for each in ("/", "/cal", "/list", "/about", "/cal/all"))


@pytest.mark.parametrize(
    ("url", "others"),
    [
        ("/p/1/x", ["/p/1/2/x", "/p/1/xyz", "/p/1/x/y"]),
        ("/cal?date=2", ["/cal?view=2", "/cal?dates=2"]),
        ("/cal?date=2&view=a", ["/cal?date=2", "/cal?view=a"]),
        ("/cal/2031/05/", ["/cal/2031/05", "/cal/2031/05/a-party/"]),
    ],
)
def test_ours_the_rule_that_is_told_leaves_out_no_url_of_another_template(url: str, others: list[str]) -> None:
    _, rule = shlex.split(exclude_remedy([template_of(HOME + url)], HOME + url))
    assert UrlPattern(rule).matches(Url(HOME + url))
    assert not [other for other in others if UrlPattern(rule).matches(Url(HOME + other))]


@pytest.mark.parametrize(
    "query", ["id=5&sid=0123456789abcdef", "sid=0123456789abcdef=&id=5", "sid=0123456789abcdef&back=/b?c"]
)
def test_ours_the_parameter_of_a_session_is_found_whatever_its_value_and_the_others_contain(query: str) -> None:
    assert exclude_remedy([template_of(f"{HOME}/a?{query}")], f"{HOME}/a?{query}") == "--drop-param sid"


def test_ours_the_rule_for_a_session_is_to_drop_it() -> None:
    template = template_of(f"{HOME}/a?id=5&sid=0123456789abcdef")
    said = exclude_remedy([template], f"{HOME}/a?id=5&sid=0123456789abcdef")
    assert said == "--drop-param sid"
    assert normalize_url(f"{HOME}/a?id=5&sid=0123456789abcdef", UrlParams(drop=("sid",))) == f"{HOME}/a?id=5"


def test_ours_the_rule_for_echoes_and_for_many_sets_of_parameters() -> None:
    _, echo = shlex.split(exclude_remedy_of(f"{HOME}/a/b/a/", trap_reason(UrlTemplate(f"{HOME}/…/"), 500)))
    assert UrlPattern(echo).matches(Url(f"{HOME}/a/b/a/"))
    assert UrlPattern(echo).matches(Url(f"{HOME}/news/shop/cart/shop/"))
    assert not UrlPattern(echo).matches(Url(f"{HOME}/a/b/c/"))
    many = [template_of(f"{HOME}/shoes?{query}") for query in ("a=1&b=2", "a=1&c=2", "a=1&b=2&c=3")]
    _, combined = shlex.split(exclude_remedy(many, f"{HOME}/shoes?a=1&b=2"))
    assert UrlPattern(combined).matches(Url(f"{HOME}/shoes?c=1&d=2"))
    assert not UrlPattern(combined).matches(Url(f"{HOME}/shoes?c=1"))
    _, of_two = shlex.split(exclude_remedy(many[:2], f"{HOME}/shoes?a=1&b=2"))
    assert UrlPattern(of_two).matches(Url(f"{HOME}/shoes?c=1&d=2"))
    assert exclude_remedy_of(f"{HOME}/a", "trap.path_segments: 40 path segments") == ""


@given(
    st.text(st.sampled_from("ab12/?&=;-()S%.maypr#'"), max_size=300), st.text(st.sampled_from("ab1/?&="), max_size=40)
)
def test_ours_any_url_has_a_template_that_is_its_own_offspring_or_nothing(one: str, other: str) -> None:
    url, parent = normalize_url(f"{HOME}/{one}"), normalize_url(f"{HOME}/{other}")
    found = shared_template(url, parent, unknown)
    assert found is None or found.path.startswith(f"{HOME}/")
    assert template_of(url) == template_of(url)
    flag, rule = shlex.split(exclude_remedy([template_of(url)], url))
    assert flag == "--drop-param" or UrlPattern(rule).matches(url)


@pytest.mark.parametrize("piece", ["a1/", "amp;", "a1=2&", "jan", "0123456789abcdef/", "((S(", "-1"])
def test_ours_a_hostile_url_costs_no_more_than_its_length(piece: str) -> None:
    def work(count: int) -> int:
        urls = f"{HOME}/?{piece * count}", f"{HOME}/{piece * count}"
        return steps(lambda: [shared_template(url, url + piece, unknown) for url in urls])

    assert work(2_000) < 12 * work(200)


def test_ours_the_note_on_a_trap_counts_the_templates_that_it_does_not_name() -> None:
    one = template_of(f"{HOME}/cal?day=1")
    other = template_of(f"{HOME}/cal?day=1&view=2")
    alone = trap_note([one], f"{HOME}/cal?day=9", 500, 250)
    assert alone.startswith(f"{one} is an infinite URL space: 500 such pages were read, and the last 250 of them")
    assert f"such as {HOME}/cal?day=9. --exclude" in alone
    assert trap_note([one, other], f"{HOME}/cal?day=9", 500, 250).startswith(
        f"{one} (and 1 more like it) is an infinite"
    )


@pytest.mark.parametrize(
    ("url", "parent", "is_one"),
    [
        ("/news/shop/", "/news/", True),
        ("/news/shop", "/news/", False),  # a page beside its parent, and no path below it
        ("/news/shop/a", "/news/x", True),
        ("/shop/a/", "/news/", False),  # not below the page
        ("/newsroom/shop/", "/news/", False),
        ("/shop/", "/", False),  # nothing stands above the first level
        ("/shop/shop/", "/", False),
        ("/shop/", "/x", False),
        ("/news/shop/7/", "/news/", False),  # what has figures is left to the templates
        ("/a/b/c/b/", "/a/b/c/x", True),  # a name twice in one path
        ("/a/b/c/d/", "/a/b/c/x", False),
        ("/a/7/c/7/", "/a/7/c/x", False),
        ("/news/shop/?page=x", "/news/", False),
        ("/news/shop/", "/news/?page=x/y", True),  # the query of a page makes no directory
    ],
)
def test_ours_an_echo_stands_below_its_page_and_repeats_a_path_that_exists_or_its_own_names(
    url: str, parent: str, is_one: bool
) -> None:
    there = {f"{HOME}/shop/", f"{HOME}/shop", f"{HOME}/shop/a", f"{HOME}/shop/7/", f"{HOME}/a/"}.__contains__
    found = shared_template(HOME + url, HOME + parent, there)
    assert (found is not None) is is_one
    assert found is None or str(found) == f"{HOME}/…/"
