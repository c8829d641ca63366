"""Which URLs that only sources name are not requested: a request may change something, or has somebody's data.

Visitors make the URLs of a log. That a search engine requested one proves nothing: it follows links to baskets too.
"""

import re
import sqlite3
from typing import Final
from urllib.parse import unquote

from crawler.audit.finding import NotAsked
from crawler.model import DiscoveredBy, Url
from crawler.state.database import storage_errors
from crawler.units import count_text
from crawler.url.actions import PRESENTATION, action_in
from crawler.url.secrets import MASK, mask_private
from sitemap import shorten

MAX_LISTED: Final = 10_000
"""URLs that the report lists; it counts the others."""
# Found by something else than the audit's own sources.
_IS_LINKED: Final = f"v.found & {~(DiscoveredBy.AUDIT_SOURCE | DiscoveredBy.SPELLING)}"
_WITH_QUERY: Final = f"""SELECT u.url FROM site.url u JOIN site.visit v ON v.id = u.id
  WHERE {_IS_LINKED} AND instr(u.url, '?')"""  # noqa: S608 - numbers


class AskableUrls:
    """Decides whether a URL that only sources name is requested, and keeps those that are not.

    ``db`` has the state of the site attached as ``site``. With ``ask_all``, all are requested but those whose values
    are masked, which are no URLs any more. Every method raises StorageError.
    """

    def __init__(self, db: sqlite3.Connection, *, ask_all: bool) -> None:
        self._db = db
        self._ask_all = ask_all
        self._refused: dict[Url, str] = {}
        self._names: set[str] | None = None  # of the parameters that links use

    def refuses(self, url: Url) -> bool:
        """Whether a URL is not requested."""
        if reason := self._reason(url):
            self._refused[url] = reason
        return bool(reason)

    def listed(self) -> list[NotAsked]:
        """The first :data:`MAX_LISTED` URLs that were not requested."""
        urls = sorted(self._refused.items())[:MAX_LISTED]
        return [NotAsked(mask_private(url), reason) for url, reason in urls]

    def notes(self) -> list[str]:
        """A note on the URLs that were not requested."""
        if not self._refused:
            return []
        urls = count_text(len(self._refused), "URL")
        why = "because a request may change something or contains personal data"
        remedy = (
            "If requests change nothing on your site, use --set scope.ask_all=true and --set audit.keep_tokens=true"
        )
        return [f"not asked: {urls} that only sources name, {why}; csv/not-asked.csv lists them. {remedy}"]

    def _reason(self, url: Url) -> str:
        if MASK in url:
            return "it contains personal data or a token"
        if self._ask_all:
            return ""
        if action := action_in(url):
            return f"it may change something: {mask_private(action)}"
        if mask_private(url) != url:  # with --set audit.keep_tokens=true
            return "it contains personal data or a token"
        names = _names_of(url.partition("?")[2])
        unknown = next((name for name in names if name not in PRESENTATION and name not in self._linked_names()), "")
        return shorten(f"no link of the site uses the parameter {unquote(unknown)}") if unknown else ""

    def _linked_names(self) -> set[str]:
        if self._names is None:
            with storage_errors():
                urls = self._db.execute(_WITH_QUERY)
                self._names = {name for (url,) in urls for name in _names_of(url.partition("?")[2])}
        return self._names


def _names_of(query: str) -> list[str]:
    return [name for pair in re.split("[&;]", query) if (name := pair.partition("=")[0])]
