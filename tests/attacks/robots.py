"""A robots.txt of the largest size that is read, in the worst shapes: slow to parse, slow to match, or matched wrongly.

Every answer is compared with a plain matcher, and the CPU time of parsing and matching with a bound.
"""

import random
import time
from collections.abc import Callable
from typing import Final
from urllib.parse import quote, unquote_to_bytes

from crawler.model import Url
from crawler.robots.rules import MAX_BYTES, Blocked, parse_robots

PARSE_SECONDS: Final = 0.5
MATCH_SECONDS: Final = 100e-6
_SLOW: Final = 10  # this many times slower than the machine on which the bounds hold: others run beside the tests

Line = Callable[[random.Random, int], str]
SHAPES: Final[dict[str, Line]] = {
    "suffixes": lambda rng, n: f"Disallow: *{n}",
    "anchored": lambda rng, n: f"Disallow: /*{n}$",
    "paths": lambda rng, n: f"Disallow: /{_word(rng, 6)}/{n}",
    "nested": lambda rng, n: f"Disallow: /{'a' * (n % 900)}",
    "two letters": lambda rng, n: f"Disallow: /*{_word(rng, 12, 'ab')}*{n:x}",
    "segments": lambda rng, n: f"Disallow: {'*'.join(_word(rng, 2) for _ in range(5))}",
    "escapes": lambda rng, n: "Disallow: /" + "".join(f"%{rng.randrange(256):02x}" for _ in range(8)),
    "long": lambda rng, n: f"Disallow: /{_word(rng, 8_000, 'ab*')}",
    "stars": lambda rng, n: "Disallow: " + "*" * (n % 200) + _word(rng, 3),
    "queries": lambda rng, n: f"Disallow: /*?*{_word(rng, 3)}={n}",
    "agents": lambda rng, n: f"User-agent: {_word(rng, 5)}\nDisallow: /{n}",
    "many agents": lambda rng, n: f"User-agent: {_word(rng, 8)}",
    "one group": lambda rng, n: f"User-agent: *\nDisallow: /{n}",
    "spaces": lambda rng, n: f"Disallow{' ' * 500}:{' ' * 500}/{n}{' ' * 500}x",
    "delays": lambda rng, n: f"Crawl-delay: {n}",
    "sitemaps": lambda rng, n: f"Sitemap: https://h.test/{_word(rng, 8)}",
    "comments": lambda rng, n: "#" * 20,
    "allow and disallow": lambda rng, n: f"{rng.choice(('Allow', 'Disallow'))}: /{_word(rng, 3)}*{_word(rng, 2)}",
    "empty": lambda rng, n: "",
}


def _word(rng: random.Random, length: int, letters: str = "abcdefghij0123456789") -> str:
    return "".join(rng.choices(letters, k=length))


def robots_txt(rng: random.Random, shapes: list[str]) -> bytes:
    """As many lines of these shapes as are read."""
    lines = ["User-agent: *"]
    size = number = 0
    while size < MAX_BYTES - 20_000:
        lines.append(SHAPES[rng.choice(shapes)](rng, number))
        size += len(lines[-1]) + 1
        number += 1
    return "\n".join(lines).encode()


def urls(rng: random.Random, body: bytes, count: int = 100) -> list[Url]:
    """URLs like those that the lines are about, and others."""
    urls = []
    for line in rng.choices(body.decode().splitlines(), k=count):
        path = line.partition(":")[2].strip(" /$").replace("*", rng.choice(("", "x", "ab"))) + _word(
            rng, rng.randrange(9)
        )
        urls.append(Url(f"https://h.test/{path[:200].replace(' ', '')}"))
    return urls


def matches(pattern: str, path: str) -> bool:
    """Whether a pattern matches a path, character by character (RFC 9309 2.2.3). Both are in normal form."""
    is_anchored = pattern.endswith("$")
    pattern = pattern.removesuffix("$")
    reached = {0}  # lengths of the path that the pattern so far can match
    for char in pattern:
        if char == "*":
            reached = set(range(min(reached), len(path) + 1))
        else:
            reached = {at + 1 for at in reached if at < len(path) and path[at] == char}
        if not reached:
            return False
    return len(path) in reached if is_anchored else True


def plain_answer(rules: list[tuple[str, str]], path: str) -> bool:
    """Whether rules, each a field and a value, allow a path: the longest that matches decides, Allow wins ties."""
    best = (-1, True)
    for field, value in rules:
        pattern = normal(value)
        if value and matches(pattern, _spelling(path, "/%")):
            best = max(best, (len(pattern), field == "Allow"))
    return best[1]


def normal(text: str) -> str:
    """A pattern: escapes decoded, but for those of ``/``, ``%`` and ``*``; and what must be escaped escaped."""
    return _spelling(text.removesuffix("$"), "/%*") + "$" * text.endswith("$")


def _spelling(text: str, kept: str) -> str:
    for char in kept:
        for escape in (f"%{ord(char):02X}", f"%{ord(char):02x}"):
            text = text.replace(escape, f"%25{ord(char):02X}")
    return quote(unquote_to_bytes(text), safe=f"{kept}=")


def attack(seed: int) -> str | None:
    """One robots.txt of one or two shapes."""
    rng = random.Random(seed)
    shapes = rng.sample(sorted(SHAPES), rng.choice((1, 1, 2)))
    body = robots_txt(rng, shapes)
    started = time.process_time()
    rules = parse_robots(body, "siteatlas", 0.0)
    parsing = time.process_time() - started
    asked = urls(rng, body)
    started = time.process_time()
    answers = [rules.can_fetch(url) for url in asked]
    matching = (time.process_time() - started) / len(asked)
    if parsing > PARSE_SECONDS * _SLOW:
        return f"{shapes}: {parsing:.2f} s to parse"
    if matching > MATCH_SECONDS * _SLOW:
        return f"{shapes}: {matching * 1e6:.0f} µs to match a URL"
    return _wrong(rng, shapes, asked, [isinstance(answer, Blocked) for answer in answers], body)


def _wrong(rng: random.Random, shapes: list[str], asked: list[Url], blocked: list[bool], body: bytes) -> str | None:
    fields = [line.partition(":") for line in body.decode().splitlines()]
    if any(name.strip() == "User-agent" and value.strip() != "*" for name, _, value in fields):
        return None  # the plain matcher knows no groups
    lines = [(name.strip(), value.strip()) for name, _, value in fields if name.strip() in ("Allow", "Disallow")]
    for number in rng.sample(range(len(asked)), 2):
        path = asked[number][len("https://h.test") :]
        if len(lines) < 40_000 and plain_answer(lines, path) is blocked[number]:
            return f"{shapes}: {path} is {'blocked' if blocked[number] else 'allowed'}"
    return None
