"""The formats in the manual: messages are those that the code makes, and each key and column is described."""

import json
import re

from test_readme import MANUAL, blocks_of, text_of

from crawler.audit.finding import AuditFinding, AuditReport, ResolvedFinding
from crawler.audit.report.tables import CSV_COLUMNS, RESOLVED_COLUMNS
from crawler.audit.summary import AuditSummary, GroupSummary, NewFinding
from crawler.model import Url
from crawler.notify.channels.message import notice_json
from crawler.notify.notice import Notice, Occasion
from crawler.publish.changes import Change, ChangeCounts, ChangeKind

KEY = "webhook https://hooks.example.com 0a1b2c3d"
SHOP = Url("https://shop.example.com/")
AT = "2026-11-21T03:00:00+00:00"
ADDED = Change(
    url=Url(f"{SHOP}new.html"), kind=ChangeKind.ADDED, reason=f"found by a link, first on {SHOP}", run=12, at=AT
)
CHANGED = Notice(
    site="shop", url=SHOP, sitemap_url=Url(f"{SHOP}sitemap.xml"), occasion=Occasion.CHANGES, after=11, until=12, at=AT,
    pages=1204, counts=ChangeCounts(added=3, changed=12, moved=1), changes=(ADDED,),
)  # fmt: skip
LOST = NewFinding(
    rule="entry.gone", severity="error", title="Listed, but gone", url=f"{SHOP}old.html",
    sentence="it answered 404, not found",
)  # fmt: skip
NEWS = AuditSummary(
    number=4, started=1_795_230_300.0, before=1_794_625_500.0, verdict="conclusive", why="", pages=1204, uncompared=0,
    severities={"error": 1, "warning": 2, "note": 0}, first=[LOST],
    rests_on="the crawl of run 12, which ended at 2026-11-21 03:02 UTC (3 minutes old) and covers 1,260 URLs",
    groups=[
        GroupSummary(name="health", title="Sitemap health", total=1, new=1, severities={"error": 1}),
        GroupSummary(name="orphans", title="Orphans", total=2, mended=1, severities={"warning": 2}),
    ],
)  # fmt: skip
FOUND = Notice(
    site="shop", url=SHOP, sitemap_url=Url(f"{SHOP}sitemap.xml"), occasion=Occasion.FINDINGS, at=AT, pages=1204,
    counts=ChangeCounts(), message=f"audit: {NEWS.sentence}", audit=NEWS, report="/srv/reports/shop",
)  # fmt: skip


def test_ours_the_messages_in_the_manual_are_those_that_are_sent() -> None:
    shown = [json.loads(block) for block in blocks_of(MANUAL / "messages.md", "json")]
    for notice in (CHANGED, FOUND):
        sent = json.loads(notice_json(notice, KEY))
        (found,) = (message for message in shown if message.get("occasion") == notice.occasion)
        assert found == sent
        assert list(found) == list(sent)


def test_ours_the_manual_describes_all_that_the_files_of_an_audit_hold() -> None:
    text = text_of(MANUAL / "audit-report.md")
    keys = set(re.findall(r"`([a-z_]+)`", text))
    for kind in (AuditReport, AuditFinding, ResolvedFinding):
        assert set(kind.__struct_fields__) - keys - {"rests_on"} == set()
    cells = {cell.strip() for line in text.splitlines() for cell in re.split(r"[|;]", line)}
    assert {heading for heading, _ in CSV_COLUMNS} - cells == set()
    assert f"`{RESOLVED_COLUMNS.replace('|', '`, `')}`" in text
