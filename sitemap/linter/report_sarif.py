"""Writes findings as SARIF 2.1.0, which code hosts show beside the faulty lines.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/sarif-v2.1.0-errata01-os-complete.html
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import quote

from sitemap.finding import Finding
from sitemap.linter.lint import LintReport
from sitemap.rules import RULES, Rule

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
