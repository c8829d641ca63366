"""The pages as text: what they tell of sites that are well, in trouble, new or damaged, and in which order."""

import json
import re
from contextlib import closing
from html import unescape
from pathlib import Path
from urllib.parse import urljoin

import pytest
from selectolax.lexbor import LexborHTMLParser
from web_made import DAY, HOME, NOW, PAGES, Seen, attempt, audited, board, replace, site, state, usual
from web_served import serving

from crawler.audit.summary import NewFinding
from crawler.model import Reply, Url
from crawler.notify.ledger import Ledger, SentMessage, SubmissionStatus
from crawler.notify.notice import Occasion, SendStatus
from crawler.robots.cache import RobotsStore
from crawler.robots.rules import disallow_all, parse_robots
from crawler.schedule.status import ScheduleStatus, SiteStatus
from crawler.schedule.web.app import health_response
from crawler.schedule.web.metrics import SiteMetrics, exposition
from crawler.schedule.web.pages import relative_time, site_row, time_text
from crawler.schedule.web.snapshots import SiteSnapshot, condition, read_snapshot
from crawler.state.runs import PublishedFile, RunStatus, RunStore
from crawler.state.schema import STATE_DB


def words(html: str) -> str:
    """What a person reads, on one line."""
    body = re.sub("(?s)<(style).*?</\\1>", " ", html)
    text = " ".join(unescape(re.sub("<[^>]*>", " ", body)).split())
    return re.sub(" ([,:])", r"\1", text)


def shown(made: ScheduleStatus, path: str = "/") -> str:
    with serving(made, serve_sitemaps=True) as served:
        return words(served.text(path))


def rows(html: str) -> list[str]:
    """The sites of the table, in its order."""
    return re.findall(r'<th scope="row" class="row"><a href="\./sites/([^"]*)"', html)


def many(folder: Path) -> list[SiteStatus]:
    """Sites in every state."""
    failed = attempt(
        "blog", status=RunStatus.FAILED, exit_code=5, outcome="", run=None, message="robots.txt cannot be had"
    )
    broken = attempt(
        "Intranet", status=RunStatus.BROKEN, exit_code=2, run=None, message="output.directory is not writable"
    )
    untold = attempt("untold", notify_pending=True)
    news, by_hand = site(folder, "news"), site(folder, "by-hand", schedule="", next_at=None)
    refusal = "42 of 60 pages would leave without a good reason"
    state(news.state, [PAGES], ["sitemap.xml"], outcome="refused", refusal=refusal, exit_code=3)
    state(by_hand.state, [PAGES], ["sitemap.xml"])
    damaged = site(folder, "damaged")
    damaged.state.mkdir(parents=True)
    (damaged.state / "state.db").write_bytes(b"no database" * 1_000)
    return [
        usual(folder), by_hand, news, damaged,
        site(folder, "zebra"), site(folder, "Apple", running_since=NOW - 75),
        site(folder, "blog", last=failed, failures=3), site(folder, "Intranet", last=broken, next_at=None),
        usual(folder, "untold", last=untold, report=None),
    ]  # fmt: skip


def test_ours_trouble_comes_first_and_then_the_names(tmp_path: Path) -> None:
    with serving(board(*many(tmp_path))) as served:
        html = served.text("/")
        assert rows(html) == [
            "blog", "damaged", "Intranet", "news", "untold", "Apple", "by-hand", "shop", "zebra",
        ]  # fmt: skip
        told = words(html)
        for said in (
            "4 with errors", "1 with warnings", "1 running now", "12 pages listed",
            "failing 3 runs in a row failed: robots.txt cannot be had", "failed, exit code 5, took 1:30",
            "action needed output.directory is not writable", "refused 42 of 60 pages would leave", "not scheduled",
            "cannot be used as state", "running started 1 min ago", "not run yet", "in 3 h",
            "notifications of the last changes are not delivered yet", "1 added, 1 changed, 1 removed",
        ):  # fmt: skip
            assert said in told, said
        assert '<th scope="col">Audit</th>' not in html
        assert rows(served.text("/?q=Z")) == ["zebra"]
        assert rows(served.text("/?q=FAILING%20bl")) == ["blog"]
        assert "1 of 9 sites" in words(served.text("/?q=zebra"))
        assert "No site matches" in words(served.text("/?q=%3Cnone%3E"))
        assert len(rows(served.text("/?q="))) == 9


def test_ours_the_page_of_all_sites_tells_the_last_audit_of_each(tmp_path: Path) -> None:
    shop, blog = usual(tmp_path), usual(tmp_path, "blog")
    audited(shop)
    audited(blog, failed="no log")
    with serving(board(shop, blog, site(tmp_path, "new"))) as served:
        html = served.text("/")
    told = words(html)
    assert '<th scope="col">Audit</th>' in html
    assert told.count("2 days ago 5 findings (1 error, 4 warnings), 2 new, 1 resolved") == 2
    assert told.count("the last audit failed") == 1


@pytest.mark.thorough
def test_ours_a_site_has_all_that_is_known_of_it(tmp_path: Path) -> None:
    shop = usual(tmp_path)
    with Ledger.opened(shop.state, 100) as ledger:
        sent = SentMessage(
            at=NOW - 60, channel="webhook", occasion=Occasion.CHANGES, host="www.example.com", urls=3,
            reception=SendStatus.DEFERRED, said="answered 503",
        )  # fmt: skip
        ledger.set_channels(["webhook", "search console", "webhook https://hooks.example.com 0a1b2c3d"])
        ledger.store_submission_status(
            SubmissionStatus(channel="search console", at=NOW - 7200, errors=2, sentence="Google read it <i>")
        )
        line = ledger.begin_delivery(ledger.start("webhook", 1), 2)
        ledger.defer(line, "answered 503", NOW + 500, sent)
    with serving(board(shop), serve_sitemaps=True) as served:
        html = served.text("/sites/shop")
        told = words(html)
        for said in (
            "Not notified webhook has not received: changes since run 1: answered 503",
            "3 pages listed", "every day at 03:30, Europe/Berlin", "1 added, 1 changed, 1 removed",
            "https://example.com/new found by a link, first on https://example.com/",
            "https://example.com/a its content changed · lastmod 2026-01-01, now 2026-01-02",
            "https://example.com/b nothing leads to it any more", "2 Jan 2026, 00:00 UTC", "54.3 kB",
            "webhook notified of all changes up to run 1", "search console not notified of any change yet",
            "webhook https://hooks.example.com 0a1b2c3d not notified of any change yet", "The eight digits identify",
            "pending: changes since run 1: answered 503",
            "Google read it <i> checked 2 h ago", "changes, 3 URLs of www.example.com: later", "audit.html",
            "sitemap-1.xml",
        ):  # fmt: skip
            assert said in told, said
        assert told.index("removed 1") < told.index("changed 1") < told.index("added 1"), "what left comes first"
        for link in re.findall(r'href="([.?][^"]*)"', html):
            assert served.ask(urljoin("/sites/shop", unescape(link)).partition("#")[0])[0] == 200, link
        assert "Run 1" in words(served.text("/sites/shop?run=1"))
        assert "This site has no run 77" in words(served.text("/sites/shop?run=77"))
        for odd in ("x", "", "-1", "%F0%9F%92%A9", "%D9%A1"):
            assert served.ask(f"/sites/shop?run={odd}")[0] == 200


def test_ours_the_last_audit_is_told_with_what_is_new_and_why_the_next_told_nothing(tmp_path: Path) -> None:
    evil = "<script>alert(1)</script>\"'\u202e\x1b[2J{{ 7 * 7 }}"
    shop = usual(tmp_path)
    first = [
        NewFinding(rule="orphan.log", severity="warning", title=evil, url=url, sentence=evil)
        for url in (f"https://www.example.com/{evil}", f"javascript:alert(1)//{evil}")
    ]
    audited(shop, first=first, verdict="inconclusive", why=f"a page failed {evil}", failed=f"no log {evil}")
    with serving(board(shop), serve_sitemaps=True) as served:
        html = served.text("/sites/shop")
    told = words(html)
    assert "2 days ago last audit 5 findings (1 error, 4 warnings), 2 new, 1 resolved" in told
    assert "Audited 2 days ago: 5 findings (1 error, 4 warnings), 2 new, 1 resolved." in told
    assert "The previous audit was 1 week ago" in told
    assert "Inconclusive: a page failed" in told
    assert "Orphans 5 (1 error, 4 warnings), 2 new, 1 resolved" in told
    assert "The last audit failed: no log" in told
    assert "New since the previous audit https://www.example.com/<script>alert(1)</script>" in told
    assert "audit.html" in told
    assert not [each for each in ("<script>", 'href="javascript') if each in html]
    assert not [each for each in ("\u202e", "\x1b") if each in told]  # a URL of ours has none to put in a href
    assert "49" not in told


def test_ours_the_findings_of_the_last_audits_are_told_by_class(tmp_path: Path) -> None:
    shop = usual(tmp_path)
    for number, rules in ((1, None), (2, {"orphan.log": 1_204}), (3, {"orphan.log": 9, "entry.gone": 2})):
        audited(
            shop, number=number, started=NOW - (9 - number) * DAY, rules=rules, unchecked=["health"] * (number == 2)
        )
    with serving(board(shop)) as served:
        tree = LexborHTMLParser(served.text("/sites/shop"))
    (table,) = tree.css("#audits ~ details table")
    rows = [[cell.text(strip=True) for cell in row.css("th, td")] for row in table.css("tr")]
    dash = "\u2013"
    assert rows[0] == ["Class", "3 Jan", "4 Jan", "5 Jan"]
    assert rows[1:] == [["Listed, but gone", dash, dash, "2"], ["In the logs, but not linked", dash, "1,204", "9"]]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("every", "failed", "said"),
    [
        (7 * DAY, "", "The next audit is due in 5 days, after a run."),
        (DAY, "", "The next audit follows the next run."),
        (7 * DAY, "no log", "The next audit follows the next run."),
        (None, "", ""),
    ],
)
def test_ours_when_the_next_audit_is_due_is_told(tmp_path: Path, every: float | None, failed: str, said: str) -> None:
    shop = usual(tmp_path, audit_every=every)
    audited(shop, failed=failed)
    with serving(board(shop), serve_sitemaps=True) as served:
        told = words(served.text("/sites/shop"))
    assert said in told
    assert ("The next audit" in told) == bool(said)


def test_ours_of_many_changes_the_first_of_each_kind_are_told_and_all_counted(tmp_path: Path) -> None:
    big = site(tmp_path, "big")
    state(big.state, [{f"/{number:04}": Seen() for number in range(300)}], ["sitemap.xml"])
    told = shown(board(big), "/sites/big")
    assert told.count("found by a link") == 200
    assert "added 300" in told
    assert "and 100 more" in told


def test_ours_what_is_long_ago_is_still_found_and_what_is_not_known_is_no_zero(tmp_path: Path) -> None:
    shop = site(tmp_path, "shop", last=attempt("shop", notify_pending=True))
    state(shop.state, [PAGES], ["sitemap.xml"])
    names = ["sitemap-2.xml", "sitemap-10.xml", "sitemap-1.xml", "sitemap.xml"]
    files = [PublishedFile(name, f"https://www.example.com/{name}", 3, 1_234) for name in names]
    none = dict.fromkeys(("added", "changed", "removed", "moved", "deindexed"), 0)
    nothing = {**none, "files": [], "exit_code": 5, "outcome": "nothing", "seconds": 0.0, "fetched": 0}
    with closing(STATE_DB.open(shop.state / "state.db")) as db:
        db.execute("PRAGMA synchronous = OFF")
        runs = RunStore(db)
        first = runs.get(1)
        for number in range(2, 40):
            runs.write(replace(first, number=number, outcome="unchanged", files=files, **none))
        runs.write(replace(first, number=40, refusal="no robots", listed=0, bytes=0, **nothing))
    with Ledger.opened(shop.state, 100) as ledger:
        ledger.set_channels(["webhook"])
    with serving(board(shop)) as served:
        html = served.text("/sites/shop")
        told = words(html)
        assert "Failed no robots" in told
        assert "no result, took" not in told
        assert "40 10" not in told
        row = words(html[html.index('data-name="Run">40<') :].partition("</tr>")[0])
        assert row.endswith("no result no robots \u2013 \u2013 \u2013 \u2013 5"), row
        assert "Run 1, 1 week ago: 3 added" in told
        assert "written by run 1" in told
        assert re.findall(r"<bdi>(sitemap[^<]*)</bdi>", html) == [names[3], names[2], names[0], names[1]]
        assert "?before=11#runs" in html
        older = served.text("/sites/shop?before=11")
        assert re.findall(r'data-name="Run">(\d+)<', older) == [str(number) for number in range(10, 0, -1)]
        assert "?before=" not in older
        assert "There are no runs before run 1" in words(served.text("/sites/shop?before=1"))
        assert "lastmod" not in words(served.text("/sites/shop?run=1")), "it was the first"
        assert "siteatlas_site_last_run_requests{" not in served.text("/metrics")
        assert 'siteatlas_site_notify_pending{site="shop"} 0.0' in served.text("/metrics"), "the ledger knows better"


def test_ours_a_failed_upload_is_shown_until_a_run_has_made_it_good(tmp_path: Path) -> None:
    shop = site(tmp_path, "shop")
    state(shop.state, [PAGES], ["sitemap.xml"], reason="s3 answered 503", exit_code=7)
    with serving(board(shop)) as served:
        assert "not uploaded s3 answered 503" in words(served.text("/"))
        assert 'siteatlas_site_last_run_exit_code{site="shop"} 7.0' in served.text("/metrics")


def test_ours_pages_renew_themselves_below_any_path_unless_they_are_being_read(tmp_path: Path) -> None:
    with serving(board(usual(tmp_path)), serve_sitemaps=True) as served:
        for path in ("/", "/sites/shop", "/sites/shop?still", "/sites/shop?run=1", "/?q=shop", "/a/b/c"):
            _, headers, body = served.ask(path)
            html = body.decode()
            assert headers.get("refresh") == ("60" if path in ("/", "/sites/shop") else None), path
            assert ("stop reloading" in html) == (path in ("/", "/sites/shop")), path
            assert not re.findall(r'(?:href|action)="/', html), "a proxy may put it elsewhere"
            roots = {urljoin(f"/below{path}", each) for each in re.findall(r'href="([./]+)"', html)}
            assert roots <= {"/below/"}, path


_STATEMENTS = {
    "foreign": "PRAGMA application_id = 1",
    "newer": "PRAGMA user_version = 9999",
    "norun": "DROP TABLE run",
    "nochange": "DROP TABLE change",
    "nopublished": "DROP TABLE published",
    "number": "UPDATE run SET listed = 'many', started = 1e300",
    "moments": "UPDATE run SET started = -9e999, ended = 9e999, seconds = 9e999",
    "json": "UPDATE run SET notes = '{', files = '[1]'",
}


def damaged(folder: Path, name: str) -> SiteStatus:
    """A site whose state is not as it should be."""
    made = usual(folder, name, report=None)
    path = made.state / "state.db"
    with closing(STATE_DB.open(path)) as db:
        db.execute("PRAGMA journal_mode = DELETE")
        db.execute(_STATEMENTS.get(name, "PRAGMA user_version"))
    if name == "garbage":
        path.write_bytes(b"garbage" * 1_000)
    elif name == "directory":
        path.unlink()
        path.mkdir()
    elif name == "circle":
        path.unlink()
        path.symlink_to(path)
    elif name == "notify":
        (made.state / "notify.db").write_bytes(b"garbage" * 1_000)
    return made


def test_ours_a_state_that_cannot_be_read_is_told_and_never_an_error(tmp_path: Path) -> None:
    told = [*_STATEMENTS, "garbage", "notify"]
    sites = [damaged(tmp_path, name) for name in (*told, "directory", "circle")]
    with serving(board(*sites), serve_sitemaps=True) as served:
        assert served.ask("/")[0] == 200
        assert served.ask("/metrics")[0] == 200
        for made in sites:
            page = served.text(f"/sites/{made.name}")
            is_told = "notice error" in page or "Unreadable" in page
            assert is_told == (made.name in told), made.name
            assert served.ask(f"/published/{made.name}/sitemap.xml")[0] in (200, 404, 503), made.name


def test_ours_the_daemon_tells_what_is_wrong_with_itself(tmp_path: Path) -> None:
    told = shown(
        board(usual(tmp_path), is_stopping=True, is_alive=False, config_error="line 3: <no key>", trouble="disk full")
    )
    for said in (
        "The daemon is stopping",
        "The daemon is not running",
        "line 3: <no key>",
        "The daemon starts no runs. disk full",
    ):
        assert said in told
    assert "names no site" in shown(board())


@pytest.mark.parametrize(
    ("values", "tone", "word"),
    [
        ({}, "quiet", "not run yet"),
        ({"failures": 1, "last": attempt("x", status=RunStatus.FAILED, message="why")}, "error", "failing"),
        ({"last": attempt("x", status=RunStatus.BROKEN, message="why"), "failures": 2}, "error", "action needed"),
        ({"running_since": NOW}, "running", "running"),
        ({"last": attempt("x", notify_pending=True)}, "warning", "not notified"),
        ({"last": attempt("x", status=RunStatus.BUSY)}, "quiet", "not run yet"),
    ],
)
def test_ours_a_site_is_told_in_a_word(tmp_path: Path, values: dict[str, object], tone: str, word: str) -> None:
    found = condition(site(tmp_path, "x", **values), SiteSnapshot())
    assert (found.tone, found.word) == (tone, word)


def test_ours_a_run_that_was_stopped_is_not_told_as_one_that_failed(tmp_path: Path) -> None:
    shop = site(tmp_path, "x", failures=2, last=attempt("x", status=RunStatus.STOPPED, message="it was interrupted"))
    told = condition(shop, SiteSnapshot()).sentence
    assert told == "failing: 2 runs in a row failed, and one after that was stopped: it was interrupted"


def test_ours_the_last_run_of_a_site_may_be_one_that_was_cut_short(tmp_path: Path) -> None:
    cut = {"outcome": "cut short", "ended": None, "exit_code": 4, "refusal": "the site is down"}
    made = site(tmp_path, "shop")
    state(made.state, [PAGES, PAGES], ["sitemap.xml"], **cut)
    row = site_row(made, read_snapshot(made.state, SiteSnapshot()))
    assert (row.condition.word, row.ended and row.ended.outcome) == ("failed", "cut short")
    tried = attempt(
        "shop", status=RunStatus.FAILED, outcome="cut short", run=2, ended=NOW - 5
    )  # the day after it began
    row = site_row(replace(made, last=tried), read_snapshot(made.state, SiteSnapshot()))
    assert row.ended
    assert row.ended.at == NOW - 5


def test_ours_a_site_whose_runs_published_nothing_is_not_called_healthy(tmp_path: Path) -> None:
    shop = site(tmp_path, "shop")
    state(shop.state, [PAGES], [], outcome="dry run")
    assert condition(shop, read_snapshot(shop.state, SiteSnapshot())).word == "not published"


def test_ours_a_robots_file_that_fails_needs_attention_until_it_can_be_read(tmp_path: Path) -> None:
    shop = usual(tmp_path)
    with closing(STATE_DB.open(shop.state / STATE_DB.file)) as db:
        rules, store = parse_robots(b"", "siteatlas", NOW), RobotsStore(db)
        answer = Reply(Url(f"{HOME}/robots.txt"), 200, (), b"", NOW, 0.1)
        store.put(HOME, rules, answer, NOW)
        assert condition(shop, read_snapshot(shop.state, SiteSnapshot())).word == "healthy"
        store.put(HOME, disallow_all("robots.txt answered 500", NOW), None, NOW + 1)
        snapshot = read_snapshot(shop.state, SiteSnapshot())
        found = condition(shop, snapshot)
        assert (found.tone, found.word) == ("warning", "robots.txt fails")
        assert found.reason.startswith("at the last request, robots.txt answered 500: ")
        metrics = exposition(SiteMetrics(board(shop), {shop.name: snapshot}), "")[0].decode()
        assert 'siteatlas_site_attention{site="shop"} 1.0' in metrics
        assert "robots.txt answered 500" in json.dumps(health_response(board(shop), "", {shop.name: snapshot})[1])
        store.put(HOME, rules, answer, NOW + 2)
        assert condition(shop, read_snapshot(shop.state, SiteSnapshot())).word == "healthy"


def test_ours_a_good_run_by_hand_clears_the_failures_before_it(tmp_path: Path) -> None:
    last = attempt("shop", status=RunStatus.FAILED, exit_code=5, run=1)
    early, late = replace(last, run=None, ended=0.0), replace(last, run=None, ended=NOW)
    shop = usual(tmp_path, last=early, failures=2)
    snapshot = read_snapshot(shop.state, SiteSnapshot())
    assert condition(shop, snapshot).word == "healthy"
    assert condition(replace(shop, last=late), snapshot).word == "failing"
    seen = {"shop": snapshot, "late": snapshot}
    _, told = health_response(board(shop, replace(shop, name="late", last=late)), "", seen)
    assert told["failing"] == {"late": 2}


def test_ours_an_error_of_a_moment_keeps_what_was_known(tmp_path: Path) -> None:
    shop = usual(tmp_path)
    with serving(board(shop)) as served:
        assert "Healthy" in words(served.text("/sites/shop"))
        for path in shop.state.glob("state.db*"):
            path.unlink()
        (shop.state / "state.db").write_bytes(b"garbage" * 10_000)
        told = ""
        for _ in range(2_000):
            told = words(served.text("/sites/shop"))
            if "Unreadable" in told:
                break
        assert "This page shows the last state that could be read." in told
        assert "3 pages listed" in told


def test_ours_distances_in_time_are_told_in_words() -> None:
    for seconds, told in {
        -2: "just now", -30: "30 s ago", -90: "1 min ago", -3_600: "1 h ago", -2 * DAY: "2 days ago", 90: "in 1 min",
        -8 * DAY: "1 week ago", -40 * DAY: "1 month ago", -800 * DAY: "2 years ago", 3 * 3_600 + 1: "in 3 h", 1: "now",
    }.items():  # fmt: skip
        assert relative_time(NOW + seconds, NOW) == told
    assert time_text(NOW) == "11 Jan 2026, 00:00 UTC"
    assert time_text(1e300) == "1e+300"


def test_ours_the_page_of_hundreds_of_sites_is_small_and_asks_the_disk_once(tmp_path: Path) -> None:
    shop = usual(tmp_path)
    sites = [replace(shop, name=f"site-{number:03}") for number in range(400)]
    with serving(board(*sites)) as served:
        html = served.text("/")
        assert len(rows(html)) == 400
        assert len(html) < 1_500_000


def test_ours_the_page_of_all_sites_links_to_the_tables_only_if_it_is_told_where_they_are(tmp_path: Path) -> None:
    made = board(usual(tmp_path))
    for given, expected in (({}, False), ({"explore": "http://127.0.0.1:8800/"}, True)):
        with serving(made, **given) as served:
            assert ('<a href="http://127.0.0.1:8800/"' in served.text("/")) is expected
