"""Where an index leads when it is meant to lead astray, and names that no file can have."""

import os
from pathlib import Path

import pytest
from documents import URLSET, url, urlset

from sitemap import SitemapReader, SourceError, iter_entries, lint, tree


def index(*locs: str) -> bytes:
    """An index of these."""
    listed = "".join(f"<sitemap><loc>{loc}</loc></sitemap>" for loc in locs)
    return f"<sitemapindex {URLSET}>{listed}</sitemapindex>".encode()


@pytest.mark.parametrize(
    "name",
    [
        "../secret.xml",
        "..%2fsecret.xml",
        "%2e%2e/secret.xml",
        "..%5Csecret.xml",
        "link.xml",
        "endless.xml",
        "pipe.xml",
        "folder.xml",
        "loop.xml",
        "a%00.xml",
        "%FF.xml",
        "x" * 300,
        "%2Fetc%2Fpasswd",
        "",
    ],
)
@pytest.mark.parametrize("address", ["https://example.com/sitemap.xml", ""])
def test_owasp_path_traversal_leads_to_no_file_elsewhere(tmp_path: Path, name: str, address: str) -> None:
    (tmp_path / "secret.xml").write_bytes(urlset(url()))
    folder = tmp_path / "public"
    (folder / "folder.xml").mkdir(parents=True)
    (folder / "link.xml").symlink_to(tmp_path / "secret.xml")
    (folder / "endless.xml").symlink_to("/dev/zero")
    (folder / "loop.xml").symlink_to("pool.xml")
    (folder / "pool.xml").symlink_to("loop.xml")
    os.mkfifo(folder / "pipe.xml")
    (folder / "sitemap.xml").write_bytes(index(f"https://example.com/{name}"))
    found = tree(folder / "sitemap.xml", url=address)
    assert found.children == []
    assert "index.child_unreadable" in {finding.rule for finding in found.findings}


@pytest.mark.parametrize("name", ["a\0b.xml", "\ud800.xml", "x" * 5_000, "loop.xml"])
def test_ours_a_name_that_no_file_can_have_is_a_source_that_cannot_be_read(tmp_path: Path, name: str) -> None:
    (tmp_path / "loop.xml").symlink_to("loop.xml")
    source = f"{tmp_path}/{name}"
    for read in (tree, lint, lambda path: list(iter_entries(path)), lambda path: list(SitemapReader(path))):
        with pytest.raises(SourceError, match="cannot be read"):
            read(source)
