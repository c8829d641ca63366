"""``siteatlas lint --list``: the tree of the files, their URLs one by one, or how many entries each has."""

from collections.abc import Callable, Iterator
from typing import Final

from crawler.cli.words import amount, count, safe
from sitemap import Child, Document, Entry, Finding, Format

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

    ``listing`` is "tree", "urls" or "counts".
    """

    def __init__(self, listing: str, write: Write) -> None:
        self._documents: list[Document] = []
        self._listing = listing
        self._write = write

    def begin(self, document: Document) -> None:
        """A document begins."""
        self._documents.append(document)

    def items(self, document: Document, items: list[Entry | Child], line_of: Callable[[int], int]) -> None:  # noqa: ARG002
        """The next items of a document: their URLs are written at once."""
        if self._listing == "urls":
            self._write("".join(f"{safe(item.loc)}\n" for item in items if isinstance(item, Entry)))

    def end(self, document: Document) -> None:
        """A document is over."""

    def finish(self) -> None:
        """All documents have been read: write what can be told only now."""
        for line in {"tree": self._tree, "counts": self._counts}.get(self._listing, list)():
            self._write(f"{line}\n")

    def losses(self) -> list[Finding]:
        """What says that something was not read."""
        return [
            finding
            for document in self._documents
            for finding in document.findings
            if finding.rule in _NOT_OPENED or (finding.rule in _NOT_WHOLE and not document.complete)
        ]

    def not_read(self) -> Document | None:
        """A document that was named and is no sitemap."""
        return next((each for each in self._documents if each.depth == 0 and each.format is None), None)

    def _tree(self) -> Iterator[str]:
        for document in self._documents:
            yield f"{'  ' * document.depth}{safe(document.file)}  {_described(document)}"

    def _counts(self) -> Iterator[str]:
        for document in self._documents:
            yield f"{document.entries:>12,}  {safe(document.file)}"
        total = sum(each.entries for each in self._documents if each.format is not Format.INDEX)
        yield f"{total:>12,}  URLs in all"


def _described(document: Document) -> str:
    if document.format is None:
        return f"no sitemap: {safe(document.refusal)}"
    entries = count(document.entries, "entry", "entries")
    cut = "" if document.complete else ", not read to its end"
    return f"{document.format}, {entries}, {amount(document.size)}{cut}"
