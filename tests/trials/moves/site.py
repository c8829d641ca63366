"""Draws a site, and what a move made of it, from a seed. The truth of each old page is drawn with it.

It was written before the matcher, and knows nothing of it. Three kinds of sites: a manual, a shop whose products differ
in a few words, and a magazine with dates in its URLs. A move draws what happens to each folder (renamed, translated,
flattened, without dates, another suffix) and to each page: it stays, or it is renamed, merged, split, rewritten or
dropped. New pages that look like old ones are added, also in place of dropped ones. The template changes too.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from html import escape
from itertools import accumulate
from pathlib import Path
from random import Random
from typing import Final

KINDS: Final = ("manual", "shop", "magazine")
_SYLLABLES: Final = [consonant + vowel for consonant in "bdfklmnprst" for vowel in "aeio"]
_SUFFIXES: Final = ("", ".html", ".php", "/")


@dataclass(frozen=True)
class DrawnPage:
    """One page as a reader sees it: its path, title, heading and the sentences of its main text."""

    path: str
    title: str
    heading: str
    sentences: tuple[str, ...]


@dataclass
class DrawnMove:
    """Two sites, and for each old path the new paths that are right; none if the page has no successor."""

    old: list[DrawnPage]
    new: list[DrawnPage]
    truth: dict[str, frozenset[str]]
    what: dict[str, str] = field(default_factory=dict)  # what happened to each old path
    frames: tuple[str, str] = ("", "")  # the markup around the main text, before and after


class _Words:
    """A vocabulary whose words are as unequal as those of a language, and a dictionary into another language."""

    def __init__(self, draw: Random, size: int) -> None:
        self._draw = draw
        self.all = sorted({self._word() for _ in range(size)})
        draw.shuffle(self.all)
        self._weights = [*accumulate(1 / (rank + 3) for rank in range(len(self.all)))]
        self._rare = self.all[200:]
        self.foreign = {word: self._word() + "a" for word in self.all}

    def _word(self) -> str:
        return "".join(self._draw.choices(_SYLLABLES, k=self._draw.choice((2, 3, 3, 4))))

    def some(self, count: int) -> list[str]:
        return self._draw.choices(self.all, cum_weights=self._weights, k=count)

    def rare(self, count: int) -> list[str]:
        return self._draw.sample(self._rare, count)

    def sentence(self, topic: list[str]) -> str:
        words = self.some(self._draw.randint(5, 14)) + self._draw.choices(topic, k=self._draw.randint(1, 3))
        self._draw.shuffle(words)
        return " ".join(words).capitalize() + "."


class _Drawer:
    """Draws one site of a kind, and its move."""

    def __init__(self, kind: str, seed: int, pages: int) -> None:
        self._draw = Random(f"{kind} {seed}")
        self._kind = kind
        self._count = pages
        self._words = _Words(self._draw, max(2_500, 2 * pages))  # a larger site says more
        self._site = " ".join(self._words.rare(2)).title()
        self._paths: set[str] = set()

    def draw(self) -> DrawnMove:
        old = self._old_site()
        return self._move(old)

    # the old site

    def _old_site(self) -> list[DrawnPage]:
        draw, words = self._draw, self._words
        suffix = draw.choice(_SUFFIXES)
        sections = ["/".join(words.rare(draw.choice((1, 1, 2)))) for _ in range(draw.randint(4, 12))]
        topics = {section: words.rare(12) for section in sections}
        boilerplate = [words.sentence(words.some(3)) for _ in range(6)]
        pages: list[DrawnPage] = []
        while len(pages) < self._count:
            section = draw.choice(sections)
            make = {"manual": self._chapter, "shop": self._family, "magazine": self._article}[self._kind]
            for name, title, sentences in make(topics[section], boilerplate):
                date = f"{draw.randint(2012, 2025)}/{draw.randint(1, 12):02}/" if self._kind == "magazine" else ""
                path = self._free(f"/{section}/{date}{name}", suffix)
                heading = title if draw.random() < 0.9 else " ".join(words.rare(3)).capitalize()
                pages.append(DrawnPage(path, f"{title} - {self._site}", heading, tuple(sentences)))
        return pages[: self._count]

    def _chapter(self, topic: list[str], _: list[str]) -> Iterator[tuple[str, str, list[str]]]:
        own = self._words.rare(6)
        name = self._words.rare(self._draw.choice((1, 2, 3)))
        if self._draw.random() < 0.1:
            name = [self._draw.choice(("index", "overview", "install", "faq"))]
        yield "-".join(name), " ".join(name).capitalize(), self._text(topic + own, self._draw.randint(4, 40))

    def _article(self, topic: list[str], boilerplate: list[str]) -> Iterator[tuple[str, str, list[str]]]:
        own = self._words.rare(8)
        title = self._words.rare(self._draw.randint(3, 7))
        text = self._text(topic + own, self._draw.randint(6, 30)) + self._draw.sample(boilerplate, 3)
        yield "-".join(title), " ".join(title).capitalize(), text

    def _family(self, topic: list[str], boilerplate: list[str]) -> Iterator[tuple[str, str, list[str]]]:
        """Products that share most of their text: a model number, a colour and a sentence or two are their own."""
        draw, words = self._draw, self._words
        brand, noun = words.rare(2)
        shared = self._text(topic, draw.randint(4, 8)) + draw.sample(boilerplate, 4)
        for _ in range(draw.choice((1, 2, 3, 5, 8, 12))):
            model, colour = str(draw.randint(100, 9999)), words.rare(1)[0]
            title = f"{brand} {noun} {model} {colour}".capitalize()
            own = [f"The {brand} {noun} {model} is {colour}.", *self._text(words.rare(5), draw.randint(0, 3))]
            yield f"{brand}-{noun}-{model}-{colour}", title, own + shared

    def _text(self, topic: list[str], count: int) -> list[str]:
        return [self._words.sentence(topic) for _ in range(count)]

    def _free(self, stem: str, suffix: str) -> str:
        path, number = stem + suffix, 1
        while path in self._paths:
            number += 1
            path = f"{stem}-{number}{suffix}"
        self._paths.add(path)
        return path

    # the move

    def _move(self, old: list[DrawnPage]) -> DrawnMove:
        draw = self._draw
        self._paths = set()
        new: list[DrawnPage] = []
        move = DrawnMove(old, new, {}, {}, (self._frame(), self._frame()))
        folders = self._folder_moves(old)
        suffix = draw.choice((None, *_SUFFIXES))
        site = self._site if draw.random() < 0.7 else " ".join(self._words.rare(2)).title()
        rates = {"keep": 70, "rename": 8, "rewrite": 8, "merge": 3, "split": 3, "drop": 8}
        queue = old.copy()
        draw.shuffle(queue)
        while queue:
            page = queue.pop()
            what = draw.choices([*rates], [*rates.values()])[0]
            stem = self._new_stem(page.path, folders, suffix)
            targets: list[DrawnPage] = []
            told = replace(page, title=page.title.replace(self._site, site), sentences=self._touched(page.sentences))
            if what == "keep":
                targets = [self._placed(told, stem)]
            elif what == "rename":
                targets = [self._placed(self._retitled(told), self._renamed(stem))]
            elif what == "rewrite":
                is_renamed = draw.random() < 0.4
                told = self._retitled(told) if draw.random() < 0.4 else told
                targets = [self._placed(self._rewritten(told), self._renamed(stem) if is_renamed else stem)]
            elif what == "merge":
                others = [queue.pop() for _ in range(min(len(queue), draw.randint(1, 2)))]
                sentences = told.sentences + tuple(s for other in others for s in other.sentences)
                targets = [self._placed(replace(told, sentences=sentences), stem)]
                for other in others:
                    move.truth[other.path] = frozenset(t.path for t in targets)
                    move.what[other.path] = what
            elif what == "split":
                half = len(told.sentences) // 2
                targets = [
                    self._placed(replace(told, sentences=told.sentences[:half] or told.sentences), stem),
                    self._placed(replace(self._retitled(told), sentences=told.sentences[half:]), self._renamed(stem)),
                ]
            elif draw.random() < 0.5:
                new.append(self._lookalike(told, stem))
            new += targets
            move.truth[page.path] = frozenset(t.path for t in targets)
            move.what[page.path] = what
        for page in draw.sample(old, len(old) // 12):
            new.append(self._lookalike(page, self._new_stem(page.path, folders, suffix)))
        draw.shuffle(new)
        return move

    def _folder_moves(self, old: list[DrawnPage]) -> dict[str, tuple[str, str]]:
        """What happens to each first folder: how, and its new name."""
        draw = self._draw
        moves = {}
        for folder in sorted({page.path.split("/")[1] for page in old}):
            how = draw.choice(("same", "same", "renamed", "translated", "deeper", "flat"))
            moves[folder] = how, draw.choice(self._words.all)
        moves[""] = draw.choice(("dates", "no dates")), ""
        return moves

    def _new_stem(self, path: str, folders: dict[str, tuple[str, str]], suffix: str | None) -> str:
        _, folder, *rest = path.split("/")
        trailing = ""
        if rest and not rest[-1]:
            rest, trailing = rest[:-1], "/"
        name, dot, extension = rest[-1].partition(".")
        if folders[""][0] == "no dates":
            rest = [part for part in rest if not part.isdecimal()]
        how, word = folders[folder]
        parts = [folder, *rest[:-1], name]
        if how == "renamed":
            parts = [word, *rest[:-1], name]
        elif how == "translated":
            known = self._words.foreign
            parts = ["-".join(known.get(part, part) for part in piece.split("-")) for piece in parts]
        elif how == "deeper":
            parts = [word, *parts]
        elif how == "flat":
            parts = [folder, name]
        return "/" + "/".join(parts) + (dot + extension + trailing if suffix is None else suffix)

    def _renamed(self, stem: str) -> str:
        head, _, name = stem.rstrip("/").rpartition("/")
        slash = "/" if stem.endswith("/") else ""
        words, dot, extension = name.partition(".")
        parts = words.split("-")
        choice = self._draw.random()
        if choice < 0.3 and len(parts) > 1:
            parts = parts[: max(1, len(parts) // 2)]
        elif choice < 0.6:
            parts = parts + self._words.rare(1)
        else:
            parts = self._words.rare(len(parts))
        return f"{head}/{'-'.join(parts)}{dot}{extension}{slash}"

    def _retitled(self, page: DrawnPage) -> DrawnPage:
        title = " ".join(self._words.rare(self._draw.randint(2, 4))).capitalize()
        return replace(page, title=f"{title} - {self._site}", heading=title)

    def _touched(self, sentences: tuple[str, ...]) -> tuple[str, ...]:
        """Most texts survive a move as they are; in some a sentence is edited."""
        if self._draw.random() < 0.7 or not sentences:
            return sentences
        at = self._draw.randrange(len(sentences))
        return (*sentences[:at], self._words.sentence(self._words.some(3)), *sentences[at + 1 :])

    def _rewritten(self, page: DrawnPage) -> DrawnPage:
        share = self._draw.uniform(0.3, 0.7)
        topic = " ".join(page.sentences).lower().replace(".", "").split()
        kept = tuple(s if self._draw.random() > share else self._words.sentence(topic) for s in page.sentences)
        return replace(page, sentences=kept)

    def _lookalike(self, page: DrawnPage, stem: str) -> DrawnPage:
        """Another page on the same subject: some of the same words, title of the same make, its own facts."""
        draw = self._draw
        title = page.heading.split()
        for at in draw.sample(range(len(title)), max(1, len(title) // 2)):
            title[at] = str(draw.randint(100, 9999)) if title[at].isdecimal() else self._words.rare(1)[0]
        heading = " ".join(title).capitalize()
        topic = " ".join(page.sentences).lower().replace(".", "").split()
        shared = set(draw.sample(range(len(page.sentences)), int(len(page.sentences) * draw.uniform(0.0, 0.4))))
        own = " ".join(title).lower().split() + self._words.rare(4)
        sentences = tuple(
            sentence if at in shared else self._words.sentence(draw.sample(topic, min(4, len(topic))) + own)
            for at, sentence in enumerate(page.sentences)
        )
        return self._placed(DrawnPage("", f"{heading} - {self._site}", heading, sentences), self._renamed(stem))

    def _placed(self, page: DrawnPage, stem: str) -> DrawnPage:
        bare = stem.rstrip("/")
        name, dot, extension = bare.rpartition(".") if "." in bare.rpartition("/")[2] else (bare, "", "")
        return replace(page, path=self._free(name, dot + extension + stem[len(bare) :]))

    def _frame(self) -> str:
        menu = "".join(f"<li><a href='/{word}'>{word.title()}</a></li>" for word in self._words.rare(8))
        foot = " ".join(self._words.sentence(self._words.some(2)) for _ in range(3))
        return f"<nav><ul>{menu}</ul></nav><main>{{}}</main><footer><p>{foot}</p></footer>"


def draw_move(kind: str, seed: int, pages: int = 1_000) -> DrawnMove:
    """The move of one made site of a kind."""
    return _Drawer(kind, seed, pages).draw()


def html_of(page: DrawnPage, frame: str) -> str:
    """The page as a file."""
    text = "".join(f"<p>{escape(sentence)}</p>" for sentence in page.sentences)
    body = frame.format(f"<h1>{escape(page.heading)}</h1>{text}")
    return f"<!doctype html><html lang=en><head><title>{escape(page.title)}</title></head><body>{body}</body></html>"


def write_site(folder: Path, pages: list[DrawnPage], frame: str) -> None:
    """The pages as a folder build."""
    for page in pages:
        place = folder / (page.path.strip("/") + ("/index.html" if page.path.endswith("/") else ""))
        if "." not in place.name:
            place = place.with_name(place.name + ".html")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(html_of(page, frame), encoding="utf-8")
