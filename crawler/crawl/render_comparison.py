"""Reads one page as the server sends it and as a browser shows it, apart from any run."""

import time
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from importlib.util import find_spec

from msgspec import Struct

from crawler.config.plan import CrawlPlan
from crawler.crawl.assembly import build_renderer, build_site_fetcher, build_throttle, parser_options
from crawler.crawl.indexability import is_readable
from crawler.model import Failure, FetchedDocument, Page, Url
from crawler.packages import missing_packages
from crawler.parse.pool import ParsePool
from crawler.parse.snapshot.snapshot import load_markup
from crawler.render.document import RenderError
from crawler.render.templates import TemplateRecord, differences, template_key, words_of
from crawler.robots.cache import RobotsCache
from crawler.robots.rules import Blocked
from crawler.url.normalize import origin_of


class RenderComparison(Struct, frozen=True):
    """A page as sent (``raw``) and as the browser shows it (``rendered``).

    ``counted`` is what a crawl uses of both, with its notes. ``changed`` names what rendering changes. ``record``
    is what earlier runs decided for the template of the page, None for nothing.
    """

    raw: Page
    rendered: Page
    counted: Page
    changed: list[str]
    record: TemplateRecord | None


async def read_both_ways(plan: CrawlPlan, url: Url, known: Mapping[str, TemplateRecord]) -> RenderComparison | str:
    """Request a page and render it, whatever its template; a sentence when it cannot be read.

    ``known`` are the decisions of earlier runs. Obeys robots.txt as the plan says. Raises UsageError without a browser.
    """
    if find_spec("playwright") is None:
        raise missing_packages("--render", "render")
    plan = _with_rendering(plan)
    async with AsyncExitStack() as stack:
        fetcher = await stack.enter_async_context(build_site_fetcher(plan, time.time))
        pool = await stack.enter_async_context(ParsePool(1, parser_options(plan, with_places=True)))
        robots = RobotsCache(fetcher, pool.read_robots, obey=plan.config.obey.robots, params=plan.params)
        rule = (await robots.get(origin_of(url))).can_fetch(url)
        if isinstance(rule, Blocked):
            return f"robots.txt forbids the request: {rule.reason}"
        reply = await fetcher.fetch(url)
        if isinstance(reply, Failure):
            return f"the page cannot be fetched: {reply.message}"
        if not is_readable(reply):
            return f"the server answered {reply.status}, {reply.header('content-type') or 'without a Content-Type'}"
        raw = await pool.read(FetchedDocument.of_reply(reply))
        if not raw.is_html:
            return "the response is not HTML"
        renderer = build_renderer(plan, fetcher, robots, build_throttle(plan), pool, known)
        stack.push_async_callback(renderer.close)
        try:
            rendered, counted = await renderer.read_both(reply, raw)
        except RenderError as error:
            return f"the page cannot be rendered: {error}"
    words = (words_of(load_markup(page.text)) for page in (raw, rendered))
    record = known.get(template_key(url, raw.scripts))
    return RenderComparison(raw, rendered, counted, differences(url, raw, rendered, *words), record)


def _with_rendering(plan: CrawlPlan) -> CrawlPlan:
    """The plan with pages rendered where that is needed, whatever its configuration says."""
    config = plan.config
    render = config.render.model_copy(update={"mode": "auto"})
    return replace(plan, config=config.model_copy(update={"render": render}))
