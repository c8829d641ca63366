import pytest

from crawler.crawl.indexability import INDEXABILITY_RULES, IndexabilityJudge, RuleInput, indexability_table, is_readable
from crawler.fetch.header_values import is_html_type, parse_media_type
from crawler.fetch.redirect import redirect_target
from crawler.fetch.retry import is_transient
from crawler.model import EMPTY_BODY, Failure, Page, Reply, State, Url, Verdict
from crawler.url.normalize import InvalidUrl
from crawler.url.params import UrlParams
from crawler.url.scope import Scope

HERE = Url("https://h.test/docs/a?b=c")
OTHER = Url("https://h.test/docs/other")
SCOPE = Scope(Url("https://h.test/docs/sitemap.xml"), exclude=("*secret*",))
JUDGE = IndexabilityJudge(SCOPE)


def reply(status: int = 200, url: Url = HERE, **headers: str) -> Reply:
    pairs = [("content-type", "text/html; charset=utf-8")] if "content_type" not in headers else []
    pairs += [(name.replace("_", "-"), value) for name, value in headers.items()]
    return Reply(url, status, tuple(pairs), b"", 0.0, 0.1)


def judge(answer: Reply, page: Page | None = None, judge: IndexabilityJudge = JUDGE) -> Verdict:
    return judge.verdict(answer, page)


def test_ours_a_page_that_is_200_html_and_its_own_canonical_is_indexable() -> None:
    assert judge(reply(), Page()) == Verdict(State.INDEXABLE)
    assert judge(reply(), Page(canonicals=[HERE])) == Verdict(State.INDEXABLE)


@pytest.mark.parametrize("status", [300, 301, 302, 303, 307, 308])
def test_rfc9110_redirects(status: int) -> None:
    verdict = judge(reply(status, location="/docs/other#x"))
    assert verdict == Verdict(State.REDIRECT, f"{status} to {OTHER}", OTHER)


@pytest.mark.parametrize(
    ("location", "code"),
    [
        ("", "redirect.bad_location"),
        ("  ", "redirect.bad_location"),
        ("#top", "redirect.bad_location"),
        ("http://h.test:99999/", "redirect.bad_location"),
        ("https://h.test/\x00", "redirect.bad_location"),
        ("https://h.test/\x7f", "redirect.bad_location"),
        ("/" + "x" * 70_000, "redirect.bad_location"),
        ("javascript:alert(1)", "redirect.scheme"),
        ("file:///etc/passwd", "redirect.scheme"),
        ("ftp://h.test/", "redirect.scheme"),
        ("mailto:a@b.c", "redirect.scheme"),
        ("data:text/html,x", "redirect.scheme"),
        ("?b=c", "redirect.loop"),
        ("https://H.test:443/docs/a?b=c&utm_source=x#y", "redirect.loop"),
    ],
)
def test_ours_a_redirect_that_leads_nowhere_is_a_bad_answer(location: str, code: str) -> None:
    verdict = judge(reply(302, location=location))
    assert verdict.state is State.BAD_ANSWER
    assert verdict.reason.startswith("answered 302; ")
    assert len(verdict.reason) < 300
    target = redirect_target(reply(302, location=location))
    assert isinstance(target, InvalidUrl)
    assert target.code == code


@pytest.mark.parametrize(
    ("location", "said"),
    [
        ("#top", "a Location that is a fragment only"),
        ("/a\x01b", r"a Location with control characters: '/a\x01b'"),
        ("/\x01" + "b" * 99, r"a Location with control characters: '/\x01" + "b" * 98 + "'"),  # its first 100
        ("https://h.test/docs/a?b=c", "it redirects to itself"),
        ("javascript:alert(1)", "only http and https are crawled, not 'javascript:'"),
        ("http://h.test:99999/", "not a URL: 'http://h.test:99999/' in 'https://h.test/docs/a?b=c'"),
    ],
)
def test_ours_a_redirect_that_leads_nowhere_says_why(location: str, said: str) -> None:
    target = redirect_target(reply(302, location=location))
    assert isinstance(target, InvalidUrl)
    assert target.message == said


def test_ours_a_redirect_without_a_location_is_a_bad_answer() -> None:
    assert judge(reply(301)).reason == "answered 301; a redirect without a Location"


@pytest.mark.parametrize(
    ("location", "target"),
    [
        ("../x", "https://h.test/x"),
        ("?q", "https://h.test/docs/a?q"),
        (";p", "https://h.test/docs/;p"),
        ("//g.test/x", "https://g.test/x"),
        ("\\\\evil.test\\x", "https://evil.test/x"),
        ("http:\\\\evil.test", "http://evil.test/"),
        ("/a\tb", "https://h.test/ab"),
        (" \t/x\r\n", "https://h.test/x"),
        ("X", "https://h.test/docs/X"),
        ("/x\xa0", "https://h.test/x%C2%A0"),  # no space of HTTP
        ("/caf\xe9", "https://h.test/caf%C3%A9"),
        ("/caf\u0142", "https://h.test/caf%C5%82"),
        ("http://user:pw@g.test/", "http://g.test/"),
    ],
)
def test_rfc9110_10_2_2_location_is_resolved_against_the_request(location: str, target: str) -> None:
    assert redirect_target(reply(302, location=location)) == target


def test_ours_redirect_targets_use_the_parameters_of_the_crawl() -> None:
    answer = reply(302, location="/x?id=1&v=2")
    assert redirect_target(answer, UrlParams(drop=("v",))) == "https://h.test/x?id=1"
    verdict = IndexabilityJudge(SCOPE, UrlParams(drop=("v",))).verdict(answer, None)
    assert verdict.target == "https://h.test/x?id=1"


@pytest.mark.parametrize(
    ("status", "state"),
    [
        *[(status, State.CLIENT_ERROR) for status in (400, 401, 403, 404, 410, 418, 429, 451, 499)],
        *[(status, State.SERVER_ERROR) for status in (500, 502, 503, 504, 520, 599)],
        *[(status, State.BAD_ANSWER) for status in (100, 201, 202, 204, 206, 304, 305, 306, 399, 600, 999)],
    ],
)
def test_rfc9110_statuses(status: int, state: State) -> None:
    verdict = judge(reply(status), None)
    assert verdict.state is state
    assert str(status) in verdict.reason


def test_ours_300_without_a_location_is_no_page_for_only_200_is() -> None:
    assert not is_readable(reply(300))
    assert judge(reply(300), Page()).state is State.BAD_ANSWER
    assert not is_readable(reply(300, location="/x"))


def test_ours_what_may_pass_is_tried_again() -> None:
    assert [status for status in range(100, 1_000) if is_transient(status)] == [
        *(408, 425, 429, 500, 502, 503, 504, 507, 509),
        *(*range(520, 528), 529, 530),
    ]


@pytest.mark.parametrize(
    ("label", "name", "readable"),
    [
        ("text/html", "text/html", True),
        ("TEXT/HTML;charset=UTF-8", "text/html", True),
        (" text/html;;charset=;x", "text/html", True),
        ("text/html, text/html; charset=utf-8", "text/html", True),
        ("application/xhtml+xml", "application/xhtml+xml", True),
        ("", "", True),
        ("html", "", True),
        ("*/*", "*/*", True),
        ("text/xml", "text/xml", True),
        ("text/plain", "text/plain", False),
        ("application/pdf", "application/pdf", False),
        ("application/octet-stream", "application/octet-stream", False),
        ("text/html2", "text/html2", False),
    ],
)
def test_ours_content_types_are_read_with_tolerance(label: str, name: str, readable: bool) -> None:
    assert parse_media_type(label) == name
    assert (is_html_type(name) is not False) is readable
    assert is_readable(reply(content_type=label)) is readable
    verdict = judge(reply(content_type=label), Page() if readable else None)
    assert verdict.state is (State.INDEXABLE if readable else State.WRONG_TYPE)
    assert readable or verdict.reason == f"{name} is not HTML"


def test_ours_a_feed_is_told_to_be_one() -> None:
    verdict = judge(reply(content_type="application/rss+xml"), Page(is_html=False))
    assert verdict.state is State.WRONG_TYPE
    assert verdict.reason == "application/rss+xml is a feed, read for its links, and not HTML"


def test_ours_wrong_types_and_parse_failures_are_told_apart() -> None:
    assert judge(reply(), Page(is_html=False)).state is State.WRONG_TYPE
    assert "Content-Type is text/html" in judge(reply(), Page(is_html=False)).reason
    failed = judge(reply(), Page(is_html=False, faults=["could not be read (parse.crash)"], fallback="parse.crash"))
    assert failed == Verdict(State.PARSE_FAILED, "could not be read (parse.crash)")
    assert judge(reply(), None) == Verdict(State.PARSE_FAILED, "the page was not read")
    scanned = judge(reply(), Page(fallback="parse.timeout"))
    assert scanned.state is State.INDEXABLE
    assert "parse.timeout" in scanned.reason


def test_google_noindex_is_quoted() -> None:
    page = Page(noindex='meta robots "noindex"', canonicals=[OTHER])
    assert judge(reply(), page) == Verdict(State.NOINDEX, 'meta robots "noindex"')
    assert judge(reply(), page, IndexabilityJudge(SCOPE, respect_noindex=False)).state is State.CANONICAL_ELSEWHERE


def test_google_noindex_for_one_search_engine_keeps_the_page_out_unless_told_otherwise() -> None:
    page = Page(engine_noindex='only for googlebot: meta googlebot "noindex"')
    assert judge(reply(), page) == Verdict(State.NOINDEX, 'only for googlebot: meta googlebot "noindex"')
    for judging in (
        IndexabilityJudge(SCOPE, respect_engine_noindex=False),
        IndexabilityJudge(SCOPE, respect_noindex=False),
    ):
        assert judge(reply(), page, judging).state is State.INDEXABLE


@pytest.mark.parametrize(
    ("page", "state"),
    [
        (Page(noindex="noindex"), State.NOINDEX),
        (Page(engine_noindex="noindex"), State.NOINDEX),
        (Page(canonicals=[OTHER]), State.CANONICAL_ELSEWHERE),
    ],
)
def test_google_what_a_page_says_of_itself_is_obeyed_by_default(page: Page, state: State) -> None:
    assert judge(reply(), page, IndexabilityJudge(SCOPE)).state is state


@pytest.mark.parametrize(("expires", "state"), [(-1.0, State.NOINDEX), (0.0, State.INDEXABLE), (1.0, State.INDEXABLE)])
def test_google_a_page_is_unavailable_after_its_date(expires: float, state: State) -> None:
    evidence = 'meta robots "unavailable_after: 1969-12-31"'
    verdict = judge(reply(), Page(expires=expires, expires_evidence=evidence))
    assert verdict == Verdict(state, evidence if state is State.NOINDEX else "")
    obeying = IndexabilityJudge(SCOPE, respect_noindex=False)
    assert judge(reply(), Page(expires=-1.0, expires_evidence=evidence), obeying).state is State.INDEXABLE


def test_google_one_canonical_elsewhere_keeps_the_page_out() -> None:
    verdict = judge(reply(), Page(canonicals=[OTHER]))
    assert verdict == Verdict(State.CANONICAL_ELSEWHERE, f"canonical is {OTHER}", OTHER)
    assert (
        judge(reply(), Page(canonicals=[OTHER]), IndexabilityJudge(SCOPE, respect_canonical=False)).state
        is State.INDEXABLE
    )


def test_google_canonicals_that_disagree_or_are_invalid_count_as_none() -> None:
    verdict = judge(reply(), Page(canonicals=[OTHER, HERE]))
    assert verdict.state is State.INDEXABLE
    assert verdict.reason == f"2 canonicals contradict one another, so none of them counts: {OTHER} and {HERE}"
    verdict = judge(reply(), Page(canonical_faults=["the canonical does not count: file:"]))
    assert verdict == Verdict(State.INDEXABLE, "the canonical does not count: file:")


def test_ours_a_refresh_is_a_redirect_unless_it_is_to_itself() -> None:
    assert judge(reply(), Page(refresh=OTHER)) == Verdict(State.REDIRECT, f"refreshes to {OTHER}", OTHER)
    assert judge(reply(), Page(refresh=HERE)).state is State.INDEXABLE


def test_sitemaps_org_what_the_sitemap_cannot_list() -> None:
    long = Url("https://h.test/docs/".ljust(2_048, "a"))
    assert judge(reply(url=long), Page()).state is State.TOO_LONG
    assert judge(reply(url=Url("https://h.test/")), Page()).state is State.OUT_OF_SCOPE
    assert judge(reply(url=Url("https://h.test/docs/secret")), Page()).state is State.EXCLUDED
    assert judge(reply(404, url=long)).state is State.CLIENT_ERROR


@pytest.mark.parametrize(
    ("url", "state"),
    [
        ("https://h.test/docs/".ljust(2_048, "a"), State.TOO_LONG),
        ("https://h.test/", State.OUT_OF_SCOPE),
        ("https://h.test/docs/secret", State.EXCLUDED),
        ("https://h.test/docs/a", State.INDEXABLE),
    ],
)
def test_ours_of_the_rules_on_urls_the_one_of_its_state_fits(url: str, state: State) -> None:
    case = RuleInput(reply(url=Url(url)), Page(), JUDGE, JUDGE.scope.may_list(Url(url)))
    found = [(rule.state, rule.decide(case)) for rule in INDEXABILITY_RULES[:-1]]
    assert [(of_rule, verdict.state) for of_rule, verdict in found if verdict] == (
        [(state, state)] if state is not State.INDEXABLE else []
    )


def test_ours_rules_are_tried_in_order_and_can_be_printed() -> None:
    everything = Page(noindex="x", canonicals=[OTHER], refresh=OTHER)
    assert judge(reply(404, location="/x"), everything).state is State.CLIENT_ERROR
    assert judge(reply(), everything).state is State.REDIRECT
    lines = indexability_table().splitlines()
    assert len(lines) == len(INDEXABILITY_RULES)
    assert lines[0].split()[:2] == ["1.", "3xx"]
    assert lines[-1].endswith("indexable")
    assert [line[:2].strip() for line in lines] == [str(number) for number in range(1, len(lines) + 1)]


def test_ours_failures_have_states() -> None:
    assert JUDGE.failure(Failure("net.refused", "refused", True)) == Verdict(State.UNREACHABLE, "refused")
    assert JUDGE.failure(Failure("body.bomb", "x", False)).state is State.BAD_ANSWER
    assert JUDGE.failure(Failure("http.bad_response", "x", True)).state is State.BAD_ANSWER
    assert JUDGE.failure(Failure("redirect.loop", "x", False)).state is State.BAD_ANSWER
    assert JUDGE.failure(Failure("time.total_deadline", "x", True)).state is State.UNREACHABLE
    assert JUDGE.failure(Failure("policy.private_address", "x", False)).state is State.UNREACHABLE
    assert JUDGE.failure(Failure("internal.error", "x", False)).state is State.INTERNAL_ERROR


def test_ours_a_cut_body_is_said() -> None:
    cut = Reply(HERE, 200, (), b"", 0.0, 0.1, cut="larger than 10 MiB")
    assert judge(cut, Page()) == Verdict(State.INDEXABLE, "only the beginning was read: larger than 10 MiB")


def test_rfc9110_a_status_that_has_a_name_is_told_by_it() -> None:
    assert judge(reply(404)).reason == "answered 404, not found"
    assert judge(reply(418)).reason == "answered 418"
    assert judge(reply(599)).reason == "answered 599"


def test_ours_a_body_that_is_not_html_is_told_by_its_label() -> None:
    assert judge(reply(), Page(is_html=False)).reason == "the body is not HTML, although its Content-Type is text/html"
    xml = Reply(HERE, 200, (("content-type", "text/xml"),), b"", 0.0, 0.1)
    assert judge(xml, Page(is_html=False)).reason == "the body is not HTML, and its Content-Type is text/xml"
    unlabelled = Reply(HERE, 200, (), b"", 0.0, 0.1)
    assert judge(unlabelled, Page(is_html=False)) == Verdict(State.WRONG_TYPE, "no HTML")
    assert judge(reply(), Page(is_html=False, faults=[EMPTY_BODY])) == Verdict(State.WRONG_TYPE, "the body is empty")
    assert is_readable(unlabelled)


@pytest.mark.parametrize(("headers", "label"), [((("content-encoding", "br"),), "br"), ((), "compressed")])
def test_rfc9110_8_4_a_body_that_is_not_compressed_as_labelled_is_no_page(
    headers: tuple[tuple[str, str], ...], label: str
) -> None:
    answer = Reply(HERE, 200, headers, b"", 0.0, 0.1, is_miscoded=True)
    reason = f"labelled {label}, but not compressed: browsers cannot show it"
    assert judge(answer, Page()) == Verdict(State.BAD_ANSWER, reason)


def test_ours_a_page_that_no_parser_could_read_has_its_first_three_faults() -> None:
    page = Page(is_html=False, faults=["a", "b", "c", "d"], fallback="parse.crash")
    assert judge(reply(), page) == Verdict(State.PARSE_FAILED, "a; b; c")
    assert judge(reply(), Page(is_html=False, fallback="parse.crash")) == Verdict(State.PARSE_FAILED, "parse.crash")


def test_ours_the_part_that_was_not_read_is_told_of_every_page() -> None:
    cut = Reply(HERE, 200, (), b"", 0.0, 0.1, cut="larger than 10 MiB")
    unread = "only the beginning was read: larger than 10 MiB"
    elsewhere = judge(cut, Page(canonicals=[OTHER]))
    assert elsewhere == Verdict(State.CANONICAL_ELSEWHERE, f"canonical is {OTHER}; {unread}", OTHER)
    assert judge(cut, Page(noindex="x")) == Verdict(State.NOINDEX, f"x; {unread}")
    assert judge(cut, Page(is_html=False)) == Verdict(State.WRONG_TYPE, "no HTML")
    assert judge(reply(), Page(noindex="x", faults=["bad image"])) == Verdict(State.NOINDEX, "x")


def test_ours_an_indexable_page_has_two_notes_of_each_kind() -> None:
    page = Page(
        canonicals=[OTHER, HERE, Url("https://h.test/docs/third")],
        canonical_faults=["c1", "c2", "c3"],
        faults=["f1", "f2", "f3"],
        video_faults=["v1", "v2", "v3"],
        refresh=HERE,
        fallback="parse.timeout",
    )
    contradiction = f"3 canonicals contradict one another, so none of them counts: {OTHER} and {HERE}"
    assert judge(reply(), page) == Verdict(
        State.INDEXABLE,
        f"{contradiction}; c1; c2; f1; f2; v1; v2; the page refreshes itself; read without most of its elements: "
        "parse.timeout",
    )
