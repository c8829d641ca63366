"""Hostile answers by theme: what a path sends, and how its URL must end. Bytes only, no product code."""

import gzip
from dataclasses import dataclass

import brotli  # type: ignore[import-untyped]
from backports import zstd
from hostile import Step, answer, chunked, drip, fin, repeat, rst, send, sleep
from hostile_crawl import HTML, html, page

LONG = "/" + "long" * 17_000


@dataclass(frozen=True)
class Trap:
    """A path, what it answers, the states it may end in, a part of the reason, and paths that must not be known."""

    path: str
    steps: tuple[Step, ...]
    ends: tuple[str, ...]
    said: str = ""
    flaw: str = ""  # why it fails today


def trap(path: str, *steps: Step, ends: str, said: str = "", flaw: str = "") -> Trap:
    """``ends`` are states, by ``|``."""
    return Trap(path, steps, tuple(ends.split("|")), said, flaw)


def status(line: str, *headers: str) -> Step:
    """A page under another status."""
    return answer(html(), HTML, *headers, status=line)


def moved(location: str, *headers: str, code: str = "302 Found") -> Step:
    """A redirect; the Location is sent as these bytes."""
    lines = [f"HTTP/1.1 {code}", "Content-Length: 0", f"Location: {location}", *headers]
    return send("\r\n".join(lines).encode("utf-8") + b"\r\n\r\n")


def coded(body: bytes, *codings: str) -> Step:
    """A page with these Content-Encoding lines, whatever its body is."""
    return answer(body, HTML, *(f"Content-Encoding: {coding}" for coding in codings))


def raw(head: str, body: bytes = b"", *then: Step) -> tuple[Step, ...]:
    """An answer written by hand; the connection ends behind it."""
    return (send(head.replace("\n", "\r\n").encode("latin-1") + b"\r\n\r\n" + body), *then, fin())


RETRY_AFTER = {
    "negative": "-5", "fraction": "5.5", "nan": "nan", "infinite": "inf", "hex": "0x10", "underscore": "1_000",
    "exponent": "1e9", "digits": "9" * 5000, "empty": "", "list": "120, 120", "zone": "Fri, 31 Dec 2027 23:59:59 +9999",
    "day": "Fri, 32 Dec 2027 23:59:59 GMT", "year": "Fri, 31 Dec 99999 23:59:59 GMT", "naive": "2027-12-31T23:59:59",
    "past": "Sun, 06 Nov 1994 08:49:37 GMT", "asctime-past": "Sun Nov  6 08:49:37 1994", "wide": "\uff11\uff12\uff10",
}  # fmt: skip

STATUSES = [
    trap("/206", status("206 Partial Content"), ends="bad answer", said="206"),
    trap("/203", status("203 Non-Authoritative Information"), ends="bad answer|indexable"),
    trap("/204", send(b"HTTP/1.1 204 No Content\r\n\r\n"), ends="bad answer", said="204"),
    trap("/304", send(b"HTTP/1.1 304 Not Modified\r\n\r\n"), ends="bad answer", said="304"),
    trap("/300", status("300 Multiple Choices"), ends="bad answer"),
    trap("/305", status("305 Use Proxy", "Location: http://127.0.0.1:1/"), ends="bad answer"),
    *(trap(f"/{n}", status(f"{n} No"), ends="client error", said=str(n)) for n in (401, 403, 407, 410, 418, 451)),
    *(trap(f"/{n}", status(f"{n} Odd"), ends="challenged") for n in (600, 999)),
    *(trap(f"/{n}", status(f"{n} Odd"), ends="bad answer|unreachable") for n in ("1000", "0", "-200", "2OO")),
    trap("/500", status("500 No"), ends="server error", said="500"),
    trap("/no-reason", *raw("HTTP/1.1 200\nContent-Length: 2", b"ok"), ends="indexable|wrong type"),
    trap("/garbage", *raw("\x00\x01garbage \x1b[31m"), ends="bad answer"),
    trap("/nothing-but-html", send(html()), fin(), ends="bad answer"),
    trap("/ssh", send(b"SSH-2.0-OpenSSH_9.6\r\n"), fin(), ends="bad answer"),
    trap("/1xx", repeat(b"HTTP/1.1 103 Early Hints\r\nLink: </hint>\r\n\r\n", 3000), page(),
         ends="indexable|bad answer|unreachable"),
    *(
        trap(f"/retry-after-{name}", send(f"HTTP/1.1 500 No\r\nContent-Length: 0\r\nRetry-After: {value}\r\n\r\n"
             .encode()), ends="server error", said="500")
        for name, value in RETRY_AFTER.items()
    ),
]  # fmt: skip

REDIRECTS = [
    trap("/self", moved("/self", code="301 Moved"), ends="bad answer", said="it redirects to itself"),
    trap("/self-fragment", moved("/self-fragment#x"), ends="bad answer", said="it redirects to itself"),
    trap("/a", moved("/b"), ends="redirect"),
    trap("/b", moved("/a"), ends="redirect"),
    trap("/none", answer(status="302 Found"), ends="bad answer", said="answered 302"),
    trap("/empty", moved(""), ends="bad answer", said="answered 302"),
    trap("/hash", moved("#top"), ends="bad answer", said="answered 302"),
    *(
        trap(f"/scheme-{scheme}", moved(f"{scheme}:{rest}"), ends="bad answer", said="answered 30")
        for scheme, rest in {
            "javascript": "alert(1)", "data": "text/html,<a href=/evil>", "mailto": "a@b.example",
            "file": "///etc/passwd", "ftp": "//127.0.0.1/", "gopher": "//127.0.0.1:1/x", "unix": "/run/x.sock",
            "about": "blank", "blob": "http://127.0.0.1/x",
        }.items()
    ),
    trap("/long", moved(LONG), ends="redirect|bad answer"),
    trap("/too-long", moved("/" + "x" * 200_000), ends="bad answer"),
    trap("/nul", moved("/x\x00y"), ends="bad answer"),
    trap("/del", moved("/x\x7fy"), ends="bad answer|redirect"),
    trap("/crlf", moved("/target%0d%0aX-Injected:%20yes"), ends="redirect"),
    trap("/two", moved("/target-1", "Location: /target-2"), ends="redirect|bad answer"),
    trap("/backslash", moved("\\\\evil.invalid\\x"), ends="redirect", said="http://evil.invalid/x"),
    trap("/one-slash", moved("http:\\\\evil.invalid\\y"), ends="redirect"),
    trap("/dir/query", moved("?q=1"), ends="redirect", said="/dir/query?q=1"),
    trap("/dir/up", moved("../up"), ends="redirect", said="/up"),
    trap("/bad-host", moved("http://exa mple.invalid/"), ends="bad answer"),
    trap("/bad-port", moved("http://127.0.0.1:99999/"), ends="bad answer"),
    trap("/bad-v6", moved("http://[::1/"), ends="bad answer"),
    trap("/userinfo", moved("http://user:hunter2@evil.invalid/"), ends="redirect"),
    trap("/utf-8", moved("/b\u00fccher"), ends="redirect", said="/b%C3%BCcher"),
    trap("/to-blocked", moved("/blocked"), ends="redirect"),
    trap("/cookies", moved("/target-3", *(f"Set-Cookie: c{n}={'x' * 900}" for n in range(80))), ends="redirect"),
    *(trap(f"/chain/{n}", moved(f"/chain/{n + 1}"), ends="redirect") for n in range(10)),
    trap("/chain/10", moved("/chain/11"), ends="bad answer", said="redirects in a row"),
    trap("/refresh-self", page(head='<meta http-equiv=refresh content="0">'), ends="indexable"),
    trap("/refresh-a", page(head='<meta http-equiv=refresh content="0;url=/refresh-b">'), ends="redirect"),
    trap("/refresh-b", page("", "Refresh: 0; url=/refresh-a"), ends="redirect"),
    trap("/refresh-js", page(head='<meta http-equiv=refresh content="0;url=javascript:alert(1)">'), ends="indexable"),
    trap("/refresh-junk", page(head='<meta http-equiv=refresh content="nan;url">'), ends="indexable"),
    *(trap(f"/again/{n}", page("", f"Refresh: 0;url=/again/{n + 1}"), ends="redirect") for n in range(10)),
    trap("/again/10", page("", "Refresh: 0;url=/again/11"), ends="bad answer", said="redirects in a row"),
    trap("/canonical-a", page(head='<link rel=canonical href="/canonical-b">'), ends="canonical elsewhere"),
    trap("/canonical-b", page(head='<link rel=canonical href="/canonical-c">'), ends="canonical elsewhere"),
    trap("/canonical-c", page("", 'Link: </missing>; rel="canonical"'), ends="canonical elsewhere"),
    trap("/canonical-off", page(head='<link rel=canonical href="http://evil.invalid/">'), ends="canonical elsewhere"),
    trap("/canonical-2", page("", 'Link: </u>; rel=canonical', head="<link rel=canonical href=/v>"), ends="indexable"),
    trap("/canonical-js", page(head='<link rel=canonical href="javascript:x">'), ends="indexable"),
]  # fmt: skip

_zeros = b"\0" * (32 << 20)
_plain = html('<a href="/found">f</a>' + "padding " * 2000)

BODIES = [  # the slow ones first: the others are asked for while they are waited for
    trap("/stall", send(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx"), sleep(2), fin(),
         ends="unreachable|bad answer"),
    trap("/silent", sleep(2), fin(), ends="unreachable"),
    trap("/drip", send(b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n"), drip(b"x" * 900, 0.1),
         ends="unreachable|bad answer"),
    trap("/gzip-cut", coded(gzip.compress(_plain)[:-30], "gzip"), ends="bad answer", said="ends in the middle"),
    trap("/gzip-flip", coded(gzip.compress(_plain)[:-8] + b"\0" * 8, "gzip"), ends="bad answer"),
    trap("/gzip-bomb", coded(gzip.compress(_zeros), "gzip"), ends="bad answer|indexable"),
    trap("/gzip-gzip-bomb", coded(gzip.compress(gzip.compress(_zeros)), "gzip, gzip"), ends="bad answer|indexable"),
    trap("/br-bomb", coded(brotli.compress(_zeros, quality=5), "br"), ends="bad answer|indexable"),
    trap("/zstd-bomb", coded(zstd.compress(_zeros), "zstd"), ends="bad answer|indexable"),
    trap("/zstd-window", coded(bytes.fromhex("28b52ffd00f8") + b"\0" * 20, "zstd"), ends="bad answer"),
    trap("/many-codings", coded(b"x", *["gzip"] * 50), ends="bad answer", said="compressed too many times"),
    trap("/unknown-coding", coded(_plain, "rot13"), ends="bad answer|indexable"),
    trap("/lie-gzip", coded(_plain, "gzip"), ends="bad answer"),
    trap("/lie-br", coded(_plain, "br"), ends="bad answer"),
    trap("/lie-none", answer(gzip.compress(_plain), HTML), ends="wrong type|indexable|bad answer"),
    trap("/short", *raw(f"HTTP/1.1 200 OK\n{HTML}\nContent-Length: 4000", b"<p>"), ends="bad answer"),
    trap("/chunk-cut", chunked(b"<p>" * 50, headers=(HTML,), last=False), fin(), ends="bad answer"),
    trap("/chunk-bad", *raw(f"HTTP/1.1 200 OK\n{HTML}\nTransfer-Encoding: chunked", b"zz\r\nx\r\n"), ends="bad answer"),
    trap("/chunk-huge", *raw("HTTP/1.1 200 OK\nTransfer-Encoding: chunked", b"f" * 40 + b"\r\n"), ends="bad answer"),
    trap("/length-negative", *raw("HTTP/1.1 200 OK\nContent-Length: -5", b"x"), ends="bad answer|indexable"),
    trap("/length-twice", *raw("HTTP/1.1 200 OK\nContent-Length: 5\nContent-Length: 6", b"hello!"), ends="bad answer"),
    trap("/length-10g", *raw("HTTP/1.1 200 OK\nContent-Length: 10000000000", b"x"), ends="bad answer",
         said="is too large"),
    trap("/endless", *raw(f"HTTP/1.1 200 OK\n{HTML}", b'<a href="/found">', repeat(b"A" * 65536, 400)),
         ends="indexable", said="only the beginning"),
    trap("/one-line", answer(b'<a href="/found">' + b"x" * 800_000, HTML), ends="indexable", said="beginning"),
    trap("/head-line", answer(b"", HTML, "X-Big: " + "x" * 2_000_000), ends="bad answer"),
    trap("/head-flood", answer(b"", HTML, *(f"X-{n}: {n}" for n in range(20_000))), ends="bad answer"),
    trap("/head-endless", send(b"HTTP/1.1 200 OK\r\n"), repeat(b"X-Y: z\r\n" * 1000, 2000), fin(), ends="bad answer"),
    trap("/head-control", *raw("HTTP/1.1 200 \x1b[31mOK\nX-Y: \x1b[2J\nX Z: \x00"), ends="bad answer|wrong type"),
    trap("/type-control", answer(_plain, "Content-Type: text/html\x1b[31m; charset=\x1b]0;x\x07"),
         ends="bad answer|indexable|wrong type"),
    trap("/charset-junk", answer(_plain, "Content-Type: text/html; charset=" + "x" * 5000), ends="indexable"),
    trap("/reset", rst(), ends="unreachable|bad answer"),
]  # fmt: skip


def _tower(*tags: str, times: int, end: str = "") -> Step:
    return page("".join(f"<{tag}>" for tag in tags) * times + end)


PAGES = [
    trap("/attributes", page("<p " + " ".join(f"a{n}=1" for n in range(50_000)) + "></p>"), ends="indexable"),
    trap("/options", page("<select>" + "<option>x" * 20_000), ends="indexable"),
    trap("/tables", _tower("table", "tr", "td", times=5000), ends="indexable"),
    trap("/lists", _tower("ul", "li", times=10_000), ends="indexable"),
    trap("/bold", _tower("b", "i", "a", times=10_000), ends="indexable"),
    trap("/svg", _tower("svg", "foreignObject", times=4000), ends="indexable"),
    trap("/templates", _tower("template", times=5000), ends="indexable"),
    trap("/comment", page("<!-- " + '<a href="/inside">x</a>' * 3), ends="indexable"),
    trap("/script", page('<script>"<a href=/inside>"'), ends="indexable"),
    trap("/title", page(head="<title>\x1b[31m\u202e" + "t\n" * 50_000 + "</title>"), ends="indexable"),
    trap("/nul", answer(b"<html>\0\0<a href='/f\0ound'>\xff\xfe\x0c</a>\xef\xbb\xbf", HTML), ends="indexable"),
    trap("/empty", answer(b"", HTML), ends="indexable|wrong type"),
    trap("/bom-only", answer(b"\xff\xfe", HTML), ends="indexable|wrong type"),
    trap("/utf-7", answer(b"+ADw-a href+AD0-/evil+AD4-", "Content-Type: text/html; charset=utf-7"), ends="indexable"),
    trap("/utf-32", answer(html().decode().encode("utf-32"), "Content-Type: text/html"), ends="indexable|wrong type"),
    trap("/json-deep", page(head='<script type="application/ld+json">' + "[" * 90_000 + "</script>"), ends="indexable"),
    trap("/json-digits", page(head='<script type="application/ld+json">{"@type":"VideoObject","name":"\\ud800",'
         '"duration":' + "9" * 6000 + "}</script>"), ends="indexable"),
    trap("/srcset", page("<img srcset='" + ", ," * 30_000 + "'>"), ends="indexable"),
    trap("/base-js", page('<a href="found">x</a>', head='<base href="javascript:alert(1)">'), ends="indexable"),
    trap("/base-off", page('<a href="off-site">x</a>', head='<base href="http://evil.invalid/">'), ends="indexable"),
    trap("/entity", page("&#x1F4A9;&#99999999999;&#0;&amp" * 2000), ends="indexable"),
    trap("/alternates", page(head="".join(f'<link rel=alternate hreflang="x{n}" href="/alt?{n % 9}">'
         for n in range(3000))), ends="indexable"),
    trap("/images", page("".join(f'<img src="/i/{n}.png">' for n in range(6000))), ends="indexable"),
]  # fmt: skip
