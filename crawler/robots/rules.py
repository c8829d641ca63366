"""What robots.txt allows (RFC 9309), also when it cannot be had. Fetches nothing.

The rules are matched by ``protego``, the Sitemap lines read by ``sitemap``. Here is what stands around them: what an
answer means (2.3.1), which bytes are read (2.5), which group is ours (2.2.1), and which line decided, for the
explanation.
"""

import re
from collections.abc import Iterable
from enum import Enum
from typing import Final

from msgspec import Struct
from protego import Protego

from crawler.model import Failure, Reply, Url
from crawler.url.normalize import InvalidUrl, normalize_url, path_and_query
from crawler.url.params import UrlParams
from sitemap import sitemap_lines

MAX_BYTES: Final = 500 * 1024
"""Bytes that are read, from RFC 9309 2.5. What follows is left out, from the last whole line on."""
MAX_LINE: Final = 16_664
"""Characters of a line that are read: eight times the longest URL that search engines take."""
MAX_SITEMAPS: Final = 500
MAX_AGE: Final = 24 * 3600.0
"""Seconds that an answer may be used at most (RFC 9309 2.4)."""
MAX_AGE_UNREACHABLE: Final = 600.0
"""Seconds after which a robots.txt that could not be had should be asked for again."""

_token = re.compile(r"[A-Za-z0-9_-]+")
_compatible = re.compile(r"\(compatible;\s*([A-Za-z0-9_-]+)", re.IGNORECASE).search
_line_end = re.compile(r"\r\n|\r|\n")
_not_a_line_end = re.compile("[\x0b\x0c\x1c-\x1e\x85\u2028\u2029\x00]")  # they would split lines in Python
_record = re.compile(
    r"\s*(user[- ]?agent|allow|disallow|dissallow|dissalow|disalow|diasllow|disallaw|crawl[- ]delay)"
    r"(?:\s*:|\s)\s*(.*?)\s*",
    re.IGNORECASE,
).fullmatch
_literal = re.compile(r"[A-Za-z0-9_.~/=-]*")
_spaces = re.compile(r"\s+")
_AGENT: Final = "user-agent"
_ALLOW: Final = "allow"
_DISALLOW: Final = "disallow"
_UNMATCHABLE_AGENT: Final = "."  # a name that no product token can match


class RobotsAccess(Enum):
    """What governs an origin."""

    RULES = "the rules of robots.txt"
    EVERYTHING = "no robots.txt: everything is allowed"
    NOTHING = "robots.txt could not be had: nothing is allowed"


class Allowed(Struct, frozen=True):
    """The URL may be fetched."""


class Blocked(Struct, frozen=True):
    """The URL must not be fetched. ``line`` counts from 1; it is 0 when no rule but a missing answer decides."""

    line: int
    text: str

    @property
    def reason(self) -> str:
        """One sentence: "robots.txt line 7: Disallow: /private/"."""
        return f"robots.txt line {self.line}: {self.text}" if self.line else self.text


ALLOWED: Final = Allowed()


class _Rule(Struct, frozen=True):
    line: int
    text: str
    value: str
    literal: str  # what a path must start with for the rule to match


class Robots:
    """What one origin allows us. Made by :func:`from_answer` or :func:`parse`.

    ``access`` says what governs; ``reason`` why, in a sentence. ``expires`` is the Unix time until which this holds.
    ``sitemaps`` are the URLs it names, ``notes`` what is odd about it, each a sentence.
    """

    def __init__(
        self, access: RobotsAccess, reason: str, expires: float, text: str = "", token: str = ""
    ) -> None:
        self.access = access
        self.reason = reason
        self.expires = expires
        self.notes: tuple[str, ...] = ()
        self.sitemaps: tuple[Url, ...] = ()
        self._token = token
        self._lines = _line_end.split(text)
        self._records = _own_records(self._lines, token)
        self._protego = Protego.parse(
            "\n".join([name and f"{name}: {value}" for name, value in self._records])
        )
        self._rules: dict[str, list[_Rule]] = {}
        self._single: dict[int, Protego] = {}
        if access is RobotsAccess.RULES:
            self.sitemaps, self.notes = _sitemaps(sitemap_lines(text))

    def can_fetch(self, url: Url) -> Allowed | Blocked:
        """Whether a URL of this origin may be fetched, with the line that forbids it."""
        if self.access is RobotsAccess.EVERYTHING:
            return ALLOWED
        if self.access is RobotsAccess.NOTHING:
            return Blocked(0, self.reason)
        if self._protego.can_fetch(url, self._token):
            return ALLOWED
        return self._explain(url)

    def crawl_delay(self, cap: float) -> float | None:
        """Seconds between two requests that our group asks for, at most ``cap``; None when it asks for none."""
        if self.access is not RobotsAccess.RULES:
            return None
        asked = self._protego.crawl_delay(self._token)
        return None if asked is None else min(asked, cap)

    def allowing_rule(self, url: Url) -> str:
        """The rule that allows a URL that may be fetched, as in ``Blocked.reason``; "" when no rule matches it."""
        rule = self._longest(url, _ALLOW) if self.access is RobotsAccess.RULES else None
        return Blocked(rule.line, rule.text).reason if rule else ""

    def _explain(self, url: Url) -> Blocked:
        rule = self._longest(url, _DISALLOW)
        return Blocked(rule.line, rule.text) if rule else Blocked(0, "robots.txt disallows it")

    def _longest(self, url: Url, field: str) -> _Rule | None:
        """The longest rule of this kind that matches a URL."""
        if field not in self._rules:
            self._rules[field] = _group_rules(self._lines, self._records, self._token, field)
        where = path_and_query(url)
        for rule in self._rules[field]:
            if where.startswith(rule.literal) and not self._alone(rule).can_fetch(url, self._token):
                return rule
        return None

    def _alone(self, rule: _Rule) -> Protego:
        """The rule as the only disallow of a file, so that whoever matches rules also says which one matched."""
        single = self._single.get(rule.line)
        if single is None:
            single = self._single[rule.line] = Protego.parse(f"User-agent: *\nDisallow: {rule.value}")
        return single


def product_token(user_agent: str) -> str:
    """The name robots.txt knows us by: ``siteatlas`` for ``Siteatlas/1.0 (+https://example.com/bot)``.

    A browser-like string names its robot after "compatible;". A string without a name gives "*".
    """
    named = _compatible(user_agent)
    if named:
        return named[1].lower()
    first = _token.search(user_agent.partition("/")[0])
    return first[0].lower() if first else "*"


def robots_from_response(answer: Reply | Failure, user_agent: str, now: float) -> Robots:
    """What the answer to a request for /robots.txt means (RFC 9309 2.3.1). Redirects were followed before, if any.

    2xx: its rules. 3xx that lead nowhere (too many, a loop, no target) and 4xx: unavailable, everything is
    allowed. 429, 5xx, every other status and every failure: unreachable, nothing is allowed.
    """
    if isinstance(answer, Failure):
        return disallow_all(f"robots.txt cannot be fetched: {answer.message}", now)
    status = answer.status
    if status == 429 or status >= 500 or status < 200 or status == 304:
        return disallow_all(f"robots.txt answered {status}", now)
    if status >= 300:
        return Robots(
            RobotsAccess.EVERYTHING, f"robots.txt answered {status}: everything is allowed", now + MAX_AGE
        )
    if answer.cut and len(answer.body) < MAX_BYTES:
        return disallow_all(f"robots.txt could not be read to its end: {answer.cut}", now)
    return parse_robots(answer.body, user_agent, now)


def disallow_all(reason: str, now: float) -> Robots:
    """Nothing is allowed (RFC 9309 2.3.1.4), for this reason."""
    return Robots(RobotsAccess.NOTHING, reason, now + MAX_AGE_UNREACHABLE)


def allow_all(reason: str, now: float) -> Robots:
    """Everything is allowed, for this reason: the operator said so."""
    return Robots(RobotsAccess.EVERYTHING, reason, now + MAX_AGE)


def previous_or_fresh(fresh: Robots, previous: Robots | None, now: float) -> Robots:
    """The previous answer while it still holds, when there is none now (RFC 9309 2.3.1.4); else the fresh one."""
    if (
        fresh.access is RobotsAccess.NOTHING
        and previous
        and previous.access is RobotsAccess.RULES
        and previous.expires > now
    ):
        return previous
    return fresh


def parse_robots(body: bytes, user_agent: str, now: float) -> Robots:
    """The rules of a robots.txt as our product token reads them. Whatever does not parse is passed over."""
    token = product_token(user_agent)
    text, notes = _decode(body)
    robots = Robots(RobotsAccess.RULES, "robots.txt", now + MAX_AGE, text, token)
    robots.notes = (*notes, *robots.notes)
    return robots


def _decode(body: bytes) -> tuple[str, list[str]]:
    notes = []
    if len(body) > MAX_BYTES:
        notes.append(f"robots.txt is larger than {MAX_BYTES:,} bytes; what follows is not read")
        # A rule cut short would forbid more than was meant.
        kept = body[:MAX_BYTES]
        body = kept[: max(kept.rfind(b"\n"), kept.rfind(b"\r")) + 1]
    encoding = "utf-8"
    if body.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16"
        notes.append("robots.txt is in UTF-16; it should be UTF-8")
    text = body.decode(encoding, "replace").lstrip("\ufeff")
    if text.lstrip()[:1] == "<":
        notes.append("robots.txt is an HTML or XML page")
    return _not_a_line_end.sub(" ", text), notes


def _own_records(lines: list[str], token: str) -> list[tuple[str, str]]:
    """The file as we read it: for each line its field and value, or two empty strings.

    User-agent lines carry a product token, which is ours (``*`` is everybody's) or not, and nothing else counts
    (2.2.1). Lines that are no rules are gone, because they must not end a group (2.2.4).
    """
    records = []
    for line in lines:
        found = _record(line[:MAX_LINE].partition("#")[0])
        if found is None:
            records.append(("", ""))
            continue
        name, value = found[1].lower(), found[2]
        if name.startswith("user"):
            name, value = _AGENT, _agent_of(value, token)
        elif name.startswith("di"):
            name = _DISALLOW
        records.append((name, value))
    return records


def _agent_of(value: str, token: str) -> str:
    if value[:1] == "*" and not value[1:2].strip():
        return "*"
    named = _token.match(value)
    return token if named and named[0].lower() == token else _UNMATCHABLE_AGENT


def _group_rules(lines: list[str], records: list[tuple[str, str]], token: str, field: str) -> list[_Rule]:
    """The rules of one kind of our group, longest first, as they stand in the file."""
    groups: dict[str, list[_Rule]] = {}
    current: set[str] = set()
    is_open = False  # the record before was a user-agent line
    for number, (name, value) in enumerate(records, 1):
        if name == _AGENT:
            current = {*current, value} if is_open else {value}
            groups.setdefault(value, [])
            is_open = True
        elif name:
            is_open = False
            if name == field and value:
                shown = _spaces.sub(" ", lines[number - 1]).strip()
                rule = _Rule(number, shown[:200], value, _literal_start(value))
                for who in current:
                    groups[who].append(rule)
    ours = groups.get(token, groups.get("*", []))
    return sorted(ours, key=lambda rule: -len(rule.value))


def _literal_start(value: str) -> str:
    start = _literal.match(value)
    return start[0] if start and value.startswith("/") else ""


def _sitemaps(named: Iterable[str]) -> tuple[tuple[Url, ...], tuple[str, ...]]:
    found: dict[Url, None] = {}
    notes = []
    for text in named:
        try:
            found[normalize_url(text, UrlParams(drop=()))] = None
        except InvalidUrl as error:
            notes.append(
                f"a Sitemap line is passed over, because it needs a whole http(s) URL: {error.message}"
            )
        if len(found) >= MAX_SITEMAPS:
            notes.append(f"more than {MAX_SITEMAPS} Sitemap lines; the others are passed over")
            break
    return tuple(found), tuple(notes[:20])
