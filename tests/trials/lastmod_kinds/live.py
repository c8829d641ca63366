"""Kind I: contents that live, such as a weekly menu. Each change of them is an edit.

Pure.
"""

import random
from collections.abc import Callable
from datetime import timedelta

from tests.trials.lastmod_kinds.site import Block, Contents, Doc
from tests.trials.lastmod_kinds.theme import DAY_ONE
from tests.trials.lastmod_kinds.words import sentence, title, upper

Step = Callable[[int], list[tuple[Doc, str]]]
"""The edits of a night."""
Made = tuple[str, Step]
LIVE: dict[str, Callable[[random.Random, Contents, int], Made]] = {}
"""From the seed, the site and the number of nights."""


def _live(maker: Callable[[random.Random, Contents, int], Made]) -> Callable[[random.Random, Contents, int], Made]:
    name = maker.__name__.strip("_").replace("_", " ")

    def make(rng: random.Random, site: Contents, nights: int) -> Made:
        said, step = maker(rng, site, nights)
        return said, lambda night: [(doc, f"{name}: {what}") for doc, what in step(night)]

    LIVE[name] = make
    return maker


def _put(rng: random.Random, site: Contents, kind: str, lines: list[str]) -> tuple[Doc, Block]:
    """A new block in one document."""
    doc, new = rng.choice(site.docs), Block(kind, lines)
    doc.blocks.insert(rng.randrange(1, len(doc.blocks) + 1), new)
    return doc, new


def _rewritten(rng: random.Random, site: Contents, every: int, kind: str, lines: Callable[[int], list[str]]) -> Step:
    """A block of one document that is written anew every so many nights."""
    doc, new = _put(rng, site, kind, lines(0))
    first = rng.randrange(every)

    def step(night: int) -> list[tuple[Doc, str]]:
        if night % every != first:
            return []
        before, new.lines = new.lines, lines(night)
        return [(doc, f"{before[-1]!r} → {new.lines[-1]!r}")] if new.lines != before else []

    return step


@_live
def _weekly_menu(rng: random.Random, site: Contents, nights: int) -> Made:
    every = rng.choice((7, 7, 5, 1))
    days = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")

    def lines(night: int) -> list[str]:
        return [f"{day}: {rng.choice(site.topic.objects)} with {rng.choice(site.topic.nouns)}" for day in days]

    return f"a menu every {every} nights", _rewritten(rng, site, every, rng.choice(("list", "paragraph")), lines)


@_live
def _version(rng: random.Random, site: Contents, nights: int) -> Made:
    every, wording = (
        rng.choice((1, 2, 3, 5)),
        rng.choice(("The current version is {}.", "Download {} here.", "Latest release: {}")),
    )
    kind, big = rng.choice(("paragraph", "heading", "code", "list")), rng.randrange(1, 9)

    def lines(night: int) -> list[str]:
        return [wording.format(f"{big}.{night // 4}.{night}")]

    return f"a version every {every} nights in a {kind}", _rewritten(rng, site, every, kind, lines)


@_live
def _tides(rng: random.Random, site: Contents, nights: int) -> Made:
    kind = rng.choice(("table", "table", "paragraph"))

    def lines(night: int) -> list[str]:
        times = [(night * 50 + at * 372) % 1440 for at in range(4)]
        said = [
            (f"{'High' if at % 2 else 'Low'} water", f"{t // 60:02}:{t % 60:02}", f"{rng.uniform(0.2, 5):.1f} m")
            for at, t in enumerate(times)
        ]
        return ["|".join(each) for each in said] if kind == "table" else [f"{a} at {b}, {c}." for a, b, c in said]

    return f"a tide table in a {kind}", _rewritten(rng, site, 1, kind, lines)


@_live
def _rates(rng: random.Random, site: Contents, nights: int) -> Made:
    values = {
        name: rng.uniform(0.5, 200)
        for name in rng.sample(("USD", "JPY", "CHF", "SEK", "PLN", "GBP", "INR"), rng.randrange(2, 6))
    }

    def lines(night: int) -> list[str]:
        for name in values:
            values[name] *= rng.uniform(0.98, 1.02)
        return [f"{name}|{value:.4f}|for one euro" for name, value in values.items()]

    return "exchange rates", _rewritten(rng, site, 1, "table", lines)


@_live
def _events(rng: random.Random, site: Contents, nights: int) -> Made:
    every, lines = rng.choice((1, 2, 4)), [_event(rng, site, 5 + at) for at in range(5)]
    doc, block = _put(rng, site, rng.choice(("list", "table")), lines)

    def step(night: int) -> list[tuple[Doc, str]]:
        if night % every:
            return []
        block.lines = [*block.lines[rng.randrange(2) :], _event(rng, site, night + 12)]
        return [(doc, block.lines[-1])]

    return f"an event every {every} nights in a {block.kind}", step


def _event(rng: random.Random, site: Contents, day: int) -> str:
    return f"{DAY_ONE + timedelta(days=day):%d %B}: {title(rng, site.topic)}|{rng.randrange(9, 22)}:30"


@_live
def _opening_hours(rng: random.Random, site: Contents, nights: int) -> Made:
    lines = [
        f"{day}|{rng.randrange(7, 11)}:00|{rng.randrange(16, 22)}:00"
        for day in ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat")
    ]
    every = rng.choice((2, 3, 6))
    doc, block = _put(rng, site, "table", lines)

    def step(night: int) -> list[tuple[Doc, str]]:
        if night % every:
            return []
        at = rng.randrange(len(lines))
        day, begin, end = block.lines[at].split("|")
        block.lines[at] = f"{day}|{begin}|{(int(end[:-3]) - 15) % 8 + 16}:00"
        return [(doc, block.lines[at])]

    return f"opening hours every {every} nights", step


def _products(site: Contents) -> list[Doc]:
    return [doc for doc in site.docs if doc.template == "product"]


@_live
def _stock_of_one(rng: random.Random, site: Contents, nights: int) -> Made:
    chosen = rng.choice(_products(site))
    chance = rng.choice((0.4, 1.0))

    def step(night: int) -> list[tuple[Doc, str]]:
        if rng.random() > chance:
            return []
        chosen.stock += rng.choice((-2, -1, 30)) if chosen.stock > 3 else 50
        return [(chosen, f"stock {chosen.stock}")]

    return "stock of one product", step


@_live
def _moving_prices(rng: random.Random, site: Contents, nights: int) -> Made:
    share = rng.choice((0.0, 0.3, 1.0))
    chosen = [doc for doc in _products(site) if rng.random() < share] or [rng.choice(_products(site))]

    def step(night: int) -> list[tuple[Doc, str]]:
        for doc in chosen:
            doc.price = int(doc.price * rng.uniform(0.9, 1.1)) + 1 + rng.randrange(9)
        return [(doc, f"price {doc.price}") for doc in chosen]

    return f"prices of {len(chosen)} products each night", step


@_live
def _price_rise(rng: random.Random, site: Contents, nights: int) -> Made:
    at, factor = rng.randrange(2, nights), rng.choice((1.03, 1.1, 0.8))

    def step(night: int) -> list[tuple[Doc, str]]:
        if night != at:
            return []
        for doc in _products(site):
            doc.price = int(doc.price * factor) + 1
        return [(doc, f"price {doc.price}") for doc in _products(site)]

    return f"all prices times {factor}", step


@_live
def _sentence_in_a_section(rng: random.Random, site: Contents, nights: int) -> Made:
    part, name, _ = rng.choice(site.sections)
    at, line = rng.randrange(2, max(3, nights - 9)), sentence(rng, site.topic)
    docs = [doc for doc in site.docs if doc.section == part]

    def step(night: int) -> list[tuple[Doc, str]]:
        if night != at:
            return []
        for doc in docs:
            paragraph = rng.choice([each for each in doc.blocks if each.kind == "paragraph"])
            paragraph.lines.insert(rng.randrange(len(paragraph.lines) + 1), line)
        return [(doc, line) for doc in docs]

    return f"a sentence in the {len(docs)} texts of {name}", step


@_live
def _status(rng: random.Random, site: Contents, nights: int) -> Made:
    parts = [upper(noun) for noun in rng.sample(site.topic.nouns, 5)]
    states = ("operational", "degraded performance", "major outage", "under maintenance")
    doc, block = _put(rng, site, rng.choice(("list", "table")), [f"{each}: {states[0]}" for each in parts])
    chance = rng.choice((0.3, 0.8))

    def step(night: int) -> list[tuple[Doc, str]]:
        if rng.random() > chance:
            return []
        at = rng.randrange(len(parts))
        now = block.lines[at].rpartition(": ")[2]
        block.lines[at] = f"{parts[at]}: {rng.choice([each for each in states if each != now])}"
        return [(doc, block.lines[at])]

    return "a status page", step
