"""What broken sites answer instead of a page: other pages, frames without content, halves, pages with errors."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from html import escape

from .site import sentence, words


@dataclass(frozen=True)
class Reply:
    """An answer as it goes over the wire.

    ``framing`` is how its end is told: "length", "chunked", "close" (by the end of the connection), "lie" (a length
    that it does not keep) or "torn" (chunks without the last one). "drop" and "hang" are no answers at all.
    """

    status: int = 200
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()
    kind: str = "text/html; charset=utf-8"
    framing: str = "length"
    announced: int = 0  # the length that a lie tells


@dataclass(frozen=True)
class Asked:
    """What a broken site knows when it answers."""

    path: str
    title: str  # of the page that was asked for
    site: str  # its name
    host: str
    dice: random.Random  # new for each request
    good: Reply  # what a whole site would answer


Answer = Callable[[Asked], Reply]


def html(head: str, body: str, lang: str = "en") -> bytes:
    return f"<!DOCTYPE html><html lang={lang}><head>{head}</head><body>{body}</body></html>".encode()


_SAYINGS = {
    "soft404": ("Page not found", "Sorry, the page that you are looking for does not exist or has been moved."),
    "maintenance": ("Down for maintenance", "We are upgrading our systems. Please come back in a few minutes."),
    "login": ("Sign in", "Please sign in to continue."),
    "error": ("Something went wrong", "An unexpected error occurred while processing your request. Please try again."),
    "parked": ("Domain for sale", "This domain may be for sale. Buy it now. Related searches: travel, credit."),
    "suspended": ("Account suspended", "This account has been suspended. Contact your hosting provider."),
    "welcome": ("Welcome to nginx!", "If you see this page, the web server is successfully installed and working."),
    "consent": ("Before you continue", "We use cookies and data to deliver and maintain our services. Accept all?"),
    "forbidden": ("Not available", "This content is not available in your region."),
    "old": ("Please update your browser", "Your browser is not supported. Update it to see this site."),
}


@dataclass
class Stand:
    """One page for every page: ``says`` is what, and the rest how much of the page asked for shines through."""

    dice: random.Random
    says: str
    status: int = 200

    def __post_init__(self) -> None:
        dice = self.dice
        self.titles = dice.choice(("page", "page", "own", "site"))
        self.heading = dice.random() < 0.3  # shows the page's title as its heading
        self.keeps = dice.choice(("nothing", "nothing", "frame"))  # the navigation and the footer of the site
        self.echoes = dice.random() < 0.4  # names the path
        self.number = dice.random() < 0.4  # a number that is new for each request
        self.more = [sentence(dice) for _ in range(dice.choice((0, 0, 1, 5)))]
        self.links = [f"/{words(dice, 1)[0]}" for _ in range(dice.choice((0, 0, 0, 3)))]

    def __call__(self, asked: Asked) -> Reply:
        name, text = _SAYINGS.get(self.says, ("", ""))
        shown = {"page": f"{asked.title} | {asked.site}", "own": name, "site": asked.site}[self.titles]
        body = f"<h1>{escape(asked.title if self.heading else name)}</h1><p>{text}</p>"
        body += "".join(f"<p>{each}</p>" for each in self.more)
        if self.echoes:
            body += f"<p>{escape(asked.path)}</p>"
        if self.number:
            body += f"<p>Reference {asked.dice.randbytes(6).hex()}</p>"
        if self.says == "login":
            body += (
                f'<form method=post action="/login?next={escape(asked.path)}"><input name=user>'
                "<input name=password type=password>"
                f"<input type=hidden name=csrf value={asked.dice.randbytes(16).hex()}>"
                "<button>Sign in</button></form>"
            )
        body += "".join(f'<a href="{each}">{each[1:]}</a> ' for each in self.links)
        head = f"<meta charset=utf-8><title>{escape(shown)}</title>"
        if self.keeps == "frame":
            body = framed(asked.good.body.decode(errors="replace"), body)
            return Reply(self.status, body.encode())
        return Reply(self.status, html(head, body))


def framed(page: str, content: str) -> str:
    """The page with other content in its frame: head, navigation and footer stay."""
    before, found, rest = page.partition("</header>")
    if not found:
        return content
    foot = rest.find("<footer")
    return f"{before}{found}<main>{content}</main>{rest[foot:] if foot >= 0 else ''}"


def empty_frame(asked: Asked) -> Reply:
    """What is left when the content does not come: the frame, with the title of the page."""
    return Reply(200, framed(asked.good.body.decode(), '<div id="app" class="loading"></div>').encode())


def bare_frame(asked: Asked) -> Reply:
    """The shell of an application whose server side is broken."""
    head = f'<title>{escape(asked.title)}</title><script src="/app.js" defer></script>'
    return Reply(200, html(head, '<div id="root"></div><noscript>You need to enable JavaScript.</noscript>'))


@dataclass
class Cut:
    """A page that ends before its end."""

    share: float
    framing: str

    def __call__(self, asked: Asked) -> Reply:
        body = asked.good.body
        kept = body[: max(60, int(len(body) * self.share))]
        return Reply(200, kept, framing=self.framing, announced=len(body))


@dataclass
class Shouting:
    """A whole page with the error of its database or template in it."""

    text: str
    at: str  # "top", "main"
    where: bool  # names the page, as warnings with a query do

    def __call__(self, asked: Asked) -> Reply:
        said = self.text + (f" in query for '{escape(asked.path)}'" if self.where else "")
        page = asked.good.body.decode()
        block = f"<br />\n<b>Warning</b>: {said}<br />\n"
        if self.at == "top":
            return Reply(200, (block + page).encode())
        before, found, rest = page.partition("<h1>")
        return Reply(200, f"{before}{block}{found}{rest}".encode())
