"""What the tests of evidence share."""

from collections.abc import Iterator

import pytest
from scripted import Answer, Site, scripted


@pytest.fixture
def site() -> Iterator[Site]:
    with scripted({"/robots.txt": Answer("", 404)}) as running:
        yield running
