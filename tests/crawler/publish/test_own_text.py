"""Which pages lost their own text: drawn from a space of sites, disasters and honest changes."""

import random
from collections.abc import Callable

import pytest

from crawler.parse.snapshot.diff import compare
from crawler.parse.snapshot.snapshot import take_snapshot
from crawler.publish.own_text import ChangedPage, GainedText, OwnText, count_doubtful, shingles

Change = Callable[[random.Random, "Site", int], str]


class Site:
    """So many pages with a frame of ``shared`` words around ``own`` words of their own, from some language."""

    def __init__(self, draw: random.Random) -> None:
        self.pages = draw.choice((10, 30, 65, 200))
        self.own = draw.choice((30, 120, 500))
        self.language = [f"l{n}" for n in range(draw.choice((80, 400, 3_000)))]
        self.shared = " ".join(f"shared{n}" for n in range(draw.choice((0, 40, 300))))
        self._seed = draw.random()

    def text(self, n: int) -> list[str]:
        return random.Random(f"{self._seed} {n}").choices(self.language, k=self.own)

    def page(self, n: int, body: str | None = None) -> str:
        text = " ".join(self.text(n)) if body is None else body
        return (
            f"<title>Page {n}</title><nav>home</nav><main><div>{self.shared}</div><h1>Page {n}</h1><p>{text}</p></main>"
        )


DISASTERS: dict[str, Change] = {
    "login": lambda draw, site, n: site.page(n, "please log in to read this page " * draw.randrange(1, 4)),
    "empty": lambda draw, site, n: site.page(n, ""),
    "bare": lambda draw, site, n: "<h1>We are working on it</h1>",
    "another page": lambda draw, site, n: site.page(0),
    "with a number": lambda draw, site, n: site.page(
        n, f"error {draw.randrange(10**9)} happened, please come back later"
    ),
    "cut off": lambda draw, site, n: site.page(n, " ".join(site.text(n)[: int(site.own * draw.uniform(0.2, 0.7))])),
    "teaser": lambda draw, site, n: site.page(n, " ".join(site.text(n)[: site.own // 4]) + " read on as a subscriber"),
}
HONEST: dict[str, Change] = {
    "nothing": lambda draw, site, n: site.page(n),
    "prices": lambda draw, site, n: site.page(n, f"{' '.join(site.text(n))} now {draw.randrange(999)}.99 EUR"),
    "a new banner": lambda draw, site, n: site.page(n).replace(
        "<main>", f"<main><p>{'free parcels this week ' * 8}</p>"
    ),
    "another language": lambda draw, site, n: site.page(n, " ".join(f"fr{word}" for word in site.text(n))),
    "a new design": lambda draw, site, n: (
        f"<h1>{n}</h1><article>{' '.join(site.text(n))}</article><aside>new new new</aside>"
    ),
    "a shorter text": lambda draw, site, n: (
        f"<h1>Page {n}</h1><p>{' '.join(f'new{n}{word}' for word in site.text(n)[:30])}"
    ),
    "an edit": lambda draw, site, n: site.page(n, " ".join([*site.text(n)[5:], "and", "more", "of", str(n)])),
}


def versions(draw: random.Random, change: Change, *, hit: float) -> list[tuple[frozenset[int], frozenset[int], bool]]:
    site = Site(draw)
    struck = set(draw.sample(range(site.pages), max(4, int(hit * site.pages))))
    read = [
        (site.page(n), change(draw, site, n) if n in struck else site.page(n), n in struck) for n in range(site.pages)
    ]
    texts = {text: shingles(take_snapshot(text.encode())) for text in {text for a, b, _ in read for text in (a, b)}}
    return [(texts[a], texts[b], is_hit) for a, b, is_hit in read]


@pytest.mark.thorough
@pytest.mark.parametrize("name", [*DISASTERS, *HONEST])
def test_ours_differences_tell_of_no_page_that_lost_its_text_that_it_did_not(name: str) -> None:
    site = Site(random.Random(name))
    texts = [(site.page(n), {**DISASTERS, **HONEST}[name](random.Random(n), site, n)) for n in range(site.pages)]
    versions = [(take_snapshot(before.encode()), take_snapshot(now.encode())) for before, now in texts]
    found = [(shingles(before), shingles(now)) for before, now in versions]
    own = OwnText(found, max(3, len(found) // 20))
    changed = [ChangedPage("", compare(*pair), False) for pair in versions if pair[0] != pair[1]]
    doubtful, _ = count_doubtful(changed, max(3, len(found) // 20), len(changed) / 2)
    assert doubtful >= sum(own.is_lost(*each) for each in found)
    assert name in DISASTERS or doubtful == 0 or "new" in name or "shorter" in name


def test_ours_differences_tell_of_pages_that_gained_the_same_text_with_their_address() -> None:
    site, many = Site(random.Random(1)), 4
    notice = "<p>Warning: undefined variable in /{n}/x on line 7</p><main>"
    pairs = [(site.page(n), site.page(n).replace("<main>", notice.format(n=n))) for n in range(9)]
    deltas = [compare(take_snapshot(a.encode()), take_snapshot(b.encode())) for a, b in pairs]
    changed = [ChangedPage(f"https://example.com/{n}/x", delta, True) for n, delta in enumerate(deltas)]
    assert count_doubtful(changed, many, many) == (0, 9)


def test_ours_an_edited_text_that_lists_quote_is_no_message_unlike_one_in_place_of_what_pages_said_themselves() -> None:
    site = Site(random.Random(2))
    letters = random.Random(3)
    words = ["".join(letters.choices("abcdefghij", k=7)) for _ in range(28)]
    quote, later = (f"<p>{' '.join(some)}.</p>" for some in (words[:14], words[14:]))

    def gained(before: str, now: str) -> list[bool]:
        pairs = [(site.page(n).replace("<main>", f"<main>{each}") for each in (before, now)) for n in range(3)]
        found = [(shingles(take_snapshot(a.encode())), shingles(take_snapshot(b.encode()))) for a, b in pairs]
        texts = GainedText(found, 2.67)
        return [texts.is_repeated(*each) for each in found]

    assert gained(quote, later) == [False] * 3
    assert gained("", later) == [True] * 3
    assert gained(quote, "") == [False] * 3


SEEDS = pytest.mark.parametrize("seeds", [range(3), pytest.param(range(3, 40), marks=pytest.mark.slow)], ids=str)


@SEEDS
@pytest.mark.parametrize("name", DISASTERS)
def test_ours_pages_that_a_disaster_hits_lost_their_text(name: str, seeds: range) -> None:
    for seed in seeds:
        draw = random.Random(f"{name} {seed}")
        pages = versions(draw, DISASTERS[name], hit=draw.choice((0.3, 0.5, 1.0)))
        texts = OwnText(((before, now) for before, now, _ in pages), max(3, len(pages) // 5))
        lost = [texts.is_lost(before, now) for before, now, _ in pages]
        assert sum(a and b for a, (_, _, b) in zip(lost, pages, strict=True)) >= 0.95 * sum(b for _, _, b in pages) - 1
        assert not any(a and not b for a, (_, _, b) in zip(lost, pages, strict=True))


@pytest.mark.thorough
@SEEDS
@pytest.mark.parametrize("name", HONEST)
def test_ours_pages_that_change_honestly_keep_their_text(name: str, seeds: range) -> None:
    for seed in seeds:
        draw = random.Random(f"{name} {seed}")
        pages = versions(draw, HONEST[name], hit=1.0)
        texts = OwnText(((before, now) for before, now, _ in pages), max(3, len(pages) // 5))
        assert not any(texts.is_lost(before, now) for before, now, _ in pages), (name, seed)


def test_ours_a_new_page_that_says_what_the_lost_ones_say_is_one_of_them() -> None:
    site = Site(random.Random(1))
    now = [
        shingles(take_snapshot(site.page(n, "please log in to read this page, thank you").encode())) for n in range(9)
    ]
    before = [shingles(take_snapshot(site.page(n).encode())) for n in range(9)]
    texts = OwnText(zip(before, now, strict=True), 3)
    other = "<title>New</title><main><p>please log in to read this page, thank you</p></main>"
    assert texts.is_like_them(shingles(take_snapshot(other.encode())))
    assert not texts.is_like_them(shingles(take_snapshot(site.page(99).encode())))
