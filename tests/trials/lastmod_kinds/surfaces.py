"""Kinds B, C and E: typography, another language for some nights, and signed paths, nonces and build numbers."""

# ruff: noqa: RUF001 - the letters are what this is about

import random
import re
import unicodedata
from collections.abc import Callable, Mapping
from html import escape

from tests.trials.lastmod_kinds.noise import (
    Change,
    Maker,
    Moment,
    Noise,
    Scene,
    drawn,
    registry,
    some,
    texts,
    token,
    within,
)
from tests.trials.lastmod_kinds.site import View
from tests.trials.lastmod_kinds.words import translated

# ---------------------------------------------------------------- B: typography


def _curly(text: str) -> str:
    text = re.sub(r'"([^"]*)"', "“\\1”", text)
    return text.replace("'", "’")


def _german(text: str) -> str:
    return re.sub(r'"([^"]*)"', "„\\1“", text)


def _french(text: str) -> str:
    return re.sub(r'"([^"]*)"', "«\u00a0\\1\u00a0»", text)


def _hyphenated(sign: str) -> Callable[[str], str]:
    long = re.compile(r"(?<![&\w])([^\W\d_]{3})([^\W\d_]{4,})")
    return lambda text: long.sub(rf"\1{sign}\2", text)


def _entities(text: str) -> str:
    return "".join(f"&#{ord(c)};" if ord(c) > 127 else c for c in text).replace("'", "&#39;").replace('"', "&quot;")


def _wrapped(text: str) -> str:
    return re.sub(r"((?:\S+ ){5}\S+) ", "\\1\n    ", text)


LETTERS: dict[str, Callable[[str], str]] = {
    "NFD": lambda text: unicodedata.normalize("NFD", text),
    "curly quotes": _curly,
    "German quotes": _german,
    "French quotes": _french,
    "soft hyphens": _hyphenated("\u00ad"),
    "&shy;": _hyphenated("&shy;"),
    "<wbr>": _hyphenated("<wbr>"),
    "no-break spaces": lambda text: re.sub(r"(\d) (?=\w)|\b(an?|the|in|of) ", lambda at: at[0][:-1] + "\u00a0", text),
    "&nbsp;": lambda text: re.sub(r"(\d) (?=\w)", "\\1&nbsp;", text),
    "narrow no-break spaces": lambda text: re.sub(r"(\d) (?=\w)", "\\1\u202f", text),
    "em dashes": lambda text: text.replace(" -- ", "—"),
    "en dashes": lambda text: text.replace("--", "–"),
    "ellipsis": lambda text: text.replace("...", "…"),
    "ligatures": lambda text: text.replace("ffi", "ﬃ").replace("fi", "ﬁ").replace("fl", "ﬂ").replace("ff", "ﬀ"),
    "entities": _entities,
    "&rsquo;": lambda text: text.replace("'", "&rsquo;"),
    "non-breaking hyphens": lambda text: text.replace("-", "\u2011"),
    "line breaks": _wrapped,
    "two spaces": lambda text: re.sub(r"([.!?]) ", r"\1  ", text),
    "white space at the ends": lambda text: (
        f"\n  {text.rstrip()}\n " if text[:1].isupper() and text[-1:] == "." else text
    ),
    "smartypants": lambda text: _curly(text).replace("--", "–").replace("...", "…"),
    "zero-width spaces": lambda text: re.sub(r"(?<=\w)([/-])(?=\w)", "\\1\u200b", text),
    "word joiners": lambda text: re.sub(r" (?=[€%])", "\u00a0\u2060", text),
}


def typography(rng: random.Random, nights: int) -> list[Noise]:
    """One to three of them, all in one night, on all pages; or the other way round."""
    at = rng.randrange(2, nights)
    made = []
    for name in rng.sample(sorted(LETTERS), rng.choice((1, 1, 2, 3))):
        letters, only_main = LETTERS[name], rng.random() < 0.3
        if only_main:
            change: Change = lambda html, view, now, do=letters: within(html, lambda part: texts(part, do))  # type: ignore[misc]  # noqa: E731
        else:
            change = lambda html, view, now, do=letters: texts(html, do)  # type: ignore[misc]  # noqa: E731
        made.append(Noise(name + " in the main part" * only_main, change=change, group=name))
    backwards = rng.random() < 0.3
    for noise in made:
        if backwards:
            noise.until = at
        else:
            noise.since = at
    return made


# ---------------------------------------------------------------- C: languages


def _foreign(html: str) -> str:
    html = texts(html, lambda text: re.sub(r"(?<![&\w])[^\W\d_]{2,}(?!;)", lambda at: translated(at[0]), text))
    return re.sub(r'(alt|content|title)="([^"/]*)"', lambda at: f'{at[1]}="{escape(translated(at[2]))}"', html)


def language(rng: random.Random, nights: int) -> tuple[Noise, bool]:
    """Another language for some nights, and whether the main text has it too."""
    since = rng.randrange(2, nights - 2)
    whole = rng.random() < 0.5

    def change(html: str, view: View, now: Moment) -> str:
        html = html.replace('<html lang="en">', '<html lang="de">')
        if whole:
            return _foreign(html)
        before, main, rest = html.partition('<main id="content"')
        inside, close, after = rest.partition("</main>")
        return _foreign(before) + main + inside + close + _foreign(after)

    noise = Noise("the whole page in another language" if whole else "the frame in another language", change=change)
    noise.group = noise.name
    noise.since, noise.until = since, since + rng.choice((1, 1, 1, 2))
    return noise, whole


# ---------------------------------------------------------------- E: signed paths and nonces

SIGNED: dict[str, Maker] = {}
_signed = registry(SIGNED)


def _moving(rng: random.Random, *how: str) -> tuple[str, Callable[..., random.Random]]:
    """How often a value is new, and a generator for the values of the moment."""
    way, seed = rng.choice(how or ("request", "build", "night")), rng.random()
    return way, lambda now, *of: drawn(seed, getattr(now, way), *of)


@_signed
def _assets(rng: random.Random, scene: Scene) -> Noise:
    way, values = _moving(rng, "build", "build", "request")
    style = rng.choice((".{}.css", ".css?v={}", "-{}.min.css", ".css?ver={}&amp;t=1"))
    scripts = rng.randrange(3)

    def change(html: str, view: View, now: Moment) -> str:
        html = re.sub(r'(/assets/[\w-]+)\.css"', lambda at: at[1] + style.format(token(values(now), 8)) + '"', html)
        more = "".join(
            f'<script src="/assets/{n}.{token(values(now, n), 10)}.js" defer></script>' for n in range(scripts)
        )
        return html.replace("</body>", f"{more}</body>")

    return Noise(f"assets {style} by {way}", change=change)


@_signed
def _signed_pictures(rng: random.Random, scene: Scene) -> Noise:
    way, values = _moving(rng)
    style = rng.choice((
        "{}?X-Amz-Expires=900&amp;X-Amz-Signature={s}", "{}?token={s}", "/signed/{s}{}", "https://img.site.example/{s}/fit{}",
        "/_image?url={}&amp;sig={s}", "{stem}.{s}{end}", "{}?exp=17{n}&amp;hmac={s}", "/cache/{n}{}",
    ))  # fmt: skip
    whole = rng.random() < 0.5  # one signature for all pictures

    def change(html: str, view: View, now: Moment) -> str:
        def one(found: re.Match[str]) -> str:
            path = found[1]
            rng = values(now) if whole else values(now, path)
            stem, dot, end = path.rpartition(".")
            return f'src="{style.format(path, s=token(rng, 24), n=rng.randrange(10**8), stem=stem, end=dot + end)}"'

        return re.sub(r'src="(/media/[^"]*)"', one, html)

    return Noise(f"pictures {style} by {way}", change=change)


@_signed
def _form_token(rng: random.Random, scene: Scene) -> Noise:
    way, values = _moving(rng, "request", "request", "night")
    slot, own = rng.choice(("header", "footer", "text-end", "after-text", "head")), rng.random() < 0.7
    name = rng.choice(("csrf_token", "_token", "authenticity_token", "__RequestVerificationToken"))

    def pieces(view: View, now: Moment) -> Mapping[str, str]:
        value = token(values(now, view.path if own else ""), 40)
        if slot == "head":
            return {slot: f'<meta name="{name}" content="{value}">'}
        return {
            slot: f'<form method="post" action="/letter"><input type="hidden" name="{name}" value="{value}"></form>'
        }

    return Noise(f"{name} in {slot} by {way}", pieces)


@_signed
def _session(rng: random.Random, scene: Scene) -> Noise:
    way, values = _moving(rng, "request", "request", "night")
    kind = rng.choice(("link", "action", "attribute", "script", "tracking"))
    slot = rng.choice(("header", "footer", "side", "text-end", "after-text", "text-middle"))

    def pieces(view: View, now: Moment) -> Mapping[str, str]:
        value = token(values(now, view.path), 26)
        return {
            slot: {
                "link": f'<p>Members <a href="https://my.site.example/login?sid={value}">sign in</a> here.</p>',
                "action": f'<form action="/find;jsessionid={value.upper()}"><input name="q"></form>',
                "attribute": f'<div data-session="{value}" id="s-{value[:6]}" class="w{value[:4]}"></div>',
                "script": f'<script>window.__SESSION__={{"id":"{value}","page":"{view.path}"}}</script>',
                "tracking": f'<img src="https://count.example/p.gif?visit={value}" width="1" height="1" alt="">',
            }[kind]
        }

    return Noise(f"session in a {kind} in {slot} by {way}", pieces)


@_signed
def _nonce(rng: random.Random, scene: Scene) -> Noise:
    values = _moving(rng, "request")[1]
    return Noise(
        "nonce",
        lambda view, now: {"head": f'<script nonce="{token(values(now))}">load("{token(values(now, 1))}")</script>'},
        lambda html, view, now: html.replace("<link rel=", f'<link nonce="{token(values(now))}" rel='),
    )


@_signed
def _build_number(rng: random.Random, scene: Scene) -> Noise:
    way, values = _moving(rng, "build", "build", "night", "request")
    kind = rng.choice(("generator", "html", "comment", "state", "jsonld", "header"))

    def change(html: str, view: View, now: Moment) -> str:
        value = token(values(now), 16)
        state = f'{{"buildId":"{value}","path":"{view.path}","at":{now.night * 86400 + now.request}}}'
        mark, more = {
            "generator": ("</head>", f'<meta name="generator" content="Builder 4.1 ({value})"></head>'),
            "html": ("<html ", f'<html data-build="{value}" '),
            "comment": ("</body>", f"<!-- served from cache {value} --></body>"),
            "state": ("</body>", f'<script id="__STATE__" type="application/json">{state}</script></body>'),
            "jsonld": (
                "</head>",
                f'<script type="application/ld+json">{{"@type":"WebSite","version":"{value}"}}</script></head>',
            ),
            "header": ("</footer>", f"<small>Revision {value}</small></footer>"),
        }[kind]
        return html.replace(mark, more)

    return Noise(f"build number in {kind} by {way}", change=change)


@_signed
def _class_names(rng: random.Random, scene: Scene) -> Noise:
    way, values = _moving(rng, "build", "build", "request")

    def change(html: str, view: View, now: Moment) -> str:
        names: dict[str, str] = {}
        rng = values(now)
        put = lambda at: f'class="{at[1]}_{names.setdefault(at[1], token(rng, 5))}"'  # noqa: E731
        return re.sub(r'class="([\w-]+)"', put, html)

    return Noise(f"names of classes by {way}", change=change)


@_signed
def _ids(rng: random.Random, scene: Scene) -> Noise:
    way, values = _moving(rng, "request", "build")

    def change(html: str, view: View, now: Moment) -> str:
        rng = values(now, view.path)
        return re.sub(r"<(h[1-4]|figure|ul|table)>", lambda at: f'<{at[1]} id="el-{token(rng, 7)}">', html)

    return Noise(f"IDs by {way}", change=change)


def signed(rng: random.Random, scene: Scene) -> Noise:
    """One of them, on all pages or half of them."""
    noise = rng.choice(list(SIGNED.values()))(rng, scene)
    noise.takes = some(rng, rng.choice((1, 1, 1, 0.5)))
    return noise
