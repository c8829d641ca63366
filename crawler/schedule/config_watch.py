"""When a configuration file is to be read again: it has changed, and whoever writes it has done so."""

import hashlib
from pathlib import Path


class ConfigWatcher:
    """A file that is looked at now and then, at its content: that is small.

    Its times and numbers tell less. Configuration maps of Kubernetes are links that come to mean another file, editors
    rename a new file over the old one, and others write in place, so that half of it is there for a moment: a new
    content counts when two looks in a row have seen the same.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._taken = self._seen = self._content()

    def mark_read(self) -> None:
        """What is in the file now is no change any more. To be called before it is read."""
        self._taken = self._seen = self._content()

    def has_changed(self) -> bool:
        """Whether it has another content than the one that was taken, and had that the last time too.

        A file that cannot be read for so long is gone, which is a change too.
        """
        before, self._seen = self._seen, self._content()
        return self._seen == before and self._seen != self._taken

    def _content(self) -> bytes:
        try:
            return hashlib.blake2b(self._path.read_bytes()).digest()
        except OSError:
            return b""
