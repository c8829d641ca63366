"""A server on the loopback address that answers as a site does on a night, and remembers what it answered."""

import asyncio
import hashlib
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from email.utils import formatdate
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote, urlsplit

from .answers import Asked, Reply
from .disasters import NOT_HERE, Disaster, Kind
from .site import DAY, DAY_ONE, Site


@dataclass
class Night:
    """What a site is like on one night. ``told`` is the last answer to each page: None for a good one."""

    site: Site
    day: float = 0.0
    disaster: Disaster | None = None
    gone: dict[str, Reply] = field(default_factory=dict)
    public: Path | None = None  # the folder with the published files, which the site serves too
    requests: int = 0  # for pages
    told: dict[str, Kind | None] = field(default_factory=dict)
    asked: set[str] = field(default_factory=set)  # paths
    is_carried: bool = False  # the run that asked did not ask for all pages

    def __post_init__(self) -> None:
        for kind, extent in self.disaster.parts if self.disaster else ():
            if kind.unlinks:
                hidden = extent.paths - {"/"}
                self.site = replace(self.site, unlinked=hidden)

    @property
    def migrated(self) -> set[str]:
        """New addresses of pages."""
        parts = self.disaster.parts if self.disaster else []
        return {path for kind, _ in parts for path in kind.extras if path.startswith("/new/")}

    def reply(self, target: str, had: str, host: str) -> Reply:
        """The answer to a request for a path; ``had`` is the ETag that the visitor has."""
        path = unquote(urlsplit(target).path)
        self.asked.add(path)
        if path == "/robots.txt":
            return self._robots(host)
        if path == "/sitemap.xml" and self.site.serves_sitemap and self.public:
            file = self.public / "sitemap.xml"
            if file.exists():
                return Reply(200, file.read_bytes(), kind="application/xml")
        if path in self.site.pages:
            return self._page(path, had, host)
        if path in self.gone:
            return self.gone[path]
        extras = [kind.extras for kind, _ in self.disaster.parts] if self.disaster else []
        return next((each[path] for each in extras if path in each), Reply(404, NOT_HERE))

    def _page(self, path: str, had: str, host: str) -> Reply:
        number = self.requests
        self.requests += 1
        good = self._good(path, number)
        kind = self.disaster.part(path, number) if self.disaster else None
        if kind and kind.answer:
            site = self.site
            dice = random.Random(f"{path} {self.day} {number}")
            reply = kind.answer(Asked(path, site.pages[path].title, site.template.name, host, dice, good))
            if reply is not good:
                self.told[path] = kind
                return reply
        self.told[path] = None
        if had and dict(good.headers).get("ETag") == had:
            return Reply(304, b"", good.headers)
        return good

    def _good(self, path: str, number: int) -> Reply:
        site = self.site
        body = site.render(path, int(self.day * 1_000_000) + number).encode()
        headers: list[tuple[str, str]] = []
        if site.template.validators and not site.template.nonce:
            headers.append(("ETag", f'"{hashlib.sha256(body).hexdigest()[:16]}"'))
        if modified := site.last_modified(site.pages[path]):
            headers.append(("Last-Modified", modified))
        return Reply(200, body, tuple(headers), framing=site.template.sends)

    def _robots(self, host: str) -> Reply:
        for kind, _ in self.disaster.parts if self.disaster else ():
            if kind.robots:
                return kind.robots
        sitemap = f"Sitemap: http://{host}/sitemap.xml\n" if self.site.serves_sitemap else ""
        return Reply(200, f"User-agent: *\nDisallow: /cart/\n{sitemap}".encode(), kind="text/plain")


class Served(Protocol):
    """A site at one moment; ``day`` is the time, in days after the first day of the trials."""

    @property
    def day(self) -> float: ...

    def reply(self, target: str, had: str, host: str) -> Reply: ...


class Server:
    """Serves the ``night`` that it is given."""

    def __init__(self) -> None:
        self.night: Served | None = None
        self.port = 0
        self._ready = threading.Event()

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return f"http://{self.host}/"

    def run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        async with await asyncio.start_server(self._talk, "127.0.0.1", 0) as server:
            self.port = server.sockets[0].getsockname()[1]
            self._ready.set()
            await self._stop.wait()

    def wait(self) -> None:
        assert self._ready.wait(10)

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                while await self._exchange(reader, writer):
                    pass
        except asyncio.CancelledError:
            writer.transport.abort()  # the server stops: a visitor who does not read may not keep the socket open
            raise
        finally:
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        lines = head.split("\r\n")
        target = lines[0].split(" ")[1]
        asked = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
        night = self.night
        assert night
        reply = night.reply(target, asked.get("if-none-match", ""), asked.get("host", ""))
        if reply.framing == "drop":
            return False
        if reply.framing == "hang":
            await reader.read()  # until the visitor has had enough
            return False
        data, goes_on = wire(reply, DAY_ONE + DAY * night.day)
        writer.write(data.partition(b"\r\n\r\n")[0] + b"\r\n\r\n" if lines[0].startswith("HEAD") else data)
        await writer.drain()
        return goes_on


def wire(reply: Reply, now: float) -> tuple[bytes, bool]:
    """The bytes of an answer, and whether the connection stays open after them."""
    lines = [f"HTTP/1.1 {reply.status} {'OK' if reply.status == 200 else 'Told'}"]
    lines += [f"Date: {formatdate(now, usegmt=True)}", f"Content-Type: {reply.kind}"]
    lines += [f"{name}: {value}" for name, value in reply.headers]
    body, goes_on = reply.body, reply.framing in ("length", "chunked")
    if reply.status == 304:
        body = b""
    elif reply.framing in ("chunked", "torn"):
        lines.append("Transfer-Encoding: chunked")
        pieces = [body[at : at + 1500] for at in range(0, len(body), 1500)]
        body = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces)
        body += b"0\r\n\r\n" if reply.framing == "chunked" else b""
    elif reply.framing != "close":
        lines.append(f"Content-Length: {reply.announced if reply.framing == 'lie' else len(body)}")
    if not goes_on:
        lines.append("Connection: close")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body, goes_on


@contextmanager
def serving() -> Iterator[Server]:
    """A server for as long as the context lasts."""
    server = Server()
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    server.wait()
    try:
        yield server
    finally:
        server.stop()
        thread.join(5)
