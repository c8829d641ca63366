"""The place where a public site's pages are really read (a staging server), and the names it has for the site. Pure.

Everything else knows public URLs only. A URL becomes public where it is made (:mod:`crawler.url.normalize`), and
becomes
that of the other place where it is asked for (:mod:`crawler.fetch`).
"""

from msgspec import Struct

from crawler.model import Url


class Mirror(Struct, frozen=True):
    """A public directory and where its pages are read; every text is a canonical URL that ends with a slash.

    ``public`` and ``source`` are the same directory under its two names; what is outside ``public`` on its origin is
    read from the same path of the source's. ``names`` are what the source may call ``public``, none of which
    ``public`` begins with.
    """

    public: str
    source: str
    names: tuple[str, ...]

    @property
    def is_deep(self) -> bool:
        """Whether a path of the public origin may be the source's name for another one."""
        return self.names != () and any(name.startswith(_origin(self.public)) for name in self.names)

    def public_url(self, url: Url) -> Url:
        """The public URL of what the source calls ``url``, in canonical form; every other URL as it is."""
        while url.startswith(self.names):  # again and again, so that a public URL is its own
            name = next(name for name in self.names if url.startswith(name))
            url = Url(self.public + url[len(name) :])
        return url

    def request_url(self, url: Url) -> Url:
        """Where to ask for a public URL; a URL of another origin as it is."""
        if url.startswith(self.public):
            return Url(self.source + url[len(self.public) :])
        home = _origin(self.public)
        return Url(_origin(self.source) + url[len(home) :]) if url.startswith(home) else url

    def rewrite(self, body: bytes) -> bytes:
        """A body with the public name in the place of the others, so that what two servers wrote can be compared."""
        for name in self.names:
            body = body.replace(name.encode(), self.public.encode())
        return body


def _origin(directory: str) -> str:
    """Scheme, host and port, with the slash that ends them."""
    return directory[: directory.index("/", 8) + 1]
