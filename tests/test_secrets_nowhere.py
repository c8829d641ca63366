"""Every secret that a configuration can name, in success and in every kind of failure: it stands in nothing we write.

The other sides repeat whatever they were sent, as none should: path, headers and body, in what they answer.
"""

import base64
import http.client
import json
import sqlite3
import ssl
import tempfile
import tomllib
import zlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import quote, urlsplit
from urllib.request import urlopen

import psutil
import pytest
import trustme
from doubles_console import private_key
from doubles_listener import Heard, Listener, Reply, listening
from doubles_mail import Mailbox, mailbox
from doubles_s3 import ACCESS, Bucket, Fault, s3_double
from doubles_sftp import PASSWORD, USER, Host, sftp_double
from kept import kept, wait_for
from run import FAST, Ran, siteatlas
from scripted import Answer, Site, links, scripted

from crawler.config.load import SECRET_KEYS
from crawler.notify.configure import CHANNELS

BASIC, HEADER, COOKIE, PROXY = "hush-basic-1a2b", "hush-header-2b3c", "hush-cookie-3c4d", "hush-proxy-4d5e"
FROM_FILE, INDEXNOW, HOOK = "hush-from-a-file-5e6f", "hush-indexnow-6f70", "hush-token-7081"
SIGNS, MAIL, S3, SFTP = "hush-signs-8192", "hush-mail-92a3", "hush-s3-a3b4", "hush-sftp-b4c5"
HOOKED = f"/hook/{HOOK}?key=hush-query-e7f8"
TOKEN, LITERAL, QUERY = "ya29.hush-access-c5d6", "hush-literal-d6e7", "hush-query-e7f8"
PLAIN = (
    BASIC, HEADER, COOKIE, PROXY, FROM_FILE, INDEXNOW, HOOK, SIGNS, MAIL, S3, SFTP, TOKEN, LITERAL, QUERY, ACCESS,
    PASSWORD,
)  # fmt: skip
MODES = ("well", "refused", "repeated", "garbage", "gone", "proxy", "broken")

# What an interpreter imports at its start: everything that sends raises an error which tells all it was given.
SABOTAGE = """
import sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name in WANTED:
            import importlib.util
            sys.meta_path.remove(self)
            spec = importlib.util.find_spec(name)
            sys.meta_path.insert(0, self)
            load = spec.loader.exec_module
            def exec_module(module):
                load(module)
                spoil(name, module)
            spec.loader.exec_module = exec_module
            return spec
def tell(*given, **named):
    told = [getattr(each, "__dict__", each) for each in given]
    raise RuntimeError(f"told everything: {told} {named}")
async def tell_later(*given, **named):
    tell(*given, **named)
def spoil(name, module):
    where, what = WANTED[name]
    setattr(getattr(module, where), what, tell if what == "_send" else tell_later)
WANTED = {
    "crawler.fetch.httpx_transport": ("PinnedTransport", "handle_async_request"),
    "aiosmtplib.smtp": ("SMTP", "connect"),
    "crawler.publish.upload.s3": ("S3Bucket", "_send"),
    "crawler.publish.upload.sftp": ("SftpTarget", "_connected"),
}
sys.meta_path.insert(0, Finder())
"""


def forms(secret: str) -> set[bytes]:
    """A secret as it may be written: as it is, quoted for a URL, in base64 (without the ends, which its neighbours
    change)."""
    found = {secret, quote(secret, safe="")}
    for padding in range(3):
        coded = base64.b64encode(b"x" * padding + secret.encode()).decode()
        found.add(coded[4:-4])
    return {each.encode() for each in found}


def needles() -> dict[bytes, str]:
    lines = private_key().splitlines()
    return {form: secret for secret in (*PLAIN, lines[3], lines[7]) for form in forms(secret)}


def leaks(where: str, content: bytes) -> list[str]:
    """The secrets that stand somewhere."""
    return [f"{secret} in {where}" for form, secret in needles().items() if form in content]


def values(file: Path) -> Iterator[bytes]:
    """Every value in a database, also what is packed."""
    with suppress(sqlite3.DatabaseError), closing(sqlite3.connect(file)) as db:
        for (table,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            for row in db.execute(f'SELECT * FROM "{table}"'):
                for value in row:
                    yield value if isinstance(value, bytes) else str(value).encode()
                    with suppress(zlib.error, TypeError):
                        yield zlib.decompress(value, 47)


class World:
    """A site behind a password, and everybody who can be told or given files. ``mode`` is what becomes of it."""

    def __init__(self, folder: Path, stack: ExitStack, mode: str, to: str) -> None:
        self.folder, self.mode, self.to = folder, mode, to
        self.own: set[Path] = set()
        self.written: list[tuple[str, bytes]] = []
        authority = trustme.CA()
        authority.cert_pem.write_to_path(self._file("ca.pem", ""))
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        authority.issue_cert("127.0.0.1").configure_cert(context)
        self.ears: Listener = stack.enter_context(listening(self._answer))
        self.proxy: Listener = stack.enter_context(listening(self._pass_on))
        self.bucket: Bucket = stack.enter_context(s3_double())
        right = MAIL if mode == "well" else "another"
        self.box: Mailbox = stack.enter_context(mailbox(context, login=(b"me", right.encode())))
        (folder / "server").mkdir()
        self.host: Host = stack.enter_context(sftp_double(folder / "server"))
        who = base64.b64encode(f"me:{BASIC}".encode()).decode()
        self.site: Site = stack.enter_context(scripted({}, f"Basic {who}"))
        self.pages(3)
        self._configure()

    def _file(self, name: str, text: str) -> Path:
        """A file that may hold a secret, since it was written by the operator."""
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        self.own.add(path)
        return path

    def pages(self, count: int) -> None:
        names = [f"/p{number}" for number in range(count)]
        self.site.routes |= {
            "/": links(*names, head="<title>home</title>"),
            "/robots.txt": Answer("", 404),
            f"/{INDEXNOW}.txt": Answer(INDEXNOW.encode(), headers={"Content-Type": "text/plain"}),
            "/sitemap.xml": lambda _: self._published("sitemap.xml"),
            **{name: f"<title>{name}</title><p>page {name} with words of its own" for name in names},
        }

    def _published(self, name: str) -> Answer:
        file = self.folder / "out" / name
        return Answer(file.read_bytes()) if file.exists() else Answer("", 404)

    def _answer(self, heard: Heard) -> Reply:
        echo = f"{heard.path} {dict(heard.headers)} ".encode() + heard.body
        if self.mode == "repeated":
            return Reply(400, heard.body[::-1][:150][::-1] + echo, {"Content-Type": "text/plain"})
        if self.mode == "refused":
            return Reply(401, echo, {"Content-Type": "text/plain", "X-Echo": quote(echo)})
        if self.mode == "garbage":
            return Reply(200, b"\0\xff{" + echo, {"Content-Type": "application/json"})
        if heard.path == "/token":
            return Reply(200, json.dumps({"access_token": TOKEN, "expires_in": 60}).encode())
        return Reply(204) if heard.method == "PUT" else Reply(200, b"{}")

    def _pass_on(self, heard: Heard) -> Reply:
        """A proxy. What it does not like it repeats."""
        if self.mode == "proxy" and not heard.path.startswith(self.site.url):
            return Reply(407, str(dict(heard.headers)).encode(), {"Content-Type": "text/plain"})
        url = urlsplit(heard.path)
        where = url._replace(scheme="", netloc="").geturl()
        try:
            with closing(http.client.HTTPConnection(url.netloc, timeout=20)) as connection:
                connection.request(heard.method, where, heard.body, dict(heard.headers))
                answer = connection.getresponse()
                body = answer.read()
        except OSError:
            return Reply(502, str(dict(heard.headers)).encode(), {"Content-Type": "text/plain"})
        kept = {name: value for name, value in answer.headers.items() if name.lower() in ("content-type", "etag")}
        return Reply(answer.status, body, kept)

    def _configure(self) -> None:
        ears = "http://127.0.0.1:9" if self.mode == "gone" else self.ears.url
        account = {
            "type": "service_account",
            "client_email": "atlas@project.example",
            "private_key": private_key(),
            "token_uri": f"{ears}/token",
        }
        self._file("account.json", json.dumps(account))
        self._file("signs", SIGNS)
        self._file("header", FROM_FILE)
        self._file("password", PASSWORD if self.mode in ("well", "proxy") else SFTP)
        s3 = "http://127.0.0.1:9" if self.mode == "gone" else self.bucket.url
        port = 9 if self.mode == "gone" else self.host.port
        self._file("hosts", self.host.known_hosts.replace(str(self.host.port), str(port)))
        upload = {
            "nowhere": "",
            "s3": f'to = "s3://shop/x"\ns3_endpoint = "{s3}"\ns3_region = "eu-west-1"\n'
            's3_access_key = "env:S3_ACCESS"\ns3_secret_key = "env:S3_SECRET"',
            "sftp": f'to = "sftp://{USER}@127.0.0.1:{port}/www"\nsftp_known_hosts = "hosts"\n'
            'sftp_password = "file:password"',
        }[self.to]
        if self.mode == "refused":
            self.bucket.always("PUT", Fault("error", 403, "SignatureDoesNotMatch"))
        if self.mode == "garbage":
            self.bucket.always("PUT", Fault("garbage", 200, body=S3.encode()))
        mail = "127.0.0.1:9" if self.mode == "gone" else self.box.address
        self._file(
            "sites.toml",
            f"""
[site]
url = "{self.site.url}"
[output]
directory = "out"
swap_delay = 0
recent = "atom"
[state]
directory = "state"
[pace]
rate = 0
[parse]
processes = 1
[fetch]
basic_auth = "env:BASIC"
headers = {{X-Token = "env:HEADER", X-Other = "file:header", X-Literal = "{LITERAL}"}}
cookies = {{session = "env:COOKIE"}}
proxy = "env:PROXY"
ca_file = "ca.pem"
retries = 0
[notify]
attempts = 1
check_live = false
[indexnow]
key = "env:INDEXNOW"
endpoint = "{ears}/indexnow"
first_run = true
[search_console]
account = "account.json"
endpoint = "{ears}/console"
[webhook]
urls = ["env:HOOK"]
secret = "file:signs"
[email]
to = ["me@example.com"]
server = "{mail}"
security = "starttls"
login = "env:MAIL"
on = ["changes", "trouble", "findings"]
[hook]
command = ["sh", "-c", "cat > /dev/null"]
[upload]
{upload}
retries = 0
[audit]
sitemaps = ["out/sitemap.xml"]
every = 0.001
report = "report"
[schedule]
every = "1h"
[daemon]
listen = "127.0.0.1:0"
serve_sitemaps = true
""",
        )
        self.environment = {
            "BASIC": f"me:{BASIC}",
            "HEADER": HEADER,
            "COOKIE": COOKIE,
            "PROXY": f"http://me:{PROXY}@{urlsplit(self.proxy.url).netloc}",
            "INDEXNOW": INDEXNOW,
            "HOOK": f"{ears}{HOOKED}",
            "MAIL": f"me:{MAIL}",
            "S3_ACCESS": ACCESS,
            "S3_SECRET": S3,
        }
        told = tomllib.loads((self.folder / "sites.toml").read_text(encoding="utf-8"))
        for name in CHANNELS.keys() - {"plugins"}:
            secrets = [told.get(name, {}).get(key) for key in SECRET_KEYS[name]]
            assert all(secrets), f"{name}: each channel has its section here, with all its secrets"
            unsought = [value for value in secrets if not self._is_sought(value)]
            assert not unsought, f"{name}: PLAIN has each secret"
        if self.mode == "broken":
            (self.folder / "spoilt").mkdir()
            self._file("spoilt/sitecustomize.py", SABOTAGE)
            self.environment["PYTHONPATH"] = f"{self.folder / 'spoilt'}:{Path(__file__).parents[1]}"

    def _is_sought(self, value: str | list[str]) -> bool:
        """Whether what stands in a secret, or in the file or variable that it names, is among the secrets sought."""
        if isinstance(value, list):
            return all(map(self._is_sought, value))
        file = self.folder / value.removeprefix("file:")
        text = file.read_text(encoding="utf-8") if file.is_file() else value
        text = self.environment.get(value.removeprefix("env:"), text)
        return file.name == "account.json" or any(plain in text for plain in PLAIN)

    def do(self, *words: str) -> Ran:
        """Run a command, and keep what it says."""
        ran = siteatlas(self.folder, *words, **self.environment)
        self.written.append((" ".join(words), (ran.out + ran.err).encode()))
        return ran

    def leaks(self) -> list[str]:
        """The secrets that stand in anything that was said or written."""
        found = [leak for where, content in self.written for leak in leaks(where, content)]
        for path in self.folder.rglob("*"):
            if path.is_file() and path not in self.own:
                found += leaks(str(path.relative_to(self.folder)), path.read_bytes())
                for value in values(path) if path.suffix == ".db" else ():
                    found += leaks(f"a table of {path.name}", value)
        return found


@contextmanager
def worlds(mode: str, to: str = "nowhere") -> Iterator[World]:
    with ExitStack() as stack:
        yield World(Path(stack.enter_context(tempfile.TemporaryDirectory())), stack, mode, to)


def test_ours_a_run_that_everybody_refuses_shows_no_secret() -> None:
    with worlds("refused") as world:
        ran = world.do("run", "--config", "sites.toml", "-v", *FAST)
        assert ran.code == 0, ran.err
        assert "401" in ran.out
        assert world.leaks() == []


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_ours_no_command_shows_a_secret_or_keeps_it(mode: str) -> None:
    with worlds(mode) as world:
        config = ("--config", "sites.toml")
        assert world.do("crawl", *config, *FAST, "-v").code == 0
        world.pages(5)
        assert world.do("run", *config, *FAST, "--json", "-v").code == 0
        world.do("run", *config, *FAST, "-q")
        world.do("run", *config, *FAST, "--dry-run", "-v")
        for words in (["--test"], ["--since", "0", "--json", "-v"], ["--resend-refused"], ["--dry-run", "-v"], ["-q"]):
            world.do("notify", *config, *words)
        for words in (["status"], ["status", "--json"], ["compare"], ["robots"], ["rollback"]):
            world.do(*words, *config)
        world.do("why", f"{world.site.url}p1", *config, "--json")
        world.do("audit", *config, *FAST, "-v", "--report", "report")
        world.do("audit", *config, *FAST, "--json")
        if mode == "well":
            assert {"/indexnow", "/token", HOOKED} <= {each.path for each in world.ears.heard}
            assert world.box.messages
            assert all("proxy-authorization" in each.headers for each in world.proxy.heard)
        assert world.leaks() == []


@pytest.mark.slow
@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "repeated"])
@pytest.mark.parametrize("to", ["s3", "sftp"])
def test_ours_no_upload_shows_a_secret_or_keeps_it(mode: str, to: str) -> None:
    with worlds(mode, to) as world:
        config = ("--config", "sites.toml")
        code = 0 if mode in ("well", "proxy") else 7
        assert world.do("crawl", *config, *FAST, "-v").code == code
        world.pages(5)
        assert world.do("run", *config, *FAST, "--json", "-v").code == code
        for words in (["notify", "-v"], ["rollback", "-v"], ["status", "--json"]):
            world.do(*words, *config)
        assert world.leaks() == []


def family(pid: int) -> Iterable[psutil.Process]:
    with suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).children(recursive=True)
    return ()


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_ours_the_daemon_shows_no_secret_and_gives_its_runs_none_that_they_need_not_have(mode: str) -> None:
    with worlds(mode) as world:
        world.site.routes["/p1"] = Answer("<title>slow</title>", delay=0.5)
        told: list[str] = []
        with kept(world.folder, "-v", **world.environment) as daemon:
            daemon.said("; http://")
            home = "http://" + daemon.text.partition("; http://")[2].partition("/")[0]
            wait_for(lambda: list(family(daemon.process.pid)))
            while children := list(family(daemon.process.pid)):
                for each in children:
                    told += seen(each, world.environment)
            for path in ("/", "/metrics", "/healthz", "/sites/127.0.0.1"):
                with suppress(HTTPError), urlopen(home + path) as answer:
                    world.written.append((path, answer.read()))
            assert daemon.end() == 0
        world.written.append(("the log", daemon.text.encode()))
        assert told == []
        assert world.leaks() == []


def seen(process: psutil.Process, given: dict[str, str]) -> list[str]:
    """What anybody may see of a process, and in its environment what was not given to ours."""
    with suppress(psutil.Error):
        line, variables = process.cmdline(), process.environ()
        more = [f"{name}={value}" for name, value in variables.items() if given.get(name) != value]
        return leaks("a command line", " ".join(line).encode()) + leaks("an environment", "\n".join(more).encode())
    return []


WRONG = {
    "the password of a start URL": ("site", 'url = "ftp://me:{}@127.0.0.1/"'),
    "the password of a source": ("fetch", 'source = "me:{}@127.0.0.1/x"'),
    "the password of a proxy": ("fetch", 'proxy = "http://me:{}@127.0.0.1:99999"'),
    "a proxy that is none": ("fetch", 'proxy = "ftp://me:{}@127.0.0.1"'),
    "a login that is none": ("fetch", 'basic_auth = "{}"'),
    "a header that cannot be": ("fetch", 'headers = {{X-Token = "{}\\n"}}'),
    "a cookie that cannot be": ("fetch", 'cookies = {{session = ["{}"]}}'),
    "a key that is none": ("indexnow", 'key = "{}/"'),
    "a service that is none": ("indexnow", 'key = "12345678"\nendpoint = "ftp://me:{}@127.0.0.1/"'),
    "a webhook that is none": ("webhook", 'urls = ["{}/T0/B0"]'),
    "a mail server with a password": ("email", 'to = ["me@example.com"]\nserver = "me:{}@127.0.0.1:25"'),
    "a login in the clear": ("email", 'to = ["me@example.com"]\nlogin = "me:{}"'),
    "an account that is none": ("search_console", 'account = \'{{"private_key": "{}"}}\''),
    "half of the keys": ("upload", 'to = "s3://shop"\ns3_secret_key = "{}"'),
    "keys in an address": ("upload", 'to = "s3:AKID:{}@shop"'),
    "a password with a slash": ("upload", 'to = "sftp://me:{}/x@127.0.0.1/www"'),
    "keys of an endpoint": (
        "upload",
        'to = "s3://shop"\ns3_access_key = "a"\ns3_secret_key = "b"\ns3_endpoint = "a:{}@h"',
    ),
    "a list in place of an address": ("upload", 'to = ["sftp://me:{}@127.0.0.1/www"]'),
}


@pytest.mark.parametrize("what", [*list(WRONG)[:1], *(pytest.param(what, marks=pytest.mark.slow) for what in WRONG)])
def test_ours_what_is_wrong_with_a_secret_is_told_without_it(what: str, tmp_path: Path) -> None:
    section, line = WRONG[what]
    line = line.format("hush-wrong")
    site = "" if section == "site" else '[site]\nurl = "http://127.0.0.1:47111/"\n'
    shared = '[output]\ndirectory = "out"\nrecent = "atom"\n[state]\ndirectory = "state"\n'
    (tmp_path / "sites.toml").write_text(f"{site}{shared}[{section}]\n{line}\n", encoding="utf-8")
    for words in (["run", "-v"], ["crawl", "-v"], ["notify"], ["schedule", "--every", "1h", "-v"], ["status"]):
        ran = siteatlas(tmp_path, *words, "--config", "sites.toml")
        assert "hush" not in ran.out + ran.err
        if words[0] in ("run", "crawl", "schedule"):
            assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1), ran.err
