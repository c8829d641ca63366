"""Mirrors: a staging server that a public site is read from, and its names for the site. Pure.

All other modules know public URLs only. :mod:`crawler.url.normalize` makes a URL public, and :mod:`crawler.fetch`
replaces it by that of the mirror for the request.
"""

from msgspec import Struct

from crawler.model import Url


class Mirror(Struct, frozen=True):
    """A public directory and its source; every text is a canonical URL that ends with a slash.

    ``public`` and ``source`` are the two URLs of the directory; the rest of the public origin is read from the same
    path at the source's origin. ``names`` are the names of the source for ``public``; none is a prefix of ``public``.
    """

    public: str
    source: str
    names: tuple[str, ...]

    @property
    def is_deep(self) -> bool:
        """Whether a path of the public origin may be the source's name for another path."""
        return self.names != () and any(name.startswith(_origin(self.public)) for name in self.names)

    def public_url(self, url: Url) -> Url:
        """The public URL for a canonical URL of the source; any other URL as it is."""
        while url.startswith(self.names):  # repeat, so that a public URL stays as it is
            name = next(name for name in self.names if url.startswith(name))
            url = Url(self.public + url[len(name) :])
        return url

    def request_url(self, url: Url) -> Url:
        """The URL to request for a public URL; a URL of another origin as it is."""
        if url.startswith(self.public):
            return Url(self.source + url[len(self.public) :])
        origin = _origin(self.public)
        return Url(_origin(self.source) + url[len(origin) :]) if url.startswith(origin) else url

    def rewrite(self, body: bytes) -> bytes:
        """A body with the public URL in place of the names, so that bodies of both servers can be compared."""
        for name in self.names:
            body = body.replace(name.encode(), self.public.encode())
        return body


def _origin(directory: str) -> str:
    """Scheme, host and port, with a slash at the end."""
    return directory[: directory.index("/", 8) + 1]
