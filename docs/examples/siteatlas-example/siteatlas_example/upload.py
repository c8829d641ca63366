"""Uploads to a folder, such as one that is shared by several servers."""

import hashlib
import shutil
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any


class Folder:
    """``folder`` is the folder."""

    def __init__(self, _site: str, options: Mapping[str, Any]) -> None:
        self._folder = Path(options["folder"])

    def digests(self, names: Collection[str]) -> Mapping[str, str]:
        """The digests of those of these files that are there."""
        files = [self._folder / name for name in names]
        return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files if file.is_file()}

    def put(self, file: Path) -> None:
        """Copy a file, and rename the copy when it is complete."""
        draft = self._folder / f".{file.name}.draft"
        shutil.copyfile(file, draft)
        draft.replace(self._folder / file.name)

    def remove(self, name: str) -> None:
        """Remove a file."""
        (self._folder / name).unlink(missing_ok=True)
