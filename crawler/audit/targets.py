"""Checks what the links of pages lead to beyond pages: parts of pages, pictures, style sheets, scripts, other sites.

What is on the site is requested once. With ``audit.check_external``, other sites are asked, too: one request at a time
to each host, HEAD first, and GET if that is no success. The state keeps the answers, so that the next audit asks again
only for what was dead or did not answer.
"""

import sqlite3
from collections.abc import Callable
from typing import Final

import msgspec
from msgspec import Struct

from crawler.audit.finding import AuditFinding
from crawler.audit.health.target import Seen, TargetState, judge_target, seen_again
from crawler.audit.media import MediaRequests
from crawler.audit.missing_parts import MissingParts
from crawler.audit.shown import ShownPages, finding
from crawler.audit.verdict import NO_OTHER_SITES
from crawler.config.plan import CrawlPlan
from crawler.fetch.fetcher import Fetcher
from crawler.model import State, Url
from crawler.robots.cache import RobotsCache
from crawler.state.database import storage_errors, transaction
from crawler.units import count_text
from crawler.url.actions import linked_action_in
from crawler.url.normalize import origin_of
from crawler.url.scope import alias_origins
from crawler.url.secrets import mask_private

FRESH: Final = 7 * 86_400.0
"""Seconds for which an answer counts that is neither dead nor a failure."""
_LESSON: Final = "external links"  # name in the table lesson
_OF_OTHERS: Final = ("target.external", "target.once")
_SAY_NOTHING: Final = (TargetState.REFUSED, TargetState.UNKNOWN)
_OF_BOXES: Final = ("place.box", "place.changing", "place.new")
_RETRIES: Final = 1  # a host that fails is asked again in the next audit
_EXTERNAL: Final = f"""SELECT u.url FROM visit v JOIN url u ON u.id = v.id
  WHERE v.state = '{State.OUT_OF_SCOPE}' AND v.status IS NULL ORDER BY u.url"""  # noqa: S608 - constant
# https://www.rfc-editor.org/rfc/rfc6761 and RFC 2606: names that exist in texts only.
_RESERVED: Final = (".test", ".example", ".invalid", ".localhost", "example.com", "example.net", "example.org")
_decode = msgspec.msgpack.Decoder(dict[str, Seen]).decode


class CheckedTargets(Struct):
    """The findings, notes for the reader, why rules were not checked or in part only, and the pages that were read.

    Of ``unsure`` targets it is unknown whether they can be fetched.
    """

    findings: list[AuditFinding] = []
    notes: list[str] = []
    unchecked: dict[str, str] = {}
    undecided: dict[str, str] = {}
    shown: ShownPages | None = None  # None: the crawl was cut short
    origins: list[AuditFinding] = []  # findings about other names of the site
    unsure: list[str] = []


class TargetCheck:
    """The check of one audit. ``db`` is the state, ``now`` is Unix time. Raises StorageError."""

    def __init__(
        self,
        plan: CrawlPlan,
        db: sqlite3.Connection,
        fetcher: Fetcher,
        robots_cache: RobotsCache,
        now: float,
        watch: Callable[[int, int], object],
    ) -> None:
        self._plan = plan
        self._db = db
        self._now = now
        self._watch = watch
        self._own = {origin_of(plan.seed), *alias_origins(plan.seed)}
        self._requests = MediaRequests(plan.config, fetcher, robots_cache, nouns="targets of links", retries=_RETRIES)
        self._notes: list[str] = []
        self._unsure: list[str] = []

    async def run(self, shown: ShownPages) -> CheckedTargets:
        """Check all targets that the settings allow."""
        audit = self._plan.config.audit
        parts = MissingParts(shown)
        found = [*parts.findings()]
        self._notes += parts.notes
        undecided = {}
        if not shown.is_whole:
            read = f"{len(shown.numbers):,} of {shown.total:,} pages were checked for them: audit.max_link_pages"
            undecided = dict.fromkeys(("targets", "pages"), read)
        found += await self._check_files(shown)
        if audit.check_external:
            found += await self._check_external()
        unchecked = {}
        if not audit.check_external:
            unchecked = dict.fromkeys(_OF_OTHERS, NO_OTHER_SITES)
        if not audit.max_link_pages:
            unchecked |= dict.fromkeys(("targets", "pages", *_OF_BOXES), "audit.max_link_pages is 0")
        return CheckedTargets(
            found, [*self._notes, *self._requests.notes()], unchecked, undecided, shown, unsure=self._unsure
        )

    async def _check_files(self, shown: ShownPages) -> list[AuditFinding]:
        kinds: dict[str, str] = {}
        pages: dict[str, list[str]] = {}
        for kind, url, page in shown.resources():
            if origin_of(Url(url)) in self._own:
                kinds.setdefault(url, kind)
                pages.setdefault(url, []).append(page)
        with storage_errors():  # linked pictures were fetched already
            missing = [url for url in kinds if not self._db.execute(_VISITED, (url,)).fetchone()]
        answers = await self._requests.follow_all(self._limited(missing, "files"), self._watch)
        judged = {url: judge_target(answer) for url, answer in answers.items()}
        self._unsure += [url for url in missing if url not in judged or judged[url][0] in _SAY_NOTHING]
        return [
            finding("target.file", url, f"the {kinds[url]} cannot be fetched: {why}", [*dict.fromkeys(pages[url])])
            for url, (state, why) in judged.items()
            if state is TargetState.DEAD and not (kinds[url] == "script" and shown.has_base(pages[url][0]))
        ]

    async def _check_external(self) -> list[AuditFinding]:
        with storage_errors():
            row = self._db.execute("SELECT value FROM lesson WHERE name = ?", (_LESSON,)).fetchone()
            others = [url for (url,) in self._db.execute(_EXTERNAL) if origin_of(url) not in self._own]
        urls = [*filter(_is_askable, others)]
        if left := len(others) - len(urls):
            text = "that may change something, have a token or exist in texts only were not requested"
            self._notes.append(f"{count_text(left, 'URL')} of other sites {text}")
        known = _decode(row[0]) if row else {}
        known = {url: known[url] for url in urls if url in known}
        waiting = [url for url in urls if not self._is_fresh(known.get(url))]
        waiting.sort(key=lambda url: url not in known)  # what failed is asked again first
        waiting = self._limited(waiting, "other sites")
        failed = [url for url in waiting if url in known]  # HEAD has said nothing of them
        answers = await self._requests.follow_all(failed, self._watch)
        answers |= await self._requests.follow_all(waiting[len(failed) :], self._watch, "HEAD")
        known |= {url: seen_again(known.get(url), answer, self._now) for url, answer in answers.items()}
        with transaction(self._db):
            self._db.execute("INSERT OR REPLACE INTO lesson VALUES (?, ?)", (_LESSON, msgspec.msgpack.encode(known)))
        unknown = [(url, why) for url in urls if (why := _why_unknown(known.get(url)))]
        self._unsure += [url for url, _ in unknown]
        if unknown:
            url, why = unknown[0]
            text = f"of {len(unknown):,} of {len(urls):,} URLs of other sites nothing is known, such as {url} ({why})"
            self._notes.append(text)
        dead = {url: seen for url, seen in known.items() if seen.state is TargetState.DEAD}
        return [
            finding("target.external" if seen.is_dead_twice else "target.once", url, seen.why, [])
            for url, seen in sorted(dead.items())
        ]

    def _is_fresh(self, seen: Seen | None) -> bool:
        return (
            seen is not None
            and seen.state in {TargetState.OK, TargetState.REFUSED}
            and 0 <= self._now - seen.at < FRESH
        )

    def _limited(self, urls: list[str], what: str) -> list[str]:
        most = self._plan.config.audit.max_media
        if len(urls) > most:
            self._notes.append(f"only {most:,} of {len(urls):,} URLs of {what} were requested: raise audit.max_media")
        return urls[:most]


def _is_askable(url: Url) -> bool:
    host = origin_of(url).partition("://")[2].partition(":")[0]
    return not host.endswith(_RESERVED) and not linked_action_in(url) and mask_private(url) == url


def _why_unknown(seen: Seen | None) -> str:
    """Why nothing is known of a URL of another site, "" if something is."""
    if seen is None:
        return "it was not requested"
    is_known = seen.state in {TargetState.OK, TargetState.DEAD}
    return "" if is_known else seen.why or "its answer says nothing of the page"


_VISITED: Final = "SELECT 1 FROM visit v JOIN url u ON u.id = v.id WHERE u.url = ? AND v.status IS NOT NULL"
