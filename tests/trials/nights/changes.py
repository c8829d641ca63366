"""What editors do on a good night: changes that must be published, each with what is true afterwards."""

import random
from copy import deepcopy
from dataclasses import dataclass, field

from .answers import Reply, html
from .site import Page, Site, paragraph, sentence, title, vocabulary


@dataclass
class Change:
    """The site after a change. ``gone`` are the answers of paths that were pages; ``edited`` pages have new content."""

    name: str
    site: Site
    gone: dict[str, Reply] = field(default_factory=dict)
    edited: set[str] = field(default_factory=set)
    is_redesign: bool = False  # all pages look different, and none has new content


def drawn_change(dice: random.Random, site: Site, day: int) -> Change:
    """One change, or two at once."""
    change = Change("", deepcopy(site))
    for each in dice.sample(_CHANGES, dice.choice((1, 1, 1, 2))):
        name = each(dice, change, day)
        change.name += f" + {name}" if change.name else name
    return change


def _leaf(dice: random.Random, site: Site) -> Page:
    leaves = [page for page in site.pages.values() if not site.links(page) and page.path != "/"]
    return dice.choice(leaves or [page for page in site.pages.values() if page.path != "/"])


def _remove(dice: random.Random, change: Change, day: int) -> str:
    """At most a tenth of the pages; always whole leaves, so that nothing else loses its link."""
    site = change.site
    most = max(1, min(6, len(site.pages) // 10 - 1))
    status = dice.choice((404, 410, 301))
    count = dice.randrange(1, most + 1)
    for _ in range(count):
        page = _leaf(dice, site)
        del site.pages[page.path]
        to = dice.choice(sorted(site.pages))
        gone = Reply(301, b"", (("Location", to),)) if status == 301 else Reply(status, html("", "<h1>Gone</h1>"))
        change.gone[page.path] = gone
    return f"{count} removed ({status})"


def _add(dice: random.Random, change: Change, day: int) -> str:
    count = dice.randrange(1, 5)
    _added(dice, change.site, count)
    return f"{count} added"


def _added(dice: random.Random, site: Site, count: int) -> None:
    for number in range(count):
        home = site.pages[dice.choice(site.sections)]
        base = home.path.removesuffix(".html").rstrip("/")
        path = f"{base}/{dice.choice(vocabulary('en'))}-new-{len(site.pages)}-{number}/"
        site.pages[path] = Page(path, home.section, title(dice), [paragraph(dice) for _ in range(dice.randrange(1, 6))])
        home.listed.append(path)


def _edit(dice: random.Random, change: Change, day: int) -> str:
    pages = [page for page in change.site.pages.values() if page.paragraphs and page.path != "/"]
    count = min(len(pages), dice.randrange(1, 5))
    for page in dice.sample(pages, count):
        page.paragraphs[dice.randrange(len(page.paragraphs))] = paragraph(dice)
        page.paragraphs.append(sentence(dice))
        page.edited = day
        change.edited.add(page.path)
    return f"{count} edited"


def _redesign(dice: random.Random, change: Change, day: int) -> str:
    change.site.template = change.site.template.redesigned(dice)
    change.is_redesign = True
    return "redesign of all pages"


def _prices(dice: random.Random, change: Change, day: int) -> str:
    priced = [page for page in change.site.pages.values() if page.price]
    if not priced:
        return _edit(dice, change, day)
    for page in priced:
        page.price = round(page.price * 1.05 + 0.05, 2)
        page.edited = day
        change.edited.add(page.path)
    return f"{len(priced)} prices up"


def _section(dice: random.Random, change: Change, day: int) -> str:
    """A section of at most a twelfth of the pages goes, with all that is below it."""
    site = change.site
    for section in sorted(site.sections):
        name = site.pages[section].section if section in site.pages else ""
        members = [page.path for page in site.pages.values() if page.section == name and name]
        if 0 < len(members) <= len(site.pages) / 12:
            for path in members:
                del site.pages[path]
                change.gone[path] = Reply(404, html("", "<h1>Gone</h1>"))
            return f"section of {len(members)} removed"
    return _remove(dice, change, day)


def _grow(dice: random.Random, change: Change, day: int) -> str:
    size = len(change.site.pages)
    _added(dice, change.site, size * 2 if size < 500 else size // 2)
    return f"grows from {size} to {len(change.site.pages)}"


_CHANGES = [_remove, _add, _edit, _edit, _redesign, _prices, _section, _grow]
