"""Which pages are rendered: by what rendering changed on the first pages of their template."""

import random

import pytest

from crawler.model import DiscoveredBy, Page, Url
from crawler.render.templates import Choice, Mode, RawPage, TemplateRecord, Templates, differences, template_key

ROOT = "https://example.com"


def raw(path: str, *, scripts: tuple[str, ...] = ("/app.1a2b3c4d.js",), size: int = 900, links: int = 10) -> RawPage:
    return RawPage(Url(ROOT + path), [*scripts], size, links)


def choose_and_learn(templates: Templates, page: RawPage, *found: str, build: str = "one") -> Choice:
    choice = templates.choose(page)
    if choice is Choice.COMPARE:
        templates.learn(page, found, build)
        templates.end_comparison(page)
    return choice


def test_ours_a_page_without_scripts_is_never_rendered() -> None:
    assert Templates({}).choose(raw("/", scripts=())) is Choice.RAW


def test_ours_two_pages_without_a_difference_decide_for_raw() -> None:
    templates = Templates({})
    choices = [choose_and_learn(templates, raw(f"/blog/{number}")) for number in range(40)]
    sampled = [number for number, choice in enumerate(choices[2:], 1) if choice is Choice.COMPARE]
    assert (choices[:2], sampled) == ([Choice.COMPARE] * 2, [4, 16])


def test_ours_one_difference_decides_for_rendering() -> None:
    templates = Templates({})
    choices = [choose_and_learn(templates, raw(f"/blog/{number}"), "links") for number in range(5)]
    assert choices == [Choice.COMPARE] + [Choice.RENDER] * 4
    assert next(iter(templates.records().values())).reason == "links"


def test_ours_other_templates_with_the_scripts_of_a_raw_one_need_one_page() -> None:
    templates = Templates({})
    for section in ("blog", "news", "shop"):
        for number in range(2):
            choose_and_learn(templates, raw(f"/{section}/{number}"))
    assert [record.equal for record in templates.records().values()] == [2, 1, 1]


def test_ours_pages_wait_while_their_template_is_being_compared() -> None:
    templates = Templates({})
    first, second = raw("/blog/1"), raw("/blog/2")
    assert [templates.choose(first), templates.choose(second)] == [Choice.COMPARE] * 2
    assert templates.choose(raw("/blog/3")) is Choice.WAIT
    templates.end_comparison(first)
    assert templates.choose(raw("/blog/3")) is Choice.COMPARE
    templates.learn(second, ["title"], "one")
    assert templates.choose(raw("/blog/4")) is Choice.RENDER


@pytest.mark.parametrize(("size", "links"), [(300, 10), (700, 10), (900, 2), (900, 7)])
def test_ours_a_page_with_less_than_its_siblings_is_compared_once(size: int, links: int) -> None:
    templates = Templates({})
    for number in range(3):
        choose_and_learn(templates, raw(f"/blog/{number}"))
    thin = [raw(f"/blog/thin{number}", size=size, links=links) for number in range(3)]
    assert [choose_and_learn(templates, page) for page in thin] == [Choice.COMPARE, Choice.RAW, Choice.RAW]
    thinner = raw("/blog/thinner", size=size // 2, links=links // 2)
    assert choose_and_learn(templates, thinner, "links") is Choice.COMPARE
    assert templates.choose(raw("/blog/next")) is Choice.RENDER
    assert templates.late == 3  # nobody learns of these three otherwise


@pytest.mark.parametrize("seed", range(20))
def test_ours_few_siblings_with_an_empty_place_are_a_template_of_their_own(seed: int) -> None:
    """Among pages with places for anything else, and whatever the order."""
    words = random.Random(seed)
    usual = ("/theme.js", *words.sample(('<div id="toast">', "<aside>", '<div id="top2">'), words.randrange(3)))
    place = words.choice(('<ul id="list">', "<nav>", "<site-events>", '<div data-list="events">'))
    filled = {f"/{number}" for number in words.sample(range(40), 3)}
    templates = Templates({})
    pages = [
        raw(
            f"/{number}", scripts=(*usual, place) if f"/{number}" in filled else usual, size=words.randrange(500, 5_000)
        )
        for number in range(40)
    ]
    choices = {}
    for page in pages:
        path = page.url.removeprefix(ROOT)
        choices[path] = choose_and_learn(templates, page, *(["links"] if path in filled else []))
    assert {choices[path] for path in filled} == {Choice.COMPARE, Choice.RENDER}
    assert Choice.RENDER not in {choice for path, choice in choices.items() if path not in filled}


@pytest.mark.parametrize("order", ["rising", "falling", "mixed"])
def test_ours_few_of_many_pages_are_compared_whatever_their_sizes(order: str) -> None:
    sizes = [*range(300, 40_300, 20)]
    if order == "falling":
        sizes.reverse()
    elif order == "mixed":
        random.Random(order).shuffle(sizes)
    templates = Templates({})
    choices = [choose_and_learn(templates, raw(f"/blog/{n}", size=size, links=size)) for n, size in enumerate(sizes)]
    assert len(sizes) == 2_000
    assert choices.count(Choice.COMPARE) < 60


def test_ours_places_with_the_name_of_their_page_are_no_templates_of_their_own() -> None:
    templates = Templates({})
    pages = [raw(f"/{word}", scripts=("/app.js", f'<div id="{word}-rating">')) for word in map(word_of, range(500))]
    assert [choose_and_learn(templates, page) for page in pages].count(Choice.COMPARE) < 80


def word_of(number: int) -> str:
    """A word for each number, without figures."""
    return "".join(chr(ord("h") + int(figure)) for figure in str(number))


def test_ours_scripts_that_changed_nothing_in_three_templates_need_no_more_comparisons() -> None:
    templates = Templates({})
    for section in ("blog", "news", "shop"):
        for number in range(3):
            choose_and_learn(templates, raw(f"/{section}/{number}"))
    assert [choose_and_learn(templates, raw(f"/{section}/1")) for section in "abc"] == [Choice.RAW] * 3
    assert templates.choose(raw("/other/1", scripts=("/other.js",))) is Choice.COMPARE


def test_ours_decisions_hold_in_the_next_run_and_one_page_is_looked_at_again() -> None:
    first = Templates({})
    for number in range(3):
        choose_and_learn(first, raw(f"/blog/{number}"))
    second = Templates(first.records())
    assert [choose_and_learn(second, raw(f"/blog/{number}")) for number in range(3)] == [
        Choice.COMPARE, Choice.RAW, Choice.RAW,
    ]  # fmt: skip


def test_ours_a_new_build_makes_a_raw_template_undecided() -> None:
    first = Templates({})
    for number in range(3):
        choose_and_learn(first, raw(f"/blog/{number}"))
    second = Templates(first.records())
    pages = [raw(f"/blog/{number}", scripts=("/app.99887766.js",)) for number in range(4)]
    choices = [choose_and_learn(second, page, build="two") for page in pages]
    assert choices == [Choice.COMPARE, Choice.COMPARE, Choice.RAW, Choice.RAW]


def test_ours_a_rendered_template_stays_rendered() -> None:
    key = template_key(Url(f"{ROOT}/blog/1"), ["/app.js"])
    templates = Templates({key: TemplateRecord(Mode.RENDERED)})
    assert templates.is_rendered(Url(f"{ROOT}/blog/7"), ["/app.js?v=3"])
    assert not templates.is_rendered(Url(f"{ROOT}/blog/7"), ["/other.js"])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("/assets/index-BX7kqZ2A.js", "/assets/index-Cv9_0aLm.js"),
        ("/static/js/main.1f2e3d4c.chunk.js", "/static/js/main.aabbccdd.chunk.js"),
        ("/app.js?ver=6.4.2", "/app.js?ver=6.5"),
        ("/v12/app.js", "/v13/app.js"),
    ],
)
def test_ours_the_hash_of_a_build_is_no_other_template(one: str, other: str) -> None:
    assert template_key(Url(f"{ROOT}/a"), [one]) == template_key(Url(f"{ROOT}/b"), [other])


def page(*links: str, **values: object) -> Page:
    return Page(links=[(Url(ROOT + link), DiscoveredBy.LINK) for link in links], **values)  # type: ignore[arg-type]


WORDS = {f"word{letter}" for letter in "abcdefghijklmnopqrst"}


@pytest.mark.parametrize(
    ("rendered", "words", "found"),
    [
        (page("/a"), WORDS, []),
        (page("/a", "/b"), WORDS, ["links"]),
        (page("/a", canonicals=[Url(f"{ROOT}/c")]), WORDS, ["canonical"]),
        (page("/a", noindex="meta robots"), WORDS, ["robots"]),
        (page("/a", title="Other"), WORDS, ["title"]),
        (page("/a", refresh=Url(f"{ROOT}/new")), WORDS, ["redirect"]),
        (page("/a"), WORDS | {"more", "text"}, ["main text"]),
        (page("/a"), WORDS | {"more"}, []),
    ],
)
def test_ours_what_counts_for_a_sitemap_is_a_difference(rendered: Page, words: set[str], found: list[str]) -> None:
    assert differences(Url(f"{ROOT}/"), page("/a"), rendered, WORDS, words) == found


def test_ours_links_to_other_sites_are_no_difference() -> None:
    other = Page(links=[(Url(f"{ROOT}/a"), DiscoveredBy.LINK), (Url("https://ads.example/x"), DiscoveredBy.LINK)])
    assert differences(Url(f"{ROOT}/"), page("/a"), other, WORDS, WORDS) == []


def test_ours_a_template_that_the_browser_cannot_render_is_given_up_after_failures_in_a_row() -> None:
    templates = Templates({}, max_failures=2)
    page = raw("/a/1")
    for ends in ((True, False), (True, True)):
        assert not templates.has_given_up(page)
        for has_failed in ends:
            templates.record_end(page, has_failed=has_failed)
    assert templates.has_given_up(page)
    assert not templates.has_given_up(raw("/b/1/2"))
