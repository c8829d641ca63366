"""What is known again in the next audit, and what is said of a finding that is no more: the table of cases."""

import pytest
from msgspec.structs import replace

from crawler.audit.compare.finding_status import (
    AuditScope,
    CurrentState,
    OtherUrl,
    PreviousFinding,
    RuleCoverage,
    replaced_by,
    what_became,
    why_none_new,
    why_undecided,
)
from crawler.audit.finding import MORE_URLS, AuditFinding
from crawler.audit.finding_identity import finding_identity
from crawler.model import State

SITE = "https://www.example.com/"
FILE = f"{SITE}sitemap.xml"
ENTRY = AuditFinding(rule="entry.gone", url=f"{SITE}a", sentence="the URL answered 404", file=FILE, line=3)
LINT = AuditFinding(rule="sitemap.unknown_element", url=FILE, sentence="line 3: <x> is unknown", file=FILE, line=3)
REST = AuditFinding(rule="lastmod.invalid", url=FILE, sentence="and 7 more like these", file=FILE, times=7)
ONCE = AuditFinding(rule="location.outside", url=f"{SITE}a", sentence="outside", file=FILE, line=3)
DOOR = AuditFinding(rule="entry.outside", url="http://www.example.com/a", sentence="2 …", file=FILE, times=2)


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        (ENTRY, replace(ENTRY, line=90, sentence="the URL answered 410", status=410), True),
        (ENTRY, replace(ENTRY, file=f"{SITE}sitemap-2.xml"), True),  # the entry moved to another file of the set
        (ENTRY, replace(ENTRY, url=f"{SITE}A/"), True),  # in another spelling
        (ENTRY, replace(ENTRY, url=f"{SITE}b"), False),
        (ENTRY, replace(ENTRY, rule="entry.failed"), False),
        (LINT, replace(LINT, line=8, sentence="line 8: <x> is unknown"), True),
        (LINT, replace(LINT, sentence="line 3: <y> is unknown"), False),
        (LINT, replace(LINT, file=f"{SITE}b.xml", url=f"{SITE}b.xml"), False),
        (REST, replace(REST, times=9, sentence="and 9 more like these"), True),
        (ONCE, replace(ONCE, url=f"{SITE}b", times=3), True),  # a fault of the file, whatever its first entry
        (DOOR, replace(DOOR, url="http://www.example.com/b", times=5), True),
        (DOOR, replace(DOOR, url="https://example.com/a"), False),  # another name of the site
    ],
)
def test_ours_a_finding_is_known_again_by_what_does_not_move(
    one: AuditFinding, other: AuditFinding, *, is_same: bool
) -> None:
    assert (finding_identity(one) == finding_identity(other)) is is_same


@pytest.mark.parametrize(
    ("then", "now", "why"),
    [
        (None, RuleCoverage(), "no earlier audit checked it"),
        (RuleCoverage(), RuleCoverage(), ""),
        (RuleCoverage(gap="no --log given"), RuleCoverage(), "no --log given"),
        (
            RuleCoverage(),
            RuleCoverage(gap="the crawl was cut short"),
            "",
        ),  # what is certain is, and the one before saw all
        (
            RuleCoverage(limit="--set audit.max_clicks=5"),
            RuleCoverage(limit="--set audit.max_clicks=3"),
            "--set audit.max_clicks=5 before",
        ),
        (RuleCoverage(sources=("--search",)), RuleCoverage(sources=("--analytics", "--search")), "--analytics"),
        (RuleCoverage(sources=("--analytics", "--search")), RuleCoverage(sources=("--search",)), ""),
    ],
)
def test_ours_what_the_audit_before_could_not_have_told_is_not_new(
    then: RuleCoverage | None, now: RuleCoverage, why: str
) -> None:
    said = why_none_new(then, now)
    assert why in said
    assert bool(said) is bool(why)


PAGE = CurrentState(state=State.INDEXABLE, status=200)
GONE = CurrentState(state=State.CLIENT_ERROR, status=404)
FAILED = CurrentState(state=State.SERVER_ERROR, status=503)
REFUSED = CurrentState(state=State.CLIENT_ERROR, status=403)
BARRED = CurrentState(state=State.ROBOTS)
UNASKED = CurrentState()
AWAY = OtherUrl(f"{SITE}other", State.SERVER_ERROR, 503)
READ = OtherUrl(f"{SITE}other", State.INDEXABLE, 200)
CLOSED = OtherUrl(f"{SITE}other", State.ROBOTS)
NOT_ASKED, MORE = OtherUrl(READ.url), OtherUrl(MORE_URLS)
CUT = replace(READ, reason="links cut at 10")
LISTED = replace(UNASKED, is_listed=True)
LEADING = CurrentState(State.REDIRECT, 301, "/b")
SEEN, DOUBTFUL, NAMED = AuditScope(), AuditScope(is_doubtful=True), AuditScope(is_named=True)
TRUSTING = AuditScope(is_doubtful=True, trusts_blocked=True)
UNSURE = AuditScope(unsure=frozenset({f"{SITE}a"}))


def before(rule: str, state: str = "", *, file: str = "", is_carried: bool = False) -> PreviousFinding:
    return PreviousFinding(rule, f"{SITE}a", file, state, "2026-11-01", is_carried)


@pytest.mark.parametrize(
    ("rule", "state", "today", "sight", "said"),
    [
        # "? " stands before words of the reason why nothing is known
        # orphans: only an answer of the page says what became of it
        ("orphan.log", "indexable", PAGE, SEEN, "indexable page (200)"),
        ("orphan.log", "indexable", UNASKED, SEEN, "? audit did not request it"),  # not in this week's log
        ("orphan.log", "indexable", FAILED, SEEN, "? URL was not read (server"),
        ("orphan.log", "indexable", REFUSED, SEEN, "? URL was not read (client"),
        ("orphan.log", "indexable", BARRED, SEEN, "? URL was not read (blocked"),
        ("orphan.log", "indexable", GONE, SEEN, "it returns 404"),
        (
            "orphan.sitemap",
            "indexable",
            replace(PAGE, rules=("reach.few", "weak.nofollow")),
            SEEN,
            "finding of weak.nofollow (Linked by nofollow only)",
        ),
        ("orphan.sitemap", "indexable", UNASKED, SEEN, "no sitemap lists it"),
        ("orphan.sitemap", "indexable", LISTED, SEEN, "? audit did not request it"),
        ("orphan.sitemap", "indexable", FAILED, SEEN, "no sitemap lists it"),
        ("weak.nofollow", "indexable", UNASKED, SEEN, "? audit did not request it"),
        ("reach.few", "indexable", PAGE, SEEN, "indexable"),
        # what pages link to: a whole crawl says that none does any more
        ("gone.linked", "client error", UNASKED, SEEN, "no page links to it"),
        ("gone.linked", "client error", UNASKED, DOUBTFUL, "? not known which pages"),
        ("gone.linked", "client error", GONE, DOUBTFUL, "? not known which pages"),
        ("gone.linked", "client error", PAGE, DOUBTFUL, "indexable"),
        # the pages that had the link were read, whatever else the crawl did not see
        ("gone.linked", "client error", replace(UNASKED, others=(READ,)), DOUBTFUL, "no page links to it"),
        ("gone.linked", "client error", replace(GONE, others=(READ,)), DOUBTFUL, "no page links to it"),
        ("gone.linked", "client error", replace(FAILED, others=(READ,)), DOUBTFUL, "? not read (server"),  # or it fails
        ("gone.failing", "server error", replace(FAILED, others=(READ,)), DOUBTFUL, "no page links to it"),
        ("gone.failing", "redirect", replace(LEADING, others=(READ,)), DOUBTFUL, "it redirects to"),
        ("gone.linked", "client error", replace(UNASKED, others=(READ, CLOSED)), DOUBTFUL, "? If the page has no"),
        ("gone.linked", "client error", replace(UNASKED, others=(READ, CLOSED)), TRUSTING, "no page links to it"),
        ("gone.linked", "client error", replace(UNASKED, others=(READ, AWAY)), TRUSTING, "? not read (server"),
        ("gone.linked", "client error", replace(UNASKED, others=(NOT_ASKED,)), TRUSTING, "? (not requested)"),
        ("gone.linked", "client error", replace(UNASKED, others=(MORE,)), DOUBTFUL, "? rests on more than 1,000"),
        ("gone.linked", "client error", replace(UNASKED, others=(READ,), ends=(AWAY,)), DOUBTFUL, "? Audit again when"),
        ("gone.linked", "client error", replace(UNASKED, others=(CUT,)), DOUBTFUL, "? only a part of"),
        ("gone.linked", "client error", replace(UNASKED, others=(CLOSED,)), SEEN, "no page links to it"),
        ("link.redirect", "redirect", replace(LEADING, others=(READ,)), DOUBTFUL, "it redirects to"),
        ("target.file", "", replace(UNASKED, others=(READ,)), DOUBTFUL, "in order"),
        ("place.box", "", replace(PAGE, others=(READ,)), DOUBTFUL, "in order"),
        ("page.same_title", "", replace(PAGE, others=(READ,)), DOUBTFUL, "in order"),
        ("page.same_title", "", replace(PAGE, others=(CLOSED,)), TRUSTING, "? other was not read (blocked"),
        ("gone.linked", "client error", FAILED, SEEN, "? URL was not read (server"),
        ("gone.failing", "server error", PAGE, DOUBTFUL, "indexable"),
        ("gone.visited", "client error", UNASKED, SEEN, "? audit did not request it"),  # nobody asked for it
        ("gone.visited", "client error", CurrentState(State.REDIRECT, 301, "/b"), SEEN, "redirects to /b"),
        # entries: a listing that was read to its end says what it does not list
        ("entry.gone", "client error", UNASKED, SEEN, "no sitemap lists it"),
        ("entry.gone", "client error", GONE, SEEN, "no sitemap lists it any more; it returns 404"),
        ("entry.gone", "client error", LISTED, SEEN, "? audit did not request it"),
        ("entry.gone", "client error", replace(FAILED, is_listed=True), SEEN, "? URL was not read (server"),
        ("entry.gone", "client error", replace(PAGE, is_listed=True), SEEN, "indexable"),
        ("entry.failed", "server error", replace(GONE, is_listed=True, rules=("entry.gone",)), SEEN, "of entry.gone ("),
        ("entry.noindex", "noindex", replace(BARRED, is_listed=True), SEEN, "? URL was not read (blocked"),
        ("entry.duplicate", "indexable", UNASKED, SEEN, "? audit did not request it"),
        # what a cluster names may hide today
        ("cluster.target", "indexable", PAGE, SEEN, "indexable"),
        ("cluster.no_self", "indexable", PAGE, DOUBTFUL, "indexable"),
        ("cluster.target", "indexable", replace(PAGE, others=(READ,)), DOUBTFUL, "indexable"),
        ("cluster.target", "indexable", replace(PAGE, others=(CLOSED,)), TRUSTING, "? other was not read (blocked"),
        ("cluster.target", "indexable", replace(UNASKED, others=(READ,)), DOUBTFUL, "? audit did not request it"),
        ("page.canonical", "", GONE, DOUBTFUL, "it returns 404"),
        ("page.canonical", "", PAGE, DOUBTFUL, "in order"),
        ("page.same_title", "", PAGE, DOUBTFUL, "? not known which pages"),  # the other page may not have been seen
        ("target.file", "", GONE, DOUBTFUL, "? not known which pages"),
        ("cluster.target", "indexable", replace(PAGE, ends=(AWAY,)), SEEN, "? Audit again when"),
        ("canonical.lost", "canonical elsewhere", replace(PAGE, ends=(AWAY,)), SEEN, "? Audit again when"),
        ("entry.redirect", "redirect", replace(PAGE, is_listed=True, ends=(AWAY,)), SEEN, "indexable"),
        ("target.once", "", UNASKED, UNSURE, "? no answer says whether it can be fetched"),
        ("target.once", "", replace(UNASKED, others=(READ,)), DOUBTFUL, "in order"),
        ("target.fragment", "", replace(UNASKED, ends=(CLOSED,)), TRUSTING, "? other was not read (blocked"),
        ("declared.unreadable", "", UNASKED, SEEN, "robots.txt"),
        ("declared.unreadable", "", UNASKED, NAMED, "? the audit did not read its sitemap"),
    ],
)  # fmt: skip
def test_ours_nothing_is_mended_that_was_not_seen(
    rule: str, state: str, today: CurrentState, sight: AuditScope, said: str
) -> None:
    finding = before(rule, state)
    told = what_became(finding, today, sight) or f"? {why_undecided(finding, today, sight)}"
    assert said.removeprefix("? ") in told
    assert told.startswith("? ") is said.startswith("? ")


@pytest.mark.parametrize(
    ("rule", "state", "today", "then", "said"),
    [
        # a page that is gone took all with it that was found of it
        ("listed.missing", "indexable", replace(GONE, rules=("gone.linked",)), "gone.linked", "of gone.linked ("),
        ("reach.few", "indexable", replace(GONE, rules=("gone.linked",)), "gone.linked", "of gone.linked ("),
        ("reach.few", "indexable", replace(PAGE, rules=("orphan.sitemap",)), "orphan.sitemap", "of orphan.sitemap ("),
        ("link.redirect", "redirect", replace(GONE, rules=("link.chain",)), "link.chain", "of link.chain ("),
        ("listed.missing", "indexable", replace(PAGE, rules=("orphan.log",)), "orphan.log", "of orphan.log ("),
        ("gone.visited", "client error", replace(GONE, rules=("gone.named",)), "gone.named", "of gone.named ("),
        ("entry.lastmod_late", "indexable", replace(PAGE, is_listed=True, rules=("entry.lastmod_early",)),
         "entry.lastmod_early", "finding of entry.lastmod_early"),
        ("target.once", "", replace(UNASKED, rules=("target.external",)), "target.external", "of target.external ("),
        ("place.new", "indexable", replace(PAGE, rules=("place.box",)), "place.box", "of place.box ("),
        # milder, and the worse is done away with
        ("orphan.sitemap", "indexable", replace(PAGE, rules=("reach.few",)), "", "of reach.few ("),
        ("gone.linked", "client error", replace(GONE, rules=("link.redirect",)), "", "of link.redirect ("),
        # another trouble is no answer to what became of this one
        ("entry.noindex", "noindex", replace(PAGE, is_listed=True, rules=("entry.lastmod_early",)), "", "indexable"),
        ("listed.missing", "indexable", replace(PAGE, rules=("reach.few",)), "", "indexable page"),
        ("gone.linked", "client error", replace(PAGE, rules=("listed.missing",)), "", "indexable page"),
        ("orphan.sitemap", "indexable", UNASKED, "", "no sitemap lists it"),
    ],
)  # fmt: skip
def test_ours_what_became_another_finding_of_the_same_kind_is_not_mended(
    rule: str, state: str, today: CurrentState, then: str, said: str
) -> None:
    assert replaced_by(before(rule, state), today) == then
    assert said in what_became(before(rule, state), today, SEEN)


@pytest.mark.parametrize("rule", ["entry.gone", "lastmod.invalid", "media.image"])
def test_ours_a_sitemap_that_was_left_out_this_time_says_nothing(rule: str) -> None:
    gone = before(rule, file=FILE)
    left_out = replace(UNASKED, is_file_read=False)
    assert what_became(gone, left_out, SEEN)  # the site itself names it no more
    assert not what_became(gone, left_out, NAMED)
    assert what_became(gone, UNASKED, NAMED)
    assert not what_became(before("orphan.sitemap", is_carried=True), UNASKED, NAMED)


def test_ours_a_medium_is_mended_if_it_answers_or_if_all_that_is_listed_was_asked_for() -> None:
    gone = before("media.video", file=FILE)
    assert (
        what_became(gone, UNASKED, AuditScope(answering=frozenset({gone.url}), is_media_whole=False))
        == "it can be fetched"
    )
    assert not what_became(gone, UNASKED, AuditScope(is_media_whole=False))
    assert not what_became(gone, UNASKED, AuditScope(unsure=frozenset({gone.url})))
    assert "no sitemap lists it" in what_became(gone, UNASKED, SEEN)
