"""Uploads by a plug-in, in another thread."""

from collections.abc import Callable, Collection, Sequence
from typing import Any, Self, TypeVar

import anyio

from crawler.plugins import Plugin, PluginError
from crawler.publish.upload.target import LocalFile, PluginAddress, RemoteFile, UploadError

T = TypeVar("T")


class PluginTarget:
    """The place of a plug-in. The mark of a file is its SHA-256. Implements :class:`.target.UploadTarget`."""

    def __init__(self, plugin: Plugin, address: PluginAddress) -> None:
        self.display_name = address.display_name
        self._plugin = plugin

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Nothing is open."""

    async def _call(self, function: Callable[[Any], T]) -> T:
        def call() -> T:
            with self._plugin.guarded() as files:
                return function(files)

        try:
            return await anyio.to_thread.run_sync(call)
        except PluginError as error:
            raise UploadError(str(error), again=True) from None

    def mark(self, local: LocalFile) -> str:
        """See :class:`.target.UploadTarget`."""
        return local.sha256

    def metadata(self, local: LocalFile) -> str:  # noqa: ARG002
        """See :class:`.target.UploadTarget`."""
        return ""

    async def list_files(self, names: Collection[str]) -> dict[str, RemoteFile]:
        """See :class:`.target.UploadTarget`."""
        digests = await self._call(lambda files: dict(files.digests(names)))
        return {name: RemoteFile(0, digest) for name, digest in digests.items() if name in names}

    async def find_same(self, local: LocalFile) -> RemoteFile | None:
        """See :class:`.target.UploadTarget`."""
        remote = (await self.list_files([local.name])).get(local.name)
        return remote if remote and remote.mark == local.sha256 else None

    async def put(self, local: LocalFile) -> RemoteFile:
        """See :class:`.target.UploadTarget`."""
        await self._call(lambda files: files.put(local.path))
        return RemoteFile(0, local.sha256)

    async def remove(self, name: str) -> None:
        """See :class:`.target.UploadTarget`."""
        await self._call(lambda files: files.remove(name))

    async def remove_leftovers(self, names: Sequence[str]) -> None:
        """A plug-in cleans up itself."""
