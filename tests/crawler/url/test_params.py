"""Values of parameters that look like secrets are masked, and the references of one document are bounded."""

import re
from typing import Any

import pytest

from crawler.model import Url
from crawler.url.normalize import MAX_FETCHED_LENGTH, join_url
from crawler.url.resolve import UrlResolver
from crawler.url.secrets import mask_private, mask_secrets

SITE = "https://h.test/a"


def bare(text: str) -> str:
    """A masked text without the digests of its values."""
    return re.sub(r"(?<=\*\*\*)[0-9a-f]{6}\b", "", text)


@pytest.mark.parametrize(
    ("value", "is_masked"),
    [
        ("dQw4w9WgXcQ7Zk2mP0aB", True),  # twenty characters, a change of kind at least every five
        ("dQw4w9WgXcQ7Zk2mP0a", False),  # nineteen
        ("a1bcdea1bcdea1bcdea1", True),
        ("abcd1efgh2ijklmnopqr", True),  # four changes in twenty characters
        ("abcd1efgh2ijklmnopqrs", False),
        ("abcdefghijklmnopqrst", False),  # a long word
        ("Abcdefghijklmnopqrst", False),
        ("abcdefghij0123456789", False),  # one change in twenty characters
        ("2026-11-24T10:00:00+01:00", False),
    ],
)
def test_ours_a_long_value_that_looks_random_is_masked_under_any_name(value: str, is_masked: bool) -> None:
    assert bare(mask_secrets(f"{SITE}?x={value}")) == (f"{SITE}?x=***" if is_masked else f"{SITE}?x={value}")


@pytest.mark.parametrize("name", ["token", "accessToken", "PHPSESSIONID", "api_key", "X-Amz-Signature", "auth", "code"])
def test_ours_any_value_of_a_parameter_with_such_a_name_is_masked(name: str) -> None:
    assert bare(mask_secrets(f"{SITE}?page=2&{name}=v&z=1")) == f"{SITE}?page=2&{name}=***&z=1"


def test_ours_a_query_alone_is_masked_too() -> None:
    assert bare(mask_secrets("page=2&token=v")) == "page=2&token=***"


@pytest.mark.parametrize("name", ["page", "q", "sort", "keyboard", "author", "encode"])
def test_ours_other_parameters_stay_as_they_are(name: str) -> None:
    assert mask_secrets(f"{SITE}?{name}=v") == f"{SITE}?{name}=v"


@pytest.mark.parametrize("line", ["token=v in a line", "one; token=v", "no pair", ""])
def test_ours_text_without_parameters_stays_as_it_is(line: str) -> None:
    assert mask_secrets(line) == line


def test_ours_references_of_a_document_that_fill_the_bound_exactly_are_all_resolved() -> None:
    hrefs = ["/bb", "/cc", "/dd"]
    urls = [f"https://h.test{href}" for href in hrefs]
    size = sum(map(len, urls))
    assert UrlResolver(document_bytes=size).resolve_all(SITE, hrefs) == urls
    assert UrlResolver(document_bytes=size - 1).resolve_all(SITE, hrefs) == [*urls[:2], None]
    assert UrlResolver(document_bytes=size - len(urls[2]) - 1).resolve_all(SITE, hrefs) == [urls[0], None, None]


def test_ours_five_urls_of_a_document_that_are_too_long_to_be_fetched_are_named_and_the_others_refused() -> None:
    resolver = UrlResolver()
    hrefs = [f"/{number}{'x' * MAX_FETCHED_LENGTH}" for number in range(7)]
    urls = resolver.resolve_all(SITE, [*hrefs, "/short"])
    assert [url is not None for url in urls] == [*[True] * 5, *[False] * 2, True]
    assert resolver.refused == {"url.too_long": 7}
    longest = f"/{'y' * (MAX_FETCHED_LENGTH - len('https://h.test/'))}"
    assert resolver.resolve(SITE, longest) == f"https://h.test{longest}"
    assert resolver.resolve(SITE, f"{longest}y") is None
    resolver.begin()
    assert resolver.resolve(SITE, f"{longest}y") == f"https://h.test{longest}y"
    assert resolver.refused == {"url.too_long": 9}


def test_ours_each_document_has_a_bound_of_its_own_and_says_when_it_is_over() -> None:
    resolver = UrlResolver(document_bytes=40)
    url = "https://h.test/0123"
    for _ in range(2):
        assert not resolver.is_over
        assert resolver.resolve_all(SITE, ["/0123", "/0123"]) == [url, url]
        assert not resolver.is_over
        assert resolver.resolve(SITE, "/0123") is None
        assert resolver.is_over
        assert resolver.resolve(SITE, "tel:1") is None
        resolver.begin()
    whole = resolver.keeping_all
    assert whole.resolve_all(SITE, ["/0123"] * 3) == [url, url, None]
    assert whole.is_over
    assert not resolver.is_over
    resolver.begin()
    assert not whole.is_over
    assert whole.document_bytes == 40


@pytest.mark.parametrize("depth", [1, 62, 63, 64, 100])
def test_rfc3986_steps_up_from_a_deep_directory_end_at_its_origin(depth: int) -> None:
    base = "https://h.test/" + "d/" * depth
    for up in (0, 1, depth - 1, depth, depth + 1):
        above = "https://h.test/" + "d/" * max(0, depth - up)
        assert UrlResolver().resolve_all(base, [f"{'../' * up}x", f"{'../' * up}"]) == [f"{above}x", above]


@pytest.mark.parametrize(
    "base", ["https://h.test//", "https://h.test/a//", "https://h.test/a//b/", "https://h.test///"]
)
def test_rfc3986_a_step_up_leaves_one_segment_though_it_is_empty(base: str) -> None:
    hrefs = ["../x", "../../x", "../../../x", "../", "x"]
    assert UrlResolver().resolve_all(base, hrefs) == [join_url(base, href) for href in hrefs]


def test_ours_a_reference_below_a_directory_that_is_too_long_is_refused_without_joining_it() -> None:
    def refused(directory: str, hrefs: list[str]) -> int:
        resolver = UrlResolver()
        found = resolver.resolve_all(f"https://h.test/{directory}", hrefs)
        expected = [join_url(f"https://h.test/{directory}", href) for href in hrefs]
        expected = [url if len(url) <= MAX_FETCHED_LENGTH else None for url in expected]
        assert found[10:] == expected[10:]  # the first few that are too long are kept for the report
        return resolver.refused["url.too_long"]

    below = [f"{start}{number}" for number in range(30) for start in ("a", "?c=", "b/")]
    above = ["/top", "../up", "https://h.test/other", "//h.test/x", "./../x", "#part"]
    assert refused("y" * 9_000 + "/", [*below, *above]) > len(below)
    assert refused("./" * 9_000, [*below, *above]) == 0  # the URL is short
    assert refused("a/../" * 3_000, [*below, *above]) == 0
    assert refused(f"x;utm_source={'y' * 9_000}/", below) == 0
    assert refused("y" * 100 + "/", [*below, *above]) == 0


def test_ours_references_below_a_directory_of_60_kb_are_little_work(monkeypatch: pytest.MonkeyPatch) -> None:
    joined = 0

    def join(*words: Any) -> Url:
        nonlocal joined
        joined += 1
        return join_url(*words)

    monkeypatch.setattr("crawler.url.resolve.join_url", join)
    UrlResolver().resolve_all(f"https://h.test/{'y' * 60_000}/", [f"a{number}" for number in range(2_000)])
    assert joined < 10  # each takes a millisecond


@pytest.mark.parametrize(
    "url",
    [
        f"{SITE}?email=joe%40example.com",
        f"{SITE}?u=joe.doe@example.com&page=2",
        f"{SITE}/unsubscribe/joe.doe@example.com",
        f"{SITE}/unsubscribe/joe.doe%2Bnews%40mail.example.co.uk/now",
        f"{SITE}?phone=0170123456",
        f"{SITE}?call=%2B491701234567",
        f"{SITE}/call/+49-170-1234567",
        f"{SITE}/tel:+491701234567",
    ],
)
def test_ours_personal_data_is_masked_and_two_values_stay_apart(url: str) -> None:
    masked = mask_private(url)
    assert "joe" not in masked
    assert "170" not in masked
    assert "***" in masked
    other = url.replace("joe", "ann").replace("170", "171")
    assert mask_private(other) != masked
    assert bare(mask_private(other)) == bare(masked)
    assert mask_private(masked) == masked


@pytest.mark.parametrize(
    "url",
    [
        f"{SITE}/@joe",
        f"{SITE}/img/logo@2x.png",
        f"{SITE}/npm/react@18.2.0/index.min.js",
        f"{SITE}/isbn/9783161484100",
        f"{SITE}/c++/20",
        f"{SITE}?q=c%2B%2B20",
    ],
)
def test_ours_names_that_resemble_personal_data_stay(url: str) -> None:
    assert mask_private(url) == url
