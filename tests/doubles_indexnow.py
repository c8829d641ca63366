"""A site and the IndexNow service on the loopback address: real sockets, answers by script, and what was taken."""

import json
import sqlite3
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

from msgspec.structs import replace
from site_history import History, Seen

from crawler.config.config import Config
from crawler.config.load import build_config
from crawler.config.plan import CrawlPlan, plan_crawl
from crawler.model import State
from crawler.state.runs import PublishedFile, RunStore
from crawler.state.schema import STATE_DB

KEY = "0123456789abcdef-secret-KEY"
SITEMAP = b"<urlset/>"
_USUAL = {"host", "user-agent", "accept", "accept-encoding", "accept-language", "connection"}
_USUAL |= {"content-length", "content-type"}


@dataclass(frozen=True)
class Say:
    """One answer of the service: a status, or ``raw`` bytes in its place, after ``wait`` seconds."""

    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    raw: bytes | None = None
    wait: float = 0.0
    then: Callable[[], None] | None = None  # when the message has been taken, and before it is answered


@dataclass
class Double:
    """``says`` are the answers of the service, one after the other; when they are used up it takes everything.

    ``files`` are those of the site, by path; ``cached`` are those of a cache before it, by path and query.
    ``messages`` is what came, ``taken`` how often each URL was.
    """

    says: list[Say] = field(default_factory=list)
    files: dict[str, bytes | int | Say] = field(default_factory=dict)
    cached: dict[str, bytes | int | Say] = field(default_factory=dict)
    messages: list[dict[str, Any]] = field(default_factory=list)
    heads: list[Any] = field(default_factory=list)
    taken: Counter[str] = field(default_factory=Counter)
    asked: list[str] = field(default_factory=list)
    opened: list[sqlite3.Connection] = field(default_factory=list)  # by sites on it
    headers: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    echoes: bool = False  # refuses each message, and repeats it with its head

    def take(self, message: Any) -> Say:
        """Keep a message, and say what it is answered."""
        self.messages.append(message)
        say = self.says.pop(0) if self.says else Say()
        if say.status in (200, 202) and say.raw is None and not say.body.startswith(b"<"):
            self.taken.update(message.get("urlList", ()) if isinstance(message, dict) else ())  # others send text
        if say.then:
            say.then()
        return say

    def __enter__(self) -> Self:
        double = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                super().setup()
                self.connection.settimeout(5)

            def log_message(self, *args: object) -> None:
                pass

            def do_GET(self) -> None:
                double.asked.append(f"{self.headers['Host']}{self.path}")
                path = self.path.partition("?")[0]
                found = double.files.get(f"{self.headers['Host']}{path}", double.files.get(path, 404))
                found = double.cached.get(self.path, found)
                double.headers.append((self.path, dict(self.headers)))
                self._answer(
                    Say(body=found) if isinstance(found, bytes) else Say(found) if isinstance(found, int) else found
                )

            def do_POST(self) -> None:
                double.heads.append(self.headers)
                body = self.rfile.read(int(self.headers["Content-Length"]))
                own = [value for name, value in self.headers.items() if name.lower() not in _USUAL]
                said = " ".join([*own, self.path, body.decode()]).encode()  # the sender quotes the first 200 characters
                self._answer(Say(400, body=said) if double.echoes else double.take(_read(body)))

            def _answer(self, say: Say) -> None:
                time.sleep(say.wait)
                if say.raw is not None:
                    self.wfile.write(say.raw)
                    self.close_connection = True
                    return
                self.send_response(say.status)
                for name, value in say.headers:
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(say.body)))
                self.end_headers()
                self.wfile.write(say.body)

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request: object, client_address: object) -> None:
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        self.port = self.server.server_port
        self.home = f"http://127.0.0.1:{self.port}"
        self.files.setdefault(f"/{KEY}.txt", KEY.encode())
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()
        for db in self.opened:
            db.close()


@contextmanager
def memory() -> Iterator[Path]:
    """A folder in which a commit takes no time: what these tests end are processes, and not machines."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        yield Path(folder)


class Site:
    """A site with a history, on a double. Paths are of its host; ``other`` makes URLs of a second one."""

    def __init__(self, double: Double, folder: Path, **settings: Any) -> None:
        self.double = double
        self.folder = folder
        self.settings = settings
        self.plan = self.planned(**settings)
        self.plan.state.mkdir(parents=True, exist_ok=True)
        self.plan.output.mkdir(exist_ok=True)
        self.db = STATE_DB.open(self.plan.state / STATE_DB.file)
        double.opened.append(self.db)
        self.db.execute("PRAGMA synchronous = OFF")  # what is made for a test need not survive it
        self.history = History(self.db)

    def tables(self, **settings: Any) -> dict[str, Any]:
        given: dict[str, Any] = {
            "site": {"url": f"{self.double.home}/"},
            "scope": {"hosts": [f"localhost:{self.double.port}"]},
            "output": {"directory": str(self.folder / "public")},
            "state": {"directory": str(self.folder / "state")},
            "notify": {"retry_delay": 0.001, "timeout": 20.0},
            "indexnow": {"key": KEY, "endpoint": f"{self.double.home}/indexnow"},
        }
        for name, value in {**self.settings, **settings}.items():
            section, _, key = name.partition("__")
            given.setdefault(section, {})[key] = value
        return given

    def config(self, **settings: Any) -> Config:
        return build_config(self.tables(**settings))

    def planned(self, **settings: Any) -> CrawlPlan:
        return plan_crawl(self.config(**settings))

    def other(self, path: str) -> str:
        return f"http://localhost:{self.double.port}{path}"

    def url(self, path: str) -> str:
        return path if "://" in path else f"{self.double.home}{path}"

    def run(self, pages: Sequence[str], changed: Sequence[str] = (), outcome: str = "published") -> int:
        """A run that lists these pages, of which some were changed; the sitemap is live."""
        seen = {
            self.url(page): Seen(
                State.INDEXABLE, changed=int(page in changed), lastmod="2026-01-02" if page in changed else ""
            )
            for page in pages
        }
        self.history.run(seen, outcome)
        number = self.history.number
        records = RunStore(self.db)
        body = b"<urlset>%d</urlset>" % number
        (self.plan.output / "sitemap.xml").write_bytes(body)
        self.double.files["/sitemap.xml"] = body
        file = PublishedFile("sitemap.xml", f"{self.double.home}/sitemap.xml", len(pages), len(body))
        records.write(replace(records.get(number), files=[file], listed=len(pages)))
        return number


def _read(body: bytes) -> Any:
    """What a channel sends: JSON or text."""
    try:
        return json.loads(body)
    except ValueError:
        return body.decode()
