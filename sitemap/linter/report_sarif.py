"""Owns the report in SARIF 2.1.0, which code hosts show beside the lines that are at fault.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/sarif-v2.1.0-errata01-os-complete.html
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from sitemap.finding import Finding
from sitemap.linter.lint import LintReport
from sitemap.rules import RULES, Rule

_SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_RESERVED: Final = "%:/?#[]@!$&'()*+,;="  # what a URL may hold as it is (RFC 3986, section 2.2)


def as_sarif(report: LintReport, version: str = "") -> str:
    """The findings as a SARIF log of one run, in ASCII. ``version`` is that of the program that speaks.

    A file is named relative to the working directory if it lies there, else by a ``file:`` URI; a URL is itself.
    """
    ids = list(dict.fromkeys(finding.rule for finding in report.findings))
    place = {each: index for index, each in enumerate(ids)}
    results = (_result(finding, place[finding.rule]) for finding in report.findings)
    return "".join(sarif_log([_rule(RULES[each]) for each in ids], results, version))


def sarif_log(
    rules: Iterable[dict[str, Any]], results: Iterable[dict[str, Any]], version: str = "", **run: Any
) -> Iterator[str]:
    """A log of one run of siteatlas, piece by piece, in ASCII: a result is made when the one before it is out.

    ``run`` are further properties of the run.
    """
    driver: dict[str, Any] = {"name": "siteatlas", "rules": list(rules)}
    if version:
        driver["semanticVersion" if version.count(".") == 2 else "version"] = version
    head = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", **run}
    yield f'{{"$schema": "{_SCHEMA}", "version": "2.1.0", "runs": [{json.dumps(head)[:-1]}, "results": ['
    between = "\n"
    for result in results:
        yield between + json.dumps(result)
        between = ",\n"
    yield "\n]}]}\n"


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.sentence},
        "helpUri": rule.source,
        "defaultConfiguration": {"level": rule.severity.value},
    }


def _result(finding: Finding, place: int) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": place,
        "level": finding.severity.value,
        "message": {"text": finding.sentence},
    }
    if finding.file:
        where: dict[str, Any] = {"artifactLocation": {"uri": sarif_uri(finding.file)}}
        if finding.line:
            where["region"] = {"startLine": finding.line}
        result["locations"] = [{"physicalLocation": where}]
    return result


def sarif_uri(file: str) -> str:
    """A path or URL as a URI or a relative reference (RFC 3986)."""
    if file.startswith(("http://", "https://")):
        return quote(file, safe=_RESERVED, errors="replace")
    path, here = Path(file), Path.cwd()
    if path.is_relative_to(here):
        path = path.relative_to(here)
    return ("file://" if path.is_absolute() else "") + quote(str(path), errors="surrogatepass")
