"""The reference of all keys, ``reference.toml``: a configuration with each key at its default, below its meaning.

``siteatlas config`` prints it, and the help of each option is the first sentence of its key.
"""

import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Final

from msgspec import Struct

_SECTION: Final = re.compile(r"^\[(\w+)\]\n((?:# .*\n)+)\n?", re.MULTILINE)
# a line of prose, or a key with its value; a key without a default is a comment
_PART: Final = re.compile(r"^(?:# (?!\w+ =).*\n|(?:# )?(\w+) =.*\n(?:(?: .*|\])\n)*+)", re.MULTILINE)
_OPTION: Final = re.compile(r" \(--[\w-]+\)$")
_SEVERAL: Final = "\n# [sites]\n"  # the last part of the file, about several sites in one


class ReferenceKey(Struct, frozen=True):
    """A key: its ``lines`` in the file, and its meaning, at the end of which its option stands in parentheses."""

    name: str
    lines: str
    text: str

    @property
    def sentence(self) -> str:
        """The first sentence of its meaning."""
        return _OPTION.sub("", self.text).partition(". ")[0].removesuffix(".")


class ReferenceSection(Struct, frozen=True):
    """A section: its ``lines`` up to its first key, and its keys by name."""

    lines: str
    keys: dict[str, ReferenceKey]


@cache
def reference_text() -> str:
    """The file."""
    return (files("crawler.config") / "reference.toml").read_text(encoding="utf-8")


@cache
def reference_sections() -> dict[str, ReferenceSection]:
    """The sections of the file by name."""
    text = reference_text().partition(_SEVERAL)[0]
    heads = list(_SECTION.finditer(text))
    ends = [*(head.start() for head in heads[1:]), len(text)]
    return {
        head[1]: ReferenceSection(head[0], {key.name: key for key in _keys(text[head.end() : end])})
        for head, end in zip(heads, ends, strict=True)
    }


def _keys(text: str) -> Iterator[ReferenceKey]:
    prose: list[str] = []
    for part in _PART.finditer(text):
        if name := part[1]:
            yield ReferenceKey(name, "".join(prose) + part[0], " ".join(line[2:-1] for line in prose))
            prose = []
        else:
            prose.append(part[0])
