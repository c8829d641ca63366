"""What tests of sites that are built from npm share: packages, items with pictures, and what is listed of a site."""

import json
import os
import random
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sitemap import Entry, read

HIDDEN, COPIES = (7, 8), (11, 12)  # noindex; their canonical is item 10
CRAWL = ("-o", "out", "--state", "state", "--rate", "0", "--set=render.sandbox=false", "--json")
WORDS = ("boat", "sail", "mast", "rope", "wind", "wave", "port", "crew", "deck", "keel", "anchor", "tide", "harbour")


def run(folder: Path, *words: str, **environment: str) -> None:
    told = {**os.environ, **environment}
    ended = subprocess.run(words, check=False, cwd=folder, capture_output=True, text=True, timeout=300, env=told)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def install(folder: Path, *packages: str, **about: str) -> None:
    """Install packages for the site of a folder; ``about`` is for its package.json."""
    npm = shutil.which("npm")
    assert npm, "npm is missing"
    (folder / "package.json").write_text(json.dumps({"name": "site", "private": True, **about}))
    run(folder, npm, "install", "--no-audit", "--no-fund", "--silent", *packages)


def write_files(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def made_items(numbers: Sequence[int]) -> list[dict[str, Any]]:
    """Items with a text; some are hidden, and some are copies."""
    words = random.Random(1)
    items: list[dict[str, Any]] = []
    for number in numbers:
        item: dict[str, Any] = {"id": number, "name": f"Item {number}", "text": " ".join(words.choices(WORDS, k=60))}
        if number in HIDDEN:
            item["hidden"] = True
        if number in COPIES:
            item["canonical"] = "/item/10"
        items.append(item)
    return items


def write_public(public: Path, numbers: Sequence[int]) -> None:
    """The files that a site serves as they are: robots.txt and the pictures of its items."""
    (public / "img").mkdir(parents=True)
    (public / "robots.txt").write_text("User-agent: *\nAllow: /\n")
    for number in numbers:
        (public / "img" / f"{number}.jpg").write_bytes(b"\xff\xd8\xff\xe0" + bytes(200))


def listed(sitemap: Path) -> dict[str, set[str]]:
    """The pages of a sitemap with their pictures."""
    return {entry.loc: {image.loc for image in entry.images} for entry in read(sitemap) if isinstance(entry, Entry)}
