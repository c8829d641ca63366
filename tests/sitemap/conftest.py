"""Owns what the tests of the sitemap package share: the schemas, and how a published folder is read independently."""

import gzip
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).parents[1]))

import schemas
from traced import Traced, traced

Validate = Callable[[Path], Any]


@pytest.fixture(scope="session")
def xsd() -> Any:
    """The ``lxml.etree.XMLSchema`` of urlsets with all extensions, and of indexes."""
    try:
        return schemas.schema()
    except schemas.Unavailable as error:
        if schemas.REQUIRED:
            pytest.fail(str(error))
        pytest.skip(f"the schemas could not be fetched: {error}")


@pytest.fixture(scope="session")
def validate(xsd: Any) -> Validate:
    """Parses a file with lxml, validates it against the official schemas, and answers its root element."""
    from lxml import etree

    def check(path: Path) -> Any:
        data = path.read_bytes()
        if path.suffix == ".gz":
            data = gzip.decompress(data)
        assert len(data) <= 52_428_800
        root = etree.fromstring(data, etree.XMLParser(huge_tree=True))
        xsd.assertValid(root)
        return root

    return check


@pytest.fixture(scope="session")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Traced]:
    """Publishes that strace kills or disturbs."""
    with traced(tmp_path_factory.mktemp("traced")) as ready:
        yield ready


@pytest.fixture
def memory() -> Iterator[Path]:
    """A folder where making things durable costs no time, if this machine has one: the calls are the same."""
    shared = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shared if os.access(shared, os.W_OK) else None) as folder:
        yield Path(folder)
