"""Indexability: the verdict on a URL from its reply and its page, by an ordered table; the first rule that fits wins.

Pure. :func:`indexability_table` prints the rules in their order.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from msgspec import Struct

from crawler.fetch.header_values import FEED_TYPES, is_html_type, may_be_page, parse_media_type
from crawler.fetch.redirect import REDIRECTS, redirect_target
from crawler.model import EMPTY_BODY, Failure, Page, Reply, State, Verdict
from crawler.url.normalize import DEFAULT_PARAMS, InvalidUrl
from crawler.url.params import UrlParams
from crawler.url.scope import Scope

_STATUS_MEANINGS: Final = {
    401: "it asks for a login", 403: "forbidden", 404: "not found", 410: "gone", 429: "too many requests",
    451: "unavailable for legal reasons", 500: "internal error", 502: "bad gateway", 503: "unavailable",
    504: "gateway time-out",
}  # fmt: skip
_UNREAD_PREFIXES: Final = (
    "links cut at ",
    "reading stopped after ",
)  # of faults that say that only a part of the page was read


_NOT_READ: Final = Page(is_html=False, faults=["the page was not read"], fallback="not read")


class RuleInput(Struct, frozen=True):
    """Input of a rule. ``unlisted`` is the verdict of the scope, None if the sitemap may list the URL."""

    reply: Reply
    page: Page
    judge: "IndexabilityJudge"
    unlisted: Verdict | None


class IndexabilityRule(NamedTuple):
    """A rule of the table: its name, the state it gives, and its decision."""

    name: str
    state: State
    decide: Callable[[RuleInput], Verdict | None]


class IndexabilityJudge:
    """Judges the replies of one crawl. ``params`` normalize the URLs of the crawl."""

    def __init__(
        self,
        scope: Scope,
        params: UrlParams = DEFAULT_PARAMS,
        respect_noindex: bool = True,
        respect_canonical: bool = True,
        respect_engine_noindex: bool = True,
    ) -> None:
        self.scope = scope
        self.params = params
        self.respect_noindex = respect_noindex
        self.respect_engine_noindex = respect_engine_noindex
        self.respect_canonical = respect_canonical

    def verdict(self, reply: Reply, page: Page | None) -> Verdict:
        """The verdict on a reply. ``page`` is its parsed body, None when it was not parsed."""
        case = RuleInput(reply, page or _NOT_READ, self, self.scope.may_list(reply.url))
        verdict = next(found for rule in INDEXABILITY_RULES if (found := rule.decide(case)))  # the last rule fits all
        return verdict if verdict.state is State.INDEXABLE else _in_part(verdict, case)

    def failure(self, failure: Failure) -> Verdict:
        """The verdict on a failure after the last retry."""
        is_bad = failure.code.startswith(("http.", "body.", "redirect."))
        state = State.BAD_ANSWER if is_bad else State.UNREACHABLE
        if failure.code.startswith("internal."):
            state = State.INTERNAL_ERROR
        return Verdict(state, failure.message)


def is_readable(reply: Reply) -> bool:
    """Whether to parse the body: status 200, and a Content-Type of HTML, of a feed, or unknown."""
    return reply.status == 200 and may_be_page(reply.header("content-type") or "")


def indexability_table() -> str:
    """The rules in their order, one per line: number, name and state."""
    return "\n".join(
        f"{number:2}. {rule.name:<42} {rule.state.value}" for number, rule in enumerate(INDEXABILITY_RULES, 1)
    )


def _redirect(case: RuleInput) -> Verdict | None:
    reply = case.reply
    # A 300 may name one choice of several in its Location (RFC 9110 15.4.1).
    if reply.status not in REDIRECTS and not (reply.status == 300 and reply.header("location")):
        return None
    target = redirect_target(reply, case.judge.params)
    if isinstance(target, InvalidUrl):
        return Verdict(State.BAD_ANSWER, f"answered {reply.status}; {target.message}")
    return Verdict(State.REDIRECT, f"{reply.status} to {target}", target)


def _client_error(case: RuleInput) -> Verdict | None:
    return _by_status(case, 400, State.CLIENT_ERROR)


def _server_error(case: RuleInput) -> Verdict | None:
    return _by_status(case, 500, State.SERVER_ERROR)


def _by_status(case: RuleInput, first: int, state: State) -> Verdict | None:
    status = case.reply.status
    if not first <= status < first + 100:
        return None
    name = _STATUS_MEANINGS.get(status)
    return Verdict(state, f"answered {status}, {name}" if name else f"answered {status}")


def _other_status(case: RuleInput) -> Verdict | None:
    if case.reply.status == 200:
        return None
    return Verdict(State.BAD_ANSWER, f"answered {case.reply.status}, which is not a valid response to a plain GET")


def _wrong_type(case: RuleInput) -> Verdict | None:
    label = parse_media_type(case.reply.header("content-type") or "")
    if is_html_type(label) is False:
        name = "a feed, read for its links, and " if label in FEED_TYPES else ""
        return Verdict(State.WRONG_TYPE, f"{label} is {name}not HTML")
    page = case.page
    if not page.is_html and not page.fallback:
        if EMPTY_BODY in page.faults:
            return Verdict(State.WRONG_TYPE, EMPTY_BODY)
        if not label:
            return Verdict(State.WRONG_TYPE, "no HTML")
        relation = "although" if is_html_type(label) else "and"
        return Verdict(State.WRONG_TYPE, f"the body is not HTML, {relation} its Content-Type is {label}")
    return None


def _miscoded(case: RuleInput) -> Verdict | None:
    """Browsers cannot show such a body (https://www.rfc-editor.org/rfc/rfc9110, section 8.4)."""
    if not case.reply.is_miscoded:
        return None
    coding = case.reply.header("content-encoding") or "compressed"
    return Verdict(State.BAD_ANSWER, f"labelled {coding}, but not compressed: browsers cannot show it")


def _parse_failed(case: RuleInput) -> Verdict | None:
    page = case.page
    if not page.is_html:
        return Verdict(State.PARSE_FAILED, "; ".join(page.faults[:3]) or page.fallback)
    return None


def _refresh(case: RuleInput) -> Verdict | None:
    target = case.page.refresh
    if target is None or target == case.reply.url:
        return None
    return Verdict(State.REDIRECT, f"refreshes to {target}", target)


def _noindex(case: RuleInput) -> Verdict | None:
    page = case.page
    judge = case.judge
    if not judge.respect_noindex:
        return None
    # after a 304, the page was parsed at another time
    is_over = page.expires is not None and page.expires < case.reply.fetched_at
    evidence = page.noindex or (page.expires_evidence if is_over else "")
    evidence = evidence or (page.engine_noindex if judge.respect_engine_noindex else "")
    return Verdict(State.NOINDEX, evidence) if evidence else None


def _canonical(case: RuleInput) -> Verdict | None:
    if not case.judge.respect_canonical or len(case.page.canonicals) != 1:
        return None
    target = case.page.canonicals[0]
    return None if target == case.reply.url else Verdict(State.CANONICAL_ELSEWHERE, f"canonical is {target}", target)


def _too_long(case: RuleInput) -> Verdict | None:
    return _unlisted(case, State.TOO_LONG)


def _out_of_scope(case: RuleInput) -> Verdict | None:
    return _unlisted(case, State.OUT_OF_SCOPE)


def _excluded(case: RuleInput) -> Verdict | None:
    return _unlisted(case, State.EXCLUDED)


def _unlisted(case: RuleInput, state: State) -> Verdict | None:
    return case.unlisted if case.unlisted and case.unlisted.state is state else None


def _indexable(case: RuleInput) -> Verdict:
    return Verdict(State.INDEXABLE, "; ".join(_notes(case)))


def _in_part(verdict: Verdict, case: RuleInput) -> Verdict:
    """The verdict on a page that is not indexable, with the part that was not read: it may have links."""
    unread = _unread(case) if case.page.is_html else []
    return Verdict(verdict.state, "; ".join([verdict.reason, *unread]), verdict.target)


def _unread(case: RuleInput) -> list[str]:
    cut = [f"only the beginning was read: {case.reply.cut}"] if case.reply.cut else []
    return cut + [fault for fault in case.page.faults if fault.startswith(_UNREAD_PREFIXES)]


def _notes(case: RuleInput) -> list[str]:
    notes = _unread(case)
    page = case.page
    if len(page.canonicals) > 1:
        shown = " and ".join(page.canonicals[:2])
        notes.append(f"{len(page.canonicals)} canonicals contradict one another, so none of them counts: {shown}")
    notes += page.canonical_faults[:2]
    others = [fault for fault in page.faults if not fault.startswith(_UNREAD_PREFIXES)]
    notes += [*others[:2], *page.video_faults[:2]]
    if page.refresh == case.reply.url:
        notes.append("the page refreshes itself")
    if page.fallback:
        notes.append(f"read without most of its elements: {page.fallback}")
    return notes


INDEXABILITY_RULES: Final = (
    IndexabilityRule("3xx with a Location (invalid: bad answer)", State.REDIRECT, _redirect),
    IndexabilityRule("4xx", State.CLIENT_ERROR, _client_error),
    IndexabilityRule("5xx", State.SERVER_ERROR, _server_error),
    IndexabilityRule("any status other than 200", State.BAD_ANSWER, _other_status),
    IndexabilityRule("not HTML, by Content-Type or first bytes", State.WRONG_TYPE, _wrong_type),
    IndexabilityRule("labelled as compressed, but plain", State.BAD_ANSWER, _miscoded),
    IndexabilityRule("neither of the two parsers could read it", State.PARSE_FAILED, _parse_failed),
    IndexabilityRule("an immediate refresh to another URL", State.REDIRECT, _refresh),
    IndexabilityRule("noindex, in the page or in its headers", State.NOINDEX, _noindex),
    IndexabilityRule("one canonical, which is another URL", State.CANONICAL_ELSEWHERE, _canonical),
    IndexabilityRule("too long for a sitemap", State.TOO_LONG, _too_long),
    IndexabilityRule("outside the sitemap's directory", State.OUT_OF_SCOPE, _out_of_scope),
    IndexabilityRule("left out by a pattern", State.EXCLUDED, _excluded),
    IndexabilityRule("everything else", State.INDEXABLE, _indexable),
)
"""The table. Source for what search engines drop: " "https://developers.google.com/search/docs/crawling-indexing/http-network-errors."""
