"""Linting addresses: a batch is judged as its URLs are, one key stands for one form, and a set takes little memory."""

import tracemalloc
from itertools import chain

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lint_cases import HOME, NOW, url, urlset

from sitemap import Linter, lint, walk
from sitemap.linter.urls import DuplicateChecks, UrlChecks, normal_form
from sitemap.location import is_within
from sitemap.rules import FindingCollector

ODD = st.lists(
    st.one_of(
        st.sampled_from(
            [
                "https://example.com/docs/a", "https://example.com/docs/b?q=/..", "https://example.com/docs/./a",
                "https://EXAMPLE.com/docs/a", "https://example.com:443/docs/a", "https://example.com/docs/%61",
                "https://example.com/docs/%e3%81%82%2f%7e?q=%C3%A9", "https://example.com/docs/%%341=\x01%c3",
                "https://example.com/docs/%c3%a9", "https://example.com/docs/%C3%A9", "https://example.com/docs/é",
                "https://example.com/docs/../a", "https://example.com/docs/%2e%2e/a", "https://example.com/docs\\..\\a",
                "https://example.com/docs/a#b", "https://me@example.com/docs/a", "https://example.com/docs/@a",
                "https://example.com", "https://example.com/", "https://example.com./docs/a", "http://a.b/",
                "https://other.example/docs/a", "https://example.com/docs/%", "https://example.com/docs/" + "x" * 2_030,
            ]
        ),
        st.text("ab/.%26eE?#@:é\\", max_size=12).map(lambda text: "https://example.com/docs/" + text),
    ),
    min_size=1,
    max_size=6,
)  # fmt: skip


@settings(max_examples=150)
@given(ODD)
def test_ours_a_batch_is_judged_as_its_urls_are_one_by_one(locs: list[str]) -> None:
    def judged(batches: list[list[str]]) -> tuple[list[str], dict[str, int]]:
        findings = FindingCollector()
        addresses = UrlChecks("https://example.com/docs/sitemap.xml", findings, lambda _: False)
        forms = [each for batch in batches for each in addresses.check(batch, lambda _: 1)]
        return forms, findings.counts

    together, apart = judged([locs]), judged([[loc] for loc in locs])
    assert together == apart
    assert together[0] == [normal_form(loc) for loc in locs]
    outside = sum(not is_within("https://example.com/docs/", loc) and "@" not in loc[:20] for loc in locs)
    said = together[1].get("location.outside", 0) + together[1].get("location.other_host", 0)
    assert said == outside


def test_rfc3986_escapes_are_compared_however_they_are_spelled() -> None:
    spelled = ["%e3%81%82/%C3%A9", "%E3%81%82/%c3%a9", "%e3%81%82/%2f~", "%E3%81%82/%2F%7e", "=c3", "%C3", "%3dc3"]
    report = lint("\n".join(HOME + end for end in spelled).encode(), url=HOME + "sitemap.txt", now=NOW)
    assert [(finding.rule, finding.line) for finding in report.findings] == [("duplicate.loc", 2), ("duplicate.loc", 4)]
    below = lint(f"{HOME}%C3%A9/a\n{HOME}%c3%a9/b".encode(), url=HOME + "%c3%A9/sitemap.txt", now=NOW)
    assert below.findings == ()


@pytest.mark.thorough
def test_ours_a_set_takes_less_than_120_bytes_a_url() -> None:
    files = [
        urlset(
            *(
                url(f"{HOME}{name}/{number}", f"<lastmod>2024-05-{number % 28 + 1:02}</lastmod>")
                for number in range(40_000)
            )
        )
        for name in "ab"
    ]
    linter = Linter(NOW)
    tracemalloc.start()
    try:
        for file in files:
            walk(file, linter)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert linter.report().entries == 80_000
    assert held < 80_000 * 120


@settings(max_examples=100)
@given(st.lists(st.lists(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=4), max_size=3), max_size=3))
def test_ours_duplicates_are_told_in_batches_as_they_are_one_by_one(documents: list[list[list[str]]]) -> None:
    duplicates = DuplicateChecks()
    expected: list[str] = []
    told: list[FindingCollector] = []
    everywhere: dict[str, str] = {}
    for number, batches in enumerate(documents):
        told.append(FindingCollector(str(number)))
        listing = duplicates.begin(str(number), told[-1])
        here: dict[str, int] = {}
        for batch in batches:
            listing.add(batch, batch, lambda place: place)
        for place, loc in enumerate(chain.from_iterable(batches), 1):
            if loc in here:
                expected.append(f"{number}: {loc!r} is listed already, as entry {here[loc]}")
            elif loc in everywhere:
                expected.append(f"{number}: {loc!r} is listed already, as {everywhere[loc]}")
            here.setdefault(loc, place)
        for loc, place in here.items():
            everywhere.setdefault(loc, f"entry {place} of {number}")
    duplicates.finish()
    assert [f"{each.file}: {each.sentence}" for findings in told for each in findings.all()] == expected
