"""Which differences are the page's own, trap by trap. A site is a dict of paths and bodies, before and after."""

from collections.abc import Callable
from itertools import pairwise
from random import Random
from types import SimpleNamespace
from zlib import crc32

import pytest

from crawler.lastmod import significance
from crawler.lastmod.experiment import slots_of
from crawler.lastmod.memory import MAX_SLOTS, ChangeHistory, SiteMemory, Variation, update_history
from crawler.lastmod.significance import build_significance_model
from crawler.lastmod.site_changes import FIGURES
from crawler.model import Url
from crawler.parse.snapshot.diff import (
    BEFORE_ALIKE,
    BEHIND_ALIKE,
    DATED,
    FACT,
    LINK,
    MOVED,
    NEWS,
    Delta,
    Difference,
    compare,
    content_keys,
    with_news,
)
from crawler.parse.snapshot.snapshot import take_snapshot

WORDS = ["river", "stone", "harbour", "market", "engine", "copper", "window", "garden", "signal", "method"]
WORDS += ["winter", "paper"]
Site = dict[int, str]
ORIGIN = "https://site.example"


def said(before: Site, after: Site, learnt: SiteMemory | None = None) -> set[int]:
    """The pages that are said to have changed; ``learnt`` is brought up to date."""
    kept = {page: take_snapshot(body.encode()) for page, body in before.items()}
    now = {page: take_snapshot(body.encode()) for page, body in after.items()}
    new = {f"{ORIGIN}/{n}" for n in now.keys() - kept.keys()}
    deltas: dict[int, Delta] = {
        n: with_news(compare(kept[n], now[n]), Url(f"{ORIGIN}/{n}"), new)
        for n in now
        if n in kept and kept[n] != now[n]
    }
    sample = ((content_keys(each), 1.0) for each in now.values())
    made = build_significance_model(learnt or SiteMemory(), deltas.items, sample, run=0)
    told = {page for page, delta in deltas.items() if made.judge(page, delta).significant}
    if learnt is not None:
        after = made.learn(deltas.items())
        for name in after.__struct_fields__:
            setattr(learnt, name, getattr(after, name))
    return told


def own(page: int, number: int = 0) -> str:
    """A sentence that only this page has."""
    return " ".join(
        WORDS[(page * 7 + number * 5 + at * (page % 11 + 1)) % 12] + "xyzuvw"[(page >> at) % 6] for at in range(9)
    )


def article(page: int, more: str = "", foot: str = "Acme", side: str = "") -> str:
    return (
        f"<html><head><title>{own(page, 9)}</title></head><body><div class=top><a href=/>Home</a></div>"
        f"<div class=body><h1>{own(page, 8)}</h1><p>{own(page)}</p><p>{own(page, 1)}</p>{more}</div>{side}"
        f"<div class=foot><p>{foot}</p></div></body></html>"
    )


def site(size: int, make: Callable[[int], str] = article) -> Site:
    return {page: make(page) for page in range(size)}


def test_ours_a_counter_among_the_paragraphs_of_every_article() -> None:
    before = site(200, lambda n: article(n, f"<p>{n * 3} views</p>"))
    after = site(200, lambda n: article(n, f"<p>{n * 3 + n % 7 + 1} views</p>" + "<p>New: tides.</p>" * (n == 9)))
    assert said(before, after) == {9}


def test_ours_a_counter_inside_a_sentence_of_its_own_page() -> None:
    learnt = SiteMemory()
    sites = [site(60, lambda n, g=g: article(n, f"<p>{own(n, 8)} was read {n + g * 7} times</p>")) for g in range(3)]
    for before, after in pairwise(sites):
        assert said(before, after, learnt) == set()


@pytest.mark.parametrize(
    "price",
    [
        "<p class=price>{}</p>",
        "<p>&euro; {}</p>",
        '<script type="application/ld+json">{{"offers":{{"price":"{}"}}}}</script>',
    ],
)
def test_google_a_price_on_a_few_pages_is_a_change(price: str) -> None:
    before = site(100, lambda n: article(n, price.format("19.99")))
    after = site(100, lambda n: article(n, price.format("24.99" if n in {4, 5} else "19.99")))
    assert said(before, after) == {4, 5}


@pytest.mark.parametrize(
    "price", ["<p>&euro; {}</p>", '<script type="application/ld+json">{{"offers":{{"price":"{}"}}}}</script>']
)
def test_google_all_prices_may_rise_at_once(price: str) -> None:
    before = site(100, lambda n: article(n, price.format(f"{n}.99")))
    after = site(100, lambda n: article(n, price.format(f"{n + 5}.49")))
    assert said(before, after) == set(range(100))


def test_ours_a_shared_text_for_another_on_one_page_is_a_change() -> None:
    before = site(50, lambda n: article(n, "<p>In stock</p>" if n % 5 else "<p>Sold out</p>"))
    after = {**before, 7: article(7, "<p>Sold out</p>"), 10: article(10, "<p>In stock</p>")}
    assert said(before, after) == {7, 10}
    first = site(50, lambda n: article(n, "<p>In stock</p>"))
    assert said(first, {**first, 7: article(7, "<p>Sold out</p>")}) == {7}


@pytest.mark.parametrize(
    "sentence", ["<p>Revised for the new law.</p>", "<p class=note>Revised.</p>", "<h2>Revised</h2>"]
)
@pytest.mark.parametrize("count", [5, 10, 50])
def test_ours_one_sentence_for_many_edited_pages_is_a_change_there_and_its_end_too(sentence: str, count: int) -> None:
    plain = site(200)
    revised = {n: article(n, sentence if n < count else "") for n in plain}
    assert said(plain, revised) == set(range(count))
    assert said(revised, plain) == set(range(count))


@pytest.mark.parametrize(
    "noise",
    [
        '<script nonce="{hex}">x("{hex}")</script>',
        '<input type=hidden name=csrf value="{hex}">',
        '<a href="/out?token={hex}">Log out</a>',
        '<a href="/out/{hex}">Log out</a>',
        '<div data-id="{hex}"><img src="/logo.png?v={n}"></div>',
        '<img src="/logo.{hex}.png">',
        "<p>Generated at 2026-11-21 10:{n:02}:07 in 0.{n} s</p>",
        "<p>Fri, 21 Nov 2026, {n} visitors online</p>",
        "<p>Updated {n} minutes ago</p>",
        "<p>&copy; {year} Acme</p>",
        "<div class=quote>{quote}</div>",
        "<p>{quote}</p>",
        "<div class=ad><a href=/ad/{quote}><img src=/ad/{quote}.gif></a></div>",
        "<div><h3>Related</h3><ul><li><a href=/p/{p1}>{p1}</a><li><a href=/p/{p2}>{p2}</a></ul></div>",
        "<ul><li><a href=/p/{p1}>Page {w1}</a><li><a href=/p/{p2}>Page {w2}</a></ul>",
        '<iframe src="https://ads.example/{n}?r={hex}"></iframe>',
        "<p>Request {hex}</p>",
    ],
)
@pytest.mark.parametrize("every", [1, 10])
def test_ours_what_comes_anew_with_every_visit_is_no_change(noise: str, every: int) -> None:
    def made(visit: int) -> Callable[[int], str]:
        def page(n: int) -> str:
            mixed = crc32(f"{n} {visit}".encode())
            p1, p2 = mixed % 200, mixed // 7 % 200
            more = noise.format(
                hex=f"{mixed:08x}{mixed * 77:08x}", n=mixed % 60, year=2025 + visit, quote=own(mixed % 6, 3),
                p1=p1, p2=p2, w1=own(p1, 2), w2=own(p2, 2),
            )  # fmt: skip
            return article(n, more if n % every == 0 else "")

        return page

    before, after = site(200, made(1)), site(200, made(2))
    edited = {20: after[20].replace("<h1>", "<p>Mind the tide.</p><h1>"), 33: after[33].replace("<h1>", "<h1>Great ")}
    assert said(before, {**after, **edited}) == {20, 33}


def test_google_a_link_added_to_one_page_is_a_change() -> None:
    before = site(100, lambda n: article(n, "<ul><li><a href=/a>a</a></ul>"))
    after = {**before, 3: article(3, "<ul><li><a href=/a>a</a><li><a href=/b>b</a></ul>")}
    assert said(before, after) == {3}


@pytest.mark.parametrize("size", [3, 5, 10])
def test_ours_a_new_footer_on_a_small_site_is_no_change(size: int) -> None:
    before = site(size)
    after = site(size, lambda n: article(n, foot="Acme Group, 2026"))
    assert said(before, after) == set()
    assert said(before, {**after, 1: after[1].replace("<h1>", "<p>Tides</p><h1>")}) == {1}


@pytest.mark.parametrize("size", [1, 2, 3, 5, 10])
def test_ours_every_page_of_a_small_site_may_be_edited(size: int) -> None:
    before = site(size)
    after = site(size, lambda n: article(n).replace(own(n), own(n + 500)))
    assert said(before, after) == set(range(size))


@pytest.mark.parametrize("share", [0.2, 0.3])
def test_ours_many_pages_may_be_edited_in_one_run_and_again(share: float) -> None:
    learnt = SiteMemory()
    before = site(200)
    for run in range(6):
        edited = {n for n in before if (n + run * 37) % 200 < share * 200}
        after = {
            n: body.replace("</div>", f"<p>{own(n, 20 + run)}</p></div>", 2) if n in edited else body
            for n, body in before.items()
        }
        after = {n: body if n in edited else before[n] for n, body in after.items()}
        assert said(before, after, learnt) == edited, run
        before = after


def test_ours_a_new_page_in_the_menu_changes_the_list_that_names_it_only() -> None:
    def made(links: list[str], menu: str) -> Callable[[int], str]:
        items = "".join(f"<li><a href=/{each}>{each}</a>" for each in links)
        return lambda n: article(n, f"<ul>{items}</ul>" if n == 5 else "").replace("Home</a>", f"Home</a>{menu}")

    before = site(60, made(["a", "b"], "<ul><li><a href=/a>a</a></ul>"))
    after = site(60, made(["a", "b", "new"], "<ul><li><a href=/a>a</a><li><a href=/new>new</a></ul>"))
    assert said(before, after) == {5}


def archives(posts: list[int], title: Callable[[int], str]) -> Site:
    """Posts, and the pages that list them, newest first, ten on each: a new post moves all others on by one."""
    shown = {n: article(n) for n in posts}
    for first in range(0, len(posts), 10):
        cards = "".join(
            f"<article><h2><a href=/{n}>{title(n)}</a></h2><p>{own(n, 3)}</p></article>"
            for n in sorted(posts, reverse=True)[first : first + 10]
        )
        shown[-1 - first] = f"<html><title>Page {first}</title><body><main>{cards}</main></body></html>"
    return shown


@pytest.mark.parametrize("title", [lambda n: own(n, 2), lambda n: f"Report {n} of the harbour"])
def test_google_a_list_of_posts_changes_with_each_new_post(title: Callable[[int], str]) -> None:
    learnt, before = SiteMemory(), archives([*range(75)], title)
    for newest in range(75, 79):
        after = archives([*range(newest + 1)], title)
        assert {-1} <= said(before, after, learnt) <= {-1, -71}, newest  # the last page is longer now
        before = after


def test_ours_a_box_that_shows_other_pages_each_day_announces_no_new_page() -> None:
    def made(size: int, day: int) -> Site:
        def links(n: int) -> str:
            shown = Random(f"{n} {day}").sample(range(size), 5) + [size - 1] * (n % 20 == day)
            return "".join(f"<li><a href=/{each}>{own(each, 2)}</a></li>" for each in shown)

        return site(size, lambda n: article(n, side=f"<div class=related><ul>{links(n)}</ul></div>"))

    learnt, before = SiteMemory(), made(120, 0)
    for day in range(1, 5):
        after = made(120 + day, day)
        assert said(before, after, learnt) == set(), day
        before = after


def test_ours_a_sidebar_of_one_section_is_no_change() -> None:
    def made(posts: list[int]) -> Callable[[int], str]:
        side = "<div class=side><h3>Latest posts</h3><ul>" + "".join(f"<li><a href=/{p}>{own(p, 2)}</a>" for p in posts)
        return lambda n: article(n, side=side + "</ul></div>" if n % 4 == 0 else "")

    assert said(site(200, made([1, 2, 3])), site(200, made([7, 1, 2]))) == set()
    assert said(site(200, made([1, 2, 3])), site(200, made([7, 8, 9]))) == set()


def test_ours_a_new_box_of_all_pages_is_no_change_wherever_the_templates_have_it() -> None:
    box = (
        "<div class=cards><p>Read on in the harbour guide.</p><p><a href=/guide><b>The harbour guide</b></a></p></div>"
    )
    around = [
        "<div class=end>{}</div>",
        "<section>{}</section>",
        "<div id=more><div>{}</div></div>",
        "{}",
        "<ul><li>{}</ul>",
    ]

    def page(n: int, shown: str, more: str = "") -> str:
        return article(n, f"<h2>{own(n, 2)}</h2>{around[n % 5].format(shown)}{more}", own(n, 5))

    before = site(20, lambda n: page(n, ""))
    assert said(before, site(20, lambda n: page(n, box))) == set()
    assert said(before, site(20, lambda n: page(n, box, f"<p>{own(n, 3)}</p>" * (n == 4)))) == {4}
    on_a_section = {n: page(n, box if n % 5 == 0 else "") for n in before}
    assert said(before, on_a_section) == {0, 5, 10, 15}


def test_ours_the_same_sentence_between_texts_of_its_own_page_is_an_edit_of_every_page() -> None:
    new = "<p>Orders are delivered from the new store on the northern pier.</p>"
    texts = site(40, lambda n: article(n, f"<p>{own(n, 2)}</p>"))
    assert said(texts, site(40, lambda n: article(n, f"{new}<p>{own(n, 2)}</p>"))) == set(range(40))
    assert said(texts, site(40, lambda n: article(n, f"<p>{own(n, 2)}</p>{new}"))) == set(range(40))
    chapter = f"<h2>Delivery</h2>{new}"
    assert said(texts, site(40, lambda n: article(n, f"<p>{own(n, 2)}</p>{chapter}"))) == set(range(40))
    votes = site(40, lambda n: article(n, "<p>This review has no votes.</p><p>Write a review.</p>"))
    after = site(40, lambda n: article(n, f"<p>This review has no votes.</p>{new}<p>Write a review.</p>"))
    assert said(votes, after) == set()


def test_ours_a_text_that_two_of_few_pages_have_is_none_of_their_own() -> None:
    new = "<p>Orders are delivered from the new store on the northern pier.</p>"

    def made(shown: str, pages: int) -> Site:
        return site(
            40,
            lambda n: article(n, f"<div class=t><p>{own(n // pages, 2)}</p>{shown}<p>{own(n // pages, 3)}</p></div>"),
        )

    assert said(made("", 1), made(new, 1)) == set(range(40))
    assert said(made("", 2), made(new, 2)) == set()


def test_ours_the_same_sentence_for_another_among_the_own_texts_of_all_pages_is_no_change() -> None:
    first, second = "<p>Orders come from the store on the pier.</p>", "<p>We ship from the island each day.</p>"
    before = site(40, lambda n: article(n, f"{first}<p>{own(n, 2)}</p>"))
    after = site(40, lambda n: article(n, f"{second}<p>{own(n, 2)}</p>"))
    assert said(before, after) == set()
    assert said(before, {**after, 3: after[3].replace(own(3), own(777))}) == {3}


@pytest.mark.parametrize("fingerprint", ["77aa21fe", "48210973"])
def test_ours_a_new_fingerprint_of_a_picture_is_no_change_though_it_has_figures_only(fingerprint: str) -> None:
    def made(n: int, mark: str) -> str:
        return article(n, f"<figure><img src='/img/boat-{n}.{mark}.jpg' alt='A boat'></figure>")

    before, after = (site(40, lambda n, mark=mark: made(n, mark)) for mark in ("3f2a1b9c", fingerprint))  # type: ignore[misc]
    assert said(before, {**before, 4: after[4]}) == said(after, {**after, 4: before[4]}) == set()
    assert said(before, after) == said(after, before) == set()
    assert said(before, {**before, 4: made(4, "3f2a1b9c").replace("boat-4", "ship-4")}) == {4}


def test_ours_a_new_design_is_no_change() -> None:
    before = site(80, lambda n: article(n, f"<p>{n} views</p>"))
    after = site(
        80,
        lambda n: (
            article(n, f"<p>{n + 1} views</p>").replace("class=", "id=x class=new-").replace("<p>", "<p class=t>")
        ),
    )
    edited = {3: after[3].replace(own(3), own(777))}
    assert said(before, {**after, **edited}) == {3}


def test_ours_a_stamp_in_structured_data_alone_is_no_change() -> None:
    data = '<script type="application/ld+json">{{"@type":"Article","dateModified":"2026-11-{:02}T10:00:00Z"}}</script>'
    before = site(50, lambda n: article(n, data.format(1)))
    assert said(before, {**before, 4: article(4, data.format(2))}) == set()


@pytest.mark.parametrize(
    ("data", "is_change"),
    [
        ('"aggregateRating": {{"ratingValue": "4.{0}", "reviewCount": 1{0}}}', False),
        ('"interactionStatistic": [{{"userInteractionCount": {0}7}}], "commentCount": {0}', False),
        ('"review": {{"reviewRating": {{"ratingValue": "4.{0}"}}}}', True),
    ],
)
def test_ours_sums_of_what_visitors_did_are_no_change(data: str, is_change: bool) -> None:
    script = '<script type="application/ld+json">{{"@type": "Product", {0}}}</script>'
    before = site(50, lambda n: article(n, script.format(data.format(1))))
    after = {**before, 4: article(4, script.format(data.format(2)))}
    assert said(before, after) == ({4} if is_change else set())


def test_ours_a_place_that_always_shows_something_else_is_learnt() -> None:
    """Too few pages to be sure at once, and no text is ever seen twice."""
    learnt = SiteMemory()

    def made(run: int) -> Site:
        return site(200, lambda n: article(n, f"<div class=luck>{own(n + run * 1_000, run)}</div>" if n < 8 else ""))

    runs = [said(made(run), made(run + 1), learnt) for run in range(8)]
    assert runs[-1] == set()
    assert learnt.history
    edited = {3: made(9)[3].replace("<h1>", "<h1>Great ")}
    assert said(made(8), {**made(9), **edited}, learnt) == {3}


def test_ours_an_old_or_new_answer_without_content_is_no_change() -> None:
    before = site(20)
    assert said(before, {**before, 3: ""}) == set()
    assert said({**before, 3: ""}, before) == set()


def test_ours_habits_are_bounded_and_fade() -> None:
    shares = dict.fromkeys(range(MAX_SLOTS + 500), 0.5)
    habits = update_history({}, shares, shares)
    assert len(habits) == MAX_SLOTS
    for _ in range(12):
        habits = update_history(habits, {}, shares)
    assert habits == {}
    assert update_history({1: ChangeHistory(3, 0.9)}, {}, {}) == {1: ChangeHistory(3, 0.9)}  # not looked at


def test_ours_a_pool_of_texts_on_a_small_site_shows_in_the_long_run() -> None:
    learnt = SiteMemory()

    def made(run: int) -> Site:
        return site(6, lambda n: article(n, f"<p>{own(crc32(f'{n} {run}'.encode()) % 4, 3)}</p>"))

    runs = [said(made(run), made(run + 1), learnt) for run in range(12)]
    assert runs[-3:] == [set(), set(), set()]
    edited = {3: made(13)[3].replace("<h1>", "<h1>Great ")}
    assert said(made(12), {**made(13), **edited}, learnt) == {3}


def test_ours_many_states_may_change_in_both_directions_at_once() -> None:
    before = site(20, lambda n: article(n, "<p>Sold out</p>" if n < 6 else "<p>In stock</p>"))
    flipped = {0, 1, 2, 3, 7, 9, 11}
    after = site(20, lambda n: article(n, "<p>Sold out</p>" if (n < 6) != (n in flipped) else "<p>In stock</p>"))
    assert said(before, after) == flipped


def test_ours_what_is_sold_out_again_and_again_changes_every_time() -> None:
    learnt = SiteMemory()
    full = site(30, lambda n: article(n, "<p>In stock</p>"))
    sold = {**full, 7: article(7, "<p>Sold out</p>")}
    for before, after in pairwise([full, sold] * 6):
        assert said(before, after, learnt) == {7}


def change(
    *, gone: bool = False, place: int = 1, after: int = 0, unit: int = 0, flags: int = 0, exact: int = 0
) -> Difference:
    """One difference of a page, by what the rules of lists and exchanges look at."""
    return Difference(gone, place, place, exact, exact, after, 0, 1, flags, "text", unit=unit)


def test_ours_links_to_new_pages_announce_them_where_no_link_to_a_known_page_came() -> None:
    known, new, left = LINK, LINK | NEWS, LINK | NEWS
    page = [
        change(place=1, flags=new),
        change(place=1, flags=new),
        change(place=1, flags=0),
        change(place=1, flags=LINK, gone=True),  # what left says nothing
        change(place=2, flags=new),
        change(place=2, flags=known),
        change(place=3, flags=NEWS),  # no link
        change(place=4, flags=left, gone=True),
        change(place=5, flags=new),
    ]
    assert significance._announced(page) == [0, 1, 8]


def test_ours_the_chosen_texts_of_a_place_are_unbalanced_on_the_side_that_has_more() -> None:
    came, left = change(place=1), change(place=1, gone=True)
    elsewhere = change(place=2, gone=True)
    page = [came, left, came, elsewhere, came]
    assert significance._unbalanced(page, [0, 1]) == []
    assert significance._unbalanced(page, [0, 1, 2]) == [0, 2]
    assert significance._unbalanced(page, [0, 1, 2, 3]) == [0, 2, 3]
    assert significance._unbalanced(page, [0, 4, 1, 1, 1]) == [1, 1, 1]
    assert significance._unbalanced(page, []) == []


def test_ours_the_words_beside_figures_tell_texts_of_the_same_kind() -> None:
    price = Difference(False, 1, 1, 1, 1, 0, 0, 1, 0, "", figures=((7, 8, 19.99), (8, 9, 2.0)))
    other = Difference(True, 1, 1, 2, 2, 0, 0, 1, 0, "", figures=((7, 8, 24.99), (8, 9, 3.0)))
    assert significance._beside_figures(price) == significance._beside_figures(other) == ((7, 8), (8, 9))
    assert significance._beside_figures(change()) == ()


def test_ours_a_card_is_one_thing_its_link_rotates_with_its_texts_and_three_texts_with_its_link() -> None:
    def explained(page: list[Difference], rotating: set[int], reason: str = significance.WANDERS) -> set[int]:
        reasons = dict.fromkeys(rotating, reason)
        significance.SignificanceModel._explain_by_unit(page, reasons)
        return {n for n, why in reasons.items() if why == significance.IN_CARD}

    link = change(unit=1, flags=LINK)
    assert explained([change(unit=1), link], {0}) == {1}  # the link of a text that rotates
    assert explained([change(unit=1), change(unit=1), link, link], {0, 1}) == {2, 3}
    assert explained([change(unit=1), link, link], {0}) == set()  # more links than texts
    assert explained([change(unit=1), change(unit=2, flags=LINK)], {0}) == set()  # another card
    assert explained([change(unit=1), link], {0}, significance.SHARED) == set()  # what the site shares is no rotation
    exchange = [change(unit=1, after=5, flags=LINK), *(change(unit=1, after=5) for _ in range(2))]
    exchange += [change(unit=1, after=5, gone=True) for _ in range(3)]
    assert explained(exchange[:1] + exchange[3:4], {0}) == {1}  # one came with the link and one left
    assert explained(exchange, {0}) == set()  # five texts for one link are its page's own
    two = [*exchange[:2], *exchange[3:5]]
    assert explained(two, {0}) == {1, 2, 3}
    assert explained(two, {0}, significance.COUNTER) == {1, 2, 3}
    assert explained([*two, change(unit=1, after=5)], {0}) == set()  # one more came than left


@pytest.mark.parametrize(
    ("reason", "is_surprising", "is_explained"),
    [
        (significance.WANDERS, True, True),
        (significance.WANDERS, False, True),
        (significance.IN_POOL, False, True),
        (significance.IN_POOL, True, False),  # a text that its slot never showed is news
        (significance.USUAL, False, False),
    ],
)
def test_ours_a_text_that_came_for_one_of_a_rotation_is_part_of_it_and_one_that_left_for_any_is(
    monkeypatch: pytest.MonkeyPatch, reason: str, is_surprising: bool, is_explained: bool
) -> None:
    model = significance.SignificanceModel(SiteMemory(), 0)
    monkeypatch.setattr(model.experiment, "is_surprising", lambda _: is_surprising)

    def explained(page: list[Difference], reasons: dict[int, str]) -> set[int]:
        model._explain_by_exchange(page, reasons)
        return {n for n, why in reasons.items() if why == significance.EXCHANGED}

    gone, came = change(after=3, gone=True), change(after=3)
    for page in ([gone, came], [came, gone]):
        left, arrived = page.index(gone), page.index(came)
        assert explained(page, {left: reason}) == ({arrived} if is_explained else set())
        assert explained(page, {arrived: reason}) == {left}  # whatever made room for it
        assert explained(page, {left: significance.SHARED}) == set()
        assert explained(page, {}) == set()
        assert explained(page, {left: reason, arrived: reason}) == set()
    assert explained([gone, change(after=4)], {0: significance.WANDERS}) == set()  # at another neighbour
    assert explained([came, came], {0: significance.WANDERS}) == set()  # nothing made room
    assert explained([gone, came, came], {0: significance.WANDERS}) == set()  # which of the two came for it?
    assert explained([gone, came, came], {0: significance.WANDERS, 1: significance.SHARED}) == {2}


@pytest.mark.parametrize("box", ["<p>{} readers</p>", "<p>Read {} times by {} people</p>"])
def test_ours_a_new_box_of_all_pages_is_no_change_though_each_page_has_figures_of_its_own(box: str) -> None:
    before = site(60)
    after = site(60, lambda n: article(n, side=f"<div class=side>{box.format(n * 3 + 1, n * 7 + 2)}</div>"))
    assert said(before, after) == set()
    assert said(after, before) == set()


def test_ours_a_text_that_came_to_a_place_that_rotates_is_a_change() -> None:
    learnt = SiteMemory()

    def made(run: int, more: dict[int, str] | None = None) -> Site:
        texts = [own(number, 3) for number in range(12)]
        return site(
            100,
            lambda n: article(
                n,
                "<ul class=tips>"
                + "".join(f"<li>{texts[crc32(f'{n} {run} {at}'.encode()) % 4 * 3 + at]}</li>" for at in range(3))
                + (more or {}).get(n, "")
                + "</ul>",
            ),
        )

    runs = [said(made(run), made(run + 1), learnt) for run in range(8)]
    assert runs[-1] == set()
    added = {7: f"<li>{own(7, 777)}</li>"}
    assert said(made(8), made(9, added), learnt) == {7}


@pytest.mark.parametrize(
    ("came", "left", "pool", "is_inserted"),
    [
        (1, 0, 0, True),
        (2, 1, 1, True),  # one of two is new to the place, which lost one
        (2, 1, 0, False),  # both are: one of them came for the one that left
        (3, 1, 2, True),
        (3, 1, 1, True),
        (3, 1, 0, False),
        (2, 2, 1, False),
        (1, 1, 0, False),
    ],
)
def test_ours_of_the_texts_that_came_to_a_place_as_many_are_new_as_it_gained(
    monkeypatch: pytest.MonkeyPatch, came: int, left: int, pool: int, is_inserted: bool
) -> None:
    model = significance.SignificanceModel(SiteMemory(), 0)
    monkeypatch.setattr(model.experiment, "in_pool", lambda d: d.exact >= 100)

    def text(key: int, *, gone: bool = False) -> Difference:
        return Difference(gone, 1, 1, key, key, 0, 0, 9, 0, "text")

    new = [text(1 + n) for n in range(came - pool)]
    page = [*new, *(text(100 + n) for n in range(pool)), *(text(200 + n, gone=True) for n in range(left))]
    assert model._is_inserted(new[0], page, set()) is is_inserted


def test_ours_new_figures_in_the_same_words_are_an_exchange_that_leaves_the_texts_beside_them_alone() -> None:
    model = significance.SignificanceModel(SiteMemory(), 0)

    def text(key: int, words: int = 0, *, gone: bool = False, flags: int = 0) -> Difference:
        figures = ((words, words + 1, float(key)),) if words else ()
        return Difference(gone, 1, 1, key, key, 0, 0, 9, flags, "text", figures=figures)

    new, price, old_price = text(1), text(2, 7), text(3, 7, gone=True)
    page = [new, price, old_price]
    assert model._is_inserted(new, page, set())
    assert not model._is_inserted(price, page, set())
    assert model._is_inserted(price, [price], set())
    assert not model._is_inserted(price, [price], {price.shape})
    assert model._is_inserted(new, [new, text(4), text(4, gone=True)], {4})
    assert not model._is_inserted(new, [new, text(5, 9, gone=True)], set())
    link, moved = text(1, flags=LINK), text(1, flags=MOVED)
    assert not model._is_inserted(link, [link], set())
    assert not model._is_inserted(moved, [moved], set())
    assert model._is_inserted(new, [new, text(6, gone=True, flags=LINK)], set())  # links rotate by themselves
    model.experiment.see(new)
    assert not model._is_inserted(new, [new], set())  # a text of a pool
    assert not model._is_inserted(text(6, gone=True), [text(6, gone=True)], set())


@pytest.mark.parametrize(
    ("reason", "counts"),
    [
        (significance.WANDERS, True),
        (significance.USUAL_TEXT, True),
        (significance.TURNS_OVER, True),
        (significance.COUNTER, False),  # these do not rotate
        (significance.SHUFFLED, False),
    ],
)
def test_ours_a_new_text_counts_where_more_of_a_rotation_came_than_went(
    monkeypatch: pytest.MonkeyPatch, reason: str, counts: bool
) -> None:
    def text(key: int, place: int = 1, *, gone: bool = False) -> Difference:
        return Difference(gone, place, place, key, key, key, 0, 9, 0, "text", unit=key)

    def judged(page: list[Difference]) -> list[Difference]:
        model = significance.SignificanceModel(SiteMemory(), 0)
        monkeypatch.setattr(model.experiment, "in_pool", lambda d: d.exact >= 100)
        monkeypatch.setattr(model, "_explain_by_site", lambda *_: {})
        monkeypatch.setattr(model, "_reason", lambda *_: reason)
        return model.judge(0, Delta(page)).significant

    new, known, left = text(1), text(100), text(200, gone=True)
    assert judged([new, known, left]) == ([new] if counts else [])
    assert judged([new, left]) == []  # it came for the one that left
    assert judged([known, text(101), left]) == []  # the place showed both before
    assert judged([new, known, left, text(201, 2, gone=True)]) == []  # the page did not gain
    link = Difference(False, 3, 3, 102, 102, 102, 0, 9, LINK, "text", unit=102)
    assert judged([new, known, left, text(201, 2, gone=True), link]) == []  # nor by a link


def test_ours_slots_are_counted_for_what_the_site_does_not_explain_and_for_links_with_counters(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = significance.SignificanceModel(SiteMemory(), 0)
    reasons = [significance.COUNTER, significance.COUNTER, significance.SHARED, significance.IN_POOL, ""]
    page = [change(flags=LINK * (n == 0), exact=n) for n in range(len(reasons))]
    counted: list[int] = []
    explained: list[int] = []
    monkeypatch.setattr(model, "_explain_by_site", lambda *_: {n: why for n, why in enumerate(reasons) if why})
    monkeypatch.setattr(model._changes, "add_slots", lambda _, left, __: counted.extend(d.exact for d in left))
    monkeypatch.setattr(model._changes, "add_explained", lambda moving: explained.extend(d.exact for d in moving))
    model.add_second_pass(0, Delta(page))
    assert counted == [0, 3, 4]
    assert explained == [0, 1]


def slots(*, flags: int = 0) -> Difference:
    """A text each of whose slots has a key of its own."""
    return Difference(False, 10, 20, 30, 40, 50, 60, 9, flags, "text", nth=70, nth_last=80, box=90, unit=100)


@pytest.mark.parametrize("slot", [10, 20, 90])
def test_ours_a_place_a_spot_or_a_box_may_turn_over(monkeypatch: pytest.MonkeyPatch, slot: int) -> None:
    model = significance.SignificanceModel(SiteMemory(), 0)
    monkeypatch.setattr(model._changes, "turns_over", lambda k: k == slot)
    assert model._reason(0, slots(), set()) == significance.TURNS_OVER
    monkeypatch.setattr(model._changes, "turns_over", lambda k: k not in {10, 20, 90})
    assert model._reason(0, slots(), set()) == ""


@pytest.mark.parametrize(("flags", "figures"), [(0, False), (MOVED, False), (0, True), (MOVED, True)])
def test_ours_a_moved_text_is_looked_up_at_its_place_and_figures_by_slots_of_their_own(
    monkeypatch: pytest.MonkeyPatch, flags: int, figures: bool
) -> None:
    model = significance.SignificanceModel(SiteMemory(), 0)
    asked: list[int] = []
    monkeypatch.setattr(model._changes, "moves_as_usual", lambda k, is_counting: asked.append(k))
    model._reason_of_runs(0, slots(flags=flags), figures=figures)
    expected = {*slots_of(slots(flags=flags))} | ({10, 90} if flags else set())
    assert {*asked} == expected | ({k ^ FIGURES for k in expected} if figures else set())


PAGE = 7
"""The page that the rules below are asked about."""


@pytest.mark.parametrize(
    ("flags", "figures", "slot", "is_explained"),
    [
        *((MOVED, False, slot, True) for slot in slots_of(slots(flags=MOVED))),
        *((0, True, slot ^ FIGURES, True) for slot in (70, 80)),
        (0, True, 70, False),  # a text moved there, and no figures
        (0, True, 10 ^ FIGURES, False),  # figures moved elsewhere in the place
        (DATED, True, 70 ^ FIGURES, False),  # people write a new date
        (0, False, 70 ^ FIGURES, False),
        (MOVED, False, 70, False),
    ],
)
def test_ours_an_order_or_a_figure_that_moved_in_the_last_run_on_this_page_needs_no_other_page(
    monkeypatch: pytest.MonkeyPatch, flags: int, figures: bool, slot: int, is_explained: bool
) -> None:
    model = significance.SignificanceModel(SiteMemory(), 0)
    moved = {(PAGE, slot, 1)}  # one page is enough
    monkeypatch.setattr(model._changes, "moves_here_again", lambda page, k, fewest=2: (page, k, fewest) in moved)
    assert model._varies_alone(PAGE, slots(flags=flags), figures=figures) is is_explained
    assert not model._varies_alone(PAGE + 1, slots(flags=flags), figures=figures)


@pytest.mark.parametrize("figures", [False, True])
def test_ours_a_text_of_other_pages_where_one_was_exchanged_in_the_last_run_needs_no_other_page(
    monkeypatch: pytest.MonkeyPatch, figures: bool
) -> None:
    model = significance.SignificanceModel(SiteMemory(), 0)
    monkeypatch.setattr(model._changes, "is_exchanged_again", lambda page, d: (page, d) == (PAGE, slots()))
    assert model._varies_alone(PAGE, slots(), figures=figures) is not figures
    assert not model._varies_alone(PAGE + 1, slots(), figures=figures)


@pytest.mark.parametrize(
    ("known", "flags", "figures", "is_surprising", "reason"),
    [
        ("moves_as_usual", 0, False, False, significance.USUAL),
        ("moves_as_usual", 0, False, True, ""),  # its slot never showed such a text
        ("moves_as_usual", 0, True, True, significance.USUAL),  # new figures are none
        ("moves_here_again", 0, False, False, significance.USUAL_HERE),
        ("moves_here_again", 0, False, True, ""),
        ("moves_here_again", 0, True, True, significance.USUAL_HERE),
        ("moves_at_its_position", 0, False, False, significance.USUAL_HERE),
        ("moves_at_its_position", 0, False, True, ""),
        ("moves_at_its_position", 0, True, False, ""),  # figures have slots of their own
        ("_varies_alone", 0, False, True, significance.USUAL_HERE),
        ("_varies_alone", 0, True, True, significance.USUAL_HERE),
        ("is_usual_text", 0, False, True, significance.USUAL_TEXT),
        ("is_usual_text", 0, True, False, ""),
        ("nothing", 0, False, False, ""),
        ("nothing", 0, True, False, ""),
    ],
)
def test_ours_what_earlier_runs_saw_explains_a_difference_of_this_page(
    monkeypatch: pytest.MonkeyPatch, known: str, flags: int, figures: bool, is_surprising: bool, reason: str
) -> None:
    model = significance.SignificanceModel(SiteMemory(), 0)
    text = slots(flags=flags)
    answers: dict[str, Callable[..., bool]] = {
        "moves_as_usual": lambda k, is_counting: k in {10, 10 ^ FIGURES},
        "moves_here_again": lambda page, k, fewest=2: page == PAGE and k in {10, 10 ^ FIGURES} and fewest == 2,
        "moves_at_its_position": lambda page, d: (page, d) == (PAGE, text),
        "is_usual_text": lambda d: d == text,
    }
    for method, answer in answers.items():
        monkeypatch.setattr(model._changes, method, answer if method == known else lambda *_, **__: False)
    monkeypatch.setattr(
        model,
        "_varies_alone",
        lambda page, d, figures: known == "_varies_alone" and (page, d, figures) == (PAGE, text, asked),
    )
    monkeypatch.setattr(model.experiment, "is_surprising", lambda d: is_surprising and d == text)
    asked = figures
    assert model._reason_of_runs(PAGE, text, figures=figures) == reason


@pytest.mark.parametrize(
    ("flags", "figures", "is_counting"), [(0, True, True), (DATED, True, False), (0, False, False)]
)
def test_ours_figures_may_count_something_unless_they_are_a_date(
    monkeypatch: pytest.MonkeyPatch, flags: int, figures: bool, is_counting: bool
) -> None:
    model = significance.SignificanceModel(SiteMemory(), 0)
    asked: set[bool] = set()
    monkeypatch.setattr(model._changes, "moves_as_usual", lambda _, is_counting: asked.add(is_counting))
    model._reason_of_runs(PAGE, slots(flags=flags), figures=figures)
    assert asked == {is_counting}


@pytest.mark.parametrize(
    ("flags", "known", "reason"),
    [
        (0, ["counts_there", "_reason_of_runs"], significance.COUNTER),
        (0, ["_reason_of_runs", "is_wanderer"], significance.USUAL),
        (MOVED, ["is_wanderer", "is_shuffled"], significance.WANDERS),
        (MOVED, ["is_shuffled", "is_surprising", "turns_over"], significance.SHUFFLED),
        (0, ["is_shuffled", "turns_over"], significance.TURNS_OVER),  # only an order is shuffled
        (0, ["is_surprising", "turns_over"], ""),
        (FACT, ["counts_there", "_reason_of_runs", "is_wanderer", "turns_over"], ""),  # a price is always news
        (0, [], ""),
    ],
)
def test_ours_the_first_reason_that_fits_explains_a_difference_and_none_a_fact(
    monkeypatch: pytest.MonkeyPatch, flags: int, known: list[str], reason: str
) -> None:
    model = significance.SignificanceModel(SiteMemory(), 0)
    text = slots(flags=flags)

    def answer(name: str) -> Callable[[object], bool]:
        return lambda asked: name in known and asked in (text, text.place)

    for name in ("counts_there", "is_wanderer", "is_shuffled", "turns_over"):
        monkeypatch.setattr(model._changes, name, answer(name))
    monkeypatch.setattr(model.experiment, "is_surprising", answer("is_surprising"))
    monkeypatch.setattr(
        model,
        "_reason_of_runs",
        lambda page, d, figures: (
            significance.USUAL if "_reason_of_runs" in known and (page, d, figures) == (PAGE, text, True) else ""
        ),
    )
    assert model._reason(PAGE, text, {text.shape}) == reason
    assert model._reason(PAGE, text, set()) != significance.COUNTER


@pytest.mark.parametrize("flags", [0, FACT, DATED])
@pytest.mark.parametrize(
    ("is_stamped", "is_counter", "beside"),
    [(True, True, False), (True, False, True), (True, False, False), (False, True, True)],
)
def test_ours_figures_are_a_counter_by_their_words_and_beside_a_word_when_no_price_and_no_date(
    monkeypatch: pytest.MonkeyPatch, flags: int, is_stamped: bool, is_counter: bool, beside: bool
) -> None:
    model = significance.SignificanceModel(SiteMemory(), 0)
    text = slots(flags=flags)
    monkeypatch.setattr(model._changes, "is_counter", lambda d: is_counter and d == text)
    reason = model._site_reason(text, {30} if is_stamped else set(), set(), {30} if beside else set())
    assert reason == (significance.COUNTER if is_stamped and (is_counter or (beside and not flags)) else "")


@pytest.mark.parametrize(
    ("flags", "inserted", "reason"), [(0, set[int](), significance.SHARED), (FACT, set[int](), ""), (0, {10}, "")]
)
def test_ours_what_most_pages_got_is_shared_but_no_price_and_no_text_among_those_of_its_page(
    monkeypatch: pytest.MonkeyPatch, flags: int, inserted: set[int], reason: str
) -> None:
    model = significance.SignificanceModel(SiteMemory(), 0)
    text = slots(flags=flags)
    monkeypatch.setattr(model._changes, "is_shared", lambda d, is_shape: d == text)
    assert model._site_reason(text, set(), inserted, set()) == reason


@pytest.mark.parametrize("flag", [BEHIND_ALIKE, BEFORE_ALIKE])
@pytest.mark.parametrize(
    ("pages", "having", "is_own"),
    [(3, 1, True), (40, 1, True), (40, 2, False), (100, 2, True), (100, 3, False), (200, 4, True), (200, 5, False)],
)
def test_ours_a_text_of_its_own_is_on_one_page_or_on_one_of_fifty(
    monkeypatch: pytest.MonkeyPatch, flag: int, pages: int, having: int, is_own: bool
) -> None:
    model = significance.SignificanceModel(SiteMemory(), 0)
    near = 50 if flag == BEHIND_ALIKE else 60
    monkeypatch.setattr(model._changes, "_weight", pages)
    monkeypatch.setattr(model._changes, "held", lambda k: having if k == near else pages)
    assert model._is_among_own(slots(flags=flag)) is is_own
    assert not model._is_among_own(slots(flags=BEHIND_ALIKE + BEFORE_ALIKE - flag))


def test_ours_second_reads_explain_the_differences_of_the_page_that_was_read(monkeypatch: pytest.MonkeyPatch) -> None:
    model = significance.SignificanceModel(SiteMemory(), 0)
    here, other = change(exact=1), change(exact=2, place=2)
    counted: list[Difference] = []
    monkeypatch.setattr(model, "_explain_by_site", lambda *_: {1: significance.SHARED})
    monkeypatch.setattr(
        model.experiment,
        "explain",
        lambda page, left: {0: significance.VARIES} if (page, left) == (PAGE, [here]) else {},
    )
    monkeypatch.setattr(model._changes, "add_slots", lambda page, left, _: counted.extend(left if page else ()))
    assert model.judge(PAGE, Delta([here, other])).discounted == [
        (here, significance.VARIES),
        (other, significance.SHARED),
    ]
    assert model.judge(PAGE + 1, Delta([here, other])).significant == [here]
    model.add_second_pass(PAGE, Delta([here, other]))
    assert counted == []
    model.add_second_pass(PAGE + 1, Delta([here, other]))
    assert counted == [here]


@pytest.mark.parametrize("reason", [significance.USUAL, significance.USUAL_HERE])
@pytest.mark.parametrize("is_whole_slot", [False, True])
def test_ours_a_text_that_nothing_left_for_counts_unless_its_whole_slot_moves_as_usual(
    monkeypatch: pytest.MonkeyPatch, reason: str, is_whole_slot: bool
) -> None:
    model = significance.SignificanceModel(SiteMemory(), 0)
    text = change(gone=True, exact=1)
    monkeypatch.setattr(
        model, "_reason", lambda page, d, stamped: reason if (page, d, stamped) == (PAGE, text, set()) else ""
    )
    monkeypatch.setattr(model._changes, "is_whole_slot", lambda d: is_whole_slot and d == text)
    assert model.judge(PAGE, Delta([text])).significant == ([] if is_whole_slot else [text])


@pytest.mark.parametrize(
    ("reason", "counts"),
    [(significance.VARIES_HERE, True), (significance.VARIES, False), (significance.IN_POOL, False)],
)
def test_ours_a_text_inserted_where_other_pages_vary_counts_but_not_what_varies_on_its_own_page(
    monkeypatch: pytest.MonkeyPatch, reason: str, counts: bool
) -> None:
    model = significance.SignificanceModel(SiteMemory(), 0)
    text = Difference(False, 1, 1, 1, 1, 0, 0, 9, 0, "text")
    monkeypatch.setattr(model.experiment, "explain", lambda *_: {0: reason})
    assert model.judge(PAGE, Delta([text])).significant == ([text] if counts else [])


@pytest.mark.parametrize(
    ("reason", "counts"),
    [
        ("", True),
        (significance.USUAL, True),
        (significance.COUNTER, True),
        (significance.TURNS_OVER, True),
        (significance.SHARED, False),  # the menu of all pages
        (significance.IN_FRAME, False),
        (significance.VARIES, False),
        (significance.VARIES_HERE, False),
    ],
)
def test_ours_a_link_to_a_new_page_counts_but_in_what_pages_share_or_a_second_read_shows_to_vary(
    monkeypatch: pytest.MonkeyPatch, reason: str, counts: bool
) -> None:
    model = significance.SignificanceModel(SiteMemory(), 0)
    text, link = change(exact=1), change(exact=2, place=2, flags=LINK | NEWS)
    monkeypatch.setattr(model, "_explain_by_site", lambda *_: {1: reason} if reason else {})
    assert model.judge(PAGE, Delta([text, link])).significant == ([text, link] if counts else [text])


@pytest.mark.parametrize(
    ("reason", "gone", "in_pool", "is_worth", "is_seen"),
    [
        (significance.WANDERS, False, False, True, True),
        (significance.WANDERS, False, True, True, True),
        (significance.WANDERS, True, False, True, True),
        (significance.WANDERS, True, True, True, False),  # it was seen when it came
        (significance.WANDERS, False, False, False, False),
        (significance.SHARED, False, False, True, False),  # no rotation
        (significance.SHARED, True, True, True, False),
    ],
)
def test_ours_the_pool_of_a_slot_is_what_rotates_there(
    monkeypatch: pytest.MonkeyPatch, reason: str, gone: bool, in_pool: bool, is_worth: bool, is_seen: bool
) -> None:
    model = significance.SignificanceModel(SiteMemory(), 3)
    text, delta = Difference(gone, 10, 20, 30, 40, 50, 60, 9, 0, "text", box=90), Delta()
    monkeypatch.setattr(
        model,
        "judge",
        lambda page, asked: significance.Judgement([], [(text, reason)] if (page, asked) == (PAGE, delta) else []),
    )
    monkeypatch.setattr(model.experiment, "in_pool", lambda d: in_pool and d == text)
    monkeypatch.setattr(model.experiment, "is_worth_seeing", lambda box: is_worth and box == 90)
    assert [*model.learn([(PAGE, delta)]).pool.values()] == ([3] if is_seen else [])


def test_ours_of_too_many_texts_of_pools_those_seen_last_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    model = significance.SignificanceModel(SiteMemory(), 0)
    monkeypatch.setattr(significance, "MAX_POOL", 2)
    monkeypatch.setattr(model.experiment, "learnt", lambda: ({}, {1: 4, 2: 9, 3: 5, 4: 1}))
    assert model.learn([]).pool == {2: 9, 3: 5}


def test_ours_a_text_that_other_pages_show_is_no_surprise_where_all_texts_of_a_pool_are_known() -> None:
    model = significance.SignificanceModel(SiteMemory(slots={90: Variation(drawn=1_000.0, longest=200)}), 0)
    assert model.experiment.is_surprising(slots())
    model.add(Delta([slots()]))
    assert model.experiment.is_surprising(slots())
    model.add(Delta([slots()]))
    assert not model.experiment.is_surprising(slots())


def test_ours_of_too_many_slots_those_seen_last_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    model = significance.SignificanceModel(SiteMemory(), 0)
    monkeypatch.setattr(significance, "MAX_SLOTS", 2)
    learnt = {key: SimpleNamespace(run=run) for key, run in ((1, 4), (2, 9), (3, 5), (4, 1))}
    monkeypatch.setattr(model.experiment, "learnt", lambda: (learnt, {}))
    kept: list[int] = []
    monkeypatch.setattr(model._changes, "remembered", lambda slots, _: kept.extend(slots))
    model.learn([])
    assert sorted(kept) == [2, 3]


@pytest.mark.parametrize(
    ("stamped", "unknown", "is_shape"),
    [(False, False, True), (False, True, True), (True, True, True), (True, False, False)],
)
def test_ours_figures_are_part_of_a_shared_text_when_they_change_in_known_words(
    monkeypatch: pytest.MonkeyPatch, stamped: bool, unknown: bool, is_shape: bool
) -> None:
    model = significance.SignificanceModel(SiteMemory(), 0)
    asked: list[bool] = []
    monkeypatch.setattr(model._changes, "is_counter", lambda _: False)
    monkeypatch.setattr(model._changes, "is_unknown", lambda shape: unknown and shape == 30)
    monkeypatch.setattr(model._changes, "is_shared", lambda _, is_shape: asked.append(is_shape))
    model._site_reason(slots(), {30} if stamped else set(), set(), set())
    assert asked == [is_shape]
