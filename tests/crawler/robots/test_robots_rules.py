import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawler.model import Failure, Reply, Url
from crawler.robots import rules as robots
from crawler.robots.rules import Allowed, Blocked, RobotsAccess, parse_robots, product_token, robots_or_text

US = "Siteatlas/1.0 (+https://example.com/bot)"
NOW = 1_800_000_000.0


def rules_of(answer: Reply | Failure, now: float = NOW) -> robots.Robots:
    """The rules of an answer, whether its text or its status decides."""
    found = robots_or_text(answer, now)
    return parse_robots(found, US, now) if isinstance(found, bytes) else found


def allows(text: str, path: str, agent: str = US) -> bool:
    rules = parse_robots(text.encode(), agent, NOW)
    return isinstance(rules.can_fetch(Url("https://h.test" + path)), Allowed)


def reply(status: int, body: bytes = b"", cut: str = "") -> Reply:
    return Reply(Url("https://h.test/robots.txt"), status, (), body, NOW, 0.1, cut=cut)


@pytest.mark.parametrize(
    ("text", "path", "expected"),
    [
        # 2.2.1: groups
        ("User-agent: siteatlas\nDisallow: /", "/x", False),
        ("USER-AGENT: SiteAtlas\nDISALLOW: /", "/x", False),
        ("User-agent: *\nDisallow: /", "/x", False),
        ("User-agent: other\nDisallow: /", "/x", True),
        ("User-agent: site\nDisallow: /", "/x", True),
        ("User-agent: siteatlas-news\nDisallow: /", "/x", True),
        ("User-agent: siteatlas/2.0\nDisallow: /", "/x", False),
        ("User-agent: *\nDisallow: /\nUser-agent: siteatlas\nDisallow: /a", "/x", True),
        ("User-agent: siteatlas\nDisallow:\nUser-agent: *\nDisallow: /", "/x", True),
        ("User-agent: siteatlas\nUser-agent: *\nDisallow: /a", "/a", False),
        ("User-agent: other\nUser-agent: siteatlas\nDisallow: /a", "/a", False),
        (
            "User-agent: siteatlas\nDisallow: /a\nUser-agent: x\nDisallow: /c\nUser-agent: siteatlas\nDisallow: /b",
            "/a",
            0,
        ),
        (
            "User-agent: siteatlas\nDisallow: /a\nUser-agent: x\nDisallow: /c\nUser-agent: siteatlas\nDisallow: /b",
            "/b",
            0,
        ),
        (
            "User-agent: siteatlas\nDisallow: /a\nUser-agent: x\nDisallow: /c\nUser-agent: siteatlas\nDisallow: /b",
            "/c",
            1,
        ),
        ("Disallow: /\nUser-agent: *\nDisallow: /a", "/x", True),
        # 2.2.2: longest match, ties, escapes, case
        ("User-agent: *\nDisallow: /a\nAllow: /a/b", "/a/b/c", True),
        ("User-agent: *\nAllow: /a/b\nDisallow: /a", "/a/c", False),
        ("User-agent: *\nAllow: /a\nDisallow: /a/b", "/a/b", False),
        ("User-agent: *\nDisallow: /a\nAllow: /a", "/a", True),
        ("User-agent: *\nDisallow: /X", "/x", True),
        ("User-agent: *\nDisallow: /x", "/xyz", False),
        ("User-agent: *\nDisallow: /x/", "/x", True),
        ("User-agent: *\nDisallow: /%7Ejoe", "/~joe/index.html", False),
        ("User-agent: *\nDisallow: /~joe", "/~joe/index.html", False),
        ("User-agent: *\nDisallow: /a%2fb", "/a%2Fb", False),
        ("User-agent: *\nDisallow: /a/b", "/a%2Fb", True),
        ("User-agent: *\nDisallow: /a%2Fb", "/a/b", True),
        ("User-agent: *\nDisallow: /ü", "/%C3%BC", False),
        ("User-agent: *\nDisallow: /%C3%BC", "/%C3%BC/x", False),
        ("User-agent: *\nDisallow: /*?", "/a?b=1", False),
        ("User-agent: *\nDisallow: /a?b=1", "/a?b=12", False),
        # 2.2.3: special characters
        ("User-agent: *\nDisallow: /*.pdf$", "/a/b.pdf", False),
        ("User-agent: *\nDisallow: /*.pdf$", "/a/b.pdfx", True),
        ("User-agent: *\nDisallow: /*.pdf$", "/a/b.pdf?x", True),
        ("User-agent: *\nDisallow: /a$", "/a", False),
        ("User-agent: *\nDisallow: /a$", "/ab", True),
        ("User-agent: *\nDisallow: /a*c", "/abbbc/d", False),
        ("User-agent: *\nDisallow: *", "/", False),
        ("User-agent: *\nDisallow: /$\nAllow: /x", "/", False),
        ("User-agent: *\nDisallow: /a # comment", "/a", False),
        ("# User-agent: *\nDisallow: /a", "/a", True),
        # 2.2.3: the file itself
        ("User-agent: *\nDisallow: /", "/robots.txt", True),
        # 2.2.4: other records end no group
        ("User-agent: siteatlas\nSitemap: https://h.test/s.xml\nDisallow: /a", "/a", False),
        ("User-agent: siteatlas\nDisallow: /a\nSitemap: https://h.test/s.xml\nDisallow: /b", "/b", False),
        ("User-agent: siteatlas\nClean-param: x\nUser-agent: other\nDisallow: /a", "/a", False),
        ("User-agent: siteatlas\n\n\nDisallow: /a", "/a", False),
        # 2.2: line ends, spaces, no rules
        ("User-agent: *\rDisallow: /a\r\nDisallow: /b\nDisallow: /c", "/a", False),
        ("User-agent: *\rDisallow: /a\r\nDisallow: /b\nDisallow: /c", "/c", False),
        ("  User-agent :  *  \n\tDisallow\t:\t/a\t", "/a", False),
        ("User-agent: *\nDisallow /a", "/a", False),
        ("User-agent *\nDisallow /a", "/a", False),
        ("", "/a", True),
        ("User-agent: *\nDisallow:", "/a", True),
        ("User-agent: *\nDisallow: /a\x0bb\nDisallow: /c", "/c", False),
        ("<!doctype html>\n<p>User-agent: *</p>\n<p>Disallow: /</p>", "/a", True),
    ],
)
def test_rfc9309_rules(text: str, path: str, expected: bool) -> None:
    assert allows(text, path) is bool(expected)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 451, 499, 301, 302, 308, 300])
def test_rfc9309_2_3_1_3_unavailable_allows_everything(status: int) -> None:
    rules = rules_of(reply(status, b"User-agent: *\nDisallow: /"))
    assert rules.access is RobotsAccess.EVERYTHING
    assert str(status) in rules.reason
    assert isinstance(rules.can_fetch(Url("https://h.test/a")), Allowed)
    assert rules.crawl_delay(60) is None


@pytest.mark.parametrize("status", [500, 502, 503, 599, 429, 304, 101, 600, 999])
def test_rfc9309_2_3_1_4_unreachable_allows_nothing(status: int) -> None:
    rules = rules_of(reply(status, b"User-agent: *\nAllow: /"))
    assert rules.access is RobotsAccess.NOTHING
    answer = rules.can_fetch(Url("https://h.test/a"))
    assert isinstance(answer, Blocked)
    assert answer == Blocked(0, f"robots.txt answered {status}")
    assert answer.reason == f"robots.txt answered {status}"
    assert rules.expires < NOW + 3600


def test_rfc9309_2_3_1_4_a_failure_allows_nothing() -> None:
    rules = rules_of(Failure("net.refused", "h.test refused the connection", True))
    answer = rules.can_fetch(Url("https://h.test/a"))
    assert isinstance(answer, Blocked)
    assert answer.reason == "robots.txt cannot be fetched: h.test refused the connection"


def test_rfc9309_2_3_1_4_half_a_file_is_no_answer_but_a_large_one_is() -> None:
    half = rules_of(reply(200, b"User-agent: *", cut="time.total_deadline"))
    assert half.access is RobotsAccess.NOTHING
    large = rules_of(reply(200, b"User-agent: *\nDisallow: /a\n" + b"#" * 600_000, cut="too large"))
    assert large.access is RobotsAccess.RULES
    assert isinstance(large.can_fetch(Url("https://h.test/a")), Blocked)


def test_rfc9309_2_4_an_answer_holds_for_a_day_and_bridges_an_outage() -> None:
    good = rules_of(reply(200, b"User-agent: *\nDisallow: /a"))
    assert good.expires == NOW + 86_400
    bad = rules_of(reply(503), NOW + 3_600)
    for later in (3_600, 86_399):
        held = robots.previous_or_fresh(bad, good, NOW + later)
        assert (held.rules, held.expires) == (good.rules, good.expires)
        assert held.notes[0].startswith("robots.txt answered 503, so Siteatlas obeyed its copy of ")
    assert robots.previous_or_fresh(bad, good, NOW + 86_400) is bad
    assert robots.previous_or_fresh(bad, None, NOW) is bad
    gone = rules_of(reply(404))
    assert robots.previous_or_fresh(gone, good, NOW) is gone


def test_rfc9309_2_5_500_kib_are_read_and_no_rule_is_cut_short() -> None:
    head = b"User-agent: *\nDisallow: /first\n"
    filling = b"#" * (robots.MAX_BYTES - len(head) - len(b"\nDisallow: /p")) + b"\n"
    rules = parse_robots(head + filling + b"Disallow: /private\n", US, NOW)
    assert isinstance(rules.can_fetch(Url("https://h.test/first")), Blocked)
    assert isinstance(rules.can_fetch(Url("https://h.test/public")), Allowed)
    assert "larger than" in rules.notes[0]
    exact = head + b"#" * (robots.MAX_BYTES - len(head) - 13) + b"\nDisallow: /z"
    assert isinstance(parse_robots(exact, US, NOW).can_fetch(Url("https://h.test/z")), Blocked)


@pytest.mark.parametrize(
    "body",
    [
        "\ufeffUser-agent: *\nDisallow: /a".encode(),
        "User-agent: *\nDisallow: /a".encode("utf-16"),
        "\ufeffUser-agent: *\nDisallow: /a".encode("utf-16-be"),
        b"User-agent: *\nDisallow: /a\n\x00\x00",
        b"\xff\xfd\nUser-agent: *\nDisallow: /a",
        b"User-agent: *\r\n\r\nDisallow: /a\r",
    ],
)
def test_ours_marks_and_encodings(body: bytes) -> None:
    assert isinstance(parse_robots(body, US, NOW).can_fetch(Url("https://h.test/a")), Blocked)


def test_ours_only_a_mark_is_removed_before_the_first_line_and_a_control_character_is_a_space() -> None:
    assert allows("XUser-agent: *\nDisallow: /a", "/a")
    assert allows("\ufeffXUser-agent: *\nDisallow: /a", "/a")
    for control in "\0\x0b\x0c\x1c\x85\u2028\u2029":
        blocked = parse_robots(f"User-agent: *\nDisallow: /a{control}".encode(), US, NOW).can_fetch(
            Url("https://h.test/a")
        )
        assert blocked == Blocked(2, "Disallow: /a")


def test_ours_an_html_page_is_noted() -> None:
    rules = parse_robots(b"\n<html><body>Disallow: /</body></html>", US, NOW)
    assert rules.notes == ("robots.txt is an HTML or XML page",)
    assert isinstance(rules.can_fetch(Url("https://h.test/")), Allowed)


def test_ours_a_blocked_url_names_the_line() -> None:
    text = "\n".join(
        [
            "User-agent: other",
            "Disallow: /a/b/c",
            "",
            "User-agent: *  # all",
            "Disallow: /a",
            "Disallow: /a/b/  # private",
            "Allow: /a/b/c$",
            "Disallow: /*?*sort=",
            "Disallow: /%7Ejoe/",
            "User-agent: third",
            "Disallow: /x",
        ]
    )
    rules = parse_robots(text.encode(), US, NOW)
    for path, line, start in (
        ("/a", 5, "Disallow: /a"),
        ("/a/b/x", 6, "Disallow: /a/b/ # private"),
        ("/p?b&sort=1", 8, "Disallow: /*?*sort="),
        ("/~joe/", 9, "Disallow: /%7Ejoe/"),
    ):
        answer = rules.can_fetch(Url("https://h.test" + path))
        assert isinstance(answer, Blocked)
        assert (answer.line, answer.text) == (line, start)
        assert answer.reason == f"robots.txt line {line}: {start}"
    for path in ("/a/b/c", "/x", "/"):
        assert isinstance(rules.can_fetch(Url("https://h.test" + path)), Allowed)


def test_ours_crawl_delay_of_our_group_is_capped() -> None:
    text = b"User-agent: *\nCrawl-delay: 5\nUser-agent: slow\nCrawl-delay: 9000\nUser-agent: bad\nCrawl-delay: soon"
    assert parse_robots(text, US, NOW).crawl_delay(60) == 5.0
    assert parse_robots(text, "slow/1", NOW).crawl_delay(60) == 60.0
    assert parse_robots(text, "bad/1", NOW).crawl_delay(60) is None
    assert parse_robots(b"", US, NOW).crawl_delay(60) is None


def test_sitemaps_org_sitemap_lines() -> None:
    text = (
        b"Sitemap: https://h.test/a.xml\nUser-agent: other\nDisallow: /\nsitemap:https://cdn.test/b.xml?x=1\n"
        b"Sitemap: /relative.xml\nSite-map: https://h.test/a.xml\nSitemap: ftp://h.test/c.xml\nSitemap:\n"
    )
    rules = parse_robots(text, US, NOW)
    assert rules.sitemaps == ("https://h.test/a.xml", "https://cdn.test/b.xml?x=1")
    assert len(rules.notes) == 2
    assert "/relative.xml" in rules.notes[0]
    many = b"".join(b"Sitemap: https://h.test/%d.xml\n" % n for n in range(600))
    assert len(parse_robots(many, US, NOW).sitemaps) == 500


@pytest.mark.parametrize(
    ("agent", "token"),
    [
        (US, "siteatlas"),
        ("Mozilla/5.0 (compatible; ExampleBot/2.1; +https://example.com/)", "examplebot"),
        ("my-bot", "my-bot"),
        ("", "*"),
        ("/1.0", "*"),
    ],
)
def test_rfc9309_2_2_1_product_token(agent: str, token: str) -> None:
    assert product_token(agent) == token


def test_ours_a_nameless_agent_obeys_the_rules_for_everybody() -> None:
    assert not allows("User-agent: *\nDisallow: /a\nUser-agent: x\nAllow: /", "/a", "")


def test_ours_very_long_lines_and_many_rules_are_read_in_time() -> None:
    text = "User-agent: *\n" + "Disallow: /" + "*a" * 50_000 + "\n" + "Disallow: /p/*x\n" * 5_000
    rules = parse_robots(text.encode(), US, NOW)
    assert isinstance(rules.can_fetch(Url("https://h.test/" + "a" * 2_000)), Allowed)
    assert isinstance(rules.can_fetch(Url("https://h.test/p/yx")), Blocked)


@settings(max_examples=150)
@given(
    st.binary(max_size=200)
    | st.lists(
        st.sampled_from(["User-agent: *", "Disallow: /a*b$", "Allow:/", "Crawl-delay: nan", "\x85", "Sitemap: //["])
    )
    .map("\r".join)
    .map(str.encode)
)
def test_ours_any_bytes_are_a_robots_txt(body: bytes) -> None:
    rules = parse_robots(body, US, NOW)
    answer = rules.can_fetch(Url("https://h.test/ab?c=%FF"))
    assert isinstance(answer, Allowed) or answer.line > 0
    delay = rules.crawl_delay(60)
    assert delay is None or 0 <= delay <= 60


@pytest.mark.parametrize(
    ("path", "rule"),
    [
        ("/a/b", "robots.txt line 4: Allow: /a/b"),
        ("/a/bcd", "robots.txt line 5: Allow: /a/bc*d"),
        ("/c", ""),
        ("/a", None),
    ],
)
def test_rfc9309_2_2_2_the_longest_rule_that_allows_is_named(path: str, rule: str | None) -> None:
    text = b"User-agent: *\nDisallow: /a\nDisallow: /x\nAllow: /a/b\nAllow: /a/bc*d\n\nUser-agent: o\nAllow: /c\n"
    rules = parse_robots(text, US, NOW)
    url = Url(f"https://h.test{path}")
    if rule is None:
        assert isinstance(rules.can_fetch(url), Blocked)
    else:
        assert isinstance(rules.can_fetch(url), Allowed)
        assert rules.allowing_rule(url) == rule


def test_ours_without_rules_no_rule_allows() -> None:
    assert robots.allow_all("there is none", NOW).allowing_rule(Url("https://h.test/")) == ""


@pytest.mark.parametrize(
    ("body", "notes"),
    [
        (b"", ["robots.txt is empty, so everything is allowed"]),
        (b" \r\n\t\n", ["robots.txt is empty, so everything is allowed"]),
        (b"\x00\x01\x02\x03 binary", ["robots.txt is binary data, not text"]),
        (b"<?xml version='1.0'?>", ["robots.txt is an HTML or XML page"]),
        (b"User-agent: *\nDisallow:", []),
        ("User-agent: *\nDisallow:".encode("utf-16"), ["robots.txt is in UTF-16; it should be UTF-8"]),
        (
            "<html>".encode("utf-16"),
            ["robots.txt is in UTF-16; it should be UTF-8", "robots.txt is an HTML or XML page"],
        ),
        (b"\n" * 600_000, ["robots.txt is larger than 512,000 bytes; crawlers ignore the rest"]),
    ],
)
def test_ours_each_fault_of_a_robots_txt_is_noted_once(body: bytes, notes: list[str]) -> None:
    rules = parse_robots(body, US, NOW)
    assert [*rules.notes][: len(notes)] == notes
    assert len(rules.notes) == len(notes) + (len(body) > 500 * 1024)  # what is left of that is empty
    assert isinstance(rules.can_fetch(Url("https://h.test/")), Allowed)


@pytest.mark.parametrize(
    ("text", "delay", "note"),
    [
        ("User-agent: *\nCrawl-delay: 5", 5.0, ""),
        ("User-agent: *\nCrawl-delay: 60", 60.0, ""),
        ("User-agent: *\nCrawl-delay: 0", 0.0, ""),
        ("User-agent: *\nCrawl-delay: .5", 0.5, ""),
        (
            "User-agent: *\nDisallow: /x\nCrawl-delay:   9000  # x",
            60.0,
            "robots.txt line 3: Crawl-delay: 9000 # x is longer than obey.max_crawl_delay, so Siteatlas waits 60 seconds",  # noqa: E501
        ),
        (
            "User-agent: *\nCrawl-delay: soon",
            None,
            "robots.txt line 2: Crawl-delay: soon is not a number of seconds, so Siteatlas ignores it",
        ),
        (
            "User-agent: *\nCrawl-delay: -1",
            None,
            "robots.txt line 2: Crawl-delay: -1 is not a number of seconds, so Siteatlas ignores it",
        ),
        (
            "User-agent: *\nCrawl-delay: inf",
            None,
            "robots.txt line 2: Crawl-delay: inf is not a number of seconds, so Siteatlas ignores it",
        ),
        ("User-agent: *\nCrawl-delay: soon\nCrawl-delay: 7", 7.0, ""),
        ("User-agent: *\nCrawl-delay: 7\nCrawl-delay: 8", 8.0, ""),
        ("User-agent: *\nCrawl-delay: 7\nUser-agent: siteatlas\nCrawl-delay: 8", 8.0, ""),
        ("User-agent: *\nCrawl-delay: 7\nUser-agent: siteatlas\nDisallow: /x", None, ""),
        ("User-agent: other\nCrawl-delay: 7", None, ""),
        ("Crawl-delay: 7", None, ""),
    ],
)
def test_ours_a_crawl_delay_is_that_of_our_group_within_the_limit_and_is_noted_if_it_is_not_kept(
    text: str, delay: float | None, note: str
) -> None:
    rules = parse_robots(text.encode(), US, NOW)
    assert rules.crawl_delay(60) == delay
    assert rules.delay_note(60) == ((note,) if note else ())


def test_rfc9309_2_4_each_answer_holds_for_its_time_and_says_what_it_means() -> None:
    rules = rules_of(reply(200, b"User-agent: *"))
    assert (rules.access, rules.reason, rules.expires, rules.failure_code) == (
        *(RobotsAccess.RULES, "robots.txt", NOW + 86_400, ""),
    )
    gone = rules_of(reply(404))
    assert (gone.access, gone.reason, gone.expires) == (
        *(RobotsAccess.EVERYTHING, "robots.txt answered 404: everything is allowed", NOW + 86_400),
    )
    broken = rules_of(reply(500))
    assert (broken.access, broken.reason, broken.expires) == (
        *(RobotsAccess.NOTHING, "robots.txt answered 500", NOW + 600),
    )
    failed = rules_of(Failure("net.refused", "it refused", True))
    assert (failed.expires, failed.failure_code) == (NOW + 600, "net.refused")
    cut = rules_of(reply(200, b"User-agent: *", cut="10 bytes"))
    assert (cut.reason, cut.expires) == ("robots.txt could not be read to its end: 10 bytes", NOW + 600)
    assert robots.allow_all("why", NOW).expires == NOW + 86_400
    assert robots.disallow_all("why", NOW).expires == NOW + 600


@pytest.mark.parametrize("status", [200, 201, 204, 299])
def test_rfc9309_2_3_1_1_any_success_has_rules(status: int) -> None:
    rules = rules_of(reply(status, b"User-agent: *\nDisallow: /a"))
    assert isinstance(rules.can_fetch(Url("https://h.test/a")), Blocked)


def test_rfc9309_2_5_a_file_that_was_cut_at_the_limit_or_behind_it_is_an_answer() -> None:
    body = b"User-agent: *\nDisallow: /a\n"
    for size, access in (
        (robots.MAX_BYTES - 1, RobotsAccess.NOTHING),
        (robots.MAX_BYTES, RobotsAccess.RULES),
        (robots.MAX_BYTES + 1, RobotsAccess.RULES),
    ):
        assert rules_of(reply(200, body.ljust(size, b"#"), cut="x")).access is access


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_rfc9309_2_5_the_last_line_that_is_read_is_whole_whatever_ends_lines(end: bytes) -> None:
    lines = [b"User-agent: *", b"Disallow: /first", b"#" * (robots.MAX_BYTES - 45), b"Disallow: /private", b""]
    rules = parse_robots(end.join(lines), US, NOW)
    assert isinstance(rules.can_fetch(Url("https://h.test/first")), Blocked)
    assert isinstance(rules.can_fetch(Url("https://h.test/p")), Allowed)
    lines = [b"User-agent: *", b"#" * (robots.MAX_BYTES - 41), b"Disallow: /last", b"Disallow: /private", b""]
    rules = parse_robots(end.join(lines), US, NOW)
    assert [rule.text for rule in rules.rules] == ["Disallow: /last"]


@pytest.mark.parametrize(
    "spelling",
    [
        "Disallow: ",
        "DISALLOW:",
        "disallow ",
        "dissallow:",
        "dissalow:",
        "disalow:",
        "diasllow:",
        "disallaw:",
        " \tDisallow \t: ",
    ],
)
def test_google_a_disallow_is_understood_however_it_is_spelt(spelling: str) -> None:
    assert not allows(f"User-agent: *\n{spelling}/a", "/a")
    assert allows(f"User-agent: *\n{spelling}/a", "/b")


@pytest.mark.parametrize("agent", ["User-agent:", "USER AGENT:", "useragent:", "user-agent "])
def test_google_a_user_agent_is_understood_however_it_is_spelt(agent: str) -> None:
    assert not allows(f"{agent} siteatlas\nDisallow: /a", "/a")


@pytest.mark.parametrize("line", ["Disallowed: /a", "No-Disallow: /a", "Disallow/a", "Allow-not: /a", "Noindex: /a"])
def test_rfc9309_2_2_4_other_lines_are_no_rules_and_end_no_group(line: str) -> None:
    assert allows(f"User-agent: *\n{line}", "/a")
    assert not allows(f"User-agent: *\n{line}\nDisallow: /a", "/a")


@pytest.mark.parametrize(
    ("value", "is_ours"),
    [
        ("*", True), ("* ", True), ("*/1", False), ("*x", False), ("siteatlas", True), ("SiteAtlas/2.0", True),
        ("siteatlas bot", True), ("siteatlasbot", False), ("site", False), ("", False), ("-", False),
        ("!siteatlas", False), ("* (all)", True),
    ],
)  # fmt: skip
def test_rfc9309_2_2_1_a_group_is_ours_by_the_whole_product_token(value: str, is_ours: bool) -> None:
    assert allows(f"User-agent: {value}\nDisallow: /a", "/a") is not is_ours


def test_rfc9309_2_2_1_groups_of_one_name_are_one_and_end_with_the_first_user_agent_after_a_rule() -> None:
    ours = "User-agent: siteatlas\nDisallow: /a\n\nUser-agent: x\nUser-agent: siteatlas\nDisallow: /b\n"
    text = f"{ours}User-agent: *\nDisallow: /"
    assert [allows(text, path) for path in ("/a", "/b", "/c")] == [False, False, True]
    for other in (
        "Crawl-delay: 1",
        "crawl delay:x",
        "Sitemap: https://h.test/s",
        "Host: h.test",
        "",
        "# words",
        "Noindex: /",
    ):
        between = f"User-agent: siteatlas\n{other}\nUser-agent: x\nDisallow: /a\n"
        assert not allows(between, "/a"), other
        assert allows(f"{between}{other}\nUser-agent: y\n{other}\nDisallow: /b", "/b"), other


def test_google_an_allowed_index_html_allows_its_directory_and_nothing_else_there() -> None:
    text = "User-agent: *\nDisallow: /a\nAllow: /a/index.html"
    assert [allows(text, path) for path in ("/a/index.html", "/a/", "/a/b", "/a")] == [True, True, False, False]
    assert not allows("User-agent: *\nDisallow: /a/index.html", "/a/index.html")
    assert allows("User-agent: *\nDisallow: /a/index.html", "/a/")


def test_rfc9309_2_2_2_robots_txt_itself_is_always_allowed() -> None:
    text = "User-agent: *\nDisallow: /"
    assert [allows(text, path) for path in ("/robots.txt", "/robots.txt?x=1", "/robots.txt/a", "/a/robots.txt")] == [
        *(True, True, False, False)
    ]


def test_ours_a_line_is_read_to_its_limit_and_cited_by_200_characters() -> None:
    inside = f"Disallow: /{'a' * (robots.MAX_LINE - 11)}"
    assert len(inside) == robots.MAX_LINE
    assert not allows(f"User-agent: *\n{inside}bbb", f"/{'a' * (robots.MAX_LINE - 11)}")
    assert allows(f"User-agent: *\n{inside}", f"/{'a' * (robots.MAX_LINE - 12)}")
    blocked = parse_robots(f"User-agent: *\n{inside}".encode(), US, NOW).can_fetch(
        Url("https://h.test/" + "a" * 20_000)
    )
    assert isinstance(blocked, Blocked)
    assert blocked.text == inside[:200]


def test_ours_five_hundred_sitemaps_and_twenty_notes_on_them_are_enough() -> None:
    many = b"".join(b"Sitemap: https://h.test/%d.xml\n" % n for n in range(501))
    rules = parse_robots(many, US, NOW)
    assert rules.sitemaps == tuple(f"https://h.test/{n}.xml" for n in range(500))
    assert rules.notes == ("more than 500 Sitemap lines; the rest is ignored",)
    assert parse_robots(b"Sitemap: https://h.test/a?utm_source=x\n" * 3, US, NOW).sitemaps == (
        "https://h.test/a?utm_source=x",
    )
    bad = parse_robots(b"Sitemap: /a.xml\n" * 30, US, NOW)
    assert bad.notes == (
        *["a Sitemap line is ignored, because it needs a complete http(s) URL: not a URL: '/a.xml'"] * 20,
    )


def test_ours_the_weight_of_rules_grows_with_their_number_and_their_length() -> None:
    def weight(*lines: str) -> int:
        return parse_robots("\n".join(["User-agent: *", *lines]).encode(), US, NOW).weight

    empty, one = weight(), weight("Disallow: /abc")
    assert 0 < empty < one
    assert weight("Disallow: /abc", "Disallow: /abd") - one == one - empty
    assert weight("Disallow: /abcdef") - one == 3 * len("def")
    assert robots.disallow_all("x", NOW).weight == robots.allow_all("x", NOW).weight == empty
