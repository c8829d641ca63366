import random
import re
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawler.model import DiscoveredBy, DocumentKind, State, Url
from crawler.url.normalize import normalize_url
from crawler.url.scope import (
    CrawlBounds,
    Scope,
    ScopeError,
    UrlPattern,
    alias_origins,
    registrable_domain,
    why_path_is_trap,
)

LINK = DiscoveredBy.LINK


def admit(
    scope: Scope, url: str, depth: int = 1, found: DiscoveredBy = LINK, kind: DocumentKind = DocumentKind.PAGE
) -> tuple[str, str]:
    verdict = scope.admit(Url(url), depth, found, kind)
    return (verdict.state.value, verdict.reason) if verdict else ("", "")


@pytest.mark.parametrize(
    ("sitemap", "url", "inside"),
    [
        ("https://h.test/sitemap.xml", "https://h.test/", True),
        ("https://h.test/sitemap.xml", "https://h.test/a/b?c", True),
        ("https://h.test/docs/sitemap.xml", "https://h.test/docs/", True),
        ("https://h.test/docs/sitemap.xml", "https://h.test/docs/a", True),
        ("https://h.test/docs/sitemap.xml", "https://h.test/docs", False),
        ("https://h.test/docs/sitemap.xml", "https://h.test/docs2/a", False),
        ("https://h.test/docs/sitemap.xml", "https://h.test/", False),
        ("https://h.test/docs/sitemap.php?f=/x/y.xml", "https://h.test/docs/a", True),
        ("https://h.test/docs/", "https://h.test/docs/a", True),
        ("https://h.test/sitemap.xml", "http://h.test/", False),
        ("https://h.test/sitemap.xml", "https://h.test:8443/", False),
        ("https://h.test/sitemap.xml", "https://www.h.test/", False),
        ("https://h.test/sitemap.xml", "https://h.test.evil.test/", False),
    ],
)
def test_sitemaps_org_location_rule(sitemap: str, url: str, inside: bool) -> None:
    scope = Scope(Url(sitemap))
    assert (scope.admit(Url(url), 1, LINK) is None) is inside
    assert (scope.may_list(Url(url)) is None) is inside
    if not inside:
        assert admit(scope, url)[0] == State.OUT_OF_SCOPE


@pytest.mark.parametrize("path", ["/cdn-cgi/l/email-protection", "/cdn-cgi/rum?x", "/cdn-cgi/"])
def test_cloudflare_links_that_it_adds_to_pages_are_no_pages_of_the_site(path: str) -> None:
    scope = Scope(Url("https://h.test/sitemap.xml"), include=("/*",))
    assert admit(scope, f"https://h.test{path}")[0] == State.ACTION
    verdict = scope.may_list(Url(f"https://h.test{path}"))
    assert verdict
    assert verdict.reason == "/cdn-cgi/ belongs to Cloudflare, which adds such links to pages"
    assert scope.admit(Url(f"https://h.test/a{path}"), 1, LINK) is None


def test_ours_each_refusal_says_why() -> None:
    scope = Scope(Url("https://h.test/docs/s.xml"))
    assert admit(scope, "https://h.test/x")[1] == "outside https://h.test/docs/, where the sitemap is"
    assert admit(scope, "https://g.test/docs/")[1] == "another host: g.test"
    assert admit(scope, "http://h.test/docs/") == (
        "out of scope",
        "another scheme or port: http://h.test is not https://h.test",
    )


def test_ours_a_dns_wildcard_makes_no_more_hosts_than_allowed() -> None:
    scope = Scope(Url("https://www.h.com/s.xml"), bounds=CrawlBounds(max_hosts=3), subdomains=True)
    urls = [f"https://n{number % 5}.h.com/{number}" for number in range(20)]
    assert [admit(scope, url)[1] for url in urls[:4]] == ["", "", "", "more than 3 hosts (scope.max_hosts)"]
    assert sum(admit(scope, url) == ("", "") for url in urls) == 12  # three of the five hosts
    assert admit(scope, "https://www.h.com/x") == ("", "")
    assert scope.note == "only 3 more hosts are crawled; raise scope.max_hosts to crawl all"


def test_ours_hosts_of_an_interrupted_run_count_for_the_limit_and_foreign_ones_and_our_own_do_not() -> None:
    before = ["https://a.h.com", "https://example.org", "https://elsewhere.net", "https://www.h.com"]
    scope = Scope(
        Url("https://www.h.com/s.xml"), bounds=CrawlBounds(max_hosts=3), subdomains=True, hosts=("example.org",)
    )
    scope.count_hosts(before)
    urls = (
        "https://b.h.com/",
        "https://c.h.com/",
        "https://a.h.com/",
        "https://example.org/",
        "https://x.example.org/",
    )
    refused = "more than 3 hosts (scope.max_hosts)"
    assert [admit(scope, url)[1] for url in urls] == ["", refused, "", "", refused]


def listing(scope: Scope, url: str) -> tuple[str, str]:
    verdict = scope.may_list(Url(url))
    return (verdict.state.value, verdict.reason) if verdict else ("", "")


def test_ours_each_url_that_cannot_be_listed_says_why() -> None:
    scope = Scope(Url("https://www.example.org/docs/s.xml"), subdomains=True)
    why = "https://a.example.org is crawled for its links; a sitemap in https://www.example.org/docs/ cannot list it"
    assert listing(scope, "https://a.example.org/x") == ("out of scope", f"{why} unless you add the host with --host")
    assert listing(scope, "https://www.example.org/x") == (
        "out of scope",
        "outside https://www.example.org/docs/, where the sitemap is",
    )
    assert listing(scope, "https://example.com/docs/") == ("out of scope", "another host: example.com")
    assert listing(scope, "https://h.test/".ljust(2_048, "a")) == (
        "too long",
        "2,048 characters long; the limit in a sitemap is 2,047",
    )
    assert admit(scope, "https://h.test/".ljust(8_193, "a")) == (
        "too long",
        "8,193 characters long; the limit for fetching is 8,192",
    )
    assert listing(Scope(Url("http://h/")), "http://h/ab") == (
        "out of scope",
        "the sitemap schema requires at least 12 characters",
    )


def test_ours_a_url_that_no_pattern_includes_names_the_first_three() -> None:
    def reason(*include: str) -> str:
        return admit(Scope(Url("https://h.test/s.xml"), include=include), "https://h.test/x")[1]

    assert reason("/a", "/b", "/c") == 'matches no include pattern ("/a", "/b", "/c")'
    assert reason("/a", "/b", "/c", "/d") == 'matches no include pattern ("/a", "/b", "/c" and 1 more)'
    assert reason("/a", "/b", "/c", "/d", "/e") == 'matches no include pattern ("/a", "/b", "/c" and 2 more)'


@pytest.mark.parametrize(
    ("start", "others"),
    [
        ("https://example.org/a", ["https://www.example.org", "http://example.org", "http://www.example.org"]),
        ("http://www.example.org/", ["https://example.org", "https://www.example.org", "http://example.org"]),
        (
            "http://example.org:8080/",
            ["https://example.org:8080", "https://www.example.org:8080", "http://www.example.org:8080"],
        ),
    ],
)
def test_ours_the_other_names_of_a_site(start: str, others: list[str]) -> None:
    assert alias_origins(Url(start)) == others


def test_ours_patterns() -> None:
    scope = Scope(
        Url("https://h.test/s.xml"),
        include=("/blog/*", "re:[?]page=\\d+$"),
        exclude=("*/print/*", "/blog/*.pdf", "https://h.test/blog/x", "/blog/größe", "/blog/a[bc]"),
    )
    assert admit(scope, "https://h.test/blog/a") == ("", "")
    assert admit(scope, "https://h.test/other?page=12") == ("", "")
    assert admit(scope, "https://h.test/other")[0] == State.EXCLUDED
    assert '"/blog/*"' in admit(scope, "https://h.test/other")[1]
    assert admit(scope, "https://h.test/blog/print/1") == ("excluded", 'matches exclude "*/print/*"')
    assert admit(scope, "https://h.test/blog/a/b.pdf") == ("excluded", 'matches exclude "/blog/*.pdf"')
    assert admit(scope, "https://h.test/blog/x")[0] == "excluded"
    assert admit(scope, "https://h.test/blog/xy")[0] == ""
    assert admit(scope, normalize_url("https://h.test/blog/größe"))[0] == "excluded"
    assert admit(scope, "https://h.test/blog/ac")[0] == "excluded"
    assert admit(scope, "https://h.test/blog/PRINT/x")[0] == ""
    begins = Scope(Url("https://h.test/s.xml"), include=("?ttps://h.test/a*", "[h]ttps://h.test/b", "http://h.test/*"))
    admitted = [admit(begins, f"https://h.test/{path}")[0] for path in ("ab", "b", "c")]
    assert admitted == ["", "", "excluded"]
    with pytest.raises(ScopeError, match=r'^include: "print" cannot match'):
        Scope(Url("https://h.test/s.xml"), include=("print",))


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("re:a(b", 'exclude: "re:a(b" is not a regular expression: missing ), unterminated subpattern at position 4'),
        ("re:*", "at position 3"),
        (r"re:(?<!x)/a", "RE2, which takes linear time: invalid perl operator: (?<!. Write it without look-around"),
        (r"re:(a)/\1", r"invalid escape sequence: \1"),
        ("re:a{1001}", "invalid repetition size: {1001}"),
        ("print", 'Write "*print*"'),
        ("", "cannot match any URL"),
    ],
)
def test_ours_a_pattern_that_cannot_work_is_an_error_that_says_where(pattern: str, said: str) -> None:
    with pytest.raises(ScopeError) as caught:
        Scope(Url("https://h.test/s.xml"), exclude=(pattern,))
    assert said in str(caught.value)


@pytest.mark.timeout(20)
@pytest.mark.parametrize("pattern", [r"re:/(\w+/?)+\.pdf", "re:^(a|aa)+$", r"re:(.*)*b", r"re:(\d+)+-", r"re:(x+x+)+y"])
def test_ours_no_expression_of_an_operator_hangs_a_crawl(pattern: str) -> None:
    """Each takes years in an engine that backtracks."""
    site = Url("https://h.test/s.xml")
    paths = ("/a" * 4_000, "a" * 8_000, "1" * 8_000, "x" * 8_000)
    for scope in (Scope(site, exclude=(pattern,)), Scope(site, include=(pattern,))):
        for path in paths:
            admit(scope, f"https://h.test/{path.lstrip('/')}")


@pytest.mark.parametrize("seed", range(20))
def test_ours_expressions_find_what_those_of_python_find(seed: int) -> None:
    """Random expressions of the common syntax, on URLs."""
    pick = random.Random(seed)
    atoms = ["a", "b", "/", r"\d", r"\w", "[ab]", "[^/]", ".", r"\.", "(a|b/)", "(?:ab)", r"\b", "^", "$", "(?:ba|1)"]
    for _ in range(50):
        source = "".join(pick.choice(atoms) + pick.choice(["", "", "", "*", "+", "?", "{1,2}"]) for _ in range(5))
        try:
            expected = re.compile(source)
            pattern = UrlPattern(f"re:{source}")
        except (re.error, ScopeError):
            continue
        for _ in range(10):
            url = Url("https://h.test/" + "".join(pick.choices("ab/.1", k=8)))
            assert pattern.matches(url) == bool(expected.search(url)), (source, url)


@pytest.mark.parametrize("query", ["a=1&b=2", "b=2&a=1", "c&b&a", "a=1", "b", "ab=1", "a=1&amp;b", ""])
def test_ours_look_aheads_at_the_end_must_all_match(query: str) -> None:
    """As in the rules that Siteatlas recommends for parameters in any order."""
    rule = r"^https://h\.test/x\?(?=(.*&)?(amp;)*a(=|&|$))(?=(.*&)?(amp;)*b(=|&|$))"
    url = Url(f"https://h.test/x?{query}")
    assert UrlPattern(f"re:{rule}").matches(url) == bool(re.search(rule, url))


@pytest.mark.parametrize("rule", ["a(?=b)c(?=d)", "(?=a(?=b))", "(?=a)|(?=b)", "(?!a)(?=b)"])
def test_ours_other_look_aheads_are_refused(rule: str) -> None:
    with pytest.raises(ScopeError, match="invalid perl operator"):
        UrlPattern(f"re:{rule}")


def test_ours_a_seed_is_crawled_wherever_it_lies_and_listed_only_by_the_rules() -> None:
    scope = Scope(Url("https://h.test/docs/s.xml"), include=("/docs/a*",), bounds=CrawlBounds(max_depth=0))
    assert admit(scope, "https://h.test/start", 0, DiscoveredBy.SEED | LINK) == ("", "")
    assert admit(scope, "https://h.test/docs/b", 0, DiscoveredBy.SEED) == ("", "")
    assert admit(scope, "https://g.test/", 0, DiscoveredBy.SEED)[0] == State.OUT_OF_SCOPE
    listed = scope.may_list(Url("https://h.test/docs/b"))
    assert listed is not None
    assert listed.state is State.EXCLUDED
    assert scope.may_list(Url("https://h.test/docs/a")) is None


def test_ours_sitemap_files_need_only_be_on_a_host_of_ours() -> None:
    scope = Scope(Url("https://h.test/docs/s.xml"), include=("/docs/a*",))
    assert admit(scope, "https://h.test/sitemap.xml", 0, DiscoveredBy.SITEMAP, DocumentKind.SITEMAP) == ("", "")
    assert admit(scope, "http://h.test/sitemap.xml", 0, DiscoveredBy.SITEMAP, DocumentKind.SITEMAP) == ("", "")
    assert (
        admit(scope, "https://cdn.test/sitemap.xml", 0, DiscoveredBy.SITEMAP, DocumentKind.SITEMAP)[0]
        == State.OUT_OF_SCOPE
    )


def test_ours_depth_and_nofollow() -> None:
    scope = Scope(Url("https://h.test/s.xml"), bounds=CrawlBounds(max_depth=2))
    assert admit(scope, "https://h.test/a", 2) == ("", "")
    assert admit(scope, "https://h.test/a", 3) == ("too deep", "3 clicks from the start; the limit is 2")
    assert admit(scope, "https://h.test/a", 1, DiscoveredBy.NOFOLLOW) == (
        "linked by nofollow only",
        "only nofollow links lead to it",
    )
    assert admit(scope, "https://h.test/a", 1, DiscoveredBy.NOFOLLOW | LINK) == ("", "")
    assert admit(scope, "https://h.test/a", 1, DiscoveredBy.NOFOLLOW | DiscoveredBy.SITEMAP) == ("", "")


@pytest.mark.parametrize(
    ("where", "trapped"),
    [
        ("/a/a/a", False),
        ("/a/a/a/a", True),
        ("/x/a/a/a/a/y", True),
        ("/a/b/a/b/a/b", False),
        ("/a/b/a/b/a/b/a", False),
        ("/a/b/a/b/a/b/a/b", True),
        ("/x/a/b/c/a/b/c/a/b/c/a/b/c", True),
        ("/a/1/a/2/a/3/a/4/a/5", False),
        ("/2020/01/01/1", False),
        ("/a//b", False),
        ("/a////b", False),
        ("/a/////b", True),
        ("/" + "/".join(map(str, range(32))), False),
        ("/" + "/".join(map(str, range(33))), True),
    ],
)
def test_ours_path_traps(where: str, trapped: bool) -> None:
    assert bool(why_path_is_trap(where, CrawlBounds())) is trapped
    state = admit(Scope(Url("https://h.test/s.xml")), f"https://h.test{where}")[0]
    assert (state == State.TRAP) is trapped


def test_ours_trap_limits_can_be_set_and_the_reason_names_them() -> None:
    assert (
        why_path_is_trap("/a/a", CrawlBounds(max_repeats=1)) == 'trap.path_repetition: "/a" more than 1 times in a row'
    )
    assert why_path_is_trap("/a/a/a/a/a", CrawlBounds(max_repeats=5)) == ""
    assert (
        why_path_is_trap("/a/b/c/b/c", CrawlBounds(max_repeats=1))
        == 'trap.path_repetition: "/b/c" more than 1 times in a row'
    )
    assert why_path_is_trap("/a/b/c/b/c/d", CrawlBounds(max_repeats=1)) == (
        'trap.path_repetition: "/b/c" more than 1 times in a row'
    )
    long = "/".join(["a" * 100] * 5)
    assert why_path_is_trap(f"/{long}", CrawlBounds()) == (
        f'trap.path_repetition: "/{"a" * 80}" more than 3 times in a row'
    )
    assert (
        why_path_is_trap("/a/b/c", CrawlBounds(max_segments=2)) == "trap.path_segments: 3 path segments; the limit is 2"
    )


@settings(max_examples=200)
@given(st.lists(st.sampled_from("ab"), max_size=20))
def test_ours_path_traps_as_a_slow_definition_finds_them(segments: list[str]) -> None:
    slow = any(
        segments[start : start + period] * 4 == segments[start : start + period * 4]
        for period in range(1, 6)
        for start in range(len(segments) - period * 4 + 1)
    )
    assert bool(why_path_is_trap("/" + "/".join(segments), CrawlBounds())) is slow


def test_sitemaps_org_long_urls_are_fetched_but_not_listed() -> None:
    scope = Scope(Url("https://h.test/s.xml"))
    for length, fetched, listed in (
        (2_047, True, True),
        (2_048, True, False),
        (8_192, True, False),
        (8_193, False, False),
    ):
        url = Url("https://h.test/".ljust(length, "a"))
        assert (scope.admit(url, 1, LINK) is None) is fetched
        verdict = scope.may_list(url)
        assert (verdict is None) is listed
        assert verdict is None or verdict.state is State.TOO_LONG


def test_ours_subdomains_are_crawled_and_not_listed() -> None:
    scope = Scope(Url("https://www.example.co.uk/docs/s.xml"), subdomains=True)
    for url in ("https://example.co.uk/x", "https://a.b.example.co.uk/x"):
        assert admit(scope, url) == ("", "")
        verdict = scope.may_list(Url(url))
        assert verdict is not None
        assert verdict.state is State.OUT_OF_SCOPE
        assert "cannot list" in verdict.reason
    for url in (
        "https://other.co.uk/",
        "https://notexample.co.uk/",
        "http://example.co.uk/",
        "https://example.co.uk:81/",
    ):
        assert admit(scope, url)[0] == State.OUT_OF_SCOPE
    assert admit(Scope(Url("https://a.github.io/s.xml"), subdomains=True), "https://b.github.io/")[0] != ""
    assert admit(Scope(Url("http://127.0.0.1/s.xml"), subdomains=True), "http://0.0.0.1/")[0] != ""


def test_sitemaps_org_named_hosts_are_listed_and_need_a_cross_submit() -> None:
    scope = Scope(Url("https://h.test/docs/s.xml"), hosts=("example.org", "www.example.net:8443", "*.a.example.com"))
    for url in (
        *("https://example.org/", "http://example.org/x", "https://deep.www.example.org/"),
        *("https://www.example.net:8443/a", "http://b.a.example.com/", "https://a.example.com/"),
    ):
        assert admit(scope, url) == ("", "")
        assert scope.may_list(Url(url)) is None
        assert scope.needs_cross_submit(Url(url))
    for url in (
        *("https://example.org:81/", "https://www.example.net/", "https://x.www.example.net:8443/"),
        *("https://example.com/", "https://badexample.org/"),
    ):
        assert admit(scope, url)[0] == State.OUT_OF_SCOPE
    assert not scope.needs_cross_submit(Url("https://h.test/docs/a"))
    assert not scope.needs_cross_submit(Url("https://example.com/"))
    spelled = Scope(Url("https://h.test/docs/s.xml"), hosts=("https://example.org:8443/", "http://example.com"))
    assert spelled.needs_cross_submit(Url("https://example.org:8443/"))
    assert spelled.needs_cross_submit(Url("https://example.com/"))
    assert not spelled.needs_cross_submit(Url("https://example.org/"))
    sitemap = admit(scope, "https://example.org/sitemap.xml", 0, DiscoveredBy.SITEMAP, DocumentKind.SITEMAP)
    assert sitemap == ("", "")
    with pytest.raises(ScopeError) as caught:
        Scope(Url("https://h.test/"), hosts=("not a host",))
    assert str(caught.value) == (
        'hosts: "not a host" is not a host name. Write it as in www.example.org or example.org:8443'
    )


def test_ours_the_suffix_list_is_offline_and_loaded_only_when_asked_for() -> None:
    assert registrable_domain("a.b.co.uk") == "b.co.uk"
    assert registrable_domain("co.uk") == ""
    code = (
        "import crawler.url.scope, sys; crawler.url.scope.Scope('https://h.test/s.xml')"
        "; print('tldextract' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True)
    assert run.stdout.strip() == "False"


def test_sitemaps_org_a_url_shorter_than_the_schema_takes_is_not_listed() -> None:
    scope = Scope(Url("http://h/"))
    verdict = scope.may_list(Url("http://h/a"))
    assert verdict is not None
    assert verdict.state is State.OUT_OF_SCOPE
    assert scope.may_list(Url("http://h/abc")) is None


@pytest.mark.parametrize(
    ("rule", "path", "is_out"),
    [
        ("re:/archive(?=/|$)", "/archive/1", True),
        ("re:/archive(?=/|$)", "/news", False),
        ("re:/docs(?=/a|/b)", "/b/1", False),
        ("re:/docs(?=/a|/b)", "/docs/b", True),
    ],
)
def test_ours_a_look_ahead_keeps_its_alternatives(rule: str, path: str, is_out: bool) -> None:
    scope = Scope(Url("https://example.com/sitemap.xml"), exclude=(rule,))
    assert bool(scope.admit(Url(f"https://example.com{path}"), 1, DiscoveredBy.LINK)) is is_out
