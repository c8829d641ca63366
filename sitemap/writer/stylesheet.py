"""Owns how a sitemap looks to a person who opens it: the instructions in its head, and the files they name.

https://www.w3.org/TR/xml-stylesheet/
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files as package_files
from typing import Final, Literal

from sitemap.errors import SitemapError
from sitemap.escape import escape_xml

# XSLT makes links of URLs, but browsers drop it: https://developer.chrome.com/docs/web-platform/deprecating-xslt
StylesheetKind = Literal["", "css", "xsl"]

_TYPES: Final = {"css": "text/css"}
_NAMES: Final[dict[str, tuple[str, ...]]] = {
    "": (),
    "css": ("sitemap.css",),
    "xsl": ("sitemap.xsl", "sitemap.css"),
}


@dataclass(frozen=True, slots=True)
class Stylesheet:
    """A stylesheet of your own: its URL, absolute or relative to the document, and its media type.

    A type of "" is told by the name. For :func:`sitemap.encoder`, whose documents link it; a
    :class:`sitemap.SitemapWriter` brings and links one of ours, as :class:`sitemap.WriterOptions` says.
    """

    href: str
    type: str = ""

    def instruction(self) -> str:
        """The processing instruction and a line end."""
        kind = self.type or _TYPES.get(self.href.partition("?")[0].rpartition(".")[2].lower(), "text/xsl")
        return f'<?xml-stylesheet type="{escape_xml(kind)}" href="{escape_xml(self.href)}"?>\n'


def stylesheet_instructions(stylesheets: Sequence[Stylesheet | str]) -> str:
    """The processing instructions of a document, each with a line end. A string is the href of a stylesheet."""
    return "".join(
        (Stylesheet(sheet) if isinstance(sheet, str) else sheet).instruction() for sheet in stylesheets
    )


def check_kind(kind: StylesheetKind) -> None:
    """SitemapError for a kind that there is not."""
    if kind not in _NAMES:
        raise SitemapError(f"there is no stylesheet {kind!r}: choose css or xsl")


def stylesheet_names(kind: StylesheetKind) -> tuple[str, ...]:
    """The names of the files that go beside a sitemap with this stylesheet. SitemapError as :func:`check`."""
    check_kind(kind)
    return _NAMES[kind]


def stylesheet_files(kind: StylesheetKind) -> dict[str, bytes]:
    """The stylesheets that this package brings: the names they must have beside the sitemap, and their bytes.

    With XSLT comes CSS, for the browsers that have dropped XSLT. SitemapError for a kind that there is not.
    """
    check_kind(kind)
    folder = package_files("sitemap.writer")
    return {name: folder.joinpath(name).read_bytes() for name in _NAMES[kind]}
