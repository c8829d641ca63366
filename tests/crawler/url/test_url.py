from random import Random
from urllib.parse import unquote_to_bytes

import ada_url
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from steps import steps

from crawler.url.normalize import (
    DEFAULT_PARAMS,
    MAX_INPUT,
    InvalidUrl,
    host_of,
    join_url,
    normalize_url,
    origin_of,
    path_and_query,
    path_of,
)
from crawler.url.params import UrlParams
from crawler.url.resolve import UrlResolver

WHATWG = [
    ("http://example.com", "http://example.com/"),
    ("  \t\nHTTP://Example.COM/a\x1f ", "http://example.com/a"),
    ("ht\ntp://exa\tmple.com/a\r\nb", "http://example.com/ab"),
    ("http:\\\\evil.test\\x\\y", "http://evil.test/x/y"),
    ("http:/example.com/x", "http://example.com/x"),
    ("https:example.com", "https://example.com/"),
    ("https:////example.com//x", "https://example.com//x"),
    ("http://0x7f.1/", "http://127.0.0.1/"),
    ("http://2130706433/", "http://127.0.0.1/"),
    ("http://017700000001/", "http://127.0.0.1/"),
    ("http://127.1./", "http://127.0.0.1/"),
    ("http://[::FFFF:127.0.0.1]/", "http://[::ffff:7f00:1]/"),
    ("http://[1:0::0:8]:8080/", "http://[1::8]:8080/"),
    ("http://%65xample.com/", "http://example.com/"),
    ("http://bücher.example/", "http://xn--bcher-kva.example/"),
    ("http://BÜCHER.example/", "http://xn--bcher-kva.example/"),
    ("http://例え。テスト/", "http://xn--r8jz45g.xn--zckzah/"),
    ("http://faß.de/", "http://xn--fa-hia.de/"),
    ("http://example.com/ä", "http://example.com/%C3%A4"),
    ("http://example.com/a/./b/../c", "http://example.com/a/c"),
    ("http://example.com/a/%2e%2E/b", "http://example.com/b"),
    ("http://example.com/../..", "http://example.com/"),
    ("http://example.com:80/", "http://example.com/"),
    ("http://example.com:00443/", "http://example.com:443/"),
    ("https://example.com:443/", "https://example.com/"),
    ("https://example.com:80/", "https://example.com:80/"),
    ("http://example.com:/", "http://example.com/"),
]


@pytest.mark.parametrize(("text", "expected"), WHATWG)
def test_whatwg_parsing(text: str, expected: str) -> None:
    assert normalize_url(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        *("", "/x", "example.com/x", "//example.com/", "http://", "http:///", "https://?x", "http://:80/"),
        *("http://example.com:65536/", "http://example.com:8a/", "http://[::1/", "http://[1::2::3]/"),
        *("http://256.1.1.1/", "http://1.2.3.4.5/", "http://a b/", "http://a%00b/", "http://a<b/", "http://a^b/"),
        *("http://.../", 'http://a"b/', "http://a{b}/", "http://a`b/", "http://0x7f.0x100000000../"),
    ],
)
def test_whatwg_what_is_no_url_is_refused(text: str) -> None:
    with pytest.raises(InvalidUrl) as caught:
        normalize_url(text)
    assert caught.value.code == "url.invalid"


@pytest.mark.parametrize(
    "text",
    [
        "ftp://example.com/",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "java\nscript:1",
        "mailto:a@b.c",
        "tel:1",
        "data:text/html,x",
        "data:image/png;base64," + "A" * 100_000,
        "ws://example.com/",
        "about:blank",
        "blob:x",
    ],
)
def test_ours_other_schemes_are_refused(text: str) -> None:
    with pytest.raises(InvalidUrl) as caught:
        normalize_url(text)
    assert caught.value.code == "url.scheme"
    assert len(caught.value.message) < 200


OURS = [
    ("http://example.com/#top", "http://example.com/"),
    ("http://example.com/a?#", "http://example.com/a"),
    ("http://example.com/a?", "http://example.com/a"),
    ("http://user:secret@example.com/", "http://example.com/"),
    ("http://user%40x:p%2F@example.com:81/", "http://example.com:81/"),
    ("http://example.com.:80/", "http://example.com/"),
    ("http://example.com..../", "http://example.com/"),
    ("http://0x7f.1../", "http://127.0.0.1/"),
    ("http://example.com/%7euser/%41", "http://example.com/~user/A"),
    ("http://example.com/a%2fb%3f", "http://example.com/a%2Fb%3F"),
    ("http://example.com/%c3%a9", "http://example.com/%C3%A9"),
    ("http://example.com/%252e", "http://example.com/%252e"),
    ("http://example.com/100%", "http://example.com/100%"),
    ("http://example.com/%%34%31", "http://example.com/%%341"),
    ("http://example.com/%zz?q=%u0416%7e", "http://example.com/%zz?q=%u0416~"),
    ('http://example.com/"<>^`{|}[]', "http://example.com/%22%3C%3E%5E%60%7B%7C%7D%5B%5D"),
    ('http://example.com/?"<>\\^`{|}[]', "http://example.com/?%22%3C%3E%5C%5E%60%7B%7C%7D%5B%5D"),
    ("http://example.com/a b?c d", "http://example.com/a%20b?c%20d"),
    ("http://example.com/a//b///", "http://example.com/a//b///"),
    ("http://example.com/?b=2&a=1&b=1", "http://example.com/?b=2&a=1&b=1"),
    ("http://example.com/?a&&=&b=", "http://example.com/?a&&=&b="),
    ("http://example.com/?q=a+b%2B", "http://example.com/?q=a+b%2B"),
    ("http://example.com/\ud800x", "http://example.com/%EF%BF%BDx"),
    ("http://example.com/\ud83d\ude00", "http://example.com/%F0%9F%98%80"),
]


@pytest.mark.parametrize(("text", "expected"), OURS)
def test_ours_canonical_form(text: str, expected: str) -> None:
    assert normalize_url(text) == expected


def test_whatwg_url_a_percent_sign_that_begins_no_escape_stays_and_no_new_escape_comes_about() -> None:
    for seed in range(3_000):
        text = f"http://h.test/{''.join(Random(seed).choices('%%%471aEu&;', k=9))}"
        url = normalize_url(text)
        assert normalize_url(url) == url, text
        assert unquote_to_bytes(url) == unquote_to_bytes(ada_url.normalize_url(text)), text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("http://h.test/?utm_source=x&utm_Medium=y", "http://h.test/"),
        ("http://h.test/?a=1&gclid=2&b=3&fbclid", "http://h.test/?a=1&b=3"),
        ("http://h.test/?utm%5Fsource=x&a", "http://h.test/?a"),
        ("http://h.test/?PHPSESSID=1&x", "http://h.test/?x"),
        ("http://h.test/a;jsessionid=0A?b", "http://h.test/a?b"),
        ("http://h.test/a;JSESSIONID=0A/b;v=1", "http://h.test/a/b;v=1"),
        ("http://h.test/a;jsessionid=0A;jsessionid=0B", "http://h.test/a"),
        ("http://h.test/a/..;jsessionid=1/b", "http://h.test/b"),
        ("http://h.test/?xutm_source=1&agclid=2", "http://h.test/?xutm_source=1&agclid=2"),
        ("http://h.test/?q=utm_source", "http://h.test/?q=utm_source"),
        ("http://h.test/?sid=1&ref=2", "http://h.test/?sid=1&ref=2"),
    ],
)
def test_ours_tracking_parameters_are_dropped(text: str, expected: str) -> None:
    assert normalize_url(text) == expected


def test_ours_params_can_be_chosen_and_keep_wins() -> None:
    text = "http://h.test/a;v=1?x=1&y=2&x2=3&gclid=4"
    assert normalize_url(text, UrlParams(drop=("x*", "v"))) == "http://h.test/a?y=2&gclid=4"
    assert normalize_url(text, UrlParams(drop=("*",), keep=("Y", "v"))) == "http://h.test/a;v=1?y=2"
    assert normalize_url(text, UrlParams(drop=())) == text


RFC3986_5_4 = [
    # normal, 5.4.1
    *(("g", "b/c/g"), ("./g", "b/c/g"), ("g/", "b/c/g/"), ("/g", "g"), ("?y", "b/c/d;p?y"), ("g?y", "b/c/g?y")),
    *(("#s", "b/c/d;p?q"), ("g#s", "b/c/g"), ("g?y#s", "b/c/g?y"), (";x", "b/c/;x"), ("g;x", "b/c/g;x")),
    *(("g;x?y#s", "b/c/g;x?y"), ("", "b/c/d;p?q"), (".", "b/c/"), ("./", "b/c/"), ("..", "b/"), ("../", "b/")),
    *(("../g", "b/g"), ("../..", ""), ("../../", ""), ("../../g", "g")),
    # abnormal, 5.4.2
    *(("../../../g", "g"), ("../../../../g", "g"), ("/./g", "g"), ("/../g", "g"), ("g.", "b/c/g.")),
    *((".g", "b/c/.g"), ("g..", "b/c/g.."), ("..g", "b/c/..g"), ("./../g", "b/g"), ("./g/.", "b/c/g/")),
    *(("g/./h", "b/c/g/h"), ("g/../h", "b/c/h"), ("g;x=1/./y", "b/c/g;x=1/y"), ("g;x=1/../y", "b/c/y")),
    *(("g?y/./x", "b/c/g?y/./x"), ("g?y/../x", "b/c/g?y/../x"), ("g#s/../x", "b/c/g"), ("http:g", "b/c/g")),
]


@pytest.mark.parametrize(("href", "expected"), RFC3986_5_4)
def test_rfc3986_reference_resolution(href: str, expected: str) -> None:
    base = "http://a/b/c/d;p?q"
    assert join_url(base, href) == f"http://a/{expected}"
    assert UrlResolver().resolve(base, href) == f"http://a/{expected}"


@pytest.mark.parametrize(
    ("href", "expected"),
    [
        ("\\\\evil.test\\x", "https://evil.test/x"),
        ("/\\evil.test", "https://evil.test/"),
        ("/\t/evil.test", "https://evil.test/"),
        ("\n \x01 ../x\ty", "https://h.test/xy"),
        ("//other.test", "https://other.test/"),
        ("HTTPS:x?y", "https://h.test/a/x?y"),
        ("https:?y", "https://h.test/a/b?y"),
        ("h\nttps:x", "https://h.test/a/x"),
        ("http:x", "http://x/"),
        ("é", "https://h.test/a/%C3%A9"),
        ("a:b", None),
        ("//[", None),
        ("https://h.test:x", None),
    ],
)
def test_whatwg_references(href: str, expected: str | None) -> None:
    resolver = UrlResolver()
    base = "https://h.test/a/b?q=/c/d"
    assert resolver.resolve(base, href) == expected
    assert resolver.resolve(base, href) == expected
    refusal = resolver.refusal(base, href)
    assert (refusal is None) == (expected is not None)
    assert sum(resolver.refused.values()) == (expected is None)


def test_whatwg_query_is_in_the_encoding_of_the_page() -> None:
    base = "http://h.test/"
    assert join_url(base, "я?я=я#я", encoding="windows-1251") == "http://h.test/%D1%8F?%FF=%FF"
    assert join_url(base, "?я&é", encoding="windows-1251") == "http://h.test/?%FF&%26%23233%3B"
    assert join_url(base, "?é", encoding="utf-16le") == "http://h.test/?%C3%A9"
    assert join_url(base, "?é", encoding="no-such-encoding") == "http://h.test/?%C3%A9"
    assert join_url(base, "?é", encoding="x-user-defined") == "http://h.test/?%C3%A9"
    assert join_url(base, "?é", encoding="iso-2022-kr") == "http://h.test/?%C3%A9"
    assert join_url(base, "é?a?é=яb#é?é", encoding="windows-1251") == ("http://h.test/%C3%A9?a?%26%23233%3B=%FFb")
    assert join_url(base, "?一二", encoding="gbk") == "http://h.test/?%D2%BB%B6%FE"
    assert join_url(base, "?é") == "http://h.test/?%C3%A9"
    resolver = UrlResolver()
    assert resolver.resolve(base, "?é", "iso-8859-1") == "http://h.test/?%E9"
    assert resolver.resolve(base, "?é") == "http://h.test/?%C3%A9"


def test_ours_parts_of_a_canonical_url() -> None:
    plain = normalize_url("http://h.test")
    assert (origin_of(plain), host_of(plain), path_of(plain)) == ("http://h.test", "h.test", "/")
    full = normalize_url("https://[::1]:81/a/b?c=/d")
    assert (origin_of(full), host_of(full), path_of(full)) == ("https://[::1]:81", "[::1]", "/a/b")
    assert path_and_query(full) == "/a/b?c=/d"
    assert host_of(normalize_url("https://h.test:8443/?x")) == "h.test"
    assert path_of(normalize_url("http://h/?x")) == "/"
    assert path_of(normalize_url("https://h/a?x?y")) == "/a"
    assert (host_of(normalize_url("http://a/b")), origin_of(normalize_url("http://a/b"))) == ("a", "http://a")
    assert host_of(normalize_url("http://[::1]/]")) == "[::1]"


def test_ours_too_long_a_text_is_not_parsed() -> None:
    with pytest.raises(InvalidUrl) as caught:
        normalize_url("http://h.test/" + "a" * 10_000_000)
    assert caught.value.code == "url.too_long"
    assert "10,000,014" in caught.value.message
    assert len(normalize_url("http://h.test/" + "a" * 10_000)) == 10_014


def test_ours_a_refusal_shows_no_password() -> None:
    with pytest.raises(InvalidUrl) as caught:
        normalize_url("http://user:secret@h.test:99999/")
    assert "secret" not in caught.value.message
    assert "h.test" in caught.value.message


def test_ours_resolver_keeps_the_answers_of_origins_apart() -> None:
    resolver = UrlResolver()
    origins = ["https://a.test", "https://b.test", "http://a.test", "https://a.test:8443", "http://a", "http://b"]
    for _ in range(2):
        for origin in origins:
            for where in ("/", "/d/e?f=/g/"):
                found = resolver.resolve_all(origin + where, ["/x", "/x?y", "//c.test/", "z"])
                scheme, below = origin.partition("//")[0], "/d" * (where != "/")
                assert found == [f"{origin}/x", f"{origin}/x?y", f"{scheme}//c.test/", f"{origin}{below}/z"]


@pytest.mark.parametrize(
    ("start", "code"),
    [
        ("http://h.test/", "url.too_long"),
        ("https://h.test/", "url.too_long"),
        ("HTTPS://h.test/", "url.too_long"),
        ("//h.test/", "url.too_long"),
        ("data:", "url.scheme"),
        ("javascript:", "url.scheme"),
    ],
)
def test_ours_a_text_that_is_too_long_is_refused_by_its_scheme_if_that_is_no_web_scheme(start: str, code: str) -> None:
    longest = start + "a" * (MAX_INPUT - len(start))
    with pytest.raises(InvalidUrl) as caught:
        join_url("http://h.test/", f"{longest}a")
    assert caught.value.code == code
    if code == "url.too_long":
        assert f"a URL of {MAX_INPUT + 1:,} characters is too long: " in caught.value.message
        assert len(join_url("http://h.test/", longest)) >= MAX_INPUT


@pytest.mark.parametrize("slashes", ["//", "\\\\", "/\\"])
@pytest.mark.parametrize(
    "userinfo", ["user:secret", "secret", "user:secret@secret", "user:" + "secret" * 100, "@secret", "a" * 500]
)
def test_whatwg_a_refusal_shows_nothing_before_the_last_at_sign_of_the_host(slashes: str, userinfo: str) -> None:
    with pytest.raises(InvalidUrl) as caught:
        normalize_url(f"http:{slashes}{userinfo}@h.test:99999/a@b")
    assert caught.value.message == "not a URL: 'http://***@h.test:99999/a@b'"


def test_ours_a_refusal_shows_the_start_of_a_long_text() -> None:
    start = "http://h.test:99999/"
    for length, shown in ((100, 100), (101, 100), (5_000, 100)):
        text = start + "a" * (length - len(start))
        with pytest.raises(InvalidUrl) as caught:
            normalize_url(text)
        assert caught.value.message == f"not a URL: {text[:shown] + '…' * (length > shown)!a}"
    with pytest.raises(InvalidUrl) as caught:
        join_url("http://h.test/", "//[")
    assert caught.value.message == "not a URL: '//[' in 'http://h.test/'"


def test_ours_resolver_depends_on_the_directory_only_where_it_must() -> None:
    resolver = UrlResolver()
    for base in ("https://h.test/a/1", "https://h.test/b/2", "https://h.test/a/3", "http://h.test/a/1"):
        for href in ("x", "/x", "//g.test/", "?q", "#f", "", "../x", "http://g.test/x", "https:y", "https:/y"):
            assert resolver.resolve(base, href) == join_url(base, href)
            assert resolver.resolve(base, href) == join_url(base, href)


def test_ours_resolver_memory_is_bounded_and_its_answers_do_not_change() -> None:
    resolver = UrlResolver(memory=50 * 300)
    for turn in range(400):
        base = f"https://h.test/{turn % 7}/x"
        assert resolver.resolve(base, f"{turn}") == f"https://h.test/{turn % 7}/{turn}"
        assert resolver.resolve(base, f"/{turn}") == f"https://h.test/{turn}"
    assert sum(len(table.answers) for table in resolver._tables.values()) <= 50
    for turn in range(400):  # a directory for each page, and nothing to remember of it
        resolver.resolve(f"https://h.test/{turn}/", "")
    assert len(resolver._tables) <= 60
    resolver.resolve("https://h.test/", "x" * 5_000)
    assert not any(len(href) > 2_048 for table in resolver._tables.values() for href in table.answers)


NAUGHTY = st.one_of(
    st.text(max_size=60),
    st.text(st.characters(categories=("Cs", "Cc", "Ll", "Zs")), max_size=30),
    st.text("/\\?#%;:@[]&=.. \t\n4e2EjJsessionid0x7f", max_size=40),
    st.text("%2e%41;/.jsessionid=utm_x&?", max_size=40),
)


@settings(max_examples=300)
@given(NAUGHTY, st.sampled_from(["http://{}", "https://h.test/{}", "https://h.test/?{}", "http://h.test{}/", "{}"]))
def test_ours_the_canonical_form_is_stable(text: str, frame: str) -> None:
    try:
        once = normalize_url(frame.format(text))
    except InvalidUrl:
        return
    assert normalize_url(once) == once
    assert once.isascii()
    assert not set(once) & set(' "<>\\^`{|}#\x7f')
    assert "@" not in origin_of(once)
    assert origin_of(once) + path_and_query(once) == once


PLAIN = st.one_of(
    NAUGHTY, st.text("./abA~", max_size=12), st.from_regex(r"(\.\./){0,4}[a-z.]{0,3}/?[a-z.]{0,3}", fullmatch=True)
)
BASES = [
    *("https://h.test/a/b?c", "http://h.test/", "http://h.test/a//b/", "http://h.test/a/b/c/d", "http://h.test:81/a/"),
    *("http://h.test/;v=1/x", "http://h.test/../a/x", "http://H.test/a/x", "http://0x7f.1/a/", "http://h.test:80/a/"),
    *("http://h.test/a;jsessionid=1/x", "http://h.test/%7e/x", "http://[::1]/a/b", "http://h.test", "ftp://h.test/a/b"),
]


@pytest.mark.thorough
@settings(max_examples=300)
@given(st.lists(PLAIN, max_size=6), st.sampled_from(BASES))
def test_ours_the_resolver_answers_as_join_does(hrefs: list[str], base: str) -> None:
    resolver = UrlResolver(memory=1_200)
    hrefs += [f"{base[:14]}{href}" for href in hrefs]
    expected: list[str | None] = []
    for href in hrefs:
        try:
            expected.append(join_url(base, href))
        except InvalidUrl:
            expected.append(None)
    assert resolver.resolve_all(base, hrefs) == expected
    assert [resolver.resolve(base, href) for href in hrefs] == expected


def test_ours_a_refusal_names_the_reference_as_it_was_written() -> None:
    with pytest.raises(InvalidUrl) as caught:
        join_url("https://h.test/a", "//a`b/c")
    assert caught.value.message == "'a`b' is not a valid host name: '//a`b/c'"


@pytest.mark.parametrize("text", ["http://./", "http://.../a", "http://%2e/"])
def test_ours_a_host_of_dots_alone_is_missing(text: str) -> None:
    with pytest.raises(InvalidUrl) as caught:
        normalize_url(text)
    assert (caught.value.code, caught.value.message) == ("url.invalid", f"the host is missing in {text!r}")


def test_ours_every_refused_reference_counts() -> None:
    resolver = UrlResolver()
    assert resolver.resolve_all("https://h.test/", ["mailto:a@b.c", "tel:1", "https://h.test:x/"]) == [None] * 3
    assert resolver.refused == {"url.scheme": 2, "url.invalid": 1}
    refusal = resolver.refusal("https://h.test/", "tel:1")
    assert refusal is not None
    assert refusal.code == "url.scheme"


def test_ours_a_slash_in_the_query_of_a_page_makes_no_directory() -> None:
    resolver = UrlResolver()
    for base in ("https://h.test/a/b?q=/c/d?e", "https://h.test/a/b?x=/y"):
        assert resolver.resolve_all(base, ["x", "../x", "?y", ""]) == [
            "https://h.test/a/x", "https://h.test/x", "https://h.test/a/b?y", base
        ]  # fmt: skip


def test_ours_what_is_resolved_without_dropping_keeps_every_parameter() -> None:
    resolver = UrlResolver()
    assert resolver.resolve("https://h.test/", "/?utm_source=x&a") == "https://h.test/?a"
    assert resolver.keeping_all.resolve("https://h.test/", "/?utm_source=x&a") == "https://h.test/?utm_source=x&a"
    assert resolver.keeping_all is resolver.keeping_all


@settings(max_examples=150)
@given(st.lists(st.tuples(st.sampled_from(BASES[:5]), PLAIN, st.sampled_from(["", "gbk", "utf-8"])), max_size=30))
def test_ours_the_memory_of_a_resolver_is_what_it_counts(asked: list[tuple[str, str, str]]) -> None:
    resolver = UrlResolver(memory=3_000)
    for base, href, encoding in asked:
        try:
            expected: str | None = join_url(base, href, encoding=encoding)
        except InvalidUrl:
            expected = None
        assert resolver.resolve(base, href, encoding) == expected
        assert resolver._size == sum(table.size for table in resolver._tables.values())
        assert resolver._size <= 3_000 + 2 * 256
        answers = [each for table in resolver._tables.values() for each in table.answers.items()]
        texts = sum(len(href) + len(answer) for href, answer in answers)
        assert resolver._size == 256 * (len(resolver._tables) + len(answers)) + texts


@pytest.mark.parametrize(
    "href", [" ?q", "\x01?q", "\x02#f", "\x03", "https:?q", "HTTPS:", "ht\ntps:?q", "https:#f", " "]
)
def test_whatwg_a_reference_to_the_page_itself_is_not_that_of_its_neighbour(href: str) -> None:
    resolver = UrlResolver()
    for base in ("https://h.test/a/1", "https://h.test/a/2?x"):
        assert resolver.resolve(base, href) == join_url(base, href)


def test_whatwg_a_reference_with_the_scheme_of_the_page_alone_is_relative_in_both_schemes() -> None:
    resolver = UrlResolver()
    for base in ("http://h.test/a/1", "http://h.test/a/2", "https://h.test/a/1", "https://h.test/a/2"):
        own, other = base.partition("//")[0], "https:" if base.startswith("http:") else "http:"
        assert resolver.resolve(base, f"{own}?q") == f"{base}?q"
        assert resolver.resolve(base, f"{own}x") == f"{own}//h.test/a/x"
        assert resolver.resolve(base, f"{other}x") == f"{other}//x/"
        assert resolver.resolve(base, f"{other}?q") is None


def test_whatwg_a_lone_surrogate_in_a_reference_is_replaced() -> None:
    assert join_url("https://h.test/a/b", "\ud800x") == "https://h.test/a/%EF%BF%BDx"
    with pytest.raises(InvalidUrl, match="not a URL"):
        join_url("https://h.test/a/b", "//[\ud800")


def test_ours_a_base_with_many_directories_costs_no_more_than_one_with_few() -> None:
    def work(depth: int) -> int:
        base = "https://h.test/" + "a/" * depth
        resolver = UrlResolver(DEFAULT_PARAMS)
        assert resolver.resolve(base, "../x") == f"https://h.test/{'a/' * (depth - 1)}x"
        return steps(lambda: UrlResolver(DEFAULT_PARAMS).resolve(base, "../x"))

    assert work(900) < 3 * work(60)  # each directory above the base would be a string of its own: 900 times 1 kB
