"""Transports for a site that is read elsewhere: from another server, or from a folder. They wrap any other kind."""

from pathlib import Path

import httpx
from typing_extensions import override

from crawler.fetch.folder import FolderTransport
from crawler.fetch.target import Target
from crawler.fetch.transports import Transports
from crawler.model import Url
from crawler.url.mirror import Mirror


class _Wrapped:
    """A kind of transport that is another one but for what a subclass says."""

    def __init__(self, inner: Transports) -> None:
        self._inner = inner
        self.by_target = inner.by_target

    def asked(self, url: Url) -> Url:
        """See :class:`Transports`."""
        return self._inner.asked(url)

    def needs_address(self, target: Target) -> bool:
        """See :class:`Transports`."""
        return self._inner.needs_address(target)

    def open(self, target: Target) -> httpx.AsyncBaseTransport:
        """See :class:`Transports`."""
        return self._inner.open(target)


class ServerTransports(_Wrapped):
    """Asks the source of a mirror for what is public there."""

    def __init__(self, inner: Transports, mirror: Mirror) -> None:
        super().__init__(inner)
        self._mirror = mirror

    @override
    def asked(self, url: Url) -> Url:
        return self._mirror.asked(url)


class FolderTransports(_Wrapped):
    """Reads the origin of ``public``, a directory's URL, from the folder that stands for that directory."""

    def __init__(self, inner: Transports, folder: Path, public: str) -> None:
        super().__init__(inner)
        self._folder = folder
        self._public = public
        self._origin = public[: public.index("/", 8)]

    @override
    def needs_address(self, target: Target) -> bool:
        return target.origin != self._origin and super().needs_address(target)

    @override
    def open(self, target: Target) -> httpx.AsyncBaseTransport:
        if target.origin != self._origin:
            return super().open(target)
        return FolderTransport(self._folder, self._public)
