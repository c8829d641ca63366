"""What a template changes inside the texts of its pages, and what it shows on some of them, drawn at random."""

import random
import re
from collections.abc import Callable
from urllib.parse import quote

import pytest
from lastmod_lab import Lab
from noisy_site import sentence

Change = Callable[[str, int], str]
"""Changes the markup of a page, given its number, as a plug-in or a theme does on all pages."""


class Drawn:
    """Pages with a text, a picture, a table and a link to elsewhere; ``change`` is what the template does to them."""

    def __init__(self, seed: int, size: int = 30) -> None:
        self.rng = random.Random(seed)
        self.pages = {f"/{n}": self._page(n) for n in range(size)}
        self.change: Change = lambda markup, _: markup

    def _page(self, n: int) -> str:
        rng, words = self.rng, sentence(self.rng, 3)
        return (
            f"<h1>{sentence(rng, 5)} {n}</h1><p>{sentence(rng, 9)}. {sentence(rng, 7)}.</p>"
            f'<figure><img src="/img/{words.replace(" ", "-")}-{n}.jpg" alt="{words}">'
            f"<figcaption>{sentence(rng, 8)}</figcaption></figure>"
            f"<table><tr><td>{rng.randint(2200, 9900)}</td></tr></table>"
            f'<p>See the <a href="https://else.example/{rng.randint(100, 999)}/{n}">{words} record</a> for details.</p>'
            f"<p>Questions: call 01765 {rng.randint(100_000, 999_999)}.</p>"
        )

    def render(self, path: str) -> bytes:
        markup = self.change(self.pages[path], int(path[1:]))
        return f"<body><main><article>{markup}</article></main></body>".encode()


CHANGES: dict[str, Change] = {
    "note in links": lambda text, _: text.replace(" record</a>", " record</a><span class=sr> (opens anew)</span>"),
    "number of a figure": lambda text, n: text.replace("<figcaption>", f"<figcaption>Figure {n}: "),
    "end of a description": lambda text, _: re.sub(r'alt="([^"]*)"', r'alt="\1 - The Harbour"', text),
    "telephone link": lambda text, _: re.sub(r"(01765 (\d+))", r"<a href='tel:+441765\2'>\1</a>", text),
    "thousands": lambda text, _: re.sub(r"<td>(\d)(\d{3})", r"<td>\1,\2", text),
    "picture in a link": lambda text, _: re.sub(
        r'(<img src="([^"]+)\.jpg"[^>]*>)', r"<a href='\2-full.jpg'>\1</a>", text
    ),
    "target behind a counter": lambda text, n: re.sub(r'(else\.example[^"]*)', rf"\1?click={n * 7919 % 1000}", text),
}
EDITS: dict[str, tuple[str, str]] = {
    "note in links": (r"else\.example/\d+", "else.example/7"),
    "number of a figure": (r"<figcaption>\w+", "<figcaption>Unusual"),
    "end of a description": (r'alt="[^"]*', 'alt="People who wait for a ferry'),
    "telephone link": (r"01765 \d{5}", "01765 00000"),
    "thousands": (r"<td>\d", "<td>1"),
    "picture in a link": (r'src="[^"]*', 'src="/img/another-one-77.jpg'),
    "target behind a counter": (r"else\.example/\d+", "else.example/7"),
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", CHANGES)
def test_ours_an_edit_of_a_text_that_the_template_changes_too_is_seen(name: str, seed: int) -> None:
    site = Drawn(seed)
    lab = Lab(site)
    lab.visit()
    lab.visit()
    site.change = CHANGES[name]
    edited = site.rng.choice(sorted(site.pages))
    site.pages[edited] = re.sub(*EDITS[name], site.pages[edited], count=1)
    assert lab.visit() == {edited}


@pytest.mark.parametrize("seed", range(4))
def test_ours_texts_that_come_and_go_by_chance_are_no_edits(seed: int) -> None:
    """A test of variants, or a cache that some pages have not left: the first run with another draw says so."""
    site = Drawn(seed, 40)
    variants = ["", *(f"<p>{sentence(site.rng, site.rng.randint(6, 12))}.</p>" for _ in range(site.rng.randint(1, 3)))]
    first, second = ({path: site.rng.choice(variants) for path in site.pages} for _ in range(2))
    site.change = lambda text, n: first[f"/{n}"] + text
    lab = Lab(site)
    lab.visit()
    lab.visit()
    site.change = lambda text, n: second[f"/{n}"] + text
    site.pages["/5"] += f"<p>{sentence(site.rng, 9)}.</p>"
    assert lab.visit() == {"/5"}


@pytest.mark.parametrize("seed", range(3))
def test_ours_a_text_of_many_pages_that_reaches_another_is_no_edit(seed: int) -> None:
    """A new box reaches the pages one by one, as their caches end."""
    site = Drawn(seed, 40)
    box = f"<p>{sentence(site.rng, 9)}.</p>"
    late = set(site.rng.sample(sorted(site.pages), 3))
    site.change = lambda text, n: text if f"/{n}" in late else box + text
    lab = Lab(site)
    lab.visit()
    lab.visit()
    site.change = lambda text, _: box + text
    assert lab.visit() == set()


@pytest.mark.parametrize("seed", range(3))
def test_ours_links_that_a_plug_in_sets_in_texts_of_several_pages_are_no_edits(seed: int) -> None:
    site = Drawn(seed, 40)
    linked = set(site.rng.sample(sorted(site.pages), 14))
    lab = Lab(site)
    lab.visit()
    lab.visit()

    def change(text: str, n: int) -> str:
        link = r"<p><a class=gl href='https://glossary.example/\1'>\1</a>"
        return re.sub(r"<p>(\w+)", link, text, count=1) if f"/{n}" in linked else text

    site.change = change
    assert lab.visit() == set()


def test_ours_the_stop_behind_a_number_is_no_word_of_a_counter() -> None:
    site = Drawn(1, 20)
    site.change = lambda text, n: f"{text}<div class=sun><p>Sunset {16 + n % 2}:{lab.run * 3 + 10}.</p></div>"
    lab = Lab(site)
    for _ in range(4):
        lab.visit()
    site.pages["/3"] = re.sub(r"01765 \d+", "01765 123456", site.pages["/3"])
    assert lab.visit() == {"/3"}


PIECEMEAL: dict[str, Change] = {
    "mark of a heading": lambda text, _: text.replace(
        "</h1>", '<a class=link href="#top" title="Permalink">¶</a></h1>'
    ),
    "picture behind a proxy": lambda text, _: text.replace('"/img/', '"https://i1.cdn.example/site.example/img/'),
    "picture on another host": lambda text, _: text.replace('"/img/', '"//static.example/img/'),
    "picture behind a program of Next.js": lambda text, _: re.sub(
        r'"(/img/[^"]+)"', lambda found: f'"/_next/image?url={quote(found[1], safe="")}&amp;w=640&amp;q=75"', text
    ),
    "picture behind options": lambda text, _: text.replace('"/img/', '"/cdn-cgi/image/width=400,quality=75/img/'),
    "picture behind options and a host": lambda text, _: text.replace(
        '"/img/', '"//resize.example/rs:fit:300/plain/https://site.example/img/'
    ),
    "picture of another size": lambda text, _: text.replace('.jpg"', '-640x480.webp"'),
    "picture opened by itself": lambda text, _: re.sub(r'(<img src="([^"]+)"[^>]*>)', r'<a href="\2">\1</a>', text),
    "word that may break": lambda text, _: re.sub(r"(?<=<p>)(\w\w)", r"\1<wbr>", text),
}


@pytest.mark.parametrize("name", PIECEMEAL)
def test_ours_what_says_the_same_in_another_way_is_no_edit_of_a_single_page(name: str) -> None:
    """A theme or a plug-in reaches the pages one by one, as their caches end: most pages show nothing of it yet."""
    site = Drawn(1)
    lab = Lab(site)
    lab.visit()
    lab.visit()
    for night in range(1, 4):
        site.change = lambda text, n, night=night: PIECEMEAL[name](text, n) if n < night else text
        assert lab.visit() == set()
    site.pages["/2"] = re.sub("/img/", "/img/another-", site.pages["/2"])
    site.pages["/9"] = re.sub("/img/", "/img/another-", site.pages["/9"])
    assert lab.visit() == {"/2", "/9"}


def test_ours_the_id_of_a_section_is_a_name_of_its_page() -> None:
    """Generators of manuals name each section after its heading, so all containers of a page are its own."""
    site = Drawn(2)

    def wrapped(text: str, n: int) -> str:
        return f'<section id="chapter-{"abcdefghij"[n % 10] * (n // 10 + 3)}">{text}</section>'

    site.change = wrapped
    lab = Lab(site)
    lab.visit()
    lab.visit()
    site.change = lambda text, n: wrapped(f"{text}<p class=cite>Cite it as {text[4:20]}</p>", n)
    site.pages["/5"] += f"<p>{sentence(site.rng, 9)}.</p>"
    assert lab.visit() == {"/5"}


def test_ours_a_statement_that_a_plugin_makes_again_on_all_pages_is_no_edit() -> None:
    site = Drawn(3)
    site.change = lambda text, _: f'<meta property="og:title" content="{text[4:20]}">{text}'
    lab = Lab(site)
    lab.visit()
    lab.visit()
    site.change = lambda text, _: "".join(f'<meta property="og:title" content="{text[4:n]}">' for n in (20, 30)) + text
    assert lab.visit() == set()


class Shop(Drawn):
    """Pages of products, each with its price, and with the cards of three others."""

    def __init__(self, seed: int, size: int) -> None:
        super().__init__(seed, size)
        self.prices = {n: 20 + n for n in range(size)}
        self.others = {n: [(n + step) % size for step in range(1, min(size, 6))] for n in range(size)}
        self.change = self._with_cards

    def _with_cards(self, text: str, n: int) -> str:
        cards = (
            f"<li><a href=/{m}><h2>{self.pages[f'/{m}'][4:20]}</h2><span class=price>£{self.prices[m]}.00</span></a>"
            for m in self.others[n]
        )
        return f"<p class=price>£{self.prices[n]}.00</p>{text}<ul>{''.join(cards)}</ul>"


@pytest.mark.parametrize("size", [6, 8, 30])
def test_ours_a_price_on_the_cards_of_other_pages_is_an_edit_of_its_own_page_only(size: int) -> None:
    site = Shop(4, size)
    lab = Lab(site)
    lab.visit()
    lab.visit()
    for product in (size - 1, 2, 3):
        site.prices[product] += 7
        assert lab.visit() == {f"/{product}"}


def test_ours_what_the_lists_of_several_pages_show_in_place_of_others_is_no_edit() -> None:
    site = Drawn(5)
    writers = {n: [n % 5, (n + 2) % 5, (n * 3 + 1) % 5] for n in range(30)}
    mottos = {writer: sentence(site.rng, 8) for writer in range(5)}
    site.change = lambda text, n: (
        text + "".join(f"<div class=post><q class=motto>{mottos[w]}</q></div>" for w in writers[n])
    )
    lab = Lab(site)
    lab.visit()
    lab.visit()
    for writer in range(3):
        mottos[writer] = sentence(site.rng, 8)
        site.pages["/7"] += f"<p>{sentence(site.rng, 9)}.</p>"
        assert lab.visit() == {"/7"}


def test_ours_a_sentence_that_an_author_gives_to_all_pages_is_an_edit_of_each_if_its_words_differ() -> None:
    site = Drawn(6)
    lab = Lab(site)
    lab.visit()
    lab.visit()
    written = site.rng.sample(sorted(site.pages), 24)
    for path in written:
        site.pages[path] += f"<p>{site.rng.randbytes(4).hex(' ', 1)} {sentence(site.rng, 9)}.</p>"
    assert lab.visit() == {*written}


@pytest.mark.parametrize("pages", [2, 3, 4])
def test_ours_a_sentence_among_the_paragraphs_of_several_pages_is_an_edit_of_each(pages: int) -> None:
    site = Drawn(7)
    site.pages = {path: f"{text}<p>{sentence(site.rng, 9)}.</p>" for path, text in site.pages.items()}
    lab = Lab(site)
    lab.visit()
    lab.visit()
    written, note = site.rng.sample(sorted(site.pages), pages), sentence(site.rng, 12)
    for path in written:
        site.pages[path] += f"<p>{note}.</p>"
    assert lab.visit() == {*written}


def test_ours_a_file_of_another_version_and_one_link_less_are_edits() -> None:
    site = Drawn(8)
    site.pages["/3"] += '<p>Read <a href="/v1.2/manual.pdf">the manual</a> first.</p>'
    site.pages["/4"] += (
        '<p>See <a href="https://else.example/a">here</a> or <a href="https://else.example/a">there</a>.</p>'
    )
    lab = Lab(site)
    lab.visit()
    lab.visit()
    site.pages["/3"] = site.pages["/3"].replace("/v1.2/", "/v1.3/")
    site.pages["/4"] = site.pages["/4"].replace('<a href="https://else.example/a">there</a>', "there")
    assert lab.visit() == {"/3", "/4"}


def test_ours_hours_that_change_on_three_pages_in_one_night_are_edits() -> None:
    site = Drawn(9)
    hours = {path: f"{7 + n % 4}:30 - {16 + n % 5}:30" for n, path in enumerate(site.pages)}
    site.change = lambda text, n: f"{text}<table><tr><td>Open<td>{hours[f'/{n}']}</table>"
    lab = Lab(site)
    lab.visit()
    lab.visit()
    for path, text in (("/2", "11:30 - 15:30"), ("/11", "12:30 - 14:30"), ("/20", "6:30 - 13:30")):
        hours[path] = text
    assert lab.visit() == {"/2", "/11", "/20"}


def test_ours_a_sentence_that_comes_beside_a_text_that_changes_by_itself_is_an_edit_of_each_page() -> None:
    site = Drawn(10)
    pool = [sentence(site.rng, 9) for _ in range(5)]
    drawn = {path: site.rng.sample(pool, 2) for path in site.pages}
    site.pages = {path: f"{text}<p>{sentence(site.rng, 9)}.</p>" for path, text in site.pages.items()}
    site.change = lambda text, n: f"{text}<p>{drawn[f'/{n}'][0]}</p>"
    lab = Lab(site)
    lab.visit()
    lab.visit()
    written, note = site.rng.sample(sorted(site.pages), 4), sentence(site.rng, 12)
    site.change = lambda text, n: f"{text}<p>{drawn[f'/{n}'][1]}</p>"
    for path in written:
        site.pages[path] += f"<p>{note}.</p>"
    assert lab.visit() == {*written}


def test_ours_a_sum_that_all_pages_state_is_no_price_of_each() -> None:
    site = Drawn(11)
    lab = Lab(site)
    for night in range(5):
        site.change = lambda text, _, night=night: f"<p class=bar>We have £{9414 + 31 * night} of £25,000.</p>{text}"
        assert lab.visit() == set() or not night


def test_ours_the_alternative_text_of_a_picture_counts_though_its_url_has_a_new_token_at_each_request() -> None:
    site = Drawn(12)
    tokens = random.Random(12)
    site.change = lambda text, _: re.sub(
        r'src="/img/', lambda _: f'src="https://img.example/{tokens.getrandbits(96):024x}/fit/', text
    )
    lab = Lab(site)
    lab.visit()
    assert lab.visit() == set()
    site.pages["/4"] = re.sub(r'alt="[^"]*', 'alt="People who wait for a ferry', site.pages["/4"])
    assert lab.visit() == {"/4"}
    site.pages["/5"] = re.sub(r'src="/img/[^"]*', 'src="/img/a-ferry.jpg', site.pages["/5"])
    assert lab.visit() <= {"/5"}


@pytest.mark.parametrize("counter", ["{0} people follow {1}", "{1}: {0} views", "{1} {0}"])
def test_ours_a_number_counts_though_a_counter_of_its_place_moves_at_each_request(counter: str) -> None:
    site = Drawn(13)
    counts = random.Random(13)
    site.pages = {path: f"{text}<p>In 1947, {sentence(site.rng, 6)}.</p>" for path, text in site.pages.items()}

    def change(text: str, n: int) -> str:
        paragraphs = text.split("<p>")
        paragraphs.insert(
            1 + n % len(paragraphs), f"{counter.format(counts.randint(10, 99), f'page {chr(97 + n)}')}</p>"
        )
        return "<p>".join(paragraphs)

    site.change = change
    lab = Lab(site)
    lab.visit()
    for _ in range(2):
        assert lab.visit() == set()
    site.pages["/4"] = site.pages["/4"].replace("1947", "1948")
    assert lab.visit() == {"/4"}


@pytest.mark.parametrize("seed", [0, 1, 2, 9, 13, 17])
def test_ours_a_quote_of_more_sentences_is_no_edit_where_quotes_are_shown_in_turn(seed: int) -> None:
    site = Drawn(seed, 14)

    def pool(size: int) -> list[str]:
        return [". ".join(sentence(site.rng, 6) for _ in range(site.rng.randint(1, 3))) for _ in range(size)]

    by_night, by_request, requests = pool(60), pool(12), random.Random(seed)
    lab = Lab(site)
    for night in range(7):
        drawn = [site.rng.choice(by_night) for _ in site.pages]

        def change(text: str, n: int, drawn: list[str] = drawn) -> str:
            quotes = (f"{drawn[n]}. <cite>A{n}</cite>", f"{requests.choice(by_request)}. <cite>B</cite>")
            return f"<div>{''.join(f'<blockquote>{quote}</blockquote>' for quote in quotes)}</div>{text}"

        site.change = change
        assert lab.visit() == set() or night < 2


@pytest.mark.parametrize(
    ("place", "shown"),
    [(r"\Z", "<h2>{}</h2>"), (r"\Z", "<p>{}.</p>"), (r'alt="[^"]*', 'alt="{}'), ("<figcaption>", "<figcaption>{} ")],
)
def test_ours_an_edit_that_has_only_words_of_the_title_counts_in_the_night_of_a_theme(place: str, shown: str) -> None:
    site = Drawn(17)
    lab = Lab(site)
    lab.visit()
    lab.visit()
    site.change = lambda text, _: text.replace("<figcaption>", "<figcaption>Photo of the council: ")
    first, second, third, *_ = site.pages["/5"].removeprefix("<h1>").split()
    site.pages["/5"] = re.sub(place, shown.format(f"{third} {first} {second}"), site.pages["/5"], count=1)
    # words of the title in a text that the theme changes, too, may be those of the theme
    assert lab.visit() == (set() if "figcaption" in place else {"/5"})


@pytest.mark.parametrize("rare", [1, 2])
def test_ours_a_name_of_few_pages_in_a_sentence_that_a_theme_replaces_is_no_edit(rare: int) -> None:
    site = Drawn(18)

    def signed(text: str, n: int) -> str:
        return f"<p class=by>Posted by {'Ann Smith' if n >= rare else f'Zed{n} Quark{n}'} for the blog.</p>{text}"

    site.change = signed
    lab = Lab(site)
    lab.visit()
    lab.visit()
    site.change = lambda text, _: f"<p class=by>Staff article of the council.</p>{text}"
    assert lab.visit() == set()


@pytest.mark.parametrize("size", [8, 14, 30])
def test_ours_a_quote_that_stays_in_another_order_is_no_edit_where_quotes_are_shown_in_turn(size: int) -> None:
    site = Drawn(19, size)
    pool = [sentence(site.rng, 6) for _ in range(12)]
    lab = Lab(site)
    for night in range(7):
        drawn = [site.rng.sample(pool, 3) for _ in site.pages]

        def change(text: str, n: int, drawn: list[list[str]] = drawn) -> str:
            return f"<div>{''.join(f'<blockquote>{quote}.</blockquote>' for quote in drawn[n])}</div>{text}"

        site.change = change
        assert lab.visit() == set() or night < 2


def test_ours_numbers_beside_words_of_each_page_are_no_edits_if_they_move_on_most_pages_as_a_counter_does() -> None:
    site = Drawn(14, 40)
    places = [(site.rng.random(), site.rng.random()) for _ in site.pages]
    lab = Lab(site)
    for night in range(7):

        def change(text: str, n: int, night: int = night) -> str:
            rng, paragraphs = random.Random(f"{n} {night}"), [f"{sentence(random.Random(n), 9)} {k}" for k in "abcd"]
            own = f"In Port{chr(97 + n % 26)}{chr(97 + n // 26)} {{}}"
            for at, shown in zip(places[n], ("{} views", own), strict=True):
                paragraphs.insert(int(at * len(paragraphs)), shown.format(rng.randint(10, 99)))
            return "".join(f"<p>{paragraph}.</p>" for paragraph in paragraphs) + text

        site.change = change
        assert lab.visit() == set() or night < 3


def test_ours_targets_move_by_themselves_where_whole_texts_do() -> None:
    """Boxes with the same label behind each link: sometimes they show as many links as in the night before."""
    site = Drawn(15, 40)
    lab = Lab(site)
    for night in range(8):

        def change(text: str, n: int, night: int = night) -> str:
            rng = random.Random(f"{n} {night}")
            goods = rng.sample("abcdefghijkl", rng.randint(2, 5))
            links = "".join(f"<a href='/shop/{name * 5}'>Buy now</a>" for name in goods)
            return f"{text}<div class=ad>{links}</div>" if n % 4 == 0 else text

        site.change = change
        assert lab.visit() == set() or night < 3


@pytest.mark.parametrize("size", [8, 14, 40])
def test_ours_a_text_that_an_author_adds_to_a_box_with_one_rotating_text_is_an_edit(size: int) -> None:
    site = Drawn(16, size)
    quotes, requests = [sentence(site.rng, 6) for _ in range(12)], random.Random(16)
    notes: dict[int, str] = {}
    site.change = lambda text, n: f"<div class=box><p>{requests.choice(quotes)}.</p>{notes.get(n, '')}</div>{text}"
    lab = Lab(site)
    for night in range(7):
        edited = site.rng.randrange(size)
        if night > 2:
            notes[edited] = notes.get(edited, "") + f"<p>{sentence(site.rng, 8)}.</p>"
        assert lab.visit() == ({f"/{edited}"} if night > 2 else set()) or night < 2


def test_ours_an_age_beside_a_date_is_no_edit() -> None:
    site = Drawn(20, 12)
    lab = Lab(site)
    for night in range(6):
        site.change = lambda text, n, night=night: (
            f"<p>By Peter Moreau on {1 + n} February 2025 in Reef · Posted {2 + (n + night) // 4} weeks ago</p>{text}"
        )
        assert lab.visit() == set() or night < 2
    site.change = lambda text, n, change=site.change: change(text, n).replace(" 5 February", " 6 February")
    assert lab.visit() == {"/4"}


def test_ours_a_grid_of_products_in_another_order_on_each_page_is_no_edit() -> None:
    site = Drawn(21, 20)
    cards = [f"<div class=item><p>{sentence(site.rng, 4)}</p><p>£{8 + n % 3}.00</p></div>" for n in range(8)]
    lab = Lab(site)
    for night in range(5):
        order = random.Random(night)
        site.change = lambda text, _, order=order: f"{text}<div class=grid>{''.join(order.sample(cards, 8))}</div>"
        assert lab.visit() == set() or night < 2


def test_ours_tiles_of_other_products_in_links_are_no_prices_of_the_page() -> None:
    site = Drawn(22, 24)
    kinds = ("Yeast", "Lagoon", "Paint")
    tiles = [
        f"<a class=tile href=/{n}><span class=cat>{kinds[n % 3]}</span><span class=t>{sentence(site.rng, 3)}</span>"
        f"<span class=price>£{7 * n + 5}.00</span></a>"
        for n in range(24)
    ]
    lab = Lab(site)
    for night in range(9):

        def change(text: str, n: int, week: int = night // 3) -> str:
            return f"{text}<section><h3>More</h3>{''.join(random.Random(f'{n} {week}').sample(tiles, 3))}</section>"

        site.change = change
        assert lab.visit() == set()


def test_ours_words_that_a_shop_adds_to_prices_that_stay_are_no_edit_and_a_new_price_is_one() -> None:
    site = Drawn(23, 20)
    site.pages = {path: f"{text}<p class=price>£{100 + n}.00</p>" for n, (path, text) in enumerate(site.pages.items())}
    lab = Lab(site)
    lab.visit()
    lab.visit()
    site.change = lambda text, _: text.replace(".00</p>", ".00 <small>incl. VAT</small></p>")
    assert lab.visit() == set()
    site.pages["/7"] = site.pages["/7"].replace("£107", "£99")
    assert lab.visit() == {"/7"}


def test_ours_a_typo_in_a_sentence_that_cards_of_other_pages_show_is_an_edit_of_its_page() -> None:
    site = Drawn(24, 20)
    site.pages = {path: f"<p>{sentence(site.rng, 9)}.</p>{text}" for path, text in site.pages.items()}

    def change(text: str, n: int) -> str:
        first = (site.pages[f"/{(n + k) % 20}"].partition("</p>")[0] for k in (1, 2, 3))
        return text + "".join(f"<div class=card><a href=/{n}>More</a>{each}</p></div>" for each in first)

    site.change = change
    lab = Lab(site)
    lab.visit()
    lab.visit()
    begin, _, rest = site.pages["/9"].partition(" ")
    site.pages["/9"] = f"{begin}x {rest}"
    assert lab.visit() == {"/9"}
