"""The verdict on a run as a whole."""

import pytest

from crawler.fetch.retry import is_failure
from crawler.model import State, Url
from crawler.publish.completeness import Coverage, completeness
from crawler.state.runs import Completeness, CompletenessLevel

SEE = "see fetch.max_body, fetch.max_download, fetch.max_sitemap and parse.max_links"
FAILED = {State.SERVER_ERROR: 2, State.UNREACHABLE: 1}


@pytest.mark.parametrize(
    ("coverage", "kind", "because"),
    [
        (Coverage(), CompletenessLevel.COMPLETE, ""),
        (Coverage(failed={State.SERVER_ERROR: 0}), CompletenessLevel.COMPLETE, ""),
        (
            Coverage(stopped="the limit of pages (--max-pages) was reached", pending=1200),
            CompletenessLevel.TRUNCATED,
            "the limit of pages (--max-pages) was reached, with 1,200 URLs left to visit",
        ),
        (Coverage(stopped="it was interrupted"), CompletenessLevel.TRUNCATED, "it was interrupted"),
        (Coverage(pending=1), CompletenessLevel.TRUNCATED, "1 URL left to visit"),
        (Coverage(too_deep=7), CompletenessLevel.TRUNCATED, "7 URLs further from the start than scope.max_depth"),
        (
            Coverage(cut=2, example=Url("https://a.example/")),
            CompletenessLevel.TRUNCATED,
            f"2 documents read in part only (such as https://a.example/): {SEE}",
        ),
        (
            Coverage(cut=1, example=Url("https://a.example/")),
            CompletenessLevel.TRUNCATED,
            f"1 document read in part only (https://a.example/): {SEE}",
        ),
        (Coverage(cut=2), CompletenessLevel.TRUNCATED, f"2 documents read in part only: {SEE}"),
        (
            Coverage(failed=FAILED, no_robots=("https://a.example", "https://b.example", "https://c.example")),
            CompletenessLevel.DEGRADED,
            (
                "3 URLs failed (server error: 2, unreachable: 1); robots.txt could not be fetched from "
                "https://a.example, https://b.example, https://c.example"
            ),
        ),
        (Coverage(failed=FAILED), CompletenessLevel.DEGRADED, "3 URLs failed (server error: 2, unreachable: 1)"),
        (
            Coverage(no_robots=tuple(f"https://h{n}.example" for n in range(5))),
            CompletenessLevel.DEGRADED,
            (
                "robots.txt could not be fetched from https://h0.example, https://h1.example, https://h2.example and 2 "
                "more"
            ),
        ),
        (
            Coverage(stopped="the site is down", failed=FAILED),
            CompletenessLevel.TRUNCATED,
            "the site is down; 3 URLs failed (server error: 2, unreachable: 1)",
        ),
    ],
)
def test_ours_a_verdict_names_what_it_comes_from(coverage: Coverage, kind: CompletenessLevel, because: str) -> None:
    assert completeness(coverage) == Completeness(kind, because)


@pytest.mark.parametrize(
    ("state", "status", "failed"),
    [
        (State.SERVER_ERROR, 500, True),
        (State.SERVER_ERROR, 501, True),
        (State.UNREACHABLE, None, True),
        (State.PARSE_FAILED, 200, True),
        (State.INTERNAL_ERROR, None, True),
        (State.CLIENT_ERROR, 429, True),  # it was asked to wait until we gave up
        (State.SITEMAP_FILE, 503, True),
        (State.SITEMAP_FILE, 404, False),
        (State.CLIENT_ERROR, 404, False),
        (State.CLIENT_ERROR, 403, False),
        (State.BAD_ANSWER, 204, False),
        (State.INDEXABLE, 200, False),
        (State.ROBOTS, None, False),
    ],
)
def test_ours_a_failure_is_what_may_be_well_another_time(state: State, status: int | None, failed: bool) -> None:
    assert is_failure(state, status) is failed
