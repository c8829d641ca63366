"""The contents of a made site: articles, products and pages of sections, and the lists that show them.

Pure.
"""

import random
from dataclasses import dataclass, field

from tests.trials.lastmod_kinds.words import NAMES, TOPICS, Topic, goods, sentence, sentences, slug, title, upper


@dataclass(eq=False)
class Block:
    """A part of a text: ``lines`` are its sentences, items, lines of code, or rows with cells parted by ``|``."""

    kind: str  # paragraph, heading, list, table, code, picture, quote
    lines: list[str]
    target: str = ""  # of the link behind a paragraph, or of a picture

    def words(self) -> int:
        return sum(len(line.split()) for line in self.lines)


@dataclass(eq=False)
class Doc:
    """A page that somebody wrote."""

    number: int
    path: str
    template: str  # article or product
    section: str
    title: str
    description: str
    author: str
    day: int  # of its publication; negative before the first night
    tags: list[str]
    blocks: list[Block]
    picture: str
    price: int = 0  # in cents
    stock: int = 0

    def minutes(self) -> int:
        return 1 + sum(block.words() for block in self.blocks) // 40


@dataclass(frozen=True)
class View:
    """A page as visitors ask for it: a document, or a list of some."""

    path: str
    template: str  # home, list, article or product
    title: str
    section: str = ""
    doc: Doc | None = None
    entries: tuple[Doc, ...] = ()
    number: int = 1  # of this page of a list
    count: int = 1  # of pages of this list

    def shows(self) -> tuple[tuple[object, ...], ...]:
        """What the entries of the list say."""
        return tuple((doc.path, doc.title, doc.description, doc.price) for doc in self.entries)


@dataclass
class Contents:
    """All documents, newest first, and the pages that follow from them."""

    topic: Topic
    name: str
    sections: list[tuple[str, str, str]]  # path part, name, template of its documents
    docs: list[Doc]
    per_page: int
    tags: list[str]
    used: set[str] = field(default_factory=set)

    def views(self) -> dict[str, View]:
        """Every page of the site, by path."""
        found = {"/": View("/", "home", self.name, entries=tuple(self.docs[: self.per_page]))}
        for part, name, _ in self.sections:
            docs = [doc for doc in self.docs if doc.section == part]
            count = max(1, -(-len(docs) // self.per_page))
            for number in range(1, count + 1):
                path = f"/{part}/" if number == 1 else f"/{part}/page/{number}/"
                entries = tuple(docs[(number - 1) * self.per_page : number * self.per_page])
                found[path] = View(path, "list", name, part, None, entries, number, count)
        for doc in self.docs:
            found[doc.path] = View(doc.path, doc.template, doc.title, doc.section, doc)
        return found

    def neighbours(self, doc: Doc) -> tuple[Doc | None, Doc | None]:
        """The next older and the next newer document of the section."""
        docs = [each for each in self.docs if each.section == doc.section]
        at = docs.index(doc)
        return docs[at + 1] if at + 1 < len(docs) else None, docs[at - 1] if at else None

    def related(self, doc: Doc, count: int) -> list[Doc]:
        """Other documents of the same tags, the same ones as long as there is no new document."""
        others = [each for each in self.docs if each is not doc]
        drawn = [
            (-len(set(each.tags) & set(doc.tags)), (doc.number * 7919 + each.number * 104729) % 1009, each.number)
            for each in others
        ]
        numbers = {each.number: each for each in others}
        return [numbers[number] for _, _, number in sorted(drawn)[:count]]

    def add(self, rng: random.Random, section: str, template: str, day: int) -> Doc:
        """A new document."""
        number = len(self.docs) + 1
        name = _unused(rng, self, goods if template == "product" else title)
        doc = Doc(
            number, f"/{section}/{slug(name)}-{number}/", template, section, name, sentence(rng, self.topic),
            rng.choice(NAMES), day, rng.sample(self.tags, rng.randrange(1, 4)), [],
            f"/media/{slug(name)}.jpg", rng.randrange(300, 90000), rng.randrange(2, 400),
        )  # fmt: skip
        doc.blocks = body(rng, self, doc)
        self.docs.insert(0, doc)
        self.docs.sort(key=lambda each: -each.day)
        return doc


def _unused(rng: random.Random, site: Contents, make: object) -> str:
    assert callable(make)
    while (name := str(make(rng, site.topic))) in site.used:
        pass
    site.used.add(name)
    return name


def body(rng: random.Random, site: Contents, doc: Doc) -> list[Block]:
    """The text of a document: paragraphs under headings, and other blocks between them."""
    topic = site.topic
    blocks = [Block("paragraph", sentences(rng, topic))]
    for _ in range(rng.randrange(1, 4) if doc.template == "article" else 1):
        blocks.append(Block("heading", [title(rng, topic)]))
        blocks += [Block("paragraph", sentences(rng, topic)) for _ in range(rng.randrange(1, 3))]
        blocks.append(block(rng, site, rng.choice(("list", "table", "code", "picture", "quote", "linked"))))
    return blocks


def block(rng: random.Random, site: Contents, kind: str) -> Block:
    """A block of a kind; ``linked`` is a paragraph with a link."""
    topic = site.topic
    if kind == "linked":
        inside = rng.choice(site.docs).path if site.docs and rng.random() < 0.6 else ""
        target = inside or f"https://{rng.choice(topic.nouns)}.example/{rng.choice(topic.nouns)}"
        return Block("paragraph", sentences(rng, topic), target)
    if kind == "list":
        return Block(kind, [sentence(rng, topic).rstrip(".") for _ in range(rng.randrange(3, 7))])
    if kind == "table":
        rows = rng.sample(topic.nouns, rng.randrange(3, 7))
        return Block(kind, [f"{upper(row)}|{rng.randrange(2, 900)}|{rng.choice(topic.objects)}" for row in rows])
    if kind == "code":
        lines = [f"{rng.choice(topic.nouns)}_{rng.choice(topic.nouns)} = {rng.randrange(99)}" for _ in range(3)]
        return Block(kind, [*lines, f"run --{rng.choice(topic.nouns)} {rng.randrange(9)}"])
    if kind == "picture":
        source = f"/media/{rng.choice(topic.nouns)}-{rng.randrange(10**6)}.jpg"
        return Block(kind, [title(rng, topic), sentence(rng, topic)], source)
    return Block("quote", sentences(rng, topic, 1, 3))


def furnish(rng: random.Random, site: Contents) -> None:
    """Give most documents a picture, a list, a table and a link to another site."""
    for doc in site.docs:
        for kind in ("picture", "list", "table"):
            if rng.random() < 0.8 and all(each.kind != kind for each in doc.blocks):
                doc.blocks.append(block(rng, site, kind))
        if rng.random() < 0.8 and not any(each.target.startswith("https") for each in doc.blocks):
            other = f"https://{rng.choice(site.topic.nouns)}.example/{rng.choice(site.topic.nouns)}"
            doc.blocks.append(Block("paragraph", sentences(rng, site.topic), other))


def contents(rng: random.Random, pages: int, is_shop: bool = False) -> Contents:
    """A site of about so many pages. A shop has products in any case."""
    topic = rng.choice(TOPICS)
    names = rng.sample(topic.nouns, 12)
    count = 2 if pages < 20 else rng.randrange(3, 5)
    sections = [
        (names[at], upper(names[at]) + "s", "product" if at == 0 and (is_shop or rng.random() < 0.7) else "article")
        for at in range(count)
    ]
    name = f"The {upper(names[4])} {rng.choice(('Company', 'Journal', 'Club', 'Project', 'House'))}"
    site = Contents(topic, name, sections, [], rng.choice((6, 10, 20)), names[5:])
    wanted = pages - 1 - count
    while len(site.docs) < wanted and len(site.views()) < pages:
        part, _, template = rng.choice(sections) if len(site.docs) > count else sections[len(site.docs) % count]
        site.add(rng, part, template, -wanted - 5 + len(site.docs))
    return site
