"""Kinds F and G: counters and ages, and texts, boxes and pictures that rotate, on all pages or a part of them."""

import random
import re
from collections.abc import Callable, Mapping
from datetime import timedelta

from tests.trials.lastmod_kinds.noise import Maker, Moment, Noise, Scene, drawn, registry, some, token, within
from tests.trials.lastmod_kinds.site import View
from tests.trials.lastmod_kinds.theme import DAY_ONE, link, text
from tests.trials.lastmod_kinds.words import NAMES, sentence, sentences, title, upper

PLACES = (
    "header",
    "before-title",
    "after-title",
    "text-start",
    "text-middle",
    "text-end",
    "after-text",
    "side",
    "footer",
)

# ---------------------------------------------------------------- F: counters and ages

COUNTERS: dict[str, Maker] = {}
_counter = registry(COUNTERS)
_TEMPLATE_WORDS = (
    "{} views", "{} likes", "Viewed {} times", "{} comments", "{} people bought this", "Shares: {}", "👁 {}", "({})",
    "{} readers like this page", "Rank {}", "Be one of {} subscribers", "{} downloads since 2019",
)  # fmt: skip
_OWN_WORDS = (
    "{title} was viewed {n} times", "So far {n} readers finished {title}.", "{n} people follow “{title}”",
    "{title}: {n} views this week", "{own} {n} visitors agree with that.", "Already {n} times somebody asked: {own}",
)  # fmt: skip
_last_paragraph = re.compile(r"</p>(?=(?:(?!<p>).)*</article>)", re.DOTALL)


def _count(rng: random.Random) -> tuple[str, Callable[[View, Moment], int]]:
    """How a number moves, and the number."""
    seed, step, chance = rng.random(), rng.choice((1, 3, 20, 200)), rng.choice((0.4, 0.7, 1.0))
    way = rng.choice(("each page at times", "each page at times", "each request", "visitors online"))

    def number(view: View, now: Moment) -> int:
        first = drawn(seed, view.path).randrange(20, 5000)
        if way == "visitors online":
            return 3 + drawn(seed, view.path, now.night, now.request).randrange(90)
        if way == "each request":
            return first + now.request * step
        return first + sum(
            moved.randrange(1, 2 * step + 1)
            for moved in (drawn(seed, view.path, night) for night in range(now.night))
            if moved.random() < chance
        )

    return f"{way} {chance}" if way == "each page at times" else way, number


@_counter
def _in_words_of_the_template(rng: random.Random, scene: Scene) -> Noise:
    way, number = _count(rng)
    slot, wording = rng.choice(PLACES), rng.choice(_TEMPLATE_WORDS)
    style, tag = rng.choice(("{}", "{:,}")), rng.choice(("p", "span", "div", "small", "li"))

    def pieces(view: View, now: Moment) -> Mapping[str, str]:
        return {slot: f"<{tag} class='count'>{wording.format(style.format(number(view, now)))}</{tag}>"}

    return Noise(f"{wording!r} in {slot}, {way}", pieces)


@_counter
def _in_words_of_the_page(rng: random.Random, scene: Scene) -> Noise:
    way, number = _count(rng)
    wording, seed = rng.choice(_OWN_WORDS), rng.random()
    slot = rng.choice((*PLACES, "sentence", "sentence"))

    def words(view: View, now: Moment) -> str:
        own = sentence(drawn(seed, view.path), scene.site.topic)
        return text(wording.format(title=view.title, n=number(view, now), own=own))

    def change(html: str, view: View, now: Moment) -> str:
        put = lambda at: f" {words(view, now)}</p>"  # noqa: E731
        return within(html, lambda part: _last_paragraph.sub(put, part, count=1), '<div class="', "</article>")

    if slot == "sentence":
        return Noise(f"{wording!r} in a paragraph, {way}", change=change, takes=lambda view: view.doc is not None)
    return Noise(f"{wording!r} in {slot}, {way}", lambda view, now: {slot: f"<p>{words(view, now)}</p>"})


@_counter
def _age(rng: random.Random, scene: Scene) -> Noise:
    slot = rng.choice(("before-title", "after-title", "text-start", "side", "footer", "byline"))
    wording = rng.choice(("{} ago", "Updated {} ago", "{title}, {} ago", "posted {} ago by {author}"))
    fine = rng.random() < 0.3  # in hours

    def words(view: View, now: Moment) -> str:
        days = now.night - (view.doc.day if view.doc else -30)
        said = f"{days * 24 + now.request % 5} hours" if fine else f"{days} days" if days < 30 else f"{days // 7} weeks"
        return text(wording.format(said, title=view.title, author=view.doc.author if view.doc else "the team"))

    if slot == "byline":
        return Noise(
            "age for the date",
            change=lambda html, view, now: re.sub(r">[^<]*</time>", f">{words(view, now)}</time>", html),
        )
    return Noise(f"age {wording!r} in {slot}", lambda view, now: {slot: f"<p class='age'>{words(view, now)}</p>"})


@_counter
def _of_the_site(rng: random.Random, scene: Scene) -> Noise:
    slot, seed = rng.choice(("footer", "header", "side", "end")), rng.random()
    year, wording = rng.randrange(3, 9), rng.choice((
        "{online} visitors online", "© {year} all rights reserved", "Built on {day} at 03:12", "Version 2.{build}.0",
        "Page generated in 0.{ms} seconds", "Today is {today}", "{total} visits since 2011", "Sale ends in {left} days",
        "Last deployment: {day}, revision {build}", "Week {week} of the season", "It is {ms} degrees in the valley",
    ))  # fmt: skip

    def pieces(view: View, now: Moment) -> Mapping[str, str]:
        today, rng = DAY_ONE + timedelta(days=now.night), drawn(seed, now.request)
        built = DAY_ONE + timedelta(days=now.build)
        words = wording.format(
            online=rng.randrange(4, 90), year=2025 + (now.night >= year), day=built, build=now.build,
            ms=rng.randrange(100, 999),
            today=f"{today:%A, %d %B %Y}", total=90210 + now.night * 77 + now.request, left=60 - now.night,
            week=now.night // 7 + 1,
        )  # fmt: skip
        return {slot: f"<p>{words}</p>"}

    return Noise(f"{wording!r} in {slot}", pieces)


@_counter
def _in_structured_data(rng: random.Random, scene: Scene) -> Noise:
    way, number = _count(rng)
    kind = rng.choice(("interaction", "rating", "comments", "meta"))

    def pieces(view: View, now: Moment) -> Mapping[str, str]:
        n = number(view, now)
        said = {
            "interaction": f'"interactionStatistic":{{"@type":"InteractionCounter","userInteractionCount":{n}}}',
            "rating": f'"aggregateRating":{{"@type":"AggregateRating","ratingValue":"4.{n % 9}","reviewCount":{n}}}',
            "comments": f'"commentCount":{n}', "meta": "",
        }[kind]  # fmt: skip
        data = f'{{"@context":"https://schema.org","@type":"Article","url":"{view.path}",{said}}}'
        meta = f'<meta name="twitter:data1" content="{n} views">'
        return {"head": f'<script type="application/ld+json">{data}</script>' if said else meta}

    return Noise(f"{kind} in the head, {way}", pieces)


def counter(rng: random.Random, scene: Scene) -> Noise:
    """One of them, on all pages, on the documents or on half of all."""
    noise = rng.choice(list(COUNTERS.values()))(rng, scene)
    takes, share = noise.takes, some(rng, rng.choice((1, 1, 0.6)))
    noise.takes = lambda view: takes(view) and share(view)
    return noise


# ---------------------------------------------------------------- G: rotations

ROTATIONS: dict[str, Callable[[random.Random, Scene], str]] = {}


def _testimonial(rng: random.Random, scene: Scene) -> str:
    said = text(" ".join(sentences(rng, scene.site.topic, 1, 3)))
    return f"<blockquote>{said} <cite>{rng.choice(NAMES)}</cite></blockquote>"


def _related(rng: random.Random, scene: Scene) -> str:
    docs = rng.sample(scene.site.docs, min(3, len(scene.site.docs)))
    return f"<h4>Discover</h4><ul>{''.join(f'<li>{link(doc)}</li>' for doc in docs)}</ul>"


def _cards(rng: random.Random, scene: Scene) -> str:
    docs = rng.sample(scene.site.docs, min(2, len(scene.site.docs)))
    return "".join(
        f'<div class="card"><img src="{d.picture}" alt=""><b>{link(d)}</b><p>{text(d.description)}</p></div>'
        for d in docs
    )


def _advertisement(rng: random.Random, scene: Scene) -> str:
    number = token(rng, 9)
    said = upper(f"{rng.choice(scene.site.topic.nouns)} for {rng.choice(scene.site.topic.objects)}")
    return (
        f'<a href="https://ads.example/c?{number}"><img src="https://ads.example/{number}.gif" alt="{said}"> {said}</a>'
    )


def _banner(rng: random.Random, scene: Scene) -> str:
    return f"<div class='banner'><b>{text(title(rng, scene.site.topic))}</b> <a href='/'>More</a></div>"


def _tip(rng: random.Random, scene: Scene) -> str:
    return f"<p>Tip of the day: {text(sentence(rng, scene.site.topic))}</p>"


def _picture(rng: random.Random, scene: Scene) -> str:
    return f'<img src="/media/random-{rng.randrange(10**6)}.jpg" alt="{text(title(rng, scene.site.topic))}">'


def _names(rng: random.Random, scene: Scene) -> str:
    return f"<p>On duty: {', '.join(rng.sample(NAMES, 3))}</p>"


def _shuffled(rng: random.Random, scene: Scene) -> str:
    tags = scene.site.tags.copy()
    rng.shuffle(tags)
    return f"<ul>{''.join(f'<li>{tag}</li>' for tag in tags)}</ul>"


def _quote(rng: random.Random, scene: Scene) -> str:
    return f"<p>{text(' '.join(sentences(rng, scene.site.topic, 2, 5)))}</p>"


MADE = (_testimonial, _related, _cards, _advertisement, _banner, _tip, _picture, _names, _shuffled, _quote)


def rotation(rng: random.Random, scene: Scene, pages: int) -> Noise:
    """Something that is another one at each request, night or build; from a pool or new each time."""
    make = rng.choice(MADE)
    way = rng.choice(("request", "request", "night", "build", "build"))
    slot, pool = rng.choice(PLACES), rng.choice((2, 4, 12, 40, 0, 0))
    shared = way != "request" and rng.random() < 0.3
    share = rng.choice((1.0, 1.0, 0.7, 0.5, 0.35))
    if pages * share < 6:
        share = 1.0
    seed = rng.random()

    def pieces(view: View, now: Moment) -> Mapping[str, str]:
        moment = drawn(seed, getattr(now, way), "" if shared else view.path)
        number = moment.randrange(pool) if pool else moment.random()
        return {slot: f'<div class="turn">{make(drawn(seed, number), scene)}</div>'}

    name = make.__name__.strip("_")
    words = [f"{name} in {slot} by {way}", f"one of {pool}" if pool else "always new", *["the same on all"] * shared]
    what = ", ".join([*words, f"on {share:.0%}"])
    return Noise(what, pieces, takes=some(rng, share), group=f"{name} by {way}")
