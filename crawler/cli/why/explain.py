"""Explains a URL, topic by topic: its discovery, its answers, its state, its place in the sitemap. Pure."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

from msgspec import Struct

from crawler.cli.why.rules import RENDER, CrawlRules, predict, robots_topic
from crawler.cli.why.story import (
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
from crawler.lastmod.policy import EARLIEST_DATE, HEADER, build_of
from crawler.model import SEEN_TO_CHANGE, DocumentKind, State, Url
from crawler.publish.states import STATE_WORDS
from crawler.state.runs import PUBLISHING_OUTCOMES
from crawler.units import count_text
from sitemap import BuildTime

_SOURCE_TEXTS: Final = {"": "an unknown source", SEEN_TO_CHANGE: "an observed change"}
UNDATED: Final = "no date is known. The day of the first visit is none: the page may be older"
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
    topics = [*(_known_topics(story, policy) if story.is_known else _unknown_topics(story, policy, near))]
    if part := text.partition("#")[2]:
        topics.insert(
            0, StoryTopic("part", [f"#{part} names a part of this page. What follows is about the whole page"])
        )
    return Explanation(text, story, _summary_text(story), topics)


def _known_topics(story: UrlStory, policy: CrawlRules) -> Iterator[StoryTopic]:
    yield _state_topic(story)
    yield from _told(story, policy, _BEFORE_ROBOTS)
    yield robots_topic(story.url, policy)
    yield from _told(story, policy, _AFTER_ROBOTS)


def _unknown_topics(story: UrlStory, policy: CrawlRules, near: list[tuple[Url, str]]) -> Iterator[StoryTopic]:
    unlinked = "none of the pages that were read links to it"
    if story.run and story.run.completeness not in ("", "complete"):
        unlinked += "; the crawl did not read the whole site"
    yield StoryTopic("found", [unlinked])
    if near:
        similar = [f"{url}  ({how})" if how else str(url) for url, how in near]
        yield StoryTopic("near", similar, [{"url": url, "differs": how} for url, how in near])
    yield robots_topic(story.url, policy)
    yield predict(story.url, policy)
    yield from _told(story, policy, {"history": _history, "run": _run})


def _told(story: UrlStory, policy: CrawlRules, topics: "_Topics") -> Iterator[StoryTopic]:
    """The topics of which there is something to tell."""
    for name, tell in topics.items():
        if lines := list(tell(story, policy)):
            yield StoryTopic(name, lines)


def _summary_text(story: UrlStory) -> str:
    visit, history, position = story.last_visit, story.history, story.position
    end, reason = story.end
    if story.is_orphan:
        return "is not listed: no page that a run finds has a link to it that may be followed"
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
        meeting = f"was last found in {run_text(history.last_run, story)}" if history else "was found by an earlier run"
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
    lines = [
        state_text(end, reason),
        "a run lists it when links lead to it" if story.is_orphan else STATE_WORDS[end].meaning,
    ]
    if end is State.PENDING and visit and visit.due > 0:
        lines.append(f"the next attempt is not before {utc_time_text(visit.due)}")
    if remedy := exclude_remedy_of(story.url, reason):
        lines.append(f"{remedy} excludes all URLs like it; --set scope.trap_limit=0 crawls them")
    if history and history.failures:
        lines.append(f"transient failures in {count_text(history.failures, 'run')} in a row")
    return StoryTopic("state", lines, {"remedy": remedy})


def _discovery(story: UrlStory, _: CrawlRules) -> Iterator[str]:
    visit = story.last_visit
    if visit is None:
        yield "not in the last run"
        return
    # not the depth of the visit: a sitemap or an earlier run is no path for visitors
    clicks = story.link_facts.clicks if story.link_facts else visit.depth
    yield f"by {', '.join(discovery_text(visit.found))}; {distance_text(clicks)}"
    steps = [f"{'> ' if number else ''}{step.url}  ({', '.join(step.by)})" for number, step in enumerate(story.steps)]
    if len(steps) > SHOWN_STEPS:
        left_out = len(steps) - SHOWN_STEPS
        steps[3 : 3 + left_out] = [f"… {count_text(left_out, 'step')} …"]
    if len(steps) > 1:
        yield from steps


def _sitemap(story: UrlStory, _: CrawlRules) -> Iterator[str]:
    position = story.position
    if position is None:
        yield (
            "an audit publishes nothing" if story.is_audit and not story.is_orphan else "no published file contains it"
        )
    else:
        yield f"{position.file or 'unknown file'}{f', group {position.group}' if position.group else ''}"
        if position.is_kept:
            yield "it failed temporarily, so it stays listed for now"
        if position.is_held:
            yield "the gate holds this page, so the sitemap keeps its old entry; the run below says why"
    if _is_open(story) and story.planned and not position:
        yield "the unfinished run will list it"
    elif _is_open(story) and position and story.last_visit is None:
        yield "the unfinished run has not found it yet"


def _history(story: UrlStory, _: CrawlRules) -> Iterator[str]:
    history = story.history
    if history:
        yield f"known since {run_text(history.first_run, story)}"
        yield f"last found in {run_text(history.last_run, story)}"
        # the memory of a page that the gate holds keeps its old content
        read_run = story.page.run if story.page else None
        full_runs = [run for run in (history.full_run, read_run) if run is not None]
        if full_runs:
            yield f"last fetched in full in {run_text(max(full_runs), story)}"
    for change in story.changes:
        target = f" to {change.target}" if change.target else ""
        yield f"{run_text(change.run, story)}: {change.kind}{target}: {change.reason}"


def _run(story: UrlStory, _: CrawlRules) -> Iterator[str]:
    if run := story.run:
        ending = f": {', '.join(filter(None, (run.completeness, run.outcome)))}"
        if run.ended is None:
            ending = " is active, or was cut short: the same command continues it"
        yield f"{run_text(run.number, story)}{ending}"
        yield from filter(None, (run.reason, run.refusal))


def _lastmod(story: UrlStory, _: CrawlRules) -> Iterator[str]:
    """The published or pending lastmod, its source and its run; nothing for a URL that belongs in no sitemap."""
    visit, history, position = story.last_visit, story.history, story.position
    if not position and story.end[0] is not State.INDEXABLE:
        return
    is_decided = visit is not None and visit.seen_at is not None and bool(visit.lastmod or visit.lastmod_source)
    observed: UrlRecord | None = visit if is_decided else history
    if observed is None or (not position and observed.seen_at is None):
        return
    number = history.changed_run if history else None
    if is_decided and story.run and visit and visit.changed != 0:
        number = story.run.number
    date = position.lastmod if position else observed.lastmod
    source = position.lastmod_source if position else observed.lastmod_source
    yield f"{date}, from {_SOURCE_TEXTS.get(source, source)}" if date else UNDATED
    if position and position.lastmod != observed.lastmod:
        yield f"latest observation: {observed.lastmod or 'none'} ({observed.lastmod_source or 'no source'})"
    if visit and visit.discounted:
        yield f"differs, and does not count: {visit.discounted}"
    if number is not None and observed.lastmod:
        is_new = history is None or history.first_run == number
        yield f"{'first seen' if is_new else 'changed'} in {run_text(number, story)}"
    if observed.evidence:
        yield f"what changed (- removed, + added): {observed.evidence}"
    if latest := visit if visit and visit.seen_at is not None else history:
        yield from _rejected_dates(latest, source, story)


def _rejected_dates(observed: UrlRecord, source: str, story: UrlStory) -> Iterator[str]:
    """The dates of the last answer that were rejected."""
    if observed.last_modified and not observed.header_date:
        yield f'Last-Modified "{observed.last_modified}" is not credible: {_header_fault(observed)}'
    elif observed.last_modified and source != HEADER:
        reason = story.distrust or _build_text(observed.header_date, story.builds)
        yield f'Last-Modified "{observed.last_modified}" was not used{f": {reason}" if reason else ""}'
    if observed.page_date and source != observed.page_date_source:
        of_none = "it is the time of the response, or of no change that a run saw"
        reason = "Last-Modified is the stronger evidence" if source == HEADER else of_none
        yield f"{observed.page_date_source} {observed.page_date} was not used: {reason}"


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


def _links(story: UrlStory, _: CrawlRules) -> Iterator[str]:
    """The URL in the link graph of the last run."""
    facts, visit = story.link_facts, story.last_visit
    if facts and visit and visit.kind is not DocumentKind.SITEMAP:
        yield f"followed links from {count_text(facts.inlinks, 'page')}; {distance_text(facts.clicks)}"
        yield f"link weight {facts.weight:.2f} (1 is the average of all pages)"
        for page in facts.referrers[:MAX_REFERRERS_SHOWN]:
            yield f"< {page.url}  ({page.how}{f', through {page.via}' if page.via else ''})"


def _requests(story: UrlStory, _: CrawlRules) -> Iterator[str]:
    """Every request of the last run with its answer; the last good answer if it made none."""
    requests = story.last_visit.requests if story.last_visit else []
    for request in requests:
        method = "conditional" if request.conditional else "GET"
        traffic = f"{request.wire:,} bytes in {request.elapsed:.3f} s"
        yield f"{utc_time_text(request.at)}  {method:<11}  {request.answer}  {traffic}"
    if requests and story.run and requests[-1].at < story.run.started and not story.is_audit:
        yield "the last run did not request it: what is said here is of its last visit"
    if requests and requests[-1].answer == "304" and story.page and story.page.run is not None:
        yield f"not modified: the content from {run_text(story.page.run, story)} is still current"
    if not requests:
        yield "none in this run" if story.last_visit else "none"
        if story.history and story.history.seen_at is not None:
            yield f"the last successful response was at {utc_time_text(story.history.seen_at)}"


def _page(story: UrlStory, _: CrawlRules) -> Iterator[str]:
    """The page that was read, and when."""
    if page := story.page:
        kind = page.type or "no Content-Type"
        yield f'"{page.title}", {kind}' if page.title else kind
        if page.run is not None:
            yield f"read in {run_text(page.run, story)}"
        if page.fallback:
            yield f"read without most of its elements: {page.fallback}"
        yield from page.faults


def _earlier(story: UrlStory) -> Iterator[str]:
    """That a page is told as an earlier run read it, if the last visit read none."""
    if story.page and story.page.run is not None and story.last_visit and story.last_visit.content is None:
        yield f"the last visit read no page; of that in {run_text(story.page.run, story)}:"


def _noindex(story: UrlStory, policy: CrawlRules) -> Iterator[str]:
    """Whether the page or its headers say noindex."""
    if (page := story.page) and page.is_html:
        yield from _earlier(story)
        yield page.noindex or page.engine_noindex or "neither the page nor its headers contain noindex"
        if page.noindex and not policy.obey_noindex:
            yield "the configuration ignores noindex"
        elif page.engine_noindex and not policy.obey_engine_noindex:
            yield "the configuration ignores noindex for Googlebot or Bingbot alone"
        if page.nofollow:
            yield "the page asks crawlers not to follow its links (nofollow)"


def _canonical(story: UrlStory, policy: CrawlRules) -> Iterator[str]:
    """The canonical that the page names."""
    if (page := story.page) and page.is_html:
        yield from _earlier(story)
        match page.canonicals:
            case []:
                yield "no canonical of the page counts" if page.canonical_faults else "the page has no canonical"
            case [one]:
                yield "the page is its own canonical" if one == story.url else f"the canonical is {one}"
            case several:
                yield (
                    f"the page has {len(several)} canonicals that contradict one another, so none of them counts: "
                    f"{', '.join(several[:5])}"
                )
        yield from page.canonical_faults
        if not policy.obey_canonical:
            yield "the configuration ignores canonicals"


def _hops(story: UrlStory, _: CrawlRules) -> Iterator[str]:
    """The target of a redirect, a refresh or a canonical, hop by hop."""
    for hop in story.hops:
        yield f"> {hop.url}  {state_text(hop.state, hop.reason)}{', listed' if hop.is_listed else ''}"


_Topics = dict[str, Callable[[UrlStory, CrawlRules], Iterable[str]]]
_BEFORE_ROBOTS: Final[_Topics] = {
    "found": _discovery,
    "findings": lambda story, _: story.findings,
    "sources": lambda story, _: story.sources,
    "links": _links,
}
_AFTER_ROBOTS: Final[_Topics] = {
    "requests": _requests,
    "page": _page,
    "noindex": _noindex,
    "canonical": _canonical,
    "leads_to": _hops,
    "lastmod": _lastmod,
    "sitemap": _sitemap,
    "history": _history,
    "run": _run,
}
"""What is told of a URL, topic by topic, before and after what robots.txt says."""
