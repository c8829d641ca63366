"""The templates of a made site: drawn once, then the same HTML for the same contents.

Pure.
"""

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from html import escape

from tests.trials.lastmod_kinds.site import Block, Contents, Doc, View
from tests.trials.lastmod_kinds.words import sentence, sentences, upper

DAY_ONE = date(2026, 1, 1)
ORIGIN = "http://trial.example"  # the server writes its own in its place
Slot = Callable[[str], str]
"""What is put in at a place of a page."""
SLOTS = (
    "head", "top", "header", "before-title", "after-title", "text-start", "text-middle", "text-end", "after-text",
    "side", "footer", "end",
)  # fmt: skip
NEIGHBOURLY = ("neighbours", "latest", "counts", "cloud", "archive")
EXTRAS = (*NEIGHBOURLY, "related", "crumbs", "jsonld", "og", "microdata", "tags", "excerpts", "search")


def day_of(day: int) -> date:
    return DAY_ONE + timedelta(days=day)


def link(doc: Doc) -> str:
    return f'<a href="{doc.path}">{escape(doc.title, quote=False)}</a>'


def text(words: str) -> str:
    return escape(words, quote=False)


@dataclass
class Theme:
    """What the pages of a site have in common."""

    extras: frozenset[str]
    css: str
    side: str  # left, right or none
    listing: str  # cards, ul, table
    depth: int  # of wrappers
    date_format: str
    about: str
    claims: tuple[str, ...]
    words: dict[str, str]

    def name(self, part: str) -> str:
        """The class of a part in the style of this theme."""
        return {
            "bem": f"c-{part}", "camel": "".join(upper(each) for each in part.split("-")),
            "module": f"{part}__{len(part) * 7919 % 4096:03x}", "plain": part,
        }[self.css]  # fmt: skip

    def page(self, site: Contents, view: View, slot: Slot) -> str:
        """The HTML of a page."""
        main = self._doc(site, view.doc, slot) if view.doc else self._list(site, view, slot)
        inner = f'<main id="content" class="{self.name("main")}">{self._crumbs(site, view)}{main}</main>'
        side = self._side(site, slot) if self.side != "none" else slot("side")
        inner = side + inner if self.side == "left" else inner + side
        for level in range(self.depth):
            inner = f'<div class="{self.name("wrap")} level-{level}">\n{inner}\n</div>'
        return (
            f'<!DOCTYPE html>\n<html lang="en">\n<head>{self._head(site, view)}{slot("head")}</head>\n'
            f'<body class="{view.template}">{slot("top")}\n{self._header(site, slot)}\n{inner}\n'
            f"{self._footer(site, slot)}\n{slot('end')}</body>\n</html>\n"
        )

    def _head(self, site: Contents, view: View) -> str:
        doc = view.doc
        name = view.title + (f" -- page {view.number}" if view.number > 1 else "")
        described = doc.description if doc else f"All {view.title} of {site.name}, page {view.number}"
        lines = [
            '<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{text(name)} | {text(site.name)}</title>",
            f'<meta name="description" content="{escape(described)}">',
            f'<link rel="canonical" href="{ORIGIN}{view.path}">',
            f'<link rel="stylesheet" href="/assets/{self.name("site")}.css">',
        ]
        if "og" in self.extras:
            lines.append(f'<meta property="og:title" content="{escape(name)}">')
        if "jsonld" in self.extras and doc:
            lines.append(f'<script type="application/ld+json">{json.dumps(self.data(site, doc))}</script>')
        return "\n" + "\n".join(lines) + "\n"

    def data(self, site: Contents, doc: Doc) -> dict[str, object]:
        """The structured data of a document."""
        data: dict[str, object] = {"@context": "https://schema.org", "name": doc.title, "image": ORIGIN + doc.picture}
        if doc.template == "product":
            offer = {"@type": "Offer", "price": money(doc.price), "priceCurrency": "EUR"}
            return data | {"@type": "Product", "description": doc.description, "offers": offer}
        person = {"@type": "Person", "name": doc.author}
        return data | {
            "@type": "Article",
            "headline": doc.title,
            "author": person,
            "datePublished": str(day_of(doc.day)),
        }

    def _header(self, site: Contents, slot: Slot) -> str:
        items = "".join(f'<li><a href="/{part}/">{text(name)}</a></li>' for part, name, _ in site.sections)
        search = f'<form action="/search" class="{self.name("search")}"><input name="q"></form>'
        return (
            f'<header class="{self.name("header")}"><a class="{self.name("logo")}" href="/">{text(site.name)}</a>'
            f"<p>{text(self.claims[0])}</p><nav><ul><li><a href='/'>{self.words['home']}</a></li>{items}</ul></nav>"
            f"{search if 'search' in self.extras else ''}{slot('header')}</header>"
        )

    def _crumbs(self, site: Contents, view: View) -> str:
        if "crumbs" not in self.extras or view.template == "home":
            return ""
        section = next(name for part, name, _ in site.sections if part == view.section)
        last = f" / <span>{text(view.title)}</span>" if view.doc else ""
        return (
            f'<nav class="{self.name("crumbs")}"><a href="/">{self.words["home"]}</a> / '
            f'<a href="/{view.section}/">{text(section)}</a>{last}</nav>'
        )

    def _doc(self, site: Contents, doc: Doc, slot: Slot) -> str:
        product = doc.template == "product"
        item = ' itemscope itemtype="https://schema.org/Product"' if product and "microdata" in self.extras else ""
        half = len(doc.blocks) // 2 + 1
        parts = [
            f'<article class="{self.name(doc.template)}"{item}>',
            slot("before-title"),
            f"<h1>{text(doc.title)}</h1>",
        ]
        parts += [self._buy(doc) if product else self._byline(doc), slot("after-title")]
        parts += [f'<div class="{self.name("content")}">', slot("text-start")]
        parts += [self.block(each) for each in doc.blocks[:half]]
        parts += [slot("text-middle"), *(self.block(each) for each in doc.blocks[half:]), slot("text-end"), "</div>"]
        if "tags" in self.extras:
            parts.append(f'<p class="{self.name("tags")}">{self.words["tags"]} {text(", ".join(doc.tags))}</p>')
        parts += ["</article>", slot("after-text"), self._behind(site, doc)]
        return "\n".join(parts)

    def _byline(self, doc: Doc) -> str:
        when = day_of(doc.day).strftime(self.date_format)
        return (
            f'<p class="{self.name("byline")}">{self.words["by"]} <span class="author">{text(doc.author)}</span>, '
            f'<time datetime="{day_of(doc.day)}">{when}</time></p>'
        )

    def _buy(self, doc: Doc) -> str:
        return (
            f'<img src="{doc.picture}" alt="{escape(doc.title)}"><p class="{self.name("price")}">'
            f'<span itemprop="price">{money(doc.price)}</span> € &middot; {doc.stock} {self.words["stock"]}</p>'
        )

    def block(self, block: Block) -> str:
        """The HTML of a part of a text."""
        lines = [text(line) for line in block.lines]
        if block.kind == "paragraph":
            more = (
                f' See <a href="{block.target}">{block.target.rstrip("/").rpartition("/")[2]}</a>.'
                if block.target
                else ""
            )
            return f"<p>{' '.join(lines)}{more}</p>"
        if block.kind == "heading":
            return f"<h2>{lines[0]}</h2>"
        if block.kind == "list":
            return "<ul>\n" + "\n".join(f"<li>{line}</li>" for line in lines) + "\n</ul>"
        if block.kind == "table":
            rows = ["".join(f"<td>{cell}</td>" for cell in line.split("|")) for line in lines]
            return "<table>\n" + "\n".join(f"<tr>{row}</tr>" for row in rows) + "\n</table>"
        if block.kind == "code":
            return "<pre><code>" + "\n".join(lines) + "</code></pre>"
        if block.kind == "picture":
            said = f"<figcaption>{lines[1]}</figcaption>"
            return f'<figure><img src="{block.target}" alt="{escape(block.lines[0])}">{said}</figure>'
        return f"<blockquote><p>{' '.join(lines)}</p></blockquote>"

    def _behind(self, site: Contents, doc: Doc) -> str:
        parts = []
        if "neighbours" in self.extras:
            older, newer = site.neighbours(doc)
            links = [f"<span>{label} {link(to)}</span>" for label, to in (("←", older), ("→", newer)) if to]
            parts.append(f'<nav class="{self.name("pager")}">{" ".join(links)}</nav>')
        if "related" in self.extras:
            items = "".join(f"<li>{link(each)}</li>" for each in site.related(doc, 3))
            parts.append(
                f'<section class="{self.name("related")}"><h3>{self.words["related"]}</h3><ul>{items}</ul></section>'
            )
        return "\n".join(parts)

    def _list(self, site: Contents, view: View, slot: Slot) -> str:
        entries = [self._entry(doc) for doc in view.entries]
        if self.listing == "cards":
            shown = "".join(f'<article class="{self.name("card")}">{each}</article>\n' for each in entries)
        elif self.listing == "ul":
            shown = "<ul>" + "\n".join(f"<li>{each}</li>" for each in entries) + "</ul>"
        else:
            shown = "<table>" + "\n".join(f"<tr><td>{each}</td></tr>" for each in entries) + "</table>"
        base = "/" if view.template == "home" else f"/{view.section}/"
        pages = [base if n == 1 else f"{base}page/{n}/" for n in range(1, view.count + 1)]
        pager = " ".join(f'<a href="{path}">{n}</a>' for n, path in enumerate(pages, 1)) if view.count > 1 else ""
        intro = f"<p>{text(self.claims[1])}</p>" if view.template == "home" else ""
        return (
            f'<h1>{text(view.title)}</h1>{intro}{slot("after-title")}<div class="{self.name("list")}">\n{shown}</div>'
            f'{slot("after-text")}<nav class="{self.name("pages")}">{pager}</nav>'
        )

    def _entry(self, doc: Doc) -> str:
        price = f" <b>{money(doc.price)} €</b>" if doc.template == "product" else ""
        said = f"<p>{text(doc.description)}</p>" if "excerpts" in self.extras else ""
        return f"<h3>{link(doc)}</h3>{price}{said}"

    def _side(self, site: Contents, slot: Slot) -> str:
        boxes = [f"<div><h4>{self.words['about']}</h4><p>{text(self.about)}</p></div>"]
        if "latest" in self.extras:
            docs = site.docs[:5]
            boxes.append(
                f"<div><h4>{self.words['latest']}</h4><ul>{''.join(f'<li>{link(d)}</li>' for d in docs)}</ul></div>"
            )
        if "counts" in self.extras:
            counts = [
                f'<li><a href="/{part}/">{text(name)}</a> ({sum(doc.section == part for doc in site.docs)})</li>'
                for part, name, _ in site.sections
            ]
            boxes.append(f"<div><h4>{self.words['sections']}</h4><ul>{''.join(counts)}</ul></div>")
        if "cloud" in self.extras:
            sizes = {tag: sum(tag in doc.tags for doc in site.docs) for tag in site.tags}
            cloud = " ".join(f'<span style="font-size:{9 + n}px">{text(t)} {n}</span>' for t, n in sizes.items() if n)
            boxes.append(f'<div class="{self.name("cloud")}">{cloud}</div>')
        if "archive" in self.extras:
            months: dict[str, int] = {}
            for doc in site.docs:
                month = day_of(doc.day).strftime("%B %Y")
                months[month] = months.get(month, 0) + 1
            items = "".join(f"<li>{month} ({n})</li>" for month, n in list(months.items())[:12])
            boxes.append(f"<div><h4>{self.words['archive']}</h4><ul>{items}</ul></div>")
        return f'<aside class="{self.name("side")}">\n' + "\n".join(boxes) + slot("side") + "\n</aside>"

    def _footer(self, site: Contents, slot: Slot) -> str:
        return (
            f'<footer class="{self.name("footer")}"><p>{text(self.claims[2])}</p><p>© {text(site.name)}. '
            f"{self.words['rights']}</p>{slot('footer')}</footer>"
        )


def money(cents: int) -> str:
    return f"{cents // 100}.{cents % 100:02}"


_WORDS = {
    "home": ("Home", "Start", "Front page"), "by": ("By", "Written by", "Posted by"),
    "tags": ("Tags:", "Filed under", "Topics:"), "stock": ("in stock", "left", "available"),
    "related": ("Related", "You may also like", "More on this"), "about": ("About us", "Who we are"),
    "latest": ("Latest posts", "What is new", "Recent"), "sections": ("Categories", "Sections"),
    "archive": ("Archive", "Older months"),
    "rights": ("All rights reserved.", "Made with care.", "Imprint and privacy."),
}  # fmt: skip


def theme(rng: random.Random, site: Contents, force: frozenset[str] = frozenset()) -> Theme:
    """Draw a theme. ``force`` are extras that it has in any case."""
    extras = {each for each in EXTRAS if rng.random() < 0.5} | force
    side = rng.choice(("left", "right", "right", "none"))
    if side == "none" and extras & set(NEIGHBOURLY[1:]) & force:
        side = "right"
    return Theme(
        frozenset(extras), rng.choice(("bem", "camel", "module", "plain")), side, rng.choice(("cards", "ul", "table")),
        rng.randrange(3), rng.choice(("%d %B %Y", "%Y-%m-%d", "%B %d, %Y", "%d.%m.%Y")),
        " ".join(sentences(rng, site.topic, 1, 3)), tuple(sentence(rng, site.topic) for _ in range(3)),
        {key: rng.choice(values) for key, values in _WORDS.items()},
    )  # fmt: skip
