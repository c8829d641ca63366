"""What all tests share."""

import gc
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from forked import Forked
    from playwright.sync_api import Browser

sys.path.insert(0, str(Path(__file__).parent))  # tests import their servers by name: nginx, hostile

_MEMORY = Path("/dev/shm")


def pytest_configure() -> None:
    """Spare the processes of the tests what each would do anew."""
    if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):  # else each compiles all that it imports, at every run
        sys.dont_write_bytecode = False
    _keep_temporary_files_in_memory()


def _keep_temporary_files_in_memory() -> None:
    """Let temporary files live in memory if it has room: making a file durable is the same call, and costs no time."""
    if not os.access(_MEMORY, os.W_OK) or shutil.disk_usage(_MEMORY).free < 2**30:
        return
    if not os.statvfs(_MEMORY).f_flag & os.ST_NOEXEC:  # some tests write programs
        os.environ.setdefault("TMPDIR", str(_MEMORY))
        tempfile.tempdir = None  # pytest has asked for it already


class _Turned(pytest.Dir):
    """A directory whose entries a worker takes from its own on: it finds what others have rewritten meanwhile."""

    def collect(self) -> list[pytest.Item | pytest.Collector]:
        found = [*super().collect()]
        number, workers = int(os.environ["PYTEST_XDIST_WORKER"][2:]), int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
        first = len(found) * number // workers
        return found[first:] + found[:first]


def pytest_collect_directory(path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    return _Turned.from_parent(parent, path=path) if "PYTEST_XDIST_WORKER" in os.environ else None


def pytest_collectstart(collector: pytest.Collector) -> None:
    """No test fails because the machine is busy. Most files do without Hypothesis, which takes time to import."""
    gc.disable()  # until all is imported
    if isinstance(collector, pytest.Module) and "from hypothesis" in collector.path.read_text(encoding="utf-8"):
        from hypothesis import HealthCheck, settings

        settings.register_profile("siteatlas", deadline=None, suppress_health_check=[HealthCheck.too_slow])
        settings.load_profile("siteatlas")


def pytest_collection_finish(session: pytest.Session) -> None:
    """What is imported stays: no collection of garbage looks at it again."""
    if "hypothesis" not in sys.modules:
        session.config.pluginmanager.unregister(name="hypothesispytest")  # its summary would import it
    gc.freeze()
    gc.enable()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--move-seeds", type=int, metavar="N", help="run only tests that draw, with N added to each seed")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """All workers must name the tests in one order. ``--move-seeds`` shows which tests are fitted to their seeds."""
    items.sort(key=lambda item: item.path)  # keeps the order within a file
    move = config.getoption("move_seeds")
    if move is not None:
        items[:] = [item for item in items if _move_seed(item, move)]


def _move_seed(item: pytest.Item, move: int) -> bool:
    drawn = item.callspec.params if hasattr(item, "callspec") else {}
    if isinstance(drawn.get("seed"), int):
        drawn["seed"] += move
    return isinstance(drawn.get("seed"), int)


@pytest.fixture
def anyio_backend() -> str:
    """Asynchronous tests run on asyncio unless they say otherwise."""
    return "asyncio"


@pytest.fixture(scope="session")
def process(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[Forked]":
    """Commands in forks of one warm process."""
    from forked import forked

    with forked(tmp_path_factory.mktemp("said")) as ready:
        yield ready


@pytest.fixture(scope="module")
def browser() -> "Iterator[Browser]":
    """The Chromium of the system."""
    from browsing import chromium

    with chromium() as ready:
        yield ready


@pytest.fixture(scope="session")
def sarif_schema() -> Any:
    """The schema of SARIF, as OASIS has it."""
    import schemas

    try:
        return schemas.sarif()
    except schemas.Unavailable as error:
        if schemas.REQUIRED:
            pytest.fail(str(error))
        pytest.skip(f"the schema could not be fetched: {error}")
