"""Copies with fresh links, rule by rule: pages of a plain chain, each of which leads to the next under another id."""

from collections.abc import Callable, Sequence
from random import Random

import pytest
from endless_sites import word
from hypothesis import given
from hypothesis import strategies as st

from crawler.crawl.frontier import fresh_links
from crawler.crawl.frontier.cache import MAX_RECENT
from crawler.crawl.frontier.fresh_links import Content, FreshLinks, FreshSpace
from crawler.model import Lease, Url

HOME = "https://a.example"
EVIDENCE = 8


def fresh_id(*parts: object, bits: int = 64) -> str:
    return f"{Random(' '.join(map(str, parts))).getrandbits(bits):x}q"


def by_path(number: int) -> list[str]:
    """The URL of page ``number``, as the page before it leads to it."""
    return [f"{HOME}/s/{fresh_id(number)}/news"]


class Chain:
    """Reads pages one after the other, and notes at which one a space is found to be endless."""

    def __init__(
        self,
        hrefs: Callable[[int], Sequence[str]] = by_path,
        text: Callable[[int], str] = lambda _: "All the news.",
        links: Callable[[int], Sequence[str]] = lambda _: [f"{HOME}/"],
        known: str = f"{HOME}/",
        title: Callable[[int], str | None] = lambda _: None,
        evidence: int = EVIDENCE,
    ) -> None:
        self.contents: dict[int, Content] = {}
        self.fresh = FreshLinks(self.load, evidence)
        self.hrefs, self.text, self.links, self.title = hrefs, text, links, title
        self.fresh.learn(0, Url(known))
        self.learn(1, 2)
        self.spaces: list[FreshSpace | None] = []

    def load(self, page: int) -> str | None:
        return self.contents[page].text() if page in self.contents else None

    def learn(self, page: int, following: int) -> list[Url]:
        new = [Url(href) for href in self.hrefs(following)]
        for url in new:
            self.fresh.learn(page, url)
        return new

    def read(self, page: int, *, leads: bool = True) -> bool:
        """Read the first of the pages under a number; whether a space is endless from now on."""
        new = self.learn(page, page + 1) if leads else []
        return self.visit(page, self.hrefs(page)[0], page - 1, self.text(page), new)

    def visit(self, page: int, href: str, source: int | None, text: str, new: Sequence[Url]) -> bool:
        """Read a page that any page led to; whether something is endless from now on."""
        url = Url(href)
        self.contents[page] = Content(lambda: text, [*new, url, *map(Url, self.links(page))], self.title(page))
        space = self.fresh.read(Lease(page, url, page, 0, source=source), self.contents[page], [*new])
        self.spaces.append(space)
        return space is not None and self.fresh.decide(space, url, source)

    def follow(self, page: int, source: int, name: str = "", text: str = "All the news.") -> bool:
        """Read one more page that ``source`` leads to, which leads to a new page as all others do."""
        (like,) = self.hrefs(page)
        href = like.replace("news", name or "news")
        self.fresh.learn(source, Url(href))
        return self.visit(page, href, source, text, self.learn(page, 10 * page))

    def endless_at(self, most: int = 3 * EVIDENCE) -> int | None:
        """The number of the page at which the space is found to be endless; the first page is 2."""
        return next((page for page in range(2, most) if self.read(page)), None)


def test_ours_a_chain_of_copies_is_endless_after_the_evidence_in_a_row() -> None:
    chain = Chain()
    assert chain.endless_at() == 2 + EVIDENCE  # page 2 is no copy
    assert [space is not None for space in chain.spaces] == [False, *[True] * EVIDENCE]
    (space,) = {id(space): space for space in chain.spaces if space}.values()
    assert space.shape == f"{HOME}/~/*/~"
    assert (
        space.reason
        == f"trap.copies: pages such as {HOME}/s/*/news are equal but for * in their URLs and in their links"
    )
    assert space.is_endless
    (members,) = space.members.values()
    assert [page for _, _, page in sorted(members)] == [*range(2, 3 + EVIDENCE)]


def test_ours_a_url_of_an_endless_space_belongs_to_it_and_another_one_does_not() -> None:
    chain = Chain()
    last = chain.endless_at()
    assert last is not None
    following = Url(by_path(last + 1)[0])
    space = chain.fresh.space_of(following, last)
    assert space is not None
    assert space.is_endless
    assert chain.fresh.is_fresh(following, last)
    for other in (f"{HOME}/about", f"{HOME}/s/known/news", f"{HOME}/s/{fresh_id('x')}/news/more"):
        chain.fresh.learn(1, Url(other))
        assert chain.fresh.space_of(Url(other), last) is None
        assert not chain.fresh.is_fresh(Url(other), last)
    assert chain.fresh.space_of(following, None) is None
    assert chain.fresh.space_of(Url(f"{HOME}/s/{fresh_id('typed')}/news"), None) is None  # no page leads there
    (other,) = chain.learn(2, 300)
    assert chain.fresh.space_of(other, 2) is space  # the first page told that its mask repeats, like all others


def test_ours_a_page_that_is_no_copy_begins_the_row_anew() -> None:
    chain = Chain(text=lambda page: "Something else." if page == 6 else "All the news.")
    assert chain.endless_at() == 6 + EVIDENCE
    before = Chain(text=lambda page: f"{page}" if page < 7 else "All the news.")
    assert before.endless_at() == 7 + EVIDENCE


@pytest.mark.parametrize(
    "text",
    [
        lambda page: f"Your next page is {by_path(page + 1)[0].split('/')[4]}.",  # the id of its new link
        lambda page: f'All <img src="/i/{by_path(page + 1)[0].split("/")[4]}.png">',
        lambda page: f"s-{by_path(page + 1)[0].split('/')[4]}",  # a part of a token
        lambda page: f"Next: {by_path(page + 1)[0].split('/')[4] if page % 2 else ''}.",  # some of them do
        lambda _: "",
    ],
)
def test_ours_a_copy_may_show_the_ids_of_its_new_links(text: Callable[[int], str]) -> None:
    assert Chain(text=text).endless_at() == 2 + EVIDENCE


@pytest.mark.parametrize(
    "text",
    [
        lambda page: f"Page {page}.",
        lambda page: f"Your page is {by_path(page)[0].split('/')[4]}.",  # its own id, and no other name tells pages
        lambda page: f'<img src="/i/{page}.png">',
        lambda page: f"{'x' * (page % 2)}",
    ],
)
def test_ours_pages_with_texts_or_pictures_of_their_own_are_no_copies(text: Callable[[int], str]) -> None:
    if text(2) == "":  # two texts by turns
        assert Chain(text=text).endless_at() == 3 + EVIDENCE
    else:
        assert Chain(text=text).endless_at() is None


@pytest.mark.parametrize(
    ("links", "first"),
    [
        (lambda page: [f"{HOME}/", f"{HOME}/{page}"], None),
        (lambda page: [f"{HOME}/", *([f"{HOME}/about"] if page % 2 else [])], 3),  # two menus by turns
        (lambda page: [f"{HOME}/{'ab'[page // 2 % 2]}"], 4),  # as many links, to other pages
    ],
)
def test_ours_pages_with_other_links_are_no_copies_of_one_another(
    links: Callable[[int], Sequence[str]], first: int | None
) -> None:
    chain = Chain(links=links)
    found = chain.endless_at(40)
    assert (found is None) is (first is None)
    others = [page for page, space in enumerate(chain.spaces, 2) if space is None]
    assert others[-1] == (first or 39)


def test_ours_copies_have_as_many_new_links() -> None:
    def hrefs(page: int) -> list[str]:
        return [f"{HOME}/s/{fresh_id(page, number)}/news" for number in range(1 + page)]

    assert Chain(hrefs).endless_at() is None


def test_ours_all_new_links_have_ids() -> None:
    def hrefs(page: int) -> list[str]:
        return [*by_path(page), f"{HOME}/news"]  # the second one is new on the first page only

    chain = Chain(hrefs)
    chain.fresh.learn(1, Url(f"{HOME}/news"))
    assert chain.endless_at() is None
    assert not any(chain.spaces)


@pytest.mark.parametrize(("length", "is_endless"), [(3, True), (4, False), (9, False)])
def test_ours_links_within_a_version_or_a_language_are_no_fresh_ones(length: int, is_endless: bool) -> None:
    """Four characters of a page's own id in the ids of its new links are enough to know them for its own."""

    def own(page: int) -> str:
        return "".join(Random(page).choices("abcdefghijklmnoprstuvwxyz", k=length))

    chain = Chain(lambda page: [f"{HOME}/{own(page)}/{own(page - 1)}-{fresh_id(page)}"])
    assert (chain.endless_at() is not None) is is_endless


@pytest.mark.parametrize(
    "hrefs",
    [
        lambda page: [f"{HOME}/day/{page}/news"],
        lambda page: [f"{HOME}/day/{page:07}/news"],
        lambda page: [f"{HOME}/day/2031-{page:02}/news"],
        lambda page: [f"{HOME}/list?page={page}"],
    ],
)
def test_ours_ids_that_only_count_are_left_to_the_templates(hrefs: Callable[[int], Sequence[str]]) -> None:
    assert Chain(hrefs).endless_at() is None


@pytest.mark.parametrize(
    ("hrefs", "shape", "mask"),
    [
        (lambda page: [f"{HOME}/{fresh_id(page)}"], "/*", "/*"),
        (lambda page: [f"{HOME}/news;{fresh_id(page)}"], "/~;*", "/news;*"),
        (lambda page: [f"{HOME}/news;s={fresh_id(page)}"], "/~;~=*", "/news;s=*"),
        (lambda page: [f"{HOME}/news?s={fresh_id(page)}&a=1"], "/~?s=*&a=~", "/news?s=*&a=1"),
        (lambda page: [f"{HOME}/news?{fresh_id(page)}"], "/~?*", "/news?*"),
        (lambda page: [f"{HOME}/{fresh_id(page)}/{fresh_id(-page)}"], "/*/*", "/*/*"),
        (lambda page: [f"{HOME}/a/{fresh_id(page)}/"], "/~/*/", "/a/*/"),
    ],
)
def test_ours_an_id_may_be_a_segment_a_parameter_or_a_value(
    hrefs: Callable[[int], Sequence[str]], shape: str, mask: str
) -> None:
    chain = Chain(hrefs)
    assert chain.endless_at() == 2 + EVIDENCE
    (space,) = {id(space): space for space in chain.spaces if space}.values()
    assert space.shape == HOME + shape
    assert f"pages such as {HOME}{mask} are equal" in space.reason


def test_ours_a_space_whose_copies_lead_nowhere_is_not_endless() -> None:
    chain = Chain()
    for page in range(2, 2 + 2 * EVIDENCE):
        assert not chain.read(page, leads=page < 5)  # the first is no copy, two lead on
        chain.learn(page, page + 1)
    firsts = {2, 5}  # with a link, and without one
    assert [page for page, space in enumerate(chain.spaces, 2) if space is None] == sorted(firsts)


def test_ours_a_space_waits_for_the_pages_that_its_copies_lead_to() -> None:
    """Pages of one shape lead to pages of another, of which a quarter of the evidence must be copies too."""

    def hrefs(page: int) -> list[str]:
        return [f"{HOME}/{'ab'[page % 2]}/{fresh_id(page)}" + ("/view" if page % 2 else "")]

    chain = Chain(hrefs)
    found = chain.endless_at(60)
    assert found is not None
    assert found >= 2 + 2 * EVIDENCE - 1  # the pages of the two shapes are read by turns


def test_ours_the_first_of_equal_pages_may_have_no_id() -> None:
    chain = Chain(known=f"{HOME}/s/news")
    assert not chain.visit(1, f"{HOME}/start", None, "All the news.", chain.learn(1, 2))
    assert chain.endless_at() == 1 + EVIDENCE


def test_ours_a_space_counts_the_pages_of_twenty_thousand_masks_and_no_more() -> None:
    space = FreshSpace(f"{HOME}/*")
    for number in range(20_001):
        space.note(f"{HOME}/*/{number}", is_copy=number % 2 == 0, is_variant=False)
    assert len(space.masks) == 20_000
    assert space.counts(f"{HOME}/*/0") == (1, 0)
    assert space.counts(f"{HOME}/*/1") == (0, 1)
    assert space.counts(f"{HOME}/*/20000") == (0, 0)  # it was one too many ...
    assert (space.row, space.news) == (1, 10_000)  # ... and is a copy
    space.note(f"{HOME}/*/0", is_copy=True, is_variant=False)  # those that are counted go on
    space.note(f"{HOME}/*/1", is_copy=False, is_variant=False)
    assert space.counts(f"{HOME}/*/0") == (2, 0)
    assert space.counts(f"{HOME}/*/1") == (0, 2)


def test_ours_variants_count_as_copies_of_their_name_and_not_in_the_row() -> None:
    space = FreshSpace(f"{HOME}/*/~")

    def note(name: str, what: str) -> tuple[int, int]:
        space.note(name, is_copy=what == "copy", is_variant=what == "variant")
        return space.row, space.news

    assert note("a", "other") == (0, 1)
    assert note("b", "copy") == (1, 1)
    assert note("a", "variant") == (1, 1)  # neither a copy nor news
    assert (space.counts("a"), space.counts("b")) == ((1, 1), (1, 0))


def test_ours_three_ids_of_each_place_are_kept_and_those_that_count_are_one() -> None:
    space = FreshSpace(f"{HOME}/*/*")
    for number in range(9):
        space.note_ids([f"{number}", fresh_id(number)])
    assert [len(forms) for forms in space.forms] == [1, 3]
    assert space.forms[0] == {"#"}


def test_ours_one_url_of_a_kind_of_which_nothing_is_known_is_awaited_where_something_was_new() -> None:
    chain = Chain()
    last = chain.endless_at()
    assert last
    (space,) = (space for space in chain.fresh.spaces.values() if space.is_endless)
    space.masks.clear()
    (one,), (other,) = chain.learn(last, 500), chain.learn(last, 501)
    space.news = 0
    assert chain.fresh.space_of(one, last) is space
    space.news = 1
    assert chain.fresh.space_of(one, last) is None
    assert chain.fresh.space_of(other, last) is space
    assert chain.fresh.space_of(one, last) is None  # as long as it is not read
    url = Url(f"{HOME}/s/{fresh_id('more')}/more")  # of another kind
    chain.fresh.learn(0, Url(f"{HOME}/s/more"))
    chain.fresh.learn(last, url)
    assert chain.fresh.space_of(url, last) is None


def under_two_names(page: int) -> list[str]:
    return [f"{HOME}/s/{fresh_id(page)}/{('news', 'shop')[page // 2 % 2]}"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Your page is {}.", 12),  # four pages tell that there are two names
        ('Your {} <img src="/i/x.png"> page', 12),
        ('<img src="/i/x.png"> Your page is {}.', 12),
        ('<img src="/i/{}.png">', None),
        ('A picture: <IMG src="/i/{}.png"> of it', None),
        ('<img src="/i/x.png"> and <img src="/i/{}.png">', None),
    ],
)
def test_ours_a_copy_may_show_its_own_ids_in_words_where_names_tell_pages_and_never_in_pictures(
    text: str, found: int | None
) -> None:
    chain = Chain(under_two_names, text=lambda page: text.format(under_two_names(page)[0].split("/")[4]))
    assert chain.endless_at(40) == found


def test_ours_the_first_page_of_another_origin_is_no_copy() -> None:
    chain = Chain(lambda page: [f"https://{'ab'[page // 2 % 2]}.example/s/{fresh_id(page)}/news"])
    assert chain.endless_at(40) == 2 + 2 * EVIDENCE  # each origin has its own space
    others = [page for page, space in enumerate(chain.spaces, 2) if space is None]
    assert others == [2, 4]


def test_ours_a_name_that_is_new_in_an_endless_space_is_read_until_one_of_its_pages_is_a_copy() -> None:
    chain = Chain(known=f"{HOME}/s/news/shop")
    last = chain.endless_at()
    assert last is not None

    def space_of(number: int) -> FreshSpace | None:
        url = Url(f"{HOME}/s/{fresh_id('shop', number)}/shop")
        chain.fresh.learn(last, url)
        return chain.fresh.space_of(url, last)

    assert space_of(1) is None  # it is awaited ...
    assert space_of(2) is not None  # ... and no other one is read before it
    assert not chain.follow(100, last, "shop", "A shop.")  # it is no copy
    assert space_of(3) is None
    assert chain.follow(101, last, "shop", "A shop.")  # a copy: what waits is looked at again
    assert space_of(4) is not None
    assert not chain.follow(102, last, "shop", "A shop.")  # this was known


def by_ids(page: int) -> list[str]:
    """Nothing but ids: no name tells pages."""
    return [f"{HOME}/{fresh_id(page)}/{fresh_id(-page)}"]


def test_ours_pages_that_no_name_tells_are_read_until_the_menus_that_lead_to_them_lead_to_copies_alone() -> None:
    chain = Chain(by_ids, text=lambda page: "Welcome." if page == 2 else "All the news.")
    last = chain.endless_at()
    assert last == 3 + EVIDENCE  # pages 2 and 3 are no copies, and only their new links may be new pages
    (other,) = chain.learn(last, 200)
    assert chain.fresh.space_of(other, last) is not None
    (one,) = chain.learn(3, 300)
    assert chain.fresh.space_of(one, 3) is None  # one page that such a menu led to is a copy, page 4
    for page in range(400, 400 + EVIDENCE - 2):
        assert not chain.follow(page, 3)
        assert chain.fresh.space_of(one, 3) is None
    assert not chain.follow(500, 2, text="Something else.")
    for page in range(600, 600 + EVIDENCE - 1):  # the row begins anew, whichever of the equal menus leads there
        assert not chain.follow(page, 2 + page % 2)
        assert chain.fresh.space_of(one, 3) is None
    assert chain.follow(700, 3)
    assert chain.fresh.space_of(one, 3) is not None
    assert not chain.follow(800, 3)  # this was known


def test_ours_a_page_without_an_id_of_its_own_is_no_copy() -> None:
    chain = Chain()
    for page in range(10, 14):
        chain.fresh.learn(1, Url(f"{HOME}/list/{page}"))
        assert not chain.visit(page, f"{HOME}/list/{page}", 5, "A list.", chain.learn(page, page + 1))
    assert chain.spaces == [None] * 4


def test_ours_copies_are_kept_with_the_page_that_they_are_equal_to() -> None:
    def text(page: int) -> str:
        return f"About {under_two_names(page)[0].rpartition('/')[2]}."

    chain = Chain(under_two_names, text=text, known=f"{HOME}/s/news/shop")
    assert chain.endless_at() == 4 + EVIDENCE  # pages 2 and 4 are no copies
    (space,) = {id(space): space for space in chain.spaces if space}.values()
    groups = [{text(page) for _, _, page in members} for members in space.members.values()]
    assert groups == [{"About shop."}, {"About news."}]


def test_ours_the_first_of_equal_pages_is_loaded_twice_and_no_other() -> None:
    """Once for what stands between its words, and once for its ids."""
    chain = Chain()
    loaded: list[int] = []

    def load(page: int) -> str | None:
        loaded.append(page)
        return chain.load(page)

    chain.fresh = FreshLinks(load, EVIDENCE)
    chain.learn(1, 2)
    assert chain.endless_at()
    assert loaded == [2, 2]


_WORDS = (
    "abcdef",
    "abcdefg",
    "x-abcdef",
    "abcdef~1",
    "éabcdef",
    "abc",
    "a.b",
    "news",
    "AbCdEf9",
    "#",
    "2024",
    "<b>",
    "",
)


@given(
    text=st.lists(st.sampled_from((*_WORDS, " ", "-", "/", "é", '<img src="abcdef.png">')), max_size=30).map("".join),
    ids=st.lists(st.sampled_from((*_WORDS, "abcdef.html", "..abcdef", "s-abcdefg", "éabcdef", "a" * 6)), max_size=6),
)
def test_ours_few_ids_are_searched_for_and_many_are_compared_with_each_run_with_the_same_result(
    text: str, ids: list[str]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fresh_links, "_MANY_IDS", -1)
        compared = fresh_links._without(text, ids)
    assert fresh_links._without(text, ids) == compared
    assert fresh_links._text_form(text) == fresh_links._text_form(compared)


NAMES = ("news", "shop", "help", "jobs")


def by_name(count: int) -> Callable[[int], list[str]]:
    """URLs under so many names, by turns."""
    return lambda page: [f"{HOME}/s/{fresh_id(page)}/{NAMES[page % count]}"]


def named(*noisy: str, count: int, other: int = 1, same: int = 6) -> Callable[[int], str]:
    """So many words of each name, and so many others, which differ on each read where the name is noisy."""

    def text(page: int) -> str:
        name = NAMES[page % count]
        others = (word(100 * (page if name in noisy else 0) + number) for number in range(other))
        return " ".join([name, *(f"all-{word(number)}" for number in range(1, same)), *others])

    return text


def test_ours_pages_with_other_words_on_each_read_neither_end_a_row_nor_add_to_it() -> None:
    chain = Chain(by_name(4), named("shop", count=4), known=f"{HOME}/s/news/shop/help/jobs")
    found = chain.endless_at(40)
    assert found is not None
    read = [NAMES[page % 4] for page in range(2, found + 1)]
    copies = [name for n, name in enumerate(read) if name != "shop" and name in read[:n]]
    assert len(copies) == EVIDENCE
    (space,) = {id(space): space for space in chain.spaces if space}.values()
    assert [NAMES[page % 4] for each in space.variants.values() for _, _, page in each] == ["shop"] * 3
    assert [*space.equal_pages()] == [space.members, space.variants]
    space.is_endless = False
    assert [*space.equal_pages()] == [space.members]
    space.is_endless = True
    variants = [found for page, found in enumerate(chain.spaces, 2) if page > 8 and NAMES[page % 4] == "shop"]
    assert variants == [space] * len(variants)
    assert not any(page % 4 == 1 for each in space.members.values() for _, _, page in each)
    (url,) = chain.learn(found, 401)
    assert chain.fresh.space_of(url, found) is space  # one more page of the shop


@pytest.mark.parametrize(
    ("text", "title"),
    [
        (named("shop", count=4, other=7), None),  # of thirteen
        (named("shop", count=4), lambda page: f"Shop {page}" if page % 4 == 1 else "Page"),
    ],
)
def test_ours_pages_that_differ_more_are_no_variants(
    text: Callable[[int], str], title: Callable[[int], str | None] | None
) -> None:
    more = {"title": title} if title else {}
    chain = Chain(by_name(4), text, known=f"{HOME}/s/news/shop/help/jobs", **more)
    assert chain.endless_at(60) is None
    assert [found for page, found in enumerate(chain.spaces, 2) if NAMES[page % 4] == "shop"] == [None] * 14


def test_ours_where_no_name_tells_pages_none_is_a_variant() -> None:
    chain = Chain(text=named("shop", count=2))
    assert chain.endless_at(60) is None


def test_ours_a_page_that_differs_among_copies_of_its_own_mask_is_news() -> None:
    def text(page: int) -> str:
        return named("shop", count=4)(page) if page == 13 else named(count=4)(page)

    chain = Chain(by_name(4), text, known=f"{HOME}/s/news/shop/help/jobs")
    assert chain.endless_at(40) == 13 + EVIDENCE
    assert Chain(by_name(4), named(count=4), known=f"{HOME}/s/news/shop/help/jobs").endless_at(40) == 5 + EVIDENCE


def test_ours_half_of_the_words_are_enough_for_a_variant_in_either_order() -> None:
    assert Chain(by_name(4), named("shop", count=4, other=6), known=f"{HOME}/s/news/shop/help/jobs").endless_at(40)

    def longer(page: int) -> str:
        return named("shop", count=4, other=5 if page < 8 else 7)(page) if page % 4 == 1 else named(count=4)(page)

    assert Chain(by_name(4), longer, known=f"{HOME}/s/news/shop/help/jobs").endless_at(60) is None


@pytest.mark.parametrize(
    ("shown", "found"),
    [("At {}:07 in 0.{} s", 13), ("At a{}b", 13), ('<img src="{}.png">', None), ("Now {word}", None)],
)
def test_ours_a_copy_may_show_other_figures_in_words_where_names_tell_pages(shown: str, found: int | None) -> None:
    def text(page: int) -> str:
        return f"{named(count=4)(page)} {shown.format(page, 3 * page, word=word(page))}"

    chain = Chain(by_name(4), text, known=f"{HOME}/s/news/shop/help/jobs")
    assert chain.endless_at(40) == found
    assert Chain(text=text).endless_at(40) is None  # one name


@pytest.mark.parametrize(
    ("title", "found"),
    [
        (lambda page: f"Part {page}", None),
        (lambda page: NAMES[page % 4], 13),
        (lambda page: f"Session {by_name(4)(page)[0].split('/')[4]}", 13),
    ],
)
def test_ours_pages_whose_titles_differ_by_figures_are_no_copies(
    title: Callable[[int], str], found: int | None
) -> None:
    def text(page: int) -> str:
        return f"{title(page)} {named(count=4)(page)} At {page}:07"

    chain = Chain(by_name(4), text, known=f"{HOME}/s/news/shop/help/jobs", title=title)
    assert chain.endless_at(40) == found


def test_ours_variants_are_no_evidence_for_the_menu_that_led_to_them() -> None:
    """Pages under a name of several real ones are read until the menus that lead to them lead to copies alone."""
    text = named("shop", count=4)
    chain = Chain(
        by_name(4), lambda page: "Welcome." if page == 3 else text(page), known=f"{HOME}/s/news/shop/help/jobs"
    )
    assert chain.endless_at(40)

    def follow(page: int) -> bool:
        (url,) = by_name(4)(page)
        chain.fresh.learn(3, Url(url))
        return chain.visit(page, url, 3, text(page), chain.learn(page, 10 * page))

    (one,) = (Url(url) for url in by_name(4)(1003))
    chain.fresh.learn(3, one)
    known = 2  # pages that such a menu led to are copies: 6 and 8
    for page in range(100, 104 + 4 * EVIDENCE, 2):  # of the news and of the help
        assert chain.fresh.space_of(one, 3) is None
        assert not follow(page + 1 if page % 4 == 0 else page + 103)  # a variant
        known += 1
        if follow(page):
            break
    assert known == EVIDENCE
    assert chain.fresh.space_of(one, 3) is not None


def test_ours_what_several_pages_have_in_links_is_a_name_also_in_urls_that_the_first_of_them_led_to() -> None:
    chain = Chain(known=f"{HOME}/s")
    (url,) = chain.hrefs(2)  # page 1 led to the name as well as to the id
    chain.learn(1, 200)
    assert chain.fresh._form(Url(url), 1).mask == f"{HOME}/s/*/*"
    chain.learn(2, 3)
    assert chain.fresh._form(Url(url), 1).mask == f"{HOME}/s/*/news"
    chain.learn(1, 300)
    assert chain.fresh._form(Url(url), 1).mask == f"{HOME}/s/*/news"


def test_ours_a_url_that_waits_longer_than_its_ids_are_remembered_still_belongs_to_its_space() -> None:
    chain = Chain(known=f"{HOME}/s/news")
    last = chain.endless_at()
    assert last is not None
    (url,) = chain.learn(last, 300)
    for number in range(2 * MAX_RECENT):
        chain.fresh.learn(0, Url(f"{HOME}/s/{number}/news"))
    space = chain.fresh.space_of(url, last)
    assert space is not None
    assert space.shape == f"{HOME}/~/*/~"
