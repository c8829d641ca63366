"""Sites for trials of the gate, and the disasters that hit some of their pages in a bad night."""

import random
import re
from collections.abc import Callable, Iterator
from typing import Final

from scripted import Answer, Route

SYLLABLES: Final = ("ba", "cor", "del", "fin", "gar", "har", "kal", "lem", "mon", "nor", "pel", "ras", "sil", "vor")
WORDS: Final = [first + last for first in SYLLABLES for last in SYLLABLES]


class MadeSite:
    """A site of ``count`` pages in three sections; every page has a text of its own in one template."""

    def __init__(self, count: int, seed: int, own_words: int = 120) -> None:
        self._random = random.Random(seed)
        self.seed = seed
        self.pages = [f"/{('articles', 'shop', 'guides')[n % 3]}/{n}" for n in range(count - 1)]
        self._own_words = own_words
        self.texts = {path: self._text(path) for path in ["/", *self.pages]}

    def _text(self, path: str) -> list[str]:
        words = random.Random(f"{self.seed} {path}")
        return [" ".join(words.choices(WORDS, k=self._own_words // 3)) + "." for _ in range(3)]

    def title(self, path: str) -> str:
        words = random.Random(f"title {self.seed} {path}")
        return f"{' '.join(words.choices(WORDS, k=3))} {path.rpartition('/')[2]}"

    def page(self, path: str, text: list[str] | None = None, head: str = "", visits: int = 0) -> str:
        links = "".join(f'<li><a href="{to}">{self.title(to)}</a></li>' for to in (self.pages if path == "/" else ()))
        paragraphs = "".join(f"<p>{paragraph}</p>" for paragraph in (self.texts[path] if text is None else text))
        return "".join(
            (
                f"<!doctype html><html><head><title>{self.title(path)}</title>{head}</head><body>",
                '<header><nav><a href="/">Home</a> <a href="/about">About</a></nav></header>',
                f"<main><h1>{self.title(path)}</h1>{paragraphs}<ul>{links}</ul></main>",
                f"<footer><p>Made by us, visited {visits} times. All rights reserved.</p></footer></body></html>",
            )
        )

    def routes(self, visits: int = 0) -> dict[str, Route]:
        return {path: self.page(path, visits=visits) for path in ["/", *self.pages]}


Disaster = Callable[[MadeSite, str], Route]
"""What a page answers in a bad night."""


def _head(head: str) -> Disaster:
    return lambda site, path: site.page(path, head=head)


def _redirect(status: int, to: str) -> Disaster:
    return lambda site, path: Answer("", status, {"Location": to.replace("{path}", path)})


LOGIN: Final = (
    "<p>Please log in to read this page.</p><form><label>Name</label><input><label>Password</label><input></form>"
)
CLOUDFLARE: Final = (
    "<!DOCTYPE html><html><head><title>Just a moment...</title><meta name=robots content=noindex></head><body><script>"
    "(function(){window._cf_chl_opt = {cvId: '3'};var a=document.createElement('script');"
    "a.src='/cdn-cgi/challenge-platform/h/g/orchestrate/chl_page/v1?ray=1';}());</script></body></html>"
)
IMPERVA: Final = """<html style="height:100%"><head><META NAME="ROBOTS" CONTENT="NOINDEX, NOFOLLOW"></head><body>
<iframe id="main-iframe" src="/_Incapsula_Resource?SWUDNSAI=31">Request unsuccessful. Incapsula incident ID: 12</iframe>
</body></html>"""

LOSSES: Final[dict[str, Disaster]] = {
    "noindex": _head('<meta name="robots" content="noindex">'),
    "noindex by header": lambda site, path: Answer(site.page(path), headers={"X-Robots-Tag": "noindex"}),
    "301 to start": _redirect(301, "/"),
    "302 to login": _redirect(302, "/login?next={path}"),
    "308 to one new page": _redirect(308, "/maintenance"),
    "404": lambda site, path: Answer("<h1>Not here", 404),
    "410": lambda site, path: Answer("", 410),
    "403": lambda site, path: Answer("no", 403),
    "canonical to start": _head('<link rel="canonical" href="/">'),
    "canonical to section": lambda site, path: site.page(
        path, head=f'<link rel="canonical" href="{path.rsplit("/", 1)[0]}">'
    ),
    "refresh to start": _head('<meta http-equiv="refresh" content="0;url=/">'),
    "redirect to a 404": _redirect(301, "/no-such-page"),
    "PDF": lambda site, path: Answer(b"%PDF-1.4", headers={"Content-Type": "application/pdf"}),
    "empty body": lambda site, path: Answer(""),
    "loop": lambda site, path: Answer("", 302, {"Location": path}),
}
TEXTS: Final[dict[str, Disaster]] = {
    "login with title": lambda site, path: site.page(path, [LOGIN]),
    "empty frame with title": lambda site, path: site.page(path, []),
    "maintenance": lambda site, path: "<title>Back soon</title><h1>We are working on it</h1><p>Come back in an hour.",
    "start page everywhere": lambda site, path: site.page("/"),
    "error inside the page": lambda site, path: site.page(path, ["Error establishing a database connection."]),
    "first sentence only": lambda site, path: site.page(path, [site.texts[path][0][:60]]),
}
CHALLENGES: Final[dict[str, Disaster]] = {
    "Cloudflare 403": lambda site, path: Answer(CLOUDFLARE, 403, {"cf-mitigated": "challenge"}),
    "Cloudflare 200": lambda site, path: Answer(CLOUDFLARE, 200),
    "Cloudflare 503": lambda site, path: Answer(CLOUDFLARE, 503),
    "Imperva 200": lambda site, path: Answer(IMPERVA, 200),
    "AWS WAF 202": lambda site, path: Answer("<html></html>", 202, {"x-amzn-waf-action": "challenge"}),
    "Vercel 429": lambda site, path: Answer(
        "<title>Vercel Security Checkpoint</title>", 429, {"x-vercel-mitigated": "challenge"}
    ),
}


def _half(site: MadeSite, path: str) -> Answer:
    whole = site.page(path).encode()
    return Answer(whole[: len(whole) // 2], headers={"Content-Type": "text/html; charset=utf-8"})


TRUNCATED: Final[dict[str, Disaster]] = {"half a body": _half}
DISASTERS: Final[dict[str, Disaster]] = {**LOSSES, **TEXTS, **CHALLENGES, **TRUNCATED}


def hit(site: MadeSite, choice: str, seed: int = 0) -> list[str]:
    """The pages that a disaster hits: all but the start page, the first or second half of them, or a random half."""
    pages, half = site.pages, (len(site.pages) + 1) // 2
    match choice:
        case "all":
            return pages
        case "first":
            return pages[:half]
        case "second":
            return pages[-half:]
    return sorted(random.Random(f"{seed} {choice}").sample(pages, half))


def entries(xml: str) -> Iterator[tuple[str, str]]:
    """URL and lastmod of each entry of a sitemap."""
    yield from re.findall(r"<loc>([^<]*)</loc>(?:\s*<lastmod>([^<]*)</lastmod>)?", xml)
