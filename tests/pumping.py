"""Attacks regular expressions by pumping: finds texts on which an expression takes more than linear time.

Every repetition in an expression is a place to pump: a text that leads to it, then what it repeats many times, then
something after which the rest cannot match. An expression is linear if twice the text takes about twice the time.
"""

import importlib
import pkgutil
import random
import re
import time
from collections.abc import Callable, Iterator
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser as sre_parser  # type: ignore[attr-defined]
from types import ModuleType
from typing import Any, Final, NamedTuple

_METHODS: Final = ("search", "match", "fullmatch", "finditer", "findall", "sub", "subn", "split")
_FILLERS: Final = "a0 -_.<>/=\"'&;:,\t\n\x00é#%[(*"
SHORT: Final = 10_000
"""Characters of the short text; the long one has four times as many.

With 3,000, a quadratic search for a long word took about ``SECONDS``, and was found on some days only.
"""
GROWTH: Final = 9.0
"""A linear expression takes 4 times as long for a text 4 times as long, a quadratic one 16 times."""
SECONDS: Final = 0.02
"""A text that takes less is not slow, whatever its growth."""


class Expression(NamedTuple):
    """A compiled expression, the name under which a module holds it, and the method that is called (bytes or str)."""

    name: str
    pattern: "re.Pattern[Any]"
    method: str


def expressions(*packages: ModuleType) -> Iterator[Expression]:
    """Every expression that is compiled by a module of the packages, once for each method."""
    seen: set[tuple[int, str]] = set()
    for package in packages:
        for module_info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            module = importlib.import_module(module_info.name)
            for holder, prefix in _holders(module):
                for name, value in list(vars(holder).items()):
                    for pattern, method in _patterns(value):
                        if (id(pattern), method) not in seen:
                            seen.add((id(pattern), method))
                            yield Expression(f"{prefix}.{name}", pattern, method)


def _holders(module: ModuleType) -> Iterator[tuple[Any, str]]:
    yield module, module.__name__
    for name, value in list(vars(module).items()):
        if isinstance(value, type) and value.__module__ == module.__name__:
            yield value, f"{module.__name__}.{name}"


def _patterns(value: Any, depth: int = 0) -> Iterator[tuple["re.Pattern[Any]", str]]:
    if isinstance(value, re.Pattern):
        yield value, "search"
    elif isinstance(getattr(value, "__self__", None), re.Pattern) and value.__name__ in _METHODS:
        yield value.__self__, value.__name__
    elif depth < 3 and isinstance(value, dict):
        for item in value.values():
            yield from _patterns(item, depth + 1)
    elif depth < 3 and isinstance(value, (list, tuple, set, frozenset)):
        for item in value:
            yield from _patterns(item, depth + 1)


class Attack(NamedTuple):
    """A text that takes an expression more than linear time: ``before + pump * n + after``."""

    before: str
    pump: str
    after: str
    seconds: float
    growth: float


def slowest(expression: Expression, rng: random.Random, tries: int = 40) -> Attack | None:
    """The first attack that succeeds, or None."""
    run = _runner(expression)
    for before, pump, after in dict.fromkeys(_attacks(expression.pattern, rng, tries)):
        attack = measured(run, before, pump, after)
        if attack and all(measured(run, before, pump, after) for _ in range(3)):  # the machine may have been busy
            return attack
    return None


def measured(run: Callable[[str], float], before: str, pump: str, after: str) -> Attack | None:
    """The attack if it succeeds."""
    count = max(SHORT // max(len(pump), 1), 1)
    for few in (*range(8, 60, 4), count // 4):  # an exponential expression would never end on a long text
        if few < count and (spent := run(before + pump * few + after)) > SECONDS * 5:
            return Attack(before, pump, after, spent, float("inf"))
    long_text, short_text = before + pump * count * 4 + after, before + pump * count + after
    if run(long_text) < SECONDS:
        return None
    short, long = (min(run(text) for _ in range(3)) for text in (short_text, long_text))
    if long < SECONDS:
        return None
    growth = long / max(short, 1e-7)
    return Attack(before, pump, after, long, growth) if growth > GROWTH else None


def _runner(expression: Expression) -> Callable[[str], float]:
    pattern, method = expression.pattern, expression.method
    is_bytes = isinstance(pattern.pattern, bytes)

    def run(text: str) -> float:
        subject = text.encode("latin-1", "replace") if is_bytes else text
        started = time.thread_time()
        if method in {"sub", "subn"}:
            getattr(pattern, method)(subject[:0], subject)
        elif method == "finditer":
            for _ in pattern.finditer(subject):
                pass
        else:
            getattr(pattern, method)(subject)
        return time.thread_time() - started

    return run


def _attacks(pattern: "re.Pattern[Any]", rng: random.Random, tries: int) -> Iterator[tuple[str, str, str]]:
    source = pattern.pattern.decode("latin-1") if isinstance(pattern.pattern, bytes) else pattern.pattern
    tree = sre_parser.parse(
        source, pattern.flags & ~re.UNICODE if isinstance(pattern.pattern, bytes) else pattern.flags
    )
    paths = list(_repeats(list(tree), []))
    for before_nodes, body, rest in paths:
        if start := "".join(_sample(before_nodes, rng))[:200]:  # a search begins anew at each of them
            yield from (("", start, ""), ("", start, "\x00"))
        for pump in (" ", "a", "0", "/", "<", '"'):
            for after in ("", "y", "\x00", "".join(_sample(rest, rng))):
                yield "".join(_sample(before_nodes, rng))[:200], pump, after[:200]
        for _ in range(tries):
            before = "".join(_sample(before_nodes, rng)) if rng.random() < 0.7 else ""
            pump = "".join(_sample(list(body), rng)) or rng.choice(_FILLERS)
            if rng.random() < 0.3:  # what follows the repetition, or leads to it, may be pumped with it
                pump += "".join(_sample(rest[:1], rng))
            if rng.random() < 0.2:
                pump = "".join(_sample(before_nodes[-2:], rng)) + pump
            after = rng.choice(["", "\x00", "\x01!", rng.choice(_FILLERS), "".join(_sample(rest, rng))[:-1]])
            yield before[:200], pump[:200] or "a", after[:200]


def _repeats(nodes: list[Any], before: list[Any]) -> Iterator[tuple[list[Any], Any, list[Any]]]:
    """Every repetition: what comes before it, what it repeats, and what follows."""
    for index, (op, argument) in enumerate(nodes):
        here, rest = before + nodes[:index], nodes[index + 1 :]
        if op in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
            _, most, body = argument
            if most is sre.MAXREPEAT or most > 50:
                yield here, body, rest
            yield from _repeats(list(body), here)
        elif op is sre.SUBPATTERN:
            yield from _repeats(list(argument[3]), here)
        elif op is sre.ATOMIC_GROUP:
            yield from _repeats(list(argument), here)
        elif op is sre.BRANCH:
            for branch in argument[1]:
                yield from _repeats(list(branch), here)
        elif op in (sre.ASSERT, sre.ASSERT_NOT):
            yield from _repeats(list(argument[1]), here)


def _sample(nodes: list[Any], rng: random.Random) -> Iterator[str]:  # noqa: C901 - one case for each operation
    """A text that the nodes match, more or less: groups are not remembered, and looks ahead not obeyed."""
    for op, argument in nodes:
        if op is sre.LITERAL:
            yield chr(argument)
        elif op is sre.NOT_LITERAL:
            yield rng.choice([char for char in _FILLERS if char != chr(argument)])
        elif op is sre.ANY:
            yield rng.choice(_FILLERS)
        elif op is sre.IN:
            yield _member(argument, rng)
        elif op in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
            least, most, body = argument
            for _ in range(min(least + rng.choice((0, 0, 1, 2)), least if most == least else 60)):
                yield from _sample(list(body), rng)
        elif op is sre.SUBPATTERN:
            yield from _sample(list(argument[3]), rng)
        elif op is sre.ATOMIC_GROUP:
            yield from _sample(list(argument), rng)
        elif op is sre.BRANCH:
            yield from _sample(list(rng.choice(argument[1])), rng)


def _member(items: list[Any], rng: random.Random) -> str:
    chosen = [item for item in items if item[0] is not sre.NEGATE]
    if len(chosen) < len(items):
        excluded = {char for item in chosen for char in _chars(item)}
        return rng.choice([char for char in _FILLERS if char not in excluded] or ["\u00e8"])
    return rng.choice(_chars(rng.choice(chosen)))


_CATEGORIES: Final = {
    "CATEGORY_DIGIT": "0123456789",
    "CATEGORY_NOT_DIGIT": "a -",
    "CATEGORY_SPACE": " \t\n",
    "CATEGORY_NOT_SPACE": "a0-",
    "CATEGORY_WORD": "aZ0_",
    "CATEGORY_NOT_WORD": " -.",
}


def _chars(item: Any) -> str:
    op, argument = item
    if op is sre.LITERAL:
        return chr(argument)
    if op is sre.RANGE:
        return "".join(map(chr, range(argument[0], min(argument[1], argument[0] + 200) + 1)))
    return _CATEGORIES[str(argument)]
