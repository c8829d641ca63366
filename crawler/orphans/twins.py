"""Pages that answer under several URLs, without a redirect or a canonical between them."""

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from operator import attrgetter

from msgspec import Struct

from crawler.model import Url


class Twin(Struct, frozen=True):
    """One of several pages that may be one, such as by the spelling of their URLs (``key``).

    ``digest`` is that of what was read; ``title`` is "" where a title is not enough.
    """

    key: str
    id: int
    url: Url
    digest: bytes
    title: str
    is_listed: bool  # in a sitemap


def copies(twins: Iterable[Twin], is_led_to: Callable[[int], bool]) -> Iterator[tuple[int, int]]:
    """Pairs of ids: a page that nothing leads to, and the page that it is another spelling or a copy of.

    Of those that nothing leads to, the one that a sitemap lists is the page, else one without parameters. Twins of
    one key stand together.
    """
    for _, group in groupby(twins, attrgetter("key")):
        ranked = sorted(
            group, key=lambda twin: (not is_led_to(twin.id), not twin.is_listed, "?" in twin.url, twin.url)
        )
        first, *others = ranked
        for other in others:
            if not is_led_to(other.id) and _is_same(first, other):
                yield other.id, first.id


def _is_same(one: Twin, other: Twin) -> bool:
    """A counter or a token may differ from answer to answer; a title is then enough between spellings of one path.

    Not of one query: what differs in case only is another value, such as of an id, and many pages may have one title.
    """
    if one.digest and one.digest == other.digest:
        return True
    return bool(one.title) and one.title == other.title and _query(one.url) == _query(other.url)


def _query(url: Url) -> list[str]:
    return sorted(url.partition("?")[2].split("&"))
