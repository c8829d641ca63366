"""How URLs are normalized: the parameters that are dropped, and the mirror that is replaced. Pure.

A mirror is a staging server that a public site is read from. All other modules know public URLs only:
:mod:`crawler.url.normalize` makes a URL public, and :mod:`crawler.fetch` replaces it by that of the mirror for the
request.
"""

import re
from collections.abc import Callable
from fnmatch import translate
from functools import lru_cache
from typing import Final

from msgspec import Struct

from crawler.model import Url

_CLICK_IDS: Final = """
    utm_* gclid gclsrc gbraid wbraid dclid srsltid fbclid fb_action_ids fb_action_types msclkid yclid
    ysclid _openstat twclid ttclid igsh igshid li_fat_id epik rdt_cid mc_cid mc_eid mkt_tok _hsenc _hsmi
    __hstc __hssc __hsfp hsctatracking vero_id vero_conv oly_anon_id oly_enc_id wickedid zanpid ef_id _ga
    _gl _branch_match_id pk_campaign pk_kwd pk_keyword pk_source pk_medium pk_content pk_cid mtm_* piwik_*
"""
_SESSION_IDS: Final = "phpsessid jsessionid aspsessionid* cfid cftoken"
TRACKING_PARAMS: Final[tuple[str, ...]] = (*_CLICK_IDS.split(), *_SESSION_IDS.split())
"""Parameters that never change what a page shows. Names that some sites use for content (``sid``) are not here."""


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


class UrlParams(Struct, frozen=True, cache_hash=True):
    """How URLs are normalized. ``drop`` are names of parameters, as shell patterns (``utm_*``) in any case.

    They apply to the query and to path parameters. ``keep`` wins over ``drop``. The names of ``mirror`` for the site
    are replaced by the public one.
    """

    drop: tuple[str, ...] = TRACKING_PARAMS
    keep: tuple[str, ...] = ()
    mirror: Mirror | None = None

    @property
    def keeping_all(self) -> "UrlParams":
        """The same without dropping parameters, for URLs that are shown and not crawled."""
        return UrlParams((), (), self.mirror)


def clean_query(query: str, params: UrlParams) -> str:
    """A query, without its ``?``, without the dropped parameters. Order, repetitions and empty pairs stay."""
    is_dropped = _dropper(params)
    return "&".join([pair for pair in query.split("&") if not is_dropped(pair.partition("=")[0])])


def clean_path(path: str, params: UrlParams) -> str:
    """A path without the dropped parameters (``/a;jsessionid=1/b`` is ``/a/b``). It may gain dot segments."""
    is_dropped = _dropper(params)
    segments = []
    for segment in path.split("/"):
        first, *rest = segment.split(";")
        segments.append(";".join([first, *(pair for pair in rest if not is_dropped(pair.partition("=")[0]))]))
    return "/".join(segments)


@lru_cache(maxsize=16)
def _dropper(params: UrlParams) -> Callable[[str], bool]:
    drop = _any_of(params.drop)
    keep = _any_of(params.keep)

    @lru_cache(maxsize=1_024)
    def is_dropped(name: str) -> bool:
        return bool(name) and drop(name) is not None and keep(name) is None

    return is_dropped


def _any_of(patterns: tuple[str, ...]) -> Callable[[str], re.Match[str] | None]:
    return re.compile("|".join(map(translate, patterns)) or r"(?!)", re.IGNORECASE).match
