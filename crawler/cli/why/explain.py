"""Explains a URL, topic by topic: its discovery, its answers, its state, its place in the sitemap. Pure."""

from collections.abc import Sequence
from typing import Any, Final

from msgspec import Struct

from crawler.cli.why.rules import RENDER, CrawlRules, predict, robots_topic
from crawler.cli.why.story import (
    STATE_TEXTS,
    PageFacts,
    RedirectHop,
    ReferringPage,
    SitemapPosition,
    StoryTopic,
    UrlRecord,
    UrlStory,
    discovery_text,
    distance_text,
    run_text,
    state_text,
    utc_time_text,
)
from crawler.crawl.frontier.url_templates import exclude_remedy_of
from crawler.fetch.header_values import parse_http_date
from crawler.lastmod.policy import EARLIEST_DATE, HEADER, SEEN_TO_CHANGE, build_of
from crawler.model import DocumentKind, Request, State, Url
from crawler.state.runs import PUBLISHING_OUTCOMES
from crawler.units import count_text
from sitemap import BuildTime

_SOURCE_TEXTS: Final = {"": "an unknown source", SEEN_TO_CHANGE: "an observed change"}
MAX_REFERRERS_SHOWN: Final = 5  # referrers in the text; JSON has all
SHOWN_STEPS: Final = 12  # steps from the start in the text; JSON has all


class Explanation(Struct, frozen=True):
    """The story of a URL. ``asked`` is what was typed; ``summary`` completes the sentence that begins with the URL."""

    asked: str
    story: UrlStory
    summary: str
    topics: list[StoryTopic]

    def as_json(self) -> dict[str, Any]:
        """The explanation as JSON values: the texts of each topic, and the facts; None for unknown ones."""
        facts = self.story.facts | dict.fromkeys(("state", "near", "robots", "would", RENDER))
        return {
            "asked": self.asked,
            "url": self.story.url,
            "known": self.story.is_known,
            "listed": self.story.position is not None,
            "state": self.story.end[0],
            "summary": self.summary,
            "topics": {topic.name: topic.lines for topic in self.topics},
            "facts": facts | {topic.name: topic.values for topic in self.topics if topic.values is not None},
        }


def explain(text: str, story: UrlStory, policy: CrawlRules, near: list[tuple[Url, str]]) -> Explanation:
    """Explain a URL. ``near`` are known URLs that the user may mean, with the difference in words."""
    topics = _known_topics(story, policy) if story.is_known else _unknown_topics(story, policy, near)
    present = [topic for topic in topics if topic is not None]
    return Explanation(text, story, _summary_text(story), present)


def _known_topics(story: UrlStory, policy: CrawlRules) -> list[StoryTopic | None]:
    return [
        _state_topic(story),
        _discovery_topic(story),
        StoryTopic("findings", story.findings) if story.findings else None,
        StoryTopic("sources", story.sources) if story.sources else None,
        links_topic(story),
        robots_topic(story.url, policy),
        requests_topic(story),
        page_topic(story),
        noindex_topic(story, policy),
        canonical_topic(story, policy),
        target_topic(story),
        lastmod_topic(story),
        _sitemap_topic(story),
        _history_topic(story),
        _run(story),
    ]


def _unknown_topics(story: UrlStory, policy: CrawlRules, near: list[tuple[Url, str]]) -> list[StoryTopic | None]:
    unlinked = "none of the pages that were read links to it"
    run_lines = _run(story)
    if story.run and story.run.completeness not in ("", "complete"):
        unlinked += "; the crawl did not read the whole site"
    similar = [f"{url}  ({how})" if how else str(url) for url, how in near]
    return [
        StoryTopic("found", [unlinked]),
        StoryTopic("near", similar, [{"url": url, "differs": how} for url, how in near]) if near else None,
        robots_topic(story.url, policy),
        predict(story.url, policy),
        _history_topic(story) if story.changes else None,
        run_lines,
    ]


def _summary_text(story: UrlStory) -> str:
    visit, history, position = story.last_visit, story.history, story.position
    end, reason = story.end
    if story.is_audit and visit:
        return f"has this state in the last audit: {state_text(end, reason)}"
    if not story.is_known:
        return "is not listed: no run has found it"
    if position:
        where = f"is listed in {position.file}" if position.file else "is listed"
        if position.is_held:
            by_now = f"by now it is: {state_text(end, reason)}"
            text = "it no longer shows its main text" if end is State.INDEXABLE else by_now
            return f"{where}, and held by the gate: {text}"
        if end is State.INDEXABLE or end is None or (end is State.PENDING and _is_open(story)):
            return where
        return f"{where}, but its state is now: {state_text(end, reason)}"
    if visit is None:
        meeting = (
            f"was last found in {run_text(history.last_run, story.starts)}"
            if history
            else "was found by an earlier run"
        )
        return f"is not listed: it {meeting}{f' as {state_text(end, reason)}' if end else ''}"
    if end is State.INDEXABLE:
        return f"is not listed: {_not_yet(story)}"
    if visit.kind is DocumentKind.SITEMAP:
        return f"is not listed: it is a sitemap{f' ({reason})' if reason else ''}"
    return f"is not listed: {state_text(end, reason)}"


def _not_yet(story: UrlStory) -> str:
    run = story.run
    if run is None or run.ended is None:
        return "it belongs in the sitemap, but the run that found it has not published yet"
    if run.refusal and run.outcome in PUBLISHING_OUTCOMES:
        return f"the gate holds it back with other pages: {run.refusal}"
    if run.refusal:
        return f"it belongs in the sitemap, but run {run.number} published nothing: {run.refusal}"
    return "it is indexable, but the run did not list it"


def _is_open(story: UrlStory) -> bool:
    return story.run is not None and story.run.ended is None


def _state_topic(story: UrlStory) -> StoryTopic:
    visit, history = story.last_visit, story.history
    end, reason = story.end
    if end is None:
        return StoryTopic("state", ["unknown: only an earlier run found the URL"])
    lines = [state_text(end, reason), STATE_TEXTS[end]]
    if end is State.PENDING and visit and visit.due > 0:
        lines.append(f"the next attempt is not before {utc_time_text(visit.due)}")
    if remedy := exclude_remedy_of(story.url, reason):
        lines.append(f"{remedy} excludes all URLs like it; --set scope.trap_limit=0 crawls them")
    if history and history.failures:
        lines.append(f"transient failures in {count_text(history.failures, 'run')} in a row")
    return StoryTopic("state", lines, {"remedy": remedy})


def _discovery_topic(story: UrlStory) -> StoryTopic:
    visit = story.last_visit
    if visit is None:
        return StoryTopic("found", ["not in the last run"])
    discoveries = discovery_text(visit.found)
    # not the depth of the visit: a sitemap or an earlier run is no path for visitors
    clicks = story.link_facts.clicks if story.link_facts else visit.depth
    lines = [f"by {', '.join(discoveries)}; {distance_text(clicks)}"]
    steps = story.steps
    shown = steps if len(steps) <= SHOWN_STEPS else [*steps[:3], *steps[3 - SHOWN_STEPS :]]
    if len(steps) > 1:
        lines += [f"{'> ' if number else ''}{step.url}  ({', '.join(step.by)})" for number, step in enumerate(shown)]
    if len(shown) < len(steps):
        lines.insert(4, f"… {count_text(len(steps) - len(shown), 'step')} …")
    return StoryTopic("found", lines)


def _sitemap_topic(story: UrlStory) -> StoryTopic:
    position, planned = story.position, story.planned
    absence = "an audit publishes nothing" if story.is_audit else "no published file contains it"
    lines = [_place(position)] if position else [absence]
    if position and position.is_kept:
        lines.append("it failed temporarily, so it stays listed for now")
    if position and position.is_held:
        lines.append("the gate holds this page, so the sitemap keeps its old entry; the run below says why")
    if _is_open(story) and planned and not position:
        lines.append("the unfinished run will list it")
    elif _is_open(story) and position and story.last_visit is None:
        lines.append("the unfinished run has not found it yet")
    return StoryTopic("sitemap", lines)


def _place(position: SitemapPosition) -> str:
    group = f", group {position.group}" if position.group else ""
    return f"{position.file or 'unknown file'}{group}"


def _history_topic(story: UrlStory) -> StoryTopic | None:
    history, starts = story.history, story.starts
    if history is None and not story.changes:
        return None
    lines = []
    if history:
        lines.append(f"known since {run_text(history.first_run, starts)}")
        lines.append(f"last found in {run_text(history.last_run, starts)}")
        if history.full_run is not None:
            lines.append(f"last fetched in full in {run_text(history.full_run, starts)}")
    for change in story.changes:
        target = f" to {change.target}" if change.target else ""
        lines.append(f"{run_text(change.run, starts)}: {change.kind}{target}: {change.reason}")
    return StoryTopic("history", lines)


def _run(story: UrlStory) -> StoryTopic | None:
    run = story.run
    if run is None:
        return None
    if run.ended is None:
        lines = [f"{run_text(run.number, story.starts)} is active, or was cut short: the same command continues it"]
    else:
        lines = [f"{run_text(run.number, story.starts)}: {', '.join(filter(None, (run.completeness, run.outcome)))}"]
    lines += [text for text in (run.reason, run.refusal) if text]
    return StoryTopic("run", lines)


def lastmod_topic(story: UrlStory) -> StoryTopic | None:
    """The published or pending lastmod, its source and its run; None for a URL that belongs in no sitemap."""
    visit, history, position = story.last_visit, story.history, story.position
    if not position and story.end[0] is not State.INDEXABLE:
        return None
    is_decided = visit is not None and visit.seen_at is not None and bool(visit.lastmod or visit.lastmod_source)
    observed: UrlRecord | None = visit if is_decided else history
    if observed is None or (not position and observed.seen_at is None):
        return None
    number = history.changed_run if history else None
    if is_decided and story.run and visit and visit.changed != 0:
        number = story.run.number
    decision = _decision_lines(observed, number, story)
    date = position.lastmod if position else observed.lastmod
    source = position.lastmod_source if position else observed.lastmod_source
    lines = [f"{date}, from {_SOURCE_TEXTS.get(source, source)}" if date else "no date is known"]
    if position and position.lastmod != observed.lastmod:
        lines.append(f"latest observation: {observed.lastmod or 'none'} ({observed.lastmod_source or 'no source'})")
    latest = visit if visit and visit.seen_at is not None else history
    rejected = list(_rejected_dates(latest, source, story)) if latest else []
    if visit and visit.discounted:
        lines.append(f"differs, and does not count: {visit.discounted}")
    return StoryTopic("lastmod", [*lines, *decision, *rejected])


def _decision_lines(observed: UrlRecord, number: int | None, story: UrlStory) -> list[str]:
    lines = []
    if number is not None and observed.lastmod:
        lines.append(f"decided in {run_text(number, story.starts)}")
    if observed.evidence:
        lines.append(f"what changed (- removed, + added): {observed.evidence}")
    return lines


def _rejected_dates(observed: UrlRecord, source: str, story: UrlStory) -> list[str]:
    """The dates of the last answer that were rejected."""
    lines = []
    if observed.last_modified and not observed.header_date:
        lines.append(f'Last-Modified "{observed.last_modified}" is not credible: {_header_fault(observed)}')
    elif observed.last_modified and source != HEADER:
        reason = story.distrust or _build_text(observed.header_date, story.builds)
        lines.append(f'Last-Modified "{observed.last_modified}" was not used{f": {reason}" if reason else ""}')
    if observed.page_date and source != observed.page_date_source:
        reason = ": Last-Modified is the stronger evidence" if source == HEADER else ""
        lines.append(f"{observed.page_date_source} {observed.page_date} was not used{reason}")
    return lines


def _build_text(header_date: str, builds: Sequence[BuildTime]) -> str:
    build = build_of(header_date, builds)
    return (
        f"the Last-Modified times of {build.pages:,} pages {build.range_text}, like those of a build" if build else ""
    )


def _header_fault(observed: UrlRecord) -> str:
    """Why a Last-Modified is not believed: see :func:`crawler.lastmod.policy.credible_last_modified`."""
    at = observed.seen_at or 0.0
    stated = parse_http_date(observed.last_modified, at)
    if stated is None:
        return "it is not an HTTP date"
    if stated < EARLIEST_DATE:
        return "it is before 1995"
    return "it is in the future" if stated > at + 1 else "it is the time of the response"


def links_topic(story: UrlStory) -> StoryTopic | None:
    """The URL in the link graph of the last run."""
    facts, visit = story.link_facts, story.last_visit
    if facts is None or visit is None or visit.kind is DocumentKind.SITEMAP:
        return None
    pages = count_text(facts.inlinks, "page")
    lines = [
        f"followed links from {pages}; {distance_text(facts.clicks)}",
        f"link weight {facts.weight:.2f} (1 is the average of all pages)",
    ]
    lines += [f"< {page.url}  ({_how(page)})" for page in facts.referrers[:MAX_REFERRERS_SHOWN]]
    return StoryTopic("links", lines)


def _how(referrer: ReferringPage) -> str:
    return f"{referrer.how}, through {referrer.via}" if referrer.via else referrer.how


def requests_topic(story: UrlStory) -> StoryTopic:
    """Every request of the last run with its answer; the last good answer if it made none."""
    requests = story.last_visit.requests if story.last_visit else []
    lines = [_request(request) for request in requests]
    if requests and story.run and requests[-1].at < story.run.started and not story.is_audit:
        lines.append("the last run did not request it: what is said here is of its last visit")
    if requests and requests[-1].answer == "304" and story.page and story.page.run is not None:
        lines.append(f"not modified: the content from {run_text(story.page.run, story.starts)} is still current")
    if not requests:
        lines.append("none in this run" if story.last_visit else "none")
        history = story.history
        if history and history.seen_at is not None:
            lines.append(f"the last successful response was at {utc_time_text(history.seen_at)}")
    return StoryTopic("requests", lines)


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
    kind = page.type or "no Content-Type"
    lines = [f'"{page.title}", {kind}' if page.title else kind]
    if page.run is not None:
        lines.append(f"read in {run_text(page.run, story.starts)}")
    if page.fallback:
        lines.append(f"read by the simple scanner: {page.fallback}")
    lines += page.faults
    return StoryTopic("page", lines)


def canonical_topic(story: UrlStory, policy: CrawlRules) -> StoryTopic | None:
    """The canonical that the page names."""
    page = story.page
    if page is None or not page.is_html:
        return None
    lines = [_canonical(page, story.url), *page.canonical_faults]
    if not policy.obey_canonical:
        lines.append("the configuration ignores canonicals")
    return StoryTopic("canonical", lines)


def _canonical(read: PageFacts, url: Url) -> str:
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
    return StoryTopic("noindex", lines)


def target_topic(story: UrlStory) -> StoryTopic | None:
    """The target of a redirect, a refresh or a canonical, hop by hop."""
    if not story.hops:
        return None
    lines = [f"> {hop.url}  {_hop(hop)}" for hop in story.hops]
    return StoryTopic("leads_to", lines)


def _hop(hop: RedirectHop) -> str:
    text = state_text(hop.state, hop.reason)
    return f"{text}, listed" if hop.is_listed else text
