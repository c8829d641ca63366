"""Webhooks: the document, its signature and its name, and URLs that are secrets."""

import hashlib
import hmac
import json
from typing import Any

import pytest
from doubles_listener import Heard, Listener, Reply, listening
from msgspec.structs import replace
from notices import SAMPLE_NOTICES

from crawler.errors import UsageError
from crawler.model import Url
from crawler.notify.channels.http import HttpSender
from crawler.notify.channels.message import delivery_id
from crawler.notify.channels.webhook import WebhookChannel
from crawler.notify.notice import Notice, Occasion, SendResult, SendStatus, notice_sentence
from crawler.publish.changes import Change, ChangeCounts, ChangeKind

CHANGED, TROUBLE, RECOVERY, FINDINGS, TEST = SAMPLE_NOTICES
HOOK = "/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX"
EVIL = 'a "q" \\ </script>\r\nBcc: x@y\x1b[2J\u202e\u2028{{ site }}'
ALL = frozenset(Occasion)


async def posted(listener: Listener, notice: Notice, **options: Any) -> tuple[Heard, SendResult]:
    async with HttpSender("Siteatlas/1") as http:
        answer = await WebhookChannel(http, f"{listener.url}{HOOK}", ALL, **options).send(notice)
    return listener.heard[-1], answer


@pytest.mark.anyio
async def test_ours_the_document_says_everything_that_the_notice_does() -> None:
    change = Change(
        url=Url("https://www.example.com/a"),
        kind=ChangeKind.MOVED,
        target="https://www.example.com/b",
        lastmod="",
        before="2026-01-01",
        reason="answered 301",
        run=5,
        at="2026-01-02T03:04:05+00:00",
    )
    notice = replace(CHANGED, changes=(change,), counts=ChangeCounts(moved=3, added=1_204))
    with listening() as listener:
        heard, answer = await posted(listener, notice)
    assert answer.reception is SendStatus.ACCEPTED
    assert heard.path == HOOK
    assert heard.headers["content-type"] == "application/json; charset=utf-8"
    assert heard.headers["x-siteatlas-event"] == "changes"
    assert "x-siteatlas-signature" not in heard.headers
    told = json.loads(heard.body)
    assert told == {
        "version": 1,
        "id": heard.headers["x-siteatlas-delivery"],
        "occasion": "changes",
        "site": "example",
        "url": "https://www.example.com/",
        "sitemap_url": "https://www.example.com/sitemap.xml",
        "feed_url": "https://www.example.com/sitemap-recent.atom",
        "at": "2026-01-31T03:30:00+00:00",
        "sentence": "1,204 added, 3 moved; 120 pages are listed now",
        "exit_code": 0,
        "runs": {"after": 6, "until": 7},
        "pages": 120,
        "counts": {"added": 1204, "changed": 0, "removed": 0, "moved": 3, "deindexed": 0, "total": 1207},
        "changes": [
            {
                "url": "https://www.example.com/a",
                "kind": "moved",
                "target": "https://www.example.com/b",
                "lastmod": "",
                "before": "2026-01-01",
                "reason": "answered 301",
                "run": 5,
                "at": "2026-01-02T03:04:05+00:00",
            }
        ],
        "more": 1206,
        "audit": None,
    }


@pytest.mark.anyio
async def test_ours_what_an_audit_found_is_in_the_document_in_figures_and_the_first_that_are_new() -> None:
    with listening() as listener:
        heard, _ = await posted(listener, FINDINGS)
    told = json.loads(heard.body)
    assert (told["occasion"], heard.headers["x-siteatlas-event"]) == ("findings", "findings")
    assert told["runs"] == {"after": 0, "until": 0}
    assert told["audit"] == {
        "number": 2,
        "started": "2026-01-31T03:30:00+00:00",
        "before": "2026-01-24T03:30:00+00:00",
        "verdict": "conclusive",
        "why": "",
        "pages": 120,
        "uncompared": 0,
        "findings": 2,
        "new": 1,
        "mended": 1,
        "became": 0,
        "severities": {"error": 0, "warning": 2, "note": 0},
        "groups": [
            {
                "name": "orphans",
                "title": "Orphans",
                "total": 2,
                "new": 1,
                "mended": 1,
                "became": 0,
                "severities": {"warning": 2},
            }
        ],
        "first": [
            {
                "rule": "orphan.sitemap",
                "severity": "warning",
                "title": "In the sitemap, but not linked",
                "url": "https://www.example.com/lost",
                "sentence": "a sample",
            }
        ],
        "more": 0,
        "rests_on": "",
        "report": "/srv/audit",
    }


@pytest.mark.anyio
async def test_ours_the_signature_is_that_of_the_bytes_that_were_sent() -> None:
    with listening() as listener:
        heard, _ = await posted(listener, replace(TROUBLE, message=EVIL), secret="wörd")
    expected = hmac.new("wörd".encode(), heard.body, hashlib.sha256).hexdigest()
    assert heard.headers["x-siteatlas-signature"] == f"sha256={expected}"
    assert json.loads(heard.body)["occasion"] == "trouble"


def test_ours_a_message_has_one_name_however_often_it_is_sent() -> None:
    nowhere = replace(TROUBLE, until=0)
    notices = [
        CHANGED,
        TROUBLE,
        RECOVERY,
        replace(CHANGED, until=8),
        replace(CHANGED, after=5),
        replace(CHANGED, sitemap_url=Url("https://b.example/sitemap.xml")),
        nowhere,
        replace(nowhere, at="2026-01-31T04:30:00+00:00"),
    ]
    names = {delivery_id(notice, key) for notice in notices for key in ("webhook a", "webhook b")}
    assert len(names) == 16
    later = replace(CHANGED, at="2026-02-01T00:00:00+00:00", pages=9, changes=())
    assert delivery_id(later, "webhook a") == delivery_id(CHANGED, "webhook a")


@pytest.mark.parametrize(
    ("notice", "said"),
    [
        (CHANGED, "1 added, 1 changed, 1 removed, 1 moved, 1 deindexed; 120 pages are listed now"),
        (replace(CHANGED, counts=ChangeCounts(), pages=1), "nothing changed; 1 page is listed now"),
        (replace(TROUBLE, message="it failed:\n try again."), "it failed: try again"),
        (RECOVERY, "published: a sample"),
        (replace(CHANGED, after=0, changes=()), "the whole sitemap is new: 120 pages are listed"),
        (FINDINGS, "audit: 2 findings (2 warnings), 1 new, 1 resolved"),
        (TEST, "this is a test message: no event occurred"),
    ],
)
def test_ours_a_notice_is_one_sentence(notice: Notice, said: str) -> None:
    assert notice_sentence(notice) == said


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("status", "reception"), [(200, SendStatus.ACCEPTED), (404, SendStatus.REFUSED), (500, SendStatus.DEFERRED)]
)
async def test_ours_the_url_of_a_webhook_is_never_told(status: int, reception: SendStatus) -> None:
    echo = f"no such hook: {HOOK} (signed wrd-s3cret?)".encode()
    with listening(lambda _: Reply(status, echo, {"Content-Type": "text/plain"})) as listener:
        async with HttpSender("x") as http:
            hook = WebhookChannel(http, f"{listener.url}{HOOK}?token=abcdefgh", ALL, secret="wrd-s3cret")
            answer = await hook.send(CHANGED)
        assert answer.reception is reception
        for text in (answer.message, hook.key, repr(hook)):
            assert "XXXX" not in text
            assert "T00000000" not in text
            assert "abcdefgh" not in text
        assert hook.key.startswith(f"webhook {listener.url} ")
        assert WebhookChannel(http, f"{listener.url}{HOOK}", ALL).key != hook.key
    with pytest.raises(UsageError) as caught:
        WebhookChannel(http, HOOK, ALL)
    assert "XXXX" not in str(caught.value)
    assert "webhook.urls" in str(caught.value)
