"""Outlines of a site by section: an HTML sitemap for people, and llms.txt for programs. Pure.

A section is a directory right below that of the sitemap, or another host, if it has several pages. An outline has no
words of its own but the name of its format, so that the outline of a German site is German.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from heapq import nsmallest
from html import unescape
from typing import Final, NamedTuple
from urllib.parse import unquote

from crawler.model import Url
from crawler.parse.html.text import one_line

MIN_SECTION: Final = 2
"""Pages of a section; a page in a directory of its own, such as /a-post/, is no section."""
MAX_TITLE: Final = 200  # characters
MAX_DESCRIPTION: Final = 300  # characters
_MIN_SUFFIX_SHARE: Final = 0.5
"""Share of the titles that end with the name of the site, from which on the outline leaves it out."""
_MAX_HEAD: Final = 100_000  # characters of markup in which the description is searched
_INDEX: Final = ("index", "default")  # names of the page of a directory
_MAX_SLUG: Final = 80  # characters of a section in the name of a file
_NEAR: Final = 50  # files of a section before and after one, to which it links
_NO_SECTION: Final = "pages"  # in the name of the file with the pages in no section

_title_suffix = re.compile(r".\s[|\u00b7\u2013\u2014:-]\s([^|\u00b7\u2013\u2014]++)\Z").search
_meta_tags = re.compile(r"""<meta\b((?:=\s*+(?:"[^"]*+"|'[^']*+')|[^>])*+)""", re.IGNORECASE).finditer
_attributes = re.compile(r"""(?<![\w:-])([\w:-]++)\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s"'>][^\s>]*+))""").findall
_page_suffix = re.compile(r"\.(?:[xs]?html?|php\d?|aspx?|jspx?|cfm|cgi|do)\Z", re.IGNORECASE)
_unsafe_characters = re.compile("[^a-z0-9._-]+").sub
_made_ending = re.compile(r"-(?:[0-9]+|[0-9a-f]{12})\Z").search  # of a second file, and of a name that was made unique
_markdown_marks = re.compile(r"([\\`*_~\[\]<>]|&(?=#?[0-9A-Za-z]{1,32};)|(?<!\S)#)").sub
_markdown_list = re.compile(r"\A([+-]|[0-9]{1,9}[.)])(?!\S)").sub


class SitePage(NamedTuple):
    """A listed page. ``lastmod`` is a W3C date, ``language`` a language tag; each may be "", and so may the title."""

    url: Url
    title: str
    lastmod: str = ""
    language: str = ""


Pages = Callable[[], Iterable[SitePage]]
"""Gives the listed pages in byte order of their URLs, each time anew."""


def description_of(markup: str) -> str:
    """The description that the meta elements of a page state, or "". Takes linear time.

    https://html.spec.whatwg.org/multipage/semantics.html#meta-description, else that of https://ogp.me/.
    """
    found: dict[str, str] = {}
    for tag in _meta_tags(markup[:_MAX_HEAD]):
        values = {name.lower(): one or two or three for name, one, two, three in _attributes(tag[1])}
        name = (values.get("name") or values.get("property") or "").lower()
        found.setdefault(name, unescape(values.get("content", "")))
    return one_line(found.get("description") or found.get("og:description") or "", MAX_DESCRIPTION)


@dataclass(frozen=True, slots=True)
class Section:
    """A section: its name in the URL ("" for the pages in no section), its heading and the number of its pages."""

    name: str
    heading: str
    pages: int


class SiteOutline:
    """The sections of a site: ``base`` is its directory, ``start`` its start URL, ``pages`` are the listed pages.

    ``title_of`` gives the title of a listed page, or "". There are at most ``max_sections`` sections, the largest; the
    pages of the others are in no section.
    """

    def __init__(
        self, base: str, start: Url, pages: Iterable[SitePage], title_of: Callable[[Url], str], max_sections: int
    ) -> None:
        self._base = base
        counts, suffixes = Counter[str](), Counter[str]()
        self.start = SitePage(start, "")
        self.total = 0
        for page in pages:
            self.total += 1
            if len(names := self._names(page.url)) > 1:
                counts[names[0]] += 1
            if found := _title_suffix(page.title):
                suffixes[found[1]] += 1
            if page.url == start:
                self.start = page
        suffix, count = next(iter(suffixes.most_common(1)), ("", 0))
        self._suffix = suffix if count > self.total * _MIN_SUFFIX_SHARE else ""
        self.title = self._plain(self.start.title) or base.partition("://")[2].rstrip("/")
        chosen = [name for name, count in counts.most_common(max_sections) if count >= MIN_SECTION]
        self._headings = {name: self._heading(name, title_of) for name in sorted(chosen)}

    def sections(self, pages: Iterable[SitePage]) -> Iterator[Section]:
        """The sections with the numbers of these pages, the pages in no section first."""
        counts = Counter(self.section(page.url) for page in pages)
        for name in ("", *self._headings):
            if counts[name]:
                yield Section(name, self._headings.get(name, self.title), counts[name])

    def section(self, url: Url) -> str:
        """The name of the section of a page. The page /docs, or /docs.html, belongs to the section "docs"."""
        names = self._names(url)
        name = names[0] if len(names) > 1 else _page_suffix.sub("", names[0]) if names else ""
        return name if name in self._headings else ""

    def title_of(self, page: SitePage) -> str:
        """The title of a page without the name of the site, or words of its URL. Never empty."""
        return self._plain(page.title) or _words_of("/".join(self._names(page.url))) or page.url

    def _plain(self, title: str) -> str:
        """The title without the name of the site, unless it is nothing else."""
        found = _title_suffix(title)
        if found and found[1] == self._suffix:
            title = title[: found.start() + 1]
        return one_line(title, MAX_TITLE)

    def _heading(self, name: str, title_of: Callable[[Url], str]) -> str:
        own = [f"{self._base}{name}{ending}" for ending in ("/", "", "/index.html", ".html")]
        urls = [*own, f"{self._base.partition('://')[0]}://{name}/"]  # the last one for another host
        return next(filter(None, (self._plain(title_of(Url(url))) for url in urls)), "") or _words_of(name) or name

    def _names(self, url: Url) -> list[str]:
        """The names of the path below the base, or from the host on; the query and the index page do not count."""
        path = url.partition("?")[0]
        below = path.removeprefix(self._base) if path.startswith(self._base) else path.partition("://")[2]
        names = below.rstrip("/").split("/")
        if _page_suffix.sub("", names[-1]) in _INDEX:
            names.pop()
        return [name for name in names if name]


def _words_of(path: str) -> str:
    """A path as words: "our-boats/red_one.html" becomes "Our boats / red one"."""
    words = re.sub(r"[-_+\s]+", " ", unquote(_page_suffix.sub("", path)).replace("/", " / ")).strip()
    return one_line(words[:1].upper() + words[1:], MAX_TITLE)


class Link(NamedTuple):
    """A link of an outline. ``note`` stands behind it: a number of pages, a path, or nothing."""

    url: str
    text: str
    note: str = ""


class LinkList(NamedTuple):
    """Links under a heading, which may be ""."""

    heading: str
    links: list[Link]


def _told_apart(links: list[Link]) -> list[Link]:
    """The links of pages; those with the same text have their paths behind them."""
    texts = Counter(link.text for link in links)
    return [link._replace(note=f"/{link.url.split('/', 3)[3]}") if texts[link.text] > 1 else link for link in links]


def html_sitemap(outline: SiteOutline, pages: Pages, name: str, max_links: int) -> Iterator[tuple[str, str]]:
    """The files of an HTML sitemap as pairs of file name and text, the one called ``name`` last.

    It is one file if the site has at most ``max_links`` pages, else a file for each section and each ``max_links``
    pages of it, and a first file with links to these. Memory is flat: two files are held at a time.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 - few sites publish it

    sections = list(outline.sections(pages()))
    template = Environment(
        loader=PackageLoader("crawler.publish"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    ).get_template("html_sitemap.html")

    def render(heading: str, lists: Iterable[LinkList], up: Iterable[Link] = (), others: Iterable[Link] = ()) -> str:
        return template.render(outline=outline, heading=heading, lists=lists, up=list(up), others=list(others))

    if outline.total <= max_links:
        links: dict[str, list[Link]] = {section.name: [] for section in sections}
        for page in pages():
            links[outline.section(page.url)].append(Link(page.url, outline.title_of(page)))
        lists = (
            LinkList(section.heading if section.name else "", _told_apart(links[section.name])) for section in sections
        )
        yield name, render(outline.title, lists)
        return
    files = {section.name: _file_names(name, section, max_links) for section in sections}
    up = [Link(name, outline.title)]
    waiting: dict[str, list[Link]] = {}
    done = Counter[str]()

    def page_of(section: Section) -> tuple[str, str]:
        own = files[section.name]
        number = done[section.name]
        done[section.name] += 1
        near = range(max(number - _NEAR, 0), min(number + _NEAR + 1, len(own)))
        places = sorted({0, *near, len(own) - 1})
        others = [Link("" if place == number else own[place], f"{place + 1:,}") for place in places]
        lists = [LinkList("", _told_apart(waiting.pop(section.name)))]
        return own[number], render(section.heading, lists, up, others if len(own) > 1 else ())

    by_name = {section.name: section for section in sections}
    for page in pages():
        section = by_name[outline.section(page.url)]
        links_of = waiting.setdefault(section.name, [])
        links_of.append(Link(page.url, outline.title_of(page)))
        if len(links_of) == max_links or len(links_of) + done[section.name] * max_links == section.pages:
            yield page_of(section)
    tops = [Link(files[section.name][0], section.heading, f"{section.pages:,}") for section in sections]
    yield name, render(outline.title, [LinkList("", tops)])


def _file_names(name: str, section: Section, max_links: int) -> list[str]:
    """The names of the files of a section. No two sections share one, also where capital letters do not count."""
    stem = name.removesuffix(".html")
    slug = _unsafe_characters("-", unquote(section.name).lower()).strip("-.")[:_MAX_SLUG] or _NO_SECTION
    if section.name and (slug == _NO_SECTION or slug != section.name or _made_ending(slug)):
        slug += f"-{blake2b(section.name.encode(), digest_size=6).hexdigest()}"
    count = -(-section.pages // max_links)
    return [f"{stem}-{slug}.html", *(f"{stem}-{slug}-{number}.html" for number in range(2, count + 1))]


def llms_txt(
    outline: SiteOutline,
    pages: Iterable[SitePage],
    describe: Callable[[SitePage], str],
    sitemap_url: str,
    max_links: int,
) -> str:
    """The text of an llms.txt: the ``max_links`` pages with the shortest paths by section, with their descriptions.

    https://llmstxt.org/ (2024-09-03): a title, a summary, lists of links under headings; "Optional" is what a reader
    with little room skips.
    """

    def rank(page: SitePage) -> tuple[int, str]:
        return page.url.rstrip("/").count("/"), page.url

    chosen = sorted(nsmallest(max_links, pages, key=rank), key=lambda page: page.url)
    lines = [f"# {_markdown(outline.title)}"]
    if summary := describe(outline.start):
        lines += ["", f"> {_markdown_list(_escape_list, _markdown(summary))}"]
    by_section: dict[str, list[SitePage]] = {}
    for page in chosen:
        by_section.setdefault(outline.section(page.url), []).append(page)
    for section in outline.sections(chosen):
        lines += ["", f"## {_markdown(section.heading)}", ""]
        for page in by_section[section.name]:
            description = describe(page)
            link = f"- [{_markdown(outline.title_of(page))}]({_markdown_url(page.url)})"
            lines.append(f"{link}: {_markdown(description)}" if description else link)
    lines += ["", "## Optional", "", f"- [Sitemap]({_markdown_url(sitemap_url)})"]
    return "\n".join(lines) + "\n"


def _markdown(text: str) -> str:
    return _markdown_marks(r"\\\1", text)


def _escape_list(match: re.Match[str]) -> str:
    """The mark of a list item with a backslash before its last character, so that it is text."""
    return f"{match[1][:-1]}\\{match[1][-1]}"


def _markdown_url(url: str) -> str:
    return url.replace("(", "%28").replace(")", "%29")
