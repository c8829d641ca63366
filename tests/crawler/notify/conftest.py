"""What the tests of the channels share."""

from collections.abc import Callable, Iterator

import pytest
from doubles_console import Console, console
from doubles_indexnow import Double, Site, memory


@pytest.fixture(scope="module")
def consoles() -> Iterator[Callable[[], Console]]:
    """Fresh ones, on one server."""
    with console() as fresh:
        yield fresh


@pytest.fixture
def google(consoles: Callable[[], Console]) -> Console:
    """Search Console, of which nothing was asked yet."""
    return consoles()


@pytest.fixture
def double() -> Iterator[Double]:
    with Double() as double:
        yield double


@pytest.fixture
def site(double: Double) -> Iterator[Site]:
    with memory() as folder:
        yield Site(double, folder)
