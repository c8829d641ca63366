"""A double of the reports of Search Console and Google Analytics."""

import json
import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from doubles_console import EMAIL, Console, failure
from doubles_listener import Heard, Reply

from crawler.audit.sources.google import reports

SCOPES = {f"https://www.googleapis.com/auth/{name}.readonly" for name in ("webmasters", "analytics")}


PERIOD = {"startDate": "2026-08-25", "endDate": "2026-11-22"}


@dataclass
class Google(Console):
    """The double: the rows of both APIs, and the requests for them. Each answer has at most ``most`` rows."""

    url: str
    most: int = 25_000
    clicks: dict[str, tuple[int, int]] = field(default_factory=dict)
    views: dict[tuple[str, str], tuple[int, int, int]] = field(default_factory=dict)
    asked: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        Console.__init__(self, self.url)
        self.scopes = SCOPES

    def answer(self, heard: Heard) -> Reply:
        if heard.path == "/token":
            return super().answer(heard)
        assert heard.method == "POST"
        assert heard.headers["content-type"] == "application/json"
        self.asked.append(json.loads(heard.body))
        if self.next:
            return self.next.pop(0)
        if heard.headers["authorization"].removeprefix("Bearer ") not in self.valid:
            return failure(401, "Request had invalid authentication credentials.", "authError")
        if match := re.fullmatch("/webmasters/v3/sites/([^/]+)/searchAnalytics/query", heard.path):
            if (unquote(match[1]), EMAIL) not in self.owners:
                return failure(403, f"User does not have sufficient permission for site '{match[1]}'.", "forbidden")
            return self._search(self.asked[-1])
        assert heard.path == "/v1beta/properties/123456:runReport"
        return self._report(self.asked[-1])

    def _search(self, asked: dict[str, Any]) -> Reply:
        assert asked.keys() == {"startDate", "endDate", "dimensions", "type", "rowLimit", "startRow"}
        assert (asked["dimensions"], asked["type"], asked["rowLimit"]) == (["page"], "web", reports.SEARCH_CONSOLE_ROWS)
        start = asked["startRow"]
        rows = [
            {"keys": [url], "clicks": clicks, "impressions": seen, "ctr": 0.1, "position": 3.5}
            for url, (clicks, seen) in list(self.clicks.items())[start : start + asked["rowLimit"]]
        ]
        return Reply(200, json.dumps({"rows": rows, "responseAggregationType": "byPage"} if rows else {}).encode())

    def _report(self, asked: dict[str, Any]) -> Reply:
        assert [each["name"] for each in asked["dimensions"]] == ["hostName", "pagePathPlusQueryString"]
        assert [each["name"] for each in asked["metrics"]] == ["screenPageViews", "sessions", "totalUsers"]
        assert asked["dateRanges"] == [PERIOD]
        start, limit = int(asked["offset"]), int(asked["limit"])
        rows = [
            {
                "dimensionValues": [{"value": value} for value in place],
                "metricValues": [{"value": str(count)} for count in counts],
            }
            for place, counts in list(self.views.items())[start : start + limit]
        ]
        return Reply(200, json.dumps({"rows": rows, "rowCount": len(self.views), "kind": "x"}).encode())
