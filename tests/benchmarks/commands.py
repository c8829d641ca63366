"""The commands that are compared: how each is called, and the virtual environment that Scrapy gets."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
BENCH = ROOT / ".bench"
PEERS = ("scrapy", "floor")
OURS = "siteatlas"
_UVLOOP = "uvloop; sys_platform != 'win32' and platform_python_implementation == 'CPython'"


class Unavailable(RuntimeError):
    """A peer cannot be measured here; the message says why."""


@dataclass(frozen=True)
class Command:
    """A crawler: its name with its version, and its command line for a URL and an empty folder to write into."""

    name: str
    line: Callable[[str, Path], list[str]]


def ours(concurrency: int, processes: int) -> Command:
    """Everything on, nothing remembered, full speed."""

    def line(url: str, folder: Path) -> list[str]:
        words = ["-o", str(folder / "out"), "--state", str(folder / "state"), "--fresh", "-q"]
        pace = ["--rate", "0", "-c", str(concurrency), f"--set=parse.processes={processes}"]
        return [sys.executable, "-P", "-m", "crawler", "crawl", url, *words, *pace]

    return Command(OURS, line)


def peer(name: str, concurrency: int) -> Command:
    """A peer by its name. Raises Unavailable."""
    python, script = (_scrapy(), "scrapy_site.py") if name == "scrapy" else (sys.executable, "floor.py")

    def line(url: str, folder: Path) -> list[str]:
        return [python, "-P", str(HERE / script), url, str(folder), str(concurrency)]

    version = f" {_says(python, 'import scrapy; print(scrapy.__version__)')}" if name == "scrapy" else ""
    return Command(name + version, line)


def _scrapy() -> str:
    """The interpreter of an environment that has Scrapy, which is made when it is not there."""
    folder = BENCH / f"scrapy-{sys.version_info.major}.{sys.version_info.minor}"
    python = str(folder / "bin" / "python")
    if _says(python, "import scrapy; print(1)"):
        return python
    BENCH.mkdir(exist_ok=True)
    (BENCH / ".gitignore").write_text("*\n", encoding="utf-8")
    print(f"installing Scrapy into {folder.relative_to(ROOT)}, once", file=sys.stderr)
    install = ["-m", "pip", "install", "-q", "--disable-pip-version-check", "scrapy", _UVLOOP]
    for line in ([sys.executable, "-m", "venv", "--clear", str(folder)], [python, *install]):
        run = subprocess.run(line, capture_output=True, text=True, check=False)
        if run.returncode:
            shutil.rmtree(folder, ignore_errors=True)
            said = (run.stderr.strip() or run.stdout.strip() or "nothing was said").splitlines()[-1]
            raise Unavailable(f"Scrapy cannot be installed: {said}")
    return python


def _says(python: str, code: str) -> str:
    """What a line of Python prints in an interpreter; "" when it fails or the interpreter is not there."""
    try:
        run = subprocess.run([python, "-P", "-c", code], capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return run.stdout.strip() if run.returncode == 0 else ""
