"""A made site of articles, products and lists whose pages change by real edits and by all the noise of real sites."""

import random
from dataclasses import dataclass, field

_TEXT = """river stone harbour market engine copper window garden signal method winter paper bridge carrier orchard
meadow kernel lantern compass timber canvas anchor saddle furnace cellar quarry pasture thicket barrel steeple"""
_WORDS = _TEXT.split()


def prose(rng: random.Random, words: int = 18) -> str:
    return " ".join(rng.choice(_WORDS) for _ in range(words)).capitalize() + "."


@dataclass
class Leaf:
    """One page: what only its editors change."""

    path: str
    kind: str  # article, product, list
    title: str
    paragraphs: list[str]
    links: list[str] = field(default_factory=list)
    price: float = 0.0
    stock: str = "In stock"
    items: list[str] = field(default_factory=list)


class Site:
    """The whole site at one moment. ``render`` gives what a visitor gets, noise of the generation included."""

    def __init__(self, seed: int = 1, articles: int = 120, products: int = 20, lists: int = 6) -> None:
        self.rng = random.Random(seed)
        self.generation = 0
        self.redesigned = False
        self.footer = "Made by Acme Corp. Call 555-0100."
        self.nav = [f"/list/{n}" for n in range(lists)]
        self.pages: dict[str, Leaf] = {}
        for n in range(articles):
            path = f"/article/{n}"
            text = [prose(self.rng) for _ in range(self.rng.randrange(3, 8))]
            self.pages[path] = Leaf(path, "article", prose(self.rng, 4), text)
        for n in range(products):
            path = f"/product/{n}"
            page = Leaf(path, "product", prose(self.rng, 3), [prose(self.rng, 25)])
            page.price = round(self.rng.uniform(5, 500), 2)
            page.stock = self.rng.choice(["In stock", "In stock", "Sold out"])
            self.pages[path] = page
        listed = sorted(self.pages)
        for n in range(lists):
            members = listed[n::lists]
            self.pages[f"/list/{n}"] = Leaf(f"/list/{n}", "list", f"List {prose(self.rng, 2)}", [], items=members)
        self.pages["/"] = Leaf("/", "list", "Home of Acme", [], items=list(self.nav))
        self.quotes = [prose(self.rng, 9) for _ in range(10)]
        self.visits = dict.fromkeys(self.pages, 100)

    def render(self, path: str) -> bytes:
        page = self.pages[path]
        rng = random.Random(f"{path} {self.generation}")
        token = rng.randbytes(16).hex()
        self.visits[path] = self.visits.get(path, 100) + rng.randrange(1, 50)
        c = (lambda name: f"v2-{name}") if self.redesigned else (lambda name: name)
        related = rng.sample([p for p in self.pages if p != path], 3)
        minutes = rng.randrange(1, 50)
        modified = f"2026-{1 + self.generation % 12:02}-{1 + rng.randrange(28):02}T10:00:00Z"
        data = f'{{"@type":"Article","dateModified":"{modified}","headline":"{page.title}"}}'
        if page.kind == "product":
            data = (
                f'{{"@type":"Product","name":"{page.title}","dateModified":"{modified}",'
                f'"offers":{{"@type":"Offer","price":"{page.price}","priceCurrency":"EUR"}}}}'
            )
        lines = [
            f"<!DOCTYPE html><html lang=en><head><title>{page.title} | Acme</title>",
            f'<meta name="csrf-token" content="{token}"><meta name=description content="{page.title}">',
            f'<link rel=stylesheet href="/s.css?v={self.generation}">',
            f'<script nonce="{token}">var t="{token}"</script><script type="application/ld+json">{data}</script>',
            f'</head><body data-build="{token}"><!-- generated {self.generation} -->',
            f'<div class="{c("top")}"><a href="/">Acme</a><img src="/logo.png?v={self.generation}"><ul>',
            *(f"<li><a href={link}>{self.pages[link].title}</a>" for link in self.nav),
            f'</ul><a href="/login?token={token}">Log in</a></div><div class="{c("content")}"><h1>{page.title}</h1>',
        ]
        if page.kind == "article":
            lines.append(f'<p class=byline>Updated {minutes} minutes ago</p><div class="{c("body")}">')
            lines.extend(f"<p>{text}</p>" for text in page.paragraphs)
            lines.extend(f'<p>See <a href="{link}">this</a></p>' for link in page.links)
            lines.append(f"<p>{self.visits[path]} views</p><p>{rng.choice(self.quotes)}</p></div>")
        elif page.kind == "product":
            lines.append(f"<p>{page.paragraphs[0]}</p><p class=price>{page.price} &euro;</p><p>{page.stock}</p>")
            lines.extend(f"<p>{text}</p>" for text in page.paragraphs[1:])
            lines.extend(f'<p>See <a href="{link}">this</a></p>' for link in page.links)
            lines.append(f'<form action="/cart?csrf={token}"><input type=hidden name=csrf value={token}></form>')
            lines.append("<div><h3>Related</h3><ul>")
            lines.extend(f"<li><a href={p}>{self.pages[p].title}</a></li>" for p in related)
            lines.append("</ul></div>")
        else:
            lines.append("<ul>")
            lines.extend(f"<li><a href={p}>{self.pages[p].title}</a></li>" for p in page.items)
            lines.append("</ul>")
        latest = sorted(self.pages)[self.generation : self.generation + 4]
        visitors = self.generation * 977 + rng.randrange(50)
        lines += [
            f'</div><div class="{c("side")}"><h3>Latest</h3><ul>',
            *(f"<li><a href={p}>{p}</a></li>" for p in latest),
            f"</ul><p>Today: {rng.choice(self.quotes)}</p></div>",
            f'<div class="{c("ad")}"><a href="/out?ad={rng.randrange(99999)}">',
            f"<img src=/ads/{rng.randrange(12)}.gif></a></div>",
            f'<div class="{c("foot")}"><p>{self.footer}</p><p>&copy; {2000 + self.generation}</p>',
            f"<p>Visitors: {visitors}</p><p>Generated at 2026-11-21 10:{minutes:02} in 0.{minutes}s</p></div>",
            "</body></html>",
        ]
        return "\n".join(lines).encode()

    def edit(self, share: float = 0.04) -> set[str]:
        """Change some pages as editors do; the paths of those changed."""
        self.generation += 1
        edited: set[str] = set()
        for path in self.rng.sample(sorted(self.pages), max(1, int(len(self.pages) * share))):
            self._edit(self.pages[path])
            edited.add(path)
        return edited

    def _edit(self, page: Leaf) -> None:
        rng = self.rng
        kinds = ["title", "link"]
        if page.kind == "article":
            kinds = ["word", "paragraph", "remove", "link", "common", "common"]
        elif page.kind == "product":
            kinds = ["word", "price", "stock", "paragraph"]
        else:
            kinds = ["item"]
        match rng.choice(kinds):
            case "word":
                page.paragraphs[0] = page.paragraphs[0].replace(" ", f" {rng.choice(_WORDS)}{rng.choice(_WORDS)} ", 1)
            case "remove" if len(page.paragraphs) > 2:
                page.paragraphs.pop()
            case "link":
                page.links.append(f"/extra/{rng.randrange(10**6)}")
            case "common":
                page.paragraphs.append(f"This text was revised in spring {'again ' * self.generation}.")
            case "price":
                page.price = round(page.price + rng.uniform(1, 20), 2)
            case "stock":
                page.stock = "Sold out" if page.stock == "In stock" else "In stock"
            case "item":
                new = f"/article/n{rng.randrange(10**6)}"
                self.pages[new] = Leaf(new, "article", prose(rng, 4), [prose(rng) for _ in range(4)])
                page.items.insert(0, new)
            case _:
                page.paragraphs.append(prose(rng))
