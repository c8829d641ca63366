"""What all tests share."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # tests import their servers by name: nginx, hostile


@pytest.fixture
def anyio_backend() -> str:
    """Asynchronous tests run on asyncio unless they say otherwise."""
    return "asyncio"
