"""``/metrics`` and ``/healthz``: what machines are told of the daemon and its sites."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as prometheus
from web_made import DAY, LATER, NOW, PAGES, attempt, audited, board, replace, site, state, usual
from web_served import Served, serving

from crawler.notify.ledger import Ledger, SentMessage, SubmissionStatus
from crawler.notify.notice import Occasion, SendStatus
from crawler.schedule.web.metrics import SiteMetrics, exposition
from crawler.schedule.web.snapshots import SiteSnapshot, read_snapshot
from crawler.state.runs import RunStatus
from crawler.state.schema import STATE_DB

Samples = dict[str, dict[str, float]]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("metrics")
    failed = attempt("blog", status=RunStatus.FAILED, exit_code=-9, ended=NOW - 60, run=None, notify_pending=True)
    blog = site(folder, "blog", last=failed, failures=3, running_since=NOW - 5)
    state(blog.state, [PAGES], ["sitemap.xml"], outcome="refused", exit_code=3, kept=2)
    damaged = site(folder, "damaged", schedule="", next_at=None)
    damaged.state.mkdir(parents=True)
    (damaged.state / "state.db").write_bytes(b"no database" * 1_000)
    odd = site(folder, 'odd "na\\me\n', next_at=None)
    shop = usual(folder)
    audited(shop)
    audited(blog, before=None, failed="no log")
    with Ledger.opened(shop.state, 9) as ledger:
        ledger.set_channels(["search console", "webhook"])
        refuse(ledger, "webhook", "the receiver responded with 302")
        ledger.store_submission_status(
            SubmissionStatus(channel="search console", at=NOW, errors=2, warnings=1, sentence="")
        )
    (blog.state / "notify.db").write_bytes(b"no database" * 1_000)
    with serving(board(shop, blog, damaged, odd, config_error="line 3 is wrong")) as server:
        yield server


def refuse(ledger: Ledger, channel: str, reason: str) -> None:
    """A channel accepts two messages and refuses the next for good."""
    sent = SentMessage(at=NOW, channel=channel, occasion=Occasion.CHANGES, reception=SendStatus.ACCEPTED, said="")
    cursor = ledger.start(channel, 0)
    for run in (1, 2):
        cursor = ledger.delivered(ledger.begin_delivery(cursor, run), run, sent)
    refused = replace(sent, reception=SendStatus.REFUSED, said=reason)
    ledger.refuse(ledger.begin_delivery(cursor, 5), None, refused)


def samples(text: str) -> Samples:
    """The values by metric and site; by kind where there is one."""
    found: Samples = {}
    for family in prometheus(text):
        assert family.documentation
        for each in family.samples:
            assert set(each.labels) <= {"site", "kind", "severity", "result", "version"}
            key = "/".join(each.labels[name] for name in ("site", "kind", "severity", "result") if name in each.labels)
            assert key not in found.setdefault(each.name, {}), "no sample is told twice"
            found[each.name][key] = each.value
    return found


def test_ours_metrics_tell_how_each_site_stands(served: Served) -> None:
    status, headers, body = served.ask("/metrics")
    assert (status, headers["content-type"].split(";")[0]) == (200, "text/plain")
    told = samples(body.decode())

    def of(name: str) -> dict[str, float]:
        return told[f"siteatlas_site_{name}"]

    every = ["shop", "blog", "damaged", 'odd "na\\me\n']
    assert told["siteatlas_sites"] == {"": 4}
    assert told["siteatlas_build_info"] == {"": 1}
    assert told["siteatlas_config_last_reload_successful"] == {"": 0}
    assert told["siteatlas_config_last_reload_success_timestamp_seconds"] == {"": NOW - 3600}
    assert told["siteatlas_start_time_seconds"] == {"": NOW - 2 * DAY}
    assert of("running") == {name: name == "blog" for name in every}
    assert of("scheduled") == {name: name != "damaged" for name in every}
    assert of("consecutive_failures") == {name: 3 * (name == "blog") for name in every}
    assert of("notify_pending") == {name: name == "blog" for name in every}
    assert of("state_readable") == {name: name != "damaged" for name in every}
    assert set(of("next_run_timestamp_seconds")) == {"shop", "blog"}
    assert of("last_run_exit_code") == {"shop": 0, "blog": -9}
    assert of("last_run_timestamp_seconds")["blog"] == NOW - 60
    assert of("last_success_timestamp_seconds")["shop"] < NOW
    assert of("last_run_duration_seconds") == {"shop": 83, "blog": 83}
    assert of("last_run_requests") == {"shop": 3, "blog": 3}
    assert of("last_run_received_bytes") == {"shop": 54_321, "blog": 54_321}
    assert of("listed_pages") == {"shop": 3, "blog": 3}
    assert of("search_console_errors") == {"shop": 2}
    assert of("search_console_warnings") == {"shop": 1}
    assert of("last_audit_timestamp_seconds") == {"shop": NOW - 2 * DAY, "blog": NOW - 2 * DAY}
    assert of("last_audit_findings")["shop/warning"] == 4
    assert of("last_audit_new_findings") == {"shop": 2}
    assert of("last_audit_mended_findings") == {"shop": 1}
    assert of("audit_failed") == {"shop": 0, "blog": 1}
    assert of("runs_total") == {"shop/published": 2, "blog/refused": 1}
    assert of("run_requests_total") == {"shop/published": 6, "blog/refused": 3}
    assert of("run_received_bytes_total")["shop/published"] == 2 * 54_321
    assert of("run_seconds_total")["shop/published"] == 2 * 83
    assert of("audits_total") == {"shop/audited": 1, "blog/audited": 1, "blog/nothing": 1}
    assert of("messages_total") == {"shop/accepted": 2, "shop/refused": 1}
    assert of("refused_messages") == {"shop": 1}
    assert of("last_run_changes")["shop/added"] == 1
    assert of("last_run_changes")["shop/deindexed"] == 0


def test_ours_what_a_name_does_not_say_is_not_a_metric(served: Served) -> None:
    text = served.text("/metrics")
    names = {family.name for family in prometheus(text)}
    assert all(name.startswith("siteatlas_") for name in names)
    assert not any(name.endswith(("_count", "_sum", "_bucket")) for name in names)
    for family in prometheus(text):
        is_counter = all(each.name.endswith("_total") for each in family.samples) and bool(family.samples)
        assert is_counter is (family.type == "counter"), family.name
    assert "www.example.com" not in text, "labels have no URLs"


def test_ours_openmetrics_is_told_to_who_asks_for_it(served: Served) -> None:
    _, headers, body = served.ask("/metrics", Accept="application/openmetrics-text; version=1.0.0")
    assert headers["content-type"].startswith("application/openmetrics-text")
    assert len(list(openmetrics(body.decode()))) == len(list(prometheus(served.text("/metrics"))))


def test_ours_a_failing_site_does_not_make_the_daemon_unhealthy(served: Served) -> None:
    status, headers, body = served.ask("/healthz")
    assert (status, headers["content-type"]) == (200, "application/json")
    told = json.loads(body)
    assert told["status"] == "degraded", "by the changed configuration alone"
    assert told["sites"] == 4
    assert told["running"] == ["blog"]
    assert told["failing"] == {"blog": 3}
    assert told["config_error"] == "line 3 is wrong"
    assert told["uptime_seconds"] == 2 * DAY


def test_ours_a_refused_message_and_audit_errors_need_attention_everywhere(tmp_path: Path) -> None:
    well, broken, refused = (usual(tmp_path, name) for name in ("well", "broken", "refused"))
    audited(well, severities={"error": 0, "warning": 4, "note": 2})
    audited(broken, severities={"error": 2, "warning": 0, "note": 0})
    with Ledger.opened(refused.state, 9) as ledger:
        ledger.set_channels(["webhook"])
        refuse(ledger, "webhook", "the receiver responded with 302")
    said = "webhook refused a message, from run 2 to run 5: the receiver responded with 302"
    with serving(board(well, broken, refused)) as served:
        told = json.loads(served.text("/healthz"))
        page = served.text("/")
    assert told["status"] == "ok"
    assert told["attention"] == {
        "broken": "audit errors: the last audit found 2 errors on the site",
        "refused": f"message refused: {said}",
    }
    assert told["refused_messages"] == {"refused": 1}
    assert told["audit_errors"] == {"broken": 2}
    assert said in page
    assert page.count("healthy") == 1


def test_ours_a_state_that_cannot_be_read_in_time_does_not_delay_healthz(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    served.text("/healthz")
    begun, go_on = time.monotonic(), threading.Event()
    monkeypatch.setattr("crawler.schedule.web.snapshots._signature", lambda _: (go_on.wait(20), ())[1])
    try:
        told = [json.loads(served.text("/healthz")) for _ in range(2)]
        assert time.monotonic() - begun < 8
    finally:
        go_on.set()
    assert [each["audit_errors"] for each in told] == [{"shop": 1, "blog": 1}] * 2, "what was read last"


@pytest.mark.parametrize("why", ["stopping", "history", "loop"])
def test_ours_a_daemon_that_does_not_do_its_work_is_unhealthy(served: Served, why: str) -> None:
    before = served.board
    try:
        if why == "loop":
            served.trouble = "the loop has not looked for 90 s"
        elif why == "history":
            served.board = replace(before, trouble="the disk is full")
        else:
            served.board = replace(before, is_stopping=True)
        status, _, body = served.ask("/healthz")
        assert (status, json.loads(body)["status"]) == (503, "unhealthy")
        assert {"loop": "90 s", "history": "full", "stopping": "stopping"}[why] in json.loads(body)["why"]
        assert served.ask("/")[0] == 200
    finally:
        served.board, served.trouble = before, ""


def test_ours_a_state_is_read_again_when_it_has_changed(tmp_path: Path) -> None:
    shop = site(tmp_path, "shop")
    with serving(board(shop)) as served:
        assert "siteatlas_site_listed_pages" not in samples(served.text("/metrics"))
        state(shop.state, [PAGES], ["sitemap.xml"])
        for _ in range(1_000):
            found = samples(served.text("/metrics")).get("siteatlas_site_listed_pages")
            if found:
                break
        assert found == {"shop": 3}


@pytest.mark.parametrize("values", [{"exit_code": 3}, {"exit_code": 7, "reason": "no route to the target"}])
def test_ours_a_run_that_held_pages_or_was_not_uploaded_is_no_success(
    tmp_path: Path, values: dict[str, object]
) -> None:
    shop = site(tmp_path, "shop", last=None)
    state(shop.state, [PAGES, LATER], ["sitemap.xml"], outcome="published", ended=NOW, **values)
    with closing(STATE_DB.open(shop.state / "state.db")) as db:
        db.execute("UPDATE run SET ended = ? WHERE number = 1", (NOW - DAY,))
        db.execute("UPDATE published SET kept = 2 WHERE id = (SELECT max(id) FROM published)")
        db.execute("UPDATE run SET started = ended")
    found = samples(
        exposition(SiteMetrics(board(shop), {"shop": read_snapshot(shop.state, SiteSnapshot())}), "")[0].decode()
    )
    assert found["siteatlas_site_last_success_timestamp_seconds"] == {"shop": NOW - DAY}
    assert found["siteatlas_site_consecutive_failures"] == {"shop": 1}
    assert found["siteatlas_site_held_pages"] == {"shop": 1}
