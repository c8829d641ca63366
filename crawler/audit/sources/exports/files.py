"""Opens an export, which is a file, folder or URL, plain, gzip or zip, as parts that can be read repeatedly."""

import io
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Final, cast
from zipfile import LargeZipFile, ZipFile, ZipInfo

from msgspec import Struct
from typing_extensions import override

from crawler.audit.sources.unpack import UNPACK_ERRORS, ZIP_STARTS, is_content, unpack
from crawler.audit.sources.urls import files_in
from crawler.errors import UsageError
from crawler.state.schema import STATE_DB
from sitemap import SourceError, check_path

OpenUrl = Callable[[str], bytes]
"""Fetches the document at a URL; raises ``sitemap.SourceError``."""

MAX_RATIO: Final = 100
"""Bytes that a byte of a packed export may become, over all of its files and after the first MiB: tables become 10."""
MAX_MEMBERS: Final = 10_000  # files of an archive
MAX_PARTS: Final = 200  # files of an archive that are read
BUFFER: Final = 256 * 1024  # bytes
UNREADABLE: Final[tuple[type[Exception], ...]] = (*UNPACK_ERRORS, LargeZipFile, RuntimeError, UnicodeError)
"""The exceptions of reading a damaged file."""

_NO_TABLES: Final = (
    (b"SQLite format 3\x00", "is a database: siteatlas export writes the tables of a state"),
    (b"\xd0\xcf\x11\xe0", "is an Excel workbook: save the sheet with the URLs as CSV"),
    (b"%PDF", "is a PDF: export a CSV"),
)


class _Budget:
    """The bytes that may still be unpacked from an export, which is read twice: to choose its tables, and for these."""

    def __init__(self, packed: int) -> None:
        self.left = 2 * (MAX_RATIO * packed + 2**20)

    def spend(self, size: int) -> int:
        """Count bytes. Raises OSError when they are too many."""
        self.left -= size
        if self.left < 0:
            raise OSError(
                f"a byte of it becomes more than {MAX_RATIO} bytes: unpack it, and give the file with the URLs"
            )
        return size


class _Unpacked(io.RawIOBase):
    """The unpacked bytes of a part, within the budget; closing it closes the file."""

    def __init__(self, content: BinaryIO, file: BinaryIO, budget: _Budget) -> None:
        self._content = unpack(io.BufferedReader(cast("io.RawIOBase", content)))
        self._file, self._budget = file, budget

    @override
    def readable(self) -> bool:
        return True

    @override
    def readinto(self, buffer: Any) -> int:
        data = self._content.read1(len(buffer))
        buffer[: len(data)] = data
        return self._budget.spend(len(data))

    @override
    def close(self) -> None:
        super().close()
        self._file.close()


class ExportPart(Struct, frozen=True):
    """One file: the export itself, with the ``name`` "", or a file of an archive or folder."""

    name: str
    open: Callable[[], BinaryIO]


class OpenedExport(Struct, frozen=True):
    """An opened export: its parts, and its ``bytes`` as stored."""

    parts: list[ExportPart]
    bytes: int


def is_remote_source(name: str) -> bool:
    """Whether the name is an HTTP URL."""
    return name.lower().startswith(("http://", "https://"))


def open_export(name: str, open_url: OpenUrl) -> OpenedExport:
    """Open a file, folder or URL. Raises UsageError when it does not exist, or is no text at all."""
    if is_remote_source(name):
        try:
            content = open_url(name)
        except SourceError as error:
            raise UsageError(f"{name} cannot be read: {error}") from None
        return _file_parts(name, partial(io.BytesIO, content), len(content))
    path = Path(name)
    try:
        if path.is_dir():
            check_path(path)
            return _folder_parts(name)
        if not path.exists():
            raise UsageError(f"{name} does not exist")
        if not path.is_file():
            raise UsageError(f"{name} is not a regular file. Save its content to a file, and give that file")
        return _file_parts(name, partial(_open_file, path), path.stat().st_size)
    except (OSError, ValueError) as error:
        raise UsageError(f"{name} cannot be read: {getattr(error, 'strerror', None) or error}") from None


def _folder_parts(name: str) -> OpenedExport:
    """Open a folder, such as an unpacked archive; its files are the parts."""
    files = [Path(path) for path in files_in(name, "an export")]
    if not files:
        raise UsageError(f"the folder {name} contains no files. Give a file, or a folder with files")
    if any(path.name == STATE_DB.file for path in files):
        raise UsageError(f"{name} is a state of siteatlas. Write its tables with siteatlas export, and give pages.csv")
    return OpenedExport(
        [
            ExportPart(
                str(path.relative_to(name)),
                partial(_open_part, partial(_open_file, path), _Budget(path.stat().st_size)),
            )
            for path in files[:MAX_PARTS]
        ],
        sum(path.stat().st_size for path in files),
    )


def _open_file(path: Path) -> BinaryIO:
    """Open a file, unless another account leads us to a file that it may not read itself. OSError."""
    check_path(path)
    return path.open("rb")


def _file_parts(name: str, open_: Callable[[], BinaryIO], size: int) -> OpenedExport:
    with open_() as file:
        head = file.read(16)
    for magic, reason in _NO_TABLES:
        if head.startswith(magic):
            raise UsageError(f"{name} {reason}")
    if not head.startswith(ZIP_STARTS):
        return OpenedExport([ExportPart("", partial(_open_part, open_, _Budget(size)))], size)
    try:
        with open_() as file, ZipFile(file) as archive:
            members = [member for member in archive.infolist() if is_content(member)]
    except UNREADABLE as error:
        raise UsageError(f"{name} is a broken zip archive ({error}). Download the archive again") from None
    names = {member.filename for member in members}
    if "xl/workbook.xml" in names or "content.xml" in names:
        raise UsageError(f"{name} is a spreadsheet workbook. Save the sheet with the URLs as CSV, and give that file")
    if len(members) > MAX_MEMBERS:
        raise UsageError(
            f"{name} has {len(members):,} files; the limit is {MAX_MEMBERS:,}. Give the files with the URLs"
        )
    if any(member.flag_bits & 1 for member in members):
        raise UsageError(f"{name} is protected by a password. Unpack the archive, and give the unpacked file")
    budget = _Budget(size)
    return OpenedExport(
        [ExportPart(member.filename, partial(_open_part, open_, budget, member)) for member in members[:MAX_PARTS]],
        size,
    )


def _open_part(open_: Callable[[], BinaryIO], budget: _Budget, member: ZipInfo | None = None) -> BinaryIO:
    """The content of a file, or of a member of an archive, decompressed according to its first bytes."""
    file = open_()
    content = cast("BinaryIO", ZipFile(file).open(member)) if member else file  # noqa: SIM115 - closed with the file
    return io.BufferedReader(_Unpacked(content, file, budget), BUFFER)
