"""A double of the inspection of URLs by Search Console.

https://developers.google.com/webmaster-tools/v1/urlInspection.index/UrlInspectionResult
"""

import json
from dataclasses import dataclass, field
from datetime import date
from typing import Any
from urllib.parse import quote

from doubles_console import Console, failure
from doubles_listener import Heard, Reply

SITE = "https://www.example.com"


TODAY = date(2026, 11, 23)


@dataclass
class Inspector(Console):
    """The double: what Google knows of each URL, and the URLs that were inspected."""

    url: str
    known: dict[str, dict[str, str]] = field(default_factory=dict)
    inspected: list[str] = field(default_factory=list)
    impressions: dict[str, int] = field(default_factory=dict)
    property_id: str = ""

    def __post_init__(self) -> None:
        Console.__init__(self, self.url)
        self.scopes = {"https://www.googleapis.com/auth/webmasters.readonly"}

    def answer(self, heard: Heard) -> Reply:
        if heard.path == "/token":
            return super().answer(heard)
        if heard.headers["authorization"].removeprefix("Bearer ") not in self.valid:
            return failure(401, "Request had invalid authentication credentials.", "authError")
        asked = json.loads(heard.body)
        if heard.path.endswith("/searchAnalytics/query"):
            assert heard.path == f"/webmasters/v3/sites/{quote(self.property_id, safe='')}/searchAnalytics/query"
            rows = [{"keys": [url], "clicks": 1, "impressions": count} for url, count in self.impressions.items()]
            return Reply(200, json.dumps({"rows": rows}).encode())
        assert (heard.method, heard.path) == ("POST", "/v1/urlInspection/index:inspect")
        assert asked.keys() == {"inspectionUrl", "siteUrl", "languageCode"}
        assert asked["siteUrl"] == self.property_id
        if self.next:
            return self.next.pop(0)
        url = asked["inspectionUrl"]
        self.inspected.append(url)
        status = self.known.get(url, {"verdict": "PASS", "coverageState": "Submitted and indexed"})
        result = {
            "inspectionResultLink": "https://search.google.com/search-console/inspect?x",
            "indexStatusResult": {"robotsTxtState": "ALLOWED", "indexingState": "INDEXING_ALLOWED", **status},
            "mobileUsabilityResult": {"verdict": "VERDICT_UNSPECIFIED"},
        }
        return Reply(200, json.dumps({"inspectionResult": result}).encode())


def found(report: dict[str, Any], rule: str) -> list[dict[str, Any]]:
    return [finding for finding in report["findings"] if finding["rule"] == rule]
