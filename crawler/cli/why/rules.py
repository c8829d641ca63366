"""What a crawl would do with a URL, what robots.txt says of it, and both readings of its page. Pure."""

from collections.abc import Iterator
from typing import Any, Final

from msgspec import Struct

from crawler.cli.why.story import StoryTopic, state_text, utc_time_text
from crawler.crawl.render_comparison import RenderComparison
from crawler.model import DiscoveredBy, Page, State, Url, Verdict
from crawler.parse.snapshot.snapshot import load_markup
from crawler.render.templates import Mode, words_of
from crawler.robots.rules import Blocked, Robots
from crawler.url.scope import Scope

_MAX_LINKS: Final = 5  # links in the text; JSON has all
RENDER: Final = "render"


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


def robots_topic(url: Url, policy: CrawlRules) -> StoryTopic:
    """What the last known robots.txt says about the URL."""
    rules = policy.robots
    if rules is None:
        return StoryTopic("robots", ["no run has fetched robots.txt of this origin"], {"allowed": None, "rule": ""})
    access = rules.can_fetch(url)
    is_allowed = not isinstance(access, Blocked)
    if isinstance(access, Blocked):
        rule, line = access.reason, f"blocked: {access.reason}"
    else:
        rule = rules.allowing_rule(url)
        line = f"allowed: {_allowance(rules, rule)}"
    lines = [line, f"as of {utc_time_text(policy.robots_at)}"]
    if policy.is_robots_copy:
        lines[1] += f": {policy.robots_said}; the previous copy still applies"
    if not policy.obey_robots:
        lines.append("the configuration ignores robots.txt")
    values = {
        "allowed": is_allowed,
        "rule": rule,
        "line": access.line if isinstance(access, Blocked) else None,
        "obeyed": policy.obey_robots,
        "fetched_at": policy.robots_at,
        "said": policy.robots_said,
    }
    return StoryTopic("robots", lines, values)


def _allowance(rules: Robots, rule: str) -> str:
    if rule:
        return rule
    return "no rule matches" if rules.reason == "robots.txt" else rules.reason


def readings_topic(readings: RenderComparison | str) -> StoryTopic:
    """Both readings of a page, field by field. A sentence says why the page could not be read."""
    if isinstance(readings, str):
        return StoryTopic(RENDER, [readings], {"error": readings})
    sent, drawn = _values(readings.raw), _values(readings.rendered)
    lines = [_decision(readings), *_field_lines(sent, drawn), *_link_lines(sent["links"], drawn["links"])]
    lines += readings.counted.notes
    record = readings.record
    values = {
        "as_sent": sent,
        "rendered": drawn,
        "changed": readings.changed,
        "template": record.mode.value or None if record else None,
        "notes": readings.counted.notes,
    }
    return StoryTopic(RENDER, lines, values)


def _decision(readings: RenderComparison) -> str:
    record = readings.record
    if not readings.raw.scripts:
        return "runs read the page as sent, because it has no scripts"
    if record is None or record.mode is Mode.UNDECIDED:
        return "no run has compared pages of this template yet"
    if record.mode is Mode.RENDERED:
        return f"runs render the pages of this template, because rendering changed: {record.reason}"
    return "runs read the pages of this template as sent, unless a page has less text or fewer links than the others"


def _values(page: Page) -> dict[str, Any]:
    return {
        "title": page.title,
        "canonical": list(page.canonicals),
        "noindex": page.noindex,
        "nofollow": page.nofollow,
        "words": len(words_of(load_markup(page.text))),
        "images": len(page.images),
        "videos": len(page.videos),
        "alternates": len(page.alternates),
        "links": [url for url, found in page.links if found & DiscoveredBy.LINK],
    }


def _field_lines(sent: dict[str, Any], drawn: dict[str, Any]) -> Iterator[str]:
    """Each field but the links: once if it is equal in both readings."""
    for name, value in sent.items():
        if name == "links":
            continue
        if value == drawn[name]:
            yield f"{name:<10}  both      {_text(value)}"
        else:
            yield f"{name:<10}  as sent   {_text(value)}"
            yield f"{'':<10}  rendered  {_text(drawn[name])}"


def _link_lines(sent: list[str], drawn: list[str]) -> Iterator[str]:
    if set(sent) == set(drawn):
        yield f"{'links':<10}  both      {len(sent):,}"
        return
    yield f"{'links':<10}  as sent   {len(sent):,}{_named(sent, drawn)}"
    yield f"{'':<10}  rendered  {len(drawn):,}{_named(drawn, sent)}"


def _named(links: list[str], others: list[str]) -> str:
    """The links that the other reading does not have."""
    only = [url for url in links if url not in {*others}]
    more = f" and {len(only) - _MAX_LINKS:,} more" if len(only) > _MAX_LINKS else ""
    return f"; only here: {', '.join(only[:_MAX_LINKS])}{more}" if only else ""


def _text(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(value) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else str(value) or "none"
