"""What may be written: each fault is found, named by a rule, and all of them at once."""

from typing import Any

import msgspec
import pytest
from entries import entries
from hypothesis import given, settings
from hypothesis import strategies as st

from sitemap import (
    RULES,
    Alternate,
    Entry,
    Image,
    News,
    Video,
    alternate_fault,
    entry_fault,
    image_fault,
    news_fault,
    video_fault,
)
from sitemap.validation import entry_faults

HERE = "https://example.com/docs/"
LOC = "https://example.com/docs/page"
VIDEO = Video("https://e.com/t.jpg", "t", "d", "https://e.com/v.mp4")
NEWS = News("The Paper", "en", "2026-11-05", "Boats")


def video(**changes: Any) -> Entry:
    return Entry(LOC, videos=(msgspec.structs.replace(VIDEO, **changes),))


def news(**changes: Any) -> Entry:
    return Entry(LOC, news=msgspec.structs.replace(NEWS, **changes))


FAULTS: list[tuple[str, Entry]] = [
    ("sitemap.loc_missing", Entry("")),
    ("sitemap.loc_relative", Entry("/docs/a/relative/one")),
    ("sitemap.loc_relative", Entry("https:///docs/without/a/host")),
    ("sitemap.loc_invalid", Entry("ftp://example.com/docs/a")),
    ("sitemap.loc_invalid", Entry("https://example.com:port/docs/")),
    ("sitemap.loc_invalid", Entry("https://[::1/docs/aaaaaaaaaaa")),
    ("sitemap.loc_credentials", Entry("https://me:secret@example.com/docs/a")),
    ("sitemap.loc_too_long", Entry(LOC.ljust(2_048, "x"))),
    ("sitemap.loc_too_long", Entry(LOC + "[" * 700)),  # as it will be written
    ("sitemap.loc_encoding", Entry(LOC + " b")),
    ("sitemap.loc_encoding", Entry(LOC + "\u2028")),
    ("location.outside", Entry("https://example.com/other")),
    ("location.outside", Entry("http://example.com/docs/page")),
    ("location.outside", Entry("https://example.com/docs/../page")),
    ("lastmod.invalid", Entry(LOC, "2024-02-30")),
    ("lastmod.invalid", Entry(LOC, "yesterday")),
    ("lastmod.form", Entry(LOC, "2024")),
    ("lastmod.form", Entry(LOC, "2024-02-03T10:00Z")),
    ("changefreq.invalid", Entry(LOC, changefreq="sometimes")),
    ("priority.invalid", Entry(LOC, priority=1.1)),
    ("priority.invalid", Entry(LOC, priority=float("nan"))),
    ("image.too_many", Entry(LOC, images=(Image("https://e.com/i.png"),) * 1_001)),
    ("image.loc_missing", Entry(LOC, images=(Image(""),))),
    ("image.loc_missing", Entry(LOC, images=(Image("data:image/png;base64,xxxx"),))),
    ("image.loc_missing", Entry(LOC, images=(Image("ftp://e.com/i.png"),))),
    ("hreflang.code", Entry(LOC, alternates=(Alternate("en_GB", LOC),))),
    ("hreflang.code", Entry(LOC, alternates=(Alternate("", LOC),))),
    ("hreflang.url", Entry(LOC, alternates=(Alternate("en", "/en"),))),
    ("video.missing_tag", video(thumbnail_loc="")),
    ("video.missing_tag", video(title=" \x00")),
    ("video.missing_tag", video(description="")),
    ("video.missing_tag", video(content_loc="")),
    ("video.url", video(thumbnail_loc="t.jpg")),
    ("video.url", video(player_loc="https://e.com/a b")),
    ("video.is_page", video(content_loc=LOC)),
    ("video.is_page", video(player_loc=LOC)),
    ("video.title_too_long", video(title="x" * 101)),
    ("video.description_too_long", video(description="x" * 2_049)),
    ("video.duration", video(duration=0)),
    ("video.duration", video(duration=28_801)),
    ("video.rating", video(rating=5.1)),
    ("video.rating", video(rating=float("nan"))),
    ("video.view_count", video(view_count=-1)),
    ("video.date", video(expiration_date="2026")),
    ("video.date", video(publication_date="soon")),
    ("video.restriction", video(restriction=("allow", "uk"))),
    ("video.restriction", video(restriction=("maybe", "GB"))),
    ("video.platform", video(platform=("deny", "web, tv"))),
    ("video.too_many_tags", video(tags=("x",) * 33)),
    ("video.uploader", video(uploader=("", ""))),
    ("video.uploader", video(uploader=("x" * 256, ""))),
    ("video.uploader", video(uploader=("Grill", "/users/grill"))),
    ("video.uploader", video(uploader=("Grill", "https://grill.example/"))),
    ("news.missing_tag", news(publication="")),
    ("news.missing_tag", news(language="")),
    ("news.missing_tag", news(publication_date="")),
    ("news.missing_tag", news(title="\x00\n")),
    ("news.date", news(publication_date="2026-11")),
    ("news.language", news(language="EN")),
    ("news.language", news(language="en-GB")),
]


@pytest.mark.parametrize(("rule", "entry"), FAULTS, ids=[f"{n}-{rule}" for n, (rule, _) in enumerate(FAULTS)])
def test_google_and_sitemaps_org_each_fault_has_its_rule(rule: str, entry: Entry) -> None:
    faults = list(entry_faults(entry, HERE))
    assert rule in {fault.rule for fault in faults}
    assert entry_fault(entry, HERE) == faults[0].sentence
    assert faults[0].sentence[0].islower()


def test_ours_every_rule_is_in_the_table() -> None:
    assert {rule for rule, _ in FAULTS} <= set(RULES)


@pytest.mark.parametrize(
    "entry",
    [
        Entry(LOC),
        Entry(LOC, "2026-11-05T10:00:00.5+01:00", "never", 0.0),
        Entry("HTTPS://EXAMPLE.com:443/docs/%7Epage?a b".replace(" ", "+")),
        Entry("https://example.com/docs/é"),
        Entry(LOC, images=(Image("http://cdn.example.net/i.png"),) * 1_000),
        Entry(LOC, alternates=(Alternate("x-default", "https://example.org/"), Alternate("zh-Hant-TW", LOC))),
        video(content_loc="", player_loc="https://e.com/p", duration=28_800, rating=0.0, tags=("x",) * 32),
        video(uploader=("Grill", "https://www.example.com/users/grill"), restriction=("deny", "")),
        news(language="zh-tw"),
        news(language="haw"),
    ],
)
def test_google_what_may_be_listed_has_no_fault(entry: Entry) -> None:
    assert list(entry_faults(entry, HERE)) == []
    assert entry_fault(entry, HERE) == ""


def test_ours_every_fault_is_found_not_only_the_first() -> None:
    bad = Video("t.jpg", "", "x" * 2_049, LOC, duration=0, rating=9.0, tags=("x",) * 33)
    entry = Entry(
        "/docs/relative", "2024", "sometimes", 2.0, (Image("a"), Image("b")), (bad,), (Alternate("?", "/"),),
        News("", "", "", ""),
    )  # fmt: skip
    rules = [fault.rule for fault in entry_faults(entry, HERE)]
    assert rules.count("image.loc_missing") == 2
    assert rules.count("news.missing_tag") == 4
    assert set(rules) == {
        "sitemap.loc_relative", "lastmod.form", "changefreq.invalid", "priority.invalid", "image.loc_missing",
        "video.url", "video.missing_tag", "video.description_too_long", "video.duration", "video.rating",
        "video.too_many_tags", "hreflang.code", "hreflang.url", "news.missing_tag",
    }  # fmt: skip


def test_ours_without_a_directory_any_http_url_may_be_listed_and_no_other() -> None:
    for loc in ("https://other.example/", "http://[::1]:8080/", "https://bücher.example/"):
        assert entry_fault(Entry(loc), "") == ""
    for loc in ("ftp://example.com/a", "/relative/path", "mailto:me@example.com", "https://me@example.com/"):
        assert entry_fault(Entry(loc), "")


def test_ours_the_parts_of_an_entry_are_judged_alone_too() -> None:
    assert image_fault(Image("https://e.com/i.png")) == ""
    assert "image:loc" in image_fault(Image("i.png"))
    assert alternate_fault(Alternate("en", LOC)) == ""
    assert "hreflang" in alternate_fault(Alternate("e n", LOC))
    assert video_fault(VIDEO, LOC) == ""
    assert "page itself" in video_fault(VIDEO, VIDEO.content_loc)
    assert news_fault(NEWS) == ""
    assert "title" in news_fault(msgspec.structs.replace(NEWS, title=""))


@given(entry=entries, loc=st.text(max_size=40) | st.just(LOC), lastmod=st.text(max_size=30))
@settings(max_examples=200)
def test_ours_the_short_way_and_the_long_way_agree(entry: Entry, loc: str, lastmod: str) -> None:
    for changed in (entry, Entry(loc), Entry(LOC, lastmod), msgspec.structs.replace(entry, loc=loc)):
        for directory in (HERE, ""):
            faults = list(entry_faults(changed, directory))
            assert entry_fault(changed, directory) == (faults[0].sentence if faults else "")
            with_a_hint = msgspec.structs.replace(changed, changefreq="daily")  # never takes the short way
            assert list(entry_faults(with_a_hint, directory)) == faults
