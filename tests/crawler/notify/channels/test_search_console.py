"""Search Console against a double of Google: every documented answer, garbage, and what is never told."""

import datetime as dt
import json
import sys
from email.utils import format_datetime
from pathlib import Path

import pytest
from doubles_console import EMAIL, Console, failure, private_key
from doubles_listener import Reply
from notices import SAMPLE_NOTICES

from crawler.config.google import ServiceAccount
from crawler.errors import UsageError
from crawler.notify.channels.http import HttpSender
from crawler.notify.channels.search_console import SearchConsoleChannel
from crawler.notify.ledger import SubmissionStatus
from crawler.notify.notice import Occasion, SendStatus

SITEMAP = "https://www.example.com/maps/sitemap.xml?a=b"
PLACE = ("https://www.example.com/", SITEMAP)
READ = {
    "path": SITEMAP,
    "lastSubmitted": "2026-11-19T03:31:00.000Z",
    "lastDownloaded": "2026-11-20T04:05:06.000Z",
    "isPending": False,
    "isSitemapsIndex": True,
    "type": "sitemap",
    "warnings": "1",
    "errors": "2",
    "contents": [{"type": "web", "submitted": "1204", "indexed": "0"}, {"type": "image", "submitted": "7"}],
}


def channel(google: Console, http: HttpSender, site: str = "") -> SearchConsoleChannel:
    return SearchConsoleChannel(http, ServiceAccount.read(google.account()), SITEMAP, google.endpoint, site)


def check_secrets(google: Console, said: str) -> None:
    assert said.isprintable()
    assert "ya29" not in said
    assert "eyJ" not in said
    assert "PRIVATE KEY" not in said
    assert private_key().splitlines()[3][:20] not in said


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
async def test_google_a_sitemap_is_submitted_and_what_google_says_of_it_is_read_back(google: Console) -> None:
    google.sitemaps[PLACE] = READ
    async with HttpSender("Siteatlas/1") as http:
        told = channel(google, http)
        answers = [await told.send(SAMPLE_NOTICES[0]), await told.send(SAMPLE_NOTICES[0])]
        status = await told.read_status()
    assert told.occasions == {Occasion.CHANGES}
    for answer in answers:
        assert answer.reception is SendStatus.ACCEPTED
        assert answer.message == (
            "submitted to Search Console; Google last read the sitemap on 2026-11-20, with 2 errors, 1 warning"
            " and 1,204 web, 7 image in it"
        )
    assert google.submitted == [PLACE, PLACE]
    assert len(google.tokens) == 1
    assert isinstance(status, SubmissionStatus)
    assert (status.errors, status.warnings) == (2, 1)
    puts = {heard.path for heard in google.heard if heard.method == "PUT"}
    site, feed = ("https%3A%2F%2Fwww.example.com%2F", "https%3A%2F%2Fwww.example.com%2Fmaps%2Fsitemap.xml%3Fa%3Db")
    assert puts == {f"/webmasters/v3/sites/{site}/sitemaps/{feed}"}


@pytest.mark.anyio
async def test_google_a_domain_property_is_named_as_it_is(google: Console) -> None:
    async with HttpSender("x") as http:
        answer = await channel(google, http, "sc-domain:example.com").send(SAMPLE_NOTICES[0])
        strange = await channel(google, http, "https://other.example/").send(SAMPLE_NOTICES[0])
    assert answer.message == "submitted to Search Console; Google has not read the sitemap yet"
    assert google.submitted == [("sc-domain:example.com", SITEMAP)]
    assert strange.reception is SendStatus.REFUSED
    assert EMAIL in strange.message
    assert "is not an owner of the property https://other.example/" in strange.message


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("reply", "reception", "wait", "words"),
    [
        (failure(400, "Invalid sitemap url", "badRequest"), SendStatus.REFUSED, 0, "Invalid sitemap url"),
        (failure(403, "No permission\x1b[2J", "forbidden"), SendStatus.REFUSED, 0, "is not an owner"),
        (failure(403, "API off", "accessNotConfigured"), SendStatus.REFUSED, 0, "enable the Google Search Console"),
        (
            failure(403, "Quota", "quotaExceeded", {"Retry-After": "9"}),
            SendStatus.DEFERRED,
            9,
            "accepts no more requests for now",
        ),
        (failure(403, "Rate", "rateLimitExceeded"), SendStatus.DEFERRED, 0, "accepts no more requests for now"),
        (failure(403, "Rate", "userRateLimitExceeded"), SendStatus.DEFERRED, 0, "accepts no more requests for now"),
        (failure(403, "Day", "dailyLimitExceeded"), SendStatus.DEFERRED, 0, "accepts no more requests for now"),
        (failure(404, "not found", "notFound"), SendStatus.REFUSED, 0, "sc-domain:example.com"),
        (failure(429, "slow down", "rateLimitExceeded", {"Retry-After": "60"}), SendStatus.DEFERRED, 60, "slow down"),
        (failure(500, "oops", "backendError"), SendStatus.DEFERRED, 0, "500, internal server error"),
        (failure(503, "oops", "backendError", {"Retry-After": "5"}), SendStatus.DEFERRED, 5, "503"),
        (Reply(403, b"\xff\x00<html>"), SendStatus.REFUSED, 0, "is not an owner"),
        (Reply(403, b"[" * 60_000), SendStatus.REFUSED, 0, "is not an owner"),
        (
            Reply(403, b'{"error":{"errors":[7,{"reason":[1]}],"message":8,"details":"x"}}'),
            SendStatus.REFUSED,
            0,
            "is not an owner",
        ),
        (
            Reply(403, b'{"error":{"status":"PERMISSION_DENIED","details":[{"reason":"SERVICE_DISABLED"}]}}'),
            SendStatus.REFUSED,
            0,
            "enable",
        ),
        (
            Reply(302, b"", {"Location": "https://accounts.example/login?token=1234567890"}),
            SendStatus.REFUSED,
            0,
            "redirect",
        ),
    ],
)
async def test_google_every_answer_has_its_meaning(
    google: Console, reply: Reply, reception: SendStatus, wait: float, words: str
) -> None:
    google.next = [reply]
    async with HttpSender("x") as http:
        answer = await channel(google, http).send(SAMPLE_NOTICES[0])
    assert (answer.reception, answer.wait) == (reception, wait)
    assert words in answer.message
    assert "1234567890" not in answer.message
    check_secrets(google, answer.message)
    assert google.submitted == []


@pytest.mark.anyio
@pytest.mark.parametrize(
    "reply",
    [
        Reply(200, b"not json"),
        Reply(200, b'{"errors": "many"}'),
        Reply(200, b"[" * 60_000),
        Reply(200, b'{"errors":"' + b"9" * 60_000 + b'"}'),
        Reply(503, b""),
        failure(404, "x", "notFound"),
    ],
)
async def test_ours_what_cannot_be_read_back_is_submitted_all_the_same(google: Console, reply: Reply) -> None:
    google.next = [Reply(204), reply]
    async with HttpSender("x") as http:
        answer = await channel(google, http).send(SAMPLE_NOTICES[0])
    assert answer.reception is SendStatus.ACCEPTED
    assert answer.message.startswith("submitted to Search Console; its status is unknown: Search Console answered")


@pytest.mark.anyio
async def test_google_a_token_is_used_until_it_ends_and_replaced_once_when_it_is_refused(google: Console) -> None:
    async with HttpSender("x") as http:
        told = channel(google, http)
        google.holds = 30  # not long enough to be used again
        await told.send(SAMPLE_NOTICES[0])
        assert len(google.tokens) == 2
        google.holds = "soon"
        await told.read_status()
        assert len(google.tokens) == 3
        google.holds = 3600
        await told.read_status()
        google.valid.clear()
        assert (await told.send(SAMPLE_NOTICES[0])).reception is SendStatus.ACCEPTED
        assert len(google.tokens) == 5
        google.next = [failure(401, "Invalid Credentials", "authError")] * 2
        refused = await told.send(SAMPLE_NOTICES[0])
    assert refused.reception is SendStatus.REFUSED
    assert EMAIL in refused.message
    assert "clock" in refused.message
    check_secrets(google, refused.message)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("reply", "reception", "words"),
    [
        (
            Reply(400, b'{"error":"invalid_grant","error_description":"Invalid JWT: iat"}'),
            SendStatus.REFUSED,
            "may be wrong",
        ),
        (
            Reply(400, b'{"error":"invalid_grant","error_description":"account not found"}'),
            SendStatus.REFUSED,
            "not found",
        ),
        (Reply(401, b"<html>"), SendStatus.REFUSED, "does not accept the key"),
        (Reply(200, b"{}"), SendStatus.DEFERRED, "returned no token"),
        (Reply(200, b'{"access_token":"a\\nb"}'), SendStatus.DEFERRED, "returned no token"),
        (Reply(200, b'["'), SendStatus.DEFERRED, "returned no token"),
        (Reply(429, b"", {"Retry-After": "3"}), SendStatus.DEFERRED, "429"),
        (Reply(500, b""), SendStatus.DEFERRED, "500"),
        (Reply(301, b"", {"Location": "/x"}), SendStatus.REFUSED, "redirect"),
    ],
)
async def test_google_the_token_server_has_moods_too(
    google: Console, reply: Reply, reception: SendStatus, words: str
) -> None:
    google.token_reply = reply
    async with HttpSender("x") as http:
        answer = await channel(google, http).send(SAMPLE_NOTICES[0])
    assert answer.reception is reception
    assert words in answer.message
    assert {heard.path for heard in google.heard} == {"/token"}
    check_secrets(google, answer.message)


@pytest.mark.anyio
async def test_ours_a_clock_that_is_wrong_is_told(google: Console) -> None:
    early = dt.datetime.now(dt.UTC) - dt.timedelta(minutes=9)
    said = b'{"error":"invalid_grant","error_description":"Invalid JWT: Token must be a short-lived token"}'
    google.token_reply = Reply(400, said, {"Date": format_datetime(early, usegmt=True)})
    async with HttpSender("x") as http:
        answer = await channel(google, http).send(SAMPLE_NOTICES[0])
    assert "The clock of this machine is 9 minutes ahead: correct the clock" in answer.message


@pytest.mark.anyio
async def test_ours_a_key_that_is_not_that_of_the_account_is_told_without_it(google: Console) -> None:
    other = google.account(client_email=f"{EMAIL}\x1b]0;x", token_uri=f"{google.url}/token?other")
    async with HttpSender("x") as http:
        wrong = SearchConsoleChannel(http, ServiceAccount.read(other), SITEMAP, google.endpoint)
        google.token_reply = Reply(400, b'{"error":"invalid_grant","error_description":"Invalid JWT Signature."}')
        answer = await wrong.send(SAMPLE_NOTICES[0])
    check_secrets(google, answer.message)


def test_ours_the_account_is_read_from_where_it_is_named(
    google: Console, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "key.json"
    file.write_text(google.account())
    monkeypatch.setenv("ATLAS_KEY", google.account())
    monkeypatch.setenv("ATLAS_FILE", str(file))
    settings = (str(file), f"file:{file}", "env:ATLAS_KEY", "env:ATLAS_FILE")
    accounts = [ServiceAccount.read(setting) for setting in settings]
    assert all(account.client_email == EMAIL for account in accounts)
    assert "PRIVATE" not in f"{accounts[0]!r} {accounts[0]} {accounts}"
    monkeypatch.setenv("ATLAS_FILE", "s3cret-thing")
    with pytest.raises(UsageError, match="env:ATLAS_FILE is not the JSON key file"):
        ServiceAccount.read("env:ATLAS_FILE")


@pytest.mark.anyio
@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "s3cret-thing",
        json.dumps({"client_email": EMAIL}),
        json.dumps({"client_email": EMAIL, "private_key": "s3cret-thing"}),
        json.dumps({"client_email": EMAIL, "private_key": private_key()[:900] + "s3cret-thing"}),
        json.dumps({"client_email": EMAIL, "private_key": private_key(), "token_uri": "s3cret-thing"}),
    ],
)
async def test_ours_a_bad_key_file_is_told_in_one_sentence_and_never_shown(tmp_path: Path, content: str) -> None:
    file = tmp_path / "key.json"
    file.write_text(content)
    async with HttpSender("x") as http:
        with pytest.raises(UsageError) as caught:
            SearchConsoleChannel(http, ServiceAccount.read(str(file)), SITEMAP, "https://e.example")
    assert "search_console.account" in str(caught.value)
    assert "s3cret-thing" not in str(caught.value)
    assert "PRIVATE KEY" not in str(caught.value)
    assert caught.value.__suppress_context__ or not caught.value.__context__
    with pytest.raises(UsageError) as given:
        ServiceAccount.read('{"private_key": "s3cret-thing"}')
    assert "s3cret-thing" not in str(given.value)
    with pytest.raises(UsageError, match="cannot be read"):
        ServiceAccount.read(str(tmp_path / "none.json"))


@pytest.mark.anyio
async def test_ours_the_extra_is_asked_for_by_name(google: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "google.oauth2.service_account", None)
    async with HttpSender("x") as http:
        with pytest.raises(UsageError, match=r"pip install .google-auth"):
            channel(google, http)


@pytest.mark.anyio
async def test_ours_a_property_is_a_directory_or_a_domain(google: Console) -> None:
    async with HttpSender("x") as http:
        with pytest.raises(UsageError, match=r"search_console\.property"):
            channel(google, http, "https://www.example.com")
        with pytest.raises(UsageError, match=r"search_console\.endpoint"):
            SearchConsoleChannel(http, ServiceAccount.read(google.account()), SITEMAP, "googleapis.com")
