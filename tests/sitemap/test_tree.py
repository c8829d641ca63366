"""From an index to all it leads to: what is read, in which order, and what is said of what cannot be."""

import gzip
from collections.abc import Callable, Iterator
from email.message import Message
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError

import pytest

from sitemap import (
    Child,
    Directory,
    Document,
    Entry,
    Finding,
    Format,
    NotASitemap,
    ReadLimits,
    SitemapWriter,
    SourceError,
    TreeLimits,
    beside,
    iter_entries,
    tree,
    walk,
)

NS = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
HOME = "https://example.com/"


def urlset(*names: str) -> bytes:
    return f"<urlset {NS}>{''.join(f'<url><loc>{HOME}{name}</loc></url>' for name in names)}</urlset>".encode()


def index(*names: str) -> bytes:
    rows = (f"<sitemap><loc>{name if '://' in name else HOME + name}</loc></sitemap>" for name in names)
    return (f"<sitemapindex {NS}>\n" + "\n".join(rows) + "\n</sitemapindex>").encode()


def site(**documents: bytes) -> Callable[[str], bytes]:
    """An opener for documents by the names of their files, with _ for the dot."""

    def find(url: str) -> bytes:
        name = url.removeprefix(HOME).replace(".", "_")
        if name not in documents:
            raise SourceError("404")
        return documents[name]

    return find


def told(document: Document) -> list[tuple[str, int]]:
    return [(finding.rule, finding.line) for finding in document.findings]


class Diary:
    def __init__(self) -> None:
        self.lines: list[str] = []

    def begin(self, document: Document) -> None:
        self.lines.append(f"begin {document.file}")

    def items(self, document: Document, items: list[Entry | Child], line_of: Callable[[int], int]) -> None:
        self.lines += [f"{line_of(number)} {item.loc}" for number, item in enumerate(items)]

    def end(self, document: Document) -> None:
        self.lines.append(f"end {document.file} {document.format} {document.entries}")


def test_sitemaps_org_an_index_and_its_sitemaps() -> None:
    diary = Diary()
    opener = site(a_xml=urlset("1", "2"), b_xml=gzip.compress(urlset("3")))
    root = walk(index("a.xml", "b.xml"), diary, opener, HOME + "sitemap.xml")
    assert diary.lines == [
        f"begin {HOME}sitemap.xml",
        f"2 {HOME}a.xml",
        f"3 {HOME}b.xml",
        f"begin {HOME}a.xml",
        f"1 {HOME}1",
        f"1 {HOME}2",
        f"end {HOME}a.xml urlset 2",
        f"begin {HOME}b.xml",
        f"1 {HOME}3",
        f"end {HOME}b.xml urlset 1",
        f"end {HOME}sitemap.xml sitemapindex 2",
    ]
    assert (root.format, root.entries, root.complete, root.findings) == (Format.INDEX, 2, True, ())
    assert [(child.depth, child.parent, child.url) for child in root.children] == [
        (1, root, HOME + "a.xml"),
        (1, root, HOME + "b.xml"),
    ]
    assert told(root.children[1]) == [("sitemap.mislabelled", 0)]


def test_sitemaps_org_an_index_in_an_index_is_read_and_said() -> None:
    opener = site(a_xml=index("b.xml"), b_xml=urlset("1"))
    root = tree(index("a.xml"), opener)
    assert told(root) == [("index.nested", 2)]
    assert root.children[0].children[0].entries == 1


def test_ours_circles_end() -> None:
    itself = tree(index("i.xml", "a.xml"), site(a_xml=urlset("1")), HOME + "i.xml")
    assert told(itself) == [("index.cycle", 2)]
    assert [child.entries for child in itself.children] == [1]
    opener = site(a_xml=index("b.xml"), b_xml=index("a.xml"))
    root = tree(index("a.xml"), opener)
    assert told(root) == [("index.nested", 2)]
    assert told(root.children[0]) == [("index.nested", 2)]
    assert told(root.children[0].children[0]) == [("index.cycle", 2)]


def test_ours_depth_is_bounded() -> None:
    def opener(url: str) -> bytes:
        return index(str(int(url.removeprefix(HOME)) + 1))

    root = tree(index("1"), opener)
    third = root.children[0].children[0].children[0]
    assert (third.depth, third.children) == (3, [])
    assert told(third) == [("index.too_deep", 2)]
    shallow = walk(index("1"), Diary(), opener, limits=TreeLimits(max_depth=0))
    assert (shallow.children, shallow.findings) == ([], ())


def test_sitemaps_org_no_more_than_50000_children_are_followed() -> None:
    opened: list[str] = []

    def opener(url: str) -> bytes:
        opened.append(url)
        raise SourceError("404")

    root = tree(index(*(f"{number}.xml" for number in range(50_003))), opener)
    assert len(opened) == 50_000
    assert ("index.too_many", 0) in told(root)
    assert root.complete
    opened.clear()
    limits = TreeLimits(max_children=3)
    assert "more than 3 sitemaps" in walk(index(*"abcdef"), Diary(), opener, limits=limits).cut
    assert len(opened) == 3


def test_ours_the_files_of_a_tree_are_bounded() -> None:
    root = walk(index(*"abc"), Diary(), lambda _: urlset("1"), limits=TreeLimits(max_files=3))
    assert len(root.children) == 2
    assert (told(root), root.cut[:24]) == ([], "3 documents were read, '")


def test_sitemaps_org_a_child_is_listed_once_and_in_the_directory_of_its_index() -> None:
    opener = site(a_xml=urlset("1"))
    names = ("a.xml", "https://EXAMPLE.com:443/a.xml#top", "https://other.example/b.xml")
    root = tree(index(*names), opener, HOME + "sitemap.xml")
    assert told(root) == [("index.duplicate", 3), ("index.outside", 4), ("index.child_unreadable", 4)]
    assert len(root.children) == 1
    assert told(tree(index(HOME), lambda _: urlset("1"), HOME + "deep/sitemap.xml")) == [("index.outside", 2)]


def test_ours_a_child_that_cannot_be_read_stops_nothing() -> None:
    def broken() -> Iterator[bytes]:
        yield urlset("1")[:-9]
        raise OSError("the line is dead")

    def opener(url: str) -> Any:
        return {"html": b"<html></html>", "broken": broken(), "good": urlset("2")}[url.removeprefix(HOME)]

    diary = Diary()
    root = walk(index("html", "broken", "good"), diary, opener)
    assert told(root) == [("index.child_unreadable", 2), ("index.child_unreadable", 3)]
    assert "this is an HTML page" in root.findings[0].sentence
    assert "the line is dead" in root.findings[1].sentence
    assert [child.complete for child in root.children] == [False, False, True]
    assert len([line for line in diary.lines if line.startswith("end")]) == 4


def test_ours_files_beside_the_index(tmp_path: Path) -> None:
    with SitemapWriter(Directory(tmp_path), HOME + "x/sitemap.xml") as writer:
        for number in range(50_001):
            writer.add(Entry(f"{HOME}x/{number:05}"))
        writer.finish()
    path = tmp_path / "sitemap.xml"
    root = tree(path, url=HOME + "x/sitemap.xml")
    assert (root.findings, [child.entries for child in root.children]) == ((), [50_000, 1])
    assert root.file == str(path)
    assert sum(1 for _ in iter_entries(path)) == 50_001


def test_ours_beside_never_leaves_the_folder(tmp_path: Path) -> None:
    public, deep = tmp_path / "public", tmp_path / "public" / "deep"
    deep.mkdir(parents=True)
    (tmp_path / "secret.xml").write_bytes(urlset("1"))
    (public / "link.xml").symlink_to(tmp_path / "secret.xml")
    (deep / "a b.xml").write_bytes(urlset("2"))
    find = beside(public / "sitemap.xml", HOME + "sitemap.xml")
    assert find(HOME + "deep/a%20b.xml") == deep / "a b.xml"
    for name in ("..%2fsecret.xml", "%2e%2e/secret.xml", "link.xml", "deep", "", "%00", "x" * 2_000, "missing.xml"):
        with pytest.raises(SourceError, match=r"does not exist in the folder|can belong to the sitemap"):
            find(HOME + name)
    with pytest.raises(SourceError):
        find("https://user:password@example.com/deep/a%20b.xml")
    assert beside(deep / "sitemap.xml")("https://other.example/x/a%20b.xml") == deep / "a b.xml"


def test_ours_an_index_that_lists_its_own_file_is_a_circle(tmp_path: Path) -> None:
    path = tmp_path / "sitemap.xml"
    path.write_bytes(index("sitemap.xml"))
    assert told(tree(path)) == [("index.cycle", 2)]


def test_ours_the_entries_of_a_tree_one_after_the_other(tmp_path: Path) -> None:
    opener = site(a_xml=urlset("1", "2"), b_xml=index("c.xml"), c_xml=urlset("3"))
    assert [entry.loc[-1] for entry in iter_entries(index("a.xml", "b.xml"), opener)] == [*"123"]
    with pytest.raises(NotASitemap):
        list(iter_entries(b"<html></html>"))
    with pytest.raises(SourceError):
        list(iter_entries(tmp_path / "missing.xml"))
    with pytest.raises(SourceError):
        tree(tmp_path / "missing.xml")
    assert tree(b"<html></html>").format is None


@pytest.mark.parametrize(
    ("opener", "limits", "kind", "told", "rule"),
    [
        (site(a=urlset("1")), TreeLimits(), SourceError, "b' cannot be read: 404", "index.child_unreadable"),
        (site(a=urlset("1"), b=b"<p/>"), TreeLimits(), NotASitemap, "b' is not a sitemap", "index.child_unreadable"),
        (site(a=urlset("1"), b=urlset("2")[:-30]), TreeLimits(), SourceError, "is truncated", "sitemap.truncated"),
        (site(a=urlset("1"), b=index("c")), TreeLimits(max_depth=1), SourceError, "at depth 1", "index.too_deep"),
        (site(a=urlset("1")), TreeLimits(max_children=1), SourceError, "more than 1 sitemaps", "index.too_many"),
        (site(a=urlset("1")), TreeLimits(max_files=2), SourceError, "2 documents", "index.too_many"),
        (site(a=urlset("1"), b=urlset("2", "3", "4")), TreeLimits(read=ReadLimits(max_entries=2)), SourceError,
         "b': reading stopped after 2 ", "sitemap.truncated"),
    ],
)  # fmt: skip
def test_ours_no_entries_are_lost_without_a_word(
    opener: Any, limits: TreeLimits, kind: type[Exception], told: str, rule: str
) -> None:
    entries = iter_entries(index("a", "b"), opener, limits=limits)
    assert next(entries).loc[-1] == "1"
    with pytest.raises(kind, match=told):
        list(entries)
    findings: list[Finding] = []
    again = iter_entries(index("a", "b"), opener, limits=limits, unread=findings.append)
    assert next(again).loc[-1] == "1"
    list(again)
    assert (len(findings), findings[-1].rule) == (1, rule)
    assert told in findings[-1].sentence


def test_ours_an_index_whose_sitemaps_nobody_finds_is_no_empty_one() -> None:
    with pytest.raises(SourceError, match="2 sitemaps of an index were not read: pass an opener"):
        list(iter_entries(index("a", "b")))
    findings: list[Finding] = []
    assert list(iter_entries(index("a", "b"), unread=findings.append)) == []
    assert [(finding.rule, finding.line) for finding in findings] == [("index.child_unreadable", 2)]
    assert list(iter_entries(index("a"), limits=TreeLimits(max_depth=0))) == []  # as was asked


@pytest.mark.parametrize(
    ("raised", "told"),
    [
        (URLError(TimeoutError("timed out")), "timed out"),
        (HTTPError(HOME, 410, "Gone", Message(), None), "HTTP Error 410: Gone"),
        (ValueError("unknown url type"), "unknown url type"),
        (TimeoutError(), "TimeoutError"),
    ],
    ids=["url", "http", "value", "timeout"],
)
def test_ours_what_an_opener_raises_is_why_a_child_cannot_be_read(raised: Exception, told: str) -> None:
    def opener(url: str) -> bytes:
        raise raised

    root = tree(index("a.xml"), opener)
    assert [finding.rule for finding in root.findings] == ["index.child_unreadable"]
    assert told in root.findings[0].sentence
    with pytest.raises(SourceError, match=told):
        list(iter_entries(index("a.xml"), opener))


def test_ours_limits_hold_for_each_document() -> None:
    root = walk(index("a"), Diary(), lambda _: urlset("1", "2"), limits=TreeLimits(read=ReadLimits(max_entries=1)))
    assert [child.entries for child in root.children] == [1]
