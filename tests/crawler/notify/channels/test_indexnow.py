"""IndexNow against a service and a site on the loopback address, with every status that its documentation names.

https://www.indexnow.org/documentation
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from doubles_indexnow import KEY, Double, Say

from crawler.config.sections import IndexNowConfig as Section
from crawler.errors import UsageError
from crawler.model import Failure, Reply, Url
from crawler.notify.channels.http import HttpSender
from crawler.notify.channels.indexnow import IndexNowChannel
from crawler.notify.notice import SendResult, SendStatus

pytestmark = pytest.mark.anyio
HOST = "www.example.com"
URLS = [f"https://{HOST}/a", f"https://{HOST}/b"]


class Files:
    """The site: a status and a body for each URL."""

    def __init__(self, **by_name: tuple[int, bytes] | Failure) -> None:
        self.asked: list[str] = []
        self._by_name = by_name

    async def __call__(self, url: Url) -> Reply | Failure:
        self.asked.append(url)
        found = self._by_name.get("file", (404, b""))
        return found if isinstance(found, Failure) else Reply(url, found[0], (), found[1], 0.0, 0.0)


THERE = Files(file=(200, KEY.encode()))


@asynccontextmanager
async def service(
    double: Double, files: Files = THERE, timeout: float = 20.0, **settings: object
) -> AsyncIterator[IndexNowChannel]:
    section = Section.model_validate({"endpoint": f"{double.home}/indexnow", "key": "env:KEPT", **settings})
    async with HttpSender("Test/1", timeout) as http:
        yield IndexNowChannel(http, files, KEY, section, "https")


async def said(say: Say, timeout: float = 20.0) -> SendResult:
    with Double(says=[say]) as double:
        async with service(double, timeout=timeout) as channel:
            answer = await channel.send(HOST, URLS)
    assert KEY not in answer.message
    return answer


async def test_indexnow_org_a_message_is_as_documented() -> None:
    with Double() as double:
        async with service(double) as channel:
            await channel.send(HOST, URLS)
        async with service(double, key_url=f"https://{HOST}/keys/mine.txt") as channel:
            await channel.send(HOST, URLS)
    assert double.messages == [
        {"host": HOST, "key": KEY, "urlList": URLS},
        {"host": HOST, "key": KEY, "keyLocation": f"https://{HOST}/keys/mine.txt", "urlList": URLS},
    ]
    assert double.heads[0]["Content-Type"] == "application/json; charset=utf-8"


@pytest.mark.parametrize(
    ("status", "reception", "words"),
    [
        (200, SendStatus.ACCEPTED, "accepted 2 URLs"),
        (202, SendStatus.ACCEPTED, "has not checked the key yet"),
        (400, SendStatus.REFUSED, "malformed"),
        (422, SendStatus.REFUSED, "not of this host"),
        (403, SendStatus.DEFERRED, "is not valid"),
        (429, SendStatus.DEFERRED, "too many requests"),
        (500, SendStatus.DEFERRED, "500"),
        (503, SendStatus.DEFERRED, "503"),
        (301, SendStatus.DEFERRED, "redirect"),
        (401, SendStatus.DEFERRED, "401"),
        (404, SendStatus.DEFERRED, "404"),
    ],
)
async def test_indexnow_org_what_each_status_means(status: int, reception: SendStatus, words: str) -> None:
    answer = await said(Say(status, (("Location", "https://elsewhere.example/x"),) if status == 301 else ()))
    assert answer.reception is reception
    assert words in answer.message


async def test_rfc9110_retry_after_of_429_is_told() -> None:
    assert (await said(Say(429, (("Retry-After", "7"),)))).wait == 7.0
    assert (await said(Say(429))).wait == 0.0


@pytest.mark.parametrize(
    "say",
    [
        Say(200, body=b"<!doctype html><title>A captive portal</title>"),
        Say(202, body=b"\xef\xbb\xbf \n<html>"),
        Say(raw=b""),
        Say(raw=b"HTTP/1.1 20"),
        Say(raw=b"\x00\xff\x16\x03\x01 garbage\r\n\r\n"),
        Say(raw=b"HTTP/1.1 99999 What\r\n\r\n"),
    ],
    ids=["a page", "a page after spaces", "cut", "half a line", "garbage", "no status"],
)
async def test_ours_an_answer_that_is_none_means_later(say: Say) -> None:
    assert (await said(say)).reception is SendStatus.DEFERRED


async def test_ours_who_does_not_answer_in_time_is_asked_another_time() -> None:
    assert (await said(Say(wait=0.5), timeout=0.1)).reception is SendStatus.DEFERRED


async def test_ours_of_a_body_without_an_end_only_the_beginning_is_read() -> None:
    chunk = b"10000\r\n" + b"x" * 65_536 + b"\r\n"
    endless = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk * 500
    assert (await said(Say(raw=endless))).reception is SendStatus.ACCEPTED


async def test_ours_what_a_service_says_is_quoted_without_the_key() -> None:
    body = f'{{"message": "the key {KEY} is wrong"}}'.encode()
    answer = await said(Say(422, (("Content-Type", "application/json"),), body))
    assert "the key *** is wrong" in answer.message


@pytest.mark.parametrize(
    "body", [KEY.encode(), f"{KEY}\r\n".encode(), f"\ufeff{KEY} ".encode()], ids=["bare", "line", "mark"]
)
async def test_indexnow_org_the_key_file_holds_the_key(body: bytes) -> None:
    files = Files(file=(200, body))
    with Double() as double:
        async with service(double, files) as channel:
            assert (await channel.check_ready(HOST)).reception is SendStatus.ACCEPTED
            await channel.check_ready(HOST)
    assert files.asked == [f"https://{HOST}/{KEY}.txt"]  # once


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ((404, b""), "the server answered 404"),
        ((301, KEY.encode()), "the server answered 301"),
        ((200, b"another-key"), "must contain the key"),
        ((200, KEY.encode() + b" and more"), "must contain the key"),
        ((200, b"<html>" + KEY.encode()), "must contain the key"),
        ((200, b""), "must contain the key"),
        ((200, b"\xff\xfe\x00"), "must contain the key"),
        (Failure("net.refused", "the server refused the connection", True), "refused the connection"),
    ],
)
async def test_indexnow_org_without_its_key_file_a_host_is_not_ready(
    found: tuple[int, bytes] | Failure, words: str
) -> None:
    with Double() as double:
        async with service(double, Files(file=found)) as channel:
            answer = await channel.check_ready(HOST)
    assert answer.reception is SendStatus.DEFERRED
    assert words in answer.message
    place = f"https://{HOST}/KEY.txt"
    assert (
        f"put a text file at {place} whose whole content is KEY, where KEY stands for the key that env:KEPT"
        in answer.message
    )
    assert KEY not in answer.message
    assert not double.messages


async def test_ours_a_key_that_the_configuration_shows_is_named_with_its_file() -> None:
    with Double() as double:
        async with service(double, Files(file=(404, b"")), key=KEY) as channel:
            answer = await channel.check_ready(HOST)
    assert f"put a text file at https://{HOST}/{KEY}.txt whose whole content is {KEY}." in answer.message
    assert "a deploy may have deleted it" in answer.message


async def test_indexnow_org_403_makes_the_host_not_ready_and_no_other() -> None:
    with Double(says=[Say(403)]) as double:
        async with service(double) as channel:
            assert (await channel.check_ready(HOST)).reception is SendStatus.ACCEPTED
            await channel.send(HOST, URLS)
            assert (await channel.check_ready(HOST)).reception is SendStatus.DEFERRED
            assert (await channel.check_ready("other.example")).reception is SendStatus.ACCEPTED


@pytest.mark.parametrize(
    ("key_url", "url", "takes"),
    [
        ("", "https://www.example.com/anything", True),
        ("https://www.example.com/k.txt", "https://www.example.com/shop/a", True),
        ("https://www.example.com/shop/k.txt", "https://www.example.com/shop/a", True),
        ("https://www.example.com/shop/k.txt", "http://www.example.com/shop/", True),
        ("https://www.example.com/shop/k.txt", "https://www.example.com/shop", False),
        ("https://www.example.com/shop/k.txt", "https://www.example.com/shopping/a", False),
        ("https://www.example.com/shop/k.txt", "https://example.com/shop/a", False),
        ("https://www.example.com/shop/k.txt?v=/x/", "https://www.example.com/shop/a", True),
        ("https://www.example.com", "https://www.example.com/a", True),
    ],
)
async def test_indexnow_org_a_key_file_is_for_urls_below_its_directory(key_url: str, url: str, takes: bool) -> None:
    section = Section(key_url=key_url)
    async with HttpSender("Test/1") as http:
        assert IndexNowChannel(http, THERE, KEY, section, "https").accepts(url) is takes


@pytest.mark.parametrize("key", ["short", "x" * 129, "has space1", "has_under", "schlüssel-ü", "12345678\n"])
async def test_indexnow_org_a_key_is_8_to_128_letters_digits_and_dashes(key: str) -> None:
    async with HttpSender("Test/1") as http:
        with pytest.raises(UsageError, match="8 to 128 letters, digits and dashes") as refused:
            IndexNowChannel(http, THERE, key, Section(), "https")
        assert key not in str(refused.value)
        IndexNowChannel(http, THERE, "12345678", Section(), "https")
        IndexNowChannel(http, THERE, "A-z" + "9" * 125, Section(), "https")


async def test_ours_a_key_file_that_has_no_address_is_told_before() -> None:
    async with HttpSender("Test/1") as http:
        with pytest.raises(UsageError, match=r"key_url in \[indexnow\] cannot be used"):
            IndexNowChannel(http, THERE, KEY, Section(key_url="ftp://www.example.com/k.txt"), "https")
