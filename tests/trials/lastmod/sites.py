"""The HTML of real systems: rendered once, kept in a cache, and for 20 pages beside this file."""

import gzip
import importlib
import json
import random
import re
from html import unescape
from pathlib import Path

from tests.trials.lastmod.page import Page

SYSTEMS = ("hugo", "wordpress", "shop")
SIZES = (20, 150, 300, 3000)
HERE = Path(__file__).parent
_link = re.compile(r"""href=["']?(?:http://trial\.example)?(/[^"'#\s>]*)""").findall


class Missing(Exception):
    """A program or package that a system needs is not here; the text names it."""


def pages(system: str, size: int, cache: Path) -> dict[str, Page]:
    """A site of about ``size`` pages, by path, each as the system rendered it. Raises Missing.

    The start page also lists the pages that nothing links to: a page that only a noise links to would come and go.
    """
    found = {path: html for path, html in _html(system, size, cache).items() if "<body" in html}
    unlinked = "".join(f'<a href="{path}">{path}</a> ' for path in sorted(found.keys() - _linked(found)))
    if unlinked:
        found["/"] = found["/"].replace("</body>", f"<nav>{unlinked}</nav></body>")
    return {path: Page(path, _template(path), html) for path, html in found.items()}


def _linked(pages: dict[str, str]) -> set[str]:
    """The paths that links lead to from the start page."""
    found, queue = {"/"}, ["/"]
    while queue:
        new = {unescape(to) for to in _link(pages.get(queue.pop(), ""))} - found
        found |= new
        queue += new & pages.keys()
    return found


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
