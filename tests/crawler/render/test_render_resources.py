"""Which requests of a rendered page get an answer: those of the site, and none of trackers."""

from collections.abc import Iterable

import pytest

from crawler.model import Reply, Url
from crawler.render.resources import PageResources, ResourceOptions, ResourceRequest, ResourceRoad

pytestmark = pytest.mark.anyio


def reply(url: str) -> Reply:
    return Reply(Url(url), 200, (), b"x", 0.0, 0.0)


class OpenRoad(ResourceRoad):
    """A road on which every request gets an answer."""

    def __init__(self, options: ResourceOptions) -> None:
        self.options = options
        self.fetched = 0

    async def why_blocked(self, url: Url) -> str:
        return ""

    async def fetch(
        self, url: Url, headers: Iterable[tuple[str, str]], page: PageResources, content: bytes | None = None
    ) -> Reply:
        self.fetched += 1
        return reply(url)


def resources_of(url: str, requests: int = 300) -> PageResources:
    resources = PageResources(OpenRoad(ResourceOptions(max_requests=requests)))
    resources.document(reply(url))
    return resources


@pytest.mark.parametrize(
    ("page", "script", "is_answered"),
    [
        ("https://example.com/", "https://example.com/app.js", True),
        ("https://example.com/", "https://cdn.example.net/app.js", True),
        ("https://example.com/", "https://plausible.io/js/script.js", False),
        ("https://example.com/", "https://www.google-analytics.com/ga.js", False),
        ("https://plausible.io/", "https://plausible.io/js/app.js", True),
        ("https://docs.sentry.io/", "https://static.sentry.io/app.js", True),
        ("https://docs.sentry.io/", "https://plausible.io/js/script.js", False),
        ("https://notplausible.io/", "https://plausible.io/js/script.js", False),
    ],
)
async def test_ours_a_tracker_gets_no_request_unless_it_is_the_site(page: str, script: str, is_answered: bool) -> None:
    resources = resources_of(page)
    answer = await resources.answer(ResourceRequest(script, "HEAD", "fetch"))
    assert (answer is not None) is is_answered


async def test_ours_a_page_gets_so_many_answers_and_says_that_it_asked_for_more() -> None:
    resources = resources_of("https://example.com/", requests=2)
    answers = []
    for number in range(2):
        assert resources.cut == ""
        answers.append(await resources.answer(ResourceRequest(f"https://example.com/{number}", "HEAD", "fetch")))
    assert resources.cut == ""
    assert await resources.answer(ResourceRequest("https://www.google-analytics.com/ga.js", "GET", "script")) is None
    assert resources.cut == ""  # a tracker does not count
    assert await resources.answer(ResourceRequest("https://example.com/2", "GET", "fetch")) is None
    assert all(answers)
    assert resources.cut == "reading stopped after 2 requests for scripts, styles and data"
