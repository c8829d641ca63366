"""``siteatlas schedule``: a daemon in a process of its own, real signals, real sites, configurations that change."""

import contextlib
import http.server
import itertools
import json
import os
import random
import re
import shutil
import signal
import socket
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from doubles_listener import Reply, listening
from doubles_mail import mailbox
from kept import Kept, kept, status, wait_for, write
from run import siteatlas
from scripted import Answer, Route, Site, links, scripted


def pages(count: int) -> dict[str, Route]:
    """A start page that leads to so many others."""
    return {"/": links(*(f"/p{n}" for n in range(1, count)))} | {f"/p{n}": f"<p>{n}" for n in range(1, count)}


@contextlib.contextmanager
def service_manager(path: Path) -> Iterator[list[str]]:
    """What a service manager hears at a socket."""
    heard: list[str] = []

    def listen() -> None:
        while told := manager.recv(4096):
            heard.extend(told.decode().split("\n"))

    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(path))
        listening = threading.Thread(target=listen)
        listening.start()
        try:
            yield heard
        finally:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
                end.sendto(b"", str(path))
            listening.join()


def listed(folder: Path, name: str) -> int:
    return (folder / "out" / name / "sitemap.xml").read_bytes().count(b"<loc>")


def test_ours_sites_are_run_a_changed_file_is_read_again_and_a_signal_ends_it(tmp_path: Path) -> None:
    notify = tmp_path / "notify"
    with scripted(pages(3)) as shop, service_manager(notify) as heard:
        write(tmp_path, shop=shop.url)
        with kept(tmp_path, NOTIFY_SOCKET=str(notify)) as daemon:
            daemon.said("schedules 1 site")
            daemon.said("shop: starts, for the first time")
            write(tmp_path, 'every = "1h"\nrun_on_start = false', shop=shop.url, blog="http://127.0.0.1:9/")
            daemon.said("the configuration was reloaded: added blog; changed shop")
            (tmp_path / "sites.toml").write_text("[sites.", encoding="utf-8")
            daemon.said("the configuration has an error")
            write(tmp_path, 'every = "1h"\nrun_on_start = false', shop=shop.url)
            daemon.said("the configuration was reloaded: removed blog")
            daemon.said("shop: published after")
            daemon.said("3 pages listed: 3 added")
            assert daemon.end() == 0
            assert daemon.text.count("the configuration has an error") == 1
            assert daemon.text.endswith("stopped\n")
    told = [line for line in heard if not line.startswith(("STATUS=", "MONOTONIC_USEC="))]
    assert told == ["READY=1", *["RELOADING=1", "READY=1"] * 3, "STOPPING=1"]
    assert listed(tmp_path, "shop") == 3
    (site,) = status(tmp_path)["sites"]
    assert [(each["trigger"], each["status"]) for each in site["schedule"]["attempts"]] == [("first", "done")]


def test_ours_a_mail_about_a_configuration_has_its_command_and_names_no_site_of_several(tmp_path: Path) -> None:
    with mailbox() as box:
        mail = f'[email]\nto = ["ops@site.test"]\nserver = "{box.address}"\n'
        write(tmp_path, 'every = "1h"\nrun_on_start = false', mail, shop="http://a.test/", blog="http://b.test/")
        with kept(tmp_path) as daemon:
            daemon.said("schedules 2 sites")
            (tmp_path / "sites.toml").write_text("[sites.", encoding="utf-8")
            wait_for(lambda: box.envelopes)
            text = box.envelopes[0].original_content.decode()
            assert daemon.end() == 0
    assert "Subject: sites.toml: problem: " in text
    assert f" run --config {tmp_path}/sites.toml\n" in text.replace("\r", "").replace("=\n", "")
    assert "a.test" not in text


@pytest.mark.parametrize(
    ("schedule", "words", "code", "said"),
    [
        ("", (), 2, 'no site in sites.toml has a schedule. Set every = "1d"'),
        ('cron = "61 * * * *"', (), 2, 'schedule.cron "61 * * * *" (sites.toml, line 13) cannot be used'),
        ('every = "1h"', ("--every", "1h", "--site", "nobody"), 2, 'no site "nobody"'),
        ('every = "1h"\n[webhook]\nurls = ["env:NOBODY"]', (), 2, 'site "a" in sites.toml: the environment variable'),
        ('every = "1h"', ("--listen", "nowhere"), 2, "is not an address. Write HOST:PORT"),
    ],
)  # fmt: skip
def test_ours_what_cannot_be_kept_is_told_in_one_line(
    tmp_path: Path, schedule: str, words: tuple[str, ...], code: int, said: str
) -> None:
    write(tmp_path, schedule, a="http://127.0.0.1:9/")
    ran = siteatlas(tmp_path, "schedule", "--config", "sites.toml", *words)
    assert (ran.code, said in ran.err, ran.err.count("\n")) == (code, True, 1), ran.err


@pytest.mark.parametrize(
    "schedule", ['cron = "3:30"', 'cron = "0 3 * * *"\ntimezone = "Mars"', 'cron = "0 3 * * *"\nevery = "1d"']
)
def test_ours_a_schedule_that_cannot_be_kept_is_refused_by_every_command(tmp_path: Path, schedule: str) -> None:
    write(tmp_path, schedule, a="http://127.0.0.1:9/")
    config = ("--config", "sites.toml")
    for words in (("run", *config, "--dry-run"), ("crawl", *config), ("status", *config), ("notify", *config)):
        ran = siteatlas(tmp_path, *words)
        assert (ran.code, "schedule." in ran.err, ran.err.count("\n")) == (2, True, 1), (words, ran.err)


def test_ours_a_second_daemon_and_a_taken_port_are_refused(tmp_path: Path) -> None:
    write(tmp_path, "every = '1h'\nrun_on_start = false", a="http://127.0.0.1:9/")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        listen = f"127.0.0.1:{taken.getsockname()[1]}"
        ran = siteatlas(tmp_path, "schedule", "--config", "sites.toml", "--listen", listen)
        assert (ran.code, f"cannot listen at {listen}" in ran.err) == (2, True), ran.err
    with kept(tmp_path) as daemon:
        daemon.said("schedules ")
        ran = siteatlas(tmp_path, "schedule", "--config", "sites.toml")
        assert (ran.code, f"process {daemon.process.pid}" in ran.err) == (6, True), ran.err
        assert status(tmp_path)["schedule"]["running"] == str(daemon.process.pid)
        assert daemon.end(signal.SIGINT) == 0
    assert status(tmp_path)["schedule"]["running"] is None


class Held:
    """A site of sixty pages, of which the last forty are not answered until they are let go."""

    def __init__(self) -> None:
        self.released = threading.Event()
        self.routes = pages(60) | {f"/p{n}": self._answer for n in range(20, 60)}

    def _answer(self, _: int) -> Answer:
        self.released.wait(60)
        return Answer("<p>at last")


def under_way(daemon: Kept, site: Site) -> int:
    """Wait until a run has asked for pages that are held; answers the number of its process."""
    wait_for(lambda: len(site.log) >= 22)
    (child,) = psutil.Process(daemon.process.pid).children()
    return int(child.pid)


def attempts(folder: Path) -> list[tuple[str, str | None, int | None]]:
    """Why the runs of the one site were begun, how they ended and what run it was, the first at the left."""
    (site,) = status(folder)["sites"]
    told = [(each["trigger"], each["status"], each["run"]) for each in site["schedule"]["attempts"]]
    return told[::-1]


@pytest.mark.slow
def test_ours_a_stop_saves_the_run_and_the_next_daemon_goes_on_with_it(tmp_path: Path) -> None:
    held = Held()
    with scripted(held.routes) as shop:
        write(tmp_path, shop=shop.url)
        with kept(tmp_path) as daemon:
            under_way(daemon, shop)
            daemon.send(signal.SIGTERM)
            daemon.said("stopping: 1 run may save state")
            assert daemon.process.wait(60) == 0
        asked = len(shop.log)
        held.released.set()
        with kept(tmp_path) as daemon:
            daemon.said("shop: starts, to continue a run that was cut short")
            daemon.said("shop: published")
            assert daemon.end() == 0
        assert attempts(tmp_path) == [("first", "stopped", 1), ("resumed", "done", 1)]
        assert len(shop.log) - asked < 60
    assert listed(tmp_path, "shop") == 60


@pytest.mark.slow
def test_ours_a_killed_daemon_leaves_nobody_behind_and_its_slot_is_done_once(tmp_path: Path) -> None:
    held = Held()
    with scripted(held.routes) as shop:
        write(tmp_path, shop=shop.url)
        with kept(tmp_path) as daemon:
            child = psutil.Process(under_way(daemon, shop))
            family = [child, *child.children()]
            daemon.send(signal.SIGKILL)
            daemon.process.wait(60)
            wait_for(lambda: not any(each.is_running() for each in family))
        held.released.set()
        with kept(tmp_path) as daemon:
            daemon.said("shop: published")
            assert daemon.end() == 0
        told = attempts(tmp_path)
        assert [each for each in told if each[1] == "done"] == [("resumed", "done", 1)]
        assert told[0] == ("first", None, None)
        (site,) = status(tmp_path)["sites"]
        assert len({each["slot"] for each in site["schedule"]["attempts"]}) == 1
        assert [run["number"] for run in site["runs"]] == [1]
    assert listed(tmp_path, "shop") == 60


@pytest.mark.slow
def test_ours_a_daemon_that_is_killed_again_and_again_does_each_slot_once_and_never_two_at_a_time(
    tmp_path: Path,
) -> None:
    moments = random.Random(7)
    delayed = {path: Answer(str(body), delay=0.1) for path, body in pages(8).items()}
    with scripted(delayed) as shop, scripted(delayed) as blog:
        write(tmp_path, 'every = "3s"\nretry_delay = 0.3', shop=shop.url, blog=blog.url)
        for _ in range(8):
            with kept(tmp_path) as daemon:
                daemon.said("starts, ")
                time.sleep(moments.uniform(0, 3))
                daemon.send(signal.SIGKILL)
                daemon.process.wait(60)
        with kept(tmp_path) as daemon:
            for name in ("shop", "blog"):
                daemon.said(f"{name}: unchanged after", 2)
            assert daemon.end() == 0
        told = status(tmp_path, "--runs", "1000")
    for site in told["sites"]:
        tried = site["schedule"]["attempts"][::-1]
        done = [each["slot"] for each in tried if each["status"] == "done"]
        assert done == sorted(set(done))
        slots = [each["slot"] for each in tried]
        assert slots == sorted(slots)
        for before, after in itertools.pairwise(tried):
            assert before["ended"] is None or before["ended"] <= after["began"]
        assert [run["completeness"] for run in site["runs"]] == ["complete"] * len(site["runs"])
        assert listed(tmp_path, site["name"]) == 8


@pytest.mark.slow
def test_ours_the_next_daemon_waits_for_a_run_that_outlived_the_last(tmp_path: Path) -> None:
    held = Held()
    with scripted(held.routes) as shop:
        write(tmp_path, 'every = "1h"\nretry_delay = 0.2', shop=shop.url)
        with kept(tmp_path) as daemon:
            child = psutil.Process(under_way(daemon, shop))
            child.suspend()  # it cannot hear that the daemon is gone
            daemon.send(signal.SIGKILL)
            daemon.process.wait(60)
        with kept(tmp_path) as daemon:
            daemon.said("shop: busy")
            child.resume()
            held.released.set()
            daemon.said("shop: published")
            assert daemon.end() == 0
        fates = [fate for _, fate, _ in attempts(tmp_path)]
        assert (fates[0], fates[1], fates[-1], fates.count("done")) == (None, "busy", "done", 1)


@pytest.mark.slow
def test_ours_a_killed_run_is_tried_again(tmp_path: Path) -> None:
    held = Held()
    with scripted(held.routes) as shop:
        write(tmp_path, 'every = "1h"\nretry_delay = 0.2', shop=shop.url)
        with kept(tmp_path) as daemon:
            os.kill(under_way(daemon, shop), signal.SIGKILL)
            daemon.said("shop: failed")
            held.released.set()
            daemon.said("shop: starts, again, because the last run failed (attempt 2)")
            daemon.said("shop: published")
            assert "its process was stopped by SIGKILL" in daemon.text
            assert daemon.end() == 0
        told = [each for each in attempts(tmp_path) if each[0] != "tell"]
        assert told == [("first", "failed", None), ("retry", "done", 1)]


@pytest.mark.slow
def test_ours_a_second_signal_stops_at_once(tmp_path: Path) -> None:
    with scripted({"/robots.txt": Answer("", delay=30)}) as shop:
        write(tmp_path, shop=shop.url)
        with kept(tmp_path) as daemon:
            wait_for(lambda: shop.log)
            (child,) = psutil.Process(daemon.process.pid).children()
            child.suspend()  # so that it does not stop when it is asked to
            daemon.send(signal.SIGTERM)
            daemon.said("stopping: 1 run")
            assert daemon.end(signal.SIGINT) == 0
            wait_for(lambda: not child.is_running())


@pytest.mark.slow
def test_ours_sighup_reads_again_at_once_and_other_settings_do_not_hold_up_a_run(tmp_path: Path) -> None:
    held = Held()
    daemon_section = "[daemon]\nlisten = ''\nreload_interval = 3600"
    with scripted(held.routes) as shop:
        write(tmp_path, more=daemon_section, shop=shop.url)
        with kept(tmp_path) as daemon:
            under_way(daemon, shop)
            assert daemon.end() == 0
        held.released.set()
        write(tmp_path, more=f"{daemon_section}\n[scope]\nexclude = ['/p1']", shop=shop.url)
        with kept(tmp_path) as daemon:  # the run that was cut short was begun with other settings
            daemon.said("shop: published")
            write(tmp_path, 'every = "2h"', more=daemon_section, shop=shop.url)
            daemon.send(signal.SIGHUP)
            daemon.said("the configuration was reloaded: changed shop")
            daemon.send(signal.SIGHUP)
            daemon.said("the configuration was reloaded: nothing changed")
            (tmp_path / "sites.toml").unlink()
            daemon.send(signal.SIGHUP)
            daemon.said("the configuration sites.toml cannot be read")
            assert daemon.end() == 0
    assert listed(tmp_path, "shop") == 59


@pytest.mark.thorough
def test_ours_the_log_of_the_daemon_calls_held_pages_held_and_says_why(tmp_path: Path) -> None:
    with scripted(pages(20)) as shop:
        write(tmp_path, 'every = "2s"', shop=shop.url)
        with kept(tmp_path) as daemon:
            daemon.said("shop: published")
            hidden = dict.fromkeys([f"/p{n}" for n in range(1, 20)], '<meta name="robots" content="noindex"><p>')
            shop.routes = {**shop.routes, **hidden}
            daemon.said("shop: held after")
            assert daemon.end() == 0
    (line,) = [line for line in daemon.text.splitlines() if "shop: held after" in line][:1]
    assert ": 19 of the 20 published pages would leave" in line


class Listener(http.server.ThreadingHTTPServer):
    """Stands for a webhook that takes its time: ``messages`` are those that it was sent.

    ``occasions`` are those of each delivery: a run that is killed before it records a delivery sends the same again.
    """

    daemon_threads = True

    def __init__(self, patient: threading.Event) -> None:
        self.messages: list[bytes] = []
        self.occasions: dict[str, str] = {}
        listener = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                listener.occasions[self.headers["X-Siteatlas-Delivery"]] = self.headers["X-Siteatlas-Event"]
                listener.messages.append(self.rfile.read(int(self.headers["Content-Length"])))
                patient.wait(60)
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        self.section = f'[webhook]\nurls = ["http://127.0.0.1:{self.server_port}/"]'
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def handle_error(self, *_: object) -> None:
        """Those who hang up are what a test is about."""

    def close(self) -> None:
        self.shutdown()
        self.server_close()


_QUICK = '[daemon]\nlisten = ""\nreload_interval = 0.05\n[notify]\ncheck_live = false\n'


@pytest.mark.thorough
def test_ours_a_daemon_whose_state_directory_is_removed_ends(tmp_path: Path) -> None:
    with scripted(pages(3)) as shop:
        write(tmp_path, 'every = "1h"', shop=shop.url)
        with kept(tmp_path) as daemon:
            daemon.said("shop: published")
            shutil.rmtree(tmp_path / "state")
            assert daemon.process.wait(60) == 7
            assert "/state was removed or replaced while the daemon ran, so the daemon ends" in daemon.text


@pytest.mark.thorough
def test_ours_the_daemon_tells_of_a_sitemap_that_the_site_does_not_serve(tmp_path: Path) -> None:
    with scripted(pages(3)) as shop:
        write(tmp_path, 'every = "1h"', "[notify]\n", shop=shop.url)
        with kept(tmp_path) as daemon:
            daemon.said("/sitemap.xml returns 404, and the sitemap is in /")
            assert daemon.end() == 0
    assert attempts(tmp_path) == [("first", "done", 1)]


@pytest.mark.slow
def test_ours_others_are_told_of_a_run_that_could_not_tell_it_itself(tmp_path: Path) -> None:
    held, patient = Held(), threading.Event()
    patient.set()
    with scripted(held.routes) as shop, contextlib.closing(Listener(patient)) as webhook:
        schedule = 'every = "1h"\nretry_delay = 0.2\nretries = 0'
        write(tmp_path, schedule, _QUICK + webhook.section, shop=shop.url)
        with kept(tmp_path) as daemon:
            os.kill(under_way(daemon, shop), signal.SIGKILL)
            daemon.said("shop: starts, to send outstanding notifications")
            daemon.said("shop: notified")
            assert daemon.end() == 0
    (message,) = webhook.messages
    assert b'"trouble"' in message
    assert b"its process was stopped by SIGKILL" in message
    assert attempts(tmp_path) == [("first", "failed", None), ("tell", "done", None)]


@pytest.mark.thorough
def test_ours_a_killed_run_is_told_by_the_next_one_and_once(tmp_path: Path) -> None:
    """Of a run that the kernel ends, nothing else is left to tell it before the next slot."""
    held, patient = Held(), threading.Event()
    patient.set()
    with scripted(held.routes) as shop, contextlib.closing(Listener(patient)) as webhook:
        write(tmp_path, 'every = "3s"\nretry_delay = 60', _QUICK + webhook.section, shop=shop.url)
        with kept(tmp_path) as daemon:
            for killed in range(1, 4):
                daemon.said("shop: starts, ", killed)
                wait_for(lambda: psutil.Process(daemon.process.pid).children())
                wait_for(lambda killed=killed: len(webhook.occasions) == min(killed - 1, 1))
                os.kill(under_way(daemon, shop), signal.SIGKILL)
                daemon.said("shop: failed", killed)
            held.released.set()
            daemon.said("shop: published")
            assert daemon.end() == 0
    assert [*webhook.occasions.values()] == ["trouble", "recovery", "changes"]
    assert b"its process was stopped by SIGKILL" in webhook.messages[0]


@pytest.mark.slow
def test_ours_a_stop_while_others_are_told_is_no_end_of_the_run_and_the_next_daemon_tells_them(tmp_path: Path) -> None:
    patient = threading.Event()
    with scripted(pages(3)) as shop, contextlib.closing(Listener(patient)) as webhook:
        write(tmp_path, 'every = "1h"\nretry_delay = 0.2', _QUICK + webhook.section, shop=shop.url)
        with kept(tmp_path) as daemon:
            wait_for(lambda: webhook.messages)
            assert daemon.end() == 0
            assert "shop: published" in daemon.text
        assert listed(tmp_path, "shop") == 3
        patient.set()
        asked = len(shop.log)
        with kept(tmp_path) as daemon:
            daemon.said("shop: notified")
            assert daemon.end() == 0
        assert len(shop.log) == asked
    assert attempts(tmp_path) == [("first", "done", 1), ("tell", "done", None)]
    assert len(webhook.messages) == 2
    assert webhook.messages[0] == webhook.messages[1]


@pytest.mark.parametrize(
    ("fault", "named"),
    [
        pytest.param("[daemon]\nlistn = 1", "daemon.listn", id="wrong key"),
        pytest.param('[indexnow]\nkey = "env:NOBODY"\n[daemon]', "NOBODY", id="no secret"),
    ],
)
def test_ours_a_configuration_that_cannot_be_used_is_told_once_and_so_is_its_end(
    tmp_path: Path, fault: str, named: str
) -> None:
    with scripted(pages(3)) as shop, listening() as hook:
        more = '[daemon]\nlisten = "127.0.0.1:0"\nreload_interval = 0.05\n'
        more += f'[webhook]\nurls = ["{hook.url}/message"]\n'
        schedule, sites = 'every = "1h"\nrun_on_start = false', {"shop": shop.url, "blog": "http://127.0.0.1:9/"}
        write(tmp_path, schedule, more, **sites)
        with kept(tmp_path) as daemon:
            daemon.said("http://127.0.0.1:")
            (url,) = re.findall(r"http://127.0.0.1:[0-9]+", daemon.text)
            write(tmp_path, schedule, more.replace("[daemon]", fault), **sites)
            wait_for(lambda: hook.heard)
            daemon.send(signal.SIGHUP)
            daemon.said("stays in use", 2)
            with urllib.request.urlopen(f"{url}/healthz", timeout=10) as answer:
                health = json.loads(answer.read())
            told = siteatlas(tmp_path, "status", "--state", "state", "--json").out
            write(tmp_path, schedule, more, **sites)
            daemon.said("the configuration was reloaded")
            wait_for(lambda: len(hook.heard) == 2)
            assert daemon.end() == 0
    assert (health["status"], named in health["config_error"]) == ("degraded", True), health
    assert named in json.loads(told)["schedule"]["config_error"]
    trouble, recovery = (json.loads(each.body) for each in hook.heard)
    assert (trouble["occasion"], named in trouble["sentence"]) == ("trouble", True)
    assert (trouble["site"], trouble["exit_code"]) == ("sites.toml", 2)
    assert (recovery["occasion"], recovery["exit_code"]) == ("recovery", 0)


def test_ours_a_webhook_that_redirects_shows_in_status_metrics_and_health(tmp_path: Path) -> None:
    """RFC 9110 section 15.4: a client that follows 302 would send the message as GET, so it is refused for good."""
    moved = Reply(302, headers={"Location": "http://127.0.0.1:9/login"})
    with scripted(pages(3)) as shop, listening(lambda _: moved) as hook:
        more = '[notify]\ncheck_live = false\n[daemon]\nlisten = "127.0.0.1:0"\n'
        more += f'[webhook]\nurls = ["{hook.url}/message"]'
        write(tmp_path, 'every = "1h"\nrun_on_start = false', more, shop=shop.url)
        ran = siteatlas(tmp_path, "run", "--config", "sites.toml")
        assert ran.code == 0, ran.err
        assert [each.method for each in hook.heard] == ["POST"], "sent once, to nobody else"
        (site,) = status(tmp_path)["sites"]
        (channel,) = site["channels"]
        assert ["302" in each for each in channel["refused"]] == [True], channel
        assert ": refused: " in siteatlas(tmp_path, "status", "--config", "sites.toml").out
        with kept(tmp_path) as daemon:
            daemon.said("http://127.0.0.1:")
            (url,) = re.findall(r"http://127.0.0.1:[0-9]+", daemon.text)
            with urllib.request.urlopen(f"{url}/healthz", timeout=10) as answer:
                health = json.loads(answer.read())
            with urllib.request.urlopen(f"{url}/metrics", timeout=10) as answer:
                metrics = answer.read().decode()
            assert daemon.end() == 0
    assert (health["status"], health["refused_messages"]) == ("ok", {"shop": 1})
    assert "302" in health["attention"]["shop"]
    assert 'siteatlas_site_refused_messages{site="shop"} 1.0' in metrics


def test_ours_status_promises_no_run_of_a_site_that_the_daemon_was_not_given(tmp_path: Path) -> None:
    with scripted(pages(1)) as site:
        write(tmp_path, shop=site.url, blog="http://127.0.0.1:9/")
        for words, others in (("--site", "shop"), False), ((), True), (("--site", "shop"), False):
            with kept(tmp_path, *words) as daemon:
                daemon.said("schedules ")
                shop, blog = status(tmp_path)["sites"]
                assert daemon.end() == 0
            assert (shop["schedule"]["next"] is None, blog["schedule"]["next"] is None) == (False, not others)
