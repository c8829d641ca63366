"""Whatever is wrong with a document has a name and a line, and costs no more than it must."""

import ast
from pathlib import Path

import pytest
from documents import LOC, URLSET, findings, parse, url, urlset

import sitemap
from sitemap import RULES, Alternate, Child, Entry, Image, News, Video

A = Entry(LOC)
IMAGE = "<image:image><image:loc>https://example.com/i.png</image:loc></image:image>"
IMAGED = Entry(LOC, images=(Image("https://example.com/i.png"),))


def video(inner: str) -> str:
    return f"<video:video>{inner}</video:video>"


# What stands in a url behind its loc, the entry that is read, and the rule of the only finding.
DEFECTS = {
    "late lastmod": ("<priority>0.5</priority><lastmod>2024-05-08</lastmod>", "sitemap.order"),
    "late core": (f"{IMAGE}<lastmod>2024-05-08</lastmod>", "sitemap.order"),
    "late core behind a foreign one": ('<x:y xmlns:x="q"/><lastmod>2024-05-08</lastmod>', "sitemap.order"),
    "two locs": ("<loc>https://example.com/b</loc>", "sitemap.repeated"),
    "two lastmods": ("<lastmod>2024-05-08</lastmod><lastmod>2020-01-01</lastmod>", "sitemap.repeated"),
    "two news": ("<news:news/><news:news/>", "sitemap.repeated"),
    "two titles": (video("<video:title>a</video:title><video:title>b</video:title>"), "sitemap.repeated"),
    "unknown core": ("<title>T</title>", "sitemap.unknown_element"),
    "unknown tag": (video("<video:name>a</video:name>"), "sitemap.unknown_element"),
    "unknown in image's own": ("<image:images/>", "sitemap.unknown_element"),
    "inside a value": ("<lastmod><b>2024-05-08</b></lastmod>", "sitemap.unknown_element"),
    "case": ("<LastMod>2024-05-08</LastMod>", "sitemap.unknown_element"),
    "url in url": ("<url><lastmod>2024-05-08</lastmod></url>", "sitemap.unknown_element"),
    "no prefix": ("<image><loc>https://example.com/i.png</loc></image>", "sitemap.unknown_element"),
    "long value": (f"<changefreq>{'x' * 70_000}</changefreq>", "sitemap.value_too_long"),
    "lastmod empty": ("<lastmod/>", "lastmod.invalid"),
    "lastmod no day": ("<lastmod>2024-02-30</lastmod>", "lastmod.invalid"),
    "lastmod month": ("<lastmod>2024-05</lastmod>", "lastmod.form"),
    "lastmod minute": ("<lastmod>2024-05-08T08:53+00:00</lastmod>", "lastmod.form"),
    "lastmod RFC 822": ("<lastmod>Wed, 8 May 2024 08:53:11 GMT</lastmod>", "lastmod.form"),
    "changefreq case": ("<changefreq>Daily</changefreq>", "changefreq.invalid"),
    "changefreq empty": ("<changefreq></changefreq>", "changefreq.invalid"),
    "priority comma": ("<priority>0,5</priority>", "priority.invalid"),
    "priority negative": ("<priority>-0.5</priority>", "priority.invalid"),
    "image without loc": ("<image:image/>", "image.loc_missing"),
    "image relative": ("<image:image><image:loc>/i.png</image:loc></image:image>", "image.loc_missing"),
    "image blank": (IMAGE.replace("i.png", "i i.png"), "sitemap.loc_encoding"),
    "duration": (video("<video:duration>2:30</video:duration>"), "video.duration"),
    "duration decimal": (video("<video:duration>90.0</video:duration>"), "video.duration"),
    "rating": (video("<video:rating>4/5</video:rating>"), "video.rating"),
    "view_count": (video("<video:view_count>1,000</video:view_count>"), "video.view_count"),
    "yes": (video("<video:live>true</video:live>"), "video.yes_no"),
    "no": (video("<video:family_friendly>maybe</video:family_friendly>"), "video.yes_no"),
    "href": ('<xhtml:link rel="alternate" hreflang="de"/>', "hreflang.url"),
    "relative href": ('<xhtml:link rel="alternate" hreflang="de" href="/de"/>', "hreflang.url"),
    "no hreflang": ('<xhtml:link rel="alternate" href="https://e.de/"/>', "hreflang.code"),
    "no rel": ('<xhtml:link hreflang="de" href="https://e.de/"/>', "hreflang.code"),
    "undeclared": ("<q:r/>", "sitemap.extension_namespace"),
    "ampersand": ("<lastmod>2024-05-08</lastmod><x:y xmlns:x='q'>a & b</x:y>", "sitemap.not_well_formed"),
    "stray end": ("</b>", "sitemap.not_well_formed"),
}


@pytest.mark.parametrize("case", DEFECTS)
@pytest.mark.parametrize("piece", [7, 1 << 30])
def test_ours_every_defect_has_its_rule_and_line_and_the_entries_around_it_are_read(case: str, piece: int) -> None:
    inner, rule = DEFECTS[case]
    items, parser = parse(urlset(f"{url()}\n{url(inner)}\n{url()}"), piece)
    found = [finding for finding in findings(parser) if finding[0] != "retired.tag"]
    assert set(found) == {(rule, 4)}
    assert len(found) == 1 or case == "stray end"  # which is met again when the text has been mended
    assert len(items) == (2 if case == "stray end" else 3)
    assert {item.loc for item in items} == {LOC}
    assert (items[0], items[-1]) == (A, A)
    if "<lastmod>2024-05-08</lastmod>" in inner:
        assert items[1].lastmod == ("" if case == "url in url" else "2024-05-08")


@pytest.mark.parametrize(
    ("inner", "expected"),
    [
        ("<lastmod>2024-05-08T08:53+00:00</lastmod>", Entry(LOC, "2024-05-08T08:53:00+00:00")),
        ("<changefreq>Daily</changefreq>", Entry(LOC, changefreq="daily")),
        ("<priority> .5 </priority>", Entry(LOC, priority=0.5)),
        ("<priority>+1.</priority>", Entry(LOC, priority=1.0)),
        (video("<video:duration>90.0</video:duration>"), Entry(LOC, videos=(Video("", "", "", duration=90),))),
        (video("<video:live>1</video:live>"), Entry(LOC, videos=(Video("", "", "", live=True),))),
        ("<news:news>x</news:news>", Entry(LOC, news=News("", "", "", ""))),
        (IMAGE.replace("i.png", "i\ni.png"), Entry(LOC, images=(Image("https://example.com/ii.png"),))),
        ("<image><loc>https://example.com/i.png</loc></image>", IMAGED),
        ("<Image:Image><image:Loc>https://example.com/i.png</image:Loc></Image:Image>", IMAGED),
    ],
)
def test_ours_what_can_be_meant_is_read(inner: str, expected: Entry) -> None:
    assert parse(urlset(url(inner)))[0] == [expected]


def test_sitemaps_org_urls_that_were_mended() -> None:
    items, parser = parse(urlset("\n".join(url(loc=f"https://example.com/{loc}") for loc in ("a b", "a\nb", " c "))))
    assert [item.loc for item in items] == [
        "https://example.com/a%20b",
        "https://example.com/ab",
        "https://example.com/ c ".replace(" ", "%20").removesuffix("%20"),
    ]
    assert {rule for rule, _ in findings(parser)} == {"sitemap.loc_encoding"}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("http://www.google.com/schemas/sitemap-image/1.1", "https://www.google.com/schemas/sitemap-image/1.1"),
        ("http://www.google.com/schemas/sitemap-image/1.1", "http://google.com/schemas/sitemap-image/1.1/"),
        ("http://www.google.com/schemas/sitemap-image/1.1", "http://example.com/x"),
        (' xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"', ""),
        ("http://www.w3.org/1999/xhtml", "https://www.w3.org/1999/xhtml"),
        ("http://www.w3.org/1999/xhtml", "http://www.w3.org/TR/xhtml11/xhtml11_schema.html"),
        ("http://www.google.com/schemas/sitemap-news/0.9", "https://www.google.com/schemas/sitemap-news/0.9"),
        ("http://www.google.com/schemas/sitemap-video/1.1", "http://www.google.com/schemas/sitemap-video/1.0"),
        ("sitemap-mobile/1.0", "sitemap-mobile/2.0"),
    ],
)
def test_google_extensions_under_other_namespaces_are_read_and_said_once(before: str, after: str) -> None:
    link = '<xhtml:link rel="alternate" hreflang="de" href="https://e.de/"/>'
    inner = f"{IMAGE}{link}{video('')}<news:news/><mobile:mobile/>"
    items, parser = parse(urlset(f"{url(inner)}\n{url(inner)}", URLSET.replace(before, after)))
    assert (
        items
        == [
            Entry(
                LOC,
                images=IMAGED.images,
                videos=(Video("", "", ""),),
                alternates=(Alternate("de", "https://e.de/"),),
                news=News("", "", "", ""),
            )
        ]
        * 2
    )
    assert findings(parser) == [("sitemap.extension_namespace", 3), ("retired.tag", 3)] or findings(parser) == [
        ("retired.tag", 3),
        ("sitemap.extension_namespace", 3),
    ]


def test_ours_elements_around_items_are_gone_through() -> None:
    items, parser = parse(urlset(f"<urls>\n{url()}{url()}</urls>\n<data><x/></data>{url()}"))
    assert items == [A, A, A]
    assert findings(parser) == [("sitemap.unknown_element", 3), ("sitemap.unknown_element", 5)]
    items, parser = parse(urlset(f'<x:meta xmlns:x="q"><x:y/></x:meta>{url()}'))
    assert (items, parser.findings) == ([A], ())


def test_sitemaps_org_an_index_holds_sitemaps_with_loc_and_lastmod_only() -> None:
    inner = f"<sitemap><lastmod>2024-05-08</lastmod><loc>{LOC}</loc><priority>1</priority></sitemap>\n{url()}"
    data = urlset(inner).replace(b"urlset", b"sitemapindex")
    items, parser = parse(data)
    assert items == [Child(LOC, "2024-05-08"), A]
    assert findings(parser) == [("sitemap.unknown_element", 3), ("sitemap.order", 3), ("sitemap.mixed", 4)]


OWN = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'


@pytest.mark.parametrize(
    "text",
    [
        f"<ns0:urlset {OWN.replace('=', ':ns0=', 1)}><ns0:url><ns0:loc>{LOC}</ns0:loc></ns0:url></ns0:urlset>",
        f"<urlset {OWN}><s:url {OWN.replace('=', ':s=', 1)}><s:loc>{LOC}</s:loc></s:url></urlset>",
        f"<urlset {OWN}><url><loc><!-- c -->{LOC}</loc></url></urlset>",
        f"<urlset {OWN}><url><loc><![CDATA[{LOC}]]></loc></url></urlset>",
        f"<urlset {OWN}\n><url\n><loc\n>{LOC}</loc ></url ></urlset >",
        f'<urlset {OWN}><url id="1"><loc type="x">{LOC}</loc></url></urlset>',
        f"<urlset {OWN}><?pi <url>?><url><loc>https://&#101;xample.com/&#x61;</loc></url></urlset>",
    ],
)
def test_ours_forms_that_are_as_good_as_any(text: str) -> None:
    items, parser = parse(text.encode())
    assert (items, parser.findings, parser.complete) == ([A], (), True)


def test_ours_an_empty_namespace_inside_is_a_defect_and_nothing_more() -> None:
    data = urlset(f'<url xmlns=""><loc>{LOC}</loc></url>\n' * 3)
    items, parser = parse(data)
    assert items == [A] * 3
    assert {rule for rule, _ in findings(parser)} == {"sitemap.namespace"}


# Documents as they are met, each with what makes it what it is.
SHOP = """<?xml version="1.0" encoding="UTF-8"?>
<!-- This is the parent sitemap linking to additional sitemaps for products, collections and pages -->
<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
  <sitemap>
    <loc>https://shop.example/sitemap_products_1.xml?from=1&amp;to=2</loc>
  </sitemap>
</sitemapindex>"""
BLOG = """<?xml version="1.0" encoding="UTF-8"?>
<?xml-stylesheet type="text/xsl" href="//blog.example/main-sitemap.xsl"?>
<urlset xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
 xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"
 xsi:schemaLocation="http://www.sitemaps.org/schemas/sitemap/0.9 http://www.sitemaps.org/schemas/sitemap/0.9/sitemap.xsd"
 xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
\t<url>
\t\t<loc>https://blog.example/</loc>
\t\t<lastmod>2024-05-08T08:53:11+00:00</lastmod>
\t\t<image:image>
\t\t\t<image:loc>https://blog.example/wp-content/uploads/a.png</image:loc>
\t\t</image:image>
\t</url>
</urlset>
<!-- XML Sitemap generated by a plugin -->"""
CMS = """<?xml version="1.0" encoding="UTF-8"?>
<?xml-stylesheet type="text/xsl" href="//cms.example/sitemap.xsl"?>
<!--Generated by a module-->
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:xhtml="http://www.w3.org/1999/xhtml">
 <url><loc>https://cms.example/en</loc>
  <xhtml:link rel="alternate" hreflang="en" href="https://cms.example/en"/>
  <xhtml:link rel="alternate" hreflang="de" href="https://cms.example/de"/>
  <lastmod>2024-05-08T10:53Z</lastmod><changefreq>daily</changefreq><priority>1.0</priority></url></urlset>"""
PRESS = """<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"
 xmlns:news="http://www.google.com/schemas/sitemap-news/0.9">
<url><loc>https://press.example/a</loc><news:news><news:publication><news:name>Press</news:name>
<news:language>en</news:language></news:publication><news:publication_date>2024-05-08T08:53:11Z</news:publication_date>
<news:title>Cats &amp; dogs</news:title></news:news></url></urlset>"""
REAL = {
    "shop": (SHOP, Child("https://shop.example/sitemap_products_1.xml?from=1&to=2"), set()),
    "blog": (
        BLOG,
        Entry(
            "https://blog.example/",
            "2024-05-08T08:53:11+00:00",
            images=(Image("https://blog.example/wp-content/uploads/a.png"),),
        ),
        set(),
    ),
    "cms": (
        CMS,
        Entry(
            "https://cms.example/en",
            "2024-05-08T10:53:00+00:00",
            "daily",
            1.0,
            alternates=(Alternate("en", "https://cms.example/en"), Alternate("de", "https://cms.example/de")),
        ),
        {("sitemap.order", 8), ("lastmod.form", 8)},
    ),
    "press": (
        PRESS,
        Entry("https://press.example/a", news=News("Press", "en", "2024-05-08T08:53:11Z", "Cats & dogs")),
        set(),
    ),
    "search engine's text": (
        "\ufeffhttps://www.example.com/file1.html\r\n",
        Entry("https://www.example.com/file1.html"),
        set(),
    ),
}


@pytest.mark.parametrize("name", REAL)
@pytest.mark.parametrize("piece", [1, 1 << 30])
def test_ours_documents_as_they_are_met(name: str, piece: int) -> None:
    text, expected, found = REAL[name]
    items, parser = parse(text.encode(), piece)
    assert items == [expected]
    assert (set(findings(parser)), parser.complete) == (found, True)


def test_ours_a_document_cut_anywhere_gives_what_came_before() -> None:
    inner = "<lastmod>2024-05-08</lastmod><changefreq>daily</changefreq>"
    more = '<xhtml:link rel="alternate" hreflang="de" href="https://e.de/?a&amp;b"/><!-- \u20ac -->'
    more += "<news:news><news:title><![CDATA[<x>]]></news:title></news:news>"
    data = urlset("\n".join(url(f"{inner}{IMAGE * 2}{more}", f"https://example.com/\xe9{n}") for n in range(4)))
    whole, parser = parse(data)
    assert (len(whole), parser.findings) == (4, ())
    for end in range(len(data)):
        items, parser = parse(data[:end])
        assert items == whole[: len(items)], data[:end]
        assert len(items) == data.count(b"</url>", 0, end)
        assert parser.findings or end > data.rindex(b">")
        assert not parser.complete or end > data.rindex(b">")


def test_ours_every_rule_that_reading_names_is_in_the_table() -> None:
    named: set[str] = set()
    for path in (Path(sitemap.__file__).parent / "reader").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                family, dot, rest = node.value.partition(".")
                if dot and rest.replace("_", "").isalpha() and family in {rule.partition(".")[0] for rule in RULES}:
                    named.add(node.value)
    assert len(named) > 40
    assert named <= set(RULES)


@pytest.mark.parametrize("between", ["", "<lastmod>2024-05-08</lastmod>", " "])
def test_sitemaps_org_a_second_loc_is_named_because_its_url_is_not_read(between: str) -> None:
    """https://www.sitemaps.org/protocol.html#locdef: each url has one loc."""
    items, parser = parse(urlset(f"<url><loc>{LOC}</loc>{between}<loc>https://example.com/lost</loc></url>" * 3))
    assert [item.loc for item in items] == [LOC] * 3
    (sentence,) = {found.sentence for found in parser.findings if found.rule == "sitemap.repeated"}
    assert "'https://example.com/lost' is not read" in sentence
