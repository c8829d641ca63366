"""Parts of an item: small trees of elements, bounded in depth and number, and the lines of values."""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final
from xml.parsers import expat

MAX_PARTS: Final = 10_000  # elements of one part


def cut_texts(texts: list[str], limit: int) -> bool:
    """Cut a value that came in pieces to its first ``limit`` characters. True if it was longer."""
    if sum(map(len, texts)) <= limit:
        return False
    texts[:] = ["".join(texts)[:limit]]
    return True


class Part:
    """One element with its attributes, text and elements. Names are in lower case, as from ``resolve``."""

    __slots__ = ("_text", "attributes", "family", "line", "local", "parts", "texts", "too_long")

    def __init__(self, family: str, local: str, attributes: dict[str, str], line: int = 0) -> None:
        self.family = family
        self.local = local
        self.attributes = attributes
        self.line = line  # of its start tag
        self.parts: list[Part] = []
        self.texts: list[str] = []
        self.too_long = False  # then ``text`` is cut
        self._text: str | None = None

    @property
    def text(self) -> str:
        """The text of the element, stripped. It is joined once, after the end of the element."""
        if self._text is None:
            self._text = "".join(self.texts).strip()
        return self._text

    def attribute(self, name: str) -> str:
        """The value of an attribute, in any case, or ""."""
        value = self.attributes.get(name)
        if value is None and self.attributes:
            value = next((text for key, text in self.attributes.items() if key.lower() == name), "")
        return (value or "").strip()

    def all(self, name: str) -> Iterator["Part"]:
        """The child elements with this local name."""
        return (part for part in self.parts if part.local == name)


class PartReader:
    """The handlers of an expat parser inside a part; after its end the previous handlers come back."""

    def __init__(
        self,
        max_text: int,
        make: Callable[[int, str, dict[str, str]], Part],
        check_depth: Callable[[int], None],
        done: Callable[[Part | None, bool], None],
    ) -> None:
        self._max_text = max_text
        self._make = make  # from depth, name and attributes
        self._check_depth = check_depth  # may end the parse
        self._done = done
        self._open: list[Part] = []
        self._depth = 0  # of the part itself
        self._skipped = 0  # depth inside a skipped element
        self._room = 0

    def begin(self, parser: Any, depth: int, part: Part | None) -> None:
        """Take over at the start tag of a part, or of an element to skip (None)."""
        self._parser = parser
        self._previous = (parser.StartElementHandler, parser.EndElementHandler)
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
        texts = part.texts  # nearly always one short text
        if texts and (len(texts) > 1 or len(texts[0]) > self._max_text):
            part.too_long |= cut_texts(texts, self._max_text)
        self._parser.CharacterDataHandler = None  # text between elements is not a value
        if not self._open:
            self._give_back(part)

    @property
    def inside(self) -> tuple[str, ...]:
        """The open elements of the part, outermost first; "" in a skipped element."""
        names = tuple(f"{part.family}:{part.local}" if part.family else part.local for part in self._open)
        return ("",) if self._skipped else names

    def reset(self) -> None:
        """Forget a part that did not end."""
        self._open, self._skipped = [], 0

    def bound(self) -> None:
        """Cut an unfinished value that is too long."""
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
        self._parser.StartElementHandler, self._parser.EndElementHandler = self._previous
        self._done(part, self._room < 0)


_MAX_REREAD: Final = 64 * 1024 * 1024  # bytes of one document


class ValueLines:
    """Finds the lines of values by reading items again, up to a bound; beyond it, the line of the item counts."""

    def __init__(self) -> None:
        self._room = _MAX_REREAD

    def below(self, item: bytes, key: str, names: Mapping[str, str], which: int) -> int:
        """The distance in lines from the start of an item to the first (0) or last (-1) value of a key.

        ``names`` maps qualified names to keys, where the key is not the local name.
        """
        self._room -= len(item)
        if self._room < 0:
            return 0
        lines = [line for name, line in element_starts(item) if names.get(name, _local(name)) == key]
        return lines[which] if lines else 0


def _local(name: str) -> str:
    """A qualified name without its prefix, in lower case."""
    return name.rpartition(":")[2].lower()


def element_starts(item: bytes) -> list[tuple[str, int]]:
    """The child elements of an item, which may be cut: their names and the distance in lines from its start."""
    starts: list[tuple[str, int]] = []
    depth = 0

    def start(name: str, _: object) -> None:
        nonlocal depth
        if depth == 1:
            starts.append((name, parser.CurrentLineNumber - 1))
        depth += 1

    def end(_: str) -> None:
        nonlocal depth
        depth -= 1

    parser = expat.ParserCreate("utf-8")
    parser.StartElementHandler, parser.EndElementHandler = start, end
    with contextlib.suppress(expat.ExpatError):  # the item is cut
        parser.Parse(item, False)
    return starts
