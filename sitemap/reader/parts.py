"""Owns the parts of an item that are read as a whole: small trees of elements, bounded in depth and number."""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final
from xml.parsers import expat

MAX_PARTS: Final = 10_000  # elements of one part


def cut_texts(texts: list[str], most: int) -> bool:
    """Leave the first characters of a value that came in pieces. True when there were more."""
    if sum(map(len, texts)) <= most:
        return False
    texts[:] = ["".join(texts)[:most]]
    return True


class Part:
    """One element with its attributes, text and elements. Names are in lower case, as ``resolve`` gave them."""

    __slots__ = ("_text", "attributes", "family", "line", "local", "parts", "texts", "too_long")

    def __init__(self, family: str, local: str, attributes: dict[str, str], line: int = 0) -> None:
        self.family = family
        self.local = local
        self.attributes = attributes
        self.line = line  # of its start tag
        self.parts: list[Part] = []
        self.texts: list[str] = []
        self.too_long = False  # then ``text`` is its beginning
        self._text: str | None = None

    @property
    def text(self) -> str:
        """Its own text without the blank space around it. It is put together once, after the end of the element."""
        if self._text is None:
            self._text = "".join(self.texts).strip()
        return self._text

    def attribute(self, name: str) -> str:
        """The value of an attribute, however its name is written, or ""."""
        value = self.attributes.get(name)
        if value is None and self.attributes:
            value = next((text for key, text in self.attributes.items() if key.lower() == name), "")
        return (value or "").strip()

    def all(self, name: str) -> Iterator["Part"]:
        """The elements directly inside it that have this local name."""
        return (part for part in self.parts if part.local == name)


class PartReader:
    """The handlers of an expat parser while it is inside a part; afterwards the handlers before it come back."""

    def __init__(
        self,
        max_text: int,
        make: Callable[[int, str, dict[str, str]], Part],
        check_depth: Callable[[int], None],
        done: Callable[[Part | None, bool], None],
    ) -> None:
        self._max_text = max_text
        self._make = make  # of depth, name and attributes
        self._check_depth = check_depth  # may end the parse
        self._done = done
        self._open: list[Part] = []
        self._depth = 0  # of the part itself
        self._skipped = 0  # depth inside an element nobody wants
        self._room = 0

    def begin(self, parser: Any, depth: int, part: Part | None) -> None:
        """Take over at the start tag of a part, or of an element that is skipped (None)."""
        self._parser = parser
        self._before = (parser.StartElementHandler, parser.EndElementHandler)
        self._depth = depth
        self._room = MAX_PARTS
        if part is None:
            self._skipped = 1
            parser.StartElementHandler, parser.EndElementHandler = self._skip, self._skip_end
            return
        self._open = [part]
        parser.StartElementHandler, parser.EndElementHandler = self._start, self._end
        parser.CharacterDataHandler = part.texts.append

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        depth = self._depth + len(self._open)
        self._check_depth(depth)
        part = self._make(depth, name, attributes)
        if self._room > 0:
            self._open[-1].parts.append(part)
        self._room -= 1
        self._open.append(part)
        self._parser.CharacterDataHandler = part.texts.append

    def _end(self, _: str) -> None:
        part = self._open.pop()
        texts = part.texts  # nearly always one that is short
        if texts and (len(texts) > 1 or len(texts[0]) > self._max_text):
            part.too_long |= cut_texts(texts, self._max_text)
        self._parser.CharacterDataHandler = None  # what stands between elements is no value
        if not self._open:
            self._give_back(part)

    @property
    def inside(self) -> tuple[str, ...]:
        """What is open in the part, outermost first; "" for what is skipped."""
        names = tuple(f"{part.family}:{part.local}" if part.family else part.local for part in self._open)
        return ("",) if self._skipped else names

    def reset(self) -> None:
        """Forget a part that did not end."""
        self._open, self._skipped = [], 0

    def bound(self) -> None:
        """Forget what is too much of a value that has not ended."""
        if self._open:
            self._open[-1].too_long |= cut_texts(self._open[-1].texts, self._max_text)

    def _skip(self, *_: object) -> None:
        self._check_depth(self._depth + self._skipped)
        self._skipped += 1

    def _skip_end(self, _: str) -> None:
        self._skipped -= 1
        if not self._skipped:
            self._give_back(None)

    def _give_back(self, part: Part | None) -> None:
        self._parser.StartElementHandler, self._parser.EndElementHandler = self._before
        self._done(part, self._room < 0)


_MAX_READ_AGAIN: Final = 64 * 1024 * 1024  # bytes that are read again in one document


class ValueLines:
    """Tells the lines of values, while it has read no more than so much again; afterwards that of the item."""

    def __init__(self) -> None:
        self._room = _MAX_READ_AGAIN

    def below(self, item: bytes, key: str, names: Mapping[str, str], which: int) -> int:
        """How many lines below the start of an item a value of it begins, the first (0) or the last (-1).

        ``names`` are the keys of elements by qualified name, where they are not the local one.
        """
        self._room -= len(item)
        if self._room < 0:
            return 0
        found = [line for name, line in element_starts(item) if names.get(name, _local(name)) == key]
        return found[which] if found else 0


def _local(name: str) -> str:
    """A qualified name without its prefix, in lower case."""
    return name.rpartition(":")[2].lower()


def element_starts(item: bytes) -> list[tuple[str, int]]:
    """The elements directly inside an item, or the beginning of one: their names, and how many lines below its own."""
    found: list[tuple[str, int]] = []
    depth = 0

    def start(name: str, _: object) -> None:
        nonlocal depth
        if depth == 1:
            found.append((name, parser.CurrentLineNumber - 1))
        depth += 1

    def end(_: str) -> None:
        nonlocal depth
        depth -= 1

    parser = expat.ParserCreate("utf-8")
    parser.StartElementHandler, parser.EndElementHandler = start, end
    with contextlib.suppress(expat.ExpatError):  # it was cut: what was found until then is true
        parser.Parse(item, False)
    return found
