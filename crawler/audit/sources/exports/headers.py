"""The columns in the exports of products, by their names in the languages of the interfaces: ``columns.csv``.

English names as the products document them: https://support.google.com/webmasters/answer/7576553,
https://developers.google.com/webmaster-tools/v1/searchanalytics/query,
https://support.google.com/webmasters/answer/12917991 (BigQuery),
https://developers.google.com/analytics/devguides/reporting/data/v1/api-schema,
https://developer.matomo.org/api-reference/reporting-api, https://plausible.io/docs/export-stats,
https://www.screamingfrog.co.uk/seo-spider/user-guide/tabs/.
"""

import csv
import re
import unicodedata
from collections import defaultdict
from collections.abc import Sequence
from enum import StrEnum
from functools import lru_cache
from importlib.resources import files
from typing import Final

from crawler.audit.source_record import SourceKind


class ColumnRole(StrEnum):
    """The meaning of a column."""

    URL = "url"
    HOST = "host"
    CLICKS = "clicks"
    IMPRESSIONS = "impressions"
    SESSIONS = "sessions"
    VIEWS = "views"
    USERS = "users"
    LINKS = "links"
    DOMAINS = "domains"
    FIRST = "first"
    LAST = "last"
    DAY = "day"
    STATUS = "status"
    INDEXABLE = "indexable"
    TYPE = "type"


_blanks = re.compile(r"[\s_-]+").sub


@lru_cache(maxsize=2048)
def normalize_name(name: str) -> str:
    """A name for comparison: in lower case, with one kind of apostrophes, without hyphens."""
    name = unicodedata.normalize("NFKC", name.replace("\u2019", "'").strip("\ufeff\u200e *")).casefold()
    return _blanks(" ", name).strip()


def _table(name: str) -> list[list[str]]:
    """The rows of a table beside this module, without its headings."""
    text = (files("crawler.audit.sources.exports") / name).read_text(encoding="utf-8")
    return list(csv.reader(text.splitlines()))[1:]


_words: Final = re.compile(r"[^\W_]+").findall
_NAMES: Final[defaultdict[str, list[str]]] = defaultdict(list)
"""Names of columns by their role, the clearest first. Beside the roles, "other url" has names of columns with URLs that
are not the subject of the table, and "rating" has words in the names of columns whose numbers are no counts."""
for _role, _name in _table("columns.csv"):
    _NAMES[_role].append(normalize_name(_name))
_OTHER_URLS: Final = frozenset(_NAMES["other url"])
_RATINGS: Final = frozenset(_NAMES["rating"])
_PRODUCTS: Final = [
    (product, option, frozenset(map(normalize_name, needed.split("|"))))
    for product, option, needed in _table("products.csv")
]
"""Products with the option for their kind, and the columns by which they are known; the first that fits counts."""
_ROLES_OF_SOURCE: Final[dict[SourceKind, tuple[ColumnRole, ...]]] = {
    SourceKind.SEARCH: (ColumnRole.CLICKS, ColumnRole.IMPRESSIONS, ColumnRole.DAY, ColumnRole.LAST),
    SourceKind.ANALYTICS: (ColumnRole.SESSIONS, ColumnRole.VIEWS, ColumnRole.USERS, ColumnRole.HOST, ColumnRole.DAY),
    SourceKind.BACKLINKS: (ColumnRole.LINKS, ColumnRole.DOMAINS, ColumnRole.FIRST, ColumnRole.LAST),
    SourceKind.LIST: (),
    SourceKind.CRAWL: (ColumnRole.STATUS, ColumnRole.INDEXABLE, ColumnRole.TYPE),
}


def source_of(product: str) -> SourceKind | None:
    """The kind of source of a product that :func:`format_of` returned."""
    return next((SourceKind(option) for name, option, _ in _PRODUCTS if name == product and option), None)


def is_other_url_column(name: str) -> bool:
    """Whether a column of this name has URLs that are not the subject of the table."""
    return normalize_name(name) in _OTHER_URLS


def is_rating_column(name: str) -> bool:
    """Whether a column of this name has numbers that are no counts: a rating, a rank, an address."""
    return not _RATINGS.isdisjoint(_words(normalize_name(name)))


def is_url_column(name: str) -> bool:
    """Whether a name says that a column has the URLs."""
    return normalize_name(name) in _NAMES[ColumnRole.URL]


def find_roles(header: Sequence[str], source: SourceKind) -> dict[ColumnRole, int]:
    """The columns by their roles. In a comparison of periods, the first column is the current period."""
    plains = [normalize_name(name) for name in header]
    roles: dict[ColumnRole, int] = {}
    for role in _ROLES_OF_SOURCE.get(source, ()):
        at = next((plains.index(name) for name in _NAMES[role] if name in plains), None)
        if at is None and role in (ColumnRole.CLICKS, ColumnRole.IMPRESSIONS):
            at = next((i for i, name in enumerate(plains) if name.endswith(tuple(_NAMES[role]))), None)
        if at is not None:
            roles[role] = at
    if not _OTHER_URLS.isdisjoint(plains):
        for role in (ColumnRole.LINKS, ColumnRole.DOMAINS):
            roles.pop(role, None)  # each row is one link, and its number is about the linking page
    return roles


def format_of(header: Sequence[str]) -> str:
    """The product that writes such columns, or ""."""
    names = set(map(normalize_name, header))
    return next((product for product, _, needed in _PRODUCTS if needed <= names), "")
