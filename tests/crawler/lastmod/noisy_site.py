"""Sites whose pages real edits and random noise change: both are drawn, from slots, not from a list of known noises."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

_SYLLABLES: Final = (
    "ba",
    "ce",
    "di",
    "fo",
    "gu",
    "ka",
    "le",
    "mi",
    "no",
    "pu",
    "ra",
    "se",
    "ti",
    "vo",
    "zu",
    "shi",
    "tra",
    "gre",
)
TEMPLATES: Final = ("article", "product", "list")


def words(rng: random.Random, count: int) -> str:
    """Words that no other page has, most likely."""
    return " ".join("".join(rng.choices(_SYLLABLES, k=rng.randint(1, 4))) for _ in range(count))


def sentence(rng: random.Random, count: int = 12) -> str:
    return words(rng, count).capitalize() + "."


@dataclass
class Page:
    """What editors decide of one page."""

    path: str
    template: str
    title: str
    prose: list[str]
    description: str
    author: str
    image: str
    alt: str
    price: float
    in_stock: bool
    rows: list[list[str]]
    items: list[str]
    links: list[tuple[str, str]]


@dataclass(frozen=True)
class Noise:
    """What varies by itself: ``kind`` of values at an ``anchor`` of some ``pages``, anew at each step of a ``cadence``.

    ``pool`` is the number of values, 0 for values that never come twice. ``share`` is that of the pages where it moves
    at a step.
    """

    seed: int
    kind: str  # text, number, link, picture, card, order, token
    anchor: str
    carrier: str
    cadence: str  # request, run, visit, tick
    pages: frozenset[str]
    pool: int
    share: float = 1.0

    def rng(self, path: str, step: int) -> random.Random:
        return random.Random(f"{self.seed} {path} {step}")


ANCHORS: Final = ("head", "prose start", "prose middle", "prose end", "aside", "bottom", "inline", "data")
KINDS: Final = ("text", "number", "link", "picture", "card", "order", "token")
CADENCES: Final = ("request", "run", "visit", "tick")


def draw_noise(rng: random.Random, paths: list[str]) -> Noise:
    """A noise at random."""
    kind = rng.choice(KINDS)
    cadence = rng.choice(CADENCES)
    if cadence == "visit" and kind != "number":
        cadence = "request"
    share = 1.0
    if cadence == "tick":
        if kind == "number":
            share = rng.choice((0.03, 0.1, 0.3))
        else:
            cadence = "run"
    anchor = rng.choice(ANCHORS)
    if kind in {"card", "order", "picture", "link"} and anchor in {"inline", "data"}:
        anchor = "aside"
    if kind == "text" and anchor == "inline":
        anchor = "prose end"
    carrier = rng.choice(("div.box", "p", "div"))
    count = rng.choice((len(paths), max(4, len(paths) * 3 // 10), max(3, len(paths) * 3 // 100)))
    pool = rng.choice((2, 5, 12, 40, 0))
    if kind in {"card", "link"}:
        pool = 0
    if cadence == "run" and pool == 0 and anchor == "inline":
        pool = 5
    return Noise(
        rng.randrange(1 << 30), kind, anchor, carrier, cadence, frozenset(rng.sample(paths, count)), pool, share
    )


@dataclass
class NoisySite:
    """A site of ``size`` pages with ``noises``. ``render`` is one request."""

    seed: int
    size: int
    fingerprints: bool = False
    noises: list[Noise] = field(default_factory=list)
    pages: dict[str, Page] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)
        self.run = 0
        self.requests: dict[str, int] = {}
        self.ticks: dict[tuple[int, str], int] = {}
        self.banner: dict[str, str] = {}
        for n in range(self.size):
            template = "product" if n % 3 == 1 else "list" if n % 10 == 9 else "article"
            path = f"/{template}s/{n}.html"
            rng = self.rng
            self.pages[path] = Page(
                path,
                template,
                words(rng, 4).title(),
                [sentence(rng, rng.randint(8, 30)) for _ in range(rng.randint(3, 9))],
                sentence(rng, 9),
                rng.choice(("Ada", "Bob", "Cyd", "Dan")),
                f"/img/{words(rng, 1)}-{n}.jpg",
                words(rng, 3),
                round(rng.uniform(3, 300), 2),
                rng.random() < 0.8,
                [["Weight", f"{rng.randint(1, 90)} kg"], ["Colour", rng.choice(("red", "blue", "green"))],
                 ["Year", str(rng.randint(1980, 2020))]],
                [words(rng, 3) for _ in range(rng.randint(2, 5))],
                [],
            )  # fmt: skip

    # ------------------------------------------------------------- noise

    def next_run(self) -> None:
        """Another day: what visitors and nightly jobs move has moved."""
        self.run += 1
        for noise in self.noises:
            if noise.cadence == "tick":
                for path in noise.pages:
                    if self.rng.random() < noise.share:
                        key = noise.seed, path
                        self.ticks[key] = self.ticks.get(key, 0) + self.rng.randint(1, 9)

    def _noise(self, noise: Noise, path: str) -> str:
        requests = self.requests[path]
        if noise.kind == "number":
            base = random.Random(f"{noise.seed} {path}").randint(3, 5000)
            step = {
                "request": lambda: noise.rng(path, requests).randint(1, 400),
                "run": lambda: base + self.run * 3 + noise.rng(path, self.run).randint(0, 2),
                "visit": lambda: base + requests,
                "tick": lambda: base + self.ticks.get((noise.seed, path), 0),
            }[noise.cadence]()
            unit = random.Random(noise.seed).choice(("views", "likes", "in the basket", "Readers:"))
            return f"{unit} {step}" if unit.endswith(":") else f"{step} {unit}"
        step = requests if noise.cadence == "request" else self.run
        rng = noise.rng(path, step)
        if noise.kind == "token":
            return f"ref {rng.randbytes(8).hex()}"
        if noise.kind == "text":
            return self._value(noise, rng)
        if noise.kind == "picture":
            return f"<img src='/ads/{rng.randrange(noise.pool or 10**9)}.gif' alt='{self._value(noise, rng)}'>"
        others = sorted(self.pages)
        if noise.kind == "order":
            fixed = noise.rng(path, -1).sample(others, min(4, len(others)))
            rng.shuffle(fixed)
            return " ".join(f"<a href={each}>{self.pages[each].title}</a>" for each in fixed)
        chosen = [self.pages[each] for each in rng.sample(others, min(3, len(others)))]
        if noise.kind == "link":
            return "<ul>" + "".join(f"<li><a href={each.path}>{each.title}</a></li>" for each in chosen) + "</ul>"
        return "".join(
            f"<div class=card><a href={each.path}><img src={each.image} alt=''></a><h4>{each.title}</h4>"
            f"<p>{each.description}</p></div>"
            for each in chosen
        )

    def _value(self, noise: Noise, rng: random.Random) -> str:
        if noise.pool:
            rng = random.Random(f"{noise.seed} {rng.randrange(noise.pool)}")
        return sentence(rng, 7)

    def render(self, path: str) -> bytes:
        """One answer to one request."""
        self.requests[path] = self.requests.get(path, 0) + 1
        page = self.pages[path]
        at: dict[str, list[str]] = {anchor: [] for anchor in ANCHORS}
        for n, noise in enumerate(self.noises):
            if path in noise.pages:
                text = self._noise(noise, path)
                if noise.anchor in {"inline", "data"}:
                    at[noise.anchor].append(text)
                else:
                    tag, _, name = noise.carrier.partition(".")
                    if "<div" in text or "<ul" in text:
                        tag = "div"
                    at[noise.anchor].append(f"<{tag}{f' class={name}{n}' if name else ''}>{text}</{tag}>")
        mark = random.Random(f"{path} {self.run}").randbytes(4).hex()
        image = page.image.replace(".jpg", f".{mark}.jpg") if self.fingerprints else page.image
        price = f'"offers":{{"price":"{page.price:.2f}","availability":"{"In" if page.in_stock else "OutOf"}Stock"}},'
        extra = "".join(f'"x{n}":"{text}",' for n, text in enumerate(at["data"]))
        middle = len(page.prose) // 2
        prose = [f"<p>{text}</p>" for text in page.prose]
        prose += [f"<p>See <a href={href}>{text}</a> too.</p>" for href, text in page.links]
        if at["inline"]:
            prose[0] = prose[0].replace("</p>", f" <b>{' '.join(at['inline'])}</b></p>")
        prose[middle:middle] = at["prose middle"]
        lines = [
            f"<html><head><title>{page.title}</title><meta name=description content='{page.description}'>",
            '<script type="application/ld+json">{"@type":"Thing",' + (price if page.template == "product" else ""),
            f'{extra}"author":"{page.author}"}}</script></head><body><nav><a href=/>Home</a></nav>',
            f"<main><article><h1>{page.title}</h1>{''.join(at['head'])}",
            f"<p class=by>By {page.author}</p><figure><img src='{image}' alt='{page.alt}'></figure>",
            f"<div class=text>{''.join(at['prose start'])}{''.join(prose)}",
            f"{self.banner.get(path, '')}{''.join(at['prose end'])}</div>",
        ]
        if page.template == "product":
            lines.append(
                f"<p class=price>&euro; {page.price:.2f}</p><p>{'In stock' if page.in_stock else 'Sold out'}</p>"
            )
            lines += ["<table>", *(f"<tr><th>{k}</th><td>{v}</td></tr>" for k, v in page.rows), "</table>"]
        if page.template == "list":
            lines += ["<ul class=entries>", *(f"<li>{each}</li>" for each in page.items), "</ul>"]
        lines.append(f"</article><aside><h3>More</h3>{''.join(at['aside'])}</aside></main>")
        lines.append(f"<div class=bottom>{''.join(at['bottom'])}<p>Acme Corp, Harbour Road</p></div></body></html>")
        return "".join(lines).encode()

    # ------------------------------------------------------------- edits

    def edit(self, count: int) -> dict[str, str]:
        """Edit some pages, each in one way; the paths with the kind of the edit."""
        done = {}
        for path in self.rng.sample(sorted(self.pages), min(count, len(self.pages))):
            page = self.pages[path]
            kinds = [*_EDITS, *(_PRODUCT_EDITS if page.template == "product" else ())]
            if page.template == "list":
                kinds += _LIST_EDITS
            kind = self.rng.choice(kinds)
            _ALL_EDITS[kind](page, self.rng)
            done[path] = kind
        return done

    def edit_section(self) -> dict[str, str]:
        """All prices rise, or every article gets a paragraph of its own."""
        kind = self.rng.choice(("prices", "paragraphs"))
        template = "product" if kind == "prices" else "article"
        done = {path: kind for path, page in self.pages.items() if page.template == template}
        for path in done:
            page = self.pages[path]
            if kind == "prices":
                page.price = round(page.price * 1.05, 2)
            else:
                page.prose.append(sentence(self.rng))
        return done


def _insert(page: Page, rng: random.Random) -> None:
    page.prose.insert(rng.randint(0, len(page.prose)), sentence(rng))


def _remove(page: Page, rng: random.Random) -> None:
    if len(page.prose) > 2:
        page.prose.pop(rng.randrange(len(page.prose)))
    else:
        _insert(page, rng)


def _rewrite(page: Page, rng: random.Random) -> None:
    page.prose[rng.randrange(len(page.prose))] = sentence(rng)


def _one_word(page: Page, rng: random.Random) -> None:
    at = rng.randrange(len(page.prose))
    parts = page.prose[at].split()
    parts[rng.randrange(len(parts))] = words(rng, 1) + "x"
    page.prose[at] = " ".join(parts)


def _figure(page: Page, rng: random.Random) -> None:
    at = rng.randrange(len(page.prose))
    known = page.prose[at].split()
    if known[0].isdigit():
        known[0] = str(int(known[0]) + 1)
        page.prose[at] = " ".join(known)
    else:
        page.prose[at] = f"{rng.randint(10, 99)} {page.prose[at]}"


def _set(name: str, make: Callable[[random.Random], object]) -> Callable[[Page, random.Random], None]:
    def change(page: Page, rng: random.Random) -> None:
        value = make(rng)
        while value == getattr(page, name):
            value = make(rng)
        setattr(page, name, value)

    return change


def _add_link(page: Page, rng: random.Random) -> None:
    page.links.append((f"/articles/{rng.randrange(99)}.html", words(rng, 3)))


def _move_link(page: Page, rng: random.Random) -> None:
    if page.links:
        page.links[-1] = (f"/other/{rng.randrange(9999)}.html", page.links[-1][1])
    else:
        _add_link(page, rng)


def _raise(page: Page, rng: random.Random) -> None:
    page.price = round(page.price * rng.choice((0.9, 1.1, 1.25)), 2)


def _flip(page: Page, rng: random.Random) -> None:
    page.in_stock = not page.in_stock


def _row(page: Page, rng: random.Random) -> None:
    page.rows[1][1] = rng.choice([each for each in ("red", "blue", "green", "grey") if each != page.rows[1][1]])


def _weight(page: Page, rng: random.Random) -> None:
    page.rows[0][1] = f"{rng.randint(91, 999)} kg"


def _add_item(page: Page, rng: random.Random) -> None:
    page.items.insert(rng.randint(0, len(page.items)), words(rng, 3))


def _change_item(page: Page, rng: random.Random) -> None:
    page.items[rng.randrange(len(page.items))] = words(rng, 3)


_EDITS: Final[dict[str, Callable[[Page, random.Random], None]]] = {
    "insert": _insert,
    "remove": _remove,
    "rewrite": _rewrite,
    "one word": _one_word,
    "figure": _figure,
    "title": _set("title", lambda rng: words(rng, 4).title()),
    "description": _set("description", lambda rng: sentence(rng, 9)),
    "author": _set("author", lambda rng: rng.choice(("Ada", "Bob", "Cyd", "Dan"))),
    "image": _set("image", lambda rng: f"/img/{words(rng, 2).replace(' ', '-')}.jpg"),
    "alt": _set("alt", lambda rng: words(rng, 3)),
    "add link": _add_link,
    "move link": _move_link,
}
_PRODUCT_EDITS: Final = {"price": _raise, "stock": _flip, "row": _row, "weight": _weight}
_LIST_EDITS: Final = {"add item": _add_item, "change item": _change_item}
_ALL_EDITS: Final = {**_EDITS, **_PRODUCT_EDITS, **_LIST_EDITS}
