"""The nodes of a page's JSON-LD, read as tolerantly as search engines do. Knows no vocabulary beyond types and ids.

https://www.w3.org/TR/json-ld11/ for arrays, ``@graph`` and ``@id``; no context is fetched. What is broken in practice
is mended: comments, trailing commas, CDATA and HTML comment wrappers, raw control characters, character references.
Every expression here is linear: an unclosed string or comment reaches to the end, so that it is looked at once.
"""

import re
from typing import Any, Final

import msgspec
from msgspec import Struct

from crawler.parse.html.text import decode_text_references

MAX_BLOCK: Final = 2_000_000

"""Characters of one script that are read."""

MAX_NODES: Final = 5_000

MAX_DEPTH: Final = 64

_MAX_NESTING: Final = 256  # brackets open at once, beyond which a text is not read: readers of JSON recurse


_begins = re.compile(r"(?:<!--|//\s*<!\[CDATA\[|/\*\s*<!\[CDATA\[\s*\*/|<!\[CDATA\[)+").match

_ENDINGS: Final = ("-->", "//]]>", "// ]]>", "/*]]>*/", "/* ]]> */", "]]>")

_PADDING: Final = " \t\r\n\f\ufeff\xa0;"

# A string, or one of the defects outside strings.
_lexeme = re.compile(
    r"\"(?:[^\"\\]++|\\.)*+(?:\"|\\?\Z)|(//[^\n]*+|/\*(?:[^*]++|\*(?!/))*+(?:\*/|\Z))|(,)(?=\s*+[\]}])",
    re.DOTALL,
)

_bracket = re.compile(r"\"(?:[^\"\\]++|\\.)*+(?:\"|\\?\Z)|([\[\]{}])", re.DOTALL)

_control = re.compile(r"[\x00-\x1f\x7f]")

_bad_escape = re.compile(r"\\(?:u[0-9a-fA-F]{4}|[\"\\/bfnrt]|(.))", re.DOTALL)

_decode = msgspec.json.Decoder().decode


class JsonLdNode(Struct, frozen=True):
    """An object with its type names without a prefix (``https://schema.org/Article`` is ``Article``) and its values.

    ``depth`` is 0 for an object that stands for itself: at the top, in an array there, or in ``@graph``.
    """

    types: tuple[str, ...]
    values: dict[str, Any]
    depth: int


def read_nodes(blocks: list[str]) -> list[JsonLdNode]:
    """All typed objects of all blocks, outermost first, a reference by ``@id`` filled in from where it is described."""
    found: list[JsonLdNode] = []
    for block in blocks:
        value = read_block(block)
        if value is not None:
            _collect(value, found)
    return found


def nodes_by_id(found: list[JsonLdNode]) -> dict[str, JsonLdNode]:
    """The nodes by their ``@id``; where one is described twice the fuller description counts."""
    by_id: dict[str, JsonLdNode] = {}
    for node in found:
        name = node.values.get("@id")
        if isinstance(name, str) and (name not in by_id or len(by_id[name].values) < len(node.values)):
            by_id[name] = node
    return by_id


def read_block(text: str) -> Any:
    """The value of one script, or None when it is no JSON even after mending."""
    if len(text) > MAX_BLOCK:
        return None
    text = _unwrapped(text)
    for mend in (_as_written, _repaired, _unescaped):
        candidate = mend(text)
        if _is_deep(candidate):
            return None
        try:
            return _decode(candidate.encode("utf-8", "replace"))
        except (msgspec.DecodeError, RecursionError):
            continue
    return None


def _unwrapped(text: str) -> str:
    text = text.strip(_PADDING)
    found = _begins(text)
    if found:
        text = text[found.end() :]
    for ending in _ENDINGS:
        text = text.removesuffix(ending).rstrip(_PADDING)
    return text.strip(_PADDING)


def _as_written(text: str) -> str:
    return text


def _repaired(text: str) -> str:
    return _lexeme.sub(_repair, text)


def _unescaped(text: str) -> str:
    return _repaired(decode_text_references(text))


def _repair(found: re.Match[str]) -> str:
    if found[1] is not None or found[2] is not None:
        return " "
    return _control.sub(" ", _bad_escape.sub(_repair_escape, found[0]))


def _repair_escape(found: re.Match[str]) -> str:
    return found[0] if found[1] is None else found[1]


def _is_deep(text: str) -> bool:
    if text.count("[") + text.count("{") < _MAX_NESTING:
        return False
    depth = 0
    for bracket in _bracket.findall(text):
        if bracket in {"[", "{"}:
            depth += 1
            if depth > _MAX_NESTING:
                return True
        elif bracket:
            depth -= 1
    return False


def _collect(value: Any, found: list[JsonLdNode]) -> None:
    """Walk without recursion, in document order."""
    waiting = [(value, 0)]
    while waiting and len(found) < MAX_NODES:
        current, depth = waiting.pop()
        if isinstance(current, list):
            waiting.extend((item, depth) for item in reversed(current))
        elif isinstance(current, dict) and depth <= MAX_DEPTH:
            types = _types(current)
            if types:
                found.append(JsonLdNode(types, current, depth))
            waiting.extend(
                (inner, depth if key == "@graph" else depth + 1)
                for key, inner in reversed(current.items())
                if isinstance(inner, (dict, list))
            )


def _types(value: dict[str, Any]) -> tuple[str, ...]:
    stated = value.get("@type")
    names = stated if isinstance(stated, list) else [stated]
    return tuple(re.split(r"[/#:]", name)[-1] for name in names if isinstance(name, str) and name)
