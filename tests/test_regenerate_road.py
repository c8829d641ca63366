"""The whole road at the command line: crawl, publish, upload, tell, in real processes; and what is said of it."""

import json
import os
import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
import warm
from doubles_listener import Heard, Listener, Reply, listening
from doubles_s3 import ACCESS, Bucket, Fault, s3_double
from doubles_sftp import PASSWORD, USER, sftp_double
from msgspec.structs import replace
from run import FAST, Ran, environment, siteatlas
from scripted import Answer, Site, links, scripted

from crawler.model import State
from crawler.notify.ledger_status import NotifyResult
from crawler.publish.upload.upload import UploadResult
from crawler.run.report import OmittedUrls, Report, run_result
from crawler.state.runs import RunStatus

KEY = "0123456789abcdef-KEY"
DOWN = Fault("error", 503, "SlowDown")
LONG = 60.0  # seconds that a process may take before it is taken for hanging


class World:
    """A site that serves what is published of it, a bucket, and one listener that is IndexNow and a webhook."""

    def __init__(self, folder: Path, site: Site, bucket: Bucket, ears: Listener) -> None:
        self.folder, self.site, self.bucket, self.ears = folder, site, bucket, ears
        self.replies: dict[str, Reply] = {}
        self.meanwhile: Callable[[Heard], object] = lambda heard: None
        self.upload = f'to = "s3://shop/x"\ns3_endpoint = "{bucket.url}"\ns3_region = "eu-west-1"\n'
        self.upload += f's3_access_key = "{ACCESS}"\ns3_secret_key = "env:S3"\nretries = 0\n'
        self.more = ""
        ears.answer = self._answer
        site.routes["/robots.txt"] = Answer("", 404)
        site.routes[f"/{KEY}.txt"] = Answer(KEY.encode(), headers={"Content-Type": "text/plain"})
        site.routes["/sitemap.xml"] = lambda _: self._sitemap()
        self.pages("a", "b")

    def _sitemap(self) -> Answer:
        file = self.folder / "out" / "sitemap.xml"
        return Answer(file.read_bytes() if file.exists() else b"", 200 if file.exists() else 404)

    def _answer(self, heard: Heard) -> Reply:
        self.meanwhile(heard)
        return self.replies.get(heard.path, Reply())

    def pages(self, *names: str) -> None:
        """The start page leads to these, and to no others."""
        self.site.routes["/"] = links(*(f"/{name}" for name in names))
        for name in names:
            self.site.routes[f"/{name}"] = f"<title>{name}</title><p>the page {name} has a text of its own"

    def urls(self, *names: str) -> set[str]:
        return {f"{self.site.url}{name}" for name in names}

    def configuration(self) -> str:
        return (
            f'[site]\nurl = "{self.site.url}"\n[output]\ndirectory = "out"\nswap_delay = 0\n'
            '[state]\ndirectory = "state"\n[fetch]\nretries = 0\n[notify]\nattempts = 1\n'
            f'[indexnow]\nkey = "env:INDEXNOW"\nendpoint = "{self.ears.url}/indexnow"\n'
            f'[webhook]\nurls = ["{self.ears.url}/hook"]\n[upload]\n{self.upload}\n{self.more}'
        )

    def write(self) -> None:
        (self.folder / "site.toml").write_text(self.configuration(), encoding="utf-8")

    def configure(self, *tables: str) -> None:
        """Write a configuration of sites a, b …, each with its tables."""
        self.forget()
        shared = '[state]\ndirectory = "state"\n[output]\nswap_delay = 0\n'
        made = [
            f'[sites.{name}]\nsite = {{url = "{self.site.url}"}}\n'
            f'output = {{directory = "{name}"}}\nstate = {{directory = "state-{name}"}}\n{table}\n'
            for name, table in zip("ab", tables, strict=False)
        ]
        (self.folder / "site.toml").write_text("\n".join((shared, *made)), encoding="utf-8")

    @property
    def secrets(self) -> dict[str, str]:
        return {"INDEXNOW": KEY, "S3": "shh", "SFTP": PASSWORD}

    def run(self, *words: str, by: str = "run", **extra: str) -> Ran:
        """Run it to its end, with nothing heard or asked before."""
        self.forget()
        self.write()
        told = {**self.secrets, **extra}
        return siteatlas(self.folder, by, "--config", "site.toml", *FAST, *words, **told)

    def forget(self) -> None:
        self.ears.heard.clear()
        self.bucket.log.clear()
        self.site.log.clear()

    def begin(self, *words: str) -> warm.Command:
        """Begin it; what it says is in the file ``said``."""
        self.forget()
        self.write()
        return self.start("run", "--config", "site.toml", *FAST, *words)

    def start(self, *begun: str) -> warm.Command:
        with (self.folder / "said").open("wb") as said:
            return warm.begin(self.folder, begun, environment(**self.secrets), said.fileno(), said.fileno())

    @property
    def said(self) -> str:
        return (self.folder / "said").read_text(encoding="utf-8")

    @property
    def indexed(self) -> list[str]:
        """The URLs that IndexNow was sent, in order."""
        told = [json.loads(heard.body)["urlList"] for heard in self.ears.heard if heard.path == "/indexnow"]
        return [url for urls in told for url in urls]

    @property
    def hooked(self) -> list[dict[str, Any]]:
        """The messages that the webhook was sent."""
        return [json.loads(heard.body) for heard in self.ears.heard if heard.path == "/hook"]

    @property
    def deliveries(self) -> list[str]:
        """What the messages to the webhook are called."""
        heard = [each for each in self.ears.heard if each.path == "/hook"]
        return [each.headers["x-siteatlas-delivery"] for each in heard]

    @property
    def occasions(self) -> list[str]:
        return [message["occasion"] for message in self.hooked]

    def is_everywhere(self) -> bool:
        """Whether what is in the directory is in the bucket, and nothing else is."""
        here = {f"x/{path.name}": path.read_bytes() for path in (self.folder / "out").iterdir()}
        return here == {key: stored.body for key, stored in self.bucket.objects.items()}


@contextmanager
def worlds() -> Iterator[World]:
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        site, bucket = stack.enter_context(scripted({})), stack.enter_context(s3_double())
        yield World(Path(folder), site, bucket, stack.enter_context(listening()))


@pytest.fixture
def world() -> Iterator[World]:
    with worlds() as made:
        yield made


def untold(ran: Ran) -> bool:
    is_untold: bool = json.loads(ran.out)["sites"][0]["announced"]["notify_pending"]
    return is_untold


def test_ours_a_change_is_uploaded_and_told_once_also_when_that_took_another_run(world: World) -> None:
    first = world.run()
    assert (first.code, first.err) == (0, "")
    assert world.is_everywhere()
    assert world.indexed == []  # the pages of a first run are no news to it
    assert world.occasions == ["changes"]
    assert f"  uploaded to s3://shop/x/ at {world.bucket.url}: 1 file (" in first.out
    assert f"  notified webhook {world.ears.url} " in first.out
    assert ": 3 pages\n" in first.out

    world.pages("a", "b", "c")
    world.bucket.always("PUT", DOWN)
    failed = world.run("-q")
    assert (failed.code, failed.out) == (7, "")
    lines = failed.err.splitlines()
    assert len(lines) == 2
    assert "the files could not be uploaded to s3://shop/x/" in lines[0]
    assert "the files are not yet at s3://shop/x/" in lines[1]
    kept = json.loads(siteatlas(world.folder, "status", "--config", "site.toml", "--json").out)["sites"][0]
    assert (kept["runs"][0]["exit_code"], kept["runs"][0]["outcome"]) == (7, "published")
    assert "the files could not be uploaded to s3://shop/x/" in kept["runs"][0]["reason"]
    assert (world.occasions, world.indexed) == (["trouble"], [])
    assert siteatlas(world.folder, "notify", "--config", "site.toml", **world.secrets).code == 4
    assert (world.occasions, world.indexed) == (["trouble"], [])  # nobody else goes ahead of the files either

    world.pages("a", "b", "c", "d")
    world.bucket.fault = lambda method, key, number: None
    world.replies["/indexnow"] = Reply(503)
    caught_up = world.run("--json")
    assert caught_up.code == 0
    assert untold(caught_up)
    assert world.is_everywhere()
    assert world.occasions == ["recovery", "changes"]
    assert {change["url"] for change in world.hooked[1]["changes"]} == world.urls("", "c", "d")

    world.replies.clear()
    same = world.run()
    assert (same.code, same.err) == (0, "")
    assert world.occasions == []
    assert sorted(world.indexed) == sorted(world.urls("", "c", "d"))
    assert f"  nothing to upload: s3://shop/x/ at {world.bucket.url} is up to date\n" in same.out
    assert "  notified indexnow: 3 changes\n" in same.out


@pytest.mark.slow
def test_ours_who_is_down_is_said_and_told_by_the_next_run(world: World) -> None:
    world.run()
    world.pages("a", "b", "c")
    world.replies["/indexnow"] = Reply(503)
    ran = world.run()
    assert (ran.code, ran.err) == (0, "")
    assert "  indexnow: postponed: IndexNow answered 503, service unavailable\n" in ran.out
    assert "  the next run tries to send these messages again; siteatlas notify tries now\n\ncrawled " in ran.out
    world.pages("a", "b", "c", "d")
    quiet = world.run("-q")
    assert (quiet.code, quiet.out) == (0, "")
    assert quiet.err == "siteatlas: 127.0.0.1: indexnow: postponed: IndexNow answered 503, service unavailable\n"
    world.replies.clear()
    ran = world.run("--json")
    assert not untold(ran)
    assert set(world.indexed) == world.urls("", "c", "d")


@pytest.mark.slow
def test_ours_nothing_new_is_nothing_to_say(world: World) -> None:
    world.run()
    nothing = world.run("-q")
    assert (nothing.code, nothing.out, nothing.err) == (0, "", "")
    assert world.ears.heard == []
    assert [asked.method for asked in world.bucket.log] == ["LIST"]
    # the sitemap is read before the crawl, and looked at where it is served
    assert sorted(world.site.paths) == ["/", "/a", "/b", "/robots.txt", "/sitemap.xml", "/sitemap.xml"]


@pytest.mark.slow
@pytest.mark.parametrize("by", ["run", "crawl"])
def test_ours_trouble_is_told_once_and_so_is_its_end(world: World, by: str) -> None:
    world.run(by=by)
    good, told = world.site.routes["/"], []
    world.site.routes["/"] = Answer("", 500)
    for _ in range(3):
        ran = world.run(by=by)
        assert ran.code == 3
        assert "0 changes" not in ran.out
        told += world.hooked
    (trouble,) = told
    assert (trouble["occasion"], trouble["exit_code"]) == ("trouble", 3)
    assert trouble["sentence"].startswith("the start URL ")
    world.site.routes["/robots.txt"] = Answer("", 503)
    assert world.run("--fresh", by=by).code == 5  # another kind of trouble, but no end of it
    assert world.occasions == ["trouble"]
    world.site.routes |= {"/": good, "/robots.txt": Answer("", 404)}
    ran = world.run(by=by)
    assert (ran.code, world.occasions) == (0, ["recovery"])
    assert ": runs succeed again\n" in ran.out
    assert world.run(by=by).code == 0
    assert world.occasions == []


@pytest.mark.slow
def test_ours_a_run_that_the_gate_refuses_is_trouble_and_uploads_nothing(world: World) -> None:
    names = [f"p{number}" for number in range(10)]
    world.pages(*names)
    world.run()
    before = dict(world.bucket.objects)
    world.pages("p0")
    world.site.routes |= {f"/{name}": Answer("", 500) for name in names[1:]}
    ran = world.run()
    assert (ran.code, world.occasions, world.indexed) == (3, ["trouble"], [])
    assert world.bucket.objects == before
    assert world.bucket.log == []


@pytest.mark.slow
def test_ours_a_dry_run_and_no_notify_tell_nobody(world: World) -> None:
    assert world.run("--dry-run", INDEXNOW="?").code == 0  # not even secrets are wanted
    assert world.bucket.log == world.ears.heard == []
    assert world.run("--no-notify").code == 0
    assert world.is_everywhere()
    world.pages("a", "b", "c")
    ran = world.run("--no-notify", "--json", INDEXNOW="?")
    assert json.loads(ran.out)["sites"][0]["announced"] is None
    assert world.ears.heard == []
    world.pages("a", "b", "c", "d")
    before = dict(world.bucket.objects)
    assert "4 pages" not in world.run("--dry-run").out
    assert world.bucket.objects == before
    assert world.ears.heard == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["cut after", "kill before", "kill after"])
def test_ours_an_end_while_files_are_uploaded_is_made_good(world: World, kind: str) -> None:
    world.run()
    world.pages("a", "b", "c")
    world.bucket.armed.clear()
    process = world.begin()
    world.bucket.victim = process.pid
    is_kill = kind != "cut after"

    def fault(method: str, key: str, number: int) -> Fault | None:
        if method == "PUT" and not is_kill:
            os.kill(process.pid, signal.SIGINT)
        return Fault(kind) if method == "PUT" else None

    world.bucket.fault = fault
    world.bucket.armed.set()
    code = process.wait(LONG)
    assert code == (-signal.SIGKILL if is_kill else 4), world.said
    assert "Traceback" not in world.said
    assert is_kill or world.said.endswith("interrupted; the state is saved, run the same command again to continue\n")
    assert world.occasions == []
    world.bucket.fault = lambda method, key, number: None
    assert world.run().code == 0
    assert world.is_everywhere()
    assert sorted(world.indexed) == sorted(world.urls("", "c"))
    assert world.occasions == ["changes"]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
@pytest.mark.parametrize("path", ["/indexnow", "/hook"])
def test_ours_an_end_while_others_are_told_repeats_one_message_at_most(
    world: World, path: str, number: signal.Signals
) -> None:
    world.run()
    world.pages("a", "b", "c")
    victims: list[int] = []

    def end(heard: Heard) -> None:
        if heard.path == path:
            os.kill(victims.pop(), number)

    world.meanwhile = lambda heard: end(heard) if victims else None
    process = world.begin()
    victims.append(process.pid)
    code = process.wait(LONG)
    assert code == (4 if number == signal.SIGINT else -number), world.said
    assert "Traceback" not in world.said
    indexed, hooked = world.indexed, world.deliveries
    assert world.run().code == 0
    assert set(indexed + world.indexed) == world.urls("", "c")
    assert len(indexed + world.indexed) == (4 if path == "/indexnow" else 2)
    delivered = hooked + world.deliveries
    assert len(delivered) == (2 if path == "/hook" else 1)
    assert len(set(delivered)) == 1  # who gets it twice can tell
    world.run()
    assert world.ears.heard == []


BOTH = ("crawl", "run")
WRONG = {
    "a key that is none": ("", "", {"INDEXNOW": "short"}, "the IndexNow key is invalid"),
    "a secret that is not there": ("", 'env:NOT_SET"', {}, "the environment variable NOT_SET is not set"),
    "half of the keys": ('to = "s3://shop"\ns3_access_key = "A"', "", {}, "upload.s3_secret_key work only together"),
    "no address": ('to = "ftp://shop/x"', "", {}, "upload.to must be like s3://bucket/prefix, sftp://"),
    "no host key": ('to = "sftp://shop@127.0.0.1/x"\nsftp_known_hosts = "none"', "", {}, "the host key of 127.0.0.1"),
    "no account": ("", 'none.json"', {}, "the secret file:none.json cannot be read"),
}


@pytest.mark.parametrize(
    ("what", "by"),
    [("no host key", "crawl"), *(pytest.param(what, by, marks=pytest.mark.slow) for what in WRONG for by in BOTH)],
)
def test_ours_what_is_wrong_is_told_before_the_first_request(world: World, what: str, by: str) -> None:
    upload, more, extra, said = WRONG[what]
    world.upload = upload or world.upload
    if more:
        section = "search_console]\naccount" if "json" in more else "email]\nlogin"
        world.more = f'[{section} = "{more}\n' + ('to = ["me@example.com"]\n' if "email" in section else "")
    ran = world.run(by=by, **extra)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1), ran.err
    assert said in ran.err
    assert "short" not in ran.err
    assert world.site.log == world.bucket.log == []
    assert all(b'"trouble"' in heard.body for heard in world.ears.heard)


def several(world: World, *tables: str) -> Ran:
    """Run a configuration of sites a, b …, each with its tables."""
    world.configure(*tables)
    options = (*FAST, "--set=notify.check_live=false")
    return siteatlas(world.folder, "run", "--config", "site.toml", *options, **world.secrets)


@pytest.mark.parametrize(
    "fault",
    ['webhook = {urls = ["env:NOT_SET"]}', 'fetch = {basic_auth = "env:NOT_SET"}', 'fetch = {signing_key = "none"}'],
)
def test_ours_a_site_that_cannot_run_is_told_and_does_not_stop_the_others(world: World, fault: str) -> None:
    hook = 'hook = {command = ["touch", "told"], on = ["trouble"]}'
    assert several(world, hook, "").code == 0
    ran = several(world, f"{hook}\n{fault}", "")
    assert (ran.code, ran.err.count("\n")) == (2, 1), ran.err
    assert ran.err.startswith("siteatlas: a: ")
    assert "2 sites: 1 failed, 1 unchanged; look at a (exit code 2)" in ran.out
    assert (world.folder / "told").exists()
    told = json.loads(siteatlas(world.folder, "status", "--config", "site.toml", "--json").out)["sites"]
    assert [[run["exit_code"] for run in site["runs"]] for site in told] == [[2, 0], [0, 0]]


def test_ours_a_state_that_cannot_be_written_is_told_after_each_run(world: World) -> None:
    for _ in range(2):
        ran = world.run("--set", "state.directory=/proc/no-state")
        assert (ran.code, world.occasions, world.indexed) == (7, ["trouble"], [])
        assert "the state cannot be written" in ran.err


@pytest.mark.slow
def test_ours_an_interrupt_while_others_are_told_ends_a_run_of_several(world: World) -> None:
    hook = f'webhook = {{urls = ["{world.ears.url}/hook"]}}\nnotify = {{attempts = 1, check_live = false}}'
    victims: list[int] = []
    world.meanwhile = lambda heard: os.kill(victims.pop(), signal.SIGINT)
    world.configure(hook, "")
    process = world.start("run", "--config", "site.toml", *FAST, "--json")
    victims.append(process.pid)
    assert process.wait(LONG) == 4
    before, _, told = world.said.partition("{")
    assert before.splitlines() == [
        "siteatlas: a: interrupted; the state is saved, run the same command again to continue",
        "siteatlas: b: not started",
    ]
    assert [site["name"] for site in json.loads("{" + told)["sites"]] == ["a", "b"]
    assert (world.folder / "a" / "sitemap.xml").exists()


def test_ours_two_sites_that_would_upload_the_same_file_are_refused(world: World) -> None:
    same = 'upload = {to = "s3://shop/x", s3_region = "eu-west-1"}'
    ran = several(world, same, same.replace("/x", "//x/"))
    assert (ran.code, ran.err.count("\n")) == (2, 1), ran.err
    assert "would both upload to s3://shop/x/sitemap.xml. Give each site its own upload.to" in ran.err


@pytest.mark.slow
def test_ours_who_goes_back_goes_back_elsewhere_too_and_tells_nobody(world: World) -> None:
    def there() -> dict[str, bytes]:
        return {key: stored.body for key, stored in world.bucket.objects.items()}

    world.run()
    before = there()
    world.pages("a", "b", "c")
    world.run("--no-notify")
    assert there() != before
    world.forget()
    ran = siteatlas(world.folder, "rollback", "--config", "site.toml", **world.secrets)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines()[0] == "the sitemap of run 1 is published again: 3 pages in out"
    assert ran.out.splitlines()[-1].startswith("  uploaded to s3://shop/x/ at ")
    assert world.is_everywhere()
    assert there() == before
    assert siteatlas(world.folder, "notify", "--config", "site.toml", **world.secrets).code == 0
    assert world.ears.heard == []
    world.bucket.always("PUT", DOWN)
    ran = siteatlas(world.folder, "rollback", "--to", "2", "--config", "site.toml", **world.secrets)
    assert (ran.code, ran.err.count("\n")) == (7, 1), ran.err


@pytest.mark.slow
def test_ours_it_goes_by_sftp_too(world: World) -> None:
    root = world.folder / "server"
    root.mkdir()
    with sftp_double(root) as host:
        (world.folder / "known").write_text(host.known_hosts, encoding="utf-8")
        world.upload = f'to = "sftp://{USER}@127.0.0.1:{host.port}/www"\nsftp_known_hosts = "known"\n'
        world.upload += 'sftp_password = "env:SFTP"\nretries = 0\n'
        ran = world.run()
        assert (ran.code, ran.err) == (0, "")
        assert f"  uploaded to sftp://shop@127.0.0.1:{host.port}/www: 1 file (" in ran.out
        world.pages("a", "b", "c")
        failed = world.run("-q", SFTP="another")
        assert (failed.code, world.occasions, world.indexed) == (7, ["trouble"], [])
        assert PASSWORD not in failed.err
        assert "another" not in failed.err
        assert world.run().code == 0
        here, there = (folder / "sitemap.xml" for folder in (world.folder / "out", root / "www"))
        assert here.read_bytes() == there.read_bytes()
        assert world.occasions == ["recovery", "changes"]


@pytest.mark.slow
def test_ours_what_another_version_left_is_told_and_ends_nothing(world: World) -> None:
    world.run()
    (ledger,) = world.folder.glob("state/*/notify.db")
    ledger.write_bytes(b"not a database" * 100)
    world.pages("a", "b", "c")
    ran = world.run()
    assert ran.code == 0
    assert world.is_everywhere()
    assert "  no notification was sent: " in ran.out
    assert "notify.db" in ran.out
    assert world.ears.heard == []


@pytest.mark.slow
def test_ours_a_site_that_another_process_works_on_is_said_once_and_told_nobody(world: World) -> None:
    world.run()
    waits: list[Ran] = []
    world.meanwhile = lambda heard: waits.append(
        siteatlas(world.folder, "run", "--config", "site.toml", **world.secrets)
    )
    world.pages("a", "b", "c")
    process = world.begin()
    assert process.wait(LONG) == 0
    assert [(ran.code, ran.out, ran.err.count("\n")) for ran in waits] == [(6, "", 1)] * 2, waits


@pytest.mark.slow
def test_ours_what_failed_in_us_is_told_with_what_was_published(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for each in (UploadResult, NotifyResult):  # the module imports them for types alone
        monkeypatch.setattr(f"crawler.run.report.{each.__name__}", each, raising=False)
    told = json.loads(world.run("--json").out)["sites"][0]
    groups = dict.fromkeys(("traffic", "counts", "details"), told)  # the JSON has their fields in one object
    report = msgspec.convert({name: value for name, value in told.items() if name != "name"} | groups, Report)
    assert run_result(report).message == "3 pages listed: 3 added"
    lost = OmittedUrls(State.INTERNAL_ERROR, 2, [])
    odd = run_result(replace(report, exit_code=1, left_out=[lost]))
    assert odd.message == "internal error with 2 URLs, left out; 3 pages listed: 3 added"
    assert odd.status is RunStatus.DONE
