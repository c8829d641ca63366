"""Uploads that are killed at any request, or in the middle of one: what is there is whole, the next makes it good.

The processes are real and so is SIGKILL. What readers find is looked at after each request that changed something.
"""

import contextlib
import os
import random
import signal
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from doubles_s3 import ACCESS, BUCKET, Bucket, Fault, s3_double
from sshd import Sshd, sshd
from uploads import Forks, Site, broken, forks

FEW, MANY = ("", "a", "b", "c", "d"), ("", "a", "b", "c", "d", "e", "f")
REQUESTS = 6  # of the upload that is killed: a listing, three children, the index, one file that left


@pytest.fixture(scope="module")
def processes() -> Iterator[Forks]:
    with forks() as running:
        yield running


@pytest.fixture(scope="module")
def openssh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    with sshd(tmp_path_factory.mktemp("sshd")) as server:
        yield server


@pytest.fixture
def bucket() -> Iterator[Bucket]:
    with s3_double() as double:
        yield double


def on_s3(folder: Path, bucket: Bucket) -> Site:
    keys = {"s3_access_key": ACCESS, "s3_secret_key": "secret", "s3_region": "eu-west-1"}
    return Site(folder, {"to": f"s3://{BUCKET}", "s3_endpoint": bucket.url, "grace_period": 0.0, **keys})


def bodies(objects: Mapping[str, object]) -> dict[str, bytes]:
    return {key: stored.body for key, stored in objects.items()}  # type: ignore[attr-defined]


def killed_at(number: int, when: str, bucket: Bucket, site: Site, processes: Forks) -> bool:
    """Upload in another process, which dies at a request. False when it ended before."""
    bucket.count = 0
    bucket.armed.clear()
    bucket.fault = lambda method, key, asked: Fault(when) if asked == number else None

    def begun(pid: int) -> None:
        bucket.victim = pid
        bucket.armed.set()

    status = processes.send(site, begun)
    bucket.fault = lambda method, key, asked: None
    assert status in (0, -signal.SIGKILL)
    return status != 0


def killed_and_made_good(number: int, when: str, bucket: Bucket, site: Site, processes: Forks) -> None:
    site.publish(*MANY, lastmod="2026-01-01")
    generations = [site.local()]
    site.send()
    site.publish(*FEW, lastmod="2026-01-02")
    generations.append(site.local())
    assert killed_at(number, when, bucket, site, processes) == (number < REQUESTS)
    site.send()
    for asked in bucket.log:
        assert broken(bodies(asked.after), generations) == ""
    assert bodies(bucket.objects) == site.local()


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("number", "when"), [(1, "kill after"), (4, "kill before"), (4, "kill after"), (REQUESTS, "kill before")]
)
def test_ours_a_kill_leaves_a_whole_set_on_s3(
    number: int, when: str, bucket: Bucket, tmp_path: Path, processes: Forks
) -> None:
    killed_and_made_good(number, when, bucket, on_s3(tmp_path, bucket), processes)


@pytest.mark.slow
@pytest.mark.parametrize("when", ["kill before", "kill after"])
@pytest.mark.parametrize("number", range(REQUESTS + 1))
def test_ours_a_kill_at_any_request_leaves_a_whole_set_on_s3(
    number: int, when: str, bucket: Bucket, tmp_path: Path, processes: Forks
) -> None:
    killed_and_made_good(number, when, bucket, on_s3(tmp_path, bucket), processes)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(4))
def test_ours_bad_nights_in_a_row_leave_a_whole_set_and_nothing_behind(
    seed: int, bucket: Bucket, tmp_path: Path, processes: Forks
) -> None:
    chance = random.Random(seed)
    site, generations = on_s3(tmp_path, bucket), []
    site.upload["grace_period"] = 100.0
    bucket.put("theirs.xml", b"theirs")
    for night in range(30):
        pages = chance.choice([FEW, MANY, ("",), MANY[:3]])
        site.publish(*pages, lastmod=f"2026-01-{chance.randrange(1, 4):02}")
        generations.append(site.local())
        bucket.log.clear()
        killed_at(chance.randrange(9), chance.choice(["kill before", "kill after"]), bucket, site, processes)
        for asked in bucket.log:
            assert broken(bodies(asked.after), generations) == "", night
    site.now = time.time()
    site.send()
    site.now += 101
    site.send()
    assert bodies(bucket.objects) == {**site.local(), "theirs.xml": b"theirs"}


class Toll:
    """Passes a connection on, and kills whoever made it after some bytes."""

    def __init__(self, port: int) -> None:
        self.passed = 0
        self.allowed = 1 << 60
        self.victim = -1
        self.armed = threading.Event()
        self._to = port
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._server.getsockname()[1]
        self._threads: list[threading.Thread] = []
        self._sockets: list[socket.socket] = []
        self._start(self._accept)

    def _start(self, work: object, *args: object) -> None:
        self._threads.append(threading.Thread(target=work, args=args))  # type: ignore[arg-type]
        self._threads[-1].start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._server.accept()
                far = socket.create_connection(("127.0.0.1", self._to))
                self._sockets += [near, far]
                for each in (near, far):
                    each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._start(self._pass, near, far, True)
                self._start(self._pass, far, near, False)

    def _pass(self, one: socket.socket, other: socket.socket, counted: bool) -> None:
        with contextlib.suppress(OSError):
            while data := one.recv(512):
                if counted and (self.passed + len(data)) > self.allowed and self.armed.wait(20):
                    os.kill(self.victim, signal.SIGKILL)
                    self.allowed = 1 << 60
                    break
                if counted:
                    self.passed += len(data)
                other.sendall(data)
        with contextlib.suppress(OSError):
            other.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        for thread in self._threads:
            thread.join()
        for each in self._sockets:
            each.close()


def killed_by_sftp(folder: Path, openssh: Sshd, processes: Forks, shares: list[float]) -> None:
    """Upload one generation after the other, each killed when that share of the bytes it takes has passed."""
    toll = Toll(openssh.port)
    (folder / "known").write_text(openssh.known_hosts.read_text().replace(str(openssh.port), str(toll.port)))
    settings = {
        "to": f"sftp://{openssh.user}@127.0.0.1:{toll.port}{folder}/there",
        "sftp_key": str(openssh.key),
        "sftp_known_hosts": str(folder / "known"),
        "grace_period": 0.0,
    }
    site, there, generations = Site(folder, settings), folder / "there", []
    try:
        for night, share in enumerate([1.0, 1.0, *shares]):
            site.publish(*(MANY, FEW)[night % 2], lastmod=f"2026-{night // 28 + 1:02}-{night % 28 + 1:02}")
            generations.append(site.local())
            usual, toll.passed = toll.passed, 0
            toll.armed.clear()
            toll.allowed = int(usual * share) if night > 1 else 1 << 60

            def begun(pid: int) -> None:
                toll.victim = pid
                toll.armed.set()

            status = processes.send(site, begun)
            assert status == (-signal.SIGKILL if toll.allowed == 1 << 60 and night > 1 else 0)
            time.sleep(0.02)  # what had passed may still be at work, and must not make it worse
            assert broken(_files(there), generations) == ""
            if night > 1:
                toll.allowed, toll.passed = 1 << 60, 0
                site.send()
            assert _files(there) == site.local()
    finally:
        toll.close()


def _files(folder: Path) -> dict[str, bytes]:
    found = {}
    for path in folder.iterdir():
        with contextlib.suppress(FileNotFoundError):
            found[path.name] = path.read_bytes()
    return found


@pytest.mark.thorough
@pytest.mark.needs_sshd
def test_ours_a_kill_leaves_a_whole_set_by_sftp(tmp_path: Path, openssh: Sshd, processes: Forks) -> None:
    killed_by_sftp(tmp_path, openssh, processes, [0.85])


@pytest.mark.slow
@pytest.mark.needs_sshd
def test_ours_a_kill_at_any_byte_leaves_a_whole_set_by_sftp(tmp_path: Path, openssh: Sshd, processes: Forks) -> None:
    killed_by_sftp(tmp_path, openssh, processes, [0.4 + step / 50 for step in range(30)])
