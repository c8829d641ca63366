"""What the HTML report says, and what is in it, before any browser reads it."""

import base64
import gzip
import hashlib
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import pytest
from audits import Given, audit, of
from made_report import made, write_page
from msgspec.structs import replace
from naughty import NAUGHTY, storable
from selectolax.lexbor import LexborHTMLParser, LexborNode

from crawler.audit.actions import rank_actions
from crawler.audit.finding import (
    AuditFinding,
    AuditFindings,
    AuditReport,
    Certainty,
    HistogramBar,
    LinkSuggestion,
    Referrer,
    RuleCount,
    SiteSection,
)
from crawler.audit.patterns import fold_findings
from crawler.audit.report.html import action_title, keep_options_whole, link_text, percent_text
from crawler.audit.report.html_data import allotment, known_visits
from crawler.audit.rules import REPORTED_RULES, RULES
from crawler.audit.source_record import file_name
from crawler.packages import install_command
from sitemap import shorten

WORDS = [storable(text) for text in NAUGHTY]


def page(path: Path, report: AuditReport, findings: AuditFindings, **options: Any) -> LexborHTMLParser:
    write_page(report, findings, path / "audit.html", **options)
    return LexborHTMLParser((path / "audit.html").read_bytes())


def text(node: LexborNode | None) -> str:
    assert node is not None
    return " ".join(node.text().split())


def packed(tree: LexborHTMLParser, kind: str) -> list[Any]:
    return [json.loads(gzip.decompress(base64.b64decode(each.text()))) for each in tree.css(f"script.{kind}")]


@pytest.mark.thorough
def test_ours_a_complete_crawl_is_conclusive_and_says_so_first(tmp_path: Path) -> None:
    tree = page(tmp_path, *made(100))
    assert text(tree.css_first("main > section h2")) == "Conclusive: the crawl was complete"
    assert text(tree.css_first("title")) == "Conclusive: audit of https://shop.example/"
    assert "inconclusive" not in text(tree.css_first(".verdict")).lower()


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://shop.example/a%20b?c=1", "https://shop.example/a%20b?c=1"),
        ("https://shop.example/straße", "https://shop.example/straße"),
        ("https://shop.example/?utm_source=x", "https://shop.example/?utm_source=x"),
        ("https://shop.example/\u202egpj.exe", r"https://shop.example/\u202egpj.exe"),
        ("https://sh\u043ep.example/a", "https://xn--shp-ted.example/a"),  # a Cyrillic letter
        ("HTTPS://SHOP.example:443/a", "https://shop.example/a"),
        ("https://shop。example/a", "https://shop.example/a"),
        ("no URL", "no URL"),
    ],
)
def test_ours_a_link_names_the_host_that_it_leads_to(url: str, shown: str) -> None:
    assert link_text(url) == shown


def test_ours_the_pattern_in_the_title_of_an_action_is_a_path_as_its_examples_are() -> None:
    urls = [f"https://shop.example/old/page-{n}" for n in range(40)]
    found = [AuditFinding(rule="gone.visited", url=url, sentence="") for url in urls]
    (action,) = rank_actions(audit(found), of(found)).actions
    redirect, rest = "Redirect 40 dead URLs like ", "/old/page-{n} to the pages that replace them"
    assert action_title(action, "https://shop.example/en/") == f"{redirect}{rest}"
    for other in ("https://shop.example.com/", "http://shop.example/", "https://shop.exampl/"):
        assert action_title(action, other) == f"{redirect}https://shop.example{rest}"


def test_ours_the_column_of_visits_has_visits() -> None:
    finding = AuditFinding(rule="gone.visited", url="https://shop.example/", sentence="")
    assert known_visits(replace(finding, people=40, bots=900, impressions=13_688, backlinks=70)) == 40
    assert known_visits(replace(finding, sessions=12, views=30, users=9, clicks=3)) == 12
    assert known_visits(replace(finding, views=30)) == 30


def test_ours_an_incomplete_crawl_is_inconclusive_with_every_reason(tmp_path: Path) -> None:
    report, findings = made(100, is_complete=False)
    tree = page(tmp_path, report, findings)
    verdict = tree.css_first("main > section")
    assert text(verdict.css_first("h2")) == "INCONCLUSIVE"
    assert [text(each) for each in verdict.css("li")] == report.doubts
    open_ = sum(each.open_ for each in report.counts)
    assert f"may disprove {open_} of the findings" in text(verdict)
    assert text(tree.css_first("title")).startswith("Inconclusive")


@pytest.mark.thorough
def test_ours_every_class_has_its_count_its_meaning_and_its_remedy(tmp_path: Path) -> None:
    report, findings = made(2_000, is_complete=False)
    tree = page(tmp_path, report, findings)
    told = {each.id.removeprefix("class="): each for each in tree.css("details[id]")}
    assert set(told) == {each.rule for each in report.counts}
    for count in report.counts:
        words = text(told[count.rule])
        assert text(told[count.rule].css_first("summary .count")) == f"{count.total:,}"
        assert bool(told[count.rule].css("summary .open")) == bool(count.open_)
        if rule := RULES.get(count.rule):
            assert {rule.title, rule.sentence, rule.remedy, rule.severity.value} <= {
                part for part in (rule.title, rule.sentence, rule.remedy, rule.severity.value) if part in words
            }
        if count.rule == "orphan.island":
            continue
        first = list(islice(fold_findings(findings(count.rule), report.patterns_of(count.rule)), 10))
        urls = [each.url for each in first if isinstance(each, AuditFinding)]
        assert [text(each) for each in told[count.rule].css("ol .url > a")] == urls
        assert len(told[count.rule].css("ol > li")) == len(first)


def test_ours_sources_and_figures_are_there_without_a_script(tmp_path: Path) -> None:
    report, findings = made(50)
    tree = page(tmp_path, report, findings)
    sources = tree.css("#sources tbody tr")
    assert [text(each.css_first("bdi")) for each in sources] == [file_name(each.name) for each in report.inputs]
    assert "access.log" in text(tree.css_first("#sources"))
    assert "/var/log" not in text(tree.css_first("#sources"))
    partial = next(each for each in sources if "partial" in (each.attributes.get("class") or ""))
    assert "The file ends in the middle: copy it again." in text(partial)
    assert "20,441,082" in text(sources[1])
    assert "4.1 GB" in text(sources[1])
    bars = tree.css(".charts table.bars")
    assert [len(each.css("tbody tr")) for each in bars] == [
        len(each) for each in (report.states, report.statuses, report.depths, report.inlinks, report.ages)
    ]
    assert len(tree.css(".sections tbody tr")) == len(report.sections)
    assert "86,255" in text(tree.css_first(".figures"))


def test_ours_an_audit_that_found_nothing_says_so(tmp_path: Path) -> None:
    report, _ = made(1)
    empty = msgspec.structs.replace(
        report,
        counts=[],
        inputs=[],
        states=[],
        statuses=[],
        depths=[],
        ages=[],
        inlinks=[],
        sections=[],
        notes=[],
        actions=[],
        patterns=[],
        bots=None,
        history=[],
    )
    tree = page(tmp_path, empty, lambda _: iter(()))
    assert "No findings: every page is linked" in text(tree.css_first("#classes"))
    assert not tree.css("figure")
    assert "Finding orphans needs" in text(tree.css_first("#sources"))


def test_ours_what_nobody_looked_for_is_said_and_no_green_light_is_given(tmp_path: Path) -> None:
    report, findings = made(100)
    unseen = msgspec.structs.replace(
        report,
        counts=[],
        unchecked={"orphans": "no log", "media": "--set audit.media=false"},
        undecided={"reach": "cut short"},
        unasked=7,
    )
    tree = page(tmp_path, unseen, findings)
    verdict = tree.css_first("main > section")
    assert text(verdict.css_first("h2")) == "Nothing to compare with"
    assert "no log" in text(verdict)
    assert "7 URLs that only sources name were not fetched" in text(verdict)
    told = [text(each) for each in tree.css("#unchecked dt, #unchecked dd")]
    assert told[0] == "Checked, without findings"
    assert told[1].startswith("Dead URLs · ")
    assert told[-6:] == [
        "Not checked: no log", "Orphans", "Not checked: --set audit.media=false", "Images and videos",
        "Not decided: cut short", "Hard to reach",
    ]  # fmt: skip
    assert "Nothing: every page" not in text(tree.css_first("#classes"))


def test_ours_a_likely_verdict_names_no_other_reason_than_its_doubts(tmp_path: Path) -> None:
    report, findings = made(100)
    doubt = "1 page had other links in an earlier audit"
    likely = msgspec.structs.replace(report, doubts=[doubt], certainty=Certainty.LIKELY)
    verdict = page(tmp_path, likely, findings).css_first("main > section")
    assert text(verdict.css_first("h2")) == "Likely: the crawl may have missed some links"
    assert doubt in text(verdict)
    assert "missed pages" not in text(verdict)


def test_ours_a_remedy_is_a_command_of_any_machine(tmp_path: Path) -> None:
    report, findings = made(100)
    told = msgspec.structs.replace(
        report, doubts=[f"Run {install_command('render')}, and audit again"], certainty=Certainty.LIKELY
    )
    shown = text(page(tmp_path, told, findings).body)
    assert "Run pip install" in shown
    assert sys.executable not in shown


def test_ours_a_column_of_bars_has_no_heading(tmp_path: Path) -> None:
    tree = page(tmp_path, *made(100, is_compared=True))
    assert tree.css(".bars .bar")
    assert "Bar" not in {text(each) for each in tree.css("th")}


def test_ours_what_became_of_the_audit_before_is_told(tmp_path: Path) -> None:
    report, findings = made(300, is_compared=True)
    assert report.compared is not None
    tree = page(tmp_path, report, findings)
    new, still = (sum(getattr(each, name) for each in report.compared.trends) for name in ("new", "still"))
    unsettled = sum(each.total for each in report.counts) - new - still
    assert unsettled == report.count("orphan.log").total
    said = f"UTC: {new} new, 253 resolved, {still} still there, {unsettled} may be new."
    assert said in text(tree.css_first(".short"))
    assert [each.attributes["href"] for each in tree.css(".short p + p a")] == ["#since=new", "#mended"]
    mended = tree.css_first("#mended")
    assert [text(each) for each in mended.css(".count")] == ["250", "3"]
    dead, gone = mended.css("details")
    assert len(dead.css("li")) == 200
    assert "And 50 more: all are in csv/mended.csv." in text(dead)
    assert [text(each) for each in gone.css("li")] == [
        "https://shop.example/entry.gone/0 it was in sitemap.xml · found since 2026-10-01",
        *(
            f"https://shop.example/entry.gone/{n} answered 200 · it was in sitemap.xml · found since 2026-10-01"
            for n in (1, 2)
        ),
    ]
    assert "Not compared: the audit before was given no log In the logs, but not linked" in text(mended)
    trend = report.trend("entry.gone")
    told = tree.css_first('[id="class=entry.gone"]')
    assert text(told.css_first(".new")) == f"{trend.new} new"
    assert f"previous audit: {trend.new} new, {trend.still} still there, 3 resolved" in text(told)
    assert tree.css_first('[id="class=orphan.log"] .new') is None


def test_ours_an_audit_with_none_before_it_speaks_of_none(tmp_path: Path) -> None:
    tree = page(tmp_path, *made(300))
    assert tree.css_first("#mended, [name=since], th.since, .new") is None
    for script in tree.css("script, style"):
        script.decompose()
    assert "since" not in text(tree.body).lower()


@pytest.mark.thorough
def test_ours_the_findings_are_counted_by_severity_at_the_top(tmp_path: Path) -> None:
    report, findings = made(300)
    tree = page(tmp_path, report, findings)
    counts = Counter[str]()
    for each in report.counts:
        counts[REPORTED_RULES[each.rule].severity] += each.total
    assert [text(each) for each in tree.css(".short .badge")] == [
        f"{counts[severity]} {severity}s" for severity in ("error", "warning", "note")
    ]
    empty = page(tmp_path, replace(report, counts=[]), Given(lambda _: iter(())))
    assert text(empty.css_first(".short")) == "No findings."


def test_ours_no_line_ends_within_the_name_of_an_option() -> None:
    assert keep_options_whole("raise --max-outside, <b>now</b>, not a--b or -- none") == (
        "raise <code>--max-outside</code>, &lt;b&gt;now&lt;/b&gt;, not a--b or -- none"
    )


@pytest.mark.thorough
def test_ours_islands_are_told_one_by_one_with_the_page_to_link(tmp_path: Path) -> None:
    report, findings = made(2_000, rules=["orphan.island"])
    first = page(tmp_path, report, findings).css("details[id='class=orphan.island'] ol > li")
    sizes = Counter(each.group for each in findings("orphan.island"))
    assert len(first) == 11
    for each, group in zip(first[:10], sizes, strict=False):
        assert f"one of {sizes[group]} on this island" in text(each)
    assert text(first[-1]) == f"{len(sizes) - 10} more islands"


def test_w3_the_policy_names_the_one_script_and_the_one_style(tmp_path: Path) -> None:
    tree = page(tmp_path, *made(50))
    policy = tree.css_first("meta[http-equiv]").attributes["content"]
    assert policy is not None
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy

    def named(node: LexborNode) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(node.text().encode()).digest()).decode()}'"

    assert re.findall(r"script-src ([^;]*)", policy) == [named(tree.css_first("script[type=module]"))]
    assert re.findall(r"style-src ([^;]*)", policy) == [named(tree.css_first("style"))]
    assert len(tree.css("style")) == len(tree.css("script[type=module]")) == 1


def test_ours_the_file_needs_no_other_and_runs_nothing_inline(tmp_path: Path) -> None:
    tree = page(tmp_path, *made(50))
    for node in tree.css("*"):
        names = set(node.attributes)
        assert not names & {"src", "srcset", "style", "action", "formaction", "ping"}, node.html
        assert not [name for name in names if name.startswith("on")], node.html
        if node.tag == "link":
            assert (node.attributes["href"] or "").startswith("data:")
        if node.tag == "a" and not (node.attributes["href"] or "").startswith("#"):
            assert node.attributes["rel"] == "noopener noreferrer"
    own = tree.css_first("script[type=module]").text() + tree.css_first("style").text()
    for trap in (
        "innerHTML",
        "outerHTML",
        "insertAdjacent",
        "document.write",
        "eval(",
        "Function(",
        "import(",
        "@import",
    ):
        assert trap not in own
    assert "url(" not in tree.css_first("style").text()


@pytest.mark.thorough
def test_ours_all_findings_are_packed_in_order_of_importance(tmp_path: Path) -> None:
    report, findings = made(3_000)
    tree = page(tmp_path, report, findings)
    kept = [each for piece in packed(tree, "evidence") for each in piece]
    expected = [each for count in report.counts for each in findings(count.rule)]
    assert Counter(each["url"] for each in kept) == Counter(each.url for each in expected)
    by_place = {(each.rule, each.url): each for each in expected}
    assert all(msgspec.convert(each, AuditFinding) == by_place[each["rule"], each["url"]] for each in kept)
    assert [url for piece in packed(tree, "rows") for url in piece["url"]] == [each["url"] for each in kept]
    severities = [RULES[each["rule"]].severity for each in kept if each["rule"] in RULES]
    assert severities == sorted(severities, reverse=True)


def test_ours_what_has_no_room_is_counted_and_never_asked_for(tmp_path: Path) -> None:
    report, findings = made(1_000)
    asked: Counter[str] = Counter()

    def counted(rule: str) -> Iterator[AuditFinding]:
        for each in findings(rule):
            asked[rule] += 1
            yield each

    tree = page(tmp_path, report, counted, limit=100)
    assert sum(len(piece) for piece in packed(tree, "evidence")) == 100
    del asked["orphan.island"]  # all are asked for: they are told island by island
    assert asked.total() <= 2 * 100 + 10 * len(report.counts)
    total = sum(each.total for each in report.counts)
    assert f"holds the 100 most important of {total:,} findings" in text(tree.css_first("#findings"))
    taken = allotment(report.counts, 100)
    rest = report.count("reach.few").total - taken["reach.few"]
    few = tree.css_first("details[id='class=reach.few']")
    assert f"{rest} more are not in this file: all are in csv/reach.few.csv" in text(few)


@pytest.mark.parametrize(
    ("limit", "taken"),
    [
        (1_000, {"entry.gone": 500, "orphan.log": 3, "gone.linked": 90, "reach.few": 400}),
        (400, {"entry.gone": 207, "orphan.log": 3, "gone.linked": 90, "reach.few": 100}),
        (100, {"entry.gone": 47, "orphan.log": 3, "gone.linked": 25, "reach.few": 25}),
        (0, {"entry.gone": 0, "orphan.log": 0, "gone.linked": 0, "reach.few": 0}),
    ],
)
def test_ours_no_class_crowds_out_another(limit: int, taken: dict[str, int]) -> None:
    counts = [
        RuleCount("reach.few", 300, 100),
        RuleCount("gone.linked", 90),
        RuleCount("orphan.log", 0, 3),
        RuleCount("entry.gone", 500),
    ]
    assert allotment(counts, limit) == taken
    assert list(allotment(counts, limit)) == ["entry.gone", "gone.linked", "orphan.log", "reach.few"]
    assert allotment([], limit) == {}


def hostile(words: list[str]) -> tuple[AuditReport, AuditFindings]:
    """A report in which every text that the site or a source gave is one of these."""

    def of(rule: str) -> Iterator[AuditFinding]:
        for word in words:
            yield AuditFinding(
                rule=rule, url=word, sentence=word, title=word, state=word, lastmod=word, known=[word], first=word,
                last=word, spellings=[word], referrers=[Referrer(word, word)], hubs=[LinkSuggestion(word, word, 0.5)],
                evidence=[word], group=word, file=word, line=1,
            )  # fmt: skip

    report, _ = made(1)
    bars = [HistogramBar(word, 3) for word in words]
    account = report.inputs[0]
    inputs = [
        msgspec.structs.replace(account, name=word, format=word, first=word, last=word, faults=[word], notes=[word])
        for word in words
    ]
    return msgspec.structs.replace(
        report, url=words[0], version=words[0], completeness=words[0], doubts=words, notes=words,
        counts=[RuleCount("orphan.sitemap", len(words))], inputs=inputs, states=bars, statuses=bars, depths=bars,
        ages=bars, inlinks=bars, sections=[SiteSection(word, 5, 2, 1) for word in words],
    ), Given(of)  # fmt: skip


def shape(tree: LexborHTMLParser) -> Counter[tuple[str, str]]:
    """The elements with the names of their attributes."""
    return Counter((node.tag or "", " ".join(sorted(node.attributes))) for node in tree.css("html, html *"))


TAGS = [word for word in WORDS if "<" in word or "{{" in word]


@pytest.mark.parametrize("some", [TAGS[:80], pytest.param(WORDS, marks=pytest.mark.slow)], ids=["tags", "all"])
def test_ours_hostile_strings_stay_text_in_every_place(tmp_path: Path, some: list[str]) -> None:
    benign = shape(page(tmp_path, *hostile(["word"] * 40)))
    for start in range(0, len(some), 40):
        words = [*some[start : start + 40], *["word"] * 40][:40]
        tree = page(tmp_path, *hostile(words))
        changed = shape(tree)
        # A URL of http is a link where another is none: as a finding, and as the hub of one.
        links = 2 * sum(each.lower().startswith(("http://", "https://")) for each in words[:10])
        # A word that is an option of the command line is shown as code.
        options = sum(word in {"--help", "--version"} for word in words)
        assert changed - benign == Counter({("a", "href rel target"): links, ("code", ""): options}) - Counter()
        shown = [each.text() for each in tree.css("#sources > ul > li")]
        assert shown == [each.replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "") for each in words]
        assert [each["sentence"] for piece in packed(tree, "evidence") for each in piece] == [
            shorten(each) for each in words
        ]


def test_ours_a_path_that_is_no_text_is_shown_as_escapes(tmp_path: Path) -> None:
    report, findings = made(1)
    report.inputs[0].name = "access-\udcff.log"
    tree = page(tmp_path, report, findings)
    assert text(tree.css_first("#sources tbody bdi")) == r"access-\udcff.log"


def test_ours_bars_are_as_long_as_their_counts(tmp_path: Path) -> None:
    report, findings = made(1)
    report.states[:] = [HistogramBar("a", 75), HistogramBar("b", 25), HistogramBar("c", 0), HistogramBar("d", 10**4)]
    table = page(tmp_path, report, findings).css_first(".charts table.bars")
    assert [each.attributes["width"] for each in table.css("rect")] == ["1.00%", "1.00%", "0.00%", "100.00%"]
    assert [text(each) for each in table.css("td.quiet")] == ["0.7 %", "0.2 %", "0 %", "99 %"]


@pytest.mark.parametrize(
    ("share", "told"),
    [(0, "0 %"), (1, "100 %"), (0.5, "50 %"), (0.031, "3.1 %"), (1e-6, "< 0.1 %"),
     (0.99999, "> 99.9 %"), (0.9944, "99.4 %")],
)  # fmt: skip
def test_ours_shares_are_never_rounded_to_all_or_nothing(share: float, told: str) -> None:
    assert percent_text(share) == told


@pytest.mark.thorough
def test_ours_errors_and_the_worst_warnings_are_unfolded_and_show_urls(tmp_path: Path) -> None:
    report, findings = made(2_000)
    tree = page(tmp_path, report, findings)
    parts = tree.css("#classes > .family")
    assert [text(each.css_first("h3")).split()[0] for each in parts] == ["Errors", "Warnings", "Notes"]
    for part, opened in zip(parts, (len(parts[0].css("details")), 3, 0), strict=True):
        folds = part.css("details")
        assert ["open" in each.attributes for each in folds] == [place < opened for place in range(len(folds))]
    order = [rule for action in report.actions for rule in action.rules]
    shown = [(each.attributes["id"] or "").removeprefix("class=") for each in parts[1].css("details")]
    assert shown == sorted(shown, key=order.index)
    unseen = replace(report, unchecked={"media": "--set audit.media=false"}, counts=report.counts[:3])
    sections = [each.attributes.get("id") for each in page(tmp_path, unseen, findings).css("main > section")]
    assert [each for each in sections if each] == [
        "actions",
        "classes",
        "site",
        "bots",
        "findings",
        "sources",
        "unchecked",
    ]


@pytest.mark.thorough
def test_ours_ten_thousand_urls_of_one_pattern_are_one_row_with_examples(tmp_path: Path) -> None:
    found = [
        AuditFinding(rule="gone.linked", url=f"https://shop.example/old/page-{n}", sentence="") for n in range(9_999)
    ]
    report, given = audit(found), of(found)
    tree = page(tmp_path, replace(report, **rank_actions(report, given)._asdict()), given)
    (row,) = tree.css("details[id='class=gone.linked'] ol > li")
    assert "9,999 like https://shop.example/old/page-{n}" in text(row)
    assert [each.attributes["href"] for each in row.css("a")] == [each.url for each in found[:3]]
    assert "Correct the links to 9,999 dead URLs like" in text(tree.css_first("#actions h3"))
