"""Which pages should link to an orphan, on generated sites of several shapes whose true parents are known."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from graphs import Link, graph

from crawler.audit.finding import LinkSuggestion
from crawler.audit.graph.suggestions import LinkSuggestions
from crawler.model import DiscoveredBy, State

HOME = "https://example.com"
WORDS = """anchor beacon cabin dinghy engine fender galley harbour inlet jetty keel lantern mast nautical oar pier quay
rudder sail tiller utensil vessel winch yacht zephyr bollard cleat davit flag gangway hatch""".split()  # noqa: SIM905 - so many


@dataclass
class Web:
    """A site being made: pages with titles, and links by path."""

    titles: dict[str, str] = field(default_factory=dict)
    links: dict[str, list[str]] = field(default_factory=dict)
    states: dict[str, State] = field(default_factory=dict)
    crumbs: dict[str, list[str]] = field(default_factory=dict)
    targets: dict[str, str] = field(default_factory=dict)

    def add(self, path: str, title: str, *links: str, state: State = State.INDEXABLE) -> str:
        self.titles[path] = title
        self.links[path] = [*links]
        self.states[path] = state
        return path

    def hubs(self, *orphans: str) -> Callable[[str], list[LinkSuggestion]]:
        """What is suggested when nobody links to these pages any more."""
        paths = [*self.titles]
        node = {path: place for place, path in enumerate(paths)}
        links: list[Link] = [
            (node[path], node[to], DiscoveredBy.LINK)
            for path, targets in self.links.items()
            for to in targets
            if to not in orphans
        ]
        targets = {node[path]: node[to] for path, to in self.targets.items()}
        made = graph([self.states[path] for path in paths], links, targets)
        hubs = LinkSuggestions(made, [HOME + path for path in paths], [self.titles[path] for path in paths])
        return lambda path: hubs.suggest(node[path], [HOME + each for each in self.crumbs.get(path, [])])

    def check(self, parents: dict[str, str]) -> None:
        """Whether the true parent of each page is among the three."""
        ask = self.hubs(*parents)
        for orphan, parent in parents.items():
            found = ask(orphan)
            assert HOME + parent in [hub.url for hub in found], (orphan, parent, found)
            assert len(found) <= 3
            assert all(0 < hub.score <= 1 and hub.reason for hub in found)


def some(rng: random.Random, parents: dict[str, str], share: float = 0.05) -> dict[str, str]:
    return dict(rng.sample(sorted(parents.items()), max(3, int(len(parents) * share))))


@pytest.mark.parametrize("index", ["/{}/", "/{}/index.html", "/{}", "/{}.html"])
def test_ours_a_hierarchy_has_the_index_of_the_directory(index: str) -> None:
    rng, web, parents = random.Random(index), Web(), {}
    sections = [index.format(word) for word in WORDS[:6]]
    web.add("/", "Home", *sections, "/about.html")
    web.add("/about.html", "About us", "/")
    for word, section in zip(WORDS, sections, strict=False):
        pages = [f"/{word}/{rng.choice(WORDS)}-{number}.html" for number in range(20)]
        web.add(section, word, "/", *pages)
        for page in pages:
            parents[web.add(page, f"A {rng.choice(WORDS)}", "/", *rng.sample(pages, 3))] = section
    web.check(some(rng, parents))


def test_ours_a_flat_site_with_hubs_has_the_hub_of_its_subject() -> None:
    rng, web, parents = random.Random(2), Web(), {}
    topics = WORDS[:12]
    web.add("/", "Home", *(f"/{topic}-guide.html" for topic in topics))
    for topic in topics:
        pages = [f"/{topic}-{rng.choice(WORDS[12:])}-{number}.html" for number in range(15)]
        web.add(f"/{topic}-guide.html", f"Guide to the {topic}", "/", *pages)
        for page in pages:
            parents[web.add(page, f"{topic} and {rng.choice(WORDS[12:])}", "/")] = f"/{topic}-guide.html"
    web.check(some(rng, parents))


@pytest.mark.parametrize("page", ["/items?page={}", "/items/page/{}/", "/list-{}.html"])
@pytest.mark.parametrize("item", ["/item/{}", "/product-{}.html", "/view?id={}", "/p/{}/"])
def test_ours_a_paginated_list_has_the_right_page_of_it(page: str, item: str) -> None:
    rng, web, parents = random.Random(page + item), Web(), {}
    web.add("/", "Home", page.format(1))
    for number in range(1, 21):
        items = [item.format(each) for each in range(number * 10, number * 10 + 10)]
        beside = [page.format(each) for each in (number - 1, number + 1) if 1 <= each <= 20]
        web.add(page.format(number), "All items", "/", *beside, *items)
        for each in items:
            parents[web.add(each, "Item", "/", page.format(1))] = page.format(number)
    web.check(some(rng, parents))


def test_ours_a_blog_has_a_tag_or_a_month() -> None:
    rng, web, parents = random.Random(4), Web(), {}
    tags = {tag: f"/tag/{tag}/" for tag in WORDS[:10]}
    months = [f"/2025/{month:02}/" for month in range(1, 13)]
    posts: dict[str, list[str]] = {path: [] for path in (*tags.values(), *months)}
    for number in range(200):
        tag, month = rng.choice([*tags]), rng.choice(months)
        post = f"{month}{rng.choice(WORDS)}-{tag}-{number}/"
        parents[web.add(post, f"On the {tag} of a {rng.choice(WORDS)} | Blog", "/", tags[tag])] = tags[tag]
        posts[tags[tag]].append(post)
        posts[month].append(post)
    for tag, path in tags.items():
        web.add(path, f"{tag} | Blog", "/", *posts[path])
    for month in months:
        web.add(month, f"Archive {month} | Blog", "/", *posts[month])
    web.titles = {"/": "Blog", **web.titles}
    web.links["/"] = [*tags.values(), *months]
    web.states["/"] = State.INDEXABLE
    chosen = some(rng, parents)
    web.check(chosen)
    web.check({post: f"{post[:9]}" for post in chosen})


def test_ours_urls_without_a_hierarchy_have_titles() -> None:
    rng, web, parents = random.Random(5), Web(), {}
    name = {word: f"/{rng.getrandbits(48):012x}" for word in WORDS[:12]}
    web.add("/", "Home", *name.values())
    for word, path in name.items():
        pages = [f"/{rng.getrandbits(48):012x}" for _ in range(15)]
        web.add(path, f"All about {word}s", "/", *pages)
        for page in pages:
            parents[web.add(page, f"{word.title()} for your {rng.choice(WORDS[12:])} | Shop", "/")] = path
    web.check(some(rng, parents))


def test_ours_a_breadcrumb_names_the_parent_where_nothing_else_does() -> None:
    web = Web()
    web.add("/", "Home", "/x1", "/y2", "/z3")
    web.add("/x1", "Uno", "/")
    web.add("/y2", "Due", "/")
    web.add("/z3", "Tre", "/")
    web.add("/q/deep/lost", "Quattro")
    web.crumbs["/q/deep/lost"] = ["/", "/x1", "/y2"]
    first, second = web.hubs("/q/deep/lost")("/q/deep/lost")[:2]
    assert (first.url, first.reason) == (f"{HOME}/y2", "it is in the breadcrumb of the orphan page")
    assert (second.url, second.reason) == (f"{HOME}/x1", "it is a higher level of the breadcrumb")


def test_ours_the_reasons_are_told_in_words() -> None:
    web = Web()
    pages = [f"/boats/{number}.html" for number in range(16)]
    web.add("/", "Home", "/boats/")
    web.add("/boats/", "Boats", *pages[:15])
    for page in pages:
        web.add(page, "Boat", "/boats/")
    (hub,) = web.hubs(pages[-1])(pages[-1])[:1]
    assert hub.reason.startswith("index of its directory; links to 15 of its 15 nearest siblings")
    assert 0.8 < hub.score <= 1


def test_ours_what_cannot_carry_a_link_is_not_suggested() -> None:
    web = Web()
    pages = [f"/boats/{number}.html" for number in range(8)]
    web.add("/", "Home", "/boats/", "/boats", "/boats/index.html", "/harbour", "/all")
    web.add("/boats/", "Boats", *pages, state=State.NOINDEX)
    web.add("/boats", "Boats", *pages, state=State.REDIRECT)
    web.add("/boats/index.html", "Boats", *pages, state=State.CANONICAL_ELSEWHERE)
    web.add("/harbour", "Engine harbour", *pages)
    web.add("/all", "Engine harbour", *pages, "/boats/lost.html")
    web.add("/old", "Engine harbour", "/boats/lost.html")  # nothing leads there
    for page in pages:
        web.add(page, "Boat")
    web.add("/boats/lost.html", "Engine harbour")
    web.add("/boats/too.html", "Engine harbour")
    web.crumbs["/boats/lost.html"] = ["/", "/boats/", "/old", "/boats/lost.html", "/boats/too.html"]
    web.targets["/boats"] = "/boats/"
    found = {hub.url.removeprefix(HOME) for hub in web.hubs("/boats/too.html")("/boats/lost.html")}
    assert "/harbour" in found
    assert not found & {"/boats/", "/boats", "/boats/index.html", "/old", "/boats/too.html", "/all", "/boats/lost.html"}


def test_ours_where_nothing_speaks_for_a_page_nothing_is_suggested() -> None:
    web = Web()
    web.add("/", "Home", "/x")
    web.add("/x", "Uno")
    web.add("/q", "Due")
    assert all(hub.url == f"{HOME}/" for hub in web.hubs("/q")("/q"))
    lonely = Web()
    lonely.add("/", "Home", state=State.NOINDEX)
    lonely.add("/q", "Due")
    assert lonely.hubs("/q")("/q") == []


def test_ours_the_index_of_the_directory_comes_before_an_index_of_the_whole_site() -> None:
    web = Web()
    web.add("/", "Home", "/library/index.html", "/genindex-all.html")
    pages = [web.add(f"/library/{word}.html", word, "/library/index.html") for word in WORDS]
    others = [web.add(f"/{word}/{n}.html", f"{word} {n}") for word in WORDS for n in range(9)]
    web.add("/library/index.html", "Library", *pages[1:])
    web.add("/genindex-all.html", "Index", *pages[1:], *others)
    assert web.hubs()(pages[0])[0].url == f"{HOME}/library/index.html"


def test_ours_a_new_post_is_not_linked_from_further_lists_like_those_that_have_it() -> None:
    web = Web()
    tags = [f"/tag/{word}/" for word in WORDS]
    web.add("/", "Home", *tags)
    posts = [web.add(f"/blog/{word}-and-{other}/", f"{word} and {other}") for word in WORDS for other in WORDS[:4]]
    for word, tag in zip(WORDS, tags, strict=True):
        web.add(tag, f"Posts on {word}", *(post for post in posts if f"/{word}-" in post))
    new = web.add("/blog/lantern-mast-and-oar/", "Lantern, mast and oar")
    for page in ("/", "/tag/lantern/"):
        web.links[page].append(new)
    assert web.hubs()(new)[0].url.startswith(f"{HOME}/blog/")


def test_ours_only_what_a_visitor_can_click_is_a_link_of_the_orphan() -> None:
    titles = ["Home", "Zephyr yacht one", "Zephyr yacht two", *WORDS[:17], "Zephyr yacht"]
    orphan = len(titles) - 1
    links: list[Link] = [(0, node, DiscoveredBy.LINK) for node in range(1, orphan)]
    links += [(orphan, 1, DiscoveredBy.ALTERNATE), (orphan, 2, DiscoveredBy.LINK)]
    made = graph([State.INDEXABLE] * len(titles), links, {})
    found = LinkSuggestions(made, [f"{HOME}/{node}" for node in range(len(titles))], titles).suggest(orphan)
    linked = {hub.url: "the orphan page links to this page" in hub.reason for hub in found}
    assert (linked[f"{HOME}/1"], linked[f"{HOME}/2"]) == (False, True)
