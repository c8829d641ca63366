"""Feeds as the world writes them: RSS, RDF and Atom, with titles, summaries, media and language variants."""

from collections.abc import Callable
from pathlib import Path

import pytest
from documents import findings, parse
from msgspec.structs import replace

from sitemap import Alternate, Channel, Directory, Entry, Format, Image, SitemapWriter, Video, WriterOptions

YOUTUBE = b"""<?xml version="1.0" encoding="UTF-8"?>
<feed xmlns:yt="http://www.youtube.com/xml/schemas/2015" xmlns:media="http://search.yahoo.com/mrss/"
 xmlns="http://www.w3.org/2005/Atom"><link rel="self" href="http://video.example/feeds?c=1"/><title>Boats</title>
 <author><name>B</name><uri>https://video.example/c/1</uri></author><published>2010-01-01T00:00:00+00:00</published>
 <entry><id>yt:video:x1</id><yt:videoId>x1</yt:videoId><title>Sailing &amp; more</title>
  <link rel="alternate" href="https://video.example/watch?v=x1"/><author><name>B</name></author>
  <published>2024-05-01T10:00:00+00:00</published><updated>2024-05-08T08:53:11+00:00</updated>
  <media:group><media:title>Sailing</media:title>
   <media:content url="https://video.example/v/x1?version=3" type="application/x-shockwave-flash" width="640"/>
   <media:thumbnail url="https://i.video.example/x1.jpg" width="480" height="360"/>
   <media:description>All about
 boats</media:description><media:community><media:starRating count="9" average="4.50" min="1" max="5"/>
   <media:statistics views="1234"/></media:community></media:group></entry></feed>"""


def test_rssboard_media_of_a_video_channel() -> None:
    items, parser = parse(YOUTUBE)
    video = Video(
        "https://i.video.example/x1.jpg",
        "Sailing",
        "All about\n boats",
        player_loc="https://video.example/v/x1?version=3",
        rating=4.5,
        view_count=1234,
    )
    assert items == [
        Entry("https://video.example/watch?v=x1", "2024-05-08T08:53:11+00:00", videos=(video,), title="Sailing & more")
    ]
    assert (parser.format, parser.findings, parser.complete) == (Format.ATOM, (), True)


PODCAST = b"""<?xml version="1.0" encoding="utf-8"?><?xml-stylesheet type="text/xsl" href="/f.xsl"?>
<rss version="2.0" xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd"><channel><title>Cast</title>
<link>https://cast.example/</link><itunes:image href="https://cast.example/cover.jpg"/>
<image><url>https://cast.example/c.png</url><title>Cast</title><link>https://cast.example/</link></image>
<item><title>One</title><link>https://cast.example/1</link><description>First</description>
<itunes:image href="https://cast.example/1.jpg"/><itunes:duration>12:01</itunes:duration>
<enclosure url="https://cast.example/1.mp4" type="video/mp4" length="1"/>
<enclosure url="https://cast.example/1.jpeg" type="image/jpeg" length="1"/>
<pubDate>Wed, 8 May 2024 08:53:11 GMT</pubDate></item>
<item><title>Two</title><guid isPermaLink="false">x</guid><link>https://cast.example/2</link>
<enclosure url="https://cast.example/2.mp3" type="audio/mpeg" length="1"/></item></channel></rss>"""


def test_rssboard_enclosures_count_when_enough_is_known_of_them() -> None:
    items, parser = parse(PODCAST)
    video = Video("https://cast.example/1.jpg", "One", "First", "https://cast.example/1.mp4")
    assert items == [
        Entry(
            "https://cast.example/1",
            "2024-05-08T08:53:11+00:00",
            images=(Image("https://cast.example/1.jpeg"),),
            videos=(video,),
            title="One",
            summary="First",
        ),
        Entry("https://cast.example/2", title="Two"),
    ]
    assert parser.findings == ()


WORDPRESS = b"""<?xml version="1.0" encoding="UTF-8"?><rss version="2.0"
 xmlns:content="http://purl.org/rss/1.0/modules/content/" xmlns:wfw="http://wellformedweb.org/CommentAPI/"
 xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:atom="http://www.w3.org/2005/Atom"
 xmlns:sy="http://purl.org/rss/1.0/modules/syndication/" xmlns:media="http://search.yahoo.com/mrss/">
<channel><title>Blog</title><atom:link href="https://blog.example/feed/" rel="self" type="application/rss+xml" />
<link>https://blog.example</link><lastBuildDate>Wed, 08 May 2024 08:53:11 +0000</lastBuildDate>
<sy:updatePeriod>hourly</sy:updatePeriod><item><title>Hello &#8211; world</title>
<link>https://blog.example/hello/</link><comments>https://blog.example/hello/#comments</comments>
<dc:creator><![CDATA[Ann]]></dc:creator><pubDate>Wed, 08 May 2024 08:53:11 +0200</pubDate>
<category><![CDATA[News]]></category><guid isPermaLink="false">https://blog.example/?p=1</guid>
<description><![CDATA[<p>Short</p> [&#8230;]]]></description>
<content:encoded><![CDATA[<p>Long</p>]]></content:encoded><wfw:commentRss>https://blog.example/c</wfw:commentRss>
<media:thumbnail url="https://blog.example/t.jpg" /><media:content url="https://blog.example/a.jpg" medium="image">
<media:title type="html">A</media:title></media:content></item>
<item><link>https://blog.example/2/</link><content:encoded><![CDATA[<p>Only</p>]]></content:encoded></item>
</channel></rss>"""


def test_rssboard_a_blog() -> None:
    items, parser = parse(WORDPRESS)
    assert items == [
        Entry(
            "https://blog.example/hello/",
            "2024-05-08T06:53:11+00:00",
            images=(Image("https://blog.example/a.jpg"),),
            title="Hello \u2013 world",
            summary="<p>Short</p> [&#8230;]",
        ),
        Entry("https://blog.example/2/", summary="<p>Only</p>"),
    ]
    assert parser.findings == ()


MEDIA = """<media:content url="https://e.example/v.mp4" medium="video" duration="120" type="video/mp4">
<media:player url="https://e.example/p"/><media:title>T</media:title><media:description>D</media:description>
<media:thumbnail url="https://e.example/t.png" height="1"/><media:keywords>a, b c ,,d</media:keywords>
<media:restriction relationship="allow" type="uri">x</media:restriction>
<media:restriction relationship="deny" type="country">au us</media:restriction>
<media:price type="rent" price="1.99" currency="EUR"/><media:price type="subscription"/>
<media:rating scheme="urn:simple">nonadult</media:rating><media:category>Boats</media:category>
<media:credit role="uploader">U</media:credit><media:community><media:starRating average="3.5"/>
<media:statistics views="12"/></media:community>
<dcterms:valid>start=2024-01-01; end=2030-10-17T17:00:00+01:00; scheme=W3C-DTF</dcterms:valid>
<dcterms:type>live-video</dcterms:type></media:content>"""
WHOLE = Video(
    "https://e.example/t.png",
    "T",
    "D",
    "https://e.example/v.mp4",
    "https://e.example/p",
    120,
    "2030-10-17T17:00:00+01:00",
    3.5,
    12,
    "2024-01-01",
    family_friendly=True,
    restriction=("deny", "au us"),
    requires_subscription=True,
    uploader=("U", ""),
    live=True,
    tags=("a", "b c", "d"),
)


def rss(inner: str) -> bytes:
    return (
        '<rss version="2.0" xmlns:media="http://search.yahoo.com/mrss/" xmlns:dcterms="http://purl.org/dc/terms/">'
        f"<channel><item>\n<link>https://e.example/</link>{inner}</item></channel></rss>"
    ).encode()


def atom(inner: str) -> bytes:
    return (
        '<feed xmlns="http://www.w3.org/2005/Atom" xmlns:media="http://search.yahoo.com/mrss/"'
        ' xmlns:dcterms="http://purl.org/dc/terms/">'
        f'<entry>\n<link href="https://e.example/"/>{inner}</entry></feed>'
    ).encode()


@pytest.mark.parametrize("feed", [rss, atom])
def test_google_media_rss_videos_wherever_their_elements_stand(feed: Callable[[str], bytes]) -> None:
    inside, content = (MEDIA.partition(">")[2].rpartition("</media:content>")[0], MEDIA.partition(">")[0] + "/>")
    for inner in (
        MEDIA,
        f"<media:group>{MEDIA}</media:group>",
        f"<media:group>{content}{inside}</media:group>",
        inside + content,
        inside + f"<media:group>{content}</media:group>",
        f"<media:title>Outer</media:title>{MEDIA}",
    ):
        items, parser = parse(feed(inner))
        assert items == [Entry("https://e.example/", videos=(WHOLE,))], inner
        assert parser.findings == ()


def test_rssboard_a_group_is_one_thing_in_several_forms() -> None:
    forms = "".join(
        f'<media:content url="https://e.example/{name}" type="{kind}"{more}/>'
        for name, kind, more in (
            ("lo.mp4", "video/mp4", ""),
            ("hi.mp4", "video/mp4", ' isDefault="true"'),
            ("a.mp3", "audio/mpeg", ""),
            ("s.jpg", "image/jpeg", ""),
            ("l.jpg", "image/jpeg", ""),
        )
    )
    items, _ = parse(rss(f"<media:group>{forms}</media:group>"))
    assert [video.content_loc for video in items[0].videos] == ["https://e.example/hi.mp4"]
    assert items[0].images == (Image("https://e.example/s.jpg"),)
    items, _ = parse(rss(forms))
    assert (len(items[0].videos), len(items[0].images)) == (2, 2)
    items, _ = parse(rss('<media:player url="https://e.example/p"/><media:title>T</media:title>'))
    assert items[0].videos == (Video("", "T", "", player_loc="https://e.example/p"),)


def test_rssboard_values_of_media_that_are_none_are_findings() -> None:
    broken = MEDIA.replace('duration="120"', 'duration="2:00"').replace('views="12"', 'views="1,2"')
    broken = broken.replace('average="3.5"', 'average="good"').replace("https://e.example/t.png", "ftp://e/t")
    items, parser = parse(rss(broken + '<media:content medium="image" url="x y"/>'), base_url="https://e.example/f/")
    video = items[0].videos[0]
    assert (video.duration, video.view_count, video.rating, video.thumbnail_loc) == (None, None, None, "")
    assert items[0].images == (Image("https://e.example/f/x%20y"),)
    assert {rule for rule, _ in findings(parser)} == {
        "video.duration",
        "video.view_count",
        "video.rating",
        "video.url",
        "image.loc_missing",
    }


def test_rss_1_a_news_site() -> None:
    data = b"""<?xml version="1.0" encoding="ISO-8859-1"?><rdf:RDF xmlns="http://purl.org/rss/1.0/"
    xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:dc="http://purl.org/dc/elements/1.1/"
    xmlns:slash="http://purl.org/rss/1.0/modules/slash/" xmlns:feedburner="http://rssnamespace.org/feedburner/ext/1.0">
    <channel rdf:about="https://news.example/"><title>News</title><link>https://news.example/</link><dc:date>
    2024-05-08T09:00:00+00:00</dc:date><image rdf:resource="https://news.example/i.gif"/><items><rdf:Seq>
    <rdf:li rdf:resource="https://news.example/1"/></rdf:Seq></items></channel><image rdf:about="x"><title>I</title>
    <url>https://news.example/i.gif</url><link>https://news.example/</link></image>
    <item rdf:about="https://news.example/1?rss"><title>Caf\xe9s</title><link>https://news.example/1</link>
    <description>Long &lt;b&gt;story&lt;/b&gt;</description><dc:creator>x</dc:creator>
    <dc:date>2024-05-08T08:53:11+00:00</dc:date><slash:department>d</slash:department></item></rdf:RDF>"""
    items, parser = parse(data)
    assert items == [
        Entry("https://news.example/1", "2024-05-08T08:53:11+00:00", title="Caf\xe9s", summary="Long <b>story</b>")
    ]
    assert (parser.format, findings(parser)) == (Format.RSS1, [("sitemap.encoding", 1)])


BLOGGER = b"""<?xml version='1.0' encoding='UTF-8'?><?xml-stylesheet href="x.css" type="text/css"?>
<feed xmlns='http://www.w3.org/2005/Atom' xmlns:openSearch='http://a9.com/-/spec/opensearchrss/1.0/'
 xmlns:thr='http://purl.org/syndication/thread/1.0'><id>tag:b,1</id><updated>2024-05-08T08:53:11Z</updated>
<link rel='next' type='application/atom+xml' href='https://b.example/feeds/posts/default?start-index=26'/>
<openSearch:totalResults>99</openSearch:totalResults><entry><id>tag:b,2</id><published>2024-05-01T00:00:00Z</published>
<updated>2024-05-02T10:00:00.001-07:00</updated><category scheme='x' term='y'/><title type='text'>T</title>
<content type='xhtml'><div xmlns='http://www.w3.org/1999/xhtml'><p
>A <b>bold</b> word</p><title>no</title></div></content>
<link rel='replies' type='text/html' href='https://b.example/2#c' title='0'/>
<link rel='edit' href='https://b.example/feeds/2'/><link rel='alternate' type='text/html'
 href='https://b.example/2.html' title='T'/><link rel="enclosure" type="image/png" href="/2.png"/>
<thr:total>0</thr:total><source><title>S</title><link href='https://other.example/'/><updated>2001-01-01T00:00:00Z</updated></source>
</entry></feed>"""


def test_rfc4287_a_blog_with_pages() -> None:
    items, parser = parse(BLOGGER, base_url="https://b.example/feeds/posts/default")
    assert items == [
        Entry(
            "https://b.example/2.html",
            "2024-05-02T10:00:00.001-07:00",
            images=(Image("https://b.example/2.png"),),
            title="T",
            summary="A bold wordno",
        )
    ]
    assert [rule for rule, _ in findings(parser)] == ["image.loc_missing"]
    data = BLOGGER.replace(b"http://www.w3.org/2005/Atom", b"http://purl.org/atom/ns#")
    assert parse(data.replace(b"updated>", b"modified>"), base_url="https://b.example/")[0] == items


def test_rfc4287_links_in_other_languages_are_variants() -> None:
    links = (
        '<link rel="alternate" hreflang="de" href="https://e.example/de"/>'
        '<link rel="alternate" hreflang="en" href="https://e.example/"/>'
    )
    both = (Alternate("de", "https://e.example/de"), Alternate("en", "https://e.example/"))
    assert parse(atom(links))[0] == [Entry("https://e.example/", alternates=both)]
    without = atom(links).replace(b'<link href="https://e.example/"/>', b"")
    assert parse(without)[0] == [Entry("https://e.example/de", alternates=both)]
    alone = atom("").replace(b"<link", b'<link hreflang="en"')
    assert parse(alone)[0] == [Entry("https://e.example/")]


@pytest.mark.parametrize("dated", ["pubDate", "dc:date", "dcterms:modified", "atom:updated"])
def test_ours_dates_of_feeds(dated: str) -> None:
    names = 'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:atom="http://www.w3.org/2005/Atom"'
    data = rss(f"<{dated}> 2024-05-08 </{dated}>").replace(b"<rss", f"<rss {names}".encode())
    assert parse(data)[0] == [Entry("https://e.example/", "2024-05-08")]
    items, parser = parse(data.replace(b"2024-05-08", b"soon"))
    assert (items, findings(parser)) == ([Entry("https://e.example/")], [("lastmod.invalid", 2)])


def test_ours_long_texts_of_a_feed_are_cut() -> None:
    items, parser = parse(rss(f"<description>{'x' * 100_000}</description><title>{'t' * 100_000}</title>"))
    assert (len(items[0].summary), len(items[0].title)) == (10_000, 65_536)
    assert parser.findings == ()


def test_ours_elements_of_feeds_without_end_are_bounded() -> None:
    many = "".join(f'<media:content medium="image" url="https://e.example/{n}"/>' for n in range(10_100))
    said = f"<media:description>{'d' * 60_000}</media:description><media:keywords>{'k,' * 30_000}</media:keywords>"
    items, parser = parse(rss(said + many.replace("image", "video") + "<media:price/>" * 1_000))
    assert len(items[0].videos) == 1_000
    assert {rule for rule, _ in findings(parser)} == {"sitemap.value_too_long"}
    items, parser = parse(rss(many))
    assert len(items[0].images) == 1_000
    items, parser = parse(rss('<enclosure type="video/mp4" url="https://e.example/v"/>' * 10_100))
    assert items[0].videos == ()


@pytest.mark.parametrize("kind", [Format.RSS, Format.ATOM])
def test_ours_what_a_feed_carries_comes_back(tmp_path: Path, kind: Format) -> None:
    video = replace(WHOLE, uploader=None, restriction=("allow", "AU US"))
    entries = [
        Entry("https://e.example/a?b&c", "2024-05-08T08:53:11+00:00", title="T & <b>", summary="S\nT"),
        Entry(
            "https://e.example/b",
            "2024-05-08T00:00:00+00:00",
            images=(Image("https://e.example/i.png"),),
            videos=(video,),
        ),
    ]
    options = WriterOptions(format=kind, channel=Channel("C", "https://e.example/"))
    with SitemapWriter(Directory(tmp_path), "https://e.example/feed.xml", options) as writer:
        for entry in entries:
            writer.add(entry)
        writer.finish()
    items, _ = parse((tmp_path / "feed.xml").read_bytes())
    found = [replace(item, lastmod=item.lastmod.replace("Z", "+00:00")) for item in items]
    assert found[0] == entries[0]
    assert found[1] == replace(entries[1], title=video.title)
