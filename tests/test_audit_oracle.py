"""The classes of an audit against an oracle that knows the whole site, and laws that every audit obeys."""

import random
from collections.abc import Callable
from copy import deepcopy
from itertools import count
from pathlib import Path

import pytest
from audit_oracle import DECIDED, PAGE, Oracle
from made_sites import Audited, Hits, Made, Res, Told, audited
from random_sites import random_site, shrunk

from crawler.audit.rules import RULES, needs_complete
from crawler.errors import NothingCrawlable
from crawler.state.store import Resume

pytestmark = pytest.mark.thorough

Audit = Callable[..., Audited]
_LOST = ("orphan.", "weak.")


@pytest.fixture
def audit(tmp_path: Path) -> Audit:
    """Audits a site, each with a state of its own unless a folder is given."""
    numbers = count()

    def once(site: Made, folder: Path | None = None, /, **more: object) -> Audited:
        folder = folder or tmp_path / str(next(numbers))
        folder.mkdir(exist_ok=True)
        more["scope"] = {"ask_all": True, **more.get("scope", {})}  # type: ignore[dict-item]
        return audited(site, folder, **more)  # type: ignore[arg-type]

    return once


def decided(told: Told) -> Told:
    """The findings that the oracle knows of."""
    found = {(rule.replace("listed.series", "listed.missing"), path): sure for (rule, path), sure in told.items()}
    return {each: sure for each, sure in found.items() if each[0] in DECIDED}


def differs(audit: Audit, site: Made) -> bool:
    try:
        return decided(audit(site).told) != Oracle(site).told()
    except NothingCrawlable:
        return False


def agree(audit: Audit, seeds: range) -> None:
    for seed in seeds:
        if differs(audit, random_site(seed)):
            site = shrunk(random_site(seed), lambda each: differs(audit, each))
            assert decided(audit(site).told) == Oracle(site).told(), (seed, site)


def test_ours_the_classes_of_small_sites_are_those_of_the_oracle(audit: Audit) -> None:
    agree(audit, range(20))


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_ours_the_classes_of_1_000_sites_are_those_of_the_oracle(audit: Audit) -> None:
    agree(audit, range(100_000, 101_000))


# ---------------------------------------------------------------- laws


def one_more_link(audit: Audit, site: Made) -> None:
    """A followed link from the start to an orphan rescues that one, and what it leads to, and nothing else."""
    truth, before = Oracle(site), audit(site).told
    orphans = sorted(path for rule, path in before if rule.startswith("orphan."))
    if truth.state("/") == PAGE and not site.pages["/"].hushed and orphans:
        linked = deepcopy(site)
        linked.pages["/"].links.append((orphans[0], "a"))
        lost, left = ({path for rule, path in told if rule.startswith(_LOST)} for told in (before, audit(linked).told))
        below = Oracle(linked).closure({orphans[0]})
        assert orphans[0] not in left
        assert lost ^ left <= below


def another_order(audit: Audit, site: Made) -> None:
    """The order of links, of pages and of the rows of sources changes nothing."""
    dice, other = random.Random(1), deepcopy(site)
    other.pages = dict(dice.sample(list(other.pages.items()), len(other.pages)))
    for rows in (
        *(page.links for page in other.pages.values()),
        *(other.listed, other.hits, other.searched, other.noted, other.blocked),
    ):
        dice.shuffle(rows)
    known = [
        {(each.rule, each.url): (each.sentence, each.known, each.people, each.depth, each.inlinks) for each in found}
        for found in (audit(site).findings, audit(other).findings)
    ]
    assert known[0] == known[1]


def another_source(audit: Audit, site: Made) -> None:
    """A source more makes nothing unknown."""
    dice, more = random.Random(2), deepcopy(site)
    more.noted += [path for path in site.pages if dice.random() < 0.5]
    copies = Oracle(more).copies
    known: dict[str, set[str]] = {}
    for each in audit(more).findings:
        known.setdefault(each.url, set()).update(each.known)
    for each in audit(site).findings:
        assert set(each.known) <= known.get(each.url, {*each.known}), each.url
        if each.rule.startswith("orphan."):
            assert each.url in known or each.url.removeprefix("https://s.example") in copies


def a_limit(audit: Audit, site: Made) -> None:
    """A limit of pages makes what is certain inconclusive, and nothing certain that is not so."""
    whole = audit(site)
    for most in (1, 3):
        part = audit(site, scope={"max_pages": most})
        for each, sure in part.told.items():
            assert not sure or whole.told.get(each), (most, each)
            assert not (sure and part.report.exit_code and each[0] in RULES and needs_complete(each[0]))


def twice(audit: Audit, site: Made, folder: Path) -> None:
    """An audit after another says the same, and so does one that went on from where another was cut short."""
    first = audit(site, folder)
    assert audit(site, folder, begin=Resume.ALWAYS).whole == first.whole
    audit(site, folder, begin=Resume.FRESH, scope={"max_pages": 2})
    assert audit(site, folder, begin=Resume.ALWAYS).told == first.told


def all_laws(audit: Audit, site: Made, folder: Path) -> None:
    try:
        for law in (one_more_link, another_order, another_source, a_limit):
            law(audit, site)
        twice(audit, site, folder)
    except NothingCrawlable:
        return


def test_ours_audits_obey_their_laws(audit: Audit, tmp_path: Path) -> None:
    for seed in range(2):
        all_laws(audit, random_site(seed + 500), tmp_path / f"law {seed}")


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_ours_audits_of_100_sites_obey_their_laws(audit: Audit, tmp_path: Path) -> None:
    for seed in range(100):
        all_laws(audit, random_site(seed + 200_000), tmp_path / f"law {seed}")


# ---------------------------------------------------------------- the smallest sites on which something was wrong


def test_ours_canonicals_in_a_circle_are_no_failure(audit: Audit) -> None:
    """What redirects to such a page gets there."""
    pages = {
        "/": Res(links=[("/moved", "a"), ("/two", "a")]),
        "/moved": Res(301, target="/one"),
        "/one": Res(canonicals=["/two"]),
        "/two": Res(canonicals=["/one"]),
    }
    assert not [rule for rule, _ in audit(Made(pages)).told if rule == "gone.failing"]
    pages["/two"] = Res(301, target="/moved")
    pages["/one"] = Res(301, target="/two")
    pages["/"].links.append(("http:/moved", "a"))  # another name of the site, which nobody asks for
    failing = {path for rule, path in audit(Made(pages)).told if rule == "gone.failing"}
    assert failing == {"/moved", "/two"}


def test_ours_who_is_led_into_a_circle_came_for_what_they_asked_for(audit: Audit) -> None:
    pages = {"/": Res(), "/old": Res(301, target="/a"), "/a": Res(301, target="/b"), "/b": Res(302, target="/a")}
    told = audit(Made(pages, hits=[Hits("/old", 301, people=9)])).told
    assert [path for rule, path in told if rule == "gone.down"] == ["/old"]


@pytest.mark.parametrize("by", ["one page", "two pages"])
def test_ours_what_the_head_names_is_that_whatever_else_unreachable_pages_say(audit: Audit, by: str) -> None:
    named = [("/x", "a"), ("/x", "amp")]
    pages = {"/": Res(links=[("/w", "a"), ("/v", "hreflang")]), "/w": Res(), "/x": Res()}
    pages["/v"] = Res(links=named if by == "one page" else named[:1])
    if by == "two pages":
        pages["/w"].links = named[1:]
    assert ("weak.head", "/x") in audit(Made(pages)).told


def test_ours_what_a_limited_crawl_did_not_ask_for_may_be_the_entry_of_any_page(audit: Audit) -> None:
    pages = {"/": Res(links=[("/w", "a")]), "/w": Res(), "/old": Res(301, target="/w")}
    site = Made(pages, listed=["/", "/old"])
    assert audit(site, scope={"max_pages": 2}).told["listed.missing", "/w"] is False
    assert ("listed.missing", "/w") not in audit(site).told
    site.settings["max_unlinked"] = 0
    assert audit(site).told["listed.missing", "/w"] is False


def test_ours_what_nobody_ever_got_is_no_visit_to_what_it_is_spelt_like(audit: Audit) -> None:
    pages = {"/": Res(links=[("/w", "a")]), "/w": Res(), "/x": Res()}
    site = Made(pages, noted=["/x"], hits=[Hits("/X", 404, people=4)])
    found = audit(site)
    assert ("orphan.list", "/x") in found.told
    assert next(each.known for each in found.findings if each.rule == "orphan.list") == ["list"]
    pages["/X"], site.hits[0].status = Res(301, target="/x"), 301
    assert ("orphan.log", "/x") in audit(site).told


def test_ours_of_spellings_that_nothing_leads_to_the_one_that_the_site_names_is_the_page(audit: Audit) -> None:
    pages = {"/": Res(links=[("/w", "a")]), "/w": Res(), "/i": Res(links=[("/x", "a")])}
    pages |= {"/x": Res(), "/X": Res(same="/x")}
    site = Made(pages, noted=["/X"], listed=["/i"])
    assert {("orphan.island", "/x"), ("orphan.sitemap", "/i")} == {
        each for each in audit(site).told if each[0].startswith("orphan.")
    }


def test_ours_a_listed_page_with_a_parameter_more_is_the_same_page(audit: Audit) -> None:
    pages = {"/": Res(links=[("/w", "a")]), "/w": Res(), "/x?v=1": Res(), "/x?v=1&z=1": Res(same="/x?v=1")}
    site = Made(pages, listed=["/x?v=1"], hits=[Hits("/x?v=1&z=1", 200, people=3)])
    assert {path for rule, path in audit(site).told if rule.startswith("orphan.")} == {"/x?v=1"}


def test_ours_who_comes_to_a_page_comes_to_no_dead_one_that_it_calls_its_canonical(audit: Audit) -> None:
    pages = {"/": Res(links=[("/w", "a"), ("/moved", "hreflang")]), "/w": Res(canonicals=["/dead"])}
    pages["/moved"] = Res(301, target="/dead")
    site = Made(pages, searched=["/w"])
    assert not [each for each in audit(site).told if each[0].startswith("gone.")]
    pages["/"].links.append(("/moved", "a"))
    assert ("gone.linked", "/dead") in audit(site).told


def test_ours_what_an_orphan_links_by_nofollow_is_asked_for_too(audit: Audit) -> None:
    pages = {"/": Res(links=[("/w", "a")]), "/w": Res(), "/x": Res(links=[("/y", "nofollow")]), "/y": Res()}
    found = audit(Made(pages, noted=["/x"])).told
    assert {("orphan.list", "/x"), ("orphan.island", "/y")} <= found.keys()


def test_ours_what_nofollow_links_lead_to_is_no_page_of_its_own_if_it_says_the_same_to_the_byte(audit: Audit) -> None:
    script, other = "/index.php?title=W", "/index.php?title=w&lang=en"
    pages = {"/": Res(links=[("/w", "a"), (script, "nofollow"), (other, "nofollow")]), "/w": Res(up=True)}
    pages |= {script: Res(same="/w", up=True), other: Res(up=True)}
    assert [path for rule, path in audit(Made(pages)).told if rule.startswith("weak.")] == [other]
    pages["/w"] = Res(noindex="meta")
    pages[other].same = "/w"
    assert [path for rule, path in audit(Made(pages)).told if rule.startswith("weak.")] == [script]


@pytest.mark.parametrize("bare", [False, True])
def test_ours_it_is_the_page_too_if_scripts_alone_differ_but_not_where_they_make_the_page(
    audit: Audit, bare: bool
) -> None:
    script = "/index.php?title=W"
    pages = {"/": Res(links=[("/w", "a"), (script, "nofollow")]), "/w": Res(bare=bare)}
    pages[script] = Res(same="/w", bare=bare, script="let request = 7")
    assert (("weak.nofollow", script) in audit(Made(pages)).told) is bare


def test_ours_what_is_linked_by_another_name_is_asked_for_whatever_a_log_says_of_it(audit: Audit) -> None:
    pages = {"/": Res(links=[("/w", "a"), ("http:/x", "a")]), "/w": Res(), "/x": Res()}
    found = audit(Made(pages, hits=[Hits("/x", 404, people=1)]))
    assert found.told["weak.redirect", "/x"] is True
    assert found.report.doubts == []


# ---------------------------------------------------------------- what only matters where the start leads to it

TWO = {"/": Res(links=[("/w", "a")]), "/w": Res()}
"""A start and another page."""


def test_ours_only_what_the_start_leads_to_is_doubted(audit: Audit) -> None:
    by: dict[str, tuple[list[tuple[str, str]], dict[str, object]]] = {
        "read in part only": ([("/v", "a"), ("/w", "a")], {"parse": {"max_links": 1}}),
        "too long to be fetched": ([("/" + "v" * 9_000, "a")], {}),
        "outside the directory": ([("/out", "a")], {"site": {"url": "https://s.example/d/"}}),
    }
    for said, (links, more) in by.items():
        top = "/d" if "site" in more else ""
        pages = {f"{top}/": Res(links=[(f"{top}/w", "a")]), f"{top}/w": Res(), f"{top}/x": Res(links=links)}
        site = Made(pages, noted=[f"{top}/x"])
        assert audit(site, **more).report.doubts == [], said
        pages[f"{top}/w"].links = links
        (doubt,) = audit(site, **more).report.doubts
        assert said in doubt


def test_ours_what_is_linked_by_another_name_and_was_not_asked_for_is_a_doubt(audit: Audit) -> None:
    pages = {"/": Res(links=[("/w", "a"), ("http:/x", "a")]), "/w": Res(), "/x": Res()}
    (doubt,) = audit(Made(pages, settings={"max_unlinked": 0})).report.doubts
    assert "with another name of the site was not read" in doubt


# ---------------------------------------------------------------- what is asked for, and what is a page


def test_ours_what_nobody_got_is_asked_for_when_enough_want_it(audit: Audit) -> None:
    for people in (4, 5):
        found = audit(Made(TWO, hits=[Hits("/never", 404, people=people)]))
        assert ("/never" in found.asked) == (("gone.visited", "/never") in found.told) == (people == 5)


def test_ours_a_spelling_that_only_ever_redirected_is_not_asked_for(audit: Audit) -> None:
    assert "/W" not in audit(Made(TWO, hits=[Hits("/W", 301, people=9)])).asked
    assert "/W" in audit(Made(TWO, hits=[Hits("/W", 200, people=1)])).asked


def test_ours_parameters_that_change_a_text_and_not_the_title_make_another_page(audit: Audit) -> None:
    site = Made({**TWO, "/w?z=1": Res(same="/w", bare=True)}, hits=[Hits("/w?z=1", 200, people=1)])
    assert [each for each in audit(site).told if each[0] == "orphan.log"] == [("orphan.log", "/w?z=1")]


def test_ours_a_copy_is_no_page_whoever_names_it(audit: Audit) -> None:
    pages = {**TWO, "/i": Res(links=[("/x", "a"), ("/X", "a")]), "/x": Res(), "/X": Res(same="/x")}
    found = audit(Made(pages, noted=["/i"])).told
    assert {path for rule, path in found if rule.startswith("orphan.")} == {"/i", "/x"}


def test_ours_what_a_list_named_that_is_not_given_again_is_forgotten(audit: Audit, tmp_path: Path) -> None:
    site = Made({**TWO, "/x": Res(), "/y": Res()}, noted=["/x", "/y"])
    assert audit(site, tmp_path / "one", scope={"max_pages": 3}).report.exit_code == 4
    site.noted = ["/y"]
    found = audit(site, tmp_path / "one", begin=Resume.ALWAYS).told
    assert {path for rule, path in found if rule.startswith("orphan.")} == {"/y"}


def test_ours_an_entry_with_a_tracking_parameter_is_the_same_page_twice(audit: Audit) -> None:
    found = audit(Made(TWO, listed=["/", "/w", "/w?utm_source=sitemap"])).told
    assert ("entry.duplicate", "/w") in found


def test_ours_another_name_of_the_site_invites_to_what_closed_pages_only_nofollow(audit: Audit) -> None:
    pages = {"/": Res(links=[("/w", "a"), ("/v", "a"), ("http:/x", "a")]), "/w": Res(), "/x": Res()}
    pages["/v"] = Res(links=[("/x", "nofollow")], noindex="meta")
    assert audit(Made(pages)).told["weak.redirect", "/x"] is True
