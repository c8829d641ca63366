"""The dates of pages from the Git repository that a site is built from (``--lastmod git``).

::

    git ls-tree ─ files ─▶ generators ─ file of each page ─▶ one ``git log`` ─▶ date of the last edit of each file

One pass over the history, newest first, until every file has its date. A rename without an edit is followed. A commit
that touches most pages at once (an import, a new format, a licence) says nothing about any of them and is passed over:
only a file without any other commit has the time of the first of these.
The history of a shallow clone begins with such a commit, and its dates would be those of the clone:
https://git-scm.com/docs/git-log, https://git-scm.com/docs/shallow.
"""

import hashlib
import os
import re
import subprocess
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from subprocess import DEVNULL, PIPE
from typing import IO, Final
from urllib.parse import quote

from msgspec import Struct

from crawler.config.config import ContentConfig
from crawler.errors import UsageError
from crawler.lastmod.generators import ANY, GENERATORS, SiteGenerator, find_generator, match_pages, path_key
from crawler.lastmod.policy import EARLIEST_DATE, SourcedDate
from crawler.model import Url
from crawler.units import count_text, w3c
from crawler.url.normalize import path_of

MIN_BULK_FILES: Final = 10
"""A commit says nothing about a page if it touches at least this many of the files of pages ..."""
MIN_BULK_SHARE: Final = 0.5
"""... and at least this share of those that exist at that time."""
MAX_HEAD: Final = 4_096  # bytes of a file that are searched for a front matter
# No pager, hook, signature check, lazy fetch or lock: a repository may come from somebody else.
_SAFE: Final = (
    "--no-pager",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "log.showSignature=false",
    "-c",
    "core.hooksPath=/dev/null",
)
_ENVIRONMENT: Final = {"GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1", "LC_ALL": "C"}
_LOG: Final = ("--no-ext-diff", "--no-textconv")  # no programs that the repository names
_BLOCK: Final = 2**16


class Edit(Struct, frozen=True):
    """A commit: its author's time (Unix), and the files that it changed. ``renamed`` maps new names to old ones."""

    at: float
    changed: frozenset[str]
    added: frozenset[str]
    renamed: Mapping[str, str]


_converts: Final = re.compile(r"\s(?:filter=|ident\b|working-tree-encoding)").search
"""Whether attributes of files make Git store other bytes than the files have: https://git-scm.com/docs/gitattributes"""
_OF_AUTHORS: Final = (".md", ".mdx", ".markdown", ".rst", ".adoc", ".org", ".txt", ".html", ".htm", ".ipynb")
"""Files that have the text of a page. Others are templates, which may fill in what other files say."""


class Repository:
    """A Git repository and the generator of the site in it. Raises UsageError for what is none."""

    def __init__(self, content: ContentConfig) -> None:
        self._directory = Path(content.repository or ".")
        top, shallow, prefix, _ = self._text(
            "rev-parse", "--show-toplevel", "--is-shallow-repository", "--show-prefix", "HEAD"
        ).split("\n")
        self._top = Path(top)
        self.is_shallow = shallow == "true"
        listed = self._text("ls-tree", "-r", "-z", "--full-tree", "HEAD").split("\0")
        names = ((name, about.split()[-1]) for about, _, name in (line.partition("\t") for line in listed) if name)
        self._files = {name: hashed for name, hashed in names if name.startswith(prefix)}  # with the hash of each
        generator = find_generator(self._files, content.generator or None)
        if generator is None:
            wanted = content.generator or f"a site generator that Siteatlas knows ({', '.join(GENERATORS)})"
            raise UsageError(
                f"{self._directory} has no settings file of {wanted}. Choose another repository (content.repository), "
                "or let the pages state their dates, such as in article:modified_time, and use --lastmod page"
            )
        self.generator: SiteGenerator = generator.with_settings(self._head(generator.marker, None))

    def page_dates(
        self, pages: Collection[tuple[int, Url]], start: Url
    ) -> tuple[Mapping[int, SourcedDate], tuple[str, ...]]:
        """The dates of pages by id, and notes, from pairs of an id and a URL. ``start`` is the start URL."""
        if self.is_shallow:
            why = f"{self._directory} is a shallow clone, so its history does not say when a page was edited"
            return {}, (f"{why}. Use git fetch --unshallow",)
        keys = {number: _site_key(url, start) for number, url in pages if "?" not in url}
        sources = sorted(filter(self.generator.is_page, self._files))
        files = match_pages(self.generator, ((file, self._head(file)) for file in sources), set(keys.values()))
        found, bulk = last_edits(self._edits(), set(files.values()), sources)
        made = [(number, files[key]) for number, key in keys.items() if key in files]
        dates = {
            number: SourcedDate(
                w3c((found if file in found else bulk)[file]), f"Git commit of {file}", file not in found
            )
            for number, file in made
            if file in found or file in bulk
        }
        count = f"source files of {self.generator.name} make {len(made):,} of {count_text(len(pages), 'page')}"
        note = f"{count}, and Git dates {len(dates):,} of these"
        attributes = "".join(self._head(file) for file in self._files if file.endswith(".gitattributes"))
        is_as_stored = not _converts(attributes)
        edited = len({file for number, file in made if is_as_stored and number in dates and self._is_edited(file)})
        if edited:
            note += (
                f"; {count_text(edited, 'file has', 'files have')} changes without a commit, which Git does not date"
            )
        templates = sorted(file for number, file in made if number in dates and not file.endswith(_OF_AUTHORS))
        if templates:
            verb = "has" if len(templates) == 1 else "have"
            note += (
                f"; {len(templates):,} {verb} the date of a template, such as {templates[0]}, which is not that of the "
                "entries in a list"
            )
        return dates, (note,)

    def _head(self, file: str, size: int | None = MAX_HEAD) -> str:
        """The first bytes of a file as text, all of it for None, "" if it is not checked out."""
        with suppress(OSError), (self._top / file).open("rb") as opened:
            return opened.read(-1 if size is None else size).decode("utf-8", "replace")
        return ""

    def _is_edited(self, file: str) -> bool:
        """Whether a file differs from its last commit: not in the ends of its lines, which Git may convert.

        ``git status`` would run the filters that a repository names.
        """
        path, committed = self._top / file, self._files[file]
        if path.is_symlink():
            return False
        with suppress(OSError):
            content = path.read_bytes()
            texts = (content, content.replace(b"\r\n", b"\n"))
            name = "sha1" if len(committed) == 40 else "sha256"
            hashes = (hashlib.new(name, b"blob %d\0%b" % (len(text), text)).hexdigest() for text in texts)
            return committed not in hashes
        return False

    def _edits(self) -> Iterator[Edit]:
        """The commits, the newest first. Only exact renames are detected, which needs no content of files."""
        command = _command(
            self._directory, "log", "-z", "--format=%x01%at", "--name-status", "-M100%", "--date-order", *_LOG, "HEAD"
        )
        environment = _environment()
        with subprocess.Popen(command, stdout=PIPE, stderr=DEVNULL, env=environment) as process:  # noqa: S603 - fixed words
            assert process.stdout is not None  # noqa: S101 - it is a pipe
            try:
                yield from _read_edits(_tokens(process.stdout))
            finally:
                process.kill()

    def _text(self, *words: str) -> str:
        return _git(self._directory, "content.repository", *words)


def dates_pages(content: ContentConfig) -> bool:
    """Whether ``lastmod = "git"`` finds a repository with commits and a generator that it knows."""
    with suppress(UsageError):
        return not Repository(content).is_shallow
    return False


def former_pages(folder: Path) -> set[str]:
    """The paths of the pages that the Git history of a folder ever had: of built files, or of a generator's sources.

    Those of sources have no suffix, since settings choose it, and are the likeliest of each file. Raises UsageError.
    """
    words = ("log", "-z", "--format=", "--name-only", "--no-renames", "--relative", *_LOG, "HEAD", "--", ".")
    files = set(filter(None, (name.strip("\n") for name in _git(folder, "the folder", *words).split("\0"))))
    if generator := find_generator(files):
        keys = (generator.keys(file, "") for file in files if generator.is_page(file))
        return {f"/{found[0].removeprefix(ANY)}" for found in keys if found}
    pages = (file for file in files if file.endswith((".html", ".htm")) and file.rpartition("/")[2] != "404.html")
    return {f"/{quote(page.removesuffix('index.html'))}" for page in pages}


def _git(directory: Path, what: str, *words: str) -> str:
    try:
        run = subprocess.run(_command(directory, *words), capture_output=True, env=_environment(), check=False)  # noqa: S603 - fixed words
    except FileNotFoundError:
        raise UsageError("this needs the program git, which is not installed. Install Git") from None
    if run.returncode:
        reason = run.stderr.decode("utf-8", "replace").strip().partition("\n")[0].removeprefix("fatal: ")
        raise UsageError(f"Git cannot read a commit of {directory} ({what}): {reason}")
    return run.stdout.decode("utf-8", "surrogateescape").removesuffix("\n")


def _command(directory: Path, *words: str) -> list[str]:
    return ["git", "-C", str(directory), *_SAFE, *words]


def last_edits(
    edits: Iterable[Edit], files: Collection[str], sources: Iterable[str]
) -> tuple[dict[str, float], dict[str, float]]:
    """The time of the last edit of each file, from commits in order, the newest first; and of the files without one.

    Stops at the commit after which nothing is left to find. A time before 1995 is no evidence. A commit that touches
    most of the ``sources``, which are the files of all pages, is no edit; the second times are those of the first
    such commit of a file, which mostly added it.
    """
    names = {file: file for file in sources}  # by the name at the time of the commit
    missing = set(files)
    alive = len(names)
    found: dict[str, float] = {}
    bulk: dict[str, float] = {}
    for edit in edits:
        touched = edit.changed & names.keys()
        is_bulk = len(touched) >= max(MIN_BULK_FILES, MIN_BULK_SHARE * alive)
        for name in touched:
            if edit.at >= EARLIEST_DATE and names[name] in missing:
                (bulk if is_bulk else found)[names[name]] = edit.at
                if not is_bulk:
                    missing.discard(names[name])
            if name in edit.added:
                alive -= 1
                del names[name]
        moved = [(old, names.pop(new)) for new, old in edit.renamed.items() if new in names]
        names.update(moved)
        if not names or not missing:
            break
    return found, bulk


def _read_edits(tokens: Iterator[bytes]) -> Iterator[Edit]:
    """The commits in the output of ``git log -z --format=%x01%at --name-status``."""
    at = None
    changed: set[str] = set()
    added: set[str] = set()
    renamed: dict[str, str] = {}
    for token in tokens:
        if token.startswith(b"\x01"):
            if at is not None:
                yield Edit(at, frozenset(changed), frozenset(added), renamed)
            at, changed, added, renamed = float(token[1:]), set(), set(), {}
            continue
        status, name = token.lstrip(b"\n"), os.fsdecode(next(tokens, b""))
        if status.startswith(b"R"):
            renamed[os.fsdecode(next(tokens, b""))] = name
        elif not status.startswith(b"D"):
            changed.add(name)
            if status.startswith(b"A"):
                added.add(name)
    if at is not None:
        yield Edit(at, frozenset(changed), frozenset(added), renamed)


def _tokens(stream: IO[bytes]) -> Iterator[bytes]:
    """The texts between zero bytes."""
    rest = b""
    while block := stream.read(_BLOCK):
        *whole, rest = (rest + block).split(b"\0")
        yield from filter(None, whole)
    if rest:
        yield rest


def _site_key(url: Url, start: Url) -> str:
    """The key of a page's path, relative to the directory of the start URL if the page is in it."""
    path, directory = path_of(url), f"{path_of(start).rpartition('/')[0]}/"
    return path_key(path.removeprefix(directory))


def _environment() -> dict[str, str]:
    return {**os.environ, **_ENVIRONMENT}
