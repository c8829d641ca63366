"""Explains a URL, topic by topic: its discovery, its answers, its state, its place in the sitemap. Pure."""

from collections.abc import Sequence
from typing import Any, Final

from msgspec import Struct

from crawler.cli.why.story import (
    STATE_TEXTS,
    LastVisit,
    ReferringPage,
    SitemapPosition,
    StoryTopic,
    UrlHistory,
    UrlStory,
    discovery_text,
    distance_text,
    run_text,
    state_text,
    utc_time_text,
    w3c_or_none,
)
from crawler.cli.why.topics import (
    CrawlRules,
    canonical_topic,
    noindex_topic,
    page_topic,
    predict,
    requests_topic,
    robots_topic,
    target_topic,
)
from crawler.crawl.frontier.url_templates import exclude_remedy_of
from crawler.fetch.header_values import parse_http_date
from crawler.lastmod.policy import EARLIEST_DATE, HEADER, SEEN_TO_CHANGE, build_of
from crawler.model import DocumentKind, State, Url
from crawler.state.runs import PUBLISHING_OUTCOMES
from crawler.units import count_text
from sitemap import BuildTime

_SOURCE_TEXTS: Final = {"": "an unknown source", SEEN_TO_CHANGE: "an observed change"}


def lastmod_topic(story: UrlStory) -> StoryTopic | None:
    """The published or pending lastmod, its source and its run; None for a URL that belongs in no sitemap."""
    visit, history, position = story.last_visit, story.history, story.position
    if not position and story.end[0] is not State.INDEXABLE:
        return None
    is_decided = visit is not None and visit.seen_at is not None and bool(visit.lastmod or visit.lastmod_source)
    observed: LastVisit | UrlHistory | None = visit if is_decided else history
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
    values = {
        "value": date or None,
        "source": source,
        "observed": observed.lastmod or None,
        "decided_in_run": number,
        "decided_at": w3c_or_none(story.starts.get(number)) if number else None,
        "evidence": observed.evidence,
        "discounted": visit.discounted if visit else "",
        "last_modified": latest.last_modified if latest else "",
        "last_modified_believed": bool(latest and latest.header_date and not story.distrust),
        "last_modified_distrusted": story.distrust,
        "page_date": latest.page_date if latest else "",
        "page_date_source": latest.page_date_source if latest else "",
    }
    if visit and visit.discounted:
        lines.append(f"differs, and does not count: {visit.discounted}")
    return StoryTopic("lastmod", [*lines, *decision, *rejected], values)


def _decision_lines(observed: LastVisit | UrlHistory, number: int | None, story: UrlStory) -> list[str]:
    lines = []
    if number is not None and observed.lastmod:
        lines.append(f"decided in {run_text(number, story.starts)}")
    if observed.evidence:
        lines.append(f"what changed (- removed, + added): {observed.evidence}")
    return lines


def _rejected_dates(observed: LastVisit | UrlHistory, source: str, story: UrlStory) -> list[str]:
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


def _header_fault(observed: LastVisit | UrlHistory) -> str:
    """Why a Last-Modified is not believed: see :func:`crawler.lastmod.policy.credible_last_modified`."""
    at = observed.seen_at or 0.0
    stated = parse_http_date(observed.last_modified, at)
    if stated is None:
        return "it is not an HTTP date"
    if stated < EARLIEST_DATE:
        return "it is before 1995"
    return "it is in the future" if stated > at + 1 else "it is the time of the response"


MAX_REFERRERS_SHOWN: Final = 5  # referrers in the text; JSON has all


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
    values = {
        "inlinks": facts.inlinks,
        "clicks": facts.clicks,
        "weight": round(facts.weight, 4),
        "referrers": [{"url": page.url, "by": page.how, "via": page.via or None} for page in facts.referrers],
    }
    return StoryTopic("links", lines, values)


def _how(referrer: ReferringPage) -> str:
    return f"{referrer.how}, through {referrer.via}" if referrer.via else referrer.how


TOPIC_NAMES: Final = (
    "state",
    "found",
    "findings",
    "sources",
    "links",
    "near",
    "robots",
    "would",
    "requests",
    "page",
    "noindex",
    "canonical",
    "leads_to",
    "lastmod",
    "sitemap",
    "history",
    "run",
    "render",
)
"""The names of all topics, in the order of the text."""

SHOWN_STEPS: Final = 12  # steps from the start in the text; JSON has all


class Explanation(Struct, frozen=True):
    """The story of a URL. ``asked`` is what was typed; ``summary`` completes the sentence that begins with the URL."""

    asked: str
    url: str
    is_known: bool
    is_listed: bool
    summary: str
    topics: list[StoryTopic]

    def as_json(self) -> dict[str, Any]:
        """The story as JSON values, always with the same keys; None for unknown ones."""
        head = {
            "asked": self.asked,
            "url": self.url,
            "known": self.is_known,
            "listed": self.is_listed,
            "summary": self.summary,
        }
        return {**head, **dict.fromkeys(TOPIC_NAMES), **{topic.name: topic.values for topic in self.topics}}


def explain(text: str, story: UrlStory, policy: CrawlRules, near: list[tuple[Url, str]]) -> Explanation:
    """Explain a URL. ``near`` are known URLs that the user may mean, with the difference in words."""
    topics = _known_topics(story, policy) if story.is_known else _unknown_topics(story, policy, near)
    present = [topic for topic in topics if topic is not None]
    return Explanation(text, story.url, story.is_known, story.position is not None, _summary_text(story), present)


def _known_topics(story: UrlStory, policy: CrawlRules) -> list[StoryTopic | None]:
    return [
        _state_topic(story),
        _discovery_topic(story),
        StoryTopic("findings", story.findings, story.findings) if story.findings else None,
        StoryTopic("sources", story.sources, story.sources) if story.sources else None,
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
        StoryTopic("found", [unlinked], {"by": [], "path": [], "clicks": None}),
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
        return StoryTopic(
            "state", ["unknown: only an earlier run found the URL"], {"state": None, "reason": "", "status": None}
        )
    lines = [state_text(end, reason), STATE_TEXTS[end]]
    if end is State.PENDING and visit and visit.due > 0:
        lines.append(f"the next attempt is not before {utc_time_text(visit.due)}")
    if remedy := exclude_remedy_of(story.url, reason):
        lines.append(f"{remedy} excludes all URLs like it; --set scope.trap_limit=0 crawls them")
    if history and history.failures:
        lines.append(f"transient failures in {count_text(history.failures, 'run')} in a row")
    values = {
        "state": end.value,
        "reason": reason,
        "status": visit.status if visit else history.status if history else None,
        "failures": history.failures if history else 0,
        "remedy": remedy,
    }
    return StoryTopic("state", lines, values)


def _discovery_topic(story: UrlStory) -> StoryTopic:
    visit = story.last_visit
    if visit is None:
        return StoryTopic("found", ["not in the last run"], {"by": [], "path": [], "clicks": None})
    discoveries = discovery_text(visit.found)
    # not the depth of the visit: a sitemap or an earlier run is no path for visitors
    clicks = story.link_facts.clicks if story.link_facts else visit.depth
    lines = [f"by {', '.join(discoveries)}; {distance_text(clicks)}"]
    steps = story.steps
    shown = steps if len(steps) <= SHOWN_STEPS else [*steps[:3], *steps[3 - SHOWN_STEPS :]]
    if len(steps) > 1:
        lines += [
            f"{'> ' if number else ''}{step.url}  ({', '.join(discovery_text(step.found))})"
            for number, step in enumerate(shown)
        ]
    if len(shown) < len(steps):
        lines.insert(4, f"… {count_text(len(steps) - len(shown), 'step')} …")
    path = [{"url": step.url, "by": discovery_text(step.found)} for step in steps]
    return StoryTopic("found", lines, {"by": discoveries, "path": path, "clicks": clicks})


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
    values = None
    if position:
        values = {
            "file": position.file,
            "group": position.group,
            "shard": position.shard,
            "lastmod": position.lastmod or None,
            "kept": position.is_kept,
            "held": position.is_held,
        }
    return StoryTopic("sitemap", lines, values)


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
    changes = [
        {
            "run": change.run,
            "at": w3c_or_none(change.at),
            "kind": change.kind,
            "target": change.target,
            "lastmod": change.lastmod or None,
            "before": change.before or None,
            "reason": change.reason,
        }
        for change in story.changes
    ]
    values = {
        "first_run": history.first_run if history else None,
        "first_seen": w3c_or_none(starts.get(history.first_run)) if history else None,
        "last_run": history.last_run if history else None,
        "full_run": history.full_run if history else None,
        "changes": changes,
    }
    return StoryTopic("history", lines, values)


def _run(story: UrlStory) -> StoryTopic | None:
    run = story.run
    if run is None:
        return None
    if run.ended is None:
        lines = [f"{run_text(run.number, story.starts)} is active, or was cut short: the same command continues it"]
    else:
        lines = [f"{run_text(run.number, story.starts)}: {', '.join(filter(None, (run.completeness, run.outcome)))}"]
    lines += [text for text in (run.because, run.refusal) if text]
    values = {
        "number": run.number,
        "started": w3c_or_none(run.started),
        "ended": w3c_or_none(run.ended),
        "completeness": run.completeness,
        "outcome": run.outcome,
    }
    return StoryTopic("run", lines, values)
