"""Query and path parameters that canonical URLs drop, and the mirror that they replace. Pure."""

import re
from collections.abc import Callable
from fnmatch import translate
from functools import lru_cache
from typing import Final

from msgspec import Struct

from crawler.url.mirror import Mirror

_CLICK_IDS: Final = """
    utm_* gclid gclsrc gbraid wbraid dclid srsltid fbclid fb_action_ids fb_action_types msclkid yclid
    ysclid _openstat twclid ttclid igsh igshid li_fat_id epik rdt_cid mc_cid mc_eid mkt_tok _hsenc _hsmi
    __hstc __hssc __hsfp hsctatracking vero_id vero_conv oly_anon_id oly_enc_id wickedid zanpid ef_id _ga
    _gl _branch_match_id pk_campaign pk_kwd pk_keyword pk_source pk_medium pk_content pk_cid mtm_* piwik_*
"""
_SESSION_IDS: Final = "phpsessid jsessionid aspsessionid* cfid cftoken"
TRACKING_PARAMS: Final[tuple[str, ...]] = (*_CLICK_IDS.split(), *_SESSION_IDS.split())
"""Parameters that never change what a page shows. Names that some sites use for content (``sid``) are not here."""


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
