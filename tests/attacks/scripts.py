"""Private addresses, in random spellings, through what a script in a browser can request, and through redirects.

A public site that scripts draw is crawled with Chromium. Listeners stand at private addresses, for TCP and UDP; one
connection to them, by the browser or by the fetcher on its behalf, breaks the attack.
"""

import json
import os
import random
import socket
import tempfile
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any
from unittest import mock

import anyio
import browsing
from hostile import HostileServer, answer
from ports import at_one_port

from crawler.config.load import build_config
from crawler.config.plan import plan_crawl
from crawler.errors import SiteatlasError
from crawler.fetch import address_policy
from crawler.fetch.address_policy import AddressKind
from crawler.run.crawl import RunChoices, crawl
from crawler.state.store import Resume

from .addresses import HTML, PRIVATE, PUBLIC, SITE, _header, _Names, _web, spelling

SCRIPT = "Content-Type: text/javascript"
SHELL = '<!doctype html><title>App</title>%s<body><main></main><script src="/app.js"></script>'
# Ways to make a browser connect. TARGET is a URL, in a spelling; PEER the same as host and port.
WAYS = (
    'fetch("TARGET", {mode: "no-cors"})',
    'fetch("TARGET", {method: "POST", body: "x", mode: "no-cors", keepalive: true})',
    'navigator.sendBeacon("TARGET", "x")',
    'const x = new XMLHttpRequest(); x.open("GET", "TARGET"); x.send()',
    'new WebSocket("ws://PEER/")',
    'new EventSource("TARGET")',
    'new Image().src = "TARGET"',
    'new Audio("TARGET").play()',
    'import("TARGET")',
    'new Worker("TARGET")',
    'new Worker(window.URL.createObjectURL(new Blob([`importScripts("TARGET")`])))',
    'new SharedWorker("TARGET")',
    'new FontFace("x", "url(TARGET)").load()',
    'document.body.style.background = "url(TARGET)"',
    'document.body.append(Object.assign(document.createElement("iframe"), {src: "TARGET"}))',
    'document.body.append(Object.assign(document.createElement("object"), {data: "TARGET"}))',
    'document.body.append(Object.assign(document.createElement("embed"), {src: "TARGET"}))',
    'document.body.append(Object.assign(document.createElement("script"), {src: "TARGET"}))',
    'document.body.append(Object.assign(document.createElement("video"), {src: "TARGET", poster: "TARGET"}))',
    'document.head.append(Object.assign(document.createElement("link"), {rel: "stylesheet", href: "TARGET"}))',
    'document.head.append(Object.assign(document.createElement("link"), {rel: "preconnect", href: "TARGET"}))',
    'document.head.append(Object.assign(document.createElement("link"), {rel: "dns-prefetch", href: "TARGET"}))',
    'document.head.append(Object.assign(document.createElement("link"), {rel: "prefetch", href: "TARGET"}))',
    'document.head.append(Object.assign(document.createElement("link"), {rel: "icon", href: "TARGET"}))',
    'document.head.append(Object.assign(document.createElement("link"), {rel: "manifest", href: "TARGET"}))',
    'const a = document.createElement("a"); a.href = a.ping = "TARGET"; document.body.append(a); a.click()',
    'const f = document.body.appendChild(document.createElement("form")); f.action = "TARGET"; f.submit()',
    'window.open("TARGET")',
    'location.href = "TARGET"',
    'const p = new RTCPeerConnection({iceServers: [{urls: "stun:PEER"}]}); p.createDataChannel("x"); OFFER',
    'new WebTransport("https://PEER/")',
)
OFFER = "p.createOffer().then(offer => p.setLocalDescription(offer))"
REDIRECTS = 8


def _listening(stack: ExitStack) -> tuple[HostileServer, list[HostileServer], list[socket.socket]]:
    """The public server, and at its port the listeners for TCP and UDP at the private addresses."""
    public, listeners = _web(stack)
    datagrams = []
    for address in PRIVATE:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        datagrams.append(stack.enter_context(socket.socket(family, socket.SOCK_DGRAM)))
        datagrams[-1].bind((address, public.port))
        datagrams[-1].setblocking(False)
    return public, listeners, datagrams


def _received(datagrams: list[socket.socket]) -> list[str]:
    seen: list[str] = []
    for each in datagrams:
        with suppress(BlockingIOError):
            seen.append(f"UDP {each.getsockname()[0]}: {each.recv(200)!r}")
    return seen


def _furnish(server: HostileServer, draw: random.Random) -> None:
    """A site of two pages. The scripts use random ways to random spellings, some of them by redirects of the site."""

    def peer() -> str:
        return spelling(draw, server.port)

    own = f"http://{SITE}:{server.port}"
    for number in range(REDIRECTS):
        status = draw.choice(("301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"))
        target = _header(f"Location: http://{peer()}/secret")
        server.route(f"/redirect-{number}", answer(b"", target, "Access-Control-Allow-Origin: *", status=status))
    lines = ['document.querySelector("main").innerHTML = `<p>drawn</p><a href="/more">more</a>`;']
    for way in draw.sample(WAYS, 16):
        host = peer()
        url = f"{own}/redirect-{draw.randrange(REDIRECTS)}" if draw.random() < 0.5 else f"http://{host}/secret"
        lines.append(f"try {{ {way.replace('TARGET', url).replace('PEER', host).replace('OFFER', OFFER)} }} catch {{}}")
    script = "\n".join(f"{{ {line} }}" for line in lines)
    head = f"<link rel=stylesheet href={json.dumps(f'http://{peer()}/style.css')}>"
    server.route("/", answer((SHELL % head).encode(), HTML))
    server.route("/more", answer((SHELL % "").encode(), HTML))
    server.route("/app.js", answer(script.encode(), SCRIPT))


def attack(seed: int) -> str | None:
    """One random site, crawled once with every page in the browser."""
    browsing.binary()
    draw = random.Random(seed)
    kinds = address_policy.address_kind

    def kind(address: str) -> AddressKind:
        return AddressKind.PUBLIC if address == PUBLIC else kinds(address)

    with (
        at_one_port(_listening) as (public, listeners, datagrams),
        tempfile.TemporaryDirectory() as name,
        mock.patch.object(address_policy, "address_kind", kind),
        mock.patch.object(anyio, "getaddrinfo", _Names(draw)),
    ):
        _furnish(public, draw)
        folder = Path(name)
        _run(public.port, folder)
        requested = {request.path for request in public.requests}
        found = [listener.address for listener in listeners if listener.connections]
        received = _received(datagrams)
    if found or received:
        seen = sorted({request.path for listener in listeners for request in listener.requests})
        return f"connected to {', '.join([*found, *received])}, for {', '.join(seen) or 'nothing'}"
    # a page whose script leads to a redirect of the site is a redirect itself: the sitemap may lack each of the two
    if "/more" not in requested:
        return f"the site was not crawled to its end: {sorted(requested)}"
    return None


def _run(port: int, folder: Path) -> None:
    tables: dict[str, dict[str, Any]] = {
        "site": {"url": f"http://{SITE}:{port}/"},
        "fetch": {"retries": 0},
        "state": {"directory": str(folder / "state")},
        "output": {"directory": str(folder / "out")},
        "pace": {"rate": 0},
        "parse": {"processes": 1},
        "render": {"mode": "always", "timeout": 3, "sandbox": os.geteuid() != 0},
    }
    plan = plan_crawl(build_config(tables))

    async def regenerate() -> None:
        await crawl(plan, lambda _: None, RunChoices(begin=Resume.IF_SAME_SETTINGS))

    with suppress(SiteatlasError):
        anyio.run(regenerate)
