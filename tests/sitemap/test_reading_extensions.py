"""Every tag of every extension is read into the model, however it is written."""

import pytest
from documents import LOC, URLSET, findings, parse, url, urlset
from hypothesis import given, settings
from hypothesis import strategies as st

from sitemap import Alternate, Entry, Image, News, Video

IMAGES = """<image:image><image:loc> https://example.com/1.png
</image:loc><image:caption>A &amp; B</image:caption><image:geo_location>Limerick, Ireland</image:geo_location>
<image:title><![CDATA[<b>T</b>]]></image:title><image:license>https://example.com/cc</image:license></image:image>
<image:image><image:loc>https://cdn.example/2.png</image:loc></image:image>"""
VIDEO = """<video:video>
<video:thumbnail_loc>https://example.com/t.jpg</video:thumbnail_loc><video:title>T &lt;1></video:title>
<video:description>D</video:description><video:content_loc>https://example.com/v.mp4</video:content_loc>
<video:player_loc allow_embed="no" autoplay="ap=1">https://example.com/p?a=1&amp;b=2</video:player_loc>
<video:content_segment_loc duration="600">https://example.com/s1.mp4</video:content_segment_loc>
<video:content_segment_loc>https://example.com/s2.mp4</video:content_segment_loc>
<video:duration>600</video:duration><video:expiration_date>2030-01-01</video:expiration_date>
<video:rating>4.25</video:rating><video:view_count>123456789012345678</video:view_count>
<video:publication_date>2024-05-08T08:53:11+02:00</video:publication_date><video:tag>a</video:tag>
<video:tag> b c </video:tag><video:category>Baking</video:category><video:family_friendly>YES</video:family_friendly>
<video:restriction relationship="deny">IE GB</video:restriction>
<video:gallery_loc title="Cakes">https://example.com/g</video:gallery_loc>
<video:price currency="EUR" type="rent" resolution="hd">1.99</video:price><video:price currency="USD">9</video:price>
<video:requires_subscription>no</video:requires_subscription>
<video:uploader info="https://example.com/u">Grill &amp; Co</video:uploader>
<video:tvshow><video:show_title>S</video:show_title><video:video_type>full</video:video_type>
<video:episode_title>E</video:episode_title><video:season_number>2</video:season_number>
<video:episode_number>13</video:episode_number><video:premier_date>2020-02-02</video:premier_date></video:tvshow>
<video:platform relationship="allow">web tv</video:platform><video:live>no</video:live>
<video:id type="tms:series">123</video:id></video:video>"""
NEWS = """<news:news><news:publication><news:name>The Example</news:name><news:language>en</news:language>
</news:publication><news:access>Subscription</news:access><news:genres>PressRelease, Blog</news:genres>
<news:publication_date>2024-05-08T08:53:11+02:00</news:publication_date><news:title>A, B</news:title>
<news:keywords>business, merger</news:keywords><news:stock_tickers>NASDAQ:A</news:stock_tickers></news:news>"""

ALL_IMAGES = (Image("https://example.com/1.png"), Image("https://cdn.example/2.png"))
WHOLE_VIDEO = Video(
    "https://example.com/t.jpg",
    "T <1>",
    "D",
    "https://example.com/v.mp4",
    "https://example.com/p?a=1&b=2",
    600,
    "2030-01-01",
    4.25,
    123456789012345678,
    "2024-05-08T08:53:11+02:00",
    family_friendly=True,
    restriction=("deny", "IE GB"),
    platform=("allow", "web tv"),
    requires_subscription=False,
    uploader=("Grill & Co", "https://example.com/u"),
    live=False,
    tags=("a", "b c"),
)
WHOLE_NEWS = News("The Example", "en", "2024-05-08T08:53:11+02:00", "A, B")
LINKS = """<xhtml:link rel="alternate" hreflang="de" href="https://example.com/de?a=1&amp;b=2"/>
<xhtml:link href=" https://example.com/x " hreflang="x-default" rel="Alternate"></xhtml:link>
<xhtml:link rel="alternate" media="only screen and (max-width: 640px)" href="https://m.example.com/a"/>"""
VARIANTS = (Alternate("de", "https://example.com/de?a=1&b=2"), Alternate("x-default", "https://example.com/x"))


@pytest.mark.parametrize("piece", [1, 50, 1 << 30])
def test_google_every_tag_of_every_extension_is_read_but_for_retired_ones(piece: int) -> None:
    inner = IMAGES + VIDEO + LINKS + NEWS + VIDEO + "<mobile:mobile/>"
    items, parser = parse(urlset(url(f"<lastmod>2024-05-08</lastmod>{inner}") + url()), piece)
    assert items == [
        Entry(
            LOC,
            "2024-05-08",
            images=ALL_IMAGES,
            videos=(WHOLE_VIDEO, WHOLE_VIDEO),
            alternates=VARIANTS,
            news=WHOLE_NEWS,
        ),
        Entry(LOC),
    ]
    assert {rule for rule, _ in findings(parser)} == {"retired.tag"}
    assert parser.complete


def test_google_retired_tags_are_named_once_each() -> None:
    _, parser = parse(urlset((url(IMAGES + VIDEO + NEWS + "<mobile:mobile/>") + "\n") * 100))
    named = [finding.sentence for finding in parser.findings]
    assert len(named) == 17
    assert named[:2] == ["image:caption is retired: leave it out", "image:geo_location is retired: leave it out"]
    assert "video:player_loc@autoplay is retired: leave it out" in named
    assert {finding.line for finding in parser.findings} <= set(range(3, 45))


@pytest.mark.parametrize(
    ("own", "prefix"),
    [
        ("http://www.sitemaps.org/schemas/sitemap/0.9", "i"),
        ("", "image"),
        ("http://www.sitemaps.org/schemas/sitemap/0.9", "ns1"),
    ],
)
def test_ours_an_extension_may_declare_itself_on_each_element(own: str, prefix: str) -> None:
    image = (
        f'<{prefix}:image xmlns:{prefix}="http://www.google.com/schemas/sitemap-image/1.1"><{prefix}:loc>'
        f"https://example.com/1.png</{prefix}:loc></{prefix}:image>"
    )
    news = '<news xmlns="http://www.google.com/schemas/sitemap-news/0.9"><title>N</title></news>'
    items, parser = parse(urlset(url(image + news) * 3, f'xmlns="{own}"'))
    assert items == [Entry(LOC, images=(Image("https://example.com/1.png"),), news=News("", "", "", "N"))] * 3
    assert [rule for rule, _ in findings(parser)] == ([] if own else ["sitemap.namespace"])


def test_ours_foreign_elements_are_passed_over_and_what_they_hold_is_not_ours() -> None:
    foreign = """<PageMap xmlns="http://www.google.com/schemas/sitemap-pagemap/1.0"><DataObject type="x">
    <Attribute name="y">v</Attribute><loc>https://example.com/no</loc></DataObject></PageMap>
    <geo:geo xmlns:geo="http://www.google.com/geo/schemas/sitemap/1.0"><geo:format>kml</geo:format></geo:geo>
    <x:priority xmlns:x="http://example.com/ns">9</x:priority><!-- c --><?pi x?>"""
    root = f'{URLSET} xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="a b"'
    items, parser = parse(urlset(url("<lastmod>2024-05-08</lastmod>" + foreign) + url(), root))
    assert items == [Entry(LOC, "2024-05-08"), Entry(LOC)]
    assert (parser.findings, parser.complete) == ((), True)


def test_ours_an_image_of_another_kind_never_takes_the_place_of_the_page() -> None:
    inner = "<image><loc>https://example.com/i.png</loc></image>"
    items, parser = parse(urlset(f"<url>{inner}<loc>{LOC}</loc></url>{url()}"))
    assert items == [Entry(LOC, images=(Image("https://example.com/i.png"),)), Entry(LOC)]
    assert findings(parser) == [("sitemap.unknown_element", 3), ("sitemap.order", 3)]


def test_ours_parts_without_end_are_bounded() -> None:
    many = "<image:image><image:loc>https://example.com/i.png</image:loc></image:image>" * 10_100
    tags = "<video:video>" + "<video:tag>t</video:tag>" * 10_100 + "</video:video>"
    items, parser = parse(urlset(url(many) + url(tags)))
    assert [len(items[0].images), len(items[1].videos[0].tags)] == [10_000, 10_000]
    assert [rule for rule, _ in findings(parser)] == ["image.too_many", "sitemap.value_too_long"]
    deep = "<video:video>" + "<video:x>" * 1_000 + "</video:x>" * 1_000 + "</video:video>"
    for inner in (deep, deep.replace("video:", "y:")):
        items, parser = parse(urlset(url() + url(inner)))
        assert (items, findings(parser)[-1][0], parser.complete) == ([Entry(LOC)], "sitemap.too_deep", False)
    items, parser = parse(urlset(url(VIDEO.replace("T &lt;1>", "T" * 70_000))))
    assert items[0].videos[0].title == ""
    assert "sitemap.value_too_long" in parser.findings[0].rule


NAMES = [
    "image:image",
    "image:loc",
    "video:video",
    "video:price",
    "video:tvshow",
    "video:tag",
    "news:news",
    "url",
    "loc",
]
NAMES += ["news:publication", "xhtml:link", "lastmod", "mobile:mobile", "q", "x:y", "urlset", "image:title"]
piece_of_xml = st.one_of(
    st.sampled_from(NAMES).map("<{}>".format),
    st.sampled_from(NAMES).map("</{}>".format),
    st.sampled_from(NAMES).map('<{} rel="alternate" hreflang="de" href="https://example.com/" xmlns:x="q"/>'.format),
    st.sampled_from(NAMES).map('<{} xmlns="http://www.google.com/schemas/sitemap-image/1.1">'.format),
    st.sampled_from(["https://example.com/a", "yes", "1.5", "2024", "<![CDATA[<]]>", "&amp;", "&", "<!-- -->", "\n"]),
)
tree = st.recursive(
    piece_of_xml,
    lambda inner: st.tuples(st.sampled_from(NAMES), st.lists(inner, max_size=6)).map(
        lambda pair: f"<{pair[0]}>{''.join(pair[1])}</{pair[0]}>"
    ),
    max_leaves=25,
)


@settings(max_examples=60)
@given(st.lists(tree, max_size=8), st.integers(1, 40))
def test_ours_no_nesting_of_extensions_raises_or_depends_on_the_pieces(inner: list[str], piece: int) -> None:
    data = urlset("".join(inner) + url())
    items, parser = parse(data, piece)
    assert all(item.loc.startswith(("http://", "https://")) for item in items)
    assert parser.complete or parser.findings
    whole, at_once = parse(data)
    assert (items, findings(parser)) == (whole, findings(at_once))
