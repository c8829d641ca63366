"""Recognizes what makes a site, by marks in its start page, and names the page of the manual about it. Pure."""

from typing import Final, NamedTuple


class SetUp(NamedTuple):
    """What makes a site, the page of the manual about it, and its marks, in lower case: one of them is enough.

    ``writes`` are the files of a sitemap that each build of the site writes.
    """

    name: str
    page: str
    marks: tuple[bytes, ...]
    writes: tuple[str, ...] = ()


_READ: Final = 100_000  # bytes of a page; the marks are in its head or end
SET_UPS: Final = (
    # <meta name="generator"> (https://html.spec.whatwg.org/multipage/semantics.html#meta-generator) comes first
    SetUp("Hugo", "hugo", (b'content="hugo ',), ("sitemap.xml",)),
    SetUp("MkDocs", "mkdocs", (b'content="mkdocs-', b"mkdocs version : "), ("sitemap.xml", "sitemap.xml.gz")),
    SetUp("Docusaurus", "docusaurus", (b'content="docusaurus ',), ("sitemap.xml",)),
    SetUp("Astro", "astro", (b'content="astro v',), ("sitemap-index.xml", "sitemap-0.xml")),
    SetUp("Eleventy", "eleventy", (b'content="eleventy v',)),
    SetUp("Nikola", "built-sites", (b'content="nikola (',), ("sitemap.xml", "sitemapindex.xml")),
    SetUp("Pelican", "built-sites", (b'content="pelican"',)),
    SetUp("WordPress", "wordpress", (b'content="wordpress ', b"/wp-content/", b"/wp-includes/")),
    SetUp("Sphinx", "sphinx", (b"_static/documentation_options.js",)),
    SetUp("Next.js", "next", (b"/_next/static/",)),
    SetUp("django-oscar", "django-oscar", (b"/oscar/css/", b"/oscar/js/")),
)


def find_set_up(body: bytes) -> SetUp | None:
    """What made a page, None if no mark tells it. ``body`` is in an encoding that contains ASCII."""
    text = body[:_READ].lower()
    return next((made for made in SET_UPS if any(mark in text for mark in made.marks)), None)


def set_up_hint(body: bytes) -> str:
    """A sentence that names the page of the manual for the site whose start page this is, or ""."""
    made = find_set_up(body)
    if made is None:
        return ""
    return f"{made.name} makes this site. siteatlas manual setups/{made.page} shows the shortest way to its sitemap"
