"""What to do, by effect: the ranking, the patterns of URLs, and the time that sixty thousand findings take."""

import re
from collections.abc import Iterator
from random import Random

import pytest
from audits import Given, audit, of
from msgspec.structs import replace
from steps import steps

from crawler.audit.actions import rank_actions
from crawler.audit.finding import AuditFinding, FindingPattern, LinkSuggestion, RuleCount
from crawler.audit.patterns import PatternCounter, fold_findings, url_patterns
from crawler.audit.rules import REPORTED_RULES

SITE = "https://example.com"


def finding(rule: str, path: str, **values: object) -> AuditFinding:
    return AuditFinding(rule=rule, url=f"{SITE}{path}", sentence="It is so.", **values)  # type: ignore[arg-type]


def counted(found: list[AuditFinding]) -> list[FindingPattern]:
    counter = PatternCounter(found[0].rule)
    for each in found:
        counter.add(each)
    counter.merge()
    return counter.patterns()


def test_ours_ten_thousand_numbered_urls_are_one_pattern_with_examples() -> None:
    found = [finding("gone.linked", f"/old/page-{n}", people=n % 3) for n in range(9_999)]
    (pattern,) = counted(found)
    assert pattern == FindingPattern(
        "gone.linked", f"{SITE}/old/page-{{n}}", 9_999, 9_999, [f"{SITE}/old/page-{n}" for n in range(3)]
    )
    assert list(fold_findings(found, [pattern])) == [pattern]


def test_ours_names_below_one_directory_are_a_pattern_only_if_they_are_many() -> None:
    names = [f"/shop/{'abcdefghijklmnopqrstuvwxyz'[n]}x" for n in range(26)]
    few = [finding("orphan.log", name) for name in names[:19]]
    assert counted(few) == []
    assert list(fold_findings(few, [])) == few
    many = [finding("orphan.log", name) for name in names[:20]]
    assert [each.pattern for each in counted(many)] == [f"{SITE}/shop/*"]


def test_ours_a_pattern_stands_where_its_most_important_finding_stood() -> None:
    found = [finding("gone.linked", path) for path in ("/first", *(f"/n/{n}" for n in range(8)), "/last")]
    first, pattern, last = fold_findings(found, counted(found))
    assert (first, last) == (found[0], found[-1])
    assert isinstance(pattern, FindingPattern)
    assert pattern.count == 8


@pytest.mark.parametrize(
    ("url", "patterns"),
    [
        ("https://a1.example/x", ("https://a1.example/x",)),
        ("https://a.example/2024/05/t", ("/{n}/{n}/t", "/{n}/{n}/*", "/{n}/*")),
        ("https://a.example/p/5f3a9c01d2e4/", ("/p/{id}/", "/p/*", "/p/*")),
        ("https://a.example/s?q=ab&page=2", ("/s?q=ab&page={n}", "/s?q=*&page=*", "/s?*")),
        ("sitemap.xml", ("sitemap.xml",)),
    ],
)
def test_ours_patterns_go_from_narrow_to_wide(url: str, patterns: tuple[str, ...]) -> None:
    shown = tuple(pattern.removeprefix("https://a.example") for pattern in url_patterns(url))
    assert shown == patterns


@pytest.mark.parametrize("seed", range(20))
def test_ours_folding_loses_no_finding_whatever_the_urls(seed: int) -> None:
    some = Random(seed)
    words = ["a", "b2", "page-7", "5f3a9c01d2e4", "2024", "x.html", ""]
    paths = [
        "/" + "/".join(some.choices(words, k=some.randrange(4))) + some.choice(["", f"?id={some.randrange(99)}"])
        for _ in range(some.randrange(1, 400))
    ]
    found = [finding("gone.linked", path) for path in paths]
    patterns = counted(found)
    folded = list(fold_findings(found, patterns))
    inside = sum(each.count for each in folded if isinstance(each, FindingPattern))
    assert inside + sum(isinstance(each, AuditFinding) for each in folded) == len(found)
    assert len([each for each in folded if isinstance(each, FindingPattern)]) == len(patterns)


def ranked(*found: AuditFinding) -> list[str]:
    return [action.name for action in rank_actions(audit(found), of(found)).actions]


def test_ours_visited_dead_pages_come_before_unvisited_ones() -> None:
    visited = [finding("gone.visited", f"/gone/{n}", people=400) for n in range(3)]
    unvisited = [finding("orphan.sitemap", f"/{n}/x") for n in range(4)]
    assert ranked(*visited, *unvisited) == ["redirect", "link"]


def test_ours_a_dead_link_on_every_page_comes_before_dead_links_on_one_page_each() -> None:
    rare = [finding("orphan.sitemap", f"/{letter}/x") for letter in "abcdef"]
    assert ranked(finding("gone.linked", "/old", inlinks=1), *rare) == ["link", "unlink"]
    assert ranked(finding("gone.linked", "/old", inlinks=5_000), *rare) == ["unlink", "link"]
    two = of([finding("gone.linked", "/a", inlinks=1), finding("gone.linked", "/b", inlinks=5_000)])
    (action,) = rank_actions(audit(list(two("gone.linked"))), two).actions
    assert action.examples == [f"{SITE}/b", f"{SITE}/a"]


def test_ours_one_cause_with_many_findings_does_not_drown_errors_with_several_causes() -> None:
    pattern = [finding("listed.missing", f"/page-{n}") for n in range(400)]
    errors = [finding("entry.gone", f"/{chr(97 + n)}/gone") for n in range(12)]
    assert ranked(*pattern, *errors) == ["entries", "list"]


def test_ours_many_notes_do_not_come_before_a_warning() -> None:
    notes = [finding("reach.few", f"/{chr(97 + n % 26)}{n}/x", people=900) for n in range(300)]
    assert ranked(*notes, finding("gone.linked", "/gone")) == ["unlink", "inlinks"]


def test_ours_an_error_comes_before_warnings_with_more_effect() -> None:
    warnings = [finding("orphan.sitemap", f"/{chr(97 + n % 26)}{n}/x", people=900) for n in range(300)]
    assert ranked(*warnings, finding("entry.gone", "/gone")) == ["entries", "link"]


def test_ours_inconclusive_findings_have_less_effect() -> None:
    certain = [finding("gone.linked", f"/a{chr(97 + n)}") for n in range(5)]
    open_ = [finding("orphan.sitemap", f"/b{chr(97 + n)}", is_certain=False) for n in range(6)]
    found = [*certain, *open_]
    actions = rank_actions(audit(found), of(found)).actions
    assert [(action.name, action.inconclusive) for action in actions] == [("unlink", 0), ("link", 6)]


def test_ours_an_action_says_what_why_and_how_and_names_the_pattern() -> None:
    target = LinkSuggestion(f"{SITE}/new", "has the same name in another directory", 0.85)
    found = [finding("gone.visited", f"/old/page-{n}", people=2, targets=[target]) for n in range(9_999)]
    (action,) = rank_actions(audit(found), of(found)).actions
    assert action.title == (f"Redirect 9,999 dead URLs like {SITE}/old/page-{{n}} to the pages that replace them")
    assert action.why == "These URLs lead to an error page (19,998 visits by people)."
    assert action.how.endswith("csv/redirects.csv suggests a target for all of them.")
    assert (action.file, action.severity, action.count) == ("csv/redirects.csv", "warning", 9_999)
    assert action.examples == [f"{SITE}/old/page-{n}" for n in range(3)]


def test_ours_a_url_that_several_rules_report_counts_once_in_the_title_and_its_visits_once() -> None:
    failing = [finding("gone.failing", "/broken", people=7), finding("gone.failing", "/down")]
    listed = [finding("entry.failed", "/broken", people=7), finding("entry.failed", "/listed")]
    (action,) = rank_actions(audit([*failing, *listed]), of([*failing, *listed])).actions
    assert action.title == "Repair 3 failing URLs"
    assert action.why == "Visitors and search engines get an error (7 visits by people)."
    assert action.count == 4


def test_ours_hreflang_that_a_sitemap_repeats_from_a_page_is_corrected_once() -> None:
    found = [finding(rule, "/de") for rule in ("cluster.not_mutual", "hreflang.not_mutual")]
    assert [action.title for action in rank_actions(audit(found), of(found)).actions] == [
        "Correct the hreflang of 1 page"
    ]


def test_ours_a_pattern_of_urls_that_two_rules_report_is_in_the_title() -> None:
    found = [finding(rule, f"/old/page-{n}") for rule in ("gone.failing", "entry.failed") for n in range(40)]
    (action,) = rank_actions(audit(found), of(found)).actions
    assert action.title == f"Repair 40 failing URLs like {SITE}/old/page-{{n}}"


def test_ours_a_redirect_that_many_pages_link_to_is_no_single_link() -> None:
    redirect = finding("link.redirect", "/old", inlinks=40)
    (action,) = rank_actions(audit([redirect]), of([redirect])).actions
    assert action.title == "Update the links to 1 redirect"


def test_ours_an_action_about_links_says_how_many_there_are() -> None:
    dead = [finding("gone.linked", "/menu", inlinks=62, people=9), finding("gone.linked", "/x/rare", inlinks=1)]
    found = [*dead, finding("gone.visited", "/menu", inlinks=62, people=9)]
    whys = {action.name: action.why for action in rank_actions(audit(found), of(found)).actions}
    assert whys["unlink"] == "Pages lead visitors to an error (63 links on the site, 9 visits by people)."
    assert whys["redirect"] == "These URLs lead to an error page (9 visits by people)."


def test_ours_an_action_names_only_what_was_found() -> None:
    found = [finding("page.canonical", f"/c/{n}") for n in range(5)] + [finding("page.same_title", "/a")]
    titles = [action.title for action in rank_actions(audit(found), of(found)).actions]
    assert titles == [f"Correct the canonical of 5 pages like {SITE}/c/{{n}}", "Correct 1 missing or repeated title"]


def test_ours_an_action_about_one_url_speaks_of_one() -> None:
    target = LinkSuggestion(f"{SITE}/new", "has the same name in another directory", 0.85)
    dead = finding("gone.visited", "/old", people=2, targets=[target])
    (action,) = rank_actions(audit([dead]), of([dead])).actions
    assert action.title == "Redirect 1 dead URL to the page that replaces it"
    assert action.how.endswith(" csv/redirects.csv suggests a target for it.")


def test_ours_a_title_says_how_many_of_the_urls_are_like_the_pattern() -> None:
    found = [
        finding("gone.visited", "/tickets", people=200),
        *(finding("gone.visited", f"/item-{n}") for n in range(25)),
    ]
    (action,) = rank_actions(audit(found), of(found)).actions
    assert action.title == f"Redirect 26 dead URLs (25 like {SITE}/item-{{n}}) to the pages that replace them"


@pytest.mark.parametrize("rule", ["entry.noindex", "entry.noindex_engine", "entry.canonical", "entry.blocked"])
def test_ours_nobody_is_told_to_drop_listed_pages_that_may_be_hidden_by_mistake(rule: str) -> None:
    hidden = [finding(rule, f"/exhibits/{n}") for n in range(40)]
    found = [*hidden, finding("entry.gone", "/gone")]
    hide, entries = rank_actions(audit(found), of(found)).actions
    assert hide.title == f"Make 40 listed pages like {SITE}/exhibits/{{n}} indexable, or correct the sitemap"
    assert hide.rules == [rule]
    assert re.match("If .* should show the page, ", hide.how)
    assert (entries.name, entries.count) == ("entries", 1)


@pytest.mark.parametrize("rule", REPORTED_RULES)
def test_ours_every_rule_has_an_action_but_the_one_that_asks_for_none(rule: str) -> None:
    (action,) = rank_actions(audit([finding(rule, "/x")]), of([finding(rule, "/x")])).actions or [None]
    assert (action is None) == (rule == "listed.series")
    if action:
        assert action.rules == [rule]
        assert action.how == REPORTED_RULES[rule].remedy
        assert "{}" not in action.title
        assert "1 " in action.title


def test_ours_an_action_has_the_remedy_of_each_rule_that_was_found() -> None:
    rules = ("entry.gone", "entry.redirect", "entry.type", "declared.unreadable")
    found = [finding(rule, f"/{n}{rule}") for n, rule in enumerate(rules) for _ in range(8 - n)]

    def how(count: int) -> str:
        some = [each for each in found if each.rule in rules[:count]]
        return rank_actions(audit(some), of(some)).actions[0].how

    first = "entry.gone: Remove the URL from the sitemap. entry.redirect: List the target of the redirect instead."
    assert how(2) == first
    assert how(3) == f"{first} entry.type: {REPORTED_RULES['entry.type'].remedy}"
    assert how(4).endswith(" Its other findings have other remedies.")
    same = [finding(rule, f"/{rule}") for rule in ("orphan.search", "orphan.log")]
    assert rank_actions(audit(same), of(same)).actions[0].how == REPORTED_RULES["orphan.log"].remedy


def test_ours_what_only_scripts_link_to_is_no_page_that_scripts_change() -> None:
    found = [finding("render.links", "/js"), finding("render.orphan", "/static")]
    linked, changed = sorted(rank_actions(audit(found), of(found)).actions, key=lambda action: action.name)
    assert linked.title == "Link to 1 page that only scripts link to in the HTML that the server sends"
    assert (changed.title, changed.examples) == (
        "Send 1 page that scripts change as browsers show them",
        [f"{SITE}/js"],
    )


def steps_for(number: int) -> int:
    words = [f"{first}{second}" for first in "abcdefghijklmnopqrstuvwxyz" for second in "abcdefghijklmnopqrstuvwxyz"]

    def findings(rule: str) -> Iterator[AuditFinding]:
        some = Random(rule)
        for n in range(number // 4):
            yield finding(rule, f"/{some.choice(words)}/{some.choice(words)}{some.choice(words)}/{n}", people=n)

    rules = ("gone.visited", "orphan.log", "entry.gone", "listed.missing")
    base = replace(audit([]), counts=[RuleCount(rule, number // 4) for rule in rules])
    return steps(lambda: rank_actions(base, Given(findings)))


@pytest.mark.thorough
def test_ours_twice_as_many_findings_take_twice_the_work() -> None:
    assert steps_for(8_000) < 2.4 * steps_for(4_000)


@pytest.mark.parametrize("rule", ["orphan.island", "orphan.sitemap"])
def test_ours_an_island_needs_one_link(rule: str) -> None:
    """Its entrance may have another rule, and comes first or last."""
    rugs = [finding("orphan.island", f"/rugs/{n}", group="island 0", entrance=f"{SITE}/rugs/") for n in range(30)]
    index = finding(rule, "/rugs/", group="island 0", entrance=f"{SITE}/rugs/", people=7)
    found = [*rugs, index, finding("orphan.log", "/alone")]
    (action,) = rank_actions(audit(found), of(found)).actions
    assert action.title == "Add links to 2 orphans and weakly linked pages"
    assert action.count == 32
    assert "7 visits by people" in action.why
