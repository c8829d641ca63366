"""What all tests share."""

import os
import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # tests import their servers by name: nginx, hostile

_MEMORY = Path("/dev/shm")


def pytest_configure() -> None:
    """Let temporary files live in memory if it has room: making a file durable is the same call, and costs no time."""
    if not os.access(_MEMORY, os.W_OK) or shutil.disk_usage(_MEMORY).free < 2**30:
        return
    if not os.statvfs(_MEMORY).f_flag & os.ST_NOEXEC:  # some tests write programs
        os.environ.setdefault("TMPDIR", str(_MEMORY))


@pytest.fixture
def anyio_backend() -> str:
    """Asynchronous tests run on asyncio unless they say otherwise."""
    return "asyncio"
