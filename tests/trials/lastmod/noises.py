"""What varies on a page without an edit: a value, in a place of a template, moving in some way, on some of the pages.

A noise is drawn from the product of these four, so that nobody can write them all down. Left out is only what nobody
could tell from an edit, whoever looks: a value of no shared pool that changes seldom and on few pages. So a noise that
does not move in every run stands on at least ``MIN_SELDOM`` pages; where a site has no room for that, it moves always.
"""

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import lxml.html
from lxml.html import HtmlElement

from tests.trials.lastmod.page import MARK, Page, token
from tests.trials.lastmod.prose import NAMES, WORDS, sentence, title

DAY_ONE = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Moment:
    """When a page is asked for: ``visits`` of it so far, ``requests`` of the whole site, ``run`` of the crawler."""

    run: int
    requests: int
    visits: int

    @property
    def clock(self) -> datetime:
        return DAY_ONE + timedelta(days=self.run, seconds=self.requests)


BLOCKS = ("header", "sidebar", "footer", "main-top", "main-between", "main-end", "after-main")
INLINE = ("sentence", "heading", "bare-sentence")
HEAD = ("jsonld", "meta", "head-script")
ATTRIBUTES = ("data-attribute", "class", "id", "title-attribute")
ANYWHERE = (*BLOCKS, *INLINE)
PLAIN = ("jsonld", "meta", "data-attribute")

STEADY = ("request", "run", "run-shared", "rotation", "rotation-request")
SELDOM = ("cached", "now-and-then")
ONCE = ("once", "for-a-while")  # a new box, the same on all pages of the site: on some of them it may be an edit
MIN_SELDOM = 5
COUNTED = ("counter", "counter-some", "counter-own", "counter-site", "walk")
SPREADS = ("all", "template", "half", "tenth", "three")

# value: where it can stand, and how it can move
SPACE: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "count": ((*ANYWHERE, *PLAIN), (*COUNTED, *STEADY, *SELDOM)),
    "money": ((*BLOCKS, "sentence", "jsonld"), ("request", "run", "walk", "run-shared")),
    "rating": ((*BLOCKS, "sentence", "jsonld"), (*COUNTED, "request", "run")),
    "stock": ((*BLOCKS, "sentence"), ("counter-some", "walk", "request", "run")),
    "measure": ((*BLOCKS, "sentence"), ("walk", "run", "run-shared", "request")),
    "ago": ((*BLOCKS, "sentence"), ("counter", "request", "run")),
    "clock": ((*ANYWHERE, *PLAIN), ("request", "run-shared")),
    "sentence": ((*BLOCKS, "sentence"), (*STEADY, *SELDOM, *ONCE)),
    "name": ((*BLOCKS, "sentence"), (*STEADY, *SELDOM, *ONCE)),
    "two-variants": ((*BLOCKS, "heading", "sentence"), ("request",)),
    "link": ((*BLOCKS, "sentence"), (*STEADY, *SELDOM, *ONCE)),
    "links": (BLOCKS, (*STEADY, *SELDOM, *ONCE)),
    "cards": (BLOCKS, (*STEADY, *SELDOM, *ONCE)),
    "tag-cloud": (BLOCKS, (*STEADY, "cached")),
    "picture": (BLOCKS, (*STEADY, *SELDOM, *ONCE)),
    "ad": (BLOCKS, ("request", "run", "rotation-request", "rotation", *ONCE)),
    "alt-text": (BLOCKS, ("request", "run", "rotation")),
    "table": (BLOCKS, ("request", "walk", "run-shared")),
    "token": ((*ATTRIBUTES, *PLAIN, "head-script"), ("request", "run", "run-shared", "now-and-then")),
    "hidden-input": (("header", "footer", "main-end", "sidebar"), ("request", "run")),
    "comment": ((*BLOCKS,), ("request", "run", "now-and-then")),
    "order": (("main-list", "menu", "new-list"), ("request", "run", "run-shared", "cached")),
    "whitespace": (("everywhere",), ("request", "run", "run-shared")),
    "asset-hash": (("everywhere",), ("run-shared", "request")),
    "picture-hash": (("everywhere",), ("run-shared",)),
}
# well known ones, each a point of the space or close to it: value, place, dynamics
KNOWN: dict[str, tuple[str, str, str]] = {
    "views in the text": ("count", "sentence", "counter-some"),
    "views moved by our visit": ("count", "main-top", "counter-own"),
    "related posts": ("cards", "main-end", "request"),
    "related posts, nightly": ("cards", "main-end", "run"),
    "products seen together": ("cards", "after-main", "now-and-then"),
    "advertisement in the text": ("ad", "main-between", "request"),
    "nonce of the policy": ("token", "head-script", "request"),
    "form token": ("hidden-input", "main-end", "request"),
    "quote of the day": ("sentence", "sidebar", "run-shared"),
    "ticker": ("table", "header", "walk"),
    "tag cloud": ("tag-cloud", "sidebar", "request"),
    "people looking at this": ("count", "main-top", "request"),
    "popular posts": ("links", "sidebar", "run-shared"),
    "latest comments": ("links", "sidebar", "run-shared"),
    "number of reviews": ("rating", "jsonld", "counter-some"),
    "stock left": ("stock", "main-top", "counter-some"),
    "time of rendering": ("comment", "footer", "request"),
    "build number": ("token", "meta", "run-shared"),
    "today": ("clock", "header", "run-shared"),
    "dateModified is now": ("clock", "jsonld", "request"),
    "headline test": ("two-variants", "heading", "request"),
    "weather": ("measure", "sidebar", "walk"),
    "shuffled list": ("order", "main-list", "request"),
    "online now": ("count", "footer", "counter-site"),
}
_COUNTS = ("{} views", "{} people are looking at this", "Viewed {} times", "{} likes", "shared {} times", "({})")


@dataclass
class Noise:
    """One drawn noise. ``pages`` are the paths that show it."""

    number: int
    value: str
    place: str
    dynamics: str
    spread: str
    seed: str
    known: str = ""
    pages: set[str] = field(default_factory=set)
    targets: Sequence[tuple[str, str]] = ()  # path and title of pages, for links

    def __post_init__(self) -> None:
        rng = self._rng("made")
        self.wording = rng.choice(_COUNTS)
        self.size = rng.choice((1, 3, 5))
        self.step = rng.choice((1, 3, 20, 200))
        self.chance = rng.uniform(0.2, 0.6)
        self.period = rng.choice((2, 3))
        self.position = rng.choice((0, 1, 2, -1))
        self.css = f"{rng.choice(WORDS)}-{rng.choice(('box', 'widget', 'info'))}"
        self.pool = [sentence(rng) for _ in range(rng.choice((5, 12, 30)))]
        self.since = rng.randrange(2, 8)
        self.until = self.since + rng.choice((1, 2, 3)) if self.dynamics == "for-a-while" else 99

    @property
    def name(self) -> str:
        """The kind, without the seed: what the tables are about."""
        return f"{self.value} in {self.place}, {self.dynamics}, {self.spread}" + (f" [{self.known}]" * bool(self.known))

    def _rng(self, *of: object) -> random.Random:
        return random.Random(" ".join(map(str, (self.seed, self.number, *of))))

    # ------------------------------------------------------------ how it moves

    def _tick(self, path: str, now: Moment) -> str:
        """Two moments with the same tick show the same drawn value."""
        if self.dynamics == "run-shared":
            return f"all {now.run}"
        if self.dynamics in ONCE:
            return "all"
        if self.dynamics == "cached":
            return f"{path} {(now.run + self._rng(path, 'phase').randrange(self.period)) // self.period}"
        if self.dynamics in ("now-and-then", "counter-some"):
            return f"{path} {self._moves(path, now.run)}"
        if self.dynamics in ("run", "rotation", "counter", "walk"):
            return f"{path} {now.run}"
        return f"{path} {now.requests}"

    def _moves(self, path: str, run: int) -> int:
        return sum(self._rng(path, "moves", each).random() < self.chance for each in range(run))

    def _index(self, path: str, now: Moment, size: int) -> int:
        if self.dynamics == "rotation":
            return (self._rng(path, "offset").randrange(size) + now.run) % size
        if self.dynamics == "rotation-request":
            return now.requests % size
        return self._rng(self._tick(path, now)).randrange(size)

    def _number(self, path: str, now: Moment, low: int = 20, high: int = 5000) -> int:
        """A number that moves as the dynamics say, from a start of its own on each page."""
        base = self._rng(path, "base").randrange(low, high)
        steps = {
            "counter": now.run,
            "counter-some": self._moves(path, now.run),
            "counter-own": now.visits,
            "counter-site": now.requests,
        }.get(self.dynamics)
        if steps is not None and self.dynamics in ("counter", "counter-some"):
            return base + sum(self._rng(path, "step", each).randint(1, self.step) for each in range(steps))
        if steps is not None:
            return base + steps
        if self.dynamics == "walk":
            span = max(self.step, (high - low) // 100)
            return abs(base + sum(self._rng(path, "step", each).randint(-span, span) for each in range(now.run)))
        return self._rng(self._tick(path, now), "number").randrange(low, high)

    # ------------------------------------------------------------ what it shows

    def show(self, path: str, now: Moment) -> str:
        """The text or HTML at this moment."""
        if self.dynamics in ONCE and not self.since <= now.run < self.until:
            return ""
        make: Callable[[str, Moment], str] = getattr(self, "_show_" + self.value.replace("-", "_"))
        return make(path, now)

    def order(self, path: str, now: Moment, items: list[str]) -> list[str]:
        """The items of a list in the order of this moment."""
        shown = list(items)
        self._rng(self._tick(path, now), "order").shuffle(shown)
        return shown

    def _show_count(self, path: str, now: Moment) -> str:
        number = self._number(path, now)
        return str(number) if self.place in PLAIN else self.wording.format(f"{number:,}")

    def _show_money(self, path: str, now: Moment) -> str:
        number = self._number(path, now, 300, 90000) / 100
        return f"{number:.2f}" if self.place == "jsonld" else f"From ${number:,.2f}"

    def _show_rating(self, path: str, now: Moment) -> str:
        votes = self._number(path, now, 3, 400)
        stars = 3 + (votes * 7 % 20) / 10
        return f"{stars:.1f}/{votes}" if self.place == "jsonld" else f"★ {stars:.1f} ({votes} ratings)"

    def _show_stock(self, path: str, now: Moment) -> str:
        return f"Only {self._number(path, now, 2, 60)} left in stock"

    def _show_measure(self, path: str, now: Moment) -> str:
        return f"Water {self._number(path, now, 20, 240) / 10:.1f} °C, wind {self._number(path + 'w', now, 0, 40)} kn"

    def _show_ago(self, path: str, now: Moment) -> str:
        number = self._number(path, now, 2, 50)
        return f"Updated {number} {'days' if self.dynamics == 'counter' else 'minutes'} ago"

    def _show_clock(self, path: str, now: Moment) -> str:
        clock = now.clock if self.dynamics == "request" else now.clock.replace(hour=0, minute=0, second=0)
        if self.place in PLAIN:
            return clock.isoformat()
        return clock.strftime("%A, %d %B %Y %H:%M:%S" if self.dynamics == "request" else "Today is %A, %d %B %Y")

    def _show_sentence(self, path: str, now: Moment) -> str:
        return self.pool[self._index(path, now, len(self.pool))]

    def _show_name(self, path: str, now: Moment) -> str:
        return f"{NAMES[self._index(path, now, len(NAMES))]} was here"

    def _show_two_variants(self, path: str, now: Moment) -> str:
        return (": read it now", ": our story")[self._index(path, now, 2)]

    def _target(self, path: str, now: Moment, number: int) -> tuple[str, str]:
        return self.targets[(self._index(path, now, len(self.targets)) + number * 7) % len(self.targets)]

    def _show_link(self, path: str, now: Moment) -> str:
        to, text = self._target(path, now, 0)
        return f'<a href="{to}">{text}</a>'

    def _show_links(self, path: str, now: Moment) -> str:
        found = [self._target(path, now, number) for number in range(3 + self.size)]
        return "<ul>" + "".join(f'<li><a href="{to}">{text}</a></li>' for to, text in found) + "</ul>"

    def _show_cards(self, path: str, now: Moment) -> str:
        cards = []
        for number in range(self.size):
            to, text = self._target(path, now, number)
            picture = f'<img src="/media{to.rstrip("/")}-thumb.jpg" alt="{text}">'
            cards.append(
                f'<div class="card"><a href="{to}">{picture}<h4>{text}</h4></a><p>{sentence(self._rng(to))}</p></div>'
            )
        return "".join(cards)

    def _show_tag_cloud(self, path: str, now: Moment) -> str:
        rng = self._rng(self._tick(path, now), "cloud")
        tags = rng.sample(WORDS, 12)
        to = self.targets[0][0]
        return " ".join(f'<a href="{to}" style="font-size:{rng.randrange(8, 22)}pt">{tag}</a>' for tag in tags)

    def _show_picture(self, path: str, now: Moment) -> str:
        number = self._index(path, now, 8)
        return f'<img src="/media/banner-{self.number}-{number}.jpg" alt="{WORDS[number]}">'

    def _show_ad(self, path: str, now: Moment) -> str:
        number = self._index(path, now, 40)
        picture = f'<img src="https://ads.example/{number}.gif" alt="{self.pool[number % len(self.pool)]}">'
        return f'<a href="https://ads.example/click?c={number}" rel="nofollow">{picture}</a>'

    def _show_alt_text(self, path: str, now: Moment) -> str:
        return f'<img src="/media/fixed-{self.number}.jpg" alt="{self.pool[self._index(path, now, len(self.pool))]}">'

    def _show_table(self, path: str, now: Moment) -> str:
        rows = [(WORDS[each], self._number(f"{path} {each}", now, 100, 9000) / 100) for each in range(4)]
        return (
            "<table>" + "".join(f"<tr><td>{word}</td><td>{number:.2f}</td></tr>" for word, number in rows) + "</table>"
        )

    def _show_token(self, path: str, now: Moment) -> str:
        return "t" + self._rng(self._tick(path, now), "token").randbytes(8).hex()

    def _show_hidden_input(self, path: str, now: Moment) -> str:
        return f'<form method="post"><input type="hidden" name="token" value="{self._show_token(path, now)}"></form>'

    def _show_comment(self, path: str, now: Moment) -> str:
        rng = self._rng(self._tick(path, now), "comment")
        return f"<!-- rendered in {rng.random():.4f} s by web{rng.randrange(9)} -->"

    def _show_whitespace(self, path: str, now: Moment) -> str:
        rng = self._rng(self._tick(path, now), "space")
        return rng.choice(("\n", "\n\n", "\n    ", " ", "\n\t\t"))

    _show_asset_hash = _show_token
    _show_picture_hash = _show_token

    # ------------------------------------------------------------ where it stands

    def install(self, page: Page) -> bool:
        """Write the tokens into a page; False if it has no such place."""
        done = bool(getattr(self, "_in_" + self._way())(page))
        if done:
            page.changed()
            self.pages.add(page.path)
        return done

    def _way(self) -> str:
        if self.place in BLOCKS:
            return "block"
        return self.value.replace("-", "_") if self.place == "everywhere" else self.place.replace("-", "_")

    def _box(self) -> HtmlElement:
        box = lxml.html.Element("div", {"class": self.css, MARK: "once" * (self.dynamics in ONCE)})
        box.text = token(self.number)
        box.tail = "\n"
        return box

    def _in_block(self, page: Page) -> bool:
        box, body, main = self._box(), page.tree.find("body"), page.main
        if self.place in ("header", "sidebar", "footer"):
            found = page.tree.xpath({"header": "//header", "sidebar": "//aside", "footer": "//footer"}[self.place])
            if found:
                found[-1 if self.place == "footer" else 0].append(box)
            elif self.place == "header":
                body.insert(0, box)
            else:
                box.tag = "aside" if self.place == "sidebar" else "div"
                body.append(box)
        elif self.place == "main-top":
            main.insert(0, box)
        elif self.place == "main-end" or main is body:
            main.append(box)
        elif self.place == "after-main":
            main.getparent().insert(main.getparent().index(main) + 1, box)
        else:
            paragraphs = page.own("p")
            if not paragraphs:
                return False
            paragraphs[min(self.position, len(paragraphs) - 1)].addnext(box)
        return True

    def _in_sentence(self, page: Page) -> bool:
        return self._in_words(page, ("p", "li"), wrapped=True)

    def _in_bare_sentence(self, page: Page) -> bool:
        return self._in_words(page, ("p", "li"), wrapped=False)

    def _in_heading(self, page: Page) -> bool:
        return self._in_words(page, ("h1", "h2"), wrapped=True)

    def _in_words(self, page: Page, tags: tuple[str, ...], *, wrapped: bool) -> bool:
        found = [each for each in page.own(*tags) if (each.text or "").strip() and token(0)[:2] not in each.text]
        if not found:
            return False
        home = found[min(self.position, len(found) - 1)]
        words = home.text.split(" ")
        middle = len(words) if "h" in home.tag else max(1, len(words) // 2)
        before, behind = " ".join(words[:middle]), " ".join(words[middle:])
        if not wrapped:
            home.text = f"{before} {token(self.number)} {behind}"
            return True
        span = lxml.html.Element("span", {"class": self.css, MARK: ""})
        span.text, span.tail, home.text = token(self.number), f" {behind}", f"{before} "
        home.insert(0, span)
        return True

    def _in_jsonld(self, page: Page) -> bool:
        name = "dateModified" if self.value == "clock" else {"rating": "aggregateRating"}.get(self.value, self.css)
        for script in page.tree.xpath("//script[@type='application/ld+json']"):
            try:
                stated = json.loads(script.text)
            except ValueError:
                continue
            things = stated.get("@graph", [stated]) if isinstance(stated, dict) else stated
            things[0][name] = (
                {"@type": "AggregateRating", "ratingValue": token(self.number)}
                if self.value == "rating"
                else token(self.number)
            )
            script.text = json.dumps(stated, ensure_ascii=False)
            return True
        script = lxml.html.Element("script", {"type": "application/ld+json"})
        script.text = json.dumps({"@context": "https://schema.org", "@type": "WebPage", name: token(self.number)})
        page.head.append(script)
        return True

    def _in_meta(self, page: Page) -> bool:
        page.head.append(lxml.html.Element("meta", {"name": self.css, "content": token(self.number)}))
        return True

    def _in_head_script(self, page: Page) -> bool:
        script = lxml.html.Element("script", {"nonce": token(self.number)})
        script.text = f'window.state = {{"id": "{token(self.number)}"}};'
        page.head.append(script)
        return True

    def _in_data_attribute(self, page: Page) -> bool:
        return self._set(page, f"data-{self.css}")

    def _in_class(self, page: Page) -> bool:
        return self._set(page, "class")

    def _in_id(self, page: Page) -> bool:
        return self._set(page, "id")

    def _in_title_attribute(self, page: Page) -> bool:
        return self._set(page, "title")

    def _set(self, page: Page, name: str) -> bool:
        for each in page.own("p", "h2", "ul", "figure")[:: self.size]:
            each.set(name, f"{each.get(name, '')} {token(self.number)}".strip())
        return True

    def _in_main_list(self, page: Page) -> bool:
        lists = [each for each in page.own("ul", "ol") if len(each) > 2]
        return any(self._sorted(each) for each in lists[:1])

    def _in_menu(self, page: Page) -> bool:
        lists = [each for each in page.tree.xpath("//nav//ul | //header//ul") if len(each) > 2]
        return any(self._sorted(each) for each in lists[:1])

    def _in_new_list(self, page: Page) -> bool:
        rng = self._rng(page.path, "items")
        made = lxml.html.Element("ul", {"class": self.css, MARK: ""})
        for text in rng.sample(self.pool, 5):
            item = lxml.html.Element("li")
            item.text = text
            made.append(item)
        page.main.append(made)
        return self._sorted(made)

    def _sorted(self, items: HtmlElement) -> bool:
        if token(self.number, "b") in (items.text or ""):
            return False
        items.text = (items.text or "") + token(self.number, "b")
        for each in items[:-1]:
            each.tail = token(self.number, "o")
        items[-1].tail = token(self.number, "e")
        return True

    def _in_whitespace(self, page: Page) -> bool:
        for each in page.tree.iter("div", "p", "ul", "h2", "section", "li", "table", "figure"):
            if each.tail is not None and not each.tail.strip() and "Zq" not in each.tail:
                each.tail = token(self.number)
        return True

    def _in_asset_hash(self, page: Page) -> bool:
        for name in ("href", "src"):
            for each in page.tree.xpath(f"//link[@rel='stylesheet'][@{name}] | //script[@{name}]"):
                each.set(name, f"{each.get(name).partition('?')[0]}?v={token(self.number)}")
        script = lxml.html.Element("script", {"src": f"/js/app.{token(self.number)}.js"})
        page.head.append(script)
        return True

    def _in_picture_hash(self, page: Page) -> bool:
        pictures = page.tree.xpath("//img[@src]")
        for each in pictures:
            stem, _, ending = each.get("src").partition("?")[0].rpartition(".")
            each.set("src", f"{stem}.{token(self.number)}.{ending}")
        return bool(pictures)


def draw(rng: random.Random, number: int, pages: Sequence[Page]) -> Noise:
    """A noise out of the space, in the pages that it is for. Every third is a well-known one."""
    known = rng.choice(list(KNOWN)) if rng.random() < 0.33 else ""
    if known:
        value, place, dynamics = KNOWN[known]
    else:
        value = rng.choice(list(SPACE))
        place, dynamics = rng.choice(SPACE[value][0]), rng.choice(SPACE[value][1])
    spread = rng.choice(SPREADS)
    if dynamics in ONCE and place not in BLOCKS:
        place = rng.choice(BLOCKS)  # in a text of the page it would be an edit
    if place == "everywhere" or dynamics in ONCE:
        spread = "all"
    elif dynamics in SELDOM and spread in ("tenth", "three"):
        spread = "half"
    targets = [(page.path, title(random.Random(page.path))) for page in rng.sample(list(pages), min(40, len(pages)))]
    noise = Noise(number, value, place, dynamics, spread, str(rng.random()), known, targets=targets)
    for page in _chosen(rng, spread, pages):
        noise.install(page)
    if dynamics in (*SELDOM, "counter-some") and len(noise.pages) < MIN_SELDOM:
        for page in rng.sample(list(pages), len(pages)):
            if page.path not in noise.pages and len(noise.pages) < MIN_SELDOM:
                noise.install(page)
        if len(noise.pages) < MIN_SELDOM:
            noise.dynamics = "run"
    return noise


def _chosen(rng: random.Random, spread: str, pages: Sequence[Page]) -> Sequence[Page]:
    if spread == "template":
        template = rng.choice(sorted({page.template for page in pages}))
        return [page for page in pages if page.template == template]
    share = {"all": len(pages), "half": len(pages) // 2, "tenth": max(1, len(pages) // 10), "three": 3}[spread]
    return rng.sample(list(pages), min(share, len(pages)))
