"""Writes a lint report as JSON, in the stable form that :func:`as_json` documents."""

import json
from typing import Any

from sitemap.finding import Finding
from sitemap.linter.lint import LintReport
from sitemap.reader.tree import Document
from sitemap.rules import RULES

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
