"""Pages that scripts draw, in the Chromium of the system, over the whole road from the command to the sitemap."""

import gc
import json
import os
import re
import socket
import subprocess
import threading
import weakref
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path

import anyio
import browsing
import pytest
from playwright.async_api import Error
from ports import at_one_port
from run import FAST, Ran, siteatlas
from scripted import Answer, Route, Site, links, scripted

from crawler.config.load import build_config
from crawler.config.plan import plan_crawl
from crawler.errors import UsageError
from crawler.render.browser import Chromium, find_browser
from crawler.render.document import BrowserOptions
from crawler.render.page import _Rendering
from crawler.run.crawl import crawl as crawl_site
from sitemap import read

pytestmark = [pytest.mark.thorough, pytest.mark.needs_chromium]
SHELL = '<!doctype html><html><head><title>App</title><script src="/app.js" defer></script></head><body><main></main>'
# Draws what the JSON of a path says, and tries to change the address as a router does.
APP = """
(async () => {
  const answer = await fetch("/data" + (location.pathname === "/" ? "/home" : location.pathname) + ".json");
  const page = await answer.json();
  document.title = page.title;
  document.querySelector("main").innerHTML = page.html;
  for (const [name, values] of page.head || []) {
    document.head.append(Object.assign(document.createElement(name), values));
  }
  history.replaceState({}, "", location.pathname + "?drawn");
  if (page.title === "Hidden") history.pushState({}, "", "/shown");
})();
"""
WORDS = " ".join(f"word{letter}{other}" for letter in "abcdefgh" for other in "abcdefgh")


def script(text: str) -> Answer:
    return Answer(text, headers={"Content-Type": "text/javascript"})


def data(title: str, html: str, *head: tuple[str, dict[str, str]]) -> Answer:
    body = json.dumps({"title": title, "html": html, "head": head})
    return Answer(body, headers={"Content-Type": "application/json"})


def anchors(*paths: str) -> str:
    return "".join(f'<a href="{path}">{path}</a>' for path in paths)


def crawl(site: Site, folder: Path, *words: str) -> Ran:
    browsing.binary()  # skips without one
    sandbox = ("--set=render.sandbox=false",) if os.geteuid() == 0 else ()
    return siteatlas(folder, "crawl", site.url, "--output", "out", *FAST, *sandbox, *words, timeout=110)


def listed(site: Site, folder: Path) -> list[str]:
    return sorted(entry.loc.removeprefix(site.url) for entry in read(folder / "out" / "sitemap.xml"))


ROUTES: dict[str, Route] = {
    "/": SHELL,
    "/one": SHELL,
    "/two": SHELL,
    "/hidden": SHELL,
    "/other": SHELL,
    "/app.js": script(APP),
    "/data/home.json": data("Home", f"<p>{WORDS}</p>{anchors('/one', '/two', '/hidden', '/other', '#/route')}"),
    "/data/one.json": data("One", f"<p>{WORDS}</p><img src='/picture.png'>{anchors('/', '/two')}"),
    "/data/two.json": data("Two", f"<p>{WORDS} two</p>{anchors('/')}"),
    "/data/hidden.json": data("Hidden", f"<p>{WORDS}</p>", ("meta", {"name": "robots", "content": "noindex"})),
    "/data/other.json": data("Other", f"<p>{WORDS}</p>", ("link", {"rel": "canonical", "href": "/two"})),
}


def test_google_pages_that_scripts_draw_are_found_and_judged_as_drawn(tmp_path: Path) -> None:
    with scripted(dict(ROUTES)) as site:
        ran = crawl(site, tmp_path)
        assert ran.code == 0, ran.err
        assert listed(site, tmp_path) == ["", "one", "two"]
        entries = {entry.loc: entry for entry in read(tmp_path / "out" / "sitemap.xml")}
        assert [image.loc for image in entries[f"{site.url}one"].images] == [f"{site.url}picture.png"]
        assert "5 pages rendered with Chromium" in ran.out
        # shared scripts are fetched once, pictures never
        assert site.paths.count("/app.js") == 1
        assert "/picture.png" not in site.paths
        assert not [path for path in site.paths if "?drawn" in path]


def test_ours_what_a_page_fetches_for_the_next_page_is_not_requested(tmp_path: Path) -> None:
    fetches = [
        *('fetch("/two?_rsc=1", {headers: {"Next-Router-Prefetch": "1", RSC: "1"}})', 'fetch("/data/one.json")'),
        'fetch("/two?x", {headers: {Purpose: "prefetch"}})',
    ]
    app = script("".join(f"{fetch}.catch(() => {{}});" for fetch in fetches) + APP)
    with scripted({**ROUTES, "/app.js": app}) as site:
        ran = crawl(site, tmp_path)
        assert ran.code == 0, ran.err
        assert listed(site, tmp_path) == ["", "one", "two"]
        assert "/data/one.json" in site.paths
        assert not [path for path in site.paths if path.startswith("/two?")]


def test_ours_without_rendering_the_same_site_is_one_empty_page(tmp_path: Path) -> None:
    with scripted(dict(ROUTES)) as site:
        ran = crawl(site, tmp_path, "--render", "never")
        assert listed(site, tmp_path) == [""]
        assert "playwright" in ran.out
        assert "/app.js" not in site.paths


def test_ours_a_driver_that_does_not_start_is_one_note_and_pages_are_read_as_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "node"
    broken.write_text("#!/bin/sh\necho 'node: cannot open libatomic.so.1' >&2\nexit 127\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PLAYWRIGHT_NODEJS_PATH", str(broken))
    reason = "Playwright, which controls the browser, does not start: node: cannot open libatomic.so.1"
    with scripted(dict(ROUTES)) as site:
        ran = crawl(site, tmp_path)
        assert (ran.code, listed(site, tmp_path)) == (0, [""])
        assert f"1 page that scripts may fill could not be rendered: {reason}" in ran.out
        must = crawl(site, tmp_path, "--render", "always")
        assert (must.code, must.err.strip()) == (2, f"siteatlas: {reason}")


@pytest.mark.parametrize(
    ("printed", "reason"),
    [
        ("[1:1:ERROR:zygote_host_impl_linux.cc] No usable sandbox! If this is Debian", "it has no usable sandbox"),
        ("chromium: cannot open shared object file", "chromium: cannot open shared object file"),
    ],
)
def test_ours_a_browser_that_does_not_start_says_why(tmp_path: Path, printed: str, reason: str) -> None:
    broken = tmp_path / "chromium"
    broken.write_text(f"#!/bin/sh\necho '{printed}' >&2\nexit 1\n")
    broken.chmod(0o755)
    with scripted(dict(ROUTES)) as site:
        ran = crawl(site, tmp_path, f"--set=render.browser={broken}")
    assert (
        f"1 page that scripts may fill could not be rendered: Chromium ({broken}) does not start: {reason}" in ran.out
    )
    assert ran.out.count("note:") == 2  # and one on dates


def test_ours_a_headless_shell_is_preferred_and_a_browser_of_playwright_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def program(path: str) -> str:
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch(0o755)
        return str(file)

    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path / "own"))
    with pytest.raises(UsageError, match=r"no Chromium was found on this machine\. Install Chromium"):
        find_browser("")
    whole = program("own/chromium-1200/chrome-linux64/chrome")
    assert find_browser("") == whole
    program("own/chromium_headless_shell-1100/chrome-headless-shell-linux64/chrome-headless-shell")
    newer = program("own/chromium_headless_shell-1200/chrome-headless-shell-linux64/chrome-headless-shell")
    assert find_browser("") == newer
    installed = program("bin/chromium")
    assert find_browser("") == installed
    shell = program("bin/chromium-headless-shell")
    assert find_browser("") == shell
    assert find_browser(whole) == whole


@pytest.mark.slow
def test_ours_a_site_that_the_server_renders_is_compared_and_read_raw(tmp_path: Path) -> None:
    hydrate = 'document.querySelector("main").dataset.hydrated = "yes"; addEventListener("click", () => {});'
    pages = [f"/page/{number}" for number in range(60)]
    page = f"<title>Page</title><script src='/hydrate.js' defer></script><main><p>{WORDS}</p>{anchors(*pages)}</main>"
    routes: dict[str, Route] = {"/": page, "/hydrate.js": script(hydrate), **dict.fromkeys(pages, page)}
    with scripted(routes) as site:
        first = crawl(site, tmp_path)
        assert len(listed(site, tmp_path)) == 61
        assert "0 pages rendered with Chromium, 56 read as sent, judged by 5 read both ways" in first.out
        second = crawl(site, tmp_path)
        assert "0 pages rendered with Chromium, 57 read as sent, judged by 4 read both ways" in second.out


@pytest.mark.slow
def test_ours_a_change_of_mode_moves_no_date_and_an_edit_of_drawn_content_does(tmp_path: Path) -> None:
    routes = dict(ROUTES)
    with scripted(routes) as site:
        crawl(site, tmp_path, "--render", "never", "--include", "re:.*")
        crawl(site, tmp_path)
        before = {entry.loc: entry.lastmod for entry in read(tmp_path / "out" / "sitemap.xml")}
        crawl(site, tmp_path)
        assert {entry.loc: entry.lastmod for entry in read(tmp_path / "out" / "sitemap.xml")} == before
        routes["/data/two.json"] = data("Two", f"<p>{WORDS} two, edited</p>{anchors('/')}")
        site.routes = routes
        crawl(site, tmp_path)
        after = {entry.loc: entry.lastmod for entry in read(tmp_path / "out" / "sitemap.xml")}
        assert {url.removeprefix(site.url) for url in after if after[url] != before[url]} == {"two"}


def _listeners(stack: ExitStack) -> tuple[socket.socket, socket.socket]:
    """Sockets for TCP and UDP at one port."""
    tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
    udp = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    udp.bind(tcp.getsockname())
    return tcp, udp


@contextmanager
def canary() -> Iterator[tuple[int, list[str]]]:
    """A port on which every connection, by TCP or UDP, is written down."""
    seen: list[str] = []
    with at_one_port(_listeners) as (tcp, udp):
        port = tcp.getsockname()[1]
        tcp.settimeout(0.05)
        udp.settimeout(0.05)
        is_over = threading.Event()

        def watch() -> None:
            while not is_over.is_set():
                try:
                    connection, _ = tcp.accept()
                    seen.append(f"tcp {connection.recv(200)!r}")
                    connection.close()
                except TimeoutError:
                    pass
                with suppress(TimeoutError):
                    seen.append(f"udp {udp.recv(200)!r}")

        thread = threading.Thread(target=watch)
        thread.start()
        try:
            yield port, seen
        finally:
            is_over.set()
            thread.join()


def test_ours_the_folder_of_a_killed_run_is_removed_and_that_of_a_live_run_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from crawler.render.browser import remove_stale_folders

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    kept = tmp_path / "elsewhere"
    for name in ("siteatlas-render-killed", "siteatlas-render-live", "elsewhere"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").touch()
    (tmp_path / "siteatlas-render-link").symlink_to(kept)
    live = tmp_path / "siteatlas-render-live"
    holder = subprocess.Popen(["flock", "--exclusive", str(live), "sh", "-c", "echo locked; read end"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # fmt: skip
    with holder:
        assert holder.stdout
        assert holder.stdout.readline() == b"locked\n"
        remove_stale_folders()
        left = sorted(path.name for path in tmp_path.iterdir())
    assert left == ["elsewhere", "siteatlas-render-link", "siteatlas-render-live"]
    assert (kept / "file").exists()
    remove_stale_folders()
    assert not live.exists()


HOSTILE = """
const wall = "127.0.0.1:%(port)d";
const attempt = async action => { try { await action(); } catch {} };
attempt(() => new WebSocket(`ws://${wall}/socket`));
attempt(() => navigator.sendBeacon(`http://${wall}/beacon`, "x"));
attempt(() => fetch(`http://${wall}/post`, {method: "POST", body: "x", mode: "no-cors"}));
attempt(() => fetch(`http://${wall}/get`, {mode: "no-cors"}));
attempt(() => new EventSource(`http://${wall}/events`));
attempt(() => new Image().src = `http://${wall}/image.png`);
attempt(() => new Audio(`http://${wall}/sound.mp3`).play());
attempt(() => new Worker(URL.createObjectURL(new Blob([`fetch("http://${wall}/worker", {mode: "no-cors"})`]))));
attempt(() => navigator.serviceWorker.register("/worker.js"));
attempt(() => window.open(`http://${wall}/popup`));
attempt(() => new RTCPeerConnection({iceServers: [{urls: `stun:${wall}`}]}).createDataChannel("x"));
attempt(async () => {
  const peer = new RTCPeerConnection({iceServers: [{urls: `stun:${wall}`}]});
  peer.createDataChannel("x");
  await peer.setLocalDescription(await peer.createOffer());
});
for (const rel of ["dns-prefetch", "preconnect", "prefetch", "prerender", "modulepreload"]) {
  const link = document.createElement("link");
  document.head.append(Object.assign(link, {rel, href: `http://${wall}/${rel}`}));
}
for (const [name, key] of [["iframe", "src"], ["object", "data"], ["embed", "src"], ["video", "src"]]) {
  document.body.append(Object.assign(document.createElement(name), {[key]: `http://${wall}/${name}`}));
}
attempt(() => {
  const a = document.body.appendChild(document.createElement("a"));
  Object.assign(a, {href: `http://${wall}/download`, download: "x"}).click();
});
document.querySelector("main").innerHTML += '<a href="/two">two</a>';
setInterval(() => { document.querySelector("main").dataset.now = Math.random(); }, 5);
setTimeout(() => { for (let number = 0; number < 20; number++) alert(number); }, 50);
setTimeout(() => { location.href = `http://${wall}/away`; }, 300);
"""


@pytest.mark.slow
def test_ours_a_hostile_page_reaches_nothing_but_our_fetcher_and_ends(tmp_path: Path) -> None:
    with canary() as (port, seen):
        routes: dict[str, Route] = {"/": SHELL, "/two": links("/"), "/app.js": script(HOSTILE % {"port": port})}
        with scripted(routes) as site:
            ran = crawl(site, tmp_path, "--set=render.timeout=3", "-v")
            assert ran.code == 0, ran.err
            assert listed(site, tmp_path) == ["", "two"]
            assert seen == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "attack",
    [
        "for (;;) {}",
        "const kept = []; for (;;) kept.push(new Array(1e6).fill(Math.random()));",
        "const main = document.querySelector('main'); for (;;) main.append(document.createElement('p'));",
        "location.reload()",
        "setInterval(() => fetch('/data/one.json?' + Math.random()), 1)",
        "document.write('<p>'.repeat(1e7))",
    ],
    ids=["loop", "memory", "dom", "reload", "requests", "write"],
)
def test_ours_a_page_that_never_ends_costs_itself_only(tmp_path: Path, attack: str) -> None:
    home = f"<title>Home</title><script src='/home.js'></script><p>{WORDS}</p>{anchors('/attack', '/one', '/two')}"
    attacker = "<title>Attack</title><main></main><script src='/attack.js'></script>"
    routes: dict[str, Route] = {
        "/": home, "/one": home, "/two": home, "/attack": attacker,
        "/home.js": script(""), "/attack.js": script(attack), "/data/one.json": data("One", ""),
    }  # fmt: skip
    with scripted(routes) as site:
        ran = crawl(site, tmp_path, "--set=render.timeout=2", "--set=render.memory=600M")
        assert ran.code in {0, 3, 4}, ran.err
        assert {"/", "/one", "/two", "/attack"} <= set(site.paths)
        assert len(site.paths) < 2_000


@pytest.mark.anyio
async def test_ours_a_browser_that_hangs_at_its_start_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    browsing.binary()
    program = tmp_path / "hangs"
    program.write_text("#!/bin/sh\nexec sleep 1000\n")
    program.chmod(0o755)
    start_driver = Chromium._start_driver

    async def then_wait_less(self: Chromium, mark: str) -> object:
        driver = await start_driver(self, mark)
        monkeypatch.setattr("crawler.render.browser._START_TIMEOUT", 0.2)
        return driver

    monkeypatch.setattr(Chromium, "_start_driver", then_wait_less)
    with pytest.raises(UsageError, match=r"hangs\) does not start: it did not respond for 0.2 s"):
        await Chromium(BrowserOptions(path=str(program), sandbox=False)).open()


def test_ours_a_page_that_sends_too_many_requests_is_not_read_to_its_end(tmp_path: Path) -> None:
    draw = """(async () => {
      for (let number = 0; number < 4; number++) {
        const answer = await fetch("/data/" + number + ".json");
        document.querySelector("main").innerHTML += (await answer.json()).html;
      }
    })()"""
    parts = {f"/data/{number}.json": data("Part", anchors(f"/{number}")) for number in range(4)}
    pages = {f"/{number}": f"<title>{number}</title><p>Page {number}" for number in range(4)}
    with scripted({"/": SHELL, "/app.js": script(draw), **parts, **pages}) as site:
        ran = crawl(site, tmp_path, "--set=render.max_requests=4")
        assert listed(site, tmp_path) == ["", "0", "1", "2"]
        assert "1 page rendered with Chromium, 1 of them not to their end" in ran.out
    with scripted({"/": SHELL, "/app.js": script(draw), **parts, **pages}) as site:
        (tmp_path / "second").mkdir()
        ran = crawl(site, tmp_path / "second", "--set=render.max_requests=5")
        assert listed(site, tmp_path / "second") == ["", "0", "1", "2", "3"]
        assert "not to their end" not in ran.out


def test_google_what_a_page_draws_when_a_visitor_scrolls_is_seen_in_a_tall_viewport(tmp_path: Path) -> None:
    draw = """
    const watch = new IntersectionObserver((seen) => seen.filter((one) => one.isIntersecting).forEach((one) => {
      one.target.innerHTML = `<a href="/${one.target.id}">${one.target.id} ${innerHeight} ${screen.height}</a>`;
    }));
    for (const top of [0, 4000, 9900, 20000]) {
      const part = document.createElement("section");
      part.id = top;
      part.style = `position: absolute; top: ${top}px; height: 50px`;
      document.querySelector("main").append(part);
      watch.observe(part);
    }
    """
    pages = {f"/{top}": f"<title>{top}</title><p>Page {top}" for top in (0, 4000, 9900, 20000)}
    with scripted({"/": SHELL, "/app.js": script(draw), **pages}) as site:
        crawl(site, tmp_path)
        assert listed(site, tmp_path) == ["", "0", "4000", "9900"]


def test_ours_a_page_is_read_when_its_content_is_quiet_whatever_its_styles_do(tmp_path: Path) -> None:
    steps = """
    let step = 0;
    const grow = () => {
      document.querySelector("main").innerHTML += `<a href="/${step}">${step}</a>`;
      if (++step < 6) setTimeout(grow, 350);
    };
    setTimeout(grow, 350);
    setInterval(() => { document.querySelector("main").style.opacity = Math.random(); }, 20);
    """
    pages = {f"/{step}": f"<title>{step}</title><p>Page {step}" for step in range(6)}
    with scripted({"/": SHELL, "/app.js": script(steps), **pages}) as site:
        ran = crawl(site, tmp_path)
        assert listed(site, tmp_path) == ["", "0", "1", "2", "3", "4", "5"]
        assert "not to their end" not in ran.out


def test_ours_a_page_whose_content_never_stops_changing_is_read_in_time_and_said_to_be_cut(tmp_path: Path) -> None:
    ticks = """
    document.querySelector("main").innerHTML = "<p></p><a href='/two'>two</a>";
    setInterval(() => { document.querySelector("p").textContent = Math.random(); }, 50);
    """
    with scripted({"/": SHELL, "/two": "<title>Two</title><p>Two", "/app.js": script(ticks)}) as site:
        ran = crawl(site, tmp_path, "--set=render.timeout=2")
        assert listed(site, tmp_path) == ["", "two"]
        assert "1 page rendered with Chromium, 1 of them not to their end" in ran.out


@pytest.mark.parametrize(
    "leave",
    [
        "location.href = 'about:blank'",
        "location.href = URL.createObjectURL(new Blob(['x']))",
        "const a = document.createElement('a'); a.href = 'http://\\u00ef\\u00bc\\u2018/'; a.click()",
    ],
    ids=["empty", "blob", "no-host"],
)
def test_ours_a_script_that_leads_to_no_page_does_not_take_the_page_away(tmp_path: Path, leave: str) -> None:
    draw = f"document.querySelector('main').innerHTML = '<a href=/two>two</a>'; setTimeout(() => {{ {leave} }}, 100)"
    with scripted({"/": SHELL, "/two": "<title>Two</title><p>Two", "/app.js": script(draw)}) as site:
        ran = crawl(site, tmp_path)
        assert listed(site, tmp_path) == ["", "two"]
        assert "could not be rendered" not in ran.out


def test_ours_a_document_that_a_script_puts_into_the_place_of_the_page_is_read(tmp_path: Path) -> None:
    draw = """setTimeout(() => { location.href = 'javascript:"<title>New</title><a href=/two>two</a>"' }, 100)"""
    with scripted({"/": SHELL, "/two": "<title>Two</title><p>Two", "/app.js": script(draw)}) as site:
        crawl(site, tmp_path)
        assert listed(site, tmp_path) == ["", "two"]


def test_ours_a_browser_that_opens_no_more_pages_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare, tries = _Rendering._prepare, []

    async def fails_in_the_first_browser(self: _Rendering) -> object:
        tries.append(self._context.browser)
        if tries[-1] is tries[0]:
            raise Error("Target crashed")
        return await prepare(self)

    monkeypatch.setattr(_Rendering, "_prepare", fails_in_the_first_browser)
    with scripted(dict(ROUTES)) as site:
        tables = {
            "site": {"url": site.url}, "output": {"directory": str(tmp_path / "out")}, "pace": {"rate": 0},
            "state": {"directory": str(tmp_path / "state")}, "parse": {"processes": 1},
            "render": {"sandbox": os.geteuid() != 0},
        }  # fmt: skip
        browsing.binary()
        anyio.run(partial(crawl_site, plan_crawl(build_config(tables)), lambda _: None))
        assert listed(site, tmp_path) == ["", "one", "two"]
    assert len(set(tries)) == 2


@pytest.mark.anyio
async def test_ours_what_playwright_leaves_of_a_page_is_collected(monkeypatch: pytest.MonkeyPatch) -> None:
    browsing.binary()
    monkeypatch.setattr("crawler.render.browser._PAGES_A_COLLECTION", 5)
    chromium = Chromium(BrowserOptions(sandbox=os.geteuid() != 0))
    contexts: list[weakref.ref[object]] = []
    await chromium.open()
    gc.disable()  # a crawl collects so rarely that it comes to the same
    try:
        for _ in range(12):
            async with chromium.context() as context:
                await context.new_page()
                contexts.append(weakref.ref(context._impl_obj))
            del context
        left = sum(kept() is not None for kept in contexts)
    finally:
        gc.enable()
        await chromium.close()
    assert left <= 3, f"{left} of 12 contexts are still in memory: those after the tenth, and one that is being closed"


@pytest.mark.slow
def test_ours_a_template_that_hangs_the_browser_costs_a_few_pages(tmp_path: Path) -> None:
    hung = "<title>Hung {}</title><main></main><script src='/hang.js'></script>"
    pages = {f"/hung/{number}": hung.format(number) for number in range(20)}
    home = f"<title>Home</title><p>{WORDS}</p>{anchors(*pages)}"
    with scripted({"/": home, "/hang.js": script("for (;;) {}"), **pages}) as site:
        ran = crawl(
            site, tmp_path, "--set=render.timeout=1", "--set=render.deadline=3", "--set=render.max_failures=2", "-v"
        )
        assert set(pages) <= set(site.paths)
    given_up = re.search(r"failed on too many pages of the same template \((\d+) pages", ran.out)
    assert given_up, ran.out
    assert int(given_up[1]) >= 12


@pytest.mark.slow
def test_google_an_audit_says_what_scripts_change(tmp_path: Path) -> None:
    sent = SHELL.replace("</title>", "</title><link rel=canonical href='/sent'>")
    blocked = SHELL.replace("<main>", "<script src='/closed/extra.js'></script><main>")
    routes = dict(ROUTES) | {
        "/one": sent,
        "/two": blocked,
        "/robots.txt": Answer("User-agent: *\nDisallow: /closed/\n", headers={"Content-Type": "text/plain"}),
        "/data/one.json": data("One", f"<p>{WORDS}</p>", ("link", {"rel": "canonical", "href": "/drawn"})),
    }
    with scripted(routes) as site:
        sandbox = ("--set=render.sandbox=false",) if os.geteuid() == 0 else ()
        browsing.binary()
        ran = siteatlas(tmp_path, "audit", site.url, "-o", "report", *FAST, *sandbox, timeout=110)
        assert ran.code in {0, 1}, ran.err
        text = (tmp_path / "report" / "csv" / "findings.csv").read_text()
        rules = {"canonical", "noindex", "links", "orphan", "title", "hash", "blocked", "address"}
        assert {rule for rule in rules if f"render.{rule}" in text} == rules


def test_ours_few_pages_of_a_template_that_a_script_fills_are_found(tmp_path: Path) -> None:
    """All pages load the same script, and most of them need nothing of it."""
    theme = """const name = location.pathname.slice(1);
      if (["events", "stores"].includes(name)) fetch(`/data/${name}.json`).then(answer => answer.json())
        .then(page => { document.getElementById("list").innerHTML = page.html; });"""
    usual = [f"/article-{word}" for word in WORDS.split()[:30]]
    nav, end = anchors(*usual, "/events", "/stores"), '<script src="/theme.js"></script>'
    page, place = f"<title>Page</title>{nav}<p>{WORDS}</p>", '<ul id="list"></ul>'
    routes: dict[str, Route] = {
        **dict.fromkeys(("/", *usual, "/event-one", "/store-one"), page + end),
        **dict.fromkeys(("/events", "/stores"), page + place + end),
        "/theme.js": script(theme),
        "/data/events.json": data("", anchors("/event-one")),
        "/data/stores.json": data("", anchors("/store-one")),
    }
    with scripted(routes) as site:
        ran = crawl(site, tmp_path)
        assert {"event-one", "store-one"} <= {*listed(site, tmp_path)}
        assert "2 pages rendered with Chromium" in ran.out
        assert re.search(r"(\d\d) read as sent, judged by \d read both ways", ran.out), ran.out


@pytest.mark.parametrize("leave", ["location.replace('/new')", "setTimeout(() => { location.href = '/new' }, 50)"])
def test_google_a_script_that_leads_to_another_page_is_a_redirect(tmp_path: Path, leave: str) -> None:
    routes: dict[str, Route] = {
        "/": f"<title>Home</title><p>{WORDS}</p>{anchors('/old', '/older', '/oldest')}",
        **dict.fromkeys(("/old", "/older", "/oldest"), f"<p>This page has moved.</p><script>{leave}</script>"),
        "/new": f"<title>New</title><p>{WORDS}</p>",
    }
    with scripted(routes) as site:
        ran = crawl(site, tmp_path, "--set=render.timeout=60")
        assert listed(site, tmp_path) == ["", "new"]
        assert re.search(r"3  redirect", ran.out), ran.out
        assert crawl(site, tmp_path).code == 0
        assert listed(site, tmp_path) == ["", "new"]


def test_google_shadow_roots_inside_shadow_roots_are_read(tmp_path: Path) -> None:
    draw = """const element = (name, html) => customElements.define(name, class extends HTMLElement {
        connectedCallback() { this.attachShadow({mode: "open"}).innerHTML = html; } });
      element("x-inner", "<p>Deep</p><a href=/one>1</a>");
      element("x-middle", "<x-inner></x-inner><a href=/two>2</a>");
      element("x-outer", "<section><x-middle></x-middle></section>");"""
    home = f"<title>Home</title><p>{WORDS}</p><x-outer></x-outer><script>{draw}</script>"
    pages = {path: f"<title>{path}</title><p>{WORDS}" for path in ("/one", "/two")}
    with scripted({"/": home, **pages}) as site:
        crawl(site, tmp_path)
        assert listed(site, tmp_path) == ["", "one", "two"]


def test_ours_the_dead_routes_of_an_application_are_soft_404s(tmp_path: Path) -> None:
    """The server sends the same for all names, and a script says nothing of the ones that it does not know."""

    class Application(dict[str, Route]):
        def get(self, path: str, default: object = None) -> Route | None:  # type: ignore[override]
            return super().get(path) or (None if "." in path else SHELL)

    draw = """const name = location.pathname === "/" ? "/home" : location.pathname;
      fetch(`/data${name}.json`).then(async answer => {
      document.querySelector("main").innerHTML = answer.ok ? (await answer.json()).html
        : "<h1>Sorry</h1><p>We have nothing of that kind. Have a look at our other boats.</p>"; });"""
    items = [f"/boat/{word}" for word in WORDS.split()[:6]]
    routes = Application({"/app.js": script(draw), "/data/home.json": data("", f"<p>{WORDS}</p>{anchors(*items)}")})
    for item in items[:4]:
        routes[f"/data{item}.json"] = data("", f"<h1>{item}</h1><p>A fine boat, and a fast one: {item}.</p>")
    with scripted(routes) as site:
        ran = crawl(site, tmp_path)
        assert listed(site, tmp_path) == ["", *(item[1:] for item in items[:4])]
        assert "2  soft 404" in ran.out


def test_ours_a_browser_that_comes_later_reads_what_it_could_not(tmp_path: Path) -> None:
    """The server says that nothing changed, and the audit may rest on the crawl of a run without a browser."""
    menu = (
        "<nav id=menu></nav><script>fetch('/data/menu.json').then(a=>a.json()).then(p=>menu.innerHTML=p.html)</script>"
    )
    home = Answer(f"<title>Home</title><p>{WORDS}</p>{menu}", headers={"ETag": '"1"', "Content-Type": "text/html"})
    routes: dict[str, Route] = {
        "/": home,
        "/lost": f"<title>Lost</title><p>{WORDS}</p>",
        "/data/menu.json": data("", anchors("/lost")),
        "/sitemap.xml": Answer("{url}lost\n{url}\n", headers={"Content-Type": "text/plain"}),
    }
    with scripted(routes) as site:
        crawl(site, tmp_path, "--set=render.browser=/bin/false")
        sandbox = ("--set=render.sandbox=false",) if os.geteuid() == 0 else ()
        asked = ("audit", site.url, "-o", "report", "--fail-on", "orphan", *FAST, *sandbox)
        without = siteatlas(tmp_path, *asked, "--set=render.browser=/bin/false", timeout=110)
        assert "JavaScript may add links to 1 page" in without.out
        assert "orphan findings are conclusive" not in without.out
        ran = siteatlas(tmp_path, *asked, timeout=110)
        assert "orphan findings are conclusive" in ran.out, ran.out
        assert ran.code == 0
