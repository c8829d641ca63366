"""Escapes text for messages, terminals, URLs and XML. Pure."""

import re
from typing import Final

_USERINFO: Final = re.compile(r"//[^/?#]*@")

_MAX_QUOTED: Final = 200  # characters
_MAX_WORD: Final = 100  # characters of a word in a sentence of more than _MAX_QUOTED

# Control characters (C0, C1), soft hyphens, direction marks, line ends, invisible characters (zero width space, word
# joiner, byte order mark, tags), surrogates and noncharacters. Joiners stay: some languages need them.
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufdd0-\ufdef\ufeff"
    "\ufff0-\ufffb\ufffe\uffff\U000e0000-\U000e0fff]"
)


def quote_text(text: str) -> str:
    """Text of a document or caller for use in a message: quoted, on one line, cut to 200 characters, no password."""
    return repr(_USERINFO.sub("//***@", text)[:_MAX_QUOTED])


def shorten(sentence: str, longest: int = _MAX_WORD) -> str:
    """A sentence without endless URLs: one of more than 200 characters loses the middle of each word over ``longest``.

    Whoever makes a sentence cuts text with blanks, by :func:`quote_text`.
    """
    if len(sentence) <= _MAX_QUOTED:
        return sentence
    end = longest // 4
    return " ".join(
        word if len(word) <= longest else f"{word[: longest - end - 1]}…{word[-end:]}" for word in sentence.split(" ")
    )


def safe(text: str) -> str:
    """Text that is safe to print on a terminal: control and invisible characters become visible escapes.

    The direction characters are those of https://www.unicode.org/reports/tr9/#Directional_Formatting_Characters.
    """
    if text.isascii() and text.isprintable():
        return text
    return _UNSAFE.sub(lambda match: repr(match[0])[1:-1], text)


XML_DECLARATION: Final = '<?xml version="1.0" encoding="UTF-8"?>\n'

FORBIDDEN_CHARACTERS: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

_AUTHORITY = re.compile("[A-Za-z][A-Za-z0-9+.-]*+://[^/?#]*+").match

_STRAY_PERCENT = re.compile("%(?![0-9A-Fa-f]{2})")


def escape_uri(url: str) -> str:
    """The URL as ``xsd:anyURI`` and RFC 3986 section 3 require: ``[``, ``]``, stray ``%`` and a second ``#`` escaped.

    Browsers leave these unescaped (``?filter[color]=red``, ``?off=50%``). Everything else stays, also non-ASCII
    characters (RFC 3987).
    """
    if "[" not in url and "]" not in url and "%" not in url and "#" not in url:
        return url
    authority = _AUTHORITY(url)  # an IPv6 host keeps its brackets
    head, tail = (authority[0], url[authority.end() :]) if authority else ("", url)
    tail = _STRAY_PERCENT.sub("%25", tail).replace("[", "%5B").replace("]", "%5D")
    path, mark, fragment = tail.partition("#")
    return head + path + mark + fragment.replace("#", "%23")


def escape_xml(text: str) -> str:
    """Text for element content or a quoted attribute, without characters that XML forbids."""
    if "&" in text:
        text = text.replace("&", "&amp;")
    if "<" in text or ">" in text or '"' in text or "'" in text:
        text = text.replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;").replace("'", "&apos;")
    if not text.isprintable():
        # A parser would change these (https://www.w3.org/TR/xml/#sec-line-ends and #AVNormalize).
        text = FORBIDDEN_CHARACTERS.sub("", text).replace("\r", "&#13;").replace("\n", "&#10;").replace("\t", "&#9;")
    return text
