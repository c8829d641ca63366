"""The whole story, topic by topic: how it was found, what was answered, how it ended, where it is listed."""

from typing import Any, Final

from msgspec import Struct

from crawler.cli.why.answers import (
    canonical_topic,
    noindex_topic,
    page_topic,
    requests_topic,
    robots_topic,
    target_topic,
)
from crawler.cli.why.predict import CrawlRules, predict
from crawler.cli.why.story import LastVisit, ReferringPage, SitemapPosition, UrlHistory, UrlStory
from crawler.cli.why.words import (
    STATE_TEXTS,
    StoryTopic,
    discovery_text,
    distance_text,
    run_text,
    state_text,
    utc_time_text,
    w3c_or_none,
)
from crawler.crawl.frontier.url_templates import exclude_remedy_of
from crawler.fetch import http_date
from crawler.lastmod.policy import EARLIEST_DATE, HEADER
from crawler.model import DocumentKind, State, Url
from crawler.units import count_text


def lastmod_topic(story: UrlStory) -> StoryTopic | None:
    """The date that is or would be published, its source and its run; None for what has no place in a sitemap."""
    seen, past, listed = story.last_visit, story.history, story.position
    if not listed and story.end[0] is not State.INDEXABLE:
        return None
    is_decided = seen is not None and seen.seen_at is not None and bool(seen.lastmod or seen.lastmod_source)
    observed: LastVisit | UrlHistory | None = seen if is_decided else past
    if observed is None or (not listed and observed.seen_at is None):
        return None
    number = past.changed_run if past else None
    if is_decided and story.run and seen and seen.changed != 0:
        number = story.run.number
    told = _decision_lines(observed, number, story)
    date = listed.lastmod if listed else observed.lastmod
    source = listed.lastmod_source if listed else observed.lastmod_source
    lines = [f"{date}, from {source or 'a source that is not kept'}" if date else "none is known"]
    if listed and listed.lastmod != observed.lastmod:
        lines.append(
            f"observed by now: {observed.lastmod or 'none'} ({observed.lastmod_source or 'no source'})"
        )
    looked = seen if seen and seen.seen_at is not None else past
    passed_over = list(_rejected_dates(looked, source, story.distrust)) if looked else []
    values = {
        "value": date or None,
        "source": source,
        "observed": observed.lastmod or None,
        "decided_in_run": number,
        "decided_at": w3c_or_none(story.starts.get(number)) if number else None,
        "evidence": observed.evidence,
        "last_modified": looked.last_modified if looked else "",
        "last_modified_believed": bool(looked and looked.header_date and not story.distrust),
        "last_modified_distrusted": story.distrust,
        "page_date": looked.page_date if looked else "",
        "page_date_source": looked.page_date_source if looked else "",
    }
    return StoryTopic("lastmod", [*lines, *told, *passed_over], values)


def _decision_lines(observed: LastVisit | UrlHistory, number: int | None, story: UrlStory) -> list[str]:
    lines = []
    if number is not None and observed.lastmod:
        lines.append(f"decided in {run_text(number, story.starts)}")
    if observed.evidence:
        lines.append(f"what changed: {observed.evidence}")
    return lines


def _rejected_dates(looked: LastVisit | UrlHistory, source: str, distrust: str) -> list[str]:
    """The dates that the last answer stated and that were not taken."""
    lines = []
    if looked.last_modified and not looked.header_date:
        lines.append(f'Last-Modified "{looked.last_modified}" is not believed: {_header_fault(looked)}')
    elif looked.last_modified and source != HEADER:
        lines.append(
            f'Last-Modified "{looked.last_modified}" was not taken{f": {distrust}" if distrust else ""}'
        )
    if looked.page_date and source != looked.page_date_source:
        lines.append(f"{looked.page_date_source} {looked.page_date} was not taken")
    return lines


def _header_fault(looked: LastVisit | UrlHistory) -> str:
    """What is wrong with a Last-Modified that is not believed: see :func:`crawler.lastmod.policy.believable`."""
    at = looked.seen_at or 0.0
    stated = http_date.parse_http_date(looked.last_modified, at)
    if stated is None:
        return "it is no HTTP date"
    if stated < EARLIEST_DATE:
        return "it is before 1995"
    return "it is in the future" if stated > at + 1 else "it is the time of the answer"


MAX_REFERRERS_SHOWN: Final = 5  # referrers that people are shown; machines get all that are known


def links_topic(story: UrlStory) -> StoryTopic | None:
    """What the link graph of the last run says of the URL."""
    linked, seen = story.link_facts, story.last_visit
    if linked is None or seen is None or seen.kind is DocumentKind.SITEMAP:
        return None
    pages = count_text(linked.inlinks, "page")
    lines = [
        f"from {pages} by links that count; {distance_text(linked.clicks)}",
        f"link weight {linked.weight:.2f}; the average page has 1",
    ]
    lines += [f"< {each.url}  ({_how(each)})" for each in linked.referrers[:MAX_REFERRERS_SHOWN]]
    values = {
        "inlinks": linked.inlinks,
        "clicks": linked.clicks,
        "weight": round(linked.weight, 4),
        "referrers": [
            {"url": each.url, "by": each.how, "via": each.via or None} for each in linked.referrers
        ],
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
)


"""The names of all topics, in the order in which people are told of them."""


SHOWN_STEPS: Final = 12  # of the way from the start that people are shown; machines get all


class Explanation(Struct, frozen=True):
    """The story of a URL. ``asked`` is what was typed; ``summary`` completes the sentence that begins with the URL."""

    asked: str
    url: str
    is_known: bool
    is_listed: bool
    summary: str
    topics: list[StoryTopic]

    def as_json(self) -> dict[str, Any]:
        """The story in values that JSON knows, always with the same keys. What is not known is None."""
        head = {
            "asked": self.asked,
            "url": self.url,
            "known": self.is_known,
            "listed": self.is_listed,
            "summary": self.summary,
        }
        return {**head, **dict.fromkeys(TOPIC_NAMES), **{topic.name: topic.values for topic in self.topics}}


def explain(asked: str, story: UrlStory, policy: CrawlRules, near: list[tuple[Url, str]]) -> Explanation:
    """The story of a URL in words. ``near`` are known URLs that may be meant instead, with what differs in them."""
    topics = _known_topics(story, policy) if story.is_known else _unknown_topics(story, policy, near)
    told = [topic for topic in topics if topic is not None]
    return Explanation(
        asked, story.url, story.is_known, story.position is not None, _summary_text(story), told
    )


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


def _unknown_topics(
    story: UrlStory, policy: CrawlRules, near: list[tuple[Url, str]]
) -> list[StoryTopic | None]:
    unlinked = "no page that was read links to it"
    run_lines = _run(story)
    if story.run and story.run.completeness not in ("", "complete"):
        unlinked += "; not all of the site was read"
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
    seen, past, listed = story.last_visit, story.history, story.position
    end, reason = story.end
    if story.is_audit and seen:
        return f"was found by the audit to be: {state_text(end, reason)}"
    if not story.is_known:
        return "is not listed: no run has met it"
    if listed:
        where = f"is listed in {listed.file}" if listed.file else "is listed"
        if end is State.INDEXABLE or end is None or (end is State.PENDING and _is_open(story)):
            return where
        return f"{where}, though by now it is: {state_text(end, reason)}"
    if seen is None:
        met = (
            f"was met last in {run_text(past.last_run, story.starts)}"
            if past
            else "was met by an earlier run"
        )
        return f"is not listed: it {met}{f' as {state_text(end, reason)}' if end else ''}"
    if end is State.INDEXABLE:
        return f"is not listed: {_not_yet(story)}"
    if seen.kind is DocumentKind.SITEMAP:
        return f"is not listed: it is a sitemap{f' ({reason})' if reason else ''}"
    return f"is not listed: {state_text(end, reason)}"


def _not_yet(story: UrlStory) -> str:
    made = story.run
    if made is None or made.ended is None:
        return "it belongs in the sitemap, and the run that found it has not published yet"
    if made.refusal:
        return f"it belongs in the sitemap, and run {made.number} published nothing: {made.refusal}"
    return "it is indexable, and the run did not list it"


def _is_open(story: UrlStory) -> bool:
    return story.run is not None and story.run.ended is None


def _state_topic(story: UrlStory) -> StoryTopic:
    seen, past = story.last_visit, story.history
    end, reason = story.end
    if end is None:
        return StoryTopic(
            "state", ["not kept: an earlier run met it"], {"state": None, "reason": "", "status": None}
        )
    lines = [state_text(end, reason), STATE_TEXTS[end]]
    if end is State.PENDING and seen and seen.due > 0:
        lines.append(f"the next try is not before {utc_time_text(seen.due)}")
    if leaves_out := exclude_remedy_of(story.url, reason):
        lines.append(f"{leaves_out} leaves out all that are like it; --trap-limit 0 reads on")
    if past and past.failures:
        lines.append(f"failed in {count_text(past.failures, 'run')} in a row, for reasons that may pass")
    values = {
        "state": end.value,
        "reason": reason,
        "status": seen.status if seen else past.status if past else None,
        "failures": past.failures if past else 0,
        "remedy": leaves_out,
    }
    return StoryTopic("state", lines, values)


def _discovery_topic(story: UrlStory) -> StoryTopic:
    seen = story.last_visit
    if seen is None:
        return StoryTopic("found", ["not in the last run"], {"by": [], "path": [], "clicks": None})
    by = discovery_text(seen.found)
    # how near it seemed is not told: a sitemap that names it, or an earlier run, brings nobody there
    clicks = story.link_facts.clicks if story.link_facts else seen.depth
    lines = [f"by {', '.join(by)}; {distance_text(clicks)}"]
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
    return StoryTopic("found", lines, {"by": by, "path": path, "clicks": clicks})


def _sitemap_topic(story: UrlStory) -> StoryTopic:
    listed, planned = story.position, story.planned
    nowhere = "an audit publishes nothing" if story.is_audit else "it is in no file that is published"
    lines = [_place(listed)] if listed else [nowhere]
    if listed and listed.is_kept:
        lines.append("it failed for now, and keeps its place")
    if _is_open(story) and planned and not listed:
        lines.append("the run that is not finished will list it")
    elif _is_open(story) and listed and story.last_visit is None:
        lines.append("the run that is not finished has not met it yet")
    values = None
    if listed:
        values = {
            "file": listed.file,
            "group": listed.group,
            "shard": listed.shard,
            "lastmod": listed.lastmod or None,
            "kept": listed.is_kept,
        }
    return StoryTopic("sitemap", lines, values)


def _place(listed: SitemapPosition) -> str:
    group = f", group {listed.group}" if listed.group else ""
    return f"{listed.file or 'file not kept'}{group}"


def _history_topic(story: UrlStory) -> StoryTopic | None:
    past, starts = story.history, story.starts
    if past is None and not story.changes:
        return None
    lines = []
    if past:
        lines.append(f"known since {run_text(past.first_run, starts)}")
        lines.append(f"last met in {run_text(past.last_run, starts)}")
        if past.full_run is not None:
            lines.append(f"last read whole in {run_text(past.full_run, starts)}")
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
        "first_run": past.first_run if past else None,
        "first_seen": w3c_or_none(starts.get(past.first_run)) if past else None,
        "last_run": past.last_run if past else None,
        "full_run": past.full_run if past else None,
        "changes": changes,
    }
    return StoryTopic("history", lines, values)


def _run(story: UrlStory) -> StoryTopic | None:
    made = story.run
    if made is None:
        return None
    if made.ended is None:
        lines = [
            f"{run_text(made.number, story.starts)} is going on, or was cut short: the same command goes on"
        ]
    else:
        lines = [
            f"{run_text(made.number, story.starts)}: {', '.join(filter(None, (made.completeness, made.outcome)))}"
        ]
    lines += [text for text in (made.because, made.refusal) if text]
    values = {
        "number": made.number,
        "started": w3c_or_none(made.started),
        "ended": w3c_or_none(made.ended),
        "completeness": made.completeness,
        "outcome": made.outcome,
    }
    return StoryTopic("run", lines, values)
