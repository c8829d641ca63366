"""The rules of robots.txt (RFC 9309), also when it is unavailable or unreachable. Pure.

``patterns.py`` matches the rules, ``sitemap`` reads the Sitemap lines. This module decides what an answer means
(2.3.1), which bytes are read (2.5), which group is ours (2.2.1), and which line explains a decision.
"""

import math
import re
from collections.abc import Iterable, Iterator
from enum import Enum
from itertools import product
from typing import Final, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from crawler.fetch.header_values import looks_like_text
from crawler.model import Failure, Reply, Url
from crawler.robots.patterns import PatternIndex, normal_path, normal_pattern
from crawler.units import w3c
from crawler.url.normalize import InvalidUrl, normalize_url, path_and_query
from crawler.url.params import UrlParams
from sitemap import sitemap_lines

MAX_BYTES: Final = 500 * 1024
"""Bytes that are parsed (RFC 9309 2.5), up to the last whole line."""
MAX_BYTES_IN_PLACE: Final = 32 * 1024
"""Bytes that a crawl parses itself, in 15 ms at most. More of them are for a parser process, which can be killed.

To start such a process takes longer than that, and nearly every robots.txt is shorter.
"""
MAX_LINE: Final = 16_664
"""Characters of a line that are parsed: eight times the longest URL that search engines accept."""
MAX_SITEMAPS: Final = 500
MAX_AGE: Final = 24 * 3600.0
"""Seconds that an answer may be used (RFC 9309 2.4)."""
MAX_AGE_UNREACHABLE: Final = 600.0
"""Seconds after which an unreachable robots.txt is fetched again."""
_ORIGIN_WEIGHT: Final = 2_000
_RULE_WEIGHT: Final = 600

_token = re.compile(r"[A-Za-z0-9_-]+")
_compatible = re.compile(r"\(compatible;\s*([A-Za-z0-9_-]+)", re.IGNORECASE).search
_line_end = re.compile(r"\r\n|\r|\n")
_not_a_line_end = re.compile("[\x0b\x0c\x1c-\x1e\x85\u2028\u2029\x00]")  # they would split lines in Python
_record = re.compile(
    r"\s*+(user[- ]?agent|allow|disallow|dissallow|dissalow|disalow|diasllow|disallaw|crawl[- ]delay)"
    r"(?:\s*+:|\s)(.*+)",
    re.IGNORECASE | re.DOTALL,
).match
_spaces = re.compile(r"\s+")
_AGENT: Final = "user-agent"
_ALLOW: Final = "allow"
_DISALLOW: Final = "disallow"
_UNMATCHABLE_AGENT: Final = "."  # a name that no product token can match


class RobotsAccess(Enum):
    """What decides for an origin."""

    RULES = "the rules of robots.txt"
    EVERYTHING = "no robots.txt: everything is allowed"
    NOTHING = "robots.txt is unreachable: nothing is allowed"


class Allowed(Struct, frozen=True):
    """The URL may be fetched."""


class Blocked(Struct, frozen=True):
    """The URL must not be fetched. ``line`` counts from 1; it is 0 when the lack of an answer decides."""

    line: int
    text: str

    @property
    def reason(self) -> str:
        """One sentence: "robots.txt line 7: Disallow: /private/"."""
        return _cited(self.line, self.text) if self.line else self.text


def _cited(line: int, text: str) -> str:
    return f"robots.txt line {line}: {text}"


ALLOWED: Final = Allowed()


class _Rule(NamedTuple):
    """One rule of our group: its pattern in normal form, and its line with its number from 1."""

    pattern: str
    allows: bool
    line: int
    text: str

    @property
    def shown(self) -> str:
        """The line as it is quoted."""
        return _shown(self.text)


class Robots(Struct, array_like=True):
    """The rules of one origin for us. Made by :func:`robots_or_text` or :func:`parse_robots`.

    ``access`` says what decides, ``reason`` why, in a sentence. ``expires`` is the Unix time until which this holds.
    ``sitemaps`` are the URLs of its Sitemap lines, ``notes`` its faults, each a sentence. ``trouble`` is that of them
    which says why it is an old copy. ``failure_code`` is that of the failure to fetch it, or "". ``delay`` is the
    Crawl-delay in seconds, ``delay_line`` its line, also of one that is no number of seconds. ``rules`` are in their
    order of precedence, and ``index`` finds them. ``weight`` is roughly their memory in bytes. ``is_known``: its text
    was read, or the server says that there is none (404, 410).
    """

    access: RobotsAccess
    reason: str
    expires: float
    notes: tuple[str, ...] = ()
    trouble: str = ""
    sitemaps: tuple[Url, ...] = ()
    failure_code: str = ""
    delay: float | None = None
    delay_line: str = ""
    rules: list[_Rule] = []
    index: PatternIndex = field(default_factory=PatternIndex)
    weight: int = _ORIGIN_WEIGHT
    is_known: bool = False

    def can_fetch(self, url: Url) -> Allowed | Blocked:
        """Whether a URL of this origin may be fetched, with the line that blocks it."""
        if self.access is RobotsAccess.EVERYTHING:
            return ALLOWED
        if self.access is RobotsAccess.NOTHING:
            return Blocked(0, self.reason)
        rule = self._deciding(url)
        return ALLOWED if rule is None or rule.allows else Blocked(rule.line, rule.shown)

    def crawl_delay(self, cap: float) -> float | None:
        """The Crawl-delay of our group in seconds, at most ``cap``; None without one."""
        return None if self.delay is None else min(self.delay, cap)

    def delay_note(self, cap: float) -> tuple[str, ...]:
        """A note when our Crawl-delay is no number of seconds, or longer than ``cap`` seconds."""
        if not self.delay_line:
            return ()
        if self.delay is None:
            return (f"{self.delay_line} is not a number of seconds, so Siteatlas ignores it",)
        if self.delay > cap:
            return (f"{self.delay_line} is longer than obey.max_crawl_delay, so Siteatlas waits {cap:g} seconds",)
        return ()

    def allowing_rule(self, url: Url) -> str:
        """The rule that allows an allowed URL, as in ``Blocked.reason``; "" when no rule matches it."""
        rule = self._deciding(url)
        return _cited(rule.line, rule.shown) if rule else ""

    def _deciding(self, url: Url) -> _Rule | None:
        """The longest rule that matches a URL; of equally long ones, one that allows (RFC 9309 2.2.2)."""
        path = path_and_query(url)
        if path.partition("?")[0] == "/robots.txt":
            return None  # always allowed
        place = self.index.first(normal_path(path))
        return None if place is None else self.rules[place]


def _shown(line: str) -> str:
    return _spaces.sub(" ", line).strip()[:200]


def product_token(user_agent: str) -> str:
    """Our name in robots.txt: ``siteatlas`` for ``Siteatlas/1.0 (+https://example.com/bot)``.

    A browser-like string names its robot after "compatible;". A string without a name gives "*".
    """
    named = _compatible(user_agent)
    if named:
        return named[1].lower()
    first = _token.search(user_agent.partition("/")[0])
    return first[0].lower() if first else "*"


def robots_or_text(answer: Reply | Failure, now: float) -> Robots | bytes:
    """What the answer to a request for /robots.txt means (RFC 9309 2.3.1), after redirects: the rules, or their text.

    2xx: the text. 3xx without a usable target (too many, a loop) and 4xx: unavailable, everything is allowed.
    429, 5xx, every other status and every failure: unreachable, nothing is allowed.
    """
    if isinstance(answer, Failure):
        robots = disallow_all(f"robots.txt cannot be fetched: {answer.message}", now)
        robots.failure_code = answer.code
        return robots
    status = answer.status
    if status == 429 or status >= 500 or status < 200 or status == 304:
        return disallow_all(f"robots.txt answered {status}", now)
    if status >= 300:
        robots = allow_all(f"robots.txt answered {status}: everything is allowed", now)
        robots.is_known = status in (404, 410)
        return robots
    if answer.cut and len(answer.body) < MAX_BYTES:
        return disallow_all(f"robots.txt could not be read to its end: {answer.cut}", now)
    return answer.body


def disallow_all(reason: str, now: float) -> Robots:
    """Rules that allow nothing (RFC 9309 2.3.1.4), for this reason."""
    return Robots(RobotsAccess.NOTHING, reason, now + MAX_AGE_UNREACHABLE)


def allow_all(reason: str, now: float) -> Robots:
    """Rules that allow everything, for this reason."""
    return Robots(RobotsAccess.EVERYTHING, reason, now + MAX_AGE)


def previous_or_fresh(fresh: Robots, previous: Robots | None, now: float) -> Robots:
    """The previous rules while they hold if robots.txt is unreachable now (RFC 9309 2.3.1.4); else the fresh ones.

    The notes of the previous rules then begin with the reason.
    """
    if (
        fresh.access is RobotsAccess.NOTHING
        and previous
        and previous.access is RobotsAccess.RULES
        and previous.expires > now
    ):
        copied = w3c(previous.expires - MAX_AGE)
        note = f"{fresh.reason}, so Siteatlas obeyed its copy of {copied}. After one day, it crawls nothing"
        return replace(previous, notes=(note, *previous.notes), trouble=note)
    return fresh


def parse_robots(body: bytes, user_agent: str, now: float) -> Robots:
    """The rules of a robots.txt for our product token. Lines that do not parse are ignored."""
    token = product_token(user_agent)
    text, notes = _decode(body)
    lines = _line_end.split(text)
    group, delay, delay_line = _own_group(_records(lines, token), token)
    rules = [_Rule(pattern, allows, line, lines[line - 1]) for (pattern, allows), line in group]
    sitemaps, more_notes = _sitemaps(sitemap_lines(text))
    return Robots(
        RobotsAccess.RULES,
        "robots.txt",
        now + MAX_AGE,
        notes=(*notes, *more_notes),
        sitemaps=sitemaps,
        delay=delay,
        delay_line=_cited(delay_line, _shown(lines[delay_line - 1])) if delay_line else "",
        rules=rules,
        index=PatternIndex.of([rule.pattern for rule in rules]),
        weight=_ORIGIN_WEIGHT + sum(_RULE_WEIGHT + 3 * len(rule.pattern) for rule in rules),
        is_known=True,
    )


def _decode(body: bytes) -> tuple[str, list[str]]:
    notes = []
    if len(body) > MAX_BYTES:
        notes.append(f"robots.txt is larger than {MAX_BYTES:,} bytes; crawlers ignore the rest")
        # A rule that is cut would block more than it should.
        start = body[:MAX_BYTES]
        body = start[: max(start.rfind(b"\n"), start.rfind(b"\r")) + 1]
    encoding = "utf-8"
    if body.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16"
        notes.append("robots.txt is in UTF-16; it should be UTF-8")
    text = body.decode(encoding, "replace").lstrip("\ufeff")
    if text.lstrip()[:1] == "<":
        notes.append("robots.txt is an HTML or XML page")
    elif not text.strip():
        notes.append("robots.txt is empty, so everything is allowed")
    elif not looks_like_text(body):
        notes.append("robots.txt is binary data, not text")
    return _not_a_line_end.sub(" ", text), notes


def _records(lines: list[str], token: str) -> Iterator[tuple[int, str, str]]:
    """The number, field and value of each line that is a record. Other lines end no group (2.2.4).

    A User-agent line has our product token, ``*``, or a name that never matches (2.2.1).
    """
    for number, line in enumerate(lines, 1):
        match = _record(line[:MAX_LINE].partition("#")[0])
        if match is None:
            continue
        name, value = match[1].lower(), match[2].strip()
        if name.startswith("user"):
            name, value = _AGENT, _agent_of(value, token)
        elif name.startswith("di"):
            name = _DISALLOW
        yield number, name, value


def _agent_of(value: str, token: str) -> str:
    if value[:1] == "*" and not value[1:2].strip():
        return "*"
    named = _token.match(value)
    return token if named and named[0].lower() == token else _UNMATCHABLE_AGENT


_NumberedRule = tuple[tuple[str, bool], int]
"""A pattern in normal form, whether it allows, and the number of its line from 1."""


def _own_group(records: Iterable[tuple[int, str, str]], token: str) -> tuple[list[_NumberedRule], float | None, int]:
    """The rules of our group in their order of precedence, and its Crawl-delay: of ``*`` when no group names us.

    Then the line of that, or of one that is no number of seconds; 0 without either.
    """
    rules: dict[str, dict[tuple[str, bool], int]] = {}
    delays: dict[str, tuple[float, int]] = {}
    bad_delays: dict[str, int] = {}
    group: set[str] = set()  # the agents that rules are for: all those named since the last group with rules
    named: set[str] = set()  # the agents that a Crawl-delay is for: those of the last user-agent lines in a row
    has_rules = is_naming = False
    for number, name, value in records:
        if name == _AGENT:
            group = set() if has_rules else group
            named = named if is_naming else set()
            has_rules, is_naming = False, True
            if value != _UNMATCHABLE_AGENT:
                rules.setdefault(value, {})
                group.add(value)
                named.add(value)
            continue
        is_naming = False
        if name in (_ALLOW, _DISALLOW):
            has_rules = True
            for agent, pattern in product(group, _patterns(value, allows=name == _ALLOW)):
                rules[agent].setdefault((pattern, name == _ALLOW), number)
        elif (delay := _seconds(value)) is not None:
            delays |= dict.fromkeys(named, (delay, number))
        else:
            bad_delays |= dict.fromkeys(named, number)
    ours = token if token in rules else "*"
    ordered = sorted(rules.get(ours, {}).items(), key=lambda rule: (-len(rule[0][0]), not rule[0][1]))
    delay, delay_line = delays.get(ours, (None, bad_delays.get(ours, 0)))
    return ordered, delay, delay_line


def _patterns(value: str, *, allows: bool) -> Iterator[str]:
    """The patterns of one rule: an allowed index.html also allows its directory."""
    if not value:
        return
    pattern = normal_pattern(value)
    yield pattern
    if allows and pattern.endswith("/index.html"):
        yield pattern.removesuffix("index.html") + "$"


def _seconds(value: str) -> float | None:
    try:
        delay = float(value)
    except ValueError:
        return None
    return delay if 0 <= delay < math.inf else None


def _sitemaps(texts: Iterable[str]) -> tuple[tuple[Url, ...], tuple[str, ...]]:
    urls: dict[Url, None] = {}
    notes = []
    for text in texts:
        try:
            urls[normalize_url(text, UrlParams(drop=()))] = None
        except InvalidUrl as error:
            notes.append(f"a Sitemap line is ignored, because it needs a complete http(s) URL: {error.message}")
        if len(urls) >= MAX_SITEMAPS:
            notes.append(f"more than {MAX_SITEMAPS} Sitemap lines; the rest is ignored")
            break
    return tuple(urls), tuple(notes[:20])
