"""What a template changes inside the texts of its pages, and what it shows on some of them, drawn at random."""

import random
import re
from collections.abc import Callable

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
