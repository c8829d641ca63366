"""Adding Sitemap lines to a robots.txt on disk: what is there stays, and twice is once."""

import os
import stat
from pathlib import Path

import pytest

from crawler.audit.discovery.patch import apply_patch, build_patch
from crawler.errors import StorageError, UsageError
from sitemap import sitemaps_in

SITEMAP = "https://example.com/sitemap.xml"
LINE = b"Sitemap: https://example.com/sitemap.xml"
BEFORE = [
    b"",
    b"User-agent: *\nDisallow: /cart/\n",
    b"User-agent: *\r\nDisallow: /cart/\r\n",
    b"User-agent: *\rDisallow: /cart/\r",
    b"User-agent: *\nDisallow: /cart/",
    b"User-agent: *\r\nDisallow: /cart/",
    b"User-agent: *\nDisallow: /cart/\n\n",
    b"\xef\xbb\xbfUser-agent: *\nDisallow:\n",
    b"\xef\xbb\xbf",
    b"# M\xfcller, in Latin-1\nUser-agent: *\nDisallow: /caf\xe9\n",
    b"Sitemap: http://example.com/sitemap.xml\n",
    b"# Sitemap: https://example.com/sitemap.xml\n",
]


@pytest.mark.parametrize("before", BEFORE)
def test_ours_what_is_there_stays_and_twice_is_once(tmp_path: Path, before: bytes) -> None:
    file = tmp_path / "robots.txt"
    file.write_bytes(before)
    apply_patch(build_patch(file, [SITEMAP]))
    once = file.read_bytes()
    assert once.startswith(before)
    assert SITEMAP in sitemaps_in(once)
    end = b"\r\n" if b"\r\n" in before else b"\r" if b"\r" in before else b"\n"
    assert once.endswith(LINE + end)
    assert once.count(LINE) == before.count(LINE) + 1
    assert build_patch(file, [SITEMAP]).added == ()
    apply_patch(build_patch(file, [SITEMAP]))
    assert file.read_bytes() == once
    assert [each.name for each in tmp_path.iterdir()] == ["robots.txt"]


@pytest.mark.parametrize(
    "line", ["sitemap:https://EXAMPLE.com:443/sitemap.xml", "Site-map: https://example.com/%73itemap.xml # ours"]
)
def test_google_a_line_in_another_spelling_is_one(tmp_path: Path, line: str) -> None:
    (tmp_path / "robots.txt").write_text(f"User-agent: *\n{line}")
    assert build_patch(tmp_path, [SITEMAP]).added == ()


def test_ours_only_the_lines_that_are_missing_are_added(tmp_path: Path) -> None:
    file = tmp_path / "robots.txt"
    file.write_text(f"Sitemap: {SITEMAP}\n")
    other = "https://example.com/docs/sitemap.xml"
    apply_patch(build_patch(file, [SITEMAP, other, other]))
    assert file.read_text() == f"Sitemap: {SITEMAP}\n\nSitemap: {other}\n"


def test_ours_a_missing_file_is_made_for_everybody_to_read(tmp_path: Path) -> None:
    old = os.umask(0o077)
    try:
        apply_patch(build_patch(tmp_path / "robots.txt", [SITEMAP]))
    finally:
        os.umask(old)
    assert (tmp_path / "robots.txt").read_bytes() == LINE + b"\n"
    assert stat.S_IMODE((tmp_path / "robots.txt").stat().st_mode) == 0o644


def test_ours_mode_and_owner_stay_and_a_link_stays_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real" / "robots-shop.txt", tmp_path / "robots.txt"
    real.parent.mkdir()
    real.write_text("User-agent: *\n")
    real.chmod(0o640)
    if os.geteuid() == 0:
        os.chown(real, 12345, 54321)
    os.utime(real, (1, 1))
    before = real.stat()
    link.symlink_to("real/robots-shop.txt")
    made = build_patch(link, [SITEMAP])
    apply_patch(made)
    after = real.stat()
    assert made.path == real.resolve()
    assert link.is_symlink()
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
    assert after.st_mtime > 1  # caches and web servers must see that it changed
    assert LINE in real.read_bytes()


def test_rfc9309_a_file_that_crawlers_would_not_read_to_its_end_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "robots.txt"
    most = 500 * 1024
    file.write_bytes(b"#" * (most - len(LINE) - 3) + b"\n")
    assert len(build_patch(file, [SITEMAP]).after) == most
    file.write_bytes(b"#" * (most - len(LINE) - 2) + b"\n")
    with pytest.raises(UsageError, match="512,001 bytes, but crawlers read only the first 512,000"):
        build_patch(file, [SITEMAP])
    # a line beyond the end is none
    file.write_bytes(b"#" * most + b"\n" + LINE + b"\n")
    with pytest.raises(UsageError, match="Shorten the file"):
        build_patch(file, [SITEMAP])


@pytest.mark.parametrize("bom", [b"\xff\xfe", b"\xfe\xff"])
def test_rfc9309_utf_16_is_refused(tmp_path: Path, bom: bytes) -> None:
    (tmp_path / "robots.txt").write_bytes(bom + b"\0U")
    with pytest.raises(UsageError, match="UTF-16"):
        build_patch(tmp_path / "robots.txt", [SITEMAP])


def test_ours_what_another_changed_meanwhile_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "robots.txt"
    file.write_text("User-agent: *\n")
    made = build_patch(file, [SITEMAP])
    file.write_text("User-agent: *\nDisallow: /\n")
    with pytest.raises(StorageError, match="was changed by another program"):
        apply_patch(made)
    assert file.read_text() == "User-agent: *\nDisallow: /\n"
    assert [each.name for each in tmp_path.iterdir()] == ["robots.txt"]


def test_ours_what_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="is not a regular file"):
        build_patch(tmp_path / "pipe", [SITEMAP])
    with pytest.raises(UsageError, match="does not exist"):
        build_patch(tmp_path / "none" / "robots.txt", [SITEMAP])
    with pytest.raises(UsageError, match="cannot be read: File name too long"):
        build_patch(tmp_path / ("x" * 300), [SITEMAP])
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(UsageError, match="cannot be read"):
        build_patch(tmp_path / "loop", [SITEMAP])
