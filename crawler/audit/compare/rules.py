"""By what a finding is known again in the next audit, and what can be said then: new, mended, or not decided. Pure.

Only what was seen is said. A finding is new if the last audit that could decide its rule, and was told the same, did
not have it; it is mended if this audit saw what became of the URL. All others are carried on until one does.
"""

import re
from collections.abc import Iterable
from enum import IntEnum
from hashlib import blake2b
from typing import Final

from msgspec import Struct

from crawler.audit.finding import AuditFinding
from crawler.audit.orphans.classes import is_gone
from crawler.audit.orphans.duplicates import normalize_spelling
from crawler.audit.rules import REPORTED_RULES, RULES
from crawler.model import State, Url
from crawler.url.normalize import origin_of
from sitemap import RULES as LINT
from sitemap import Severity

ONE_PER_FILE_RULES: Final = frozenset({"location.outside"})
"""Rules of lint about where a file lies: one finding for each file, whatever the number of its entries."""
_NUMBERS: Final = re.compile(r"\d[\d.,:TZ+-]*")
_PAGE_STATES: Final = frozenset(
    {State.INDEXABLE, State.REDIRECT, State.CANONICAL_ELSEWHERE, State.NOINDEX, State.WRONG_TYPE}
)
_HIDING_STATES: Final = frozenset(
    {
        State.PENDING,
        State.SERVER_ERROR,
        State.UNREACHABLE,
        State.BAD_ANSWER,
        State.PARSE_FAILED,
        State.INTERNAL_ERROR,
        State.ROBOTS,
    }
)
_PAGE_RULE_FAMILIES: Final = frozenset({"cluster", "canonical", "link"})  # of what a URL leads to, or names
_OUTSIDE_RULE: Final = "entry.outside"
_ANSWER_RULES: Final = (
    "gone.",
    "link.",
    "canonical.",
    *(f"entry.{why}" for why in ("gone", "failed", "refused", "redirect", "noindex", "blocked", "canonical")),
)
_RELATED_RULES: Final = (
    ("orphan.", "weak.", "reach."),  # how do links lead there?
    ("listed.", "orphan.search", "orphan.log", "orphan.list"),  # is it in a sitemap?
    _ANSWER_RULES,  # is it a page?
    ("entry.lastmod_",),
    ("cluster.",),
)
"""How the rules begin that answer one question: of two of them the one can take the other's place."""
_UNLISTED: Final = "no sitemap lists it any more"
_UNLINKED: Final = "no page links to it any more"


def finding_identity(finding: AuditFinding) -> bytes:
    """What is the same in every audit that has this finding: not its numbers and dates, nor where in a file it stands.

    Of two findings with one identity, the URL, the file and the order tell which is which: spellings of one URL have
    one, and an entry may move to another file of its set.
    """
    if finding.rule in ONE_PER_FILE_RULES or finding.times > 1:
        about = finding.file + (origin_of(Url(finding.url)) if finding.rule == _OUTSIDE_RULE else "")
    elif finding.url == finding.file or "://" not in finding.url:
        said = _NUMBERS.sub("#", finding.sentence) if finding.rule in LINT else ""
        about = f"{finding.url or finding.file}\0{said}"
    else:
        about = normalize_spelling(Url(finding.url))
    said = f"{finding.rule}\0{about}"
    return blake2b(said.encode("utf-8", "surrogatepass"), digest_size=16).digest()


class RuleCoverage(Struct, frozen=True):
    """How an audit looked for what a rule is about.

    ``gap`` says why it could not decide it, "": it could. ``limit`` is the setting from which on it says something,
    ``sources`` are what it was given to compare with, both in words.
    """

    gap: str = ""
    limit: str = ""
    sources: tuple[str, ...] = ()


def why_none_new(then: RuleCoverage | None, now: RuleCoverage) -> str:
    """Why no finding of a rule can be called new, or "". ``then`` is how the last audit looked that could decide it.

    If none could, it is how the last one looked; None: none did.
    """
    if then is None:
        return "no audit before looked for it"
    if then.gap:
        return f"the audits before could not decide it: {then.gap}"
    if then.limit != now.limit:
        return f"it was {then.limit} before, and is {now.limit} now"
    if missing := [each for each in now.sources if each not in then.sources]:
        return f"not given to the audit before: {', '.join(missing)}"
    return ""


class FindingStatus(IntEnum):
    """What becomes of a finding that is no more."""

    RESOLVED = 1
    INCONCLUSIVE = 2  # not decided, and kept until an audit can
    DROPPED = 3  # nobody can decide it: what is looked for is another thing now
    REPLACED = 4  # another finding has taken its place


class PreviousFinding(Struct, frozen=True):
    """A finding of an audit before that this one does not have.

    ``is_carried``: the last audit could not decide it either.
    """

    rule: str
    url: str
    file: str
    state: str
    since: str
    is_inconclusive: bool = False


class CurrentState(Struct, frozen=True):
    """What this audit saw of the URL: how it ended (``""``: it was not asked for), and the rules it falls under since.

    ``is_end_seen`` is False when where it leads to, or what the finding spoke of besides, did not show itself.
    """

    state: str = ""
    status: int | None = None
    target: str = ""
    rules: tuple[str, ...] = ()
    is_listed: bool = False
    is_file_read: bool = True
    is_end_seen: bool = True


class AuditScope(Struct, frozen=True):
    """What this audit looked at. ``is_doubtful``: not at all that the start leads to.

    ``is_named``: at the sitemaps that a person named, and not at those that the site has. ``answering`` are images and
    videos that can be had, ``unsure`` those of which it was not learnt; ``is_media_whole``: all listed were asked for.
    """

    is_doubtful: bool = False
    is_named: bool = False
    is_media_whole: bool = True
    answering: frozenset[str] = frozenset()
    unsure: frozenset[str] = frozenset()


def what_became(before: PreviousFinding, today: CurrentState, sight: AuditScope) -> str:
    """What became of a finding that is no more, in a sentence; "" when that was not seen.

    The rule is one that this audit could decide.
    """
    family = before.rule.partition(".")[0]
    can_miss = not sight.is_named or (today.is_file_read if before.file else not before.is_inconclusive)
    if before.rule in LINT or before.rule == _OUTSIDE_RULE:
        return _became_of_file(before, today) if can_miss else ""
    if family == "declared":
        return "" if sight.is_named else "robots.txt names it no more, or it can be read"
    if family == "media":
        return _became_of_medium(before.url, sight, can_miss=can_miss)
    if (family == "entry" and before.rule != "entry.duplicate") or before.rule == "orphan.sitemap":
        if not today.is_listed and not _is_seen(today):
            return _UNLISTED if can_miss else ""
        if not today.is_listed and family == "entry":
            return f"{_UNLISTED}; {_current_text(before, today)}" if can_miss else ""
    return _became_of_page(before, today, sight)


def _became_of_file(before: PreviousFinding, today: CurrentState) -> str:
    if before.url == before.file or today.is_listed:
        return "nothing in its sitemap breaks this rule any more"
    return _UNLISTED


def _became_of_medium(url: str, sight: AuditScope, *, can_miss: bool) -> str:
    if url in sight.answering:
        return "it can be had"
    is_unlisted = sight.is_media_whole and url not in sight.unsure and can_miss
    return _UNLISTED if is_unlisted else ""


def _became_of_page(before: PreviousFinding, today: CurrentState, sight: AuditScope) -> str:
    family = before.rule.partition(".")[0]
    is_about_links = family == "link" or before.rule in ("gone.linked", "gone.failing")
    if not today.state and is_about_links and not sight.is_doubtful:
        return _UNLINKED
    if not _is_seen(today) or (family in _PAGE_RULE_FAMILIES and not today.is_end_seen):
        return ""
    if sight.is_doubtful and (family == "cluster" or (is_about_links and today.state == before.state)):
        return ""  # the links, or what names it, may be on a page that was not seen
    return _current_text(before, today)


def _is_seen(today: CurrentState) -> bool:
    """Whether it answered for good or ill: not "not now", "not you" or nothing."""
    return is_seen(today.state, today.status)


def is_seen(state: str, status: int | None) -> bool:
    """Whether this is an answer that says what a URL is, and no passing trouble, refusal or limit of ours."""
    return state in _PAGE_STATES or (bool(state) and is_gone(State(state), status))


def is_hidden(state: str, status: int | None) -> bool:
    """Whether a URL was asked for, and did not show what it is."""
    return state in _HIDING_STATES or (state == State.CLIENT_ERROR and not is_seen(state, status))


def replaced_by(before: PreviousFinding, today: CurrentState) -> str:
    """The rule of the finding that has taken the place of one that is no more, or "": then it is mended.

    A note takes the place of nothing worse, but in its own family: a page that nothing led to and one link leads to now
    is mended.
    """
    rule = _replacing_rule(before, today)
    if not rule or rule.partition(".")[0] == before.rule.partition(".")[0]:
        return rule
    is_milder = (
        REPORTED_RULES[rule].severity is Severity.NOTE
        and REPORTED_RULES[before.rule].severity > Severity.NOTE
    )
    return "" if is_milder else rule


def _replacing_rule(before: PreviousFinding, today: CurrentState) -> str:
    """The worst of the rules that a URL falls under, and did not before, for the same trouble; or ""."""
    if not _is_seen(today):
        return ""
    is_broken = before.state == State.INDEXABLE != today.state
    asked = [
        each
        for each in _RELATED_RULES
        if before.rule.startswith(each) or (is_broken and each is _ANSWER_RULES)
    ]
    return _worst_rule(rule for rule in today.rules if any(rule.startswith(each) for each in asked))


def _current_text(before: PreviousFinding, today: CurrentState) -> str:
    """What a URL is today: the rule that it falls under instead, else how it answers."""
    if rule := _replacing_rule(before, today):
        return f"it falls under {rule} now ({REPORTED_RULES[rule].title})"
    match today.state:
        case State.INDEXABLE:
            return f"it answers with an indexable page ({today.status})"
        case State.REDIRECT:
            return f"it redirects to {today.target} ({today.status})"
        case State.CANONICAL_ELSEWHERE:
            return f"it names {today.target} as its canonical"
        case State.NOINDEX:
            return "it says noindex"
        case State.CLIENT_ERROR:
            return f"it answers {today.status}"
    return "it answers with what is no page"


def _worst_rule(rules: Iterable[str]) -> str:
    """The worst of these rules, the first in the table of the audit where several are; "" if none is one of its."""
    order = list(RULES)
    known = sorted((each for each in rules if each in RULES), key=order.index)
    return max(known, key=lambda each: RULES[each].severity, default="")
