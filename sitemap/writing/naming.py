"""Owns the names and addresses of the files of a set. Knows nothing of their content."""

import re
from urllib.parse import quote, unquote, urlsplit

from sitemap import limits, location
from sitemap.errors import InvalidLocation

_SAFE = "-._~!$&'()*+,;=:@"  # RFC 3986 section 3.3, pchar


class Names:
    """How the files of the set at a public URL are called.

    One file keeps the name in the URL, with ``.gz`` added when ``gzip`` asks for it. Of several, that name is the
    index, and the children are ``sitemap-1.xml``, ``sitemap-2.xml`` … beside it, with ``.gz`` when ``gzip`` asks for
    it. A file is packed exactly when its name ends in ``.gz``; so an index is packed only if the URL itself says so.
    InvalidLocation for a URL that is not absolute http(s), or has no usable file name.
    """

    def __init__(self, url: str, *, gzip: bool = False) -> None:
        try:
            self.directory = location.directory(url)
            name = unquote(urlsplit(url).path.rpartition("/")[2], errors="strict")
        except ValueError as error:
            raise InvalidLocation(f"a sitemap cannot be at this address: {error}") from error
        self.location = url
        if (
            not name
            or name.startswith(".")
            or "/" in name
            or "\\" in name
            or not name.isprintable()
            or len(name) > 200
        ):
            raise InvalidLocation(
                f"{url[:200]!r} does not end in a file name: give one, such as …/sitemap.xml"
            )
        self.index = name
        if (
            len(url) > limits.MAX_LOC - 20
        ):  # the children's addresses are longer, and are loc elements themselves
            raise InvalidLocation(f"{url[:200]!r}… is too long for the address of a sitemap")
        plain = name.removesuffix(".gz")
        self._stem = plain.removesuffix(".xml")
        self._gz = ".gz" if gzip or name != plain else ""
        self.single = plain + self._gz
        stem, root = re.escape(self._stem), re.escape(plain)
        self.ours = re.compile(rf"(?:{stem}-[1-9][0-9]*\.xml|{root})(?:\.gz)?")

    def child(self, number: int) -> str:
        """The name of a child, counted from 1."""
        return f"{self._stem}-{number}.xml{self._gz}"

    def url(self, name: str) -> str:
        """The public address of a file of the set."""
        return self.location if name == self.index else self.directory + quote(name, safe=_SAFE)
