"""How to install what is missing: the packages of an extra, and Siteatlas itself; the one place that decides it.

There is no release on a package index yet. So an extra is installed by its requirements, which works however Siteatlas
itself was installed, and other machines install Siteatlas from a wheel or from the image of its ``Containerfile``.
"""

import json
import shlex
import sys
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, distribution, requires
from typing import Final
from urllib.parse import unquote

from crawler.errors import UsageError
from crawler.version import __version__

WHEEL: Final = f"siteatlas-{__version__}-py3-none-any.whl"
IMAGE: Final = f"siteatlas:{__version__}"


def install_command(extra: str) -> str:
    """The command that installs the packages of an extra for the running program."""
    with_extra = f'extra == "{extra}"'
    try:
        needed = [line.partition(";") for line in requires("siteatlas") or ()]
    except PackageNotFoundError:  # a checkout that is not installed
        needed = []
    found = [package.strip() for package, _, marker in needed if with_extra in marker.replace("'", '"')]
    return shlex.join((sys.executable, "-m", "pip", "install", *(found or [f".[{extra}]"])))


def portable(text: str) -> str:
    """A text with such a command as it is on other machines."""
    return text.replace(f"{shlex.quote(sys.executable)} -m pip ", "pip ")


def missing_packages(what: str, extra: str) -> UsageError:
    """The error for a setting or an option that needs an extra that is not installed."""
    return UsageError(f"{what} needs packages that are not installed. Run {install_command(extra)}")


def wheel_requirement(extras: Iterable[str]) -> str:
    """The wheel of this version in the working directory, with extras, as a requirement for pip."""
    names = ",".join(sorted(extras))
    return f"./{WHEEL}" + (f"[{names}]" if names else "")


def installed_from() -> str:
    """The checkout or wheel that Siteatlas was installed from, or words for it.

    https://packaging.python.org/en/latest/specifications/direct-url/
    """
    try:
        text = distribution("siteatlas").read_text("direct_url.json")
    except PackageNotFoundError:
        text = None
    url = json.loads(text)["url"] if text else ""
    return unquote(url.removeprefix("file://")) if url.startswith("file://") else "CHECKOUT"
