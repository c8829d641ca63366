"""Decides what a finding of one audit is in the next: the same, new, resolved, replaced, or inconclusive. Pure.

A finding is new if the last audit that could decide its rule, with the same sources, did not have it. It is resolved if
this audit saw the new state of its URL and of the other URLs that the finding rests on: pages with a link to its URL,
language versions, pages with the same title. Any other stays inconclusive until an audit sees them.
"""

from collections.abc import Iterable
from enum import IntEnum
from typing import Final

from msgspec import Struct

from crawler.audit.finding import MAX_KEPT, MORE_URLS
from crawler.audit.finding_identity import OUTSIDE_RULE
from crawler.audit.orphans.certainty import is_closed
from crawler.audit.orphans.classes import is_gone
from crawler.audit.rules import REPORTED_RULES, RULES, rests_on_links
from crawler.fetch.retry import FAILURES
from crawler.model import State
from crawler.publish.gate_facts import TRUNCATED
from sitemap import RULES as LINT
from sitemap import Severity

_PAGE_STATES: Final = frozenset(
    {State.INDEXABLE, State.REDIRECT, State.CANONICAL_ELSEWHERE, State.NOINDEX, State.SOFT_404, State.WRONG_TYPE}
)
_RULES_OF_ALIKE: Final = ("page.same_title", "page.copy")
_HIDING_STATES: Final = FAILURES | {State.PENDING, State.ROBOTS}
_OTHER_ENTRY_RULES: Final = ("entry.lastmod_", "entry.duplicate", "entry.outside")  # not about what the URL returns
_ANSWER_RULES: Final = (
    *("gone.", "lost.", "link.", "canonical."),
    *(rule for rule in RULES if rule.startswith("entry.") and not rule.startswith(_OTHER_ENTRY_RULES)),
)
_RELATED_RULES: Final = (
    ("orphan.", "weak.", "reach."),  # do links lead to it?
    ("listed.", "orphan.search", "orphan.log", "orphan.list"),  # is it in a sitemap?
    _ANSWER_RULES,  # is it a page?
    ("entry.lastmod_",),
    ("cluster.",),
    ("target.external", "target.once"),
    ("place.",),
)
"""Prefixes of rules that answer one question: a finding of one can replace a finding of another."""
_IN_ORDER: Final = "it is in order now, or no link leads to it"
_UNLISTED: Final = "no sitemap lists it any more"
_UNLINKED: Final = "no page links to it any more"
_COMPLETE: Final = "A complete crawl decides it"
_TRUST: Final = "If the page has no such link, use --set audit.trust_blocked=true"


class RuleCoverage(Struct, frozen=True):
    """How completely an audit checked a rule.

    ``gap`` is the reason why it could not decide the rule, "": it could. ``limit`` is the setting that the rule depends
    on, ``sources`` are those that the crawl was compared with, both as flags.
    """

    gap: str = ""
    limit: str = ""
    sources: tuple[str, ...] = ()


def why_none_new(previous: RuleCoverage | None, current: RuleCoverage) -> str:
    """Why no finding of a rule can be called new, or "".

    ``previous`` is the coverage in the last audit that could decide the rule, else in the last that checked it; None:
    none did.
    """
    if previous is None:
        return "no earlier audit checked it"
    if previous.gap:
        return f"earlier audits could not check it: {previous.gap}"
    if previous.limit != current.limit:
        return f"it was {previous.limit} before, and is {current.limit} now"
    if missing := [source for source in current.sources if source not in previous.sources]:
        return f"the previous audit did not have {', '.join(missing)}"
    return ""


class FindingStatus(IntEnum):
    """What became of a finding that this audit does not have."""

    RESOLVED = 1
    INCONCLUSIVE = 2  # kept until an audit can decide it
    DROPPED = 3  # no audit can decide it: the settings of the rule have changed
    REPLACED = 4  # by another finding


class PreviousFinding(Struct, frozen=True):
    """A finding of an earlier audit that this one does not have.

    ``is_inconclusive``: the last audit could not decide it either.
    """

    rule: str
    url: str
    file: str
    state: str
    since: str
    is_inconclusive: bool = False


class OtherUrl(Struct, frozen=True):
    """The state in this audit of another URL that a finding rests on; ``""``: it was not fetched."""

    url: str
    state: str = ""
    status: int | None = None
    reason: str = ""


class CurrentState(Struct, frozen=True):
    """The state of a URL in this audit (``""``: it was not fetched), and the rules of its new findings.

    ``others`` are the other URLs that the finding rests on, ``ends`` those where redirects and canonicals lead to.
    """

    state: str = ""
    status: int | None = None
    target: str = ""
    reason: str = ""
    rules: tuple[str, ...] = ()
    is_listed: bool = False
    is_file_read: bool = True
    others: tuple[OtherUrl, ...] = ()
    ends: tuple[OtherUrl, ...] = ()


class AuditScope(Struct, frozen=True):
    """What this audit covered. ``is_doubtful``: not everything that the start leads to.

    ``trusts_blocked``: the user vouches that blocked pages have no links. ``is_named``: it read the sitemaps that the
    user named, not those of the site. ``answering`` images and videos can be fetched; ``is_media_whole``: it fetched
    all listed ones. Of ``unsure`` ones, and of ``unsure`` targets of links, it is unknown whether they can be fetched.
    """

    is_doubtful: bool = False
    trusts_blocked: bool = False
    is_named: bool = False
    is_media_whole: bool = True
    answering: frozenset[str] = frozenset()
    unsure: frozenset[str] = frozenset()


def what_became(previous: PreviousFinding, current: CurrentState, scope: AuditScope) -> str:
    """The current state of a finding that this audit does not have, in a sentence; "" if the audit did not see it.

    The audit could decide the rule.
    """
    family = previous.rule.partition(".")[0]
    can_miss = _can_miss(previous, current, scope)
    if previous.rule in LINT or previous.rule == OUTSIDE_RULE:
        return _became_of_file(previous, current) if can_miss else ""
    if family == "declared":
        return "" if scope.is_named else "robots.txt no longer names it, or it can be read"
    if family in {"target", "page", "place"}:
        return _became_of_part(previous, current, scope)
    if family == "media":
        return _became_of_medium(previous.url, scope, can_miss=can_miss)
    if (family == "entry" and previous.rule != "entry.duplicate") or previous.rule == "orphan.sitemap":
        if not current.is_listed and not _is_seen(current):
            return _UNLISTED if can_miss else ""
        if not current.is_listed and family == "entry":
            return f"{_UNLISTED}; {_current_text(previous, current)}" if can_miss else ""
    if previous.rule in ("google.unindexed", "google.canonical") and current.state == State.INDEXABLE:
        return "Google has indexed it under its own URL" if current.is_listed else _UNLISTED
    if family == "bots" and current.state == State.INDEXABLE:
        return "a search engine requested it, or an exact copy of it"
    return _became_of_page(previous, current, scope)


def why_undecided(previous: PreviousFinding, current: CurrentState, scope: AuditScope) -> str:
    """Why :func:`what_became` returns "", with the remedy."""
    if previous.rule.startswith("media."):
        return "the audit did not fetch all images and videos"
    if previous.rule.startswith("declared.") or not _can_miss(previous, current, scope):
        return "the audit did not read its sitemap"
    if why := _why_unread(previous, current, scope):
        return why
    reason = current.reason or current.state or "the audit did not request it"
    return f"the URL was not read ({reason})"


def _can_miss(previous: PreviousFinding, current: CurrentState, scope: AuditScope) -> bool:
    """Whether the audit would have seen an entry of a sitemap."""
    return not scope.is_named or (current.is_file_read if previous.file else not previous.is_inconclusive)


def _why_unread(previous: PreviousFinding, current: CurrentState, scope: AuditScope) -> str:
    """The first URL that a finding rests on, apart from its own, and that this audit did not read; "" if it read all.

    If the crawl saw everything that the start leads to, it saw all links. Else it saw those of the pages that it read.
    """
    rule, is_about_links = previous.rule, rests_on_links(previous.rule)
    if rule.startswith("target.") and previous.url in scope.unsure:
        return "no answer says whether it can be fetched. Audit again when it responds"
    for end in current.ends if is_about_links or rule.startswith(("cluster.", "canonical.")) else ():
        if is_hidden(end.state, end.status):
            return f"{end.url} was not read ({end.reason or end.state}). Audit again when it responds"
    has_changed = previous.state and current.state != previous.state and _is_seen(current)
    if not scope.is_doubtful or (is_about_links and has_changed):
        return ""
    if not current.others and (is_about_links or rule in _RULES_OF_ALIKE):
        return f"it is not known which pages it rests on. {_COMPLETE}"
    unread = (_why_not_read(other, scope, is_about_links=is_about_links) for other in current.others)
    return next(filter(None, unread), "")


def _why_not_read(other: OtherUrl, scope: AuditScope, *, is_about_links: bool) -> str:
    if other.url == MORE_URLS:
        return f"it rests on more than {MAX_KEPT:,} pages. {_COMPLETE}"
    reason = other.reason or other.state or "not requested"
    if is_about_links and other.state and is_closed(State(other.state), other.status):
        return "" if scope.trusts_blocked else f"{other.url} was not read ({reason}). {_TRUST}"
    if any(part in other.reason for part in TRUNCATED):
        return f"only a part of {other.url} was read. {_COMPLETE}"
    return "" if is_seen(other.state, other.status) else f"{other.url} was not read ({reason}). {_COMPLETE}"


def _became_of_file(previous: PreviousFinding, current: CurrentState) -> str:
    if previous.url == previous.file or current.is_listed:
        return "its sitemap no longer breaks this rule"
    return _UNLISTED


def _became_of_part(previous: PreviousFinding, current: CurrentState, scope: AuditScope) -> str:
    """What became of a finding about a part of a page, or about a link in it."""
    if _replacing_rule(previous, current):
        return _current_text(previous, current)
    if scope.is_doubtful and not previous.rule.startswith("target."):
        if not _is_seen(current):
            return ""
        if current.state != State.INDEXABLE:
            return _current_text(previous, current)
    return "" if _why_unread(previous, current, scope) else _IN_ORDER


def _became_of_medium(url: str, scope: AuditScope, *, can_miss: bool) -> str:
    if url in scope.answering:
        return "it can be fetched"
    is_unlisted = scope.is_media_whole and url not in scope.unsure and can_miss
    return _UNLISTED if is_unlisted else ""


def _became_of_page(previous: PreviousFinding, current: CurrentState, scope: AuditScope) -> str:
    if not current.state and previous.rule.startswith("lost."):
        return "the sitemap lists it again, or its end is accepted"
    is_same = previous.rule.startswith("gone.") and current.state == previous.state != State.REDIRECT
    is_unlinked = rests_on_links(previous.rule) and (is_same or not current.state)
    if not (is_unlinked or _is_seen(current)) or _why_unread(previous, current, scope):
        return ""
    is_replaced = bool(_replacing_rule(previous, current))
    return _UNLINKED if is_unlinked and not is_replaced else _current_text(previous, current)


def _is_seen(current: CurrentState) -> bool:
    """Whether the answer shows what the URL is."""
    return is_seen(current.state, current.status)


def is_seen(state: str, status: int | None) -> bool:
    """Whether this answer shows what a URL is: no transient failure, refusal or limit of the crawl."""
    return state in _PAGE_STATES or (bool(state) and is_gone(State(state), status))


def is_hidden(state: str, status: int | None) -> bool:
    """Whether a URL was fetched, and the answer does not show what it is."""
    return state in _HIDING_STATES or (state == State.CLIENT_ERROR and not is_seen(state, status))


def replaced_by(previous: PreviousFinding, current: CurrentState) -> str:
    """The rule of the finding that replaces one that this audit does not have, or "": it is resolved.

    A note replaces a worse finding only within its family: an orphan that one link leads to now is resolved.
    """
    rule = _replacing_rule(previous, current)
    if not rule or rule.partition(".")[0] == previous.rule.partition(".")[0]:
        return rule
    is_milder = (
        REPORTED_RULES[rule].severity is Severity.NOTE and REPORTED_RULES[previous.rule].severity > Severity.NOTE
    )
    return "" if is_milder else rule


def _replacing_rule(previous: PreviousFinding, current: CurrentState) -> str:
    """The worst rule of a URL's new findings that answers the same question; or ""."""
    if not _is_seen(current) and not previous.rule.startswith("target."):  # the crawl requests no other sites
        return ""
    is_broken = previous.state == State.INDEXABLE != current.state
    related = [
        prefixes
        for prefixes in _RELATED_RULES
        if previous.rule.startswith(prefixes) or (is_broken and prefixes is _ANSWER_RULES)
    ]
    return _worst_rule(rule for rule in current.rules if any(rule.startswith(prefixes) for prefixes in related))


def _current_text(previous: PreviousFinding, current: CurrentState) -> str:
    """The current state of a URL: the rule that it breaks instead, else its answer."""
    if rule := _replacing_rule(previous, current):
        return f"it is now a finding of {rule} ({REPORTED_RULES[rule].title})"
    match current.state:
        case State.INDEXABLE:
            return f"it returns an indexable page ({current.status})"
        case State.REDIRECT:
            return f"it redirects to {current.target} ({current.status})"
        case State.CANONICAL_ELSEWHERE:
            return f"it names {current.target} as its canonical"
        case State.NOINDEX:
            return "it has noindex"
        case State.CLIENT_ERROR:
            return f"it returns {current.status}"
    return "it responds, but not with a page"


def _worst_rule(rules: Iterable[str]) -> str:
    """The worst of these rules, the first in the table among equals; "" if none is a rule of the audit."""
    order = list(RULES)
    known = sorted((rule_id for rule_id in rules if rule_id in RULES), key=order.index)
    return max(known, key=lambda rule_id: RULES[rule_id].severity, default="")
