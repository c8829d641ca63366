"""``siteatlas lint --list``: the tree of the files, their URLs one by one, or how many entries each has."""

import json
from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec

from crawler.cli.words import amount
from crawler.quantities import count
from sitemap import Child, Document, Entry, Finding, Format, LintReport, as_json, safe

_NOT_OPENED: Final = frozenset({"index.child_unreadable", "index.too_deep", "index.too_many"})
# Why the end of a document, or some of it, was not read. Some are also told of documents that were read whole.
_NOT_WHOLE: Final = frozenset(
    f"sitemap.{name}"
    for name in (
        "truncated",
        "not_xml",
        "not_well_formed",
        "dtd",
        "gzip",
        "too_large",
        "too_many",
        "too_deep",
        "token_too_long",
    )
)

Write = Callable[[str], object]


class Lister:
    """Sees documents while they are read (the visitor of :func:`sitemap.walk`), and writes what was asked for.

    ``listing`` is "tree", "urls" or "counts". In JSON the URLs are objects, one a line: ``loc``, ``lastmod``,
    ``changefreq``, ``priority`` (null where it is not said), ``images``, ``videos``, ``alternates``, ``news`` (with the
    fields of :class:`sitemap.Entry`), and ``file``; the tree has the ``files`` of :func:`sitemap.as_json`; the counts
    are ``files``, each with ``file`` and ``entries``, and ``urls``, their sum. What is met again is in the tree only.
    """

    def __init__(self, listing: str, write: Write, *, as_json: bool = False) -> None:
        self._documents: list[Document] = []
        self._again: set[Document] = set()
        self._files: set[str] = set()
        self._as_json = as_json
        self._listing = listing
        self._write = write

    def begin(self, document: Document) -> None:
        """A document begins."""
        self._documents.append(document)
        if document.file in self._files:
            self._again.add(document)
        elif document.file:
            self._files.add(document.file)

    def items(self, document: Document, items: list[Entry | Child], line_of: Callable[[int], int]) -> None:  # noqa: ARG002
        """The next items of a document: their URLs are written at once."""
        if self._listing == "urls" and document not in self._again:
            pages = [item for item in items if isinstance(item, Entry)]
            told = (
                _lines(pages, document.file) if self._as_json else [f"{safe(page.loc)}\n" for page in pages]
            )
            self._write("".join(told))

    def end(self, document: Document) -> None:
        """A document is over."""

    def finish(self) -> None:
        """All documents have been read: write what can be told only now."""
        if self._listing == "urls":
            return
        if self._as_json:
            self._write(json.dumps(self._whole(), indent=2) + "\n")
            return
        for line in {"tree": self._tree, "counts": self._counts}[self._listing]():
            self._write(f"{line}\n")

    def cut(self) -> list[Document]:
        """The documents of which not all was read, because the limits said so."""
        return [document for document in self._documents if document.cut]

    def losses(self) -> list[Finding]:
        """What says that something was not read."""
        return [
            finding
            for document in self._documents
            for finding in document.findings
            if finding.rule in _NOT_OPENED
            or (finding.rule in _NOT_WHOLE and not (document.complete or document.cut))
        ]

    def not_read(self) -> Document | None:
        """A document that was named and is no sitemap."""
        return next((each for each in self._documents if each.depth == 0 and each.format is None), None)

    def _tree(self) -> Iterator[str]:
        for document in self._documents:
            yield f"{'  ' * document.depth}{safe(document.file)}  {_described(document)}"

    def _counts(self) -> Iterator[str]:
        for document in self._once():
            yield f"{document.entries:>12,}  {safe(document.file)}"
        yield f"{self._total():>12,}  URLs in all"

    def _once(self) -> list[Document]:
        return [document for document in self._documents if document not in self._again]

    def _total(self) -> int:
        return sum(each.entries for each in self._once() if each.format is not Format.INDEX)

    def _whole(self) -> dict[str, Any]:
        if self._listing == "counts":
            files = [{"file": each.file, "entries": each.entries} for each in self._once()]
            return {"version": 1, "files": files, "urls": self._total()}
        roots = tuple(each for each in self._documents if each.depth == 0)
        told = json.loads(as_json(LintReport((), roots, 0)))
        return {"version": told["version"], "files": told["files"]}


def _lines(pages: list[Entry], file: str) -> Iterator[str]:
    """Pages as JSON, one a line, in ASCII."""
    for page in pages:
        told = {
            "loc": page.loc,
            "lastmod": page.lastmod or None,
            "changefreq": page.changefreq or None,
            "priority": page.priority,
            "images": msgspec.to_builtins(page.images),
            "videos": msgspec.to_builtins(page.videos),
            "alternates": msgspec.to_builtins(page.alternates),
            "news": msgspec.to_builtins(page.news),
            "file": file,
        }
        yield json.dumps(told) + "\n"


def _described(document: Document) -> str:
    if document.format is None:
        return f"no sitemap: {safe(document.refusal)}"
    entries = count(document.entries, "entry", "entries")
    cut = "" if document.complete else ", not read to its end"
    return f"{document.format}, {entries}, {amount(document.size)}{cut}"
