"""Owns the order in which reports name documents: each index before what it leads to."""

from collections.abc import Iterator

from sitemap.linting.lint import LintReport
from sitemap.reading.tree import Document


def all_documents(report: LintReport) -> Iterator[Document]:
    """Every document of the report."""
    waiting = list(reversed(report.documents))
    while waiting:
        document = waiting.pop()
        yield document
        waiting += reversed(document.children)
