"""Detects the encoding and syntax of a document by its first bytes, and its format by its root. Pure."""

import re
from dataclasses import dataclass
from enum import Enum
from typing import Final

from sitemap import namespaces
from sitemap.model import FEEDS, Format
from sitemap.reader.extensions import ReportFinding
from sitemap.reader.xml_names import ROOTS

SNIFF_BYTES: Final = 4096  # enough to decide


class Syntax(Enum):
    """The syntax of a document."""

    XML = "XML"
    HTML = "HTML"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class SniffResult:
    """The syntax, the codec, the number of bytes to skip, and a defect of the start or ""."""

    syntax: Syntax
    codec: str
    skip: int
    fault: str = ""


_BOMS = (
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe\x00\x00", "utf-32-le"),
    (b"\x00\x00\xfe\xff", "utf-32-be"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)

_DECLARED = re.compile(rb"""<\?xml[^>]{0,200}?encoding\s*=\s*["']([A-Za-z0-9._:-]{1,40})["']""", re.IGNORECASE)

_HTML = re.compile(r"<(?:!doctype\s+html|html|head|body|script|meta)[\s>]", re.IGNORECASE)

_XML_START = re.compile(r"<(?:\?xml\s|(?:[\w.-]{1,40}:)?(?:urlset|sitemapindex|rss|rdf|feed)[\s>])", re.IGNORECASE)
_COMMENTS_FIRST: Final = re.compile(r"\A(?:<!--(?s:.*?)-->\s*+)++(?=<\?xml\s)")

# https://encoding.spec.whatwg.org/#names-and-labels, the labels that occur. Never look a codec up by a document's name.
_CODECS = {
    "utf-8": "utf-8", "utf8": "utf-8", "us-ascii": "utf-8", "ascii": "utf-8",
    "iso-8859-1": "cp1252", "iso8859-1": "cp1252", "iso_8859-1": "cp1252", "latin1": "cp1252", "latin-1": "cp1252",
    "windows-1252": "cp1252", "cp1252": "cp1252",
    **{f"iso-8859-{number}": f"iso8859-{number}" for number in (2, 3, 4, 5, 6, 7, 8, 9, 10, 13, 14, 15, 16)},
    **{f"windows-{number}": f"cp{number}" for number in (1250, 1251, 1253, 1254, 1255, 1256, 1257, 1258, 874)},
    "koi8-r": "koi8-r", "koi8-u": "koi8-u", "shift_jis": "cp932", "shift-jis": "cp932", "sjis": "cp932",
    "euc-jp": "euc-jp", "euc-kr": "cp949", "ks_c_5601-1987": "cp949", "big5": "big5hkscs", "gb2312": "gb18030",
    "gbk": "gb18030", "gb18030": "gb18030", "iso-2022-jp": "iso2022-jp",
}  # fmt: skip


def sniff(head: bytes) -> SniffResult | None:
    """Detect the syntax from the first bytes, at most a few thousand. None if they are only blank space."""
    codec, skip, fault = _codec(head)
    text = head[skip:].decode(codec, "replace")
    stripped = text.lstrip(" \t\r\n\x00\x0b\x0c\u00a0\ufeff\u2028")
    if not stripped:
        return None
    if comments := _COMMENTS_FIRST.match(stripped):
        fault = fault or "a comment comes before the XML declaration"
        stripped = stripped[comments.end() :]
    skip += len(text[: len(text) - len(stripped)].encode(codec, "replace"))
    if _HTML.match(stripped):
        return SniffResult(Syntax.HTML, codec, skip, fault)
    if stripped.startswith("<"):
        if stripped[:5] == "<?xml" and len(text) - len(stripped) > text.startswith("\ufeff"):
            fault = fault or "blank space comes before the XML declaration"
        return SniffResult(Syntax.XML, codec, skip, fault)
    if match := _XML_START.search(stripped):
        junk = stripped[: match.start()]
        skip += len(junk.encode(codec, "replace"))
        return SniffResult(Syntax.XML, codec, skip, f"{junk[:60]!r} comes before the XML")
    return SniffResult(Syntax.TEXT, codec, skip, fault)


def _codec(head: bytes) -> tuple[str, int, str]:
    """The codec, the length of a byte order mark, and a defect of the declaration."""
    for mark, codec in _BOMS:
        if head.startswith(mark):
            return codec, len(mark), ""
    if re.match(rb"(?:[\t\r\n ]\x00){0,64}<\x00[^\x00]\x00", head):
        return "utf-16-le", 0, ""
    if re.match(rb"(?:\x00[\t\r\n ]){0,64}\x00<\x00[^\x00]", head):
        return "utf-16-be", 0, ""
    declared = _DECLARED.search(head)
    if not declared:
        return "utf-8", 0, ""
    label = declared[1].decode("ascii").lower()
    if label.startswith(("utf-16", "ucs-2", "iso-10646")):
        return "utf-8", 0, f"the declaration says {label}, but the bytes are not"
    if label not in _CODECS:
        return "utf-8", 0, f"the encoding {label!r} is unknown: the file was read as UTF-8"
    codec = _CODECS[label]
    return codec, 0, "" if codec == "utf-8" else f"the encoding is {label}, it must be UTF-8"


def root_format(name: str, local: str, uri: str, report: ReportFinding) -> Format | None:
    """The format of a root element by its local name in lower case and its namespace ``uri``, or None."""
    root = ROOTS.get(local)
    if root is None:
        if local == "html":
            report("sitemap.not_xml", "this is an HTML page, not a sitemap")
        else:
            report("sitemap.root", f"the root element {name[:64]!r} does not belong to a sitemap or feed")
    elif local in {"url", "sitemap"}:
        report("sitemap.root", f"the document begins with {local!r}, its root is missing")
    elif root not in FEEDS and uri != namespaces.SITEMAP:
        fault = f"is {uri[:120]!r}" if uri else "is missing"
        report("sitemap.namespace", f"the namespace {fault}, it must be {namespaces.SITEMAP}")
    return root
