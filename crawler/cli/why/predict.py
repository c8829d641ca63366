"""Predicts what a crawl would do with a URL that no run has found. Pure."""

from msgspec import Struct

from crawler.cli.why.wording import StoryTopic, state_text
from crawler.model import DiscoveredBy, State, Url, Verdict
from crawler.robots.rules import Blocked, Robots
from crawler.url.scope import Scope


class CrawlRules(Struct, frozen=True):
    """The rules of a crawl of the site. ``robots`` is None when no run has fetched the robots.txt of the URL's origin.

    ``robots_at`` is the time of the fetch (Unix time), and ``robots_said`` its outcome. ``is_robots_copy``: the answer
    was unusable, and an earlier copy applies.
    """

    scope: Scope
    start: Url
    robots: Robots | None = None
    robots_at: float = 0.0
    robots_said: str = ""
    is_robots_copy: bool = False
    obey_robots: bool = True
    obey_noindex: bool = True
    obey_engine_noindex: bool = True
    obey_canonical: bool = True


def predict(url: Url, policy: CrawlRules) -> StoryTopic:
    """What a crawl would do if a page one click from the start linked the URL."""
    verdict = _why_refused(url, policy)
    if verdict:
        lines = [f"its state would be: {state_text(verdict.state, verdict.reason)}"]
    elif policy.robots is None and policy.obey_robots:
        lines = ["a run would fetch it, unless robots.txt forbids that"]
    else:
        lines = ["a run would fetch it"]
    unlisted = None if verdict else policy.scope.may_list(url)
    if unlisted:
        lines.append(f"a sitemap here cannot list it: {state_text(unlisted.state, unlisted.reason)}")
    elif not verdict:
        noindex = " without noindex" if policy.obey_noindex else ""
        canonical = " and without another page as its canonical" if policy.obey_canonical else ""
        lines.append(f"and list it, if the server returns 200 with HTML{noindex}{canonical}")
    end = verdict or unlisted
    values = {
        "state": end.state.value if end else None,
        "reason": end.reason if end else "",
        "asked_for": verdict is None,
    }
    return StoryTopic("would", lines, values)


def _why_refused(url: Url, policy: CrawlRules) -> Verdict | None:
    is_start = url == policy.start
    refusal = policy.scope.admit(url, 0 if is_start else 1, DiscoveredBy.SEED if is_start else DiscoveredBy.LINK)
    if refusal or policy.robots is None or not policy.obey_robots:
        return refusal
    answer = policy.robots.can_fetch(url)
    return Verdict(State.ROBOTS, answer.reason) if isinstance(answer, Blocked) else None
