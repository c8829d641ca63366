"""Topics about the answers of the server: robots.txt, requests, the page, canonical, noindex, redirects."""

from crawler.cli.why.predict import CrawlRules
from crawler.cli.why.story import RedirectHop, UrlStory
from crawler.cli.why.wording import StoryTopic, run_text, state_text, utc_time_text, w3c_or_none
from crawler.model import Page, Request, Url
from crawler.robots.rules import Blocked, Robots


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
        "fetched_at": w3c_or_none(policy.robots_at),
        "said": policy.robots_said,
    }
    return StoryTopic("robots", lines, values)


def _allowance(rules: Robots, rule: str) -> str:
    if rule:
        return rule
    return "no rule matches" if rules.reason == "robots.txt" else rules.reason


def requests_topic(story: UrlStory) -> StoryTopic:
    """Every request of the last run with its answer; the last good answer if it made none."""
    requests = story.last_visit.requests if story.last_visit else []
    lines = [_request(request) for request in requests]
    if requests and requests[-1].answer == "304" and story.page_run is not None:
        lines.append(f"not modified: the content from {run_text(story.page_run, story.starts)} is still current")
    if not requests:
        lines.append("none in this run" if story.last_visit else "none")
        history = story.history
        if history and history.seen_at is not None:
            lines.append(f"the last successful response was at {utc_time_text(history.seen_at)}")
    values = [
        {
            "at": w3c_or_none(request.at),
            "conditional": request.conditional,
            "answer": request.answer,
            "bytes": request.wire,
            "seconds": request.elapsed,
        }
        for request in requests
    ]
    return StoryTopic("requests", lines, values)


def _request(request: Request) -> str:
    method = "conditional" if request.conditional else "GET"
    return (
        f"{utc_time_text(request.at)}  {method:<11}  {request.answer}  "
        f"{request.wire:,} bytes in {request.elapsed:.3f} s"
    )


def page_topic(story: UrlStory) -> StoryTopic | None:
    """The page that was read, and when."""
    page = story.page
    if page is None:
        return None
    kind = story.page_type or "no Content-Type"
    lines = [f'"{page.title}", {kind}' if page.title else kind]
    if story.page_run is not None:
        lines.append(f"read in {run_text(story.page_run, story.starts)}")
    if page.fallback:
        lines.append(f"read by the simple scanner: {page.fallback}")
    lines += page.faults
    values = {
        "title": page.title,
        "type": story.page_type,
        "language": page.language,
        "read_in_run": story.page_run,
        "is_html": page.is_html,
        "faults": page.faults,
    }
    return StoryTopic("page", lines, values)


def canonical_topic(story: UrlStory, policy: CrawlRules) -> StoryTopic | None:
    """The canonical that the page names."""
    page = story.page
    if page is None or not page.is_html:
        return None
    lines = [_canonical(page, story.url), *page.canonical_faults]
    if not policy.obey_canonical:
        lines.append("the configuration ignores canonicals")
    values = {"named": list(page.canonicals), "faults": page.canonical_faults, "obeyed": policy.obey_canonical}
    return StoryTopic("canonical", lines, values)


def _canonical(read: Page, url: Url) -> str:
    named = read.canonicals
    if not named:
        return "the page has no canonical"
    if len(named) > 1:
        return (
            f"the page has {len(named)} canonicals that contradict one another, so none of them counts: "
            f"{', '.join(named[:5])}"
        )
    return "the page is its own canonical" if named[0] == url else f"the canonical is {named[0]}"


def noindex_topic(story: UrlStory, policy: CrawlRules) -> StoryTopic | None:
    """Whether the page or its headers say noindex."""
    page = story.page
    if page is None or not page.is_html:
        return None
    evidence = page.noindex or page.engine_noindex
    lines = [evidence or "neither the page nor its headers contain noindex"]
    if page.noindex and not policy.obey_noindex:
        lines.append("the configuration ignores noindex")
    elif page.engine_noindex and not policy.obey_engine_noindex:
        lines.append("the configuration ignores noindex for Googlebot or Bingbot alone")
    if page.nofollow:
        lines.append("the page asks crawlers not to follow its links (nofollow)")
    values = {"evidence": evidence, "nofollow": page.nofollow, "obeyed": policy.obey_noindex}
    return StoryTopic("noindex", lines, values)


def target_topic(story: UrlStory) -> StoryTopic | None:
    """The target of a redirect, a refresh or a canonical, hop by hop."""
    if not story.hops:
        return None
    lines = [f"> {hop.url}  {_hop(hop)}" for hop in story.hops]
    values = [
        {"url": hop.url, "state": hop.state.value if hop.state else None, "reason": hop.reason, "listed": hop.is_listed}
        for hop in story.hops
    ]
    return StoryTopic("leads_to", lines, values)


def _hop(hop: RedirectHop) -> str:
    text = state_text(hop.state, hop.reason)
    return f"{text}, listed" if hop.is_listed else text
