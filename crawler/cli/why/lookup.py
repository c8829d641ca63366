"""Explains URLs from the states of their sites, and formats the explanations as text or JSON."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import anyio
from msgspec.structs import replace

from crawler.audit.report.layout import Line
from crawler.cli.why.explain import Explanation, explain
from crawler.cli.why.readings import readings_topic
from crawler.cli.why.sites import KnownSite, known_sites, site_for_url
from crawler.cli.why.suggestions import nearest_urls, other_spellings
from crawler.config.plan import plan_audit
from crawler.errors import UsageError, single_error
from crawler.model import Url
from crawler.run.options import loop_options
from crawler.url.normalize import InvalidUrl
from sitemap import safe

_TITLE_WIDTH: Final = 11  # columns of the names of topics
_TITLES: Final = {"leads_to": "leads to", "near": "similar", "would": "if found"}


def explain_urls(
    urls: Sequence[str], file: Path | None, flags: Mapping[str, Any], sites: Sequence[str], *, render: bool = False
) -> list[Explanation]:
    """The story of each URL. ``render`` requests it now, and reads it both ways. Raises UsageError, StorageError."""
    with known_sites(file, flags, sites) as known:
        chosen = [(text, site_for_url(text, known)) for text in urls]
        return [_with_readings(_story(*pair), pair[1]) if render else _story(*pair) for pair in chosen]


def story_lines(stories: Sequence[Explanation]) -> Iterator[str | Line]:
    """The stories as lines of text, with an empty line between them. Text from the web is escaped."""
    for number, story in enumerate(stories):
        if number:
            yield ""
        yield safe(story.url)
        yield f"  {safe(story.summary)}"
        yield ""
        for topic in story.topics:
            title = _TITLES.get(topic.name, topic.name)
            for line in topic.lines:
                yield Line(f"{title:<{_TITLE_WIDTH}}", safe(line))
                title = ""


def _story(text: str, site: KnownSite) -> Explanation:
    try:
        url = site.url(text)
    except InvalidUrl as error:
        hint = f"; did you mean https://{text}?" if error.code == "url.invalid" and "://" not in text else ""
        raise UsageError(f"{error.message}{hint}") from None
    story = replace(
        site.stories.story(url),
        link_facts=site.stories.link_facts(url),
        sources=site.sources(url),
        findings=site.findings(url),
    )
    near = [] if story.is_known else _near_urls(url, site)
    return explain(text, story, site.policy(url), near)


def _with_readings(story: Explanation, site: KnownSite) -> Explanation:
    """The story with both readings of the page, after the topics that no request is needed for."""
    from crawler.crawl.two_readings import read_both_ways  # noqa: PLC0415 - only --render fetches

    plan, known = plan_audit(site.config), site.templates()
    try:
        readings = anyio.run(read_both_ways, plan, Url(story.url), known, backend_options=loop_options())
    except ExceptionGroup as group:
        raise single_error(group) from None
    return replace(story, topics=[*story.topics, readings_topic(readings)])


def _near_urls(url: Url, site: KnownSite) -> list[tuple[Url, str]]:
    spelled = other_spellings(url)
    known = site.stories.spelled([url, *spelled])
    return nearest_urls(url, spelled, known, [] if known else site.stories.neighbours(url))
