"""An audit that is interrupted, killed or watched: real processes, signals and terminals, and its memory."""

import contextlib
import fcntl
import gzip
import json
import os
import pty
import random
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from madesite import prose
from run import FAST, command, environment, siteatlas
from scripted import Answer, Route, links, scripted

pytestmark = pytest.mark.thorough

WORDS = (*FAST, "--log", "access.log", "-o", "out")
DAY = "03/Nov/2026:10:00:00 +0000"


def page(*hrefs: str, head: str = "") -> str:
    """A page that links to these, and says something of its own: two that say the same are one."""
    return links(*hrefs, head=head) + f"<p>{prose(_words, 30)}"


_words = random.Random(1)


def line(path: str, who: int = 1) -> str:
    return f'192.0.2.{who} - - [{DAY}] "GET {path} HTTP/1.1" 200 512 "-" "Mozilla/5.0 Firefox/128.0"\n'


def pages(held: str = "") -> dict[str, Route]:
    """A small site with an orphan in its sitemap, one in its log, and an image; the answer at one path takes long."""
    image = "<image:image><image:loc>{url}boat.jpg</image:loc></image:image>"
    entries = f"<url><loc>{{url}}</loc>{image}</url><url><loc>{{url}}lost</loc></url>"
    image_space = "http://www.google.com/schemas/sitemap-image/1.1"
    spaces = f'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="{image_space}"'
    routes: dict[str, Route] = {
        "/robots.txt": Answer("User-agent: *\nDisallow:\n", headers={"Content-Type": "text/plain"}),
        "/sitemap.xml": Answer(f"<urlset {spaces}>{entries}</urlset>", headers={"Content-Type": "application/xml"}),
        "/": page("/hub", "/a"),
        "/hub": page("/", "/a", "/b"),
        "/a": page("/"),
        "/b": page("/a"),
        "/lost": page("/"),
        "/asked": page("/", "/island"),
        "/island": page("/asked"),
        "/boat.jpg": Answer(b"\xff\xd8\xff" * 100, headers={"Content-Type": "image/jpeg"}),
    }
    if held:
        answer = routes[held]
        answer = answer if isinstance(answer, Answer) else Answer(str(answer))
        slow = Answer(answer.body, headers=answer.headers, delay=60)
        routes[held] = lambda before: slow if before == 0 else answer
    return routes


# A disk that takes long to make the report durable.
SLOW_DISK = """
import os, time
sync = os.fsync
def fsync(file):
    if os.readlink(f"/proc/self/fd/{file}").endswith("/.audit.html.draft"):
        time.sleep(60)
    sync(file)
os.fsync = fsync
"""


def started(folder: Path, url: str, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command("audit", url, *WORDS, *words),
        cwd=folder,
        env=environment() | {"PYTHONPATH": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def report(folder: Path) -> dict[str, Any]:
    """The report of the last audit, without what differs from audit to audit of the same."""
    told: dict[str, Any] = json.loads((folder / "out/audit.json").read_bytes())
    for key in ("started", "seconds", "fetched", "bytes", "crawl", "url"):
        del told[key]
    return told


def wait(process: subprocess.Popen[str], is_there: Callable[[], bool]) -> None:
    while not is_there():
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)


# ---------------------------------------------------------------- signals

PHASES = ["/sitemap.xml", "access.log", "/hub", "/asked", "/boat.jpg", "audit.html"]


def interrupted(folder: Path, phase: str, number: signal.Signals) -> None:
    """An audit is sent a signal while it does something; the next one is whole."""
    (folder / "access.log").write_text("".join(line("/asked", who) for who in range(9)))
    with scripted(pages(phase if phase.startswith("/") else "")) as site:
        draft = folder / "out" / ".audit.html.draft"
        if phase == "access.log":
            chunk = gzip.compress("".join(line(f"/f{n}") for n in range(20_000)).encode(), 1)
            (folder / phase).write_bytes(chunk * 200)
        elif phase == "audit.html":
            (folder / "sitecustomize.py").write_text(SLOW_DISK)
        process = started(folder, site.url)
        if phase.startswith("/"):
            wait(process, lambda: phase in site.paths)
        elif phase == "access.log":
            wait(
                process, lambda: bool(list(folder.glob(".siteatlas/*/audit/audit.db"))) and "/sitemap.xml" in site.paths
            )
            time.sleep(1.0)
            assert "/" not in site.paths
        else:
            wait(process, draft.exists)
        process.send_signal(number)
        out, err = process.communicate(timeout=20)
        assert process.returncode == 4, (out, err)
        assert "Traceback" not in err
        assert len(err.strip().splitlines()) <= 1
        assert "\x1b" not in err
        assert not draft.exists()
        (folder / "access.log").write_text("".join(line("/asked", who) for who in range(9)))
        ran = siteatlas(folder, "audit", site.url, *WORDS)
        assert ran.code == 0, ran.err
        assert {(each["rule"], each["url"].rpartition("/")[2]) for each in report(folder)["findings"]} >= {
            ("orphan.sitemap", "lost"),
            ("orphan.island", "asked"),
            ("orphan.island", "island"),
        }


SOON = [("/asked", signal.SIGINT), ("audit.html", signal.SIGTERM)]
LATER = [(phase, number) for phase in PHASES for number in (signal.SIGINT, signal.SIGTERM)]


@pytest.mark.parametrize(
    ("phase", "number"), [*SOON, *(pytest.param(*each, marks=pytest.mark.slow) for each in LATER if each not in SOON)]
)
def test_ours_a_signal_ends_an_audit_whatever_it_does_and_the_next_is_whole(
    tmp_path: Path, phase: str, number: signal.Signals
) -> None:
    interrupted(tmp_path, phase, number)


# ---------------------------------------------------------------- kills


def web(size: int) -> dict[str, Route]:
    """Pages that link to a few others and all to one; of every ten, two are linked by one another only."""
    outside = {n for n in range(1, size) if n % 5 == 0}
    routes: dict[str, Route] = {"/": Answer(page("/p1", "/p2"), delay=0.02)}
    for n in range(1, size):
        targets = {m for m in (2 * n + 1, 2 * n + 2, n // 2, n - 1, 3) if 0 < m < size and m not in outside}
        pair = {n + 5 if n % 10 == 0 else n - 5} if n in outside else set()
        body = page(*(f"/p{m}" for m in sorted(targets | pair)))
        routes[f"/p{n}"] = Answer(body, headers={"ETag": f'"{n}"'}, delay=0.02)
    listed = "".join(f"<url><loc>{{url}}p{n}</loc></url>" for n in range(size) if n % 10 and n != 3)
    space = "http://www.sitemaps.org/schemas/sitemap/0.9"
    routes["/sitemap.xml"] = Answer(
        f'<urlset xmlns="{space}">{listed}</urlset>', headers={"Content-Type": "application/xml"}
    )
    return routes


def killed_again_and_again(tmp_path: Path, size: int, most: int, times: int) -> None:
    """Audit once undisturbed and then again and again, killed at random moments; now and then one may end."""
    undisturbed, killed = tmp_path / "undisturbed", tmp_path / "killed"
    for folder in (undisturbed, killed):
        folder.mkdir()
        paths = [f"/p{n}" for n in range(0, size + 20, 10)]
        (folder / "access.log").write_text("".join(line(path, who) for path in paths for who in range(9)))
    moments = random.Random(5)
    with scripted(web(size)) as site:
        assert siteatlas(undisturbed, "audit", site.url, *WORDS).code == 0
        whole = report(undisturbed)
        assert {each["rule"] for each in whole["findings"]} >= {"orphan.island", "listed.missing"}
        kills = ends = 0
        while kills < times:
            process = started(killed, site.url)
            enough = len(site.log) + moments.randint(0, most)
            while process.poll() is None and len(site.log) < enough:
                time.sleep(0.002)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(moments.uniform(0, 0.4))
            if process.poll() is None:
                process.kill()
                kills += 1
            else:
                assert process.returncode == 0
                ends += 1
                assert report(killed) == whole
            process.communicate()
        assert siteatlas(killed, "audit", site.url, *WORDS).code == 0
        assert report(killed) == whole
        if ends:
            assert siteatlas(killed, "audit", site.url, *WORDS).code == 0
            assert report(killed) == whole


@pytest.mark.slow
def test_ours_killed_at_random_moments_it_goes_on_and_comes_to_the_same_findings(tmp_path: Path) -> None:
    killed_again_and_again(tmp_path, 40, 30, 2)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_ours_killed_fifty_times_it_comes_to_the_same_findings(tmp_path: Path) -> None:
    killed_again_and_again(tmp_path, 300, 120, 50)


# ---------------------------------------------------------------- terminals and pipes


def on_terminal(folder: Path, *words: str, columns: int = 80, **extra: str) -> tuple[int, str, str]:
    """Run an audit whose outputs are a terminal each; answers the exit code and what either of them got."""
    pairs = [pty.openpty() for _ in range(2)]
    for _, slave in pairs:
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    kept = {name: value for name, value in environment(**extra).items() if name != "COLUMNS"}
    process = subprocess.Popen(
        command("audit", *words),
        cwd=folder,
        env={**kept, "TERM": "xterm-256color"},
        stdin=subprocess.DEVNULL,
        stdout=pairs[0][1],
        stderr=pairs[1][1],
    )
    for _, slave in pairs:
        os.close(slave)
    got = {master: b"" for master, _ in pairs}
    while waiting := got.keys() - ended(got):
        ready, _, _ = select.select(waiting, [], [], 60)
        assert ready, got
        for master in ready:
            got[master] += read(master)
    out, err = (text.removesuffix(END).decode() for text in got.values())
    for master in got:
        os.close(master)
    return process.wait(60), out, err


END = b"\0end"


def ended(got: dict[int, bytes]) -> set[int]:
    return {master for master, text in got.items() if text.endswith(END)}


def read(master: int) -> bytes:
    """What there is; a terminal that nobody writes to any more is an error on Linux, and nothing elsewhere."""
    try:
        return os.read(master, 65_536) or END
    except OSError:
        return END


@pytest.mark.parametrize("plain", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_ours_a_terminal_sees_how_far_it_is_and_is_given_back(tmp_path: Path, plain: bool) -> None:
    chunk = gzip.compress("".join(line(f"/f{n}") for n in range(20_000)).encode(), 1)
    (tmp_path / "access.log").write_bytes(chunk * (1 if plain else 5))
    extra = {"NO_COLOR": "1"} if plain else {}
    columns = 40 if plain else 100
    words = ("--log", "access.log", "--max-unlinked", "0", *FAST)
    with scripted(pages()) as site:
        code, out, err = on_terminal(tmp_path, site.url, *words, columns=columns, **extra)
    assert code == 0, err
    assert "reading" in err
    assert err.count("\x1b[?25l") == err.count("\x1b[?25h") >= 1  # the cursor
    assert err.count("\x1b[1A") <= 2  # each display is one line, and is taken away at its end
    left = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", err.rpartition("\x1b[2K")[2])
    assert not left.strip()
    assert "reading" not in out
    text = re.sub(r"\x1b\[[0-9;]*m", "", out)
    assert (text != out) is not plain
    lines = [each for each in text.replace("\r", "").split("\n") if "http" not in each]
    assert max(map(len, lines)) <= columns


def test_ours_no_terminal_sees_no_display_and_a_closed_pipe_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "access.log").write_text("".join(line(f"/f{n}") for n in range(1000)))
    with scripted(pages()) as site:
        process = started(tmp_path, site.url, "-v", "--fail-on", "orphan")
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        assert process.stderr.read() == ""
        process.stderr.close()
        assert process.wait(60) == 10
        assert report(tmp_path)["findings"]
        ran = siteatlas(tmp_path, "status", site.url)  # it is over: its reports were written
        assert "the last audit failed" not in ran.out + ran.err
        again = siteatlas(tmp_path, "audit", site.url, "-o", "out", *FAST)
        assert "since the audit of " in again.out


# ---------------------------------------------------------------- memory


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_ours_an_audit_of_many_urls_takes_flat_memory_and_linear_time(tmp_path: Path) -> None:
    sections = [f"/s{n}/" for n in range(30)]
    routes: dict[str, Route] = {"/": page(*sections)}
    for section in sections:
        routes[section] = page("/", *(f"{section}{n}" for n in range(100)))
        routes |= {f"{section}{n}": page("/", section, f"{section}{(7 * n + 1) % 100}") for n in range(100)}
    took = []
    with scripted(routes) as site:
        for size in (100_000, 300_000):
            folder = tmp_path / str(size)
            folder.mkdir()
            with (folder / "access.log").open("w") as log:
                log.writelines(line(f"/x{n % 977}/page-{n}", n % 200) for n in range(size))
            process = subprocess.Popen(
                command("audit", site.url, *WORDS, "--max-unlinked", "3000"),
                cwd=folder,
                env=environment(),
                stdout=subprocess.DEVNULL,
            )
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            assert process.returncode == 0
            assert usage.ru_maxrss < 200 * 1024  # KiB
            took.append((usage.ru_utime + usage.ru_stime, usage.ru_maxrss))
            rules = {each["rule"]: each["certain"] for each in report(folder)["counts"]}
            assert rules["gone.visited"] == 3000
    assert took[1][0] < 3 * took[0][0]  # three times the log, and the same site
    assert took[1][1] < 1.4 * took[0][1]
