"""Adds Sitemap lines to a robots.txt on disk, atomically; its existing bytes stay."""

import os
import re
import shutil
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from msgspec import Struct

from crawler.errors import StorageError, UsageError
from crawler.robots.rules import MAX_BYTES
from sitemap import destination_error, missing_lines, replacement

FILE_NAME: Final = "robots.txt"
_LINE_END: Final = re.compile(rb"\r\n|\r|\n")
_UTF_16: Final = (b"\xff\xfe", b"\xfe\xff")


class RobotsTxtPatch(Struct, frozen=True):
    """A change of a robots.txt: ``path`` is the file itself, no link to it; ``added`` are lines without line ends.

    ``before`` is None when there is no file yet.
    """

    path: Path
    before: bytes | None
    after: bytes
    added: tuple[str, ...]


def build_patch(path: Path, sitemap_urls: Iterable[str]) -> RobotsTxtPatch:
    """The patch that makes a robots.txt name these sitemaps; empty if it names them already.

    ``path`` is the file, a link to it, or its directory. A sitemap counts as named in any spelling of its URL. Raises
    UsageError for a file that crawlers cannot read, or would not read to its end
    (https://www.rfc-editor.org/rfc/rfc9309#section-2.5).
    """
    file = _real_path(path)
    before = _read(file)
    if before is not None and before.startswith(_UTF_16):
        raise UsageError(
            f"{path} is in UTF-16, which crawlers cannot read. Save the file as UTF-8, and run the command again"
        )
    added = missing_lines(before or b"", sitemap_urls)
    after = _with_lines(before or b"", added)
    if len(after) > MAX_BYTES and added:
        raise UsageError(
            f"with the new lines, {path} would have {len(after):,} bytes, but crawlers read only the first "
            f"{MAX_BYTES:,} bytes. Shorten the file, and run the command again"
        )
    return RobotsTxtPatch(file, before, after, tuple(added))


def apply_patch(patch: RobotsTxtPatch) -> None:
    """Write it atomically, with the mode and the owner of the file that it replaces. Raises StorageError.

    A file that has changed since :func:`build_patch` read it stays as it is.
    """
    if not patch.added:
        return
    file = patch.path
    try:
        if patch.before is not None and os.geteuid() not in (0, file.stat().st_uid):
            raise StorageError(
                f"{file} belongs to another user, and --patch would change the owner. Run the command as the owner "
                "of the file"
            )
        with replacement(file, like_before=True) as draft:
            if patch.before is None:
                os.fchmod(draft.fileno(), 0o644)  # everybody may read a new file
            else:
                shutil.copystat(file, draft.fileno())  # type: ignore[arg-type] # mode and access lists
            draft.write(patch.after)
            if _read(file) != patch.before:
                raise StorageError(f"{file} was changed by another program. Run the command again")
    except OSError as error:
        raise StorageError(str(destination_error(f"{file} cannot be written", error))) from None


def _real_path(path: Path) -> Path:
    """The file that a path leads to; it need not exist yet."""
    try:
        path = (path / FILE_NAME if path.is_dir() else path).resolve()
        kind = path.stat().st_mode
    except FileNotFoundError:
        if not path.parent.is_dir():
            raise UsageError(
                f"the directory {path.parent} of {path.name} does not exist. Create it, or give "
                "another file with --patch"
            ) from None
        return path
    except (OSError, RuntimeError) as error:
        raise UsageError(f"{path} cannot be read: {getattr(error, 'strerror', '') or error}") from None
    if not stat.S_ISREG(kind):
        raise UsageError(f"{path} is not a regular file. Give a regular file with --patch")
    return path


def _read(file: Path) -> bytes | None:
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror or error}") from None


def _with_lines(before: bytes, added: list[str]) -> bytes:
    """The content, an empty line and these lines, with the line ends of the content."""
    if not added:
        return before
    line_ends = _LINE_END.findall(before)
    line_end = max(set(line_ends), key=line_ends.count) if line_ends else b"\n"
    text = before.removeprefix(b"\xef\xbb\xbf")
    prefix = b""
    if text and not text.endswith((b"\n", b"\r")):
        prefix = line_end
    if text and _LINE_END.split(text + prefix)[-2:-1] != [b""]:
        prefix += line_end
    return before + prefix + b"".join(line.encode() + line_end for line in added)
