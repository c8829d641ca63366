"""Uploads from a fleet, to S3 and through SFTP: real workers, of which one is suspended or lost in the middle."""

import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit
from xml.etree import ElementTree as ET

import pytest
from doubles_s3 import ACCESS, SECRET, s3_double
from doubles_sftp import PASSWORD, USER, sftp_double
from run import siteatlas
from test_fleet_workers import Fleet, descendants, fleet_of, page, pages

_LOC = ".//{http://www.sitemaps.org/schemas/sitemap/0.9}loc"
_INDEX = "{http://www.sitemaps.org/schemas/sitemap/0.9}sitemapindex"


@dataclass
class Target:
    """Where a site is uploaded: its settings, what readers find, and each change that they see.

    ``at_change`` is called once, before the next change or a part of one.
    """

    upload: str = ""
    files: Callable[[], dict[str, bytes]] = dict
    changes: Callable[[], list[str]] = list
    at_change: Callable[[], None] = lambda: None
    broken: list[str] = field(default_factory=list)

    def look(self) -> None:
        """Look at what is there before a change: whether it is a whole set."""
        self.broken += missing(self.files())
        at_change, self.at_change = self.at_change, lambda: None
        at_change()


def missing(files: dict[str, bytes]) -> list[str]:
    """The files that an index names, and that are not there."""
    if "sitemap.xml" not in files:
        return []
    root = ET.fromstring(files["sitemap.xml"])
    named = [urlsplit(loc.text or "").path.rpartition("/")[2] for loc in root.iterfind(_LOC)]
    return [name for name in named if name not in files] if root.tag == _INDEX else []


@contextmanager
def on_s3(folder: Path) -> Iterator[Target]:
    with s3_double() as bucket:
        target = Target(
            files=lambda: {key: stored.body for key, stored in bucket.objects.items()},
            changes=lambda: [
                f"{asked.method} {asked.key}"
                for asked in bucket.log
                if asked.method in ("PUT", "DELETE") and asked.status in (200, 204)
            ],
        )

        def look(method: str, key: str, _: int) -> None:
            if method in ("PUT", "DELETE", "POST"):
                target.look()

        bucket.fault = look
        target.upload = f'to = "s3://shop"\ns3_endpoint = "{bucket.url}"\ns3_region = "eu-west-1"\n'
        target.upload += 's3_access_key = "env:ACCESS"\ns3_secret_key = "env:TARGET"\n'
        yield target


@contextmanager
def on_sftp(folder: Path) -> Iterator[Target]:
    root = folder / "host"
    (root / "www").mkdir(parents=True)
    with sftp_double(root) as host:
        (folder / "known").write_text(host.known_hosts)
        target = Target(
            files=lambda: {path.name: path.read_bytes() for path in (root / "www").glob("[!.]*")},
            changes=lambda: [f"{act} {path.decode()}" for act, path in host.log if is_seen(act, path)],
        )

        def is_seen(act: str, path: bytes) -> bool:
            return act in ("posix_rename", "rename", "remove") and b"/." not in path

        def look(act: str, path: bytes) -> None:
            if act in ("write", "posix_rename", "rename", "remove"):
                target.look()

        host.fault = look
        target.upload = f'to = "sftp://{USER}@127.0.0.1:{host.port}/www"\nsftp_known_hosts = "known"\n'
        target.upload += 'sftp_password = "env:TARGET"\n'
        yield target


TARGETS = {"s3": (on_s3, SECRET), "sftp": (on_sftp, PASSWORD)}


def _is_uploaded(fleet: Fleet, target: Target) -> bool:
    """Whether the target holds just what was published."""
    local = {path.name: path.read_bytes() for path in (fleet.folder / "out" / "shop").glob("sitemap*")}
    return local == {name: body for name, body in target.files().items() if name in local}


@pytest.mark.slow
@pytest.mark.parametrize("fate", ["suspended", "lost"])
@pytest.mark.parametrize("kind", TARGETS)
def test_ours_an_upload_that_is_cut_short_is_made_good_by_another_worker_and_not_disturbed_later(
    kind: str, fate: str, tmp_path: Path, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve, secret = TARGETS[kind]
    allowed = '--set=fleet.allow_secrets=["env:ACCESS", "env:TARGET", "file:known"]'
    monkeypatch.setenv("TARGET", secret)
    monkeypatch.setenv("ACCESS", ACCESS)
    with serve(tmp_path) as target:
        more = f"max_urls = 5\ngrace_period = 0\n[upload]\nretries = 0\ngrace_period = 0\n{target.upload}"
        with fleet_of(tmp_path, database, ["shop"], more=more) as fleet:
            first = fleet.start(allowed)
            fleet.wait(lambda: fleet.done() == ["shop"])
            assert len([name for name in target.files() if name.startswith("sitemap")]) == 3
            assert _is_uploaded(fleet, target)
            fleet.sites["shop"].routes = {**pages(), "/new": page("/new"), "/1": page("/1", "/new")}

            def strike() -> None:
                pids = [first.pid, *reversed(descendants(first.pid))]
                fleet.stopped = pids if fate == "suspended" else []
                for pid in pids:
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGSTOP if fate == "suspended" else signal.SIGKILL)

            target.at_change = strike
            assert siteatlas(tmp_path, "fleet", "run-now", "shop", "--database", database).code == 0
            fleet.wait(lambda: target.at_change is not strike)
            if fate == "lost":
                shutil.rmtree(tmp_path / "out")
                shutil.rmtree(tmp_path / "worker0")
            fleet.start(allowed)
            fleet.wait(lambda: fleet.done() == ["shop"] * 2)
            assert b"/new</loc>" in b"".join(target.files().values())
            assert _is_uploaded(fleet, target)
            done, files = target.changes(), target.files()
            for pid in fleet.stopped:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)
            time.sleep(5)  # for a worker that woke up after its lease, and must not touch what another one uploaded
            assert (target.changes(), target.files()) == (done, files)
            assert target.broken == []
            assert {row["fate"] for row in fleet.rows("SELECT fate FROM attempt")} == {"done", None}
