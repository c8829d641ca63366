"""The pages that are crawled: a folder of HTML that nobody wrote for a benchmark. Knows nothing of crawling."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

DOCUMENTATION = Path("/usr/share/doc")
KNOWN = ("openjdk-*/api", "python3*/html", "postgresql-doc-*/html", "linux-doc-*/html", "sqlite3-doc*")
TIMEOUT = 300  # seconds that making a tree may take


class NoTree(RuntimeError):
    """There is nothing to crawl; the message says why."""


@dataclass(frozen=True)
class Tree:
    """A folder with an index.html, how many HTML files lie in it and how many bytes these have."""

    folder: Path
    files: int
    bytes: int


def given(folder: Path) -> Tree:
    """The tree in a folder; each file is read once, so that no command finds the disk colder than another."""
    if not (folder / "index.html").is_file():
        raise NoTree(f"{folder} has no index.html")
    sizes = [len(path.read_bytes()) for path in _pages(folder)]
    return Tree(folder.resolve(), len(sizes), sum(sizes))


def installed() -> Path | None:
    """The largest of the well-known documentation trees on this machine."""
    found = {path.resolve() for pattern in KNOWN for path in DOCUMENTATION.glob(pattern)}
    complete = [path for path in found if (path / "index.html").is_file()]
    return max(complete, key=lambda path: (len(_pages(path)), path), default=None)


def make(folder: Path) -> Path:
    """Write the documentation of the standard library of this Python into a folder; some minutes at most.

    In a process of its own, because describing a module imports it, and modules do things when imported.
    """
    run = subprocess.run(
        [sys.executable, "-P", __file__, str(folder)],
        cwd=folder,
        env={**os.environ, "BROWSER": "true"},  # should one of them want to show something
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=TIMEOUT,
        check=False,
    )
    if run.returncode:
        raise NoTree(f"the documentation could not be made: {run.stderr.decode(errors='replace')[-500:]}")
    return folder


def _pages(folder: Path) -> list[Path]:
    return [
        Path(where, name)
        for where, _, names in os.walk(folder, followlinks=True)
        for name in names
        if name.endswith((".html", ".htm"))
    ]


_LEFT_OUT = {"antigravity", "this", "idlelib", "turtledemo", "test", "lib2to3", "ensurepip"}


def _describe(folder: Path) -> None:
    """Runs in the process of its own."""
    import pkgutil
    import pydoc
    import warnings

    warnings.simplefilter("ignore")
    names = [name for name in sys.stdlib_module_names if not name.startswith("_") and name not in _LEFT_OUT]
    written = []
    while names:
        name = names.pop()
        try:
            module, _ = pydoc.resolve(name) or (None, name)
            html = pydoc.html.page(name, pydoc.html.document(module, name))
            if module is not None and hasattr(module, "__path__"):
                inner = pkgutil.iter_modules(module.__path__, f"{name}.")
                names += [each.name for each in inner if not {"__main__", "tests", "test"} & {*each.name.split(".")}]
        except (Exception, SystemExit):  # noqa: BLE001 - a module of another system; there are enough others
            continue
        Path(folder, f"{name}.html").write_text(html, encoding="utf-8", errors="replace")
        written.append(name)
    items = "\n".join(f'<li><a href="{name}.html">{name}</a></li>' for name in sorted(written))
    index = f"<!doctype html><meta charset=utf-8><title>Modules</title><ul>\n{items}\n</ul>\n"
    Path(folder, "index.html").write_text(index, encoding="utf-8")


if __name__ == "__main__":
    _describe(Path(sys.argv[1]))
