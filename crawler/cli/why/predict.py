"""What the rules would decide about a URL that no run has met. Pure."""

from msgspec import Struct

from crawler.cli.why.words import StoryTopic, state_text
from crawler.model import DiscoveredBy, State, StatusBadge, Url
from crawler.robots.rules import Blocked, Robots
from crawler.url.scope import Scope


class CrawlRules(Struct, frozen=True):
    """The rules that a crawl of the site goes by. ``robots`` is None when that of the URL's origin was never asked
    for; ``robots_at`` is when it was (Unix time), and ``robots_said`` what the answer meant. ``is_robots_copy``: that
    could not be used, and what an earlier answer said holds.
    """

    scope: Scope
    start: Url
    robots: Robots | None = None
    robots_at: float = 0.0
    robots_said: str = ""
    is_robots_copy: bool = False
    obey_robots: bool = True
    obey_noindex: bool = True
    obey_canonical: bool = True


def predict(url: Url, policy: CrawlRules) -> StoryTopic:
    """What a crawl would do if it met the URL by a link, one click from the start."""
    verdict = _why_refused(url, policy)
    if verdict:
        lines = [f"it would end as {state_text(verdict.state, verdict.reason)}"]
    elif policy.robots is None and policy.obey_robots:
        lines = ["it would be asked for, unless robots.txt forbids that"]
    else:
        lines = ["it would be asked for"]
    unlisted = None if verdict else policy.scope.may_list(url)
    if unlisted:
        lines.append(f"a sitemap here cannot list it: {state_text(unlisted.state, unlisted.reason)}")
    elif not verdict:
        noindex = ", does not say noindex" if policy.obey_noindex else ""
        canonical = " and names no other page as its canonical" if policy.obey_canonical else ""
        lines.append(f"and listed, if it answers 200 with HTML{noindex}{canonical}")
    end = verdict or unlisted
    values = {
        "state": end.state.value if end else None,
        "reason": end.reason if end else "",
        "asked_for": verdict is None,
    }
    return StoryTopic("would", lines, values)


def _why_refused(url: Url, policy: CrawlRules) -> StatusBadge | None:
    is_start = url == policy.start
    refused = policy.scope.admit(
        url, 0 if is_start else 1, DiscoveredBy.SEED if is_start else DiscoveredBy.LINK
    )
    if refused or policy.robots is None or not policy.obey_robots:
        return refused
    answer = policy.robots.can_fetch(url)
    return StatusBadge(State.ROBOTS, answer.reason) if isinstance(answer, Blocked) else None
