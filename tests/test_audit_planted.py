"""The proof of the audit: a made site of 2,000 pages with planted members of every class, and the exact set of each."""

import fcntl
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import planted_sources
import pytest
from planted_site import APART, HOST, MAX_CLICKS, PAGES, Answer, Planted, plant, serving
from run import siteatlas

from crawler.audit.rules import RULES as ALL_RULES
from crawler.audit.rules import needs_complete

pytestmark = pytest.mark.thorough

RULES = {name: rule for name, rule in ALL_RULES.items() if rule.family not in APART}


@dataclass
class Audited:
    """What the audit said of the planted site."""

    site: Planted
    code: int
    report: dict[str, Any]
    out: str

    def urls(self, rule: str) -> list[str]:
        """The URLs with a finding of a rule."""
        return sorted(each["url"] for each in self.report["findings"] if each["rule"] == rule)

    def finding(self, rule: str, path: str) -> dict[str, Any]:
        """The finding of a rule about a path."""
        url = self.site.url(path)
        (found,) = (each for each in self.report["findings"] if (each["rule"], each["url"]) == (rule, url))
        return dict(found)


def audits(site: Planted, folder: Path) -> Callable[..., Audited]:
    """The command with all sources of a site."""
    sources = planted_sources.write(site, folder)
    port = site.origin.rpartition(":")[2]
    resolve = [word for name in (HOST, f"www.{HOST}") for word in ("--resolve", f"{name}:{port}:127.0.0.1")]
    words = [*sources, *resolve, "--rate", "0", "-c", "16", "--set=fetch.retries=0"]
    words += [
        "--set=audit.min_log_days=9999",
        f"--set=audit.max_clicks={MAX_CLICKS}",
        "--state",
        "state",
        "-o",
        "out",
        "--format",
        "json",
    ]

    def audit(*more: str) -> Audited:
        ran = siteatlas(folder, "audit", f"{site.origin}/", *words, *more, timeout=110)
        return Audited(site, ran.code, json.loads((folder / "out" / "audit.json").read_bytes()), ran.out)

    return audit


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Audited, Audited]:
    """An audit that met its limit of pages, and the one that went on from there; made once for all processes."""
    own = tmp_path_factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "planted"
    folder.mkdir(exist_ok=True)
    result = folder / "result.json"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not result.exists():
            with serving() as site:
                audit = audits(site, folder)
                ran = [audit("--max-pages", "700"), audit()]
            told = [(each.code, each.report, each.out) for each in ran]
            result.write_text(json.dumps([site.origin, *told]))
    origin, *told = json.loads(result.read_text())
    limited, whole = (Audited(plant(origin), *each) for each in told)
    return limited, whole


@pytest.fixture
def limited(both: tuple[Audited, Audited]) -> Audited:
    return both[0]


@pytest.fixture
def audited(both: tuple[Audited, Audited]) -> Audited:
    return both[1]


def test_ours_the_site_has_2_000_pages(audited: Audited) -> None:
    assert len(audited.site.pages) == PAGES


def test_ours_precision_and_recall_of_each_class_are_1(audited: Audited) -> None:
    assert {rule: audited.urls(rule) for rule in RULES} == {
        rule: sorted(urls) for rule, urls in audited.site.truth.items() if rule in RULES
    }


def test_ours_lint_finds_nothing_but_what_is_planted(audited: Audited) -> None:
    shown = ("place.", "target.", "page.")
    told = {each["rule"] for each in audited.report["findings"] if not each["rule"].startswith(shown)} - set(RULES)
    assert {rule: audited.urls(rule) for rule in told} == {
        rule: sorted(urls) for rule, urls in audited.site.truth.items() if rule not in RULES
    }


def test_ours_a_complete_crawl_is_certain(audited: Audited) -> None:
    assert audited.code == 0
    assert audited.report["doubts"] == []
    assert audited.report["completeness"] == "complete"
    assert [each["url"] for each in audited.report["findings"] if not each["is_certain"]] == []


def test_ours_documents_that_nothing_links_to_are_counted(audited: Audited) -> None:
    (note,) = (each for each in audited.report["notes"] if "documents-without-links" in each)
    assert f"no page links to 1 document, such as {audited.site.url('/listed/plan.pdf')}: " in note


def test_ours_a_limited_crawl_calls_no_page_an_orphan(limited: Audited) -> None:
    assert limited.code == 4
    assert limited.report["completeness"] == "truncated"
    (doubt,) = limited.report["doubts"]
    assert doubt.startswith("the crawl is not complete: the limit of pages (--max-pages) was reached, with ")
    said = [each for each in limited.report["findings"] if each["rule"] in RULES]
    assert {each["rule"] for each in said if not each["is_certain"]} >= {"reach.few", "weak.redirect"}
    assert not [each for each in said if each["is_certain"] and needs_complete(each["rule"])]
    certain = {(each["rule"], each["url"]) for each in said if each["is_certain"]}
    certain -= {each for each in certain if each[0] == "entry.outside"}  # other names were not asked for
    assert not {(rule, url) for rule, url in certain if url not in limited.site.truth[rule]}


@pytest.mark.parametrize(
    ("path", "answer", "doubt"),
    [
        ("/stories/", Answer(500), "1 URL failed (server error), such as {}/stories/ (answered 500"),
        (
            "/robots.txt",
            Answer(200, b"User-agent: *\nDisallow: /private/\nDisallow: /stories/"),
            "1 URL is blocked by robots.txt and was not read, such as {}/stories/ (robots.txt line 3: ",
        ),
    ],
    ids=["a failed hub", "a blocked section"],
)
def test_ours_what_was_not_read_makes_every_orphan_inconclusive(
    tmp_path: Path, path: str, answer: Answer, doubt: str
) -> None:
    with serving(pages=400) as site:
        site.answers[path] = answer
        audited = audits(site, tmp_path)("--set=audit.media=false")
        (said,) = audited.report["doubts"]
        assert said.startswith(doubt.format(site.origin))
        assert audited.code == 0
        for each in audited.report["findings"]:
            assert not (each["is_certain"] and each["rule"] in RULES and needs_complete(each["rule"])), each
        for rule, urls in site.truth.items():
            if rule.startswith("orphan."):
                assert urls <= set(audited.urls(rule)), "they are told all the same"


def test_ours_standard_output_has_the_same_report(audited: Audited) -> None:
    assert json.loads(audited.out) == audited.report


def test_ours_the_page_that_should_link_to_an_orphan_is_among_the_first_three(audited: Audited) -> None:
    suggested = {
        each["url"]: [hub["url"] for hub in each["hubs"]]
        for each in audited.report["findings"]
        if each["rule"].startswith("orphan.")
    }
    missed = {url: suggested[url] for url, hub in audited.site.hubs.items() if hub not in suggested[url][:3]}
    assert not missed
    assert all(len(hubs) <= 3 for hubs in suggested.values())


def test_ours_a_finding_has_the_evidence_of_all_sources(audited: Audited) -> None:
    found = audited.finding("orphan.sitemap", "/recipes/soup/lost-ladle/")
    told = ("people", "bots", "first", "last", "clicks", "impressions", "sessions", "backlinks")
    assert {name: found[name] for name in told} == {
        "people": 14,
        "bots": 6,
        "first": "2025-02-03",
        "last": "2025-08-30",
        "clicks": 21,
        "impressions": 640,
        "sessions": 33,
        "backlinks": 2,
    }
    assert sorted(found["known"]) == ["analytics", "backlinks", "crawl", "list", "log", "search", "sitemap"]
    for name in (
        "sitemap-",  # the file that lists it, not the index
        "Pages.csv",
        "ga4.csv",
        "backlinks.csv",
        "urls.txt",
        "internal_html.csv",
        "access.log",
    ):
        assert any(name in sentence for sentence in found["evidence"]), name
    assert found["depth"] is None
    assert found["inlinks"] == 0


def test_ours_hits_of_all_spellings_are_one_pages(audited: Audited) -> None:
    found = audited.finding("orphan.log", "/shop/chairs/black-friday/")
    assert (found["people"], found["bots"]) == (24, 3)  # five more were sent here, and asked again
    assert (found["first"], found["last"]) == ("2024-11-01", "2025-09-20")
    assert audited.site.url("/shop/chairs/black-friday") in found["spellings"]
    assert audited.site.url("/SHOP/Chairs/Black-Friday/") in found["spellings"]
    found = audited.finding("orphan.search", "/Team/Old-Colleague")
    assert found["sessions"] == 57
    assert found["spellings"] == [audited.site.url("/team/old-colleague")]
    assert audited.finding("orphan.list", "/landing/friend/")["spellings"] == [audited.site.url("/r/friend")]


def test_ours_redirects_in_a_loop_are_called_so(audited: Audited) -> None:
    assert ", and from there in a loop" in audited.finding("gone.failing", "/loop/a/")["sentence"]


def test_ours_weak_links_are_shown_with_the_pages_they_stand_on(audited: Audited) -> None:
    url = audited.site.url
    found = audited.finding("weak.noindex", "/guides/kitchen/tagged-three/")
    assert {each["url"] for each in found["referrers"]} == {url("/tags/"), url("/archive/tags/")}
    found = audited.finding("weak.nofollow", "/guides/garden/hushed-plain/")
    assert {(each["url"], each["how"]) for each in found["referrers"]} == {
        (url("/about/"), "nofollow"),
        (url("/guides/kitchen/"), "nofollow"),
    }
    found = audited.finding("weak.redirect", "/shop/lamps/chained/")
    assert any(each["how"].startswith("redirect") for each in found["referrers"])


def test_ours_what_was_there_once_is_told_by_its_visits(audited: Audited) -> None:
    found = audited.finding("gone.visited", "/news/closed-shop/")
    assert (found["status"], found["people"], found["last"]) == (410, 34, "2025-09-01")
    found = audited.finding("gone.linked", "/guides/absent/")
    assert {each["url"] for each in found["referrers"][:2]} == {
        audited.site.url("/about/"),
        audited.site.url("/guides/garden/"),
    }


def test_ours_what_is_wrong_with_an_entry_is_told_with_the_links_to_it(audited: Audited) -> None:
    found = audited.finding("entry.noindex", "/listed/hidden/")
    assert (found["depth"], found["inlinks"]) == (2, 1)
    assert [each["url"] for each in found["referrers"]] == [audited.site.url("/about/")]
    assert found["weight"] > 0


def test_ours_depth_is_counted_in_clicks(audited: Audited) -> None:
    found = {each["url"]: each["depth"] for each in audited.report["findings"] if each["rule"] == "reach.deep"}
    assert found[audited.site.url("/archive/2019/05/a/b/")] == 5
    assert found[audited.site.url("/archive/2019/05/a/b/c/")] == 6


def test_ours_islands_are_told_apart(audited: Audited) -> None:
    groups: dict[str, set[str]] = {}
    for each in audited.report["findings"]:
        if each["rule"] == "orphan.island":
            groups.setdefault(each["group"], set()).add(each["url"])
    url = audited.site.url
    assert {url(f"/lost/{name}/") for name in "abc"} in groups.values()
    assert {url("/lost/left/"), url("/lost/right/")} in groups.values()


def test_ours_sources_are_accounted_for(audited: Audited) -> None:
    by_source: dict[str, list[dict[str, Any]]] = {}
    for each in audited.report["inputs"]:
        by_source.setdefault(each["source"], []).append(each)
    assert len(by_source["log"]) == 3
    assert sum(each["unread"] for each in by_source["log"]) == 1
    assert by_source["analytics"][0]["rows"] == len(audited.site.analysed) + 2
    assert (by_source["search"][0]["used"], by_source["search"][0]["beside"]) == (len(audited.site.searched) - 1, 1)
    assert by_source["backlinks"][0]["used"] == len(audited.site.backlinks)
    assert all(each["complete"] for each in audited.report["inputs"])
