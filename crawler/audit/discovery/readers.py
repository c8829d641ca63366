"""Checks of what readers of a site are told: search engines and AI crawlers, by robots.txt and by the server. Pure."""

import csv
import re
from collections.abc import Iterable, Iterator
from enum import StrEnum
from importlib.resources import files
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import force_setattr

from crawler.audit.sources.logs.bots import BOTS, BotKind
from crawler.fetch.challenge import detect_challenge
from crawler.model import Reply, Url
from crawler.robots.rules import Blocked, parse_robots
from crawler.units import count_text
from sitemap import shorten


class CheckStatus(StrEnum):
    """The outcome of one check."""

    OK = "ok"
    PROBLEM = "problem"
    UNKNOWN = "not checked"


class DiscoveryCheck(Struct, frozen=True):
    """One check. ``about`` is a stable name, ``message`` and ``remedy`` are sentences."""

    about: str
    status: CheckStatus
    message: str
    remedy: str = ""

    def __post_init__(self) -> None:
        force_setattr(self, "message", shorten(self.message))


class Declaration(Struct, frozen=True, kw_only=True):
    """The result for one sitemap. ``missing`` has the lines that each robots.txt lacks, by its URL."""

    name: str
    sitemap_url: str
    robots_url: str
    checks: tuple[DiscoveryCheck, ...]
    missing: dict[str, list[str]]

    @property
    def is_ok(self) -> bool:
        """Whether there is no problem."""
        return all(check.status is not CheckStatus.PROBLEM for check in self.checks)

    def as_json(self) -> dict[str, Any]:
        """The same as JSON values."""
        return {
            "name": self.name,
            "sitemap_url": self.sitemap_url,
            "robots_url": self.robots_url,
            "well": self.is_ok,
            "checks": [
                {"about": check.about, "outcome": check.status, "told": check.message, "remedy": check.remedy}
                for check in self.checks
            ],
            "missing": self.missing,
        }


_TABLE: Final = (files("crawler.audit.discovery") / "checks.csv").read_text(encoding="utf-8")
CASES: Final = {
    case: (CheckStatus(outcome), message, remedy)
    for case, outcome, message, remedy in list(csv.reader(_TABLE.splitlines()))[1:]
}
"""Outcome, message and remedy of each case that a check can have: ``sitemap.type/other`` is one of ``sitemap.type``."""


def check(case: str, *, of: str = "", **values: object) -> DiscoveryCheck:
    """The check of a case, with these values in its texts. ``of`` names it if several share the case."""
    status, message, remedy = CASES[case]
    return DiscoveryCheck(of or case.partition("/")[0], status, message.format(**values), remedy.format(**values))


SEARCH_READERS: Final = {
    # https://developers.google.com/crawling/docs/crawlers-fetchers/google-common-crawlers
    "Googlebot": "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; Googlebot/2.1; "
    "+http://www.google.com/bot.html) Chrome/141.0.0.0 Safari/537.36",
    # https://www.bing.com/webmasters/help/which-crawlers-does-bing-use-8c184ec0
    "Bingbot": "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; bingbot/2.0; "
    "+http://www.bing.com/bingbot.htm) Chrome/141.0.0.0 Safari/537.36",
}
"""The crawlers of search engines, each with its user agent."""
_PURPOSES: Final = {BotKind.AI_TRAINING: "training", BotKind.AI_SEARCH: "search", BotKind.AI_USER: "user requests"}
AI_READERS: Final = tuple(bot for bot in BOTS.values() if bot.kind in _PURPOSES)
"""The AI crawlers that access logs are searched for; robots.txt names them alike."""

_SIGNALS: Final = {"search": ("yes", "no"), "ai-input": ("yes", "no"), "ai-train": ("yes", "no")}
"""https://contentsignals.org"""
_SIGNAL_USES: Final = ("immediate", "reference", "full")  # of "use", which Cloudflare's managed robots.txt has
_USAGE_VALUES: Final = ("y", "n")
"""https://datatracker.ietf.org/doc/html/draft-ietf-aipref-attach-05, draft-ietf-aipref-vocab-08"""
_FIREWALL_STATUSES: Final = frozenset({401, 403, 429, 503})
_field = re.compile(r"[ \t]*+([^:#\r\n]*+):([^#\r\n]*+)").match
_line_ends = re.compile(r"\r\n|\r|\n").split  # https://www.rfc-editor.org/rfc/rfc9309#section-2.2
_MAX_QUOTED: Final = 60  # characters


def check_ai_access(body: bytes, start: Url, now: float) -> DiscoveryCheck:
    """Which AI crawlers may fetch the start page. No answer is wrong, so this is never a problem."""
    blocked = [
        reader for reader in AI_READERS if isinstance(parse_robots(body, reader.name, now).can_fetch(start), Blocked)
    ]
    if not blocked:
        return check("ai.access/all", known=len(AI_READERS))
    names = {purpose: [bot.name for bot in blocked if bot.kind is kind] for kind, purpose in _PURPOSES.items()}
    listed = "; ".join(f"{', '.join(found)} ({purpose})" for purpose, found in names.items() if found)
    if len(blocked) == len(AI_READERS):
        return check("ai.access/none", known=len(AI_READERS))
    return check("ai.access/some", blocked=len(blocked), known=len(AI_READERS), names=listed)


def check_preferences(body: bytes) -> Iterator[DiscoveryCheck]:
    """Whether the lines of robots.txt about the use of content by AI can be understood; nothing without such lines.

    ``Content-Signal`` is that of https://contentsignals.org, ``Content-Usage`` that of
    https://datatracker.ietf.org/doc/html/draft-ietf-aipref-attach-05.
    """
    found, group, in_agents = 0, 0, False
    stated: dict[tuple[int, str, str], str] = {}
    for number, line in enumerate(_line_ends(body.decode("utf-8-sig", "replace")), 1):
        if not (match := _field(line)):
            continue
        field, value = match[1].strip().lower(), match[2].strip()
        if field == "user-agent":
            group += not in_agents
        in_agents = field == "user-agent"
        if field not in ("content-signal", "content-usage"):
            continue
        found += 1
        place = f"line {number} of robots.txt"
        if not group:
            yield check("ai.preferences/early", place=place)
        faults = _signal_faults(value) if field == "content-signal" else _usage_faults(value)
        for fault, remedy in faults:
            yield check("ai.preferences/fault", place=place, fault=fault, remedy=remedy)
        for key, choice in _pairs(value):
            before = stated.setdefault((group, field, key), choice)
            if before != choice and field == "content-signal":
                yield check(
                    "ai.preferences/twice", place=place, key=key, before=_quoted(before), choice=_quoted(choice)
                )
    if found:
        yield check("ai.preferences/ok", lines=count_text(found, "line"))


def _signal_faults(value: str) -> Iterator[tuple[str, str]]:
    remedy = "write it as in Content-Signal: search=yes, ai-input=yes, ai-train=no"
    pairs = list(_pairs(value))
    if not pairs:
        yield "Content-Signal has no value", remedy
    for key, choice in pairs:
        if key == "use":
            if choice not in _SIGNAL_USES:
                yield f"use={_quoted(choice)} is not one of {', '.join(_SIGNAL_USES)}", remedy
        elif key not in _SIGNALS:
            yield f"{_quoted(key)} is not a content signal ({', '.join(_SIGNALS)})", remedy
        elif choice not in _SIGNALS[key]:
            yield f"{key}={_quoted(choice)} is neither yes nor no", remedy


def _usage_faults(value: str) -> Iterator[tuple[str, str]]:
    remedy = "write it as in Content-Usage: train-ai=n, or Content-Usage: /news/ train-ai=n"
    pairs = list(_pairs(value))
    if not pairs:
        yield "Content-Usage has no preference", remedy
    for key, choice in pairs:
        if choice not in _USAGE_VALUES:
            yield f"{_quoted(key)}={_quoted(choice)} is neither y nor n", remedy


def _pairs(value: str) -> Iterator[tuple[str, str]]:
    """The pairs of a list such as ``search=yes, ai-train=no``, after a path if there is one."""
    path, blank, rest = value.partition(" ")
    if path.startswith(("/", "*")):
        value = rest if blank else ""
    for item in filter(None, (part.strip() for part in value.split(","))):
        key, _, choice = item.partition("=")
        yield key.strip().lower(), choice.strip().lower()


def _quoted(text: str) -> str:
    return repr(shorten(text, _MAX_QUOTED))


def check_reader(name: str, own: Reply | None, reply: Reply | str) -> DiscoveryCheck:
    """What the server answers to the name of a search engine. ``own`` is the answer with status 200 to our own name.

    ``reply`` is a sentence when there is no answer. A firewall that verifies addresses refuses us under that name, and
    rightly, so a refusal is no problem.
    """
    about = f"reader.{name.lower()}"
    if isinstance(reply, str):
        return check("reader/failed", of=about, name=name, answer=reply)
    vendor = challenge.vendor if (challenge := detect_challenge(reply)) else ""
    if vendor or (own is not None and reply.status in _FIREWALL_STATUSES):
        answer = f"{vendor} answers with a challenge" if vendor else f"the server answers {reply.status}"
        return check("reader/firewall", of=about, name=name, answer=answer)
    if reply.status != 200:
        return check("reader/failed", of=about, name=name, answer=f"the server answers {reply.status}")
    if own is not None and reply.url != own.url:
        return check("reader/redirect", of=about, name=name, url=reply.url)
    coding = reply.header("content-encoding")
    facts = [reply.header("content-type") or "no Content-Type", f"{len(reply.body):,} bytes"]
    facts += [f"{coding} on the way"] if coding else []
    is_same = own is None or own.body == reply.body
    return check("reader/ok" if is_same else "reader/differs", of=about, answer=f"as {name}: 200, {', '.join(facts)}")


_CAUSES: Final = (
    ("robots.answers", "robots.txt cannot be fetched, and Google does not fetch a sitemap before it knows robots.txt"),
    ("sitemap.allowed", "robots.txt blocks the sitemap"),
    ("sitemap.answers", "the sitemap cannot be fetched"),
    ("sitemap.size", "the sitemap is too large"),
    ("sitemap.coding", "the sitemap is not compressed as its Content-Encoding says"),
    ("sitemap.is_one", "the response is no sitemap, or a broken one"),
    ("sitemap.direct", "the sitemap redirects"),
    ("files.answer", "files that the index lists cannot be fetched"),
    ("reader.googlebot", "the server answers Googlebot differently"),
    ("sitemap.type", "the content type is wrong"),
)


def likely_cause(checks: Iterable[DiscoveryCheck], *, has_robots: bool) -> DiscoveryCheck:
    """Why Search Console says "Couldn't fetch", if it does, by the other checks.

    Without a robots.txt (404) Google fetches everything: https://www.rfc-editor.org/rfc/rfc9309#section-2.3.1.3.
    """
    states = {check.about: check.status for check in checks if check.status is not CheckStatus.OK}
    for name, cause in _CAUSES[0 if has_robots else 1 :]:
        if states.get(name) is CheckStatus.PROBLEM:
            return check("search_console.cause/likely", cause=cause)
    return check("search_console.cause/firewall" if "reader.googlebot" in states else "search_console.cause/ok")
