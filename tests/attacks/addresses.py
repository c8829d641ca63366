"""Private addresses, in random spellings, through every kind of reference, redirects and a DNS that changes its mind.

A public site and its subdomains are crawled twice. A test machine need not have a public address, so 127.0.0.2 counts
as one. Listeners stand at private addresses; one connection to them breaks the attack.
"""

import random
import socket
import tempfile
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any
from unittest import mock

import anyio
from hostile import HostileServer, answer
from ports import at_one_port

from crawler.config.load import build_config
from crawler.config.plan import plan_crawl
from crawler.errors import SiteatlasError
from crawler.fetch import address_policy
from crawler.fetch.address_policy import AddressKind
from crawler.run.crawl import RunChoices, crawl
from crawler.state.store import Resume

PUBLIC = "127.0.0.2"
PRIVATE = ("127.0.0.1", "127.0.0.3", "::1")  # where the listeners stand
SITE = "site.example"
HTML, XML, TEXT = "Content-Type: text/html", "Content-Type: application/xml", "Content-Type: text/plain"


def spelling(draw: random.Random, port: int) -> str:
    """The ``host:port`` of a listener, in one of the spellings that URL parsers and resolvers accept."""
    number = 0x7F000001 + draw.choice((0, 2))
    parts = [127, 0, 0, number & 0xFF]
    host = draw.choice(
        [
            str(number),
            hex(number),
            f"0{number:o}",
            ".".join(draw.choice((str(part), hex(part), f"0{part:o}", f"{part:03o}")) for part in parts),
            f"127.{number & 0xFFFFFF}",
            f"127.0.{number & 0xFFFF}",
            ".".join(map(str, parts)) + ".",
            ".".join(map(str, parts)).translate({ord(digit): 0xFF10 + int(digit) for digit in "0123456789"}),
            "%31%32%37.0.0.1",
            "127。0。0。1",
            "localhost",
            "LocalHost.",
            "a.localhost",
            "0",
            "[::1]",
            "[::]",
            f"[::ffff:{number >> 16:x}:{number & 0xFFFF:x}]",
            f"[::{'.'.join(map(str, parts))}]",
            f"[64:ff9b::{number >> 16:x}:{number & 0xFFFF:x}]",
            f"[2002:{number >> 16:x}:{number & 0xFFFF:x}::1]",
            "[0:0:0:0:0:0:0:1]",
            f"inner.{SITE}",
            f"flip.{SITE}",
        ]
    )
    user = draw.choice(("", "", "", f"{SITE}@", f"{SITE}:80@"))
    return f"{user}{host}:{port}"


def reference(draw: random.Random, url: str) -> tuple[str, str]:
    """Markup for the head and for the body of a page that makes a crawler interested in a URL."""
    href = url.removeprefix("http:") if draw.random() < 0.2 else url
    return draw.choice(
        [
            ("", f'<a href="{href}">x</a>'),
            ("", f'<area href="{href}"><map><area href="{href}"></map>'),
            ("", f'<iframe src="{href}"></iframe>'),
            ("", f'<img src="{href}"><video src="{href}" poster="{href}"></video>'),
            (f'<link rel="canonical" href="{href}">', ""),
            (f'<link rel="alternate" hreflang="de" href="{href}">', ""),
            (f'<link rel="next" href="{href}"><link rel="prev" href="{href}">', ""),
            (f'<link rel="alternate" type="application/rss+xml" href="{href}">', ""),
            (f'<meta http-equiv="refresh" content="0; url={href}">', ""),
            (f'<base href="{href}">', '<a href="page">x</a>'),
            (
                f'<script type="application/ld+json">{{"@type": "WebPage", "url": "{url}", "image": "{url}"}}</script>',
                "",
            ),
            ("", f'<form action="{href}"><button>x</button></form>'),
        ]
    )


class _Names:
    """A DNS: the site is public at first, ``flip`` changes with every lookup, all other names are private."""

    def __init__(self, draw: random.Random) -> None:
        self._draw = draw
        self.is_rebound = False

    async def __call__(self, host: str, port: int, **_: object) -> list[tuple[object, ...]]:
        private = self._draw.sample(PRIVATE, self._draw.randint(1, len(PRIVATE)))
        name = str(host).rstrip(".").lower()
        is_public = (name == SITE and not self.is_rebound) or (name == f"flip.{SITE}" and self._draw.random() < 0.5)
        found = [PUBLIC] if is_public else private
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in found]


def _web(stack: ExitStack) -> tuple[HostileServer, list[HostileServer]]:
    """The public server, and the listeners at the same port."""
    public = stack.enter_context(HostileServer(address=PUBLIC))
    return public, [stack.enter_context(HostileServer(address=each, port=public.port)) for each in PRIVATE]


def _furnish(server: HostileServer, draw: random.Random) -> None:
    def target(path: str = "/secret") -> str:
        return f"http://{spelling(draw, server.port)}{path}"

    pages = [reference(draw, target()) for _ in range(8)]
    head, body = ("".join(part) for part in zip(*pages, strict=True))
    own = ["/more", *(f"/redirect-{number}" for number in range(6))]
    body = "".join(f'<a href="http://{SITE}:{server.port}{path}">x</a>' for path in own) + body
    links = [f"Link: <{_header(target())}>; rel={draw.choice(('canonical', 'next', 'alternate'))}"]
    server.route("/", answer(f"<html><head>{head}</head><body>{body}".encode(), HTML, *links))
    head, body = reference(draw, target())
    server.route("/more", answer(f"<html><head>{head}</head><body>{body}".encode(), HTML))
    for number in range(6):
        status = draw.choice(("301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"))
        server.route(
            f"/redirect-{number}", answer(b"", f"Location: {target().encode().decode('latin-1')}", status=status)
        )
    entries = "".join(f"<url><loc>{target()}</loc></url>" for _ in range(3))
    children = "".join(f"<sitemap><loc>{target('/sitemap.xml')}</loc></sitemap>" for _ in range(3))
    sitemap = draw.choice((f"<urlset>{entries}</urlset>", f"<sitemapindex>{children}</sitemapindex>"))
    server.route("/sitemap.xml", answer(sitemap.encode(), XML))
    robots = f"User-agent: *\nAllow: /\nSitemap: {target('/sitemap.xml')}\nSitemap: {target('/feed')}\n"
    if draw.random() < 0.1:
        redirect = answer(b"", f"Location: {_header(target('/robots.txt'))}", status="301 Moved")
        server.route("/robots.txt", redirect)
    else:
        server.route("/robots.txt", answer(robots.encode(), TEXT))


def _header(value: str) -> str:
    """A value of a header, whose bytes are those of UTF-8."""
    return value.encode().decode("latin-1")


def attack(seed: int) -> str | None:
    """One random site, crawled twice; before the second run its name comes to mean a private address, or does not."""
    draw = random.Random(seed)
    names = _Names(draw)
    kinds = address_policy.address_kind

    def kind(address: str) -> AddressKind:
        return AddressKind.PUBLIC if address == PUBLIC else kinds(address)

    with (
        at_one_port(_web) as (public, listeners),
        tempfile.TemporaryDirectory() as folder,
        mock.patch.object(address_policy, "address_kind", kind),
        mock.patch.object(anyio, "getaddrinfo", names),
    ):
        _furnish(public, draw)
        _run(draw, public.port, Path(folder))
        assert public.requests, "nothing was attacked"
        names.is_rebound = draw.random() < 0.5
        _run(draw, public.port, Path(folder))
        if found := [listener.address for listener in listeners if listener.connections]:
            seen = {request.path for listener in listeners for request in listener.requests}
            return f"connected to {', '.join(found)}, for {', '.join(sorted(seen)) or 'nothing'}"
    return None


def _run(draw: random.Random, port: int, folder: Path) -> None:
    tables: dict[str, dict[str, Any]] = {
        "site": {"url": f"http://{SITE}:{port}/"},
        "scope": {"subdomains": draw.random() < 0.7},
        "fetch": {"retries": 0, "transport": draw.choice(("fast", "httpx"))},
        "state": {"directory": str(folder / "state")},
        "output": {"directory": str(folder / "out")},
        "pace": {"rate": 0},
        "parse": {"processes": 1},
    }
    plan = plan_crawl(build_config(tables))

    async def regenerate() -> None:
        await crawl(plan, lambda _: None, RunChoices(begin=Resume.IF_SAME_SETTINGS))

    with suppress(SiteatlasError):  # a site that cannot be crawled is no fault
        anyio.run(regenerate)
