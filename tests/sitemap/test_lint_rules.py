"""Every rule of the table: a document that breaks it, and it alone, and one that nearly does."""

import sys
from pathlib import Path

import pytest
from lint_cases import CASES, HOME, IMAGE, NOW, VIDEO, XHTML, Case, Files, url, urlset

from sitemap import RULES, Finding, Severity, SourceError, lint


def findings(case: Case, files: bytes | Files, folder: Path) -> tuple[Finding, ...]:
    """What lint says of files, which are on the disk and, as children of an index, at their address."""
    files = {case.name: files} if isinstance(files, bytes) else files
    for name, data in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(data)

    def opener(url: str) -> bytes:
        data = files.get(url.removeprefix(case.home))
        if data is None:
            raise SourceError(f"{url} cannot be read: there is none")
        return data

    sources = [folder / name for name in files]
    if case.whole_set:
        return lint(*sources, url=case.home, now=NOW, opener=opener).findings
    return lint(sources[0], url=case.home + next(iter(files)), now=NOW, opener=opener).findings


@pytest.mark.parametrize("case", CASES, ids=[case.rule for case in CASES])
def test_ours_each_rule_is_found_where_it_is_broken_and_nothing_else_is(case: Case, tmp_path: Path) -> None:
    found = findings(case, case.bad, tmp_path)
    assert {finding.rule for finding in found} - case.also == {case.rule}, found
    assert case.line in {finding.line for finding in found if finding.rule == case.rule}, found
    for finding in found:
        assert finding.file
        assert len(finding.sentence) < 500
        assert finding.sentence.isprintable()


@pytest.mark.parametrize("case", CASES, ids=[case.rule for case in CASES])
def test_ours_what_comes_near_is_clean(case: Case, tmp_path: Path) -> None:
    assert {finding.rule for finding in findings(case, case.good, tmp_path)} == case.near


def test_ours_no_rule_is_without_its_documents() -> None:
    assert {case.rule for case in CASES} == set(RULES), "each rule has its case in tests/sitemap/lint_cases.py"
    assert len(CASES) == len(RULES)


IMAGE_XML = "<image:image><image:loc>https://example.com/{n}.jpg</image:loc></image:image>"
VIDEO_XML = (
    "<video:video><video:thumbnail_loc>https://example.com/{n}.jpg</video:thumbnail_loc><video:title>{n}</video:title>"
    "<video:description>A</video:description><video:content_loc>https://example.com/{n}.mp4</video:content_loc></video:video>"
)
VERSION_XML = '<xhtml:link rel="alternate" hreflang="en" href="https://www.example.com/{n}"/>'


@pytest.mark.parametrize(
    ("query", "inner", "most"),
    [
        pytest.param("", "", 0.5, id="plain"),
        pytest.param("?id=1&amp;page=2", "", 0.5, id="query"),
        pytest.param("", IMAGE_XML, 117.5, id="image"),
        pytest.param("", VIDEO_XML, 240.5, id="video"),
        pytest.param("", VERSION_XML, 127.5, id="version"),
    ],
)
def test_ours_lint_calls_little_for_each_clean_entry(tmp_path: Path, query: str, inner: str, most: float) -> None:
    """One call for each plain entry makes lint a fifth slower; images and versions are read one by one anyway."""
    dates = [f"<lastmod>2024-05-{day:02}</lastmod>" for day in range(1, 28)]
    file = tmp_path / "sitemap.xml"

    def calls(entries: int) -> int:
        items = (url(f"{HOME}{n}{query}", dates[n % len(dates)] + inner.replace("{n}", str(n))) for n in range(entries))
        file.write_bytes(urlset(*items, namespaces=f" {IMAGE} {VIDEO} {XHTML}" if inner else ""))
        events: list[str] = []
        sys.setprofile(lambda frame, event, argument: events.append(event))
        try:
            lint(file, url=f"{HOME}sitemap.xml", now=NOW)
        finally:
            sys.setprofile(None)
        return sum(event in {"call", "c_call"} for event in events)

    calls(1)  # what is made once
    few, many = (500, 1_500) if inner else (1_000, 5_000)
    each = (calls(many) - calls(few)) / (many - few)
    assert each < most, f"{each:.1f} calls for each entry: let a check look at a batch, or at what it has already"


def test_ours_the_worse_severity_is_the_greater() -> None:
    error, warning, note = Severity
    assert max(Severity) is error
    assert min([note, warning]) is note
    assert sorted(Severity) == [note, warning, error]
    assert error > warning > note
    assert note < warning < error
    assert error >= note <= warning
    assert [each <= warning for each in Severity] == [False, True, True]
    assert [each >= warning for each in Severity] == [True, True, False]
    assert [each < warning for each in Severity] == [False, False, True]
    assert [each > warning for each in Severity] == [True, False, False]
    assert error == "error"
