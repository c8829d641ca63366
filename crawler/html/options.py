"""What is read from a page besides its links. Holds no rules."""

from msgspec import Struct


class ReadOptions(Struct, frozen=True, array_like=True):
    """Choices that a whole crawl makes.

    ``token`` is the product token of the crawler, which a robots meta element may name. A refresh after at most
    ``refresh_limit`` seconds counts as a redirect, a slower one as a link.
    """

    images: bool = True
    videos: bool = True
    alternates: bool = True
    dates: bool = True
    max_links: int = 20_000
    token: str = "siteatlas"  # noqa: S105 - the token of robots.txt, no secret
    refresh_limit: float = 0.0
