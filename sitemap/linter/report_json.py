"""Owns the report in JSON, for programs: a stable form, told in :func:`as_json`."""

import json
from typing import Any

from sitemap.finding import Finding
from sitemap.linter.lint import LintReport
from sitemap.reader.tree import Document
from sitemap.rules import RULES

VERSION = 1


def as_json(report: LintReport) -> str:
    """The report as one JSON object in ASCII. New keys may join it; what is there keeps its meaning.

    ``version``
        1.
    ``files``
        a list of the documents that were given, each an object: ``file`` (path or URL), ``format`` ("urlset",
        "sitemapindex", "RSS", "RSS 1.0", "Atom", "text", or null), ``entries``, ``bytes`` (unpacked), ``complete``
        (whether it was read to its end), and ``children``, a list of such objects.
    ``findings``
        a list of objects: ``rule``, ``severity`` ("error", "warning" or "note"), ``file``, ``line`` (from 1, or null),
        ``times`` (more than 1 where a finding stands for many of which no more is said), ``sentence``, and ``source``,
        the URL where the rule is written.
    ``counts``
        an object of numbers over all files: ``files``, ``entries``, ``error``, ``warning``, ``note``, and ``rules``, an
        object of how often each rule is broken.
    ``not_checked``
        a list of sentences: what could not be judged, and why.
    """
    counts = {
        "files": sum(1 for _ in report.all_documents()),
        "entries": report.entries,
        **{severity.value: number for severity, number in report.severities.items()},
        "rules": report.rules,
    }
    whole = {
        "version": VERSION,
        "files": [_document(document) for document in report.documents],
        "findings": [_finding(finding) for finding in report.findings],
        "counts": counts,
        "not_checked": report.not_checked,
    }
    return json.dumps(whole, indent=2) + "\n"


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
