"""A shop of django-oscar with its own templates and made products, as visitors without a basket get it.

django-oscar pins an older Django than the tests need, so it gets a virtual environment of its own in the cache.
"""

import json
import random
import subprocess
import sys
from pathlib import Path

from tests.trials.lastmod.sites import Missing

_PACKAGES = ("django-oscar", "sorl-thumbnail")


def render(folder: Path, count: int, rng: random.Random) -> dict[str, str]:
    """The HTML of a shop of about ``count`` pages, by path. ``folder`` keeps the environment from call to call."""
    python = folder / "bin" / "python"
    if not python.exists():
        _run([sys.executable, "-m", "venv", str(folder)], "Python cannot make a virtual environment")
    if not list(folder.glob("lib/*/site-packages/oscar")):
        _run([str(python), "-m", "pip", "install", "-q", *_PACKAGES], "pip cannot install django-oscar")
    said = _run([str(python), str(Path(__file__).with_name("shop_site.py")), str(count)], "django-oscar does not start")
    pages: dict[str, str] = json.loads(said)
    return pages


def _run(words: list[str], trouble: str) -> str:
    ran = subprocess.run(words, capture_output=True, text=True, timeout=1800, check=False)
    if ran.returncode:
        raise Missing(f"{trouble}: {ran.stderr.strip()[-300:]}")
    return ran.stdout
