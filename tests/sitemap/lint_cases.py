"""For every rule a document that breaks it and nothing else, and one that comes near and does not.

The first line of a document is the XML declaration and the second its root; each item has a line of its own.
"""

import gzip
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

NOW: Final = datetime(2024, 6, 15, 12, 0, tzinfo=UTC)
HOME: Final = "https://example.com/"
URLSET: Final = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
IMAGE: Final = 'xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"'
VIDEO: Final = 'xmlns:video="http://www.google.com/schemas/sitemap-video/1.1"'
NEWS: Final = 'xmlns:news="http://www.google.com/schemas/sitemap-news/0.9"'
XHTML: Final = 'xmlns:xhtml="http://www.w3.org/1999/xhtml"'
DECLARATION: Final = '<?xml version="1.0" encoding="UTF-8"?>\n'

Files = dict[str, bytes]


@dataclass(frozen=True, slots=True)
class Case:
    """A rule, the files that break it and the line where, and files that do not.

    The first file is linted, or all as one set; they are found below ``home``. ``also`` are rules that one
    cannot but break together with this one, ``near`` those that one cannot but break to come near it.
    """

    rule: str
    line: int
    bad: bytes | Files
    good: bytes | Files
    name: str = "sitemap.xml"  # of the only file
    home: str = HOME
    whole_set: bool = False
    also: frozenset[str] = frozenset()
    near: frozenset[str] = frozenset()


def document(root: str, *items: str, namespaces: str = "") -> bytes:
    opening = f"<{root} {URLSET} {namespaces}>" if namespaces else f"<{root} {URLSET}>"
    return "\n".join((DECLARATION + opening, *items, f"</{root}>\n")).encode()


def urlset(*items: str, namespaces: str = "") -> bytes:
    return document("urlset", *items, namespaces=namespaces)


def index(*items: str) -> bytes:
    return document("sitemapindex", *items)


def url(loc: str, more: str = "") -> str:
    return f"<url><loc>{loc}</loc>{more}</url>"


def sitemap(name: str, more: str = "<lastmod>2024-05-01</lastmod>") -> str:
    return f"<sitemap><loc>{HOME}{name}</loc>{more}</sitemap>"


A: Final = url(HOME + "a")
B: Final = url(HOME + "b")
PLAIN: Final = urlset(A)


def dated(*lastmods: str) -> bytes:
    return urlset(*(url(f"{HOME}{number}", f"<lastmod>{text}</lastmod>") for number, text in enumerate(lastmods)))


def image(loc: str = HOME + "a.jpg", more: str = "") -> str:
    return f"<image:image><image:loc>{loc}</image:loc>{more}</image:image>"


def images(*inner: str) -> bytes:
    return urlset(url(HOME + "a", "".join(inner)), namespaces=IMAGE)


_VIDEO: Final = {
    "thumbnail_loc": HOME + "t.jpg",
    "title": "Boats",
    "description": "Boats in a harbour",
    "content_loc": HOME + "v.mp4",
}


def video(more: str = "", **tags: str) -> bytes:
    """A page with one video; an empty tag is left out."""
    inner = "".join(f"<video:{name}>{text}</video:{name}>" for name, text in (_VIDEO | tags).items() if text)
    return urlset(url(HOME + "a", f"<video:video>{inner}{more}</video:video>"), namespaces=VIDEO)


def article(
    name: str = "a", language: str = "en", date: str = "2024-06-15", title: str = "Boats", more: str = ""
) -> str:
    said = f"<news:title>{title}</news:title>" if title else ""
    return url(
        HOME + name,
        f"<news:news><news:publication><news:name>Harbour</news:name><news:language>{language}</news:language>"
        f"</news:publication><news:publication_date>{date}</news:publication_date>{said}{more}</news:news>",
    )


def news(*articles: str) -> bytes:
    return urlset(*articles, namespaces=NEWS)


def link(code: str, href: str) -> str:
    return f'<xhtml:link rel="alternate" hreflang="{code}" href="{href}"/>'


def variants(*pages: tuple[str, dict[str, str]]) -> bytes:
    return urlset(
        *(url(HOME + name, "".join(link(*pair) for pair in links.items())) for name, links in pages), namespaces=XHTML
    )


def feed(*items: str) -> bytes:
    inner = "\n".join(items)
    return f'{DECLARATION}<rss version="2.0"><channel><title>Boats</title>\n{inner}\n</channel></rss>\n'.encode()


EN_DE: Final = {"en": HOME + "en", "de": HOME + "de", "x-default": HOME + "en"}
TWO: Final = variants(("en", EN_DE), ("de", EN_DE))
DATED: Final = dated("2024-05-01")
DAYS: Final = [f"2024-{month:02}-{day:02}" for month in range(1, 6) for day in range(1, 21)]
INDEX: Final = {"index.xml": index(sitemap("a.xml")), "a.xml": PLAIN}


def many(count: int) -> bytes:
    return urlset(*(url(f"{HOME}{number}") for number in range(count)))


def padded(size: int) -> bytes:
    """A sitemap of exactly so many bytes, in tokens that readers will hold."""
    head, foot = PLAIN.rsplit(b"<", 1)
    comment = b"<!-- " + b"x" * 65_528 + b"-->"
    room = size - len(PLAIN)
    body = comment * (room // len(comment))
    return head + body + b" " * (room - len(body)) + b"<" + foot


def stamps(step: timedelta, count: int = 40) -> list[str]:
    return [(NOW - step * number - timedelta(minutes=5)).isoformat() for number in range(count)]


DOCUMENTS: Final = (
    Case(
        "sitemap.not_xml",
        0,
        b"<!DOCTYPE html>\n<html><body>No such page</body></html>",
        (HOME + "\n").encode(),
        name="sitemap.txt",
    ),
    Case("sitemap.empty", 0, b"", PLAIN),
    Case("sitemap.encoding", 1, PLAIN.replace(b"UTF-8", b"ISO-8859-1"), PLAIN.replace(b"UTF-8", b"utf-8")),
    Case("sitemap.leading_junk", 1, b"\n" + PLAIN, b"\xef\xbb\xbf" + PLAIN),
    Case(
        "sitemap.dtd",
        2,
        PLAIN.replace(b"<urlset", b"<!DOCTYPE urlset>\n<urlset"),
        PLAIN.replace(b"<urlset", b"<!-- DOCTYPE urlset -->\n<urlset"),
    ),
    Case("sitemap.root", 2, document("sitemaps", A), PLAIN),
    Case("sitemap.namespace", 2, PLAIN.replace(b"http:", b"https:", 1), PLAIN),
    Case(
        "sitemap.extension_namespace",
        3,
        images(image()).replace(b'image="http:', b'image="https:'),
        images(image()).replace(b"image:", b"pictures:").replace(b":image=", b":pictures="),
    ),
    Case("sitemap.not_well_formed", 3, urlset(url(HOME + "?a=1&b=2")), urlset(url(HOME + "?a=1&amp;b=2"))),
    Case("sitemap.truncated", 4, PLAIN.removesuffix(b"</urlset>\n"), PLAIN),
    Case("sitemap.junk", 5, PLAIN + b"done", PLAIN + b"<!-- done -->\n"),
    Case("sitemap.gzip", 0, gzip.compress(PLAIN)[:-8] + b"12345678", gzip.compress(PLAIN), name="sitemap.xml.gz"),
    Case("sitemap.gzip_twice", 0, gzip.compress(gzip.compress(PLAIN)), gzip.compress(PLAIN), name="sitemap.xml.gz"),
    Case("sitemap.mislabelled", 0, gzip.compress(PLAIN), PLAIN),
    Case("sitemap.too_large", 0, padded(52_428_801), padded(52_428_800)),
    Case("sitemap.too_many", 0, many(50_001), many(50_000)),
    Case(
        "sitemap.too_deep",
        4,
        urlset(B, A.replace("</url>", "<x:x>" * 70 + "</x:x>" * 70 + "</url>"), namespaces='xmlns:x="urn:x"'),
        urlset(A.replace("</url>", "<x:x>" * 20 + "</x:x>" * 20 + "</url>"), namespaces='xmlns:x="urn:x"'),
    ),
    Case("sitemap.token_too_long", 4, urlset(A, f"<!--{'x' * 3_000_000}-->"), urlset(A, f"<!--{'x' * 500_000}-->")),
    Case(
        "sitemap.value_too_long",
        3,
        video(f"<video:tag>{'x' * 70_000}</video:tag>"),
        video(f"<video:tag>{'x' * 60_000}</video:tag>"),
    ),
    Case("sitemap.no_entries", 0, urlset(), PLAIN),
    Case("sitemap.mixed", 4, urlset(A, sitemap("b.xml")), urlset(A, B)),
    Case(
        "sitemap.order",
        3,
        urlset(f"<url><lastmod>2024-05-01</lastmod><loc>{HOME}a</loc></url>"),
        urlset(f"<url><loc>{HOME}a</loc><lastmod>2024-05-01</lastmod></url>"),
    ),
    Case(
        "sitemap.repeated",
        3,
        urlset(url(HOME + "a", "<lastmod>2024-05-01</lastmod><lastmod>2024-05-01</lastmod>")),
        DATED,
    ),
    Case(
        "sitemap.unknown_element",
        3,
        urlset(url(HOME + "a", "<title>Boats</title>")),
        urlset(url(HOME + "a", "<x:title>Boats</x:title>"), namespaces='xmlns:x="urn:x"'),
    ),
    Case("sitemap.text_line", 2, f"{HOME}a\nand more\n".encode(), f"{HOME}a\n\n{HOME}b\n".encode(), name="sitemap.txt"),
)

ADDRESSES: Final = (
    Case(
        "sitemap.loc_missing",
        4,
        urlset(A, "<url><lastmod>2024-05-01</lastmod></url>"),
        urlset(A, url(HOME + "b", "<lastmod>2024-05-01</lastmod>")),
    ),
    Case("sitemap.loc_relative", 4, urlset(A, url("/b")), urlset(A, B)),
    Case("sitemap.loc_invalid", 4, urlset(A, url("ftp://example.com/b")), urlset(A, B)),
    Case(
        "sitemap.loc_too_long",
        4,
        urlset(A, url(HOME + "x" * (2_048 - len(HOME)))),
        urlset(A, url(HOME + "x" * (2_047 - len(HOME)))),
    ),
    Case("sitemap.loc_too_short", 3, urlset(url("http://a.b/")), urlset(url("http://a.b/c")), home="http://a.b/"),
    Case("sitemap.loc_encoding", 4, urlset(A, url(HOME + "b c")), urlset(A, url(HOME + "b%20c"))),
    Case("sitemap.loc_not_ascii", 4, urlset(A, url(HOME + "é")), urlset(A, url(HOME + "%C3%A9"))),
    Case("sitemap.loc_fragment", 4, urlset(A, url(HOME + "b#top")), urlset(A, url(HOME + "b%23top"))),
    Case(
        "sitemap.loc_credentials",
        4,
        urlset(A, url("https://me:secret@example.com/")),
        urlset(A, url(HOME + "@me:secret@example.com/")),
    ),
    Case(
        "location.outside",
        3,
        urlset(url(HOME + "docs"), url(HOME + "docs/%7Ea")),
        urlset(url(HOME + "%64ocs/a"), url("https://EXAMPLE.com:443/docs/../docs/~b")),
        home=HOME + "docs/",
    ),
    Case(
        "location.several_hosts",
        4,
        urlset(A, url("http://example.com/b"), url("https://www.example.com/c")),
        urlset(A, url("https://EXAMPLE.com:443/%62")),
        home="",
    ),
    Case(
        "location.other_host",
        4,
        urlset(A, url("https://www.example.com/b")),
        urlset(A, url("https://example.com./b".replace("./", "/"))),
    ),
    Case(
        "duplicate.loc",
        5,
        urlset(A, B, url("https://EXAMPLE.com:443/%61")),
        urlset(A, url(HOME + "A"), url(HOME + "a/"), url(HOME + "a?")),
    ),
    Case(
        "duplicate.across_files",
        4,
        {"one.xml": urlset(A), "two.xml": urlset(B, A)},
        {"one.xml": urlset(A), "two.xml": urlset(B)},
        whole_set=True,
    ),
)

INDEXES: Final = (
    Case(
        "index.nested",
        3,
        {"index.xml": index(sitemap("more.xml")), "more.xml": index(sitemap("a.xml")), "a.xml": PLAIN},
        INDEX,
    ),
    Case("index.cycle", 4, {"index.xml": index(sitemap("a.xml"), sitemap("index.xml")), "a.xml": PLAIN}, INDEX),
    Case(
        "index.too_deep",
        3,
        {f"{depth}.xml": index(sitemap(f"{depth + 1}.xml")) for depth in range(9)} | {"9.xml": PLAIN},
        INDEX,
        also=frozenset({"index.nested"}),
    ),
    Case(
        "index.too_many",
        0,
        {"index.xml": index(*(sitemap("a.xml") for _ in range(50_001))), "a.xml": PLAIN},
        {"index.xml": index(sitemap("a.xml"), sitemap("b.xml")), "a.xml": PLAIN, "b.xml": urlset(B)},
        also=frozenset({"index.duplicate"}),
    ),
    Case(
        "index.outside",
        3,
        {"docs/index.xml": index(sitemap("a.xml")), "a.xml": PLAIN},
        {"docs/index.xml": index(sitemap("docs/a.xml")), "docs/a.xml": urlset(url(HOME + "docs/a"))},
    ),
    Case(
        "index.duplicate",
        4,
        {"index.xml": index(sitemap("a.xml"), sitemap("a.xml")), "a.xml": PLAIN},
        {"index.xml": index(sitemap("a.xml"), sitemap("A.xml")), "a.xml": PLAIN, "A.xml": urlset(B)},
    ),
    Case("index.child_unreadable", 4, {"index.xml": index(sitemap("a.xml"), sitemap("b.xml")), "a.xml": PLAIN}, INDEX),
    Case("index.no_lastmod", 3, {"index.xml": index(sitemap("a.xml", "")), "a.xml": PLAIN}, INDEX),
)

DATES: Final = (
    Case("lastmod.invalid", 4, dated("2024-05-01", "2024-02-30"), dated("2024-05-01", "2024-02-29")),
    Case("lastmod.form", 4, dated("2024-05-01", "2024-05"), dated("2024-05-01", "2024-05-02T10:00:00Z")),
    Case(
        "lastmod.future",
        4,
        dated("2024-05-01", "2024-06-15T12:10:00Z"),
        dated("2024-05-01", "2024-06-16", "2024-06-16T01:00:00+14:00"),  # in Kiribati it has begun
    ),
    Case("lastmod.too_old", 4, dated("2024-05-01", "1970-01-01"), dated("2024-05-01", "1995-01-01")),
    Case(
        "lastmod.all_equal",
        0,
        dated(*[f"2024-05-01T10:00:00.{number:03}Z" for number in range(20)]),
        dated(*["2024-05-01T10:00:00Z"] * 19),
    ),
    Case(
        "lastmod.build_stamp",
        0,
        dated(*["2024-05-01T10:00:00Z"] * 21, *DAYS[:20]),
        dated(*["2024-05-01T10:00:00Z"] * 20, *DAYS[:20]),
    ),
    Case(
        "lastmod.churn",
        0,
        dated(*stamps(timedelta(minutes=25), 36), *DAYS[:4]),
        dated(*stamps(timedelta(minutes=25), 35), *DAYS[:5]),
    ),
    Case(
        "changefreq.invalid",
        3,
        urlset(url(HOME + "a", "<changefreq>sometimes</changefreq>")),
        urlset(url(HOME + "a", "<changefreq>never</changefreq>")),
        also=frozenset({"hint.ignored"}),
        near=frozenset({"hint.ignored"}),
    ),
    Case(
        "priority.invalid",
        3,
        urlset(url(HOME + "a", "<priority>high</priority>")),
        urlset(url(HOME + "a", "<priority>1</priority>")),
        also=frozenset({"hint.ignored"}),
        near=frozenset({"hint.ignored"}),
    ),
    Case("hint.ignored", 4, urlset(A, *(url(HOME + name, "<priority>0.5</priority>") for name in "bcd")), urlset(A, B)),
)

NEWS_AND_FEEDS: Final = (
    Case("news.missing_tag", 4, news(article("a"), article("b", title="")), news(article())),
    Case("news.date", 3, news(article(date="yesterday")), news(article(date="2024-06-15T10:00:00.5+02:00"))),
    Case("news.language", 3, news(article(language="english")), news(article(language="zh-tw"))),
    Case("news.too_old", 3, news(article(date="2024-06-12")), news(article(date="2024-06-13"))),
    Case("news.future", 3, news(article(date="2024-06-15T13:00:00Z")), news(article(date="2024-06-16"))),
    Case(
        "news.too_many",
        1_003,
        news(*(article(str(number)) for number in range(1_001))),
        news(*(article(str(number)) for number in range(1_000))),
    ),
    Case(
        "feed.no_date",
        4,
        feed(
            f"<item><link>{HOME}a</link><pubDate>Wed, 08 May 2024 08:53:11 GMT</pubDate></item>",
            f"<item><link>{HOME}b</link></item>",
        ),
        feed(f"<item><link>{HOME}a</link><pubDate>Wed, 08 May 2024 08:53:11 GMT</pubDate></item>"),
        name="feed.xml",
    ),
)

MEDIA: Final = (
    Case("retired.tag", 3, images(image(more="<image:caption>Boats</image:caption>")), images(image())),
    Case(
        "image.loc_missing",
        3,
        images(image(), "<image:image></image:image>"),
        images(image("https://cdn.example/a.jpg")),
    ),
    Case(
        "image.too_many",
        3,
        images(*(image(f"{HOME}{number}.jpg") for number in range(1_001))),
        images(*(image(f"{HOME}{number}.jpg") for number in range(1_000))),
    ),
    Case("video.missing_tag", 3, video(description=""), video(content_loc="", player_loc=HOME + "player")),
    Case("video.url", 3, video(thumbnail_loc="t.jpg"), video(thumbnail_loc="https://cdn.example/t.jpg")),
    Case("video.is_page", 3, video(player_loc=HOME + "a"), video(player_loc=HOME + "a?player")),
    Case("video.title_too_long", 3, video(title="x" * 101), video(title="x" * 100)),
    Case("video.description_too_long", 3, video(description="x" * 2_049), video(description="x" * 2_048)),
    Case("video.duration", 3, video(duration="28801"), video(duration="28800")),
    Case("video.rating", 3, video(rating="5.1"), video(rating="5.0")),
    Case("video.view_count", 3, video(view_count="many"), video(view_count="0")),
    Case("video.date", 3, video(publication_date="2024-02-30"), video(publication_date="2024-02-29")),
    Case("video.expired", 3, video(expiration_date="2024-06-14"), video(expiration_date="2024-06-15")),
    Case("video.yes_no", 3, video(live="maybe"), video(live="no")),
    Case(
        "video.restriction",
        3,
        video('<video:restriction relationship="allow">Germany</video:restriction>'),
        video('<video:restriction relationship="allow">DE AT</video:restriction>'),
    ),
    Case(
        "video.platform",
        3,
        video("<video:platform>web</video:platform>"),
        video('<video:platform relationship="deny">web tv</video:platform>'),
    ),
    Case(
        "video.uploader",
        3,
        video('<video:uploader info="https://other.example/me">me</video:uploader>'),
        video('<video:uploader info="https://example.com/me">me</video:uploader>'),
    ),
    Case("video.too_many_tags", 3, video("<video:tag>x</video:tag>" * 33), video("<video:tag>x</video:tag>" * 32)),
)

VARIANTS: Final = (
    Case(
        "hreflang.code",
        3,
        variants(("en", {"en-UK": HOME + "en", "x-default": HOME + "en"})),
        variants(("en", {"EN-gb": HOME + "en", "x-default": HOME + "en"})),
    ),
    Case(
        "hreflang.url",
        3,
        variants(("en", {"en": HOME + "en", "x-default": HOME + "en", "de": "mailto:me@example.com"})),
        variants(("en", {"en": HOME + "en", "x-default": HOME + "en"})),
    ),
    Case(
        "hreflang.no_self",
        4,
        variants(
            ("en", EN_DE | {"fr": HOME + "fr"}),
            ("de", {"en": HOME + "en", "x-default": HOME + "en", "fr": HOME + "fr"}),
            ("fr", EN_DE | {"fr": HOME + "fr"}),
        ),
        TWO,
    ),
    Case(
        "hreflang.not_mutual",
        3,
        {"en.xml": variants(("en", EN_DE)), "de.xml": variants(("de", {"de": HOME + "de"}))},
        {"en.xml": variants(("en", EN_DE)), "de.xml": variants(("de", EN_DE))},
        whole_set=True,
    ),
    Case("hreflang.unlisted", 3, variants(("en", EN_DE)), TWO),
    Case(
        "hreflang.conflict",
        3,
        variants(("en", EN_DE | {"EN": HOME + "de"}), ("de", EN_DE)),
        variants(("en", EN_DE | {"EN": HOME + "%65n"}), ("de", EN_DE)),
    ),
    Case(
        "hreflang.no_default",
        3,
        TWO.replace(f'<xhtml:link rel="alternate" hreflang="x-default" href="{HOME}en"/>'.encode(), b""),
        variants(("en", {"en": HOME + "en"})),
    ),
)

CASES: Final = (*DOCUMENTS, *ADDRESSES, *INDEXES, *DATES, *NEWS_AND_FEEDS, *MEDIA, *VARIANTS)
