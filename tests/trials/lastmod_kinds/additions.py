"""Kind A: what a theme or a plug-in adds to pages once, with values of each page."""

# ruff: noqa: RUF001 - the letters are what this is about

import json
import random
import re
from collections.abc import Callable, Mapping
from html import escape

from tests.trials.lastmod_kinds.noise import Change, Maker, Moment, Noise, Pieces, Scene, effect, registry, some, within
from tests.trials.lastmod_kinds.site import Doc, View, furnish
from tests.trials.lastmod_kinds.theme import DAY_ONE, ORIGIN, day_of, link, money, text
from tests.trials.lastmod_kinds.words import NAMES, sentence, sentences, slug, translated, upper

ADDITIONS: dict[str, Maker] = {}
_addition = registry(ADDITIONS)
_H2 = re.compile(r"<h2>(.*?)</h2>")
_IMG = re.compile(r'<img src="([^"]*)"')


def _at(slot: str, html: str) -> Mapping[str, str]:
    return {slot: html}


def _described(scene: Scene, view: View) -> str:
    return view.doc.description if view.doc else f"{view.title} of {scene.site.name}, page {view.number}"


def _is_doc(view: View) -> bool:
    return view.doc is not None


def _for_docs(name: str, pieces: Pieces) -> Noise:
    return Noise(name, pieces, takes=_is_doc)


def _changed(name: str, change: Change) -> Noise:
    return Noise(name, change=change)


@_addition
def hreflang(rng: random.Random, scene: Scene) -> Noise:
    languages = rng.sample(("de", "fr", "es", "nl", "pt-BR", "ja", "x-default"), rng.randrange(2, 6))
    slot = rng.choice(("head", "head", "end"))

    def pieces(view: View, now: Moment) -> Mapping[str, str]:
        lines = [
            f'<link rel="alternate" hreflang="{each}" href="https://{each}.site.example{view.path}">'
            for each in languages
        ]
        return _at(slot, "\n".join(lines))

    return Noise(f"hreflang {len(languages)} in {slot}", pieces)


def _titled(view: View) -> str:
    return f' title="{escape(translated(view.title))}"'


@_addition
def language_menu(rng: random.Random, scene: Scene) -> Noise:
    languages = rng.sample(("Deutsch", "Français", "Español", "Nederlands", "日本語"), rng.randrange(1, 5))
    slot = rng.choice(("header", "footer", "side", "top"))
    titles = rng.random() < 0.5

    def pieces(view: View, now: Moment) -> Mapping[str, str]:
        items = [
            f'<li><a href="https://{n}.site.example{view.path}"{_titled(view) * titles}>{name}</a></li>'
            for n, name in enumerate(languages)
        ]
        return _at(slot, f'<ul class="languages">{"".join(items)}</ul>')

    return Noise(f"language menu in {slot}", pieces)


@_addition
def open_graph(rng: random.Random, scene: Scene) -> Noise:
    names = rng.sample(
        ("og:url", "og:title", "og:description", "og:image", "twitter:title", "twitter:card"), rng.randrange(1, 7)
    )

    def pieces(view: View, now: Moment) -> Mapping[str, str]:
        picture = view.doc.picture if view.doc else "/media/site.jpg"
        values = {
            "og:url": ORIGIN + view.path, "og:title": view.title, "og:description": _described(scene, view),
            "og:image": ORIGIN + picture,
            "twitter:title": f"{view.title} | {scene.site.name}", "twitter:card": "summary",
        }  # fmt: skip
        key = "name" if rng else "property"
        return _at("head", "".join(f'<meta {key}="{name}" content="{escape(values[name])}">' for name in names))

    return Noise(", ".join(names), pieces)


@_addition
def share_links(rng: random.Random, scene: Scene) -> Noise:
    slot = rng.choice(("after-title", "before-title", "text-end", "after-text", "side", "text-start"))
    nets = rng.sample(("Mastodon", "Bluesky", "LinkedIn", "e-mail", "Facebook"), rng.randrange(1, 5))
    label = rng.choice(("Share on {}", "{}", "Post this to {}", "Share “{title}” on {}"))

    def pieces(view: View, now: Moment) -> Mapping[str, str]:
        links = [
            f'<a href="https://{slug(net)}.example/share?url={ORIGIN}{view.path}&amp;text={slug(view.title)}">'
            f"{label.format(net, title=text(view.title))}</a>"
            for net in nets
        ]
        return _at(slot, f'<div class="share">{" ".join(links)}</div>')

    return Noise(f"share links in {slot}: {label}", pieces)


@_addition
def breadcrumbs(rng: random.Random, scene: Scene) -> Noise:
    slot, sign = rng.choice(("top", "header", "before-title", "text-start")), rng.choice(("»", "/", "›"))
    last = rng.random() < 0.7
    start = rng.choice(("Home", "Start", "You are here:", scene.site.name))

    def pieces(view: View, now: Moment) -> Mapping[str, str]:
        names = {part: name for part, name, _ in scene.site.sections}
        steps = [f'<a href="/">{text(start)}</a>']
        steps += [f'<a href="/{view.section}/">{text(names[view.section])}</a>'] if view.section else []
        steps += [f"<span>{text(view.title)}</span>"] if last else []
        return _at(slot, f'<p class="trail">{f" {sign} ".join(steps)}</p>')

    return Noise(f"breadcrumbs in {slot}", pieces)


@_addition
def structured_data(rng: random.Random, scene: Scene) -> Noise:
    kind = rng.choice(
        ("Article", "BlogPosting", "WebPage", "BreadcrumbList", "ImageObject", "Product", "Speakable", "Graph")
    )
    slot = rng.choice(("head", "end", "text-end"))

    def data(view: View) -> dict[str, object]:
        url, doc = ORIGIN + view.path, view.doc
        steps = [scene.site.name, *([view.section] if view.section else []), view.title]
        page: dict[str, object] = {
            "@type": "WebPage",
            "@id": url,
            "name": view.title,
            "description": _described(scene, view),
        }
        made: dict[str, dict[str, object]] = {
            "WebPage": page,
            "BreadcrumbList": {
                "@type": kind,
                "itemListElement": [
                    {"@type": "ListItem", "position": n, "name": step} for n, step in enumerate(steps, 1)
                ],
            },
            "ImageObject": {
                "@type": kind,
                "contentUrl": ORIGIN + (doc.picture if doc else "/site.jpg"),
                "caption": view.title,
            },
            "Speakable": page | {"speakable": {"@type": "SpeakableSpecification", "cssSelector": ["h1"]}},
            "Graph": {"@graph": [page, {"@type": "WebSite", "name": scene.site.name, "url": ORIGIN}]},
            "Product": {"@type": "Product", "name": view.title, "sku": slug(view.title)}
            | ({"offers": {"@type": "Offer", "price": money(doc.price)}} if doc and doc.template == "product" else {}),
        }
        article: dict[str, object] = {
            "@type": kind,
            "headline": view.title,
            "url": url,
            "description": _described(scene, view),
        }
        if doc:
            article |= {
                "author": {"@type": "Person", "name": doc.author}, "datePublished": str(day_of(doc.day)),
                "wordCount": sum(block.words() for block in doc.blocks), "keywords": ", ".join(doc.tags),
            }  # fmt: skip
        return {"@context": "https://schema.org"} | made.get(kind, article)

    return Noise(
        f"JSON-LD {kind} in {slot}",
        lambda view, now: _at(slot, f'<script type="application/ld+json">{json.dumps(data(view))}</script>'),
    )


@_addition
def related_posts(rng: random.Random, scene: Scene) -> Noise:
    slot, count = rng.choice(("text-end", "after-text", "side", "text-middle")), rng.randrange(2, 6)
    excerpts, title = rng.random() < 0.5, rng.choice(("Read next", "Similar", "You might like", "More like this"))

    def pieces(view: View, now: Moment) -> Mapping[str, str]:
        assert view.doc
        found = scene.site.related(view.doc, count)
        items = [f"<li>{link(doc)}{f'<p>{text(doc.description)}</p>' * excerpts}</li>" for doc in found]
        return _at(slot, f"<h4>{title}</h4><ul>{''.join(items)}</ul>")

    return _for_docs(f"related posts in {slot}" + " with excerpts" * excerpts, pieces)


@_addition
def date_format(rng: random.Random, scene: Scene) -> Noise:
    style = rng.choice(("%A, %d %B %Y", "%d/%m/%y", "%b %d, %Y", "%d. %B %Y at 08:15", "%Y/%m/%d", "week %V of %Y"))

    def change(html: str, view: View, now: Moment) -> str:
        return re.sub(r">[^<]*</time>", f">{day_of(view.doc.day).strftime(style)}</time>", html) if view.doc else html

    return _changed(f"dates as {style}", change)


def _labels(scene: Scene, doc: Doc) -> dict[str, str]:
    name = next(name for part, name, _ in scene.site.sections if part == doc.section)
    return {
        "Category: {}": name, "Posted in {}": name, "Topics: {}": ", ".join(doc.tags),
        "Article no. {}": str(doc.number),
        "SKU {}": f"{slug(doc.title)[:6].upper()}-{doc.number * 37}", "First published: {}": str(day_of(doc.day)),
        "Last updated on {}": f"{day_of(doc.day + 3):%d %B %Y}",
        "Level: {}": ("easy", "medium", "hard")[doc.number % 3],
        "{} words": str(sum(block.words() for block in doc.blocks)), "Summary: {}": doc.description,
        "Permalink: {}": ORIGIN + doc.path, "Written by {}": doc.author,
    }  # fmt: skip


@_addition
def label(rng: random.Random, scene: Scene) -> Noise:
    slot = rng.choice(("before-title", "after-title", "text-start", "text-end", "after-text", "side"))
    wording, tag = rng.choice(sorted(_labels(scene, scene.site.docs[0]))), rng.choice(("p", "div", "small", "span"))

    def pieces(view: View, now: Moment) -> Mapping[str, str]:
        assert view.doc
        value = text(_labels(scene, view.doc)[wording])
        return _at(slot, f"<{tag} class='label'>{wording.format(value)}</{tag}>")

    return _for_docs(f"label {wording!r} in {slot}", pieces)


@_addition
def reading_time(rng: random.Random, scene: Scene) -> Noise:
    slot = rng.choice(("before-title", "after-title", "text-start"))
    wording = rng.choice(("{} min read", "Reading time: {} minutes", "You need about {} minutes to read “{title}”"))

    def pieces(view: View, now: Moment) -> Mapping[str, str]:
        assert view.doc
        return _at(slot, f"<p>{wording.format(view.doc.minutes(), title=text(view.title))}</p>")

    return _for_docs(f"reading time in {slot}", pieces)


@_addition
def author_box(rng: random.Random, scene: Scene) -> Noise:
    slot = rng.choice(("text-end", "after-text", "side", "before-title"))
    lives = {name: " ".join(sentences(rng, scene.site.topic, 1, 4)) for name in NAMES}

    def pieces(view: View, now: Moment) -> Mapping[str, str]:
        assert view.doc
        name = view.doc.author
        return _at(
            slot,
            f'<div class="author-box"><img src="/media/{slug(name)}.jpg" alt="{name}"><h4>{name}</h4>'
            f"<p>{text(lives[name])}</p></div>",
        )

    return _for_docs(f"author box in {slot}", pieces)


@_addition
def markup(rng: random.Random, scene: Scene) -> Noise:
    """Classes, IDs, wrappers and names of elements."""
    prefix = rng.choice(("x-", "v2-", "theme-"))
    kind = rng.choice(("classes", "ids", "wrapper", "content", "headings", "paragraphs", "emphasis"))

    def change(html: str, view: View, now: Moment) -> str:
        if kind == "classes":
            return re.sub(r'class="(?=\w)', f'class="{prefix}', html)
        if kind == "ids":
            return re.sub(r"<(p|li|h2|img|figure)(?=[ >])", lambda at: f'<{at[1]} id="{prefix}{at.start()}"', html)
        if kind == "wrapper":
            return html.replace("<main", f'<div class="{prefix}outer"><div><main').replace(
                "</main>", "</main></div></div>"
            )
        if kind == "content":
            return (
                html.replace("<article", "<div")
                .replace("</article>", "</div>")
                .replace("<main", "<section")
                .replace("</main>", "</section>")
            )
        if kind == "headings":
            return re.sub(r"(</?)h2", r"\1h3", html)
        if kind == "paragraphs":
            return within(html, lambda part: re.sub(r"<p>(.*?)</p>", r"<p><span>\1</span></p>", part))
        return within(
            html, lambda part: re.sub(r"<li>([^<]+)</li>", rf'<li class="{prefix}item"><div>\1</div></li>', part)
        )

    return _changed(f"markup: {kind}", change)


@_addition
def pictures(rng: random.Random, scene: Scene) -> Noise:
    """Lazy loading, several sizes, another host."""
    kind = rng.choice(("loading", "data-src", "srcset", "picture", "cdn", "sizes"))

    def change(html: str, view: View, now: Moment) -> str:
        def one(found: re.Match[str]) -> str:
            source = found[1]
            stem = source.rpartition(".")[0]
            return {
                "loading": f'<img loading="lazy" decoding="async" src="{source}"',
                "data-src": f'<img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=" data-src="{source}"',
                "srcset": f'<img srcset="{stem}-300.jpg 300w, {stem}-600.jpg 600w" sizes="50vw" src="{source}"',
                "picture": f'<picture><source srcset="{stem}.webp" type="image/webp"></picture><img src="{source}"',
                "cdn": f'<img src="https://cdn.site.example{source}"',
                "sizes": f'<img width="{300 + len(source) * 7}" height="{200 + len(source)}" src="{source}"',
            }[kind]

        return _IMG.sub(one, html)

    return _changed(f"pictures: {kind}", change)


@_addition
def comment_form(rng: random.Random, scene: Scene) -> Noise:
    slot = rng.choice(("after-text", "text-end"))
    wording = rng.choice(("Leave a reply", "What do you think of “{}”?", "Comment on {}", "No comments yet"))

    def pieces(view: View, now: Moment) -> Mapping[str, str]:
        assert view.doc
        return _at(
            slot,
            f'<h3>{wording.format(text(view.title))}</h3><form action="/comment" method="post">'
            '<textarea name="c"></textarea>'
            f'<input type="hidden" name="post" value="{view.doc.number}"><button>Send</button></form>',
        )

    return _for_docs(f"comment form in {slot}", pieces)


@_addition
def edit_link(rng: random.Random, scene: Scene) -> Noise:
    slot = rng.choice(("before-title", "after-title", "text-end", "after-text", "footer", "side"))
    words = rng.choice(("Edit this page", "Edit on GitHub", "Improve {}", "View the source of {}.md"))

    def pieces(view: View, now: Moment) -> Mapping[str, str]:
        name = view.path.strip("/").rpartition("/")[2] or "index"
        return _at(
            slot,
            f'<a class="edit" href="https://github.example/site/edit/main{view.path}{name}.md">{words.format(name)}</a>',
        )

    return Noise(f"edit link in {slot}", pieces)


@_addition
def contents_table(rng: random.Random, scene: Scene) -> Noise:
    slot = rng.choice(("text-start", "side", "before-title"))
    title = rng.choice(("Contents", "On this page", "In this article"))

    def pieces(view: View, now: Moment) -> Mapping[str, str]:
        assert view.doc
        names = [block.lines[0] for block in view.doc.blocks if block.kind == "heading"]
        items = "".join(f'<li><a href="#{slug(name)}">{text(name)}</a></li>' for name in names)
        return _at(slot, f'<div class="toc"><b>{title}</b><ol>{items}</ol></div>') if names else {}

    return _for_docs(f"table of contents in {slot}", pieces)


@_addition
def heading_anchors(rng: random.Random, scene: Scene) -> Noise:
    sign, first = rng.choice(("#", "¶", "🔗", "")), rng.random() < 0.5

    def one(found: re.Match[str]) -> str:
        mark = f'<a class="anchor" href="#{slug(found[1])}">{sign}</a>'
        return f'<h2 id="{slug(found[1])}">{mark + found[1] if first else found[1] + mark}</h2>'

    return _changed(f"heading anchors {sign}", lambda html, view, now: _H2.sub(one, html))


@_addition
def link_attributes(rng: random.Random, scene: Scene) -> Noise:
    kind = rng.choice(("rel", "target", "icon", "hint", "title", "utm"))

    def one(found: re.Match[str]) -> str:
        target, words = found[1], found[2]
        return {
            "rel": f'<a href="{target}" rel="nofollow noopener">{words}</a>',
            "target": f'<a target="_blank" rel="noopener" href="{target}">{words}</a>',
            "icon": f'<a href="{target}">{words}<svg class="out"><path d="M0 0"/></svg></a>',
            "hint": f'<a href="{target}">{words} <span class="sr-only">(opens in a new tab)</span></a>',
            "title": f'<a href="{target}" title="Go to {target.split("/")[2]}">{words}</a>',
            "utm": f'<a href="{target}?utm_source=site">{words}</a>',
        }[kind]

    change: Change = lambda html, view, now: re.sub(r'<a href="(https://[^"]*)">(.*?)</a>', one, html)  # noqa: E731
    return _changed(f"external links: {kind}", change)


@_addition
def minified(rng: random.Random, scene: Scene) -> Noise:
    quotes, ends = rng.random() < 0.5, rng.random() < 0.5

    def change(html: str, view: View, now: Moment) -> str:
        html = re.sub(r">\s+<", "> <" if ends else "><", html)
        html = re.sub(r"</(?:p|li|td|tr)>(?=\s*<(?:p|li|td|tr|/ul|/table)\b)", "", html) if ends else html
        return re.sub(r'(<[a-z][^>]*? (?:class|id|href))="([\w/.-]+)"', r"\1=\2", html) if quotes else html

    return _changed("minified" + ", no quotes" * quotes + ", no end tags" * ends, change)


@_addition
def figure_numbers(rng: random.Random, scene: Scene) -> Noise:
    wording, tag = rng.choice((("Figure {}: ", "figcaption"), ("{}. ", "h2"), ("Table {} ", "table"), ("({}) ", "li")))

    def change(html: str, view: View, now: Moment) -> str:
        count = iter(range(1, 999))

        def put(found: re.Match[str]) -> str:
            said = wording.format(next(count))
            return found[0] + (f"<caption>{said}</caption>" if tag == "table" else said)

        return within(html, lambda part: re.sub(rf"<{tag}>", put, part))

    return _changed(f"numbers at each {tag}", change)


@_addition
def automatic_links(rng: random.Random, scene: Scene) -> Noise:
    words = rng.sample(scene.site.topic.nouns, 8)
    kind = rng.choice(("link", "abbr", "mark"))
    made = {
        "link": rf'<a href="/{scene.site.sections[0][0]}/">\1</a>', "abbr": r'<abbr title="see the glossary">\1</abbr>',
        "mark": r"<mark>\1</mark>",
    }[kind]  # fmt: skip
    found = re.compile(rf"\b((?:{'|'.join(words)})s?)\b(?=[^<>]*</p>)")  # no word changes
    return _changed(f"automatic {kind}", lambda html, view, now: within(html, lambda part: found.sub(made, part)))


@_addition
def page_title(rng: random.Random, scene: Scene) -> Noise:
    name, claim = scene.site.name, sentence(rng, scene.site.topic).rstrip(".")
    style = rng.choice(("{name}: {title}", "{title} – {claim}", "{title} · {section} · {name}", "{title}"))

    def change(html: str, view: View, now: Moment) -> str:
        said = style.format(name=name, title=view.title, claim=claim, section=upper(view.section) or "Home")
        return re.sub(r"<title>.*?</title>", lambda _: f"<title>{text(said)}</title>", html)

    return _changed(f"title as {style}", change)


@_addition
def same_box(rng: random.Random, scene: Scene) -> Noise:
    """The same words on all pages, alone or with the page's URL or title."""
    slot = rng.choice(("top", "text-end", "text-middle", "after-text", "side", "footer", "end", "after-title"))
    said = " ".join(sentences(rng, scene.site.topic, 1, 3))
    more = rng.choice(("", "", "url", "title", "date"))

    def pieces(view: View, now: Moment) -> Mapping[str, str]:
        own = {
            "": "",
            "url": f" {ORIGIN}{view.path}",
            "title": f" ({text(view.title)})",
            "date": f" Retrieved {DAY_ONE}.",
        }[more]
        return _at(slot, f'<div class="box"><p>{text(said)}{own}</p></div>')

    return Noise(f"the same box in {slot} {more}", pieces)


def draw(rng: random.Random, scene: Scene, nights: int) -> Noise:
    """An addition that most documents show, or the removal of one, or one for a while, on all pages or on most."""
    furnish(rng, scene.site)
    while True:
        noise = rng.choice(list(ADDITIONS.values()))(rng, scene)
        if rng.random() < 0.3:
            noise.takes, noise.name = _most(rng, noise.takes), f"{noise.name} on most pages"
        if effect(scene, [noise]) > 2 / 3:
            break
    at = rng.randrange(2, nights)
    way = rng.choice(("added", "added", "removed", "for a while"))
    if way == "removed":
        noise.until = at
    else:
        noise.since = at
        if way == "for a while":
            noise.until = at + rng.randrange(1, 5)
    return noise


def _most(rng: random.Random, takes: Callable[[View], bool]) -> Callable[[View], bool]:
    share = some(rng, rng.choice((0.8, 0.9)))
    return lambda view: takes(view) and share(view)
