"""Owns what the tests of the sitemap package share: the schemas, and how a published folder is read independently."""

import gzip
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).parents[1]))

import schemas

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
