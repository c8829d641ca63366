"""Linting sets of documents: what is judged together, how it is answered, and that what we write has nothing wrong."""

import io
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lint_cases import EN_DE, HOME, NOW, A, B, article, dated, many, news, stamps, url, urlset, variants

from sitemap import (
    Alternate,
    CrossSubmits,
    Directory,
    Entry,
    Image,
    News,
    ReadLimits,
    Severity,
    SitemapWriter,
    SourceError,
    TreeLimits,
    Video,
    WriterOptions,
    lint,
)
from sitemap.linter.urls import normal_form


def rules(*sources: Any, **options: Any) -> dict[str, int]:
    return lint(*sources, **{"now": NOW} | options).rules


def test_ours_the_report_counts_all_and_keeps_some() -> None:
    report = lint(urlset(*[url(HOME + "a#b")] * 50, url("ftp://example.com/x")), now=NOW)
    assert report.rules == {"sitemap.loc_fragment": 50, "duplicate.loc": 49, "sitemap.loc_invalid": 1}
    assert report.severities == {Severity.ERROR: 1, Severity.WARNING: 99, Severity.NOTE: 0}
    assert report.worst is Severity.ERROR
    assert [finding.rule for finding in report.at_least(Severity.ERROR)] == ["sitemap.loc_invalid"]
    assert report.at_least(Severity.NOTE) == report.findings
    assert len(report.findings) == 20 + 1 + 20 + 1 + 1
    lines = [finding.line for finding in report.findings if finding.times == 1]
    assert lines == sorted(lines)
    assert [finding.times for finding in report.findings[-2:]] == [30, 29]
    assert report.entries == 50


def test_ours_a_clean_set_has_nothing_to_say() -> None:
    report = lint(urlset(A), urlset(B), now=NOW)
    assert (report.findings, report.worst, report.rules, report.not_checked) == ((), None, {}, ())
    assert (report.entries, [document.entries for document in report.documents]) == (2, [1, 1])


def test_ours_sources_are_paths_bytes_and_files_and_now_is_the_present(tmp_path: Path) -> None:
    path = tmp_path / "sitemap.xml"
    path.write_bytes(dated((datetime.now(UTC) + timedelta(hours=1)).isoformat()))
    with path.open("rb") as file:
        report = lint(str(path), path.read_bytes(), io.BytesIO(path.read_bytes()), file, path)
    # The last two are the first again, as each sitemap of an index is when all files of a folder are given.
    assert report.rules == {"lastmod.future": 3, "duplicate.across_files": 2}
    assert (report.entries, len(report.documents)) == (3, 5)
    assert str(path) in report.findings[0].file


def test_google_a_feed_may_repeat_what_a_sitemap_or_another_feed_lists() -> None:
    """https://developers.google.com/search/blog/2014/10/best-practices-for-xml-sitemaps-rssatom"""
    item = f"<item><link>{HOME}a</link><pubDate>Mon, 06 Jan 2020 10:00:00 GMT</pubDate></item>"
    feed, twice = (f"<rss version='2.0'><channel>{items}</channel></rss>".encode() for items in (item, item + item))
    assert lint(feed, urlset(A), feed, now=NOW).rules == {}
    assert lint(urlset(A), twice, now=NOW).rules == {"duplicate.loc": 1}


def test_rss_a_feed_without_items_is_no_fault() -> None:
    assert lint(b"<rss version='2.0'><channel></channel></rss>", now=NOW).rules == {}


def test_ours_a_source_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="none\\.xml"):
        lint(tmp_path / "none.xml")


def test_ours_what_is_no_sitemap_is_a_finding() -> None:
    assert lint(b"<html></html>").worst is Severity.ERROR


def test_ours_a_duplicate_names_both_places(tmp_path: Path) -> None:
    feed, one, two = tmp_path / "feed.xml", tmp_path / "one.xml", tmp_path / "two.xml"
    date = "<pubDate>Mon, 06 Jan 2020 10:00:00 GMT</pubDate>"
    feed.write_text(f"<rss version='2.0'><channel><item><link>{HOME}a</link>{date}</item></channel></rss>")
    one.write_bytes(urlset(B, A))
    two.write_bytes(urlset(A, A))
    report = lint(feed, one, two, now=NOW)  # the feed may repeat it
    assert [(finding.rule, finding.file, finding.line) for finding in report.findings] == [
        ("duplicate.across_files", str(two), 3),
        ("duplicate.loc", str(two), 4),
    ]
    assert f"entry 2 of {one}" in report.findings[0].sentence
    assert report.findings[1].sentence.endswith("as entry 1")


def test_ours_where_the_set_will_be_is_one_address_or_a_directory(tmp_path: Path) -> None:
    path = tmp_path / "sitemap.xml"
    path.write_bytes(urlset(url(HOME + "docs/a")))
    assert rules(path, url=HOME + "docs/any.xml") == {}
    assert rules(path, url=HOME + "docs/") == {}
    assert rules(path, url=HOME + "blog/") == {"location.outside": 1}
    assert rules(path) == {}


def test_sitemaps_org_another_host_may_vouch() -> None:
    data = urlset(*(url(f"https://{host}.example/{name}") for host in ("shop", "blog") for name in "ab"))
    asked: list[str] = []

    def robots(address: str) -> bytes | None:
        asked.append(address)
        return b"Sitemap: " + HOME.encode() + b"sitemap.xml" if "shop" in address else None

    address = HOME + "sitemap.xml"
    vouched = CrossSubmits(address, robots).vouched
    report = lint(data, url=address, now=NOW, vouched=vouched)
    assert report.rules == {"location.other_host": 2}
    assert [finding.line for finding in report.findings] == [5, 6]
    assert len(asked) == 2


def test_sitemaps_org_another_port_or_scheme_of_this_host_is_outside() -> None:
    data = urlset(url("http://example.com/a"), url("https://example.com:8443/a"), url("https://example.com:443/a"))
    assert rules(data, url=HOME + "sitemap.xml") == {"location.outside": 2}


def test_google_only_the_strongest_suspicion_about_dates_is_said() -> None:
    now = NOW.isoformat()
    assert rules(dated(*[now] * 30)) == {"lastmod.all_equal": 1}
    assert rules(dated(*[now] * 28, *stamps(timedelta(minutes=3), 2))) == {"lastmod.build_stamp": 1}
    assert rules(dated(*stamps(timedelta(minutes=3), 30))) == {"lastmod.churn": 1}
    assert rules(dated(*["2024-06-15"] * 20, *["2024-06-14"] * 2)) == {"lastmod.churn": 1}
    assert rules(dated(*["2024-06-14"] * 20, *["2024-06-13"] * 2)) == {}


def test_google_a_news_sitemap_changes_within_a_day() -> None:
    articles = [
        article(str(number), date=stamp, more="").replace("</loc>", f"</loc><lastmod>{stamp}</lastmod>")
        for number, stamp in enumerate(stamps(timedelta(minutes=3), 30))
    ]
    assert rules(news(*articles)) == {}


@pytest.mark.parametrize(
    ("text", "future"),
    [
        ("2024-06-15T12:04:59Z", False),
        ("2024-06-15T12:05:01Z", True),
        ("2024-06-16T01:30:00+14:00", False),
        ("2024-06-16", False),
        ("2024-06-17", True),
        ("2024-06-15T01:00:00-13:00", True),
        ("9999-12-31", True),
    ],
)
def test_google_a_date_is_in_the_future_when_it_is_so_everywhere(text: str, future: bool) -> None:
    assert rules(dated("2024-05-01", text)) == ({"lastmod.future": 1} if future else {})


def test_google_variants_are_compared_over_all_files() -> None:
    english, german = variants(("en", EN_DE)), variants(("de", EN_DE))
    assert rules(english, german) == {}
    assert rules(english) == {"hreflang.unlisted": 1}
    assert rules(english, urlset(url(HOME + "de"))) == {"hreflang.not_mutual": 1}
    truncated = lint(english, urlset(A).removesuffix(b"</urlset>\n"), now=NOW)
    assert truncated.rules == {"sitemap.truncated": 1}
    assert "a file could not be read to the end" in truncated.not_checked[0]


def test_google_a_page_that_only_some_name_back() -> None:
    more = EN_DE | {"fr": HOME + "fr"}
    report = lint(variants(("en", more), ("de", EN_DE), ("fr", more)), now=NOW)
    assert [(finding.rule, finding.line) for finding in report.findings] == [("hreflang.not_mutual", 5)]
    assert "de' does not list" in report.findings[0].sentence


def test_rfc3986_variants_are_compared_in_one_form() -> None:
    odd = {"en": "HTTPS://EXAMPLE.COM/%65n", "de": HOME + "./de", "x-default": HOME + "en"}
    assert rules(variants(("en", odd)), variants(("de", EN_DE))) == {}


def test_ours_many_duplicates_stay_within_bounds() -> None:
    report = lint(many(3_000), many(3_000), many(3_000), now=NOW)
    assert report.rules == {"duplicate.across_files": 6_000}
    assert len(report.findings) == 2 * 21


def test_ours_secrets_are_not_quoted() -> None:
    report = lint(urlset(url("https://me:secret@example.com/"), url("https://me:secret@example.com/")), now=NOW)
    assert report.findings
    assert not [finding for finding in report.findings if "secret" in finding.sentence]


PATHS = st.text("abcé/?&<'\"", min_size=1, max_size=8).map(lambda text: HOME + "p/" + text)
WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), min_size=1, max_size=20).filter(
    str.strip
)
VIDEOS = st.builds(
    Video,
    thumbnail_loc=st.just(HOME + "t.jpg"),
    title=WORDS,
    description=WORDS,
    content_loc=st.just(HOME + "v.mp4"),
    duration=st.none() | st.integers(1, 28_800),
    rating=st.none() | st.sampled_from([0.0, 2.5, 5.0]),
    view_count=st.none() | st.integers(0, 10**9),
    live=st.none() | st.booleans(),
    restriction=st.none() | st.just(("allow", "DE AT")),
    tags=st.lists(WORDS, max_size=3).map(tuple),
)
ENTRIES = st.builds(
    Entry,
    PATHS,
    st.sampled_from(["", "2024-05-01", "2024-06-14T10:00:00+02:00", "2024-02-29T00:00:00.5Z"]),
    images=st.lists(st.builds(Image, PATHS), max_size=2).map(tuple),
    videos=st.lists(VIDEOS, max_size=1).map(tuple),
    news=st.none() | st.builds(News, WORDS, st.sampled_from(["en", "zh-cn"]), st.just("2024-06-15"), WORDS),
)


def with_variants(entries: list[Entry]) -> Iterator[Entry]:
    """The first two entries are variants of each other."""
    from msgspec.structs import replace

    pair = entries[:2]
    links = [Alternate(code, entry.loc) for code, entry in zip(("en", "x-default"), pair, strict=False)]
    for entry in pair:
        yield replace(entry, alternates=tuple(links))
    yield from entries[2:]


@pytest.mark.thorough
@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(ENTRIES, min_size=1, max_size=6, unique_by=lambda entry: normal_form(entry.loc)), st.booleans())
def test_ours_what_we_write_is_clean(tmp_path: Path, entries: list[Entry], gzip: bool) -> None:
    address = HOME + "sitemap.xml"
    with SitemapWriter(Directory(tmp_path), address, WriterOptions(gzip=gzip)) as writer:
        for entry in with_variants(entries):
            writer.add(entry)
        published = writer.finish()
    report = lint(tmp_path / published.url.removeprefix(HOME), url=published.url, now=NOW)
    # The one thing that may be said: a caller's URL that is not in ASCII is written as it is.
    abroad = sum(not entry.loc.isascii() for entry in entries)
    assert report.rules == ({"sitemap.loc_not_ascii": abroad} if abroad else {})
    assert report.entries == len(entries)


@pytest.mark.parametrize(("most", "kept"), [(20, 20), (3, 3), (0, 30)])
def test_ours_as_many_findings_of_a_rule_are_told_as_are_wanted(most: int, kept: int) -> None:
    lines = [f"https://example.com/{number}#top" for number in range(15)] * 2 + ["nothing"] * 30
    limits = TreeLimits(read=ReadLimits(max_findings=most))
    report = lint("\n".join(lines).encode(), url="https://example.com/sitemap.txt", limits=limits)
    told = Counter(finding.rule for finding in report.findings if finding.line)
    again = min(kept, 15)
    assert told == {"sitemap.text_line": kept, "sitemap.loc_fragment": kept, "duplicate.loc": again}
    assert report.rules == {"sitemap.text_line": 30, "sitemap.loc_fragment": 30, "duplicate.loc": 15}
