"""The values of rendering: its limits, the document that comes of it, and why there is none. Pure."""

from typing import Final

from msgspec import Struct

NO_SANDBOX_REMEDY: Final = (
    "Chromium has no sandbox for root: run siteatlas as another user, or add --set render.sandbox=false in a container "
    "that holds nothing else"
)


class RenderError(Exception):
    """The browser could not render a page: it crashed, hung, or used too much memory. The text is a sentence."""


class RenderLimits(Struct, frozen=True):
    """``seconds`` for one page, without those in which its requests wait for their turn; characters of markup."""

    seconds: float = 10.0
    markup: int = 10_000_000


class BrowserOptions(Struct, frozen=True):
    """``path`` of Chromium, "" to look for it; ``memory`` in bytes of all its processes together.

    A browser is replaced after ``max_pages`` pages. ``user_agent`` is that of the crawl.
    """

    path: str = ""
    sandbox: bool = True
    memory: int = 2 * 2**30
    max_pages: int = 200
    user_agent: str = ""


class RenderedDocument(Struct, frozen=True):
    """A page as its scripts left it. ``cut`` says why reading stopped early, or is ""."""

    markup: str
    cut: str = ""
    left_for: str = ""  # where a script wanted to lead the visitor
    routes: tuple[str, ...] = ()  # links such as #/about, each once
    addresses: tuple[str, ...] = ()  # that a script gave the page before anybody clicked, each once
