"""Owns the strategies that draw entries: any that the types hold and acceptance takes, ugly texts included."""

from datetime import UTC, timedelta, timezone
from typing import Any

from hypothesis import strategies as st

from sitemap import Alternate, Entry, Image, News, Video

_UGLY = st.sampled_from("&<>'\"\t\r\n\x00\x1f\x85\u2028\ufffe\ud800 ]-")
_CHARACTERS = st.one_of(_UGLY, st.characters(exclude_categories=()))
texts = st.text(_CHARACTERS, max_size=30)
words = texts.map(lambda text: "x" + text)  # never empty, whatever XML forbids
_PATH = st.characters(exclude_categories=("Z", "C"), exclude_characters="[]%#\\^`{|}\x7f")
urls = st.builds(
    lambda host, path, query: f"https://{host}/{path}{query}",
    st.sampled_from(["example.com", "www.example.com:8080", "xn--bcher-kva.example", "[::1]"]),
    st.text(_PATH, max_size=30),
    st.sampled_from(["", "?a=1&b=2", "?q=%C3%A9", "#part"]),
)
files = urls.map(lambda url: "https://cdn.example.net/" + url.split("/", 3)[3])  # never a page
_ZONES = st.integers(-12 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
moments = st.one_of(
    st.dates().map(lambda day: day.isoformat()),
    st.datetimes(timezones=st.one_of(st.just(UTC), _ZONES)).map(lambda moment: moment.isoformat()),
    st.datetimes().map(lambda moment: moment.isoformat() + "Z"),
)
flags = st.none() | st.booleans()
_tenths = st.integers(0, 50).map(lambda tenths: tenths / 10)

images = st.builds(Image, files)
alternates = st.builds(Alternate, st.sampled_from(["en", "de-CH", "zh-Hant-TW", "x-default"]), urls)


def _pairs(values: list[str]) -> st.SearchStrategy[Any]:
    return st.none() | st.tuples(st.sampled_from(["allow", "deny"]), st.sampled_from(values))


def _videos(content: bool) -> st.SearchStrategy[Video]:
    return st.builds(
        Video,
        thumbnail_loc=files,
        title=words,
        description=words,
        content_loc=files if content else st.just(""),
        player_loc=st.just("") | files if content else files,
        duration=st.none() | st.integers(1, 28_800),
        expiration_date=st.just("") | moments,
        rating=st.none() | _tenths,
        view_count=st.none() | st.integers(0),
        publication_date=st.just("") | moments,
        family_friendly=flags,
        restriction=_pairs(["DE", "IE GB US"]),
        platform=_pairs(["web", "mobile tv"]),
        requires_subscription=flags,
        uploader=st.none() | st.tuples(words, st.just("")),
        live=flags,
        tags=st.lists(words, max_size=3).map(tuple),
    )


videos = st.one_of(_videos(True), _videos(False))
news = st.builds(News, words, st.sampled_from(["en", "deu", "zh-cn"]), moments, words)
entries = st.builds(
    Entry,
    urls,
    st.just("") | moments,
    st.sampled_from(["", "daily", "never"]),
    st.none() | _tenths.map(lambda value: value / 5),
    st.lists(images, max_size=2).map(tuple),
    st.lists(videos, max_size=2).map(tuple),
    st.lists(alternates, max_size=3).map(tuple),
    st.none() | news,
    texts,
    texts,
)
