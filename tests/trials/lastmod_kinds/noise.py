"""What a noise is: something that pages show or not, in a slot or as a change of their HTML, and that no author did.

Pure.
"""

import random
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from tests.trials.lastmod_kinds.site import Contents, View
from tests.trials.lastmod_kinds.theme import Theme


@dataclass(frozen=True)
class Moment:
    """When a page is asked for: the night, how often the site was built until then, and the requests until then."""

    night: int
    build: int
    request: int


@dataclass
class Scene:
    """A site, its theme, and what varies on it."""

    site: Contents
    theme: Theme
    noises: list["Noise"] = field(default_factory=list)

    def render(self, view: View, now: Moment) -> str:
        """The HTML that a visitor gets, with ``theme.ORIGIN`` as its origin."""
        on = [noise for noise in self.noises if noise.is_on(now.night) and noise.takes(view)]
        pieces: dict[str, str] = {}
        for noise in on:
            for slot, html in noise.pieces(view, now).items():
                pieces[slot] = pieces.get(slot, "") + html
        html = self.theme.page(self.site, view, lambda slot: pieces.get(slot, ""))
        for noise in on:
            html = noise.change(html, view, now)
        return html


def _none(view: View, now: Moment) -> Mapping[str, str]:
    return {}


def _same(html: str, view: View, now: Moment) -> str:
    return html


Pieces = Callable[[View, Moment], Mapping[str, str]]
Change = Callable[[str, View, Moment], str]


@dataclass
class Noise:
    """Something that no author did, from night ``since`` until before night ``until``."""

    name: str
    pieces: Pieces = _none
    change: Change = _same
    since: int = 0
    until: int = 999
    takes: Callable[[View], bool] = lambda view: True
    group: str = ""  # what it is a case of, for the tables

    def is_on(self, night: int) -> bool:
        return self.since <= night < self.until

    def when(self) -> str:
        return f"{self.name} from night {self.since}" + (f" until before {self.until}" if self.until < 999 else "")


Maker = Callable[[random.Random, Scene], Noise]


def effect(scene: Scene, noises: list[Noise], night: int = 0) -> float:
    """The share of the documents that show these noises in a night."""
    views = [View(doc.path, doc.template, doc.title, doc.section, doc) for doc in scene.site.docs]
    plain, noisy = (Scene(scene.site, scene.theme, each) for each in ([], noises))
    now = Moment(night, night, night)
    return sum(plain.render(view, now) != noisy.render(view, now) for view in views) / len(views)


def registry(makers: dict[str, Maker]) -> Callable[[Maker], Maker]:
    """A decorator that names a maker after its function."""

    def put(maker: Maker) -> Maker:
        name = maker.__name__.strip("_").replace("_", " ")

        def make(rng: random.Random, scene: Scene) -> Noise:
            noise = maker(rng, scene)
            noise.group = name
            return noise

        makers[name] = make
        return maker

    return put


def drawn(*of: object) -> random.Random:
    """A random generator of its own for these values."""
    return random.Random(" ".join(map(str, of)))


def some(rng: random.Random, share: float) -> Callable[[View], bool]:
    """The pages of a share of the site: always the same ones."""
    seed = rng.random()
    return lambda view: share >= 1 or drawn(seed, view.path).random() < share


def token(rng: random.Random, length: int = 12) -> str:
    return "".join(rng.choice("0123456789abcdefghijkmnpqrstuvwxyz") for _ in range(length))


_TEXT = re.compile(r"(<(script|style|code)\b.*?</\2>|<[^>]*>)", re.DOTALL)


def texts(html: str, change: Callable[[str], str]) -> str:
    """The HTML with another wording of its texts: not of tags, scripts or code."""
    parts = _TEXT.split(html)
    parts[::3] = [change(part) if part and not part.isspace() else part for part in parts[::3]]
    del parts[2::3]  # the name of the element
    return "".join(parts)


def within(html: str, change: Callable[[str], str], begin: str = "<main", end: str = "</main>") -> str:
    """The HTML with a change between two marks."""
    before, mark, rest = html.partition(begin)
    inside, close, after = rest.partition(end)
    return before + change(mark + inside + close) + after if close else html


def joined(items: Iterable[str]) -> str:
    return "".join(items)
