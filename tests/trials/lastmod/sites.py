"""The HTML of real systems: rendered once, kept in a cache, and for 20 pages beside this file."""

import gzip
import importlib
import json
import random
from pathlib import Path

from tests.trials.lastmod.page import Page

SYSTEMS = ("hugo", "wordpress", "shop")
SIZES = (20, 150, 300, 3000)
HERE = Path(__file__).parent


class Missing(Exception):
    """A program or package that a system needs is not here; the text names it."""


def pages(system: str, size: int, cache: Path) -> dict[str, Page]:
    """A site of about ``size`` pages, by path, each as the system rendered it. Raises Missing."""
    return {
        path: Page(path, _template(path), html) for path, html in _html(system, size, cache).items() if "<body" in html
    }


def _html(system: str, size: int, cache: Path) -> dict[str, str]:
    name = f"{system}-{size}.json.gz"
    for kept in (HERE / "rendered" / name, cache / name):
        if kept.exists():
            found: dict[str, str] = json.loads(gzip.decompress(kept.read_bytes()))
            return found
    renderer = importlib.import_module(f"tests.trials.lastmod.{system}")
    cache.mkdir(parents=True, exist_ok=True)
    rendered: dict[str, str] = renderer.render(cache / system, size, random.Random(f"{system} {size}"))
    (cache / name).write_bytes(gzip.compress(json.dumps(rendered, ensure_ascii=False).encode(), mtime=0))
    return rendered


def _template(path: str) -> str:
    parts = path.partition("?")[0].strip("/").split("/")
    first = "dated" if parts[0].isdigit() else parts[0]
    return f"{first or 'start'} {len(parts)}"
