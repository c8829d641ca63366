"""How the start URL of an audit ended, and what a person does about one that leads to no page."""

import sqlite3
from typing import Final

from crawler.evidence.visits import Visits
from crawler.health.visited import Visited
from crawler.model import State, Url

_LOGIN: Final = frozenset({401, 403, 407})
_REMEDIES: Final = {
    State.NOINDEX: "start from a page that is indexed, or read past it with --no-respect-noindex",
    State.ROBOTS: "read it all the same with --ignore-robots if the site is yours",
    State.SERVER_ERROR: "run the same command again when that is mended",
    State.UNREACHABLE: "run the same command again when that is mended",
    State.CLIENT_ERROR: "start from a page that is there",
    State.WRONG_TYPE: "start from a page of HTML",
}


class Start:
    """Looks at ``db``, which has the state of the site beside it as ``site``. Raises StorageError."""

    def __init__(self, db: sqlite3.Connection, seed: Url) -> None:
        self._seed = seed
        self._end = _end(Visits(db), seed)

    @property
    def elsewhere(self) -> str:
        """The URL of another site that the start URL redirects to, or "": there is nothing of this site to audit."""
        return self._end.url if self._end.state == State.OUT_OF_SCOPE else ""

    def sentence(self) -> str:
        """Why there is nothing to audit, and the remedy."""
        end = self._end
        if self.elsewhere:
            said = f"the start URL {self._seed} redirects to {end.url}, which is another site"
            return f"{said}: siteatlas audit {end.url} audits that"
        told = f"no page from the start URL {self._seed} on is indexable"
        if not end.state or end.state == State.INDEXABLE:
            return told
        by_way = f" (which it redirects to, {end.url})" if end.url != self._seed else ""
        why = f" ({end.reason})" if end.reason else ""
        return f"{told}: it{by_way} ended as {end.state}{why}; {_remedy(end)}"


def _end(visits: Visits, url: str) -> Visited:
    """Where the redirects of a URL end, or the last of them that is known."""
    seen = {url}
    visited = visits.get(url).visited
    while visited.state == State.REDIRECT and visited.target and visited.target not in seen:
        seen.add(visited.target)
        following = visits.get(visited.target).visited
        if not following.state:
            break
        visited = following
    return visited


def _remedy(end: Visited) -> str:
    if end.status in _LOGIN:
        return "--basic-auth, --header or --cookie let us in"
    if end.state == State.CANONICAL_ELSEWHERE and end.target:
        return f"siteatlas audit {end.target} audits the page that it names"
    return _REMEDIES.get(State(end.state), "start from another page")
