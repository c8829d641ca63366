"""What the server said: the requests, the page, its canonical, its noindex, and where it leads."""

from crawler.cli.why.predict import CrawlRules
from crawler.cli.why.story import RedirectHop, UrlStory
from crawler.cli.why.words import StoryTopic, run_text, state_text, utc_time_text, w3c_or_none
from crawler.model import Page, Request, Url
from crawler.robots.rules import Blocked, Robots


def robots_topic(url: Url, policy: CrawlRules) -> StoryTopic:
    """What robots.txt says of the URL, as it was read last."""
    rules = policy.robots
    if rules is None:
        return StoryTopic(
            "robots", ["robots.txt of this origin was not asked for"], {"allowed": None, "rule": ""}
        )
    answer = rules.can_fetch(url)
    is_allowed = not isinstance(answer, Blocked)
    if isinstance(answer, Blocked):
        rule, line = answer.reason, f"blocked: {answer.reason}"
    else:
        rule = rules.allowing_rule(url)
        line = f"allowed: {_allowance(rules, rule)}"
    lines = [line, f"as of {utc_time_text(policy.robots_at)}"]
    if policy.is_robots_copy:
        lines[1] += f": {policy.robots_said}, and the copy before that holds"
    if not policy.obey_robots:
        lines.append("it is not obeyed, as configured")
    values = {
        "allowed": is_allowed,
        "rule": rule,
        "line": answer.line if isinstance(answer, Blocked) else None,
        "obeyed": policy.obey_robots,
        "fetched_at": w3c_or_none(policy.robots_at),
        "said": policy.robots_said,
    }
    return StoryTopic("robots", lines, values)


def _allowance(rules: Robots, rule: str) -> str:
    if rule:
        return rule
    return "no rule matches" if rules.reason == "robots.txt" else rules.reason


def requests_topic(story: UrlStory) -> StoryTopic:
    """Every request of the last run and its answer; what is remembered of those before it, if it made none."""
    asked = story.last_visit.requests if story.last_visit else []
    lines = [_request(each) for each in asked]
    if asked and asked[-1].answer == "304" and story.page_run is not None:
        lines.append(f"not modified: what {run_text(story.page_run, story.starts)} read still holds")
    if not asked:
        lines.append("none in this run" if story.last_visit else "none")
        past = story.history
        if past and past.seen_at is not None:
            lines.append(f"the last good answer came {utc_time_text(past.seen_at)}")
    values = [
        {
            "at": w3c_or_none(each.at),
            "conditional": each.conditional,
            "answer": each.answer,
            "bytes": each.wire,
            "seconds": each.elapsed,
        }
        for each in asked
    ]
    return StoryTopic("requests", lines, values)


def _request(request: Request) -> str:
    asked = "if changed" if request.conditional else "GET"
    return (
        f"{utc_time_text(request.at)}  {asked:<10}  {request.answer}  "
        f"{request.wire:,} bytes in {request.elapsed:.3f} s"
    )


def page_topic(story: UrlStory) -> StoryTopic | None:
    """What was read, and when."""
    read = story.page
    if read is None:
        return None
    kind = story.page_type or "no Content-Type"
    lines = [f'"{read.title}", {kind}' if read.title else kind]
    if story.page_run is not None:
        lines.append(f"read in {run_text(story.page_run, story.starts)}")
    if read.fallback:
        lines.append(f"read by the simple scanner: {read.fallback}")
    lines += read.faults
    values = {
        "title": read.title,
        "type": story.page_type,
        "language": read.language,
        "read_in_run": story.page_run,
        "is_html": read.is_html,
        "faults": read.faults,
    }
    return StoryTopic("page", lines, values)


def canonical_topic(story: UrlStory, policy: CrawlRules) -> StoryTopic | None:
    """Which page the page names as the original."""
    read = story.page
    if read is None or not read.is_html:
        return None
    lines = [_canonical(read, story.url), *read.canonical_faults]
    if not policy.obey_canonical:
        lines.append("it is not obeyed, as configured")
    values = {
        "named": list(read.canonicals),
        "faults": read.canonical_faults,
        "obeyed": policy.obey_canonical,
    }
    return StoryTopic("canonical", lines, values)


def _canonical(read: Page, url: Url) -> str:
    named = read.canonicals
    if not named:
        return "the page names none"
    if len(named) > 1:
        return f"the page names {len(named)} that disagree, which count as none: {', '.join(named[:5])}"
    return "the page names itself" if named[0] == url else f"the page names {named[0]}"


def noindex_topic(story: UrlStory, policy: CrawlRules) -> StoryTopic | None:
    """Whether the page or its headers ask to be left out."""
    read = story.page
    if read is None or not read.is_html:
        return None
    lines = [read.noindex or "neither the page nor its headers say so"]
    if read.noindex and not policy.obey_noindex:
        lines.append("it is not obeyed, as configured")
    if read.nofollow:
        lines.append("the page asks that its links are not followed")
    values = {"evidence": read.noindex, "nofollow": read.nofollow, "obeyed": policy.obey_noindex}
    return StoryTopic("noindex", lines, values)


def target_topic(story: UrlStory) -> StoryTopic | None:
    """Where a redirect, a refresh or a canonical leads, hop by hop to its end."""
    if not story.hops:
        return None
    lines = [f"> {hop.url}  {_hop(hop)}" for hop in story.hops]
    values = [
        {
            "url": hop.url,
            "state": hop.state.value if hop.state else None,
            "reason": hop.reason,
            "listed": hop.is_listed,
        }
        for hop in story.hops
    ]
    return StoryTopic("leads_to", lines, values)


def _hop(hop: RedirectHop) -> str:
    told = state_text(hop.state, hop.reason)
    return f"{told}, listed" if hop.is_listed else told
