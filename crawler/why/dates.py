"""Where the lastmod of a URL came from, and why it is not another one."""

from crawler.fetch import http_date
from crawler.lastmod.policy import EARLIEST, HEADER
from crawler.model import State
from crawler.why.story import Past, Seen, Story
from crawler.why.words import Topic, run, w3c


def lastmod(story: Story) -> Topic | None:
    """The date that is or would be published, its source and its run; None for what has no place in a sitemap."""
    seen, past, listed = story.seen, story.past, story.listed
    if not listed and story.end[0] is not State.INDEXABLE:
        return None
    is_decided = seen is not None and seen.seen_at is not None and bool(seen.lastmod or seen.lastmod_source)
    observed: Seen | Past | None = seen if is_decided else past
    if observed is None or (not listed and observed.seen_at is None):
        return None
    number = past.changed_run if past else None
    if is_decided and story.run and seen and seen.changed != 0:
        number = story.run.number
    told = _decided(observed, number, story)
    date = listed.lastmod if listed else observed.lastmod
    source = listed.lastmod_source if listed else observed.lastmod_source
    lines = [f"{date}, from {source or 'a source that is not kept'}" if date else "none is known"]
    if listed and listed.lastmod != observed.lastmod:
        lines.append(
            f"observed by now: {observed.lastmod or 'none'} ({observed.lastmod_source or 'no source'})"
        )
    looked = seen if seen and seen.seen_at is not None else past
    passed_over = list(_passed_over(looked, source, story.distrust)) if looked else []
    values = {
        "value": date or None,
        "source": source,
        "observed": observed.lastmod or None,
        "decided_in_run": number,
        "decided_at": w3c(story.starts.get(number)) if number else None,
        "evidence": observed.evidence,
        "last_modified": looked.last_modified if looked else "",
        "last_modified_believed": bool(looked and looked.header_date and not story.distrust),
        "last_modified_distrusted": story.distrust,
        "page_date": looked.page_date if looked else "",
        "page_date_source": looked.page_date_source if looked else "",
    }
    return Topic("lastmod", [*lines, *told, *passed_over], values)


def _decided(observed: Seen | Past, number: int | None, story: Story) -> list[str]:
    lines = []
    if number is not None and observed.lastmod:
        lines.append(f"decided in {run(number, story.starts)}")
    if observed.evidence:
        lines.append(f"what changed: {observed.evidence}")
    return lines


def _passed_over(looked: Seen | Past, source: str, distrust: str) -> list[str]:
    """The dates that the last answer stated and that were not taken."""
    lines = []
    if looked.last_modified and not looked.header_date:
        lines.append(f'Last-Modified "{looked.last_modified}" is not believed: {_fault(looked)}')
    elif looked.last_modified and source != HEADER:
        lines.append(
            f'Last-Modified "{looked.last_modified}" was not taken{f": {distrust}" if distrust else ""}'
        )
    if looked.page_date and source != looked.page_date_source:
        lines.append(f"{looked.page_date_source} {looked.page_date} was not taken")
    return lines


def _fault(looked: Seen | Past) -> str:
    """What is wrong with a Last-Modified that is not believed: see :func:`crawler.lastmod.policy.believable`."""
    at = looked.seen_at or 0.0
    stated = http_date.read(looked.last_modified, at)
    if stated is None:
        return "it is no HTTP date"
    if stated < EARLIEST:
        return "it is before 1995"
    return "it is in the future" if stated > at + 1 else "it is the time of the answer"
