"""The topic about a page as the server sends it and as a browser shows it."""

from collections.abc import Iterator
from typing import Any, Final

from crawler.cli.why.wording import StoryTopic
from crawler.crawl.two_readings import TwoReadings
from crawler.model import DiscoveredBy, Page
from crawler.parse.snapshot.snapshot import load_snapshot
from crawler.render.templates import MIN_WORDS, Mode, words_of

NAME: Final = "render"
_MAX_LINKS: Final = 5  # links in the text; JSON has all


def readings_topic(readings: TwoReadings | str) -> StoryTopic:
    """Both readings of a page, field by field. A sentence says why the page could not be read."""
    if isinstance(readings, str):
        return StoryTopic(NAME, [readings], {"error": readings})
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
    return StoryTopic(NAME, lines, values)


def _decision(readings: TwoReadings) -> str:
    record = readings.record
    if not readings.raw.scripts:
        return "runs read the page as sent, because it has no scripts"
    if record is None or record.mode is Mode.UNDECIDED:
        return "no run has compared pages of this template yet"
    if record.mode is Mode.RENDERED:
        return f"runs render the pages of this template, because rendering changed: {record.reason}"
    return f"runs read the pages of this template as sent, unless a page has fewer than {MIN_WORDS} words or few links"


def _values(page: Page) -> dict[str, Any]:
    return {
        "title": page.title,
        "canonical": list(page.canonicals),
        "noindex": page.noindex,
        "nofollow": page.nofollow,
        "words": len(words_of(load_snapshot(page.text) or "")),
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
