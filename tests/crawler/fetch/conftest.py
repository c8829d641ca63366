"""Fixtures for the fetcher: each test runs over every transport, on every event loop that the transport knows."""

import gc
from collections.abc import AsyncIterator, Iterator

import pytest
from fetching import CASES, IDENTITY, LIMITS, SHORT, policy
from hostile import HostileServer

import crawler.fetch.httpx_transport  # noqa: F401 - it loads late, which the short deadlines here must not pay for
from crawler.fetch.fetcher import Fetcher


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> tuple[type, str]:
    return request.param


@pytest.fixture
def anyio_backend(case: tuple[type, str]) -> str:
    return case[1]


@pytest.fixture(autouse=True)
def tidy() -> Iterator[None]:
    """Let no test pay for the connections that another left to the garbage collector.

    It looks at what the test itself made: all that the process has loaded takes it a fifth of a second.
    """
    gc.freeze()
    yield
    gc.collect()
    gc.unfreeze()


@pytest.fixture
def server() -> Iterator[HostileServer]:
    with HostileServer() as server:
        yield server


@pytest.fixture
async def fetcher(case: tuple[type, str], server: HostileServer) -> AsyncIterator[Fetcher]:
    async with Fetcher(case[0](limits=LIMITS), IDENTITY, policy(server), LIMITS) as fetcher:
        yield fetcher


@pytest.fixture
async def hurried(case: tuple[type, str], server: HostileServer) -> AsyncIterator[Fetcher]:
    """A fetcher with short limits of time."""
    async with Fetcher(case[0](limits=SHORT), IDENTITY, policy(server), SHORT) as fetcher:
        yield fetcher
