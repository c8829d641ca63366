"""Hubs of the feed: what they are sent, and what becomes of it."""

from urllib.parse import parse_qs

import pytest
from doubles_listener import Reply, listening

from crawler.errors import UsageError
from crawler.notify.channels.http import HttpSender
from crawler.notify.channels.message import SAMPLE_NOTICES
from crawler.notify.channels.websub import WebSubChannel
from crawler.notify.notice import Occasion, SendStatus

FEED = "https://www.example.com/sitemap-recent.atom?a=b&c"


@pytest.mark.anyio
async def test_w3c_websub_a_hub_is_told_the_url_of_the_feed() -> None:
    with listening(lambda _: Reply(204)) as hub:
        async with HttpSender("x") as http:
            told = WebSubChannel(http, f"{hub.url}/push", FEED)
            answer = await told.send(SAMPLE_NOTICES[0])
    assert answer.reception is SendStatus.ACCEPTED
    assert answer.message == f"the hub {hub.url} accepted it (204)"
    assert told.occasions == {Occasion.CHANGES}
    assert told.key.startswith(f"websub {hub.url} ")
    (heard,) = hub.heard
    assert (heard.method, heard.path) == ("POST", "/push")
    assert heard.headers["content-type"] == "application/x-www-form-urlencoded"
    form = {name.decode(): [value.decode() for value in values] for name, values in parse_qs(heard.body).items()}
    assert form == {"hub.mode": ["publish"], "hub.url": [FEED], "hub.topic": [FEED]}


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("status", "reception"),
    [(202, SendStatus.ACCEPTED), (400, SendStatus.REFUSED), (429, SendStatus.DEFERRED), (503, SendStatus.DEFERRED)],
)
async def test_w3c_websub_a_hub_may_have_reasons(status: int, reception: SendStatus) -> None:
    with listening(lambda _: Reply(status, b"bad topic", {"Content-Type": "text/plain"})) as hub:
        async with HttpSender("x") as http:
            answer = await WebSubChannel(http, hub.url, FEED).send(SAMPLE_NOTICES[0])
    assert answer.reception is reception
    assert ("bad topic" in answer.message) == (status > 299)


@pytest.mark.anyio
async def test_ours_a_hub_without_a_feed_is_refused_with_the_remedy() -> None:
    async with HttpSender("x") as http:
        with pytest.raises(UsageError, match=r"output\.recent"):
            WebSubChannel(http, "https://hub.example/", "")
        with pytest.raises(UsageError, match=r"websub\.hubs"):
            WebSubChannel(http, "hub.example", FEED)
