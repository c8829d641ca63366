"""Reads the JSON-LD nodes of a page as tolerantly as search engines do. Interprets types and ids only.

https://www.w3.org/TR/json-ld11/ for arrays, ``@graph`` and ``@id``; no context is fetched. Common defects are repaired:
comments, trailing commas, CDATA and HTML comment wrappers, raw control characters, character references. Every regular
expression here is linear: an unclosed string or comment extends to the end, so it is read once.
"""

import json
import re
from typing import Any, Final

import msgspec
from msgspec import Struct

from crawler.parse.html.text import decode_text_references

MAX_BLOCK: Final = 2_000_000
"""Characters of one script that are read."""
MAX_NODES: Final = 5_000
MAX_DEPTH: Final = 64
MAIN: Final = "mainEntity"
"""The property that leads from a page to its main entity; ``mainEntityOfPage`` leads back."""
_MAX_NESTING: Final = 256  # open brackets beyond which a text is not parsed: JSON parsers recurse
_opening = re.compile(r"(?:<!--|//\s*<!\[CDATA\[|/\*\s*<!\[CDATA\[\s*\*/|<!\[CDATA\[)+").match
_ENDINGS: Final = ("-->", "//]]>", "// ]]>", "/*]]>*/", "/* ]]> */", "]]>")
_PADDING: Final = " \t\r\n\f\ufeff\xa0;"
# A string, or a defect outside strings.
_lexeme = re.compile(
    r"\"(?:[^\"\\]++|\\.)*+(?:\"|\\?\Z)|(//[^\n]*+|/\*(?:[^*]++|\*(?!/))*+(?:\*/|\Z))|(,)(?=\s*+[\]}])", re.DOTALL
)
_bracket = re.compile(r"\"(?:[^\"\\]++|\\.)*+(?:\"|\\?\Z)|([\[\]{}])", re.DOTALL)
_control = re.compile(r"[\x00-\x1f\x7f]")
_bad_escape = re.compile(r"\\(?:u[0-9a-fA-F]{4}|[\"\\/bfnrt]|(.))", re.DOTALL)
_decode = msgspec.json.Decoder().decode


class JsonLdNode(Struct, frozen=True):
    """A typed object. ``types`` have no prefix: ``https://schema.org/Article`` is ``Article``.

    ``is_main``: it is at the top level, in an array there, in ``@graph``, or the main entity of such an object. All
    other objects are only mentioned.
    """

    types: tuple[str, ...]
    values: dict[str, Any]
    is_main: bool


def read_nodes(blocks: list[str]) -> tuple[list[JsonLdNode], int, str]:
    """The typed objects of all blocks, at most ``MAX_NODES``, each before the objects inside it.

    Also the number of blocks that cannot be parsed, and where the first of them has its first fault.
    """
    nodes: list[JsonLdNode] = []
    bad, fault = 0, ""
    for number, block in enumerate(blocks, 1):
        value = read_block(block)
        if value is not None:
            _collect(value, nodes)
        elif block and not block.isspace():
            bad += 1
            fault = fault or f"block {number}, {_fault(block)}"
    return nodes, bad, fault


def nodes_by_id(nodes: list[JsonLdNode]) -> dict[str, JsonLdNode]:
    """The nodes by their ``@id``; of two with the same one, that with more properties counts."""
    by_id: dict[str, JsonLdNode] = {}
    for node in nodes:
        key = node.values.get("@id")
        if isinstance(key, str) and (key not in by_id or len(by_id[key].values) < len(node.values)):
            by_id[key] = node
    return by_id


def read_block(text: str) -> Any:
    """The value of one script, or None when it is no JSON even after repair."""
    if len(text) > MAX_BLOCK:
        return None
    text = _unwrapped(text)
    for repair in (str, _repaired, _unescaped):
        candidate = repair(text)
        if _is_deep(candidate):
            return None
        try:
            return _decode(candidate.encode("utf-8", "replace"))
        except (msgspec.DecodeError, RecursionError):
            continue
    return None


def _fault(block: str) -> str:
    """Where a block that :func:`read_block` does not take has its first fault that is not repaired, in words."""
    if len(block) > MAX_BLOCK:
        return "which is too long"
    text = _unwrapped(block)
    try:
        json.loads((_unescaped if "&quot;" in text else _repaired)(text))
    except json.JSONDecodeError as error:
        before = block[: max(0, block.find(text)) + error.pos]
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        return f"line {line}, column {column}: {error.msg}"
    except (ValueError, RecursionError):
        return "which is too deep, or has too long a number"
    return "which is too deep, or has a number or a character that JSON does not allow"


def _unwrapped(text: str) -> str:
    text = text.strip(_PADDING)
    opening = _opening(text)
    if opening:
        text = text[opening.end() :]
    for ending in _ENDINGS:
        text = text.removesuffix(ending).rstrip(_PADDING)
    return text.strip(_PADDING)


def _repaired(text: str) -> str:
    return _lexeme.sub(_repair, text)


def _unescaped(text: str) -> str:
    return _repaired(decode_text_references(text))


def _repair(match: re.Match[str]) -> str:
    if match[1] is not None or match[2] is not None:
        return " " * len(match[0])
    return _control.sub(" ", _bad_escape.sub(lambda escape: escape[1] or escape[0], match[0]))


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


def _collect(value: Any, nodes: list[JsonLdNode]) -> None:
    """Append the typed objects of a value in document order, without recursion."""
    waiting = [(value, 0, True)]
    while waiting and len(nodes) < MAX_NODES:
        current, depth, is_main = waiting.pop()
        if isinstance(current, list):
            waiting.extend((item, depth, is_main) for item in reversed(current))
        elif isinstance(current, dict) and depth <= MAX_DEPTH:
            types = _types(current)
            if types:
                nodes.append(JsonLdNode(types, current, is_main))
            waiting.extend(
                (inner, depth + (key != "@graph"), is_main and (key == "@graph" or local_name(key).startswith(MAIN)))
                for key, inner in reversed(current.items())
                if isinstance(inner, (dict, list))
            )


def _types(value: dict[str, Any]) -> tuple[str, ...]:
    stated = value.get("@type")
    names = stated if isinstance(stated, list) else [stated]
    return tuple(local_name(name) for name in names if isinstance(name, str) and name)


def local_name(name: str) -> str:
    """The name of a type or a property without its prefix or the rest of its IRI."""
    return re.split(r"[/#:]", name)[-1]
