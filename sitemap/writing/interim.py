"""Owns the names that changed children have for a moment, and the index that lists them by these names."""

import gzip
from collections.abc import Mapping
from typing import BinaryIO, Final, cast

from sitemap import limits
from sitemap.errors import DestinationError, LimitExceeded
from sitemap.writing.destination import Stage
from sitemap.writing.elements import link
from sitemap.writing.target import FileFacts, Target

_BEFORE: Final = b"<sitemap>"
_AFTER: Final = b"</loc>"


def relist(stage: Stage, index: FileFacts, name: str, urls: Mapping[str, str]) -> FileFacts:
    """Stage an index of ours once more as ``name``, with the children in ``urls`` at other addresses.

    Flat memory: an index has a line for each child. DestinationError when a child is not listed, LimitExceeded when the
    addresses make the index too long.
    """
    other = {_loc(url): _loc(new) for url, new in urls.items()}
    with stage.read(index.name) as file, Target(stage, name) as target:
        packed = index.name.endswith(".gz")
        for line in cast("BinaryIO", gzip.GzipFile(fileobj=file)) if packed else file:
            listed = line.partition(_AFTER)[0] + _AFTER if line.startswith(_BEFORE) else b""
            new = other.pop(listed, b"")
            target.write(line.replace(listed, new, 1) if new else line)
    facts = target.facts(index.url, index.entries, index.lastmod)
    if facts.size > limits.MAX_BYTES:
        raise LimitExceeded(
            f"the index {index.url} takes {facts.size:,} bytes under interim names: split the set"
        )
    if other:
        raise DestinationError(
            f"the staged {index.name} lists not all files of its set; nothing was published"
        )
    return facts


def _loc(url: str) -> bytes:
    return _BEFORE + link("loc", url).encode()
