# ruff: noqa: E501 - a case reads best on one line
"""Images, videos, dates and the JSON-LD they are read from."""

import json
from random import Random

import pytest
from htmlpages import URL, read

from crawler.parse.html import jsonld, lexbor
from crawler.parse.html.dates import duration_seconds, w3c_date
from crawler.parse.html.images import best_candidate
from crawler.parse.html.page import ReadOptions

AT = "https://example.com"


def script(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return f'<script type="application/ld+json">{text}</script>'


@pytest.mark.parametrize(
    ("value", "best"),
    [
        ("a.png", "a.png"),
        ("a.png 1x, b.png 2x", "b.png"),
        ("a.png 480w, b.png 1080w, c.png 800w", "b.png"),
        ("a.png 1.5x,b.png 1x", "a.png"),
        ("a.png, b.png 2x", "b.png"),
        ("a,b.png 100w 50h,\n c.png 90w", "a,b.png"),
        (" , a.png", "a.png"),
        ("data:image/png;base64,xx= 3x, b.png 1x", "b.png"),
        ("a.png 2x, b.png 2x", "a.png"),
        ("", ""),
        (",,,", ""),
    ],
)
def test_whatwg_srcset_best_candidate(value: str, best: str) -> None:
    assert best_candidate(value) == best


@pytest.mark.parametrize(
    ("markup", "images"),
    [
        ("<img src=/a.png?v=1&utm_source=x>", [f"{AT}/a.png?v=1&utm_source=x"]),
        ("<img src=/a.png srcset='/s.png 1x, /l.png 2x'>", [f"{AT}/l.png"]),
        ("<img src=/a.png><img src=/a.png><img src=b.png>", [f"{AT}/a.png", f"{AT}/dir/b.png"]),
        ("<picture><source srcset='/p.webp 1x,/q.webp 2x'><img src=/a.png></picture>", [f"{AT}/a.png"]),
        ("<picture><source srcset=/p.webp><img src='data:image/gif;base64,R0'></picture>", [f"{AT}/p.webp"]),
        ("<picture><source srcset=/p.webp><img alt=x></picture>", [f"{AT}/p.webp"]),
        ("<img data-src=/lazy.png>", [f"{AT}/lazy.png"]),
        ("<img src='data:image/gif;base64,R0' data-original=/lazy.png>", [f"{AT}/lazy.png"]),
        ("<img src=/img/blank.gif data-src=/lazy.png>", [f"{AT}/lazy.png"]),
        ("<img src=/a.png data-srcset='/s.png 1x, /l.png 2x'>", [f"{AT}/l.png"]),
        ("<img src='data:image/png;base64,xx'><img src='blob:x'><img src=''><img>", []),
        ("<img src=/p.gif width=1 height=1><img src=/q.gif height='0'><img src=/r.gif style='display:none'>", []),
        ("<img src=/a.png width=10 height=100%>", [f"{AT}/a.png"]),
        ("<img src='https://www.facebook.com/tr?id=1'>", []),
        ("<meta property=og:image content=/og.png><img src=/a.png>", [f"{AT}/a.png", f"{AT}/og.png"]),
        (
            "<meta property='og:image:secure_url' content=/og.png><meta property=og:image:width content=3>",
            [f"{AT}/og.png"],
        ),
        ("<base href=/b/><img src=a.png>", [f"{AT}/b/a.png"]),
        (
            "<svg><image href=/i.png /></svg><noscript><img src=/n.png></noscript><template><img src=/t.png></template>",
            [f"{AT}/n.png"],
        ),
        (
            script({"@type": "Article", "image": ["/1.png", {"@type": "ImageObject", "url": "/2.png"}]}),
            [f"{AT}/1.png", f"{AT}/2.png"],
        ),
        (
            script(
                {
                    "@graph": [
                        {"@type": "WebPage", "primaryImageOfPage": {"@id": "#i"}},
                        {"@type": "ImageObject", "@id": "#i", "contentUrl": "/3.png"},
                    ]
                }
            ),
            [f"{AT}/3.png"],
        ),
        (
            script(
                {
                    "@type": "Article",
                    "image": "/5.png",
                    "publisher": {"@type": "Organization", "logo": {"@type": "ImageObject", "url": "/logo.png"}},
                    "author": {"@type": "Person", "image": {"@type": "ImageObject", "url": "/face.png"}},
                }
            ),
            [f"{AT}/5.png"],
        ),
        (
            script(
                {
                    "@graph": [
                        {"@type": "WebPage", "primaryImageOfPage": {"@id": "#own"}, "isPartOf": {"@id": "#site"}},
                        {"@type": "WebSite", "@id": "#site", "publisher": {"@id": "#we"}, "image": "/site.png"},
                        {
                            "@type": ["Organization", "Brand"],
                            "@id": "#we",
                            "logo": {"@id": "#logo"},
                            "image": {"@id": "#own"},
                        },
                        {"@type": "ImageObject", "@id": "#logo", "url": "/logo.png"},
                        {"@type": "ImageObject", "@id": "#own", "url": "/own.png", "creator": {"@id": ["odd"]}},
                    ]
                }
            ),
            [f"{AT}/own.png"],
        ),
        (
            script({"@type": "ProfilePage", "mainEntity": {"@type": "Person", "image": "/portrait.png"}}),
            [f"{AT}/portrait.png"],
        ),
        (
            script({"@type": "Product", "image": ["/shoe.png"], "brand": {"@type": "Brand", "logo": "/brand.png"}}),
            [f"{AT}/shoe.png"],
        ),
        (script({"@type": "Article", "thumbnailUrl": "/no.png", "image": {"url": "/4.png"}}), [f"{AT}/4.png"]),
    ],
)
def test_google_images(markup: str, images: list[str]) -> None:
    assert read(markup).images == images


def test_google_at_most_a_thousand_images() -> None:
    assert len(read("".join(f"<img src={n}.png>" for n in range(1_200))).images) == 1_000


def test_ours_a_picture_is_looked_through_once() -> None:
    markup = "<picture>" + "<source srcset=/s.png>" * 2_000 + "<img data-x=1>" * 2_000 + "</picture>"
    assert len(lexbor.read_outline(markup.encode()).named("source")) == 2_000
    assert read(markup).images == [f"{AT}/s.png"]


def test_ours_what_is_turned_off_is_not_read() -> None:
    page = read(
        f"<img src=/a.png>{script(VIDEO)}<meta property=article:modified_time content=2023-01-01>",
        options=ReadOptions(images=False, videos=False, dates=False),
    )
    assert (page.images, page.videos, page.video_faults, page.modified) == ([], [], [], "")


VIDEO = {
    "@context": "https://schema.org",
    "@type": "VideoObject",
    "name": "A &amp; B",
    "description": "x" * 3_000,
    "thumbnailUrl": ["/t.jpg", "/u.jpg"],
    "uploadDate": "2023-04-05T06:07:08+02:00",
    "contentUrl": "/v.mp4",
    "embedUrl": "https://example.com/player?v=1",
    "duration": "PT1M33S",
    "expires": "2030-01-01",
    "interactionStatistic": {
        "@type": "InteractionCounter",
        "interactionType": {"@type": "WatchAction"},
        "userInteractionCount": "12",
    },
    "regionsAllowed": "de, AT,zz9",
    "isFamilyFriendly": True,
    "aggregateRating": {"ratingValue": "4.5"},
    "publication": [{"@type": "BroadcastEvent", "isLiveBroadcast": "false"}],
    "keywords": ", ".join(f"k{n}" for n in range(40)),
    "author": {"@type": "Person", "name": "Ann"},
}


def test_schema_org_video_object_in_full() -> None:
    page = read(script(VIDEO))
    assert page.video_faults == []
    (video,) = page.videos
    assert (video.thumbnail_loc, video.content_loc) == (f"{AT}/t.jpg", f"{AT}/v.mp4")
    assert video.player_loc == f"{AT}/player?v=1"
    assert len(video.description) == 2_048
    assert (video.duration, video.view_count, video.rating) == (93, 12, 4.5)
    assert (video.publication_date, video.expiration_date) == ("2023-04-05T06:07:08+02:00", "2030-01-01")
    assert video.restriction == ("allow", "AT DE")
    assert (video.family_friendly, video.live) == (True, False)
    assert len(video.tags) == 32
    assert video.uploader == ("Ann", "")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"thumbnailUrl": None}, "no thumbnail"),
        ({"name": " "}, "no title"),
        ({"description": ""}, "no description"),
        ({"contentUrl": None, "embedUrl": None}, "no content or player address"),
        ({"contentUrl": str(URL), "embedUrl": None}, "only the page itself"),
        ({"thumbnailUrl": "data:image/png;base64,x", "description": None}, "no thumbnail and no description"),
    ],
)
def test_google_a_video_without_the_required_is_left_out_with_the_reason(
    change: dict[str, object], reason: str
) -> None:
    page = read(script({**VIDEO, **change}))
    assert page.videos == []
    assert len(page.video_faults) == 1
    assert reason in page.video_faults[0]


@pytest.mark.parametrize(
    "change",
    [
        {"duration": "PT9H"},
        {"duration": "P1Y"},
        {"duration": "soon"},
        {"aggregateRating": {"ratingValue": "90", "bestRating": "100"}},
        {"uploadDate": "yesterday"},
        {"interactionStatistic": {"userInteractionCount": "1_000"}},
        {"regionsAllowed": 5},
        {"keywords": {"x": 1}},
        {"publication": "x"},
        {"author": ["x", 5]},
        {"name": ["A", "B"]},
        {"thumbnail": 7, "image": [{}]},
    ],
)
def test_ours_a_bad_detail_is_dropped_and_the_video_kept(change: dict[str, object]) -> None:
    (video,) = read(script({**VIDEO, **change})).videos
    assert video.duration in (93, None)
    assert video.rating in (4.5, None)


def test_schema_org_videos_are_found_wherever_they_nest() -> None:
    markup = script([{"@graph": [{"@type": "Article", "video": [{**VIDEO, "@type": ["VideoObject", "Clip"]}]}]}])
    assert len(read(markup).videos) == 1
    by_id = script(
        {"@graph": [{"@type": "Article", "video": {"@type": "VideoObject", "@id": "#v"}}, {**VIDEO, "@id": "#v"}]}
    )
    page = read(by_id)
    assert (len(page.videos), page.video_faults) == (1, [])


def test_ours_one_video_stated_four_times_is_one() -> None:
    page = read(
        script({**VIDEO, "contentUrl": None, "embedUrl": "https://www.youtube-nocookie.com/embed/abcdefghijk?rel=0"})
        + "<meta property=og:video content='https://www.youtube.com/v/abcdefghijk'>"
        "<meta name=twitter:player content='https://www.youtube.com/embed/abcdefghijk'>"
        "<iframe src='//www.youtube.com/embed/abcdefghijk?start=3'></iframe>"
    )
    assert len(page.videos) == 1
    assert page.video_faults == []
    assert page.videos[0].duration == 93


def test_ours_known_embeds() -> None:
    head = "<title>T</title><meta name=description content=D>"
    (video,) = read(head + "<iframe data-src='https://youtu.be/abcdefghijk' title='The film'></iframe>").videos
    assert video.title == "The film"
    assert video.player_loc == "https://www.youtube.com/embed/abcdefghijk"
    assert video.thumbnail_loc == "https://i.ytimg.com/vi/abcdefghijk/hqdefault.jpg"
    page = read(head + "<iframe src='https://player.vimeo.com/video/76979871'></iframe><iframe src=/other></iframe>")
    assert (page.videos, len(page.video_faults)) == ([], 1)
    assert "no thumbnail" in page.video_faults[0]


def test_ours_video_elements() -> None:
    head = "<title>T</title><meta name=description content=D>"
    (video,) = read(head + "<video poster=p.jpg><source src=v.webm><source src=v.mp4></video>").videos
    assert (video.content_loc, video.thumbnail_loc) == (f"{AT}/dir/v.webm", f"{AT}/dir/p.jpg")
    (video,) = read(head + "<video poster=p.jpg src=v.mp4 title=Film></video>").videos
    assert (video.content_loc, video.title) == (f"{AT}/dir/v.mp4", "Film")
    background = read(head + "<video autoplay loop muted src=v.mp4></video>")
    assert (background.videos, background.video_faults) == ([], [])
    assert len(read(head + "<video src=v.mp4></video>").video_faults) == 1


def test_ours_open_graph_formats_are_one_video() -> None:
    (video,) = read(
        "<meta property=og:title content=T><meta property=og:description content=D><meta property=og:image content=/i.jpg>"
        "<meta property=og:video content=/v.mp4><meta property=og:video:type content=video/mp4>"
        "<meta property=og:video content=/embed/5><meta property=og:video:type content=text/html>"
        "<meta property=video:duration content=75><meta property=video:tag content=x>"
    ).videos
    assert (video.content_loc, video.player_loc, video.duration) == (f"{AT}/v.mp4", f"{AT}/embed/5", 75)
    assert video.tags == ("x",)


@pytest.mark.parametrize(
    "text",
    [
        '\ufeff{"@type": "Article", "dateModified": "2023-01-02"}',
        '<!-- {"@type": "Article", "dateModified": "2023-01-02"} -->',
        '//<![CDATA[\n{"@type": "Article", "dateModified": "2023-01-02"}\n//]]>',
        '/* <![CDATA[ */{"@type": "Article", "dateModified": "2023-01-02"}/* ]]> */',
        '{"@type": "Article", "dateModified": "2023-01-02",}',
        '{"@type": "Article", /* no "date" */ "dateModified": "2023-01-02" // , }\n}',
        '{"@type": "Article", "x": "a\nb\tc\x01", "dateModified": "2023-01-02"}',
        '{"@type": "Article", "x": "http://a//b /* c */ ,]", "dateModified": "2023-01-02",}',
        "{&quot;@type&quot;: &quot;Article&quot;, &quot;dateModified&quot;: &quot;2023-01-02&quot;}",
        '{"@type": "Article", "x": "\\\' \\d", "dateModified": "2023-01-02"}',
        '[[{"@graph": [{"@type": "https://schema.org/NewsArticle", "dateModified": "2023-01-02"}]}]];',
    ],
)
def test_ours_json_ld_with_real_defects_is_read(text: str) -> None:
    page = read(script("{broken") + script(text))
    assert (page.modified, page.modified_source) == ("2023-01-02", "JSON-LD dateModified")


@pytest.mark.parametrize(
    "text",
    [
        "", "null", "5", '"x"', "[" * 100_000, '{"a":' * 100_000, '{"@type": "Article", "x": ' + "[" * 300 + "]" * 300 + "}",
        '"' + '\\"' * 100_000, "/*" * 100_000, "{" + "," * 100_000, " " * 100_000 + "x", '{"@type": 5, "@id": []}', '"\\',
        '{"@type": ["VideoObject"], "@id": {}, "thumbnailUrl": {}, "contentUrl": [], "name": 1e999}', "\ud800", "-" * 9,
    ],
)  # fmt: skip
def test_ours_hostile_json_ld_is_harmless(text: str) -> None:
    page = read(script(text) + "<a href=/x>")
    assert (page.images, page.videos, page.modified, len(page.links)) == ([], [], "", 1)


def test_ours_a_fault_of_json_ld_names_its_block_and_place() -> None:
    page = read(script('{"a": 1}') + script('\n{"a": 1, // a note\n "b": [2,],\n "c": }'))
    assert (page.bad_data, page.data_fault) == (1, "block 2, line 4, column 7: Expecting value")


def test_ours_number_of_json_ld_nodes_is_bounded() -> None:
    assert len(jsonld.read_nodes([json.dumps([{"@type": "X"}] * 20_000)])[0]) == jsonld.MAX_NODES


@pytest.mark.parametrize(
    ("markup", "modified", "source"),
    [
        ("<meta property=article:modified_time content='2023-01-02T03:04:05+00:00'>", "2023-01-02T03:04:05+00:00", "article:modified_time"),
        ("<meta property=og:updated_time content=2023-01-02>", "2023-01-02", "og:updated_time"),
        ("<time itemprop=dateModified datetime=2023-01-02>January</time>", "2023-01-02", "microdata dateModified"),
        ("<meta itemprop='datePublished dateModified' content=2023-01-02>", "2023-01-02", "microdata dateModified"),
        ("<time itemprop=dateModified>2023-01-02</time>", "2023-01-02", "microdata dateModified"),
        ("<p>On <span itemprop=dateModified>2023-01-02</span></p>", "2023-01-02", "microdata dateModified"),
        ("<span itemprop=dateModifiedBy>2023-01-02</span>", "", ""),
        ("<time itemprop=datePublished datetime=2023-01-02>x</time>", "", ""),
        ("<meta property=article:published_time content=2023-01-02>", "", ""),
        (script({"@type": "Article", "datePublished": "2023-01-02"}), "", ""),
        (script({"@type": "Comment", "dateModified": "2023-01-02"}), "", ""),
        (script({"@type": "Product", "review": {"@type": "Review", "x": {"@type": "Article", "dateModified": "2023-01-02"}}}), "", ""),
        (
            script({"@graph": [{"@type": "WebPage", "dateModified": "2023-01-01"}, {"@type": "BlogPosting", "dateModified": "2023-01-02"}]}),
            "2023-01-02",
            "JSON-LD dateModified",
        ),
        (
            script({"@type": "WebPage", "dateModified": "last week"}) + "<meta property=og:updated_time content=2023-01-02>",
            "2023-01-02",
            "og:updated_time",
        ),
    ],
)  # fmt: skip
def test_schema_org_modification_dates(markup: str, modified: str, source: str) -> None:
    page = read(markup)
    assert (page.modified, page.modified_source) == (modified, source)


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("2023-01-02", "2023-01-02"),
        (" 2023-01-02T03:04Z ", "2023-01-02T03:04:00Z"),
        ("2023-01-02T03:04:05.678+0530", "2023-01-02T03:04:05.678+05:30"),
        ("2023-01-02 03:04:05-08", "2023-01-02T03:04:05-08:00"),
        ("2023-01-02T03:04:05", "2023-01-02"),
        ("2023", ""),
        ("2023-01", ""),
        ("2023-13-01", ""),
        ("2023-02-30", ""),
        ("2023-01-02T25:00:00Z", ""),
        ("-001-11-30T00:00:00+00:00", ""),
        ("0000-00-00", ""),
        ("1684000000", ""),
        ("\uff12023-01-02", ""),
        ("2023-01-02" * 50, ""),
    ],
)
def test_w3c_datetime_forms(text: str, date: str) -> None:
    assert w3c_date(text) == date


@pytest.mark.parametrize(
    ("text", "length"),
    [("PT1M33S", 93), ("P0DT1H", 3_600), ("pt90s", 90), ("75", 75), ("75.5", 75), ("PT1.5S", 1), ("P", None), ("PT", None), ("1:33", None), ("", None)],
)  # fmt: skip
def test_schema_org_durations(text: str, length: int | None) -> None:
    assert duration_seconds(text) == length


DATE, OTHER = "2023-01-02", "2024-05-06"
MENTIONS = ["comment", "review", "hasPart", "citation", "isPartOf", "author"]
VALUES = [DATE, [DATE], {"@value": DATE}, [{"@type": "Date", "@value": DATE}], ["soon", DATE], [{"@value": 5}, DATE]]


@pytest.mark.parametrize("seed", range(60))
def test_json_ld_a_date_is_that_of_the_item_that_the_page_is_about(seed: int) -> None:
    """https://www.w3.org/TR/json-ld11/ : values may be objects and lists, and names IRIs."""
    draw = Random(seed)
    prefix = draw.choice(["", "https://schema.org/", "http://schema.org/", "schema:"])
    mentioned = {"@type": draw.choice(["Comment", "Review", "Article", "WebPage"]), "dateModified": OTHER}
    related = {"@type": "BlogPosting", draw.choice(["url", "mainEntityOfPage"]): "/another", "dateModified": OTHER}
    own = draw.choice(
        [{}, {f"{prefix}url": draw.choice([URL, "", "https://example.com/", "True", "https://google.test/x"])}]
    )
    article: dict[str, object] = {"@type": f"{prefix}Article", f"{prefix}dateModified": draw.choice(VALUES), **own}
    article[draw.choice(MENTIONS)] = draw.choice([mentioned, [mentioned]])
    whole = draw.choice(
        [
            article,
            [article, related],
            {"@graph": [related, article]},
            {"@type": "WebPage", f"{prefix}mainEntity": article},
        ]
    )
    assert read(script(whole)).modified == DATE
    teasers = [{"@type": "BlogPosting", "dateModified": date} for date in (DATE, OTHER)]
    assert read(script(draw.choice([teasers, {"@graph": teasers}]))).modified == ""
    assert read(script([*teasers, {**article, "url": URL}])).modified == DATE
    assert read(script({"@type": "Product", draw.choice(MENTIONS): mentioned})).modified == ""
    assert read(script(related)).modified == ""


@pytest.mark.parametrize("seed", range(60))
def test_whatwg_microdata_a_date_belongs_to_the_nearest_item(seed: int) -> None:
    draw = Random(seed)
    wrap = draw.choice(["{}", "<div><p>{}</p></div>", "<div itemprop=articleBody>{}</div>"])

    def dated(date: str) -> str:
        element = draw.choice(
            ["<time itemprop=dateModified datetime={}>x</time>", "<meta itemprop=dateModified content={}>"]
        )
        return wrap.format(element.format(date))

    def item(kind: str, content: str, prop: str = "") -> str:
        return f"<div itemscope itemtype='https://schema.org/{kind}' {prop and f'itemprop={prop}'}>{content}</div>"

    author = item("Person", "<a itemprop=url href=/people/x>x</a>", "author")
    comment = item(draw.choice(["Comment", "Review", "Article"]), dated(OTHER), draw.choice(["comment", "review"]))
    related = item("BlogPosting", "<a itemprop=url href=/another>x</a>" + dated(OTHER))
    own = draw.choice(["", "<link itemprop=url href=/>", "<meta itemprop=mainEntityOfPage content=True>", author])
    parts = [own, dated(DATE), draw.choice(["", comment])]
    draw.shuffle(parts)
    beside = [item("BlogPosting", "".join(parts)), draw.choice(["", related])]
    draw.shuffle(beside)
    body = "".join(beside)
    assert read(draw.choice([body, item("WebPage", body)])).modified == DATE
    assert read(item("BlogPosting", own + comment)).modified == ""
    assert read(item("BlogPosting", dated(DATE)) + item("BlogPosting", dated(OTHER))).modified == ""
    assert read(related).modified == ""
