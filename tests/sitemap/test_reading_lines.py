"""A defect is told at the line on which the element that has it begins, however a document is laid out."""

import gzip

import pytest
from documents import LOC, URLSET, parse

from sitemap import lint

FEED = 'xmlns:media="http://search.yahoo.com/mrss/" xmlns:atom="http://www.w3.org/2005/Atom"'
DAY = "<lastmod>2024-05-08</lastmod>"
IMAGE_LOC = "<image:loc>https://example.com/i.png</image:loc>"

# What stands in a url behind its loc, a line each from line 5 on, and the rules with their lines.
LINES = {
    "lastmod": ("<lastmod>2024-02-30</lastmod>\n<priority>0.5</priority>", {("lastmod.invalid", 5)}),
    "lastmod in pieces": ("<lastmod\n>\n2024-05\n</lastmod>", {("lastmod.form", 5)}),
    "second lastmod": (f"{DAY}\n<lastmod>2024</lastmod>", {("sitemap.repeated", 6)}),
    "first lastmod": (f"<lastmod>2024</lastmod>\n{DAY}", {("lastmod.form", 5), ("sitemap.repeated", 6)}),
    "changefreq": (f"{DAY}\n<changefreq>Daily</changefreq>\n<priority>1</priority>", {("changefreq.invalid", 6)}),
    "priority": (f"{DAY}\n\n<priority>1,0</priority>\n", {("priority.invalid", 7)}),
    "order": (f"<priority>0.5</priority>\n<changefreq>daily</changefreq>\n{DAY}", {("sitemap.order", 6)}),
    "unknown": (f"{DAY}\n<title>\nT</title>", {("sitemap.unknown_element", 6)}),
    "long value": (f"{DAY}\n<changefreq>\n{'x' * 70_000}</changefreq>", {("sitemap.value_too_long", 6)}),
    "image": ("<image:image>\n<image:loc>\n/i.png</image:loc>\n</image:image>", {("image.loc_missing", 6)}),
    "image without loc": (f"{DAY}\n<image:image>\n</image:image>", {("image.loc_missing", 6)}),
    "image's caption": (
        f"<image:image>\n{IMAGE_LOC}\n<image:caption>\nC</image:caption>\n</image:image>",
        {("retired.tag", 7)},
    ),
    "video": (
        """<video:video>
<video:duration>2:30</video:duration>
<video:rating>4/5</video:rating>
<video:live>maybe</video:live>
<video:name/>
<video:player_loc
allow_embed='?'>x</video:player_loc>
</video:video>""",
        {
            ("video.duration", 6),
            ("video.rating", 7),
            ("video.yes_no", 8),
            ("sitemap.unknown_element", 9),
            ("retired.tag", 10),
        },
    ),
    "news": ("<news:news>\n</news:news>\n<news:news>\n</news:news>", {("sitemap.repeated", 7)}),
    "news' tags": (
        "<news:news>\n<news:title>T</news:title>\n<news:title>U</news:title>\n</news:news>",
        {("sitemap.repeated", 7)},
    ),
    "variants": (
        """<xhtml:link rel="alternate" hreflang="de"
href="https://e.de/"/>
<xhtml:link
rel="alternate" hreflang="fr" href="/fr"/>
<xhtml:link rel="alternate" href="https://e.de/"/>""",
        {("hreflang.url", 7), ("hreflang.code", 9)},
    ),
    "mobile": (f"{DAY}\n<mobile:mobile/>\n", {("retired.tag", 6)}),
    "foreign": (f"{DAY}\n<q:r/>\n", {("sitemap.extension_namespace", 6)}),
}


@pytest.mark.parametrize("case", LINES)
@pytest.mark.parametrize("indent", ["", "    "])
def test_ours_a_defect_is_told_where_its_element_begins(case: str, indent: str) -> None:
    inner, expected = LINES[case]
    inner = inner.replace("\n", f"\n{indent}")
    text = f"<urlset {URLSET}>\n{indent}<url>\n\n{indent}<loc>{LOC}</loc>\n{indent}{inner}\n{indent}</url>\n</urlset>"
    _, parser = parse(text.encode(), 1_000)
    assert {(finding.rule, finding.line) for finding in parser.findings} == expected


@pytest.mark.parametrize(
    ("inner", "expected"),
    [
        (f"<url>\n{DAY}\n</url>", ("sitemap.loc_missing", 3)),
        (f"<url>\n{DAY}\n<loc>{LOC}</loc>\n</url>", ("sitemap.order", 5)),
        ("<url>\n<loc>\n/a</loc>\n</url>", ("sitemap.loc_relative", 4)),
        ("<url>\n\n<loc>https://example.com/a b</loc>\n</url>", ("sitemap.loc_encoding", 5)),
    ],
)
def test_ours_a_defect_of_a_loc_is_told_there_or_at_the_url_that_has_none(
    inner: str, expected: tuple[str, int]
) -> None:
    sound = f"<url><loc>{LOC}</loc></url>"
    _, parser = parse(f"<urlset {URLSET}>\n{sound}\n{inner}\n{sound}</urlset>".encode())
    assert {(finding.rule, finding.line) for finding in parser.findings} == {expected}


@pytest.mark.parametrize(
    ("inner", "expected"),
    [
        ("<link>/a</link>", ("sitemap.loc_relative", 5)),
        ("<title>T</title>\n<description/>", ("sitemap.loc_missing", 4)),
        ("<title>T</title>\n<guid>x</guid>", ("sitemap.loc_missing", 6)),
        (f"<link>{LOC}</link>\n<pubDate>soon</pubDate>", ("lastmod.invalid", 6)),
        (f"<link>{LOC}</link>\n<media:content medium='image'\nurl='/i.png'/>", ("image.loc_missing", 6)),
        (f"<link>{LOC}</link>\n<enclosure type='image/png'\nurl='/i.png'/>", ("image.loc_missing", 6)),
    ],
)
def test_ours_a_defect_of_a_feed_is_told_where_its_element_begins(inner: str, expected: tuple[str, int]) -> None:
    sound = f"<item><link>{LOC}</link></item>"
    _, parser = parse(f"<rss {FEED}>\n<channel>{sound}\n\n<item>\n{inner}\n</item></channel></rss>".encode())
    assert {(finding.rule, finding.line) for finding in parser.findings} == {expected}


def test_ours_a_defect_of_a_whole_entry_is_told_at_its_url() -> None:
    inner = (
        '<xhtml:link rel="alternate" hreflang="en-UK"\nhref="https://example.com/a"/>\n<video:video>\n</video:video>'
    )
    report = lint(f"<urlset {URLSET}>\n\n<url>\n<loc>{LOC}</loc>\n{inner}\n</url>\n</urlset>".encode())
    assert {finding.rule for finding in report.findings} == {"hreflang.code", "video.missing_tag"}
    assert {finding.line for finding in report.findings} == {3}


@pytest.mark.parametrize(
    ("inner", "said"),
    [
        ("<loc>https://e.com/?a=1&b=2</loc>", "an & is not escaped: write &amp;"),
        ("<loc>https://e.com/&nbsp;</loc>", "&nbsp; is not an XML entity: write &#160;"),
        (f"<loc>{LOC}", "<loc> is not closed: write </loc> before </url>"),
        (f"<loc>{LOC}</Loc>", "</Loc> is where only </loc> may be"),
        ("<image:image><image:loc></image:image>", "<image:loc> is not closed"),
        ("<lastmod>a < b</lastmod>", "a < is not escaped: write &lt;"),
        ("<lastmod>\x01</lastmod>", "there is a control character, 0x01, that XML forbids: remove it"),
        ("<loc type=x/>", "a tag is malformed"),
        ("<q><r></q>", "</q> does not match an open tag"),
    ],
)
def test_w3c_what_is_not_well_formed_is_said_in_plain_words(inner: str, said: str) -> None:
    text = f"<urlset {URLSET}>\n<url>\n{inner}</url>\n</urlset>"
    _, parser = parse(text.encode())
    [sentence] = [f.sentence for f in parser.findings if f.rule == "sitemap.not_well_formed"]
    assert said in sentence


def test_ours_a_url_that_is_too_long_and_two_on_a_line_are_told_once() -> None:
    long = LOC + "x" * 2_100
    report = lint(f"<urlset {URLSET}>\n<url><loc>{long}</loc></url>\n</urlset>".encode())
    assert report.rules == {"sitemap.loc_too_long": 1}
    assert lint(f"{LOC} {LOC}b\n".encode()).rules == {"sitemap.text_line": 1}


def test_ours_a_packed_document_that_was_cut_off_is_told_once() -> None:
    pages = "".join(f"<url><loc>{LOC}{number * 7919 % 10007}</loc></url>\n" for number in range(5_000))
    packed = gzip.compress(f"<urlset {URLSET}>\n{pages}</urlset>".encode())
    items, parser = parse(packed[: len(packed) // 2], file="sitemap.xml.gz")
    assert [finding.rule for finding in parser.findings] == ["sitemap.truncated"]
    assert items
    assert not parser.complete


def test_ours_what_has_no_name_has_no_wrong_name() -> None:
    packed = gzip.compress(f"<urlset {URLSET}><url><loc>{LOC}</loc></url></urlset>".encode())
    assert parse(packed, file="<stdin>")[1].findings == ()
    assert [finding.rule for finding in parse(packed, file="sitemap.xml")[1].findings] == ["sitemap.mislabelled"]
