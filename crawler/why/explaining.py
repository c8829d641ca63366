"""The whole story, topic by topic: how it was found, what was answered, how it ended, where it is listed."""

from typing import Any, Final

from msgspec import Struct

from crawler.crawl.frontier.url_templates import remedy_of
from crawler.model import Kind, State, Url
from crawler.quantities import count
from crawler.why.answers import canonical, leads_to, noindex, page, requests, robots
from crawler.why.dates import lastmod
from crawler.why.linked import links
from crawler.why.story import Listed, Story
from crawler.why.unseen import Policy, would
from crawler.why.words import MEANINGS, Topic, away, moment, run, state, w3c, ways

TOPICS: Final = (
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
    topics: list[Topic]

    def as_json(self) -> dict[str, Any]:
        """The story in values that JSON knows, always with the same keys. What is not known is None."""
        head = {
            "asked": self.asked,
            "url": self.url,
            "known": self.is_known,
            "listed": self.is_listed,
            "summary": self.summary,
        }
        return {**head, **dict.fromkeys(TOPICS), **{topic.name: topic.values for topic in self.topics}}


def explain(asked: str, story: Story, policy: Policy, near: list[tuple[Url, str]]) -> Explanation:
    """The story of a URL in words. ``near`` are known URLs that may be meant instead, with what differs in them."""
    topics = _known(story, policy) if story.is_known else _unseen(story, policy, near)
    told = [topic for topic in topics if topic is not None]
    return Explanation(asked, story.url, story.is_known, story.listed is not None, _summary(story), told)


def _known(story: Story, policy: Policy) -> list[Topic | None]:
    return [
        _state(story),
        _found(story),
        Topic("findings", story.findings, story.findings) if story.findings else None,
        Topic("sources", story.sources, story.sources) if story.sources else None,
        links(story),
        robots(story.url, policy),
        requests(story),
        page(story),
        noindex(story, policy),
        canonical(story, policy),
        leads_to(story),
        lastmod(story),
        _sitemap(story),
        _history(story),
        _run(story),
    ]


def _unseen(story: Story, policy: Policy, near: list[tuple[Url, str]]) -> list[Topic | None]:
    unlinked = "no page that was read links to it"
    run_lines = _run(story)
    if story.run and story.run.completeness not in ("", "complete"):
        unlinked += "; not all of the site was read"
    similar = [f"{url}  ({how})" if how else str(url) for url, how in near]
    return [
        Topic("found", [unlinked], {"by": [], "path": [], "clicks": None}),
        Topic("near", similar, [{"url": url, "differs": how} for url, how in near]) if near else None,
        robots(story.url, policy),
        would(story.url, policy),
        _history(story) if story.changes else None,
        run_lines,
    ]


def _summary(story: Story) -> str:
    seen, past, listed = story.seen, story.past, story.listed
    end, reason = story.end
    if story.is_audit and seen:
        return f"was found by the audit to be: {state(end, reason)}"
    if not story.is_known:
        return "is not listed: no run has met it"
    if listed:
        where = f"is listed in {listed.file}" if listed.file else "is listed"
        if end is State.INDEXABLE or end is None or (end is State.PENDING and _is_open(story)):
            return where
        return f"{where}, though by now it is: {state(end, reason)}"
    if seen is None:
        met = f"was met last in {run(past.last_run, story.starts)}" if past else "was met by an earlier run"
        return f"is not listed: it {met}{f' as {state(end, reason)}' if end else ''}"
    if end is State.INDEXABLE:
        return f"is not listed: {_not_yet(story)}"
    if seen.kind is Kind.SITEMAP:
        return f"is not listed: it is a sitemap{f' ({reason})' if reason else ''}"
    return f"is not listed: {state(end, reason)}"


def _not_yet(story: Story) -> str:
    made = story.run
    if made is None or made.ended is None:
        return "it belongs in the sitemap, and the run that found it has not published yet"
    if made.refusal:
        return f"it belongs in the sitemap, and run {made.number} published nothing: {made.refusal}"
    return "it is indexable, and the run did not list it"


def _is_open(story: Story) -> bool:
    return story.run is not None and story.run.ended is None


def _state(story: Story) -> Topic:
    seen, past = story.seen, story.past
    end, reason = story.end
    if end is None:
        return Topic(
            "state", ["not kept: an earlier run met it"], {"state": None, "reason": "", "status": None}
        )
    lines = [state(end, reason), MEANINGS[end]]
    if end is State.PENDING and seen and seen.due > 0:
        lines.append(f"the next try is not before {moment(seen.due)}")
    if leaves_out := remedy_of(story.url, reason):
        lines.append(f"{leaves_out} leaves out all that are like it; --max-fruitless 0 reads on")
    if past and past.failures:
        lines.append(f"failed in {count(past.failures, 'run')} in a row, for reasons that may pass")
    values = {
        "state": end.value,
        "reason": reason,
        "status": seen.status if seen else past.status if past else None,
        "failures": past.failures if past else 0,
        "remedy": leaves_out,
    }
    return Topic("state", lines, values)


def _found(story: Story) -> Topic:
    seen = story.seen
    if seen is None:
        return Topic("found", ["not in the last run"], {"by": [], "path": [], "clicks": None})
    by = ways(seen.found)
    # how near it seemed is not told: a sitemap that names it, or an earlier run, brings nobody there
    clicks = story.linked.clicks if story.linked else seen.depth
    lines = [f"by {', '.join(by)}; {away(clicks)}"]
    steps = story.steps
    shown = steps if len(steps) <= SHOWN_STEPS else [*steps[:3], *steps[3 - SHOWN_STEPS :]]
    if len(steps) > 1:
        lines += [
            f"{'> ' if number else ''}{step.url}  ({', '.join(ways(step.found))})"
            for number, step in enumerate(shown)
        ]
    if len(shown) < len(steps):
        lines.insert(4, f"… {count(len(steps) - len(shown), 'step')} …")
    path = [{"url": step.url, "by": ways(step.found)} for step in steps]
    return Topic("found", lines, {"by": by, "path": path, "clicks": clicks})


def _sitemap(story: Story) -> Topic:
    listed, planned = story.listed, story.planned
    nowhere = "an audit publishes nothing" if story.is_audit else "it is in no file that is published"
    lines = [_place(listed)] if listed else [nowhere]
    if listed and listed.is_kept:
        lines.append("it failed for now, and keeps its place")
    if _is_open(story) and planned and not listed:
        lines.append("the run that is not finished will list it")
    elif _is_open(story) and listed and story.seen is None:
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
    return Topic("sitemap", lines, values)


def _place(listed: Listed) -> str:
    group = f", group {listed.group}" if listed.group else ""
    return f"{listed.file or 'file not kept'}{group}"


def _history(story: Story) -> Topic | None:
    past, starts = story.past, story.starts
    if past is None and not story.changes:
        return None
    lines = []
    if past:
        lines.append(f"known since {run(past.first_run, starts)}")
        lines.append(f"last met in {run(past.last_run, starts)}")
        if past.full_run is not None:
            lines.append(f"last read whole in {run(past.full_run, starts)}")
    for change in story.changes:
        target = f" to {change.target}" if change.target else ""
        lines.append(f"{run(change.run, starts)}: {change.kind}{target}: {change.reason}")
    changes = [
        {
            "run": change.run,
            "at": w3c(change.at),
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
        "first_seen": w3c(starts.get(past.first_run)) if past else None,
        "last_run": past.last_run if past else None,
        "full_run": past.full_run if past else None,
        "changes": changes,
    }
    return Topic("history", lines, values)


def _run(story: Story) -> Topic | None:
    made = story.run
    if made is None:
        return None
    if made.ended is None:
        lines = [f"{run(made.number, story.starts)} is going on, or was cut short: the same command goes on"]
    else:
        lines = [
            f"{run(made.number, story.starts)}: {', '.join(filter(None, (made.completeness, made.outcome)))}"
        ]
    lines += [text for text in (made.because, made.refusal) if text]
    values = {
        "number": made.number,
        "started": w3c(made.started),
        "ended": w3c(made.ended),
        "completeness": made.completeness,
        "outcome": made.outcome,
    }
    return Topic("run", lines, values)
