"""Stylesheets that make a sitemap readable in a browser: the instructions in its head, and the files.

https://www.w3.org/TR/xml-stylesheet/
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files as package_files
from typing import Final, Literal

from sitemap.errors import SitemapError
from sitemap.escape import escape_xml

# XSLT turns URLs into links, but browsers drop it: https://developer.chrome.com/docs/web-platform/deprecating-xslt
StylesheetKind = Literal["", "css", "xsl"]

_TYPES: Final = {"css": "text/css"}
_NAMES: Final[dict[str, tuple[str, ...]]] = {"": (), "css": ("sitemap.css",), "xsl": ("sitemap.xsl", "sitemap.css")}


@dataclass(frozen=True, slots=True)
class Stylesheet:
    """A custom stylesheet: its URL, absolute or relative to the document, and its media type.

    The type "" is derived from the suffix. The documents of a :func:`sitemap.encoder` link it; a
    :class:`sitemap.SitemapWriter` publishes and links a built-in one (:class:`sitemap.WriterOptions`).
    """

    href: str
    type: str = ""

    def instruction(self) -> str:
        """The processing instruction and a line end."""
        kind = self.type or _TYPES.get(self.href.partition("?")[0].rpartition(".")[2].lower(), "text/xsl")
        return f'<?xml-stylesheet type="{escape_xml(kind)}" href="{escape_xml(self.href)}"?>\n'


def stylesheet_instructions(stylesheets: Sequence[Stylesheet | str]) -> str:
    """The processing instructions of a document, each with a line end. A string is the href of a stylesheet."""
    return "".join((Stylesheet(sheet) if isinstance(sheet, str) else sheet).instruction() for sheet in stylesheets)


def stylesheet_names(kind: StylesheetKind) -> tuple[str, ...]:
    """The names of the files beside a sitemap with this stylesheet. SitemapError for an unknown kind."""
    if kind not in _NAMES:
        raise SitemapError(f"the stylesheet {kind!r} does not exist: choose css or xsl")
    return _NAMES[kind]


def stylesheet_files(kind: StylesheetKind) -> dict[str, bytes]:
    """The built-in stylesheets of a kind: their names beside the sitemap, and their bytes.

    XSLT comes with CSS, for browsers that have dropped XSLT. SitemapError for an unknown kind.
    """
    folder = package_files("sitemap.writer")
    return {name: folder.joinpath(name).read_bytes() for name in stylesheet_names(kind)}
