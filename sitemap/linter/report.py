"""Writes a lint report as text, JSON, JUnit XML and SARIF 2.1.0.

Text has a line for each finding, as compilers do, and a verdict at the end. :func:`as_json` documents the JSON, which
is stable. Code hosts show SARIF beside the faulty lines:
https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/sarif-v2.1.0-errata01-os-complete.html
JUnit XML has a suite for each file and a case for each broken rule. It is valid by the schema of Jenkins, which allows
the attribute ``file`` at a suite only: https://github.com/jenkinsci/xunit-plugin (``types/model/xsd/junit-10.xsd``).
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import quote

from msgspec.structs import replace

from sitemap.escape import XML_DECLARATION, escape_xml, safe
from sitemap.linter.lint import LintReport
from sitemap.reader.tree import Document
from sitemap.rules import RULES, Finding, Rule, Severity

VERSION = 1


def as_json(report: LintReport) -> str:
    """The report as one JSON object in ASCII. Later versions may add keys; existing keys keep their meaning.

    ``version``
        1.
    ``files``
        a list of the linted sources, each an object: ``file`` (path or URL), ``format`` ("urlset",
        "sitemapindex", "RSS", "RSS 1.0", "Atom", "text", or null), ``entries``, ``bytes`` (uncompressed), ``complete``
        (whether it was read to its end), and ``children``, a list of such objects.
    ``findings``
        a list of objects: ``rule``, ``severity`` ("error", "warning" or "note"), ``file``, ``line`` (from 1, or null),
        ``times`` (more than 1 if the finding sums up others), ``sentence``, and ``source``, the URL of the rule's
        source.
    ``counts``
        an object of numbers over all files: ``files``, ``entries``, ``error``, ``warning``, ``note``, and ``rules``, an
        object of how often each rule is broken.
    ``not_checked``
        a list of sentences: what could not be checked, and why.
    """
    counts = {
        "files": sum(1 for _ in report.all_documents()),
        "entries": report.entries,
        **{severity.value: number for severity, number in report.severities.items()},
        "rules": report.rules,
    }
    output = {
        "version": VERSION,
        "files": [_document(document) for document in report.documents],
        "findings": [_finding(finding) for finding in report.findings],
        "counts": counts,
        "not_checked": report.not_checked,
    }
    return json.dumps(output, indent=2) + "\n"


def _document(document: Document) -> dict[str, Any]:
    return {
        "file": document.file,
        "format": document.format,
        "entries": document.entries,
        "bytes": document.size,
        "complete": document.complete,
        "children": [_document(child) for child in document.children],
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "rule": finding.rule,
        "severity": finding.severity,
        "file": finding.file,
        "line": finding.line or None,
        "times": finding.times,
        "sentence": finding.sentence,
        "source": RULES[finding.rule].source,
    }


_MAX_SEPARATE: Final = 5  # files that break a rule as a whole and are listed one by one

_COLOUR: Final = {Severity.ERROR: "31", Severity.WARNING: "33", Severity.NOTE: "36"}  # red, yellow, cyan


def as_text(
    report: LintReport, fail_on: Severity | None = Severity.ERROR, *, colour: bool = False, sources: bool = False
) -> str:
    """The findings, ``path:line: severity rule: sentence``, a summary, and whether any is ``fail_on`` or worse.

    ``colour`` adds terminal colours, ``sources`` a line for each finding with the sentence and the source of its rule.
    Text from a document is escaped, so that a terminal does not obey it.
    """
    lines = [line for finding in _merge_same(report.findings) for line in _finding_line(finding, colour, sources)]
    lines += [f"not checked: {safe(sentence)}" for sentence in report.not_checked]
    if lines:
        lines.append("")
    files = sum(1 for _ in report.all_documents())
    counts = [_count_text(number, severity) for severity, number in report.severities.items()]
    lines.append(f"{_count_text(files, 'file')}, {_count_text(report.entries, 'entry')}: {', '.join(counts)}")
    failing = sum(finding.times for finding in report.at_least(fail_on)) if fail_on else 0
    verdict = f"fails: {_failing_text(failing, fail_on)}" if failing and fail_on else "passes"
    lines.append(_paint(verdict, "31" if failing else "32", colour))
    return "\n".join([*lines, ""])


def rules_text(rules: Iterable[Rule]) -> str:
    """The rules, each in a few lines: severity and id, title and sentence, remedy, source."""
    return "".join(
        f"{rule.severity:8}{rule.id}\n        {rule.title}: {rule.sentence}\n        {rule.remedy}\n"
        f"{f'        {rule.source}{chr(10)}' if rule.source else ''}"
        for rule in rules
    )


def _merge_same(findings: Iterable[Finding]) -> Iterator[Finding]:
    """The findings; those of a rule that many documents break as a whole are merged into one."""
    findings = list(findings)
    files = Counter(finding.rule for finding in findings if not finding.line and finding.times == 1)
    merged = set()
    for finding in findings:
        count = files[finding.rule]
        if finding.line or finding.times > 1 or count <= _MAX_SEPARATE:
            yield finding
        elif finding.rule not in merged:
            merged.add(finding.rule)
            yield replace(finding, sentence=f"{finding.sentence} (and {count - 1:,} more files, each as a whole)")


def _finding_line(finding: Finding, colour: bool, sources: bool) -> Iterator[str]:
    place = ":".join([finding.file or "document", *([str(finding.line)] if finding.line else ())])
    severity = _paint(finding.severity, _COLOUR[finding.severity], colour)
    yield f"{safe(place)}: {severity} {finding.rule}: {safe(finding.sentence)}"
    if sources:
        rule = RULES[finding.rule]
        yield f"    {rule.sentence} {rule.source}"


def _failing_text(number: int, fail_on: Severity) -> str:
    """The number of failing findings: "2 errors", "3 findings of level warning or worse"."""
    if fail_on is Severity.ERROR:
        return _count_text(number, fail_on)
    return f"{_count_text(number, 'finding')} of level {fail_on} or worse"


def _paint(text: str, code: str, colour: bool) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if colour else text


def _count_text(number: int, noun: str) -> str:
    plural = noun if number == 1 else "entries" if noun == "entry" else f"{noun}s"
    return f"{number:,} {plural}"


F = TypeVar("F", bound=Finding)
_SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_RESERVED: Final = "%:/?#[]@!$&'()*+,;="  # unescaped in a URL (RFC 3986 section 2.2)


def as_sarif(report: LintReport, version: str = "") -> str:
    """A lint report as a SARIF log, in ASCII. ``version`` is the version of siteatlas."""
    return "".join(sarif([RULES[rule] for rule in report.rules], report.findings, version))


def sarif(
    rules: Sequence[Rule],
    findings: Iterable[F],
    version: str = "",
    *,
    site: str = "",
    more: Callable[[F], dict[str, Any]] = lambda _: {},
    **run: Any,
) -> Iterator[str]:
    """A log of one run of siteatlas, in ASCII, streamed one result at a time.

    ``rules`` are those of the ``findings``. A file in the working directory is named relative to it, another by a
    ``file:`` URI, a URL by itself; a finding without either is about the ``site``. ``more`` returns properties that are
    added to the result of a finding or replace others; ``run`` are further properties of the run.
    """
    driver: dict[str, Any] = {"name": "siteatlas", "rules": list(map(_rule, rules))}
    if version:
        driver["semanticVersion" if version.count(".") == 2 else "version"] = version
    head = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", **run}
    yield f'{{"$schema": "{_SCHEMA}", "version": "2.1.0", "runs": [{json.dumps(head)[:-1]}, "results": ['
    indexes = {rule.id: index for index, rule in enumerate(rules)}
    separator = "\n"
    for finding in findings:
        result = _result(finding, indexes[finding.rule], finding.file or finding.url or site)
        yield separator + json.dumps(result | more(finding))
        separator = ",\n"
    yield "\n]}]}\n"


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "name": rule.title,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.sentence},
        "help": {"text": f"{rule.sentence} {rule.remedy}"},
        "defaultConfiguration": {"level": rule.severity.value},
        "properties": {"tags": [rule.family]},
        **({"helpUri": rule.source} if rule.source else {}),
    }


def _result(finding: Finding, rule_index: int, place: str) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": rule_index,
        "level": finding.severity.value,
        "message": {"text": f"{finding.url}: {finding.sentence}" if finding.url else finding.sentence},
    }
    if place:
        location: dict[str, Any] = {"artifactLocation": {"uri": _uri(place)}}
        if finding.line:
            location["region"] = {"startLine": finding.line}
        result["locations"] = [{"physicalLocation": location}]
    return result


def _uri(file: str) -> str:
    """A path or URL as a URI or a relative reference (RFC 3986)."""
    if file.startswith(("http://", "https://")):
        return quote(file, safe=_RESERVED, errors="replace")
    path, working_directory = Path(file), Path.cwd()
    if path.is_relative_to(working_directory):
        path = path.relative_to(working_directory)
    return ("file://" if path.is_absolute() else "") + quote(str(path), errors="surrogatepass")


class JUnitOutcome(StrEnum):
    """The outcome of a test case."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True, kw_only=True)
class JUnitCase:
    """One test case. ``message`` says why it failed or was skipped, ``kind`` is the kind of failure, ``text`` has the
    details. ``place`` is its subject (a file or a class).
    """

    name: str
    place: str
    outcome: JUnitOutcome = JUnitOutcome.PASSED
    message: str = ""
    kind: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class JUnitSuite:
    """Test cases under a name, and the ``file`` that they are about, if it is one."""

    name: str
    cases: Sequence[JUnitCase]
    file: str = ""


def junit_xml(name: str, suites: Sequence[JUnitSuite]) -> str:
    """The whole document. Characters that XML forbids are left out."""
    lines = [f'<testsuites name="{escape_xml(name)}" {_counts([case for suite in suites for case in suite.cases])}>']
    for suite in suites:
        skipped = _number(suite.cases, JUnitOutcome.SKIPPED)
        file = f' file="{escape_xml(suite.file)}"' if suite.file else ""
        lines.append(f'  <testsuite name="{escape_xml(suite.name)}" {_counts(suite.cases)} skipped="{skipped}"{file}>')
        lines += map(_case_element, suite.cases)
        lines.append("  </testsuite>")
    return XML_DECLARATION + "\n".join([*lines, "</testsuites>", ""])


def _counts(cases: Sequence[JUnitCase]) -> str:
    return f'tests="{len(cases)}" failures="{_number(cases, JUnitOutcome.FAILED)}" errors="0" time="0"'


def _number(cases: Sequence[JUnitCase], outcome: JUnitOutcome) -> int:
    return sum(case.outcome is outcome for case in cases)


def _case_element(case: JUnitCase) -> str:
    head = f'    <testcase name="{escape_xml(case.name)}" classname="{escape_xml(case.place)}" time="0"'
    text, message = escape_xml(case.text), escape_xml(case.message)
    if case.outcome is JUnitOutcome.FAILED:
        content = f'<failure message="{message}" type="{escape_xml(case.kind)}">{text}</failure>'
    else:
        content = f"<system-out>{text}</system-out>" if text else ""
        if case.outcome is JUnitOutcome.SKIPPED:  # comes first in all schemas with an order
            content = f'<skipped message="{message}"/>{content}'
    return f"{head}>\n      {content}\n    </testcase>" if content else f"{head}/>"


def as_junit(report: LintReport, fail_on: Severity | None = Severity.ERROR) -> str:
    """The findings as JUnit XML: each broken rule is a case, and a file without findings has one case that passes.

    A case fails if its severity is ``fail_on`` or worse (None: no case fails); else it passes and its output has the
    findings.
    """
    failing = {finding.rule for finding in report.at_least(fail_on)} if fail_on else set()
    suites = []
    for file, findings in _by_file(report).items():
        rules = dict.fromkeys(finding.rule for finding in findings)
        cases = [
            _case(rule, file, [finding for finding in findings if finding.rule == rule], rule in failing)
            for rule in rules
        ]
        suites.append(JUnitSuite(file, cases or [JUnitCase(name="no findings", place=file)], file))
    return junit_xml("siteatlas lint", suites)


def _by_file(report: LintReport) -> dict[str, list[Finding]]:
    """The findings by file, including files without findings."""
    files: dict[str, list[Finding]] = {document.file: [] for document in report.all_documents()}
    for finding in report.findings:
        files.setdefault(finding.file, []).append(finding)
    return files


def _case(rule: str, file: str, findings: list[Finding], failed: bool) -> JUnitCase:
    lines = [f"line {finding.line}: {finding.sentence}" if finding.line else finding.sentence for finding in findings]
    text = "\n".join((*lines, RULES[rule].sentence, RULES[rule].source))
    severity = RULES[rule].severity
    return JUnitCase(
        name=rule,
        place=file,
        outcome=JUnitOutcome.FAILED if failed else JUnitOutcome.PASSED,
        message=findings[0].sentence,
        kind=severity,
        text=text if failed else f"{severity}: {text}",
    )
