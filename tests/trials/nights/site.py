"""Made sites: pages with texts of their own in a template of their own, and how they look to a visitor."""

import random
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import formatdate
from functools import cache
from html import escape

DAY_ONE, DAY = 1_767_225_600.0, 86_400.0  # 2026-01-01, as the commands of forked.py have it

_TEXT = """the of and to in a is that for it as was with be by on not he this are or his from at which but have an had
they you were their one all we can her has there been if more when will would who so no out up into them then she many
some may these its two like other could time first only new over such most made after also did before must through years
where much your way well down should because each just those people how too little state good very make world still own
see men work long here get both between life being under never day same another know while last might us great old year
off come since against go came right used take three"""
_SMALL = _TEXT.split()
_SOUNDS = """b br c ch cl d dr f fl g gr h j k l m n p pl pr qu r s sc sh sl sp st str t th tr v w
a e i o u ai ea ee ie oa oo ou
ck d ft g l ld ll m mp n nd ng nt p r rd rk rn s ss st t th x
al age ance ed en er est ful ing ion ity ive less ly ment ness or ship ure y"""
_ONSETS, _NUCLEI, _CODAS, _ENDS = (line.split() for line in _SOUNDS.splitlines())


@cache
def vocabulary(language: str) -> list[str]:
    """Some three thousand words of a made language."""
    dice = random.Random(f"vocabulary {language}")
    words = set()
    while len(words) < 3000:
        syllables = dice.choice((1, 1, 2, 2, 3))
        word = "".join(
            dice.choice(_ONSETS) + dice.choice(_NUCLEI) + dice.choice(["", "", *_CODAS]) for _ in range(syllables)
        )
        words.add(word + dice.choice([""] * 4 + _ENDS))
    return sorted(words)


def words(dice: random.Random, count: int, language: str = "en") -> list[str]:
    """Words as texts have them: a few often, many seldom."""
    known = vocabulary(language)
    small = _SMALL if language == "en" else known[-120:]
    return [
        dice.choice(small) if dice.random() < 0.45 else known[int(len(known) * dice.random() ** 2)]
        for _ in range(count)
    ]


def sentence(dice: random.Random, language: str = "en") -> str:
    said = words(dice, dice.randrange(5, 22), language)
    if dice.random() < 0.15:
        said[dice.randrange(len(said))] = str(dice.randrange(2, 2030))
    if len(said) > 10:
        said[len(said) // 2] += ","
    return " ".join(said).capitalize() + dice.choice("....?!")


def paragraph(dice: random.Random, language: str = "en") -> str:
    return " ".join(sentence(dice, language) for _ in range(dice.randrange(1, 7)))


def title(dice: random.Random, language: str = "en") -> str:
    return " ".join(words(dice, dice.randrange(2, 8), language)).capitalize()


@dataclass
class Page:
    """What the editors of a page decide: ``listed`` are the paths that it lists, ``edited`` is the day of an edit."""

    path: str
    section: str
    title: str
    paragraphs: list[str]
    listed: list[str] = field(default_factory=list)
    price: float = 0.0
    edited: int = 0
    picture: str = ""


@dataclass
class Template:
    """How all pages of a site look."""

    name: str
    body: str  # the element around the content
    is_minified: bool  # leaves out the ends that HTML lets it leave out
    dates: str  # "none", "header", "meta", "json", "some"
    has_aside: bool
    has_related: bool
    nonce: bool  # a new one for each request
    footer: str
    hue: int
    validators: bool  # ETag, and 304 for those who have it
    sends: str  # "length", "chunked"
    offers: str  # a line that is on all pages, "" for none

    def redesigned(self, dice: random.Random) -> "Template":
        """Another look around the same content."""
        return replace(
            self,
            body={"main": "article", "article": "div", "div": "main"}[self.body],
            has_aside=not self.has_aside,
            footer=f"{self.name} {' '.join(words(dice, 8))}",
            hue=dice.randrange(1000),
            offers=sentence(dice),
        )


@dataclass
class Site:
    """A site at one moment, and what each of its pages answers."""

    pages: dict[str, Page]
    template: Template
    sections: list[str]
    language: str = "en"
    serves_sitemap: bool = False  # what was published is on the site itself
    unlinked: frozenset[str] = frozenset()  # pages that no list names any more

    def links(self, page: Page) -> list[str]:
        return [path for path in page.listed if path in self.pages and path not in self.unlinked]

    def render(self, path: str, request: int = 0, robots: str = "", head: str = "") -> str:
        """The page as HTML; ``robots`` and ``head`` go into its head."""
        page, look = self.pages[path], self.template
        nonce = f" nonce={random.Random(request).randbytes(8).hex()}" if look.nonce else ""
        parts = [
            f"<!doctype html><html lang={self.language}><head><meta charset=utf-8>",
            f"<title>{escape(page.title)} | {escape(look.name)}</title>",
            f'<meta name="robots" content="{robots}">' if robots else "",
            head,
            f'<link rel="stylesheet" href="/assets/{look.hue}.css">',
            f'<script{nonce} src="/assets/{look.hue}.js"></script>',
            self._dates(page),
            "</head><body class=c", str(look.hue), "><header><a href=/>", escape(look.name), "</a><nav><ul>",
        ]  # fmt: skip
        parts += [
            f"<li><a href={each}>{escape(self.pages[each].title)}</a></li>"
            for each in self.sections
            if each in self.pages and each not in self.unlinked
        ]
        parts += ["</ul></nav></header>", f"<p class=offer>{look.offers}</p>" if look.offers else ""]
        parts += [f"<{look.body}><h1>{escape(page.title)}</h1>"]
        parts += [f'<img src="/pictures/{page.picture}.jpg" alt="{escape(page.title)}">' if page.picture else ""]
        parts += [f"<p class=price>€ {page.price:.2f}</p>" if page.price else ""]
        parts += [f"<p>{escape(each)}</p>" for each in page.paragraphs]
        parts += ["<ul class=list>"] if page.listed else []
        parts += [f"<li><a href={each}>{escape(self.pages[each].title)}</a></li>" for each in self.links(page)]
        parts += ["</ul>"] if page.listed else []
        parts += [f"</{look.body}>"]
        if look.has_aside:
            parts += [f"<aside><h2>{escape(look.name)}</h2><form action=/search><input name=q></form></aside>"]
        parts += [f"<footer><p>{escape(look.footer)}</p></footer>"]
        parts += [] if look.is_minified else ["</body></html>\n"]
        return "".join(parts)

    def _dates(self, page: Page) -> str:
        kind = self._kind_of_date(page)
        stamp = _iso(self.edited_at(page))
        if kind == "meta":
            return f'<meta property="article:modified_time" content="{stamp}">'
        if kind == "json":
            return (
                '<script type="application/ld+json">{"@context":"https://schema.org","@type":"Article",'
                f'"dateModified":"{stamp}"}}</script>'
            )
        return ""

    def _kind_of_date(self, page: Page) -> str:
        if self.template.dates == "some":
            return ("none", "header", "meta", "json")[sum(page.path.encode()) % 4]
        return self.template.dates

    def edited_at(self, page: Page) -> float:
        """When the page was edited: some time in the two years before the first day, or on the day of an edit."""
        if page.edited:
            return DAY_ONE + DAY * page.edited - 3600
        return DAY_ONE - DAY * (5 + sum(page.path.encode()) * 37 % 700)

    def last_modified(self, page: Page) -> str:
        return formatdate(self.edited_at(page), usegmt=True) if self._kind_of_date(page) == "header" else ""


def _iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S+00:00")


def made_site(dice: random.Random, size: int) -> Site:
    """A site of ``size`` pages: a start page, sections that list their pages, and pages with parts below them."""
    kind = dice.choice(("blog", "shop", "docs", "portal"))
    name = title(dice).title()
    count = {10: dice.choice((1, 2, 3)), 65: dice.choice((2, 4, 6)), 1000: dice.choice((5, 9, 20))}.get(size, 3)
    count = min(count, max(1, size // 4))
    ends = dice.choice(("/", ".html", ""))
    sections: list[str] = []
    pages: dict[str, Page] = {"/": Page("/", "", title(dice), [paragraph(dice) for _ in range(dice.randrange(1, 4))])}
    while len(sections) < count:
        slug = dice.choice(vocabulary("en"))
        path = f"/{slug}{ends}"
        if path not in pages:
            sections.append(path)
            pages[path] = Page(path, slug, title(dice), [paragraph(dice)] if dice.random() < 0.7 else [])
    weights = [dice.choice((1, 1, 2, 4)) for _ in sections]
    while len(pages) < size:
        home = pages[dice.choices(sections, weights)[0]]
        _grow(dice, kind, pages, home, ends)
    pages["/"].listed = [*sections, *dice.sample(sorted(set(pages) - {"/"}), min(5, size - 1))]
    template = Template(
        name,
        dice.choice(("main", "article", "div")),
        dice.random() < 0.3,
        dice.choice(("none", "header", "meta", "json", "some")),
        dice.random() < 0.5,
        dice.random() < 0.5,
        dice.random() < 0.3,
        f"{name} {' '.join(words(dice, dice.randrange(5, 40)))}",
        dice.randrange(1000),
        dice.random() < 0.5,
        dice.choice(("length", "length", "chunked")),
        "",
    )
    return Site(pages, template, sections, serves_sitemap=dice.random() < 0.4)


def _grow(dice: random.Random, kind: str, pages: dict[str, Page], home: Page, ends: str) -> Page:
    """One more page, below a section or below a page of it."""
    siblings = [each for each in home.listed if each in pages]
    parent = pages[dice.choice(siblings)] if siblings and dice.random() < 0.15 else home
    base = parent.path.removesuffix(".html").rstrip("/")
    path = f"{base}/{'-'.join(dice.choice(vocabulary('en')) for _ in range(dice.randrange(1, 4)))}{ends}"
    while path in pages:
        path = path.removesuffix(ends) + f"-{len(pages)}{ends}"
    size = 1 if kind == "shop" else dice.choice((0, 1, 2, 4, 6, 12))
    page = Page(path, home.section, title(dice), [paragraph(dice) for _ in range(size)])
    if kind == "shop":
        page.price = round(dice.uniform(2, 400), 2)
        if siblings and dice.random() < 0.3:  # a variant: another colour of the same
            like = pages[dice.choice(siblings)]
            page.title, page.paragraphs = f"{like.title} {dice.choice(vocabulary('en'))}", [*like.paragraphs]
    if not page.paragraphs and not page.price:
        page.paragraphs = [sentence(dice)]
    if dice.random() < 0.4:
        page.picture = "-".join(words(dice, 2))
    if siblings and dice.random() < 0.5:
        page.listed = dice.sample(siblings, min(len(siblings), 3))
    pages[path] = page
    parent.listed.append(path)
    return page
