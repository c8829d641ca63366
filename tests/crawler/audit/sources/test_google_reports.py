"""Search Console and Google Analytics by their APIs, against a double of Google that checks each request."""

import json
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from doubles_console import EMAIL, failure, private_key
from doubles_google import PERIOD, Google
from doubles_listener import Reply, listening

from crawler.audit.source_record import SourceRecord, SourceReport
from crawler.audit.sources.google import reports
from crawler.audit.sources.google.reader import ReportCache, google_reports, read_report
from crawler.audit.sources.urls import SourceUrlParser
from crawler.config.config import Config
from crawler.config.load import configured
from crawler.errors import UsageError
from crawler.model import Url
from crawler.url.normalize import DEFAULT_PARAMS

DAY = 86_400.0
NOW = 1_795_400_000.0  # 2026-11-23
SITE = "https://www.example.com"


@pytest.fixture
def google() -> Iterator[Google]:
    with listening() as listener:
        double = Google(listener.url)
        listener.answer = double.answer
        yield double


@pytest.fixture
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a handful of rows are several pages."""
    monkeypatch.setattr(reports, "SEARCH_CONSOLE_ROWS", 3)
    monkeypatch.setattr(reports, "GA4_ROWS", 4)


def config(google: Google, **audit: Any) -> Config:
    values = {"google_credentials": google.account(), "ga4_endpoint": f"{google.url}/v1beta", **audit}
    return configured(
        audit=values, search_console={"endpoint": google.endpoint}, fetch={"retries": 1}, pace={"max_retry_after": 5}
    )


def read(google: Google, folder: Path, now: float = NOW, **audit: Any) -> tuple[SourceReport, list[SourceRecord]]:
    settings = config(google, **audit)
    (report,) = google_reports(settings)
    known = SourceUrlParser(Url(f"{SITE}/"), DEFAULT_PARAMS, lambda url: url.startswith(SITE))
    source, claims = read_report(report, settings, folder, known, now)
    return source, list(claims)


SEARCH = {"search_console": "sc-domain:example.com"}
GA4 = {"ga4": "123456"}


@pytest.mark.usefixtures("small_pages")
@pytest.mark.parametrize(("number", "requests"), [(0, 1), (2, 1), (3, 2), (7, 3)])
def test_google_search_console_is_read_in_pages(google: Google, tmp_path: Path, number: int, requests: int) -> None:
    google.clicks = {f"{SITE}/p{place}": (place, 10 * place) for place in range(number)}
    source, claims = read(google, tmp_path, **SEARCH)
    assert [claim.url for claim in claims] == list(google.clicks)
    assert [(claim.clicks, claim.impressions) for claim in claims] == list(google.clicks.values())
    assert [asked["startRow"] for asked in google.asked] == [3 * place for place in range(requests)]
    assert all(asked.items() >= PERIOD.items() for asked in google.asked)
    assert (source.rows, source.used, source.complete, source.faults) == (number, number, True, [])
    assert (source.first, source.last) == ("2026-08-25", "2026-11-22")
    assert len(google.tokens) == 1


@pytest.mark.usefixtures("small_pages")
def test_google_analytics_is_read_in_pages_with_hosts(google: Google, tmp_path: Path) -> None:
    paths = ["/", "/a?x=1", "/b", "(not set)", "/c", "", "/d", "/e"]
    google.views = {("www.example.com", path): (30 + place, 20, 10) for place, path in enumerate(paths)}
    google.views |= {("other.example", "/"): (1, 1, 1), ("example.com", "/naked"): (2, 1, 1)}
    source, claims = read(google, tmp_path, **GA4)
    assert [claim.url for claim in claims] == [
        f"{SITE}{path}" for path in ("/", "/a?x=1", "/b", "/c", "/d", "/e", "/naked")
    ]
    assert (claims[0].views, claims[0].sessions, claims[0].users) == (30, 20, 10)
    assert [(asked["offset"], asked["limit"]) for asked in google.asked] == [("0", "4"), ("4", "4"), ("8", "4")]
    assert (source.rows, source.used, source.beside, source.foreign, source.complete) == (10, 7, 2, 1, True)


def test_google_analytics_that_groups_its_rest_is_not_complete(google: Google, tmp_path: Path) -> None:
    google.views = {("www.example.com", "/"): (1, 1, 1), ("(other)", "(other)"): (900, 1, 1)}
    source, _ = read(google, tmp_path, **GA4)
    assert not source.complete
    assert source.notes == ["it groups further pages as (other), without their URLs"]


def test_ours_stored_rows_are_not_requested_again_on_the_same_day(google: Google, tmp_path: Path) -> None:
    google.clicks = {f"{SITE}/a": (1, 2)}
    first = read(google, tmp_path, **SEARCH)
    assert read(google, tmp_path, NOW + 3600, **SEARCH) == first
    assert len(google.asked) == 1
    google.clicks[f"{SITE}/b"] = (3, 4)
    _, claims = read(google, tmp_path, NOW + DAY, **SEARCH)
    assert [claim.url for claim in claims] == [f"{SITE}/a", f"{SITE}/b"]
    assert len(google.asked) == 2
    assert google.asked[1]["endDate"] == "2026-11-23"


@pytest.mark.usefixtures("small_pages")
def test_ours_the_limit_of_requests_a_day_holds_and_the_next_day_goes_on(google: Google, tmp_path: Path) -> None:
    google.clicks = {f"{SITE}/p{place}": (1, 1) for place in range(8)}
    limit = {**SEARCH, "max_google_requests": 2}
    source, claims = read(google, tmp_path, **limit)
    assert (len(claims), len(google.asked), source.complete) == (6, 2, False)
    (fault,) = source.faults
    assert fault.startswith("the limit of 2 requests per day is reached")
    assert "audit.max_google_requests" in fault
    again, claims = read(google, tmp_path, NOW + 60, **limit)
    assert (len(claims), len(google.asked), again.faults) == (6, 2, [fault])
    source, claims = read(google, tmp_path, NOW + 60, **{**SEARCH, "max_google_requests": 3})
    assert (len(claims), len(google.asked), source.complete) == (8, 3, True)


def test_ours_a_failure_that_may_pass_leaves_the_rows_of_earlier_days(google: Google, tmp_path: Path) -> None:
    google.clicks = {f"{SITE}/a": (1, 2)}
    read(google, tmp_path, **SEARCH)
    google.next = [Reply(500), Reply(503)]
    source, claims = read(google, tmp_path, NOW + DAY, **SEARCH)
    assert [claim.url for claim in claims] == [f"{SITE}/a"]
    assert (source.complete, source.faults) == (False, ["Search Console answered 503. The next audit tries again"])
    assert source.notes == ["the rows of 2026-08-25 to 2026-11-22 are used"]
    assert source.last == "2026-11-22"


QUOTA = "Exhausted property tokens for a project per hour."
SAID = {"error": {"code": 429, "message": QUOTA, "status": "RESOURCE_EXHAUSTED"}}


@pytest.mark.parametrize(
    ("wait", "attempts", "fault"),
    [
        ("1", 2, ""),
        (
            "3600",
            1,
            f"Search Console answered 429: {QUOTA}. Search Console asks to wait 1 hour. The next audit tries again",
        ),
    ],
)
def test_rfc6585_retry_after_is_obeyed_up_to_the_limit(
    google: Google, tmp_path: Path, wait: str, attempts: int, fault: str
) -> None:
    google.clicks = {f"{SITE}/a": (1, 2)}
    google.next = [Reply(429, json.dumps(SAID).encode(), {"Retry-After": wait})]
    begun = time.monotonic()
    source, claims = read(google, tmp_path, **SEARCH)
    assert (time.monotonic() - begun >= 1) is (attempts > 1)
    assert len(google.asked) == attempts
    assert source.faults == ([fault] if fault else [])
    assert len(claims) == (attempts > 1)


def test_google_an_expired_token_is_replaced_once(google: Google, tmp_path: Path) -> None:
    google.clicks = {f"{SITE}/a": (1, 2)}
    google.next = [failure(401, "expired", "authError")]
    source, claims = read(google, tmp_path, **SEARCH)
    assert (len(claims), len(google.tokens), source.complete) == (1, 2, True)
    google.next = [failure(401, "expired", "authError")] * 2
    with pytest.raises(UsageError, match=f"does not accept the token of {EMAIL}"):
        read(google, tmp_path, NOW + DAY, **SEARCH)


@pytest.mark.parametrize(
    ("audit", "reply", "said"),
    [
        ({"search_console": "https://foreign.example/"}, None,
         f"add {EMAIL} as a user of the property, in Search Console under Settings, Users and permissions (property https://foreign.example/)"),
        (GA4, Reply(403, b'{"error": {"code": 403, "message": "No permission.", "status": "PERMISSION_DENIED"}}'),
         f"Google Analytics answered 403: No permission.; add {EMAIL} as a viewer of the property"),
        (GA4, failure(403, "It is disabled.", "accessNotConfigured"), "enable the Google Analytics Data API"),
        (SEARCH, failure(404, "No such site.", "notFound"),
         "the property sc-domain:example.com may not exist: write it as"),
        (GA4, failure(400, "Invalid property.", "badRequest"), "the property 123456 may not exist: take the number"),
    ],
)  # fmt: skip
def test_google_a_refusal_is_one_line_with_its_remedy(
    google: Google, tmp_path: Path, audit: dict[str, str], reply: Reply | None, said: str
) -> None:
    google.next = [reply] if reply else []
    with pytest.raises(UsageError) as error:
        read(google, tmp_path, **audit)
    text = str(error.value)
    assert said in text
    assert text.isprintable()
    assert "ya29" not in text
    assert len(google.asked) == 1, "a refusal is not repeated"


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"[]", b'{"rows": 3}', b'{"rows": [{"keys": 1}]}', b"\xff\xfe", b"[" * 9_000]
)
@pytest.mark.parametrize("audit", [SEARCH, GA4], ids=["search", "ga4"])
def test_ours_garbage_is_a_fault_and_not_stored(
    google: Google, tmp_path: Path, audit: dict[str, str], body: bytes
) -> None:
    google.next = [Reply(200, body)]
    source, claims = read(google, tmp_path, **audit)
    assert (claims, source.complete) == ([], False)
    assert "cannot be read" in source.faults[0]
    google.clicks, google.views = {f"{SITE}/a": (1, 2)}, {("www.example.com", "/a"): (1, 1, 1)}
    assert len(read(google, tmp_path, **audit)[1]) == 1


def test_ours_a_refused_account_is_one_line_without_secrets(google: Google, tmp_path: Path) -> None:
    google.token_reply = Reply(400, b'{"error": "invalid_grant", "error_description": "account not found"}')
    with pytest.raises(UsageError) as error:
        read(google, tmp_path, **SEARCH)
    assert str(error.value).startswith(
        f"audit.google_credentials: Google does not accept the key of {EMAIL} (invalid_grant"
    )
    google.token_reply = Reply(503)
    source, _ = read(google, tmp_path, **SEARCH)
    assert "returned no token" in source.faults[0]
    stored = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"ya29" not in stored
    assert private_key().splitlines()[3].encode()[:20] not in stored


@pytest.mark.thorough
def test_ours_many_rows_are_read_in_few_requests(google: Google, tmp_path: Path) -> None:
    google.clicks = {f"{SITE}/page-{place}": (1, 1) for place in range(60_000)}
    source, claims = read(google, tmp_path, **SEARCH)
    assert (source.used, len(claims), len(google.asked)) == (60_000, 60_000, 3)
    with (
        suppress(StopIteration),
        ReportCache.opened(tmp_path, google_reports(config(google, **SEARCH))[0].title) as cache,
    ):
        assert cache.requests("2026-11-23") == 3
