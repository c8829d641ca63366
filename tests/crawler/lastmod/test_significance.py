"""Which differences are the page's own, trap by trap. A site is a dict of paths and bodies, before and after."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from random import Random
from zlib import crc32

import pytest

from crawler.lastmod.memory import MAX_SLOTS, ChangeHistory, SiteMemory, update_history
from crawler.lastmod.significance import build_significance_model
from crawler.model import Url
from crawler.parse.snapshot.diff import Delta, Difference, compare, content_keys, with_news
from crawler.parse.snapshot.snapshot import take_snapshot

WORDS = ["river", "stone", "harbour", "market", "engine", "copper", "window", "garden", "signal", "method"]
WORDS += ["winter", "paper"]
Site = dict[int, str]
ORIGIN = "https://site.example"


def said(before: Site, after: Site, learnt: SiteMemory | None = None, step: int = 1) -> set[int]:
    """The pages that are said to have changed; ``learnt`` is brought up to date. Each ``step``-th page is sampled."""
    kept = {page: take_snapshot(body.encode()) for page, body in before.items()}
    now = {page: take_snapshot(body.encode()) for page, body in after.items()}
    new, gone = ({f"{ORIGIN}/{n}" for n in some} for some in (now.keys() - kept.keys(), kept.keys() - now.keys()))
    deltas: dict[int, Delta] = {
        n: with_news(compare(kept[n], now[n]), Url(f"{ORIGIN}/{n}"), new, gone)
        for n in now
        if n in kept and kept[n] != now[n]
    }
    compared = [page for page in now if page in kept]
    sample = {page: content_keys(now[page]) for page in compared[::step]}
    made = build_significance_model(learnt or SiteMemory(), deltas.items, len(compared), lambda: sample, run=0)
    told = {page for page, delta in deltas.items() if made.judge(page, delta).significant}
    if learnt is not None:
        after = made.learn()
        for name in after.__struct_fields__:
            setattr(learnt, name, getattr(after, name))
    return told


def own(page: int, number: int = 0) -> str:
    """A sentence that only this page has."""
    words = [WORDS[(page * 7 + number * 5 + at * (page % 11 + 1)) % 12] + "xyzuvw"[(page >> at) % 6] for at in range(9)]
    return " ".join([*words, *([WORDS[number // 12 % 12]] if number >= 12 else [])])


def article(page: int, more: str = "", foot: str = "Acme", side: str = "") -> str:
    return (
        f"<html><head><title>{own(page, 9)}</title></head><body><div class=top><a href=/>Home</a></div>"
        f"<div class=body><h1>{own(page, 8)}</h1><p>{own(page)}</p><p>{own(page, 1)}</p>{more}</div>{side}"
        f"<div class=foot><p>{foot}</p></div></body></html>"
    )


def site(size: int, make: Callable[[int], str] = article) -> Site:
    return {page: make(page) for page in range(size)}


@pytest.mark.thorough
def test_ours_a_counter_among_the_paragraphs_of_every_article() -> None:
    before = site(200, lambda n: article(n, f"<p>{n * 3} views</p>"))
    after = site(200, lambda n: article(n, f"<p>{n * 3 + n % 7 + 1} views</p>" + "<p>New: tides.</p>" * (n == 9)))
    assert said(before, after) == {9}


@pytest.mark.thorough
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


@pytest.mark.thorough
@pytest.mark.parametrize(
    "sentence", ["<p>Revised for the new law.</p>", "<p class=note>Revised.</p>", "<h2>Revised</h2>"]
)
@pytest.mark.parametrize("count", [5, 10, 50])
def test_ours_one_sentence_for_many_edited_pages_is_a_change_there_and_its_end_too(sentence: str, count: int) -> None:
    plain = site(200)
    revised = {n: article(n, sentence if n < count else "") for n in plain}
    assert said(plain, revised) == set(range(count))
    assert said(revised, plain) == set(range(count))


@pytest.mark.thorough
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


@pytest.mark.thorough
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


@pytest.mark.parametrize(
    "added",
    [
        '<div class="hint">Scroll to see more of this table</div>',
        '<div class="versions">Also available in <a href="/de/{n}">German</a></div>',
    ],
)
def test_ours_what_a_theme_adds_to_the_pages_one_by_one_is_an_edit_of_the_first_only(added: str) -> None:
    learnt, before = SiteMemory(), site(60)
    for run in range(4):
        reached = range(2 * run, 2 * run + 2)
        after = {
            n: body.replace("</div>", f"{added.replace('{n}', str(n))}</div>", 1) if n in reached else body
            for n, body in before.items()
        }
        after[50] = before[50].replace("</div>", f"<p>{own(50, 20 + run)}</p></div>", 1)
        assert said(before, after, learnt) == {50, *(reached if run == 0 else ())}, run
        before = after


@pytest.mark.parametrize("added", ["Sold for £{0}0,000 on {0} May", "Final score: home {0}, away {1}", "Sold out"])
def test_ours_what_an_author_adds_to_one_page_after_the_other_is_an_edit_of_each(added: str) -> None:
    learnt, before = SiteMemory(), site(60)
    for run in range(6):
        box = f'<div class="sold">{added.format(run + 3, run * 7 + 1)}</div>'
        after = before | {run: before[run].replace("</div>", f"{box}</div>", 1)}
        assert said(before, after, learnt) == {run}
        before = after


@pytest.mark.parametrize("now", ["<p class='price sale'>£{}</p>", "<div class=sale><p class=price>£{}</p></div>"])
@pytest.mark.parametrize("share", [0.4, 1])
def test_ours_a_price_in_a_new_element_is_a_price(now: str, share: float) -> None:
    before = site(60, lambda n: article(n, f"<p class=price>£{n * 3 + 20}</p>"))
    raised = range(int(share * 60))
    assert said(before, before | {n: article(n, now.format(n * 3 + 11)) for n in raised}) == {*raised}


def test_ours_a_text_with_a_price_that_all_pages_lose_is_the_template() -> None:
    before = site(60, lambda n: article(n, "<i>Free delivery on orders over £75</i>"))
    after = site(60, lambda n: article(n) if n != 7 else article(n, f"<p>{own(n, 30)}</p>"))
    assert said(before, after) == {7}


def test_ours_a_new_page_in_the_menu_changes_the_list_that_names_it_only() -> None:
    def made(links: list[str], menu: str) -> Callable[[int], str]:
        items = "".join(f"<li><a href=/{each}>{each}</a>" for each in links)
        return lambda n: article(n, f"<ul>{items}</ul>" if n == 5 else "").replace("Home</a>", f"Home</a>{menu}")

    before = site(60, made(["a", "b"], "<ul><li><a href=/a>a</a></ul>"))
    after = site(60, made(["a", "b", "new"], "<ul><li><a href=/a>a</a><li><a href=/new>new</a></ul>"))
    assert said(before, after) == {5}


CARD = "<article><h2><a href=/{n}>{title}</a></h2><p>{text}</p></article>"


def archives(posts: list[int], title: Callable[[int], str], card: str = CARD) -> Site:
    """Posts, and the pages that list them, newest first, ten on each: a new post moves all others on by one."""
    shown = {n: article(n) for n in posts}
    for first in range(0, len(posts), 10):
        cards = "".join(
            card.format(n=n, title=title(n), text=own(n, 3), price=n * 37 % 900)
            for n in sorted(posts, reverse=True)[first : first + 10]
        )
        shown[-1 - first] = f"<html><title>Page {first}</title><body><main>{cards}</main></body></html>"
    return shown


@pytest.mark.thorough
@pytest.mark.parametrize("title", [lambda n: own(n, 2), lambda n: f"Report {n} of the harbour"])
def test_google_a_list_of_posts_changes_with_each_new_post(title: Callable[[int], str]) -> None:
    learnt, before = SiteMemory(), archives([*range(75)], title)
    for newest in range(75, 79):
        after = archives([*range(newest + 1)], title)
        assert {-1} <= said(before, after, learnt) <= {-1, -71}, newest  # the last page is longer now
        before = after


def test_google_each_list_changes_with_a_new_post_though_posts_have_their_titles_at_the_same_place() -> None:
    def made(size: int) -> Site:  # the theme "simple" of Pelican: lists by date, by topic, and by author
        head = "<html><title>{0}</title><body><main>{1}</main></body></html>"
        shown = {
            n: head.format(n, f"<article><h2><a href=/{n}>{own(n, 2)}</a></h2>{own(n)}</article>") for n in range(size)
        }
        for topic in (1, 2, 3):
            chosen = [n for n in range(size) if n % topic == 0 or n >= 40][::-1]
            for first in range(0, len(chosen), 8):
                cards = "".join(CARD.format(n=n, title=own(n, 2), text=own(n, 3)) for n in chosen[first : first + 8])
                shown[-100 * topic - first] = head.format(topic, cards)
        return shown

    learnt, before = SiteMemory(), made(40)
    for newest in range(40, 43):
        after = made(newest + 1)
        assert {-100, -200, -300} <= said(before, after, learnt) <= {*range(-400, 0)}, newest
        before = after


@pytest.mark.parametrize("size", [8, 20])
def test_ours_a_box_of_one_section_with_its_newest_pages_is_no_change(size: int) -> None:
    def made(size: int) -> Site:
        posts = [*range(size)]
        newest = "".join(f"<li><a href=/{n}>{own(n, 2)}</a>" for n in posts[-5:][::-1])
        box = f"<div class=latest><ul>{newest}</ul></div>"
        shop = {-n: article(n + 200) for n in range(1, 61)}
        return {n: article(n, side=box) for n in posts} | shop

    learnt, before = SiteMemory(), made(size)
    for more in range(size + 1, size + 4):
        after = made(more)
        assert said(before, after, learnt) == set(), more
        before = after


@pytest.mark.parametrize("link", ["<a class={0} href=/{1}>{0}</a>", "<p>{0} &rarr;<br> <a href=/{1}>{2}</a></p>"])
@pytest.mark.parametrize("way", ["came", "left"])
def test_ours_labelled_links_to_the_neighbours_of_a_page_that_came_or_left_are_no_change(way: str, link: str) -> None:
    def made(pages: Sequence[int]) -> Site:  # as MkDocs and Sphinx do, and the starter of Eleventy
        def page(at: int, n: int) -> str:
            near = {name: pages[to] for name, to in (("prev", at - 1), ("next", at + 1)) if 0 <= to < len(pages)}
            head = "".join(f"<link rel={name} href=/{to}>" for name, to in near.items())
            links = "".join(link.format(name, to, own(to, 3)) for name, to in near.items())
            text = f"<h1>{own(n, 3)}</h1><p>{own(n)}</p>"
            return f"<html><head>{head}</head><body>{text}<div class=foot>{links}</div></body></html>"

        return {n: page(at, n) for at, n in enumerate(pages)}

    less, more = made([n for n in range(30) if n != 12]), made([*range(30)])
    before, after = (less, more) if way == "came" else (more, less)
    assert said(before, after) == set()
    after[20] = after[20].replace("</p>", f" {own(99)}</p>", 1)
    assert said(before, after) == {20}


@pytest.mark.thorough
def test_google_a_list_changes_with_a_new_post_though_its_theme_has_that_in_an_aside() -> None:
    def made(size: int) -> Site:  # as the default theme of Pelican does
        posts = archives([*range(size)], lambda n: own(n, 2))
        end = "</article>"
        return {
            n: page if n >= 0 else page.replace("<main>", "<aside>").replace(end, f"{end}</aside><main>", 1)
            for n, page in posts.items()
        }

    learnt, before = SiteMemory(), made(45)
    for newest in range(45, 48):
        after = made(newest + 1)
        assert said(before, after, learnt) == {-1}, newest
        before = after


@pytest.mark.thorough
@pytest.mark.parametrize(
    "card",
    [
        CARD.replace("<h2>", "<h2 class=name>").replace("<p>", "<p class=more>"),
        "<table><tr><td><h3><a href=/{n}>{title}</a></h3> <b>{price}.99 €</b></td></tr></table>",
    ],
)
def test_google_the_later_pages_of_a_list_stay_whatever_its_cards_show_and_few_pages_are_sampled(card: str) -> None:
    learnt, before = SiteMemory(), archives([*range(75)], lambda n: own(n, 9), card)
    for newest in range(75, 79):
        after = archives([*range(newest + 1)], lambda n: own(n, 9), card)
        assert {-1} <= said(before, after, learnt, step=7) <= {-1, -71}, newest
        before = after


def test_google_lists_stay_though_a_card_that_moves_on_repeats_what_its_list_shows_already() -> None:
    def made(size: int) -> Site:  # the parts of an entry as the themes of WordPress have them, in lists and alone
        def entry(n: int, text: str) -> str:
            head = f"<header><h2 class=title><a href=/{n}>{own(n, 3)}</a></h2></header>"
            foot = f"<span class=cat-links>Filed under <a href=/t{n % 3}>topic {n % 3}</a></span>"
            return f"<article>{head}<div class=entry><p>{text}</p></div><footer class=end>{foot}</footer></article>"

        frame = "<html><title>{0}</title><body><main>{1}</main></body></html>"
        shown = {n: frame.format(own(n, 3), entry(n, own(n))) for n in range(size)}
        for topic, of_topic in enumerate([lambda n: True, *(lambda n, t=t: n % 3 == t for t in range(3))]):
            chosen = [n for n in range(size) if of_topic(n)][::-1]
            for first in range(0, len(chosen), 10):
                entries = "".join(entry(n, own(n, 20)) for n in chosen[first : first + 10])
                shown[-100 * (topic + 1) - first] = frame.format(f"Topic {topic}", entries)
        return shown

    learnt, before = SiteMemory(), made(36)
    for newest in range(36, 40):
        after = made(newest + 1)
        lists = {-100, -200 - 100 * (newest % 3)}
        assert said(before, after, learnt, step=7) == lists, newest
        before = after


@pytest.mark.parametrize("field", ["Author: <a href=/{0}>{1}</a>", "<b>See also:</b> <a href=/{0}>{1}</a>"])
def test_ours_a_link_behind_a_label_is_of_its_page_unless_its_target_is_new(field: str) -> None:
    def made(chosen: dict[int, int]) -> Site:
        return site(40, lambda n: article(n, f"<p>{field.format(chosen.get(n, 30), own(chosen.get(n, 30), 8))}</p>"))

    assert said(made({}), made({9: 31})) == {9}


@pytest.mark.parametrize("way", ["came", "left"])
def test_ours_a_text_that_other_pages_have_is_of_its_page_though_a_box_beside_it_moves_on(way: str) -> None:
    def made(first: int, pages: set[int]) -> Site:
        links = "".join(f"<li><a href=/{n}>{own(n, 8)}</a>" for n in range(first, first + 4))
        box = f"<aside><ul>{links}</ul></aside>"
        return site(40, lambda n: article(n, "<p>Free shipping on all orders.</p>" * (n in pages), side=box))

    less, more = {3, 5}, {3, 5, 8}
    before, after = (less, more) if way == "came" else (more, less)
    assert said(made(10, before), made(11, after)) == {8}


def test_ours_a_new_title_is_an_edit_of_its_page_alone_though_no_sample_has_it() -> None:
    def made(title: str) -> Callable[[int], str]:
        link = f"<ul><li><a href=/16>{title}</a></ul>"
        return lambda n: article(n, link if n in {1, 3, 5} else f"<h2>{title}</h2>" if n == 16 else "")

    assert said(site(60, made("The old harbour")), site(60, made("Two new cranes")), step=7) == {16}


@pytest.mark.thorough
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


def test_ours_the_same_sentence_between_texts_of_its_own_page_is_an_edit_of_every_page_of_a_section() -> None:
    new, section = "<p>Orders are delivered from the new store on the northern pier.</p>", set(range(0, 40, 3))

    def made(told: Callable[[str, int], str]) -> Site:
        return site(40, lambda n: article(n, told(new if n in section else "", n)))

    texts = site(40, lambda n: article(n, f"<p>{own(n, 2)}</p>"))
    assert said(texts, made(lambda new, n: f"{new}<p>{own(n, 2)}</p>")) == section
    assert said(texts, made(lambda new, n: f"<p>{own(n, 2)}</p>{new}")) == section
    assert said(texts, made(lambda new, n: f"<p>{own(n, 2)}</p>{new and '<h2>Delivery</h2>'}{new}")) == section
    assert said(texts, site(40, lambda n: article(n, f"{new}<p>{own(n, 2)}</p>"))) == set()
    votes = site(40, lambda n: article(n, "<p>This review has no votes.</p><p>Write a review.</p>"))
    after = site(40, lambda n: article(n, f"<p>This review has no votes.</p>{new}<p>Write a review.</p>"))
    assert said(votes, after) == set()


def test_ours_a_text_that_two_of_few_pages_have_is_none_of_their_own() -> None:
    new, section = "<p>Orders are delivered from the new store on the northern pier.</p>", set(range(0, 40, 3))

    def made(shown: str, pages: int) -> Site:
        def page(n: int) -> str:
            told = shown if n in section else ""
            return article(n, f"<div class=t><p>{own(n // pages, 2)}</p>{told}<p>{own(n // pages, 3)}</p></div>")

        return site(40, page)

    assert said(made("", 1), made(new, 1)) == section


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


@pytest.mark.thorough
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


@pytest.mark.thorough
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


@pytest.mark.parametrize("box", ["<p>{} readers</p>", "<p>Read {} times by {} people</p>"])
def test_ours_a_new_box_of_all_pages_is_no_change_though_each_page_has_figures_of_its_own(box: str) -> None:
    before = site(60)
    after = site(60, lambda n: article(n, side=f"<div class=side>{box.format(n * 3 + 1, n * 7 + 2)}</div>"))
    assert said(before, after) == set()
    assert said(after, before) == set()


@pytest.mark.thorough
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


def slots(*, flags: int = 0) -> Difference:
    """A text each of whose slots has a key of its own."""
    return Difference(False, 10, 20, 30, 40, 50, 60, 9, flags, "text", nth=70, nth_last=80, box=90, unit=100)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('"Tides"', "\u201cTides\u201d"),
        ("caf\u00e9", "cafe\u0301"),
        ("harbour", "har\u00adbour"),
        ("9 -- 10", "9 \u2013 10"),
        ("tide -- low", "tide\u2014low"),
        ("tide - low", "tide \u2013 low"),
        ("it's", "it\u2019s"),
        ("a b", "a\u00a0b"),
        ("efficient", "e\ufb03cient"),
    ],
)
def test_ours_the_same_words_in_another_typography_are_no_change(before: str, after: str) -> None:
    text = f"<p>The keeper wrote {{}} on page {before} today.</p>"
    assert (
        said(site(3, lambda n: article(n, text)), site(3, lambda n: article(n, text.replace(before, after)))) == set()
    )


@pytest.mark.parametrize(
    "edit",
    [
        '<img src="/{n}-{night}.png" alt="Boat">',
        '<img src="/{n}.png" alt="Boat {night}">',
        "<p>It has {night} masts.</p>",
    ],
)
def test_ours_two_other_pages_that_are_edited_in_each_night_are_dated_in_each(edit: str) -> None:
    learnt, pages = SiteMemory(), {n: article(n, edit.format(n=n, night=99)) for n in range(40)}
    for night in range(1, 9):
        edited = {2 * night, 2 * night + 1}
        after = {**pages, **{n: article(n, edit.format(n=n, night=night)) for n in edited}}
        assert said(pages, after, learnt) == edited, night
        pages = after


def test_ours_what_a_theme_adds_with_values_of_each_page_is_no_change() -> None:
    plain = site(30)
    for added in (
        "<div class=share><a href='https://share.example/?u=/{n}'>Share</a></div>",
        "<p class=label>Level: {own}</p>",
        "<h2 id='{n}-{own}'><a href='#{n}'>Link</a> Tides</h2>",
        '<script type="application/ld+json">{{"@type": "WebPage", "name": "{own}"}}</script>',
    ):
        assert said(plain, site(30, lambda n, a=added: article(n, a.format(n=n, own=own(n, 4))))) == set()  # type: ignore[misc]


def test_ours_links_that_come_to_texts_of_each_page_are_no_change() -> None:
    first = [own(n).split()[0] for n in range(30)]
    linked = site(30, lambda n: article(n).replace(first[n], f"<a href='/about-{n}'>{first[n]}</a>"))
    assert said(site(30), linked) == set()
    assert said(site(30), {**site(30), 7: linked[7]}) == {7}


@pytest.mark.parametrize("shown", ["<p>{night}.50 EUR, 3 left</p>", "<table><tr><td>{night}.5<td>1{night}.25</table>"])
def test_ours_prices_and_data_that_change_in_each_run_are_edits(shown: str) -> None:
    learnt, pages = SiteMemory(), {n: article(n, shown.format(night=10)) for n in range(40)}
    edited = {4, 5, 6} if "EUR" in shown else {4}
    for night in range(11, 18):
        after = {**pages, **{n: article(n, shown.format(night=night * 3 + n)) for n in edited}}
        assert said(pages, after, learnt) == edited, night
        pages = after


def test_ours_a_night_in_another_language_moves_no_date() -> None:
    learnt, plain = SiteMemory(), site(20)

    def translated(n: int) -> str:
        body = article(n).replace(">Home<", ">Start<").replace("Acme", "Firma")
        for number in (0, 1, 8, 9):
            body = body.replace(own(n, number), f"{own(n, number)[::-1]}")
        return body

    other = site(20, translated)
    assert said(plain, other, learnt) == set()
    assert said(other, plain, learnt) == set()
    assert learnt.history == {}


def test_ours_prices_of_a_page_that_states_the_same_price_as_data_are_not_its_own() -> None:
    def shop(stated: str, shown: str, rate: float) -> Site:
        def page(n: int) -> str:
            data = f'<script type="application/ld+json">{{"offers": {{"price": "{n}{stated}"}}}}</script>'
            return data + article(n, f"<p class=price>EUR {n}{shown}</p><p class=fx>approx. USD {n * rate:.2f}</p>")

        return site(40, page)

    before = shop("0.50", "0.50", 1.1)
    assert said(before, shop("0.50", "0.50", 1.2)) == set()
    assert said(before, shop("0.50", "0,50", 1.1)) == set()
    assert said(before, shop("1.50", "1.50", 1.1)) == set(range(40))


def test_html_fallbacks_for_browsers_without_scripts_are_no_content() -> None:
    """https://html.spec.whatwg.org/#the-noscript-element"""
    before = site(40, lambda n: article(n, f"<img src=/boat-{n}.jpg alt='boat {n}'>"))
    lazy = "<img src='data:image/gif;base64,R0' data-src=/boat-{0}.jpg alt='boat {0}'>"
    fallback = "<noscript><img src=/boat-{0}.jpg alt='boat {0}'></noscript>"
    after = site(40, lambda n: article(n, (lazy + fallback).format(n)))
    assert said(before, {**before, 5: after[5]}) == set()


def test_ours_a_picture_in_another_format_is_the_same_picture() -> None:
    before = site(40, lambda n: article(n, f"<img src=/boat-{n}.jpg alt='boat {n}'>"))
    source = "<source type=image/avif srcset='/boat-{0}-480.avif 480w'>"
    sources = f"<picture>{source}<img src=/{{1}}-{{0}}.webp alt='boat {{0}}'></picture>"
    assert said(before, {**before, 5: article(5, sources.format(5, "boat"))}) == set()
    assert said(before, {**before, 5: article(5, sources.format(5, "ship"))}) == {5}


def test_html_the_words_of_a_time_that_is_stated_as_data_do_not_count() -> None:
    """https://html.spec.whatwg.org/#the-time-element"""
    told = "<p>Sent <time datetime=2025-02-{0}>{1}</time> by boat {2}.</p>"
    before = site(40, lambda n: article(n, told.format(15, "3 <b>days</b> ago", n)))
    assert said(before, {**before, 5: article(5, told.format(15, "February 15, 2025", 5))}) == set()
    assert said(before, {**before, 5: article(5, told.format(16, "3 <b>days</b> ago", 5))}) == {5}
    assert said(before, {**before, 5: article(5, told.format(15, "3 <b>days</b> ago", 77))}) == {5}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("if a:\n    b()\n    c()", "if a:\n    b()\nc()"),
        ("<code>- a:\n<b>    - b</b></code>", "<code>- a:\n<b>  - b</b></code>"),
        ("rm -r build -- old", "rm -r build - old"),
    ],
)
def test_html_indents_and_dashes_of_code_are_content(before: str, after: str) -> None:
    pages = site(40, lambda n: article(n, f"<pre>{before}</pre>"))
    assert said(pages, {**pages, 5: article(5, f"<pre>{after}</pre>")}) == {5}


def test_mathml_signs_are_content() -> None:
    formula = "<math><mrow><mi>x</mi><mo>{}</mo><mn>78</mn></mrow></math>"
    pages = site(40, lambda n: article(n, formula.format("+")))
    assert said(pages, {**pages, 5: article(5, formula.format("\u2212"))}) == {5}


def test_ours_prices_stated_as_data_that_leave_all_their_pages_at_once_are_the_template() -> None:
    def shop(*, with_data: Callable[[int], bool]) -> Site:
        data = '<script type="application/ld+json">{{"name": "{0}", "offers": {{"price": "{0}.50"}}}}</script>'
        return site(40, lambda n: article(n, data.format(n) if with_data(n) else ""))

    before = shop(with_data=lambda n: n % 4 == 0)
    assert said(before, shop(with_data=lambda _: False)) == set()
    assert said(before, shop(with_data=lambda n: n % 4 == 0 and n > 4)) == {0, 4}
    assert said(before, shop(with_data=lambda n: n % 4 == 0 and n > 27)) == {*range(0, 28, 4)}
    assert said(shop(with_data=lambda _: True), shop(with_data=lambda n: n > 14)) == {*range(15)}


def test_ours_a_description_in_structured_data_counts_though_those_of_all_meta_elements_change() -> None:
    def page(n: int, word: str, more: str = "") -> str:
        data = f'<script type="application/ld+json">{{"description": "{own(n, 3)}{more}"}}</script>' * (n % 4 == 0)
        return f'<meta name="description" content="{own(n, 2)} {word}">{article(n, data)}'

    before = site(40, lambda n: page(n, "north"))
    after = site(40, lambda n: page(n, "south"))
    assert said(before, after) == set()
    assert said(before, {**after, 4: page(4, "south", " and a lighthouse")}) == {4}


def test_ours_data_that_leave_all_pages_are_the_template_though_most_pages_have_other_data_at_the_same_place() -> None:
    def page(n: int, *, with_more: bool) -> str:
        own_data = f'<script type="application/ld+json">{{"name": "{own(n, 3)}"}}</script>' * (n > 4)
        more = f'<script type="application/ld+json">{{"@type": "WebPage", "name": "{own(n, 8)}"}}</script>'
        return article(n, own_data + more * with_more)

    before, after = (site(40, lambda n, more=more: page(n, with_more=more)) for more in (True, False))
    assert said(before, after) == set()
    assert said(after, before) == set()
    for n in (2, 22):
        assert said(before, {**before, n: after[n]}) == {n}
        assert said(after, {**after, n: before[n]}) == {n}


@pytest.mark.parametrize("size", [8, 12])
def test_ours_a_theme_may_name_the_page_elsewhere_by_its_heading(size: int) -> None:
    def page(n: int, tag: str, here: str) -> str:
        links = "".join(f"<li><a href={here if m == n else f'/{m}'}>{own(m, 8)}</a>" for m in range(size))
        return f"<{tag}><ul>{links}</ul></{tag}>{article(n, f'<h2>{own(n, 7)}</h2>')}"

    one, other = site(size, lambda n: page(n, "div", f"./{n}")), site(size, lambda n: page(n, "nav", "#"))
    for before, after in ((one, other), (other, one)):
        assert said(before, after) == set()
        assert said(before, {**after, 3: after[3].replace("</h2>", f" and {own(3, 5)}</h2>")}) == {3}


def test_ours_a_text_that_leaves_all_pages_is_the_site_s_though_one_page_has_its_words_elsewhere() -> None:
    keys = "<table class=keys><tr><td>Previous page<td>Next page<td>Search this site</table>"
    before = site(12, lambda n: article(n, keys))
    after = site(12, lambda n: article(n, f"<p class=near><a href=/{n - 1}>Previous</a></p>" * (n != 0)))
    assert said(before, after) == set()


@pytest.mark.parametrize("shown", ["<img alt='{}' src=/{}.jpg>", "<p><a href=/files/{1}.pdf>{0}</a></p>"])
def test_ours_a_picture_or_a_file_that_is_named_like_the_page_is_no_copy_of_its_heading(shown: str) -> None:
    before = site(12, lambda n: article(n, shown.format(own(n, 8), n)))
    assert said(before, {**before, 4: article(4, shown.format(own(4, 8), "new"))}) == {4}


@pytest.mark.parametrize(
    "shown", ["<p class=state>{}</p>", "<table><tr><td>Stock<td>{}</table>", "<ul><li>Ann<li>{}</ul>"]
)
@pytest.mark.parametrize("now", ["In stock", "Pending", "$19"])
def test_ours_a_text_that_becomes_that_of_a_heading_is_an_edit(shown: str, now: str) -> None:
    before = site(12, lambda n: article(n, f"<h2>{now}</h2>{shown.format('Sold out')}"))
    assert said(before, {**before, 4: before[4].replace("Sold out", now)}) == {4}
    renamed = before[5].replace(f"<h1>{own(5, 8)}</h1>", f"<h1>{own(5, 9)}</h1>")  # to that of the title
    assert said(before, {**before, 5: renamed}) == {5}
