"""Notices for tests: one of each occasion."""

from typing import Final

from msgspec.structs import replace

from crawler.audit.summary import AuditSummary, GroupSummary, NewFinding
from crawler.model import Url
from crawler.notify.notice import Notice, Occasion
from crawler.publish.changes import Change, ChangeCounts, ChangeKind

_SAMPLE_TIME: Final = "2026-01-31T03:30:00+00:00"

_SAMPLE_CHANGES: Final = tuple(
    Change(url=Url(f"https://www.example.com/{kind}"), kind=kind, reason="a sample", run=7, at=_SAMPLE_TIME)
    for kind in ChangeKind
)

_SAMPLE_CHANGED: Final = Notice(
    site="example",
    url=Url("https://www.example.com/"),
    sitemap_url=Url("https://www.example.com/sitemap.xml"),
    feed_url="https://www.example.com/sitemap-recent.atom",
    occasion=Occasion.CHANGES,
    after=6,
    until=7,
    at=_SAMPLE_TIME,
    pages=120,
    counts=ChangeCounts.of(_SAMPLE_CHANGES),
    changes=_SAMPLE_CHANGES,
)

_SAMPLE_AUDITED: Final = AuditSummary(
    number=2,
    started=1_769_830_200.0,
    before=1_769_225_400.0,
    verdict="conclusive",
    why="",
    pages=120,
    uncompared=0,
    severities={"error": 0, "warning": 2, "note": 0},
    groups=[GroupSummary(name="orphans", title="Orphans", total=2, new=1, mended=1, severities={"warning": 2})],
    first=[
        NewFinding(
            rule="orphan.sitemap",
            severity="warning",
            title="In the sitemap, but not linked",
            url="https://www.example.com/lost",
            sentence="a sample",
        )
    ],
)

_SAMPLE_WITHOUT_CHANGES: Final = replace(_SAMPLE_CHANGED, counts=ChangeCounts(), changes=())

SAMPLE_NOTICES: Final = (
    _SAMPLE_CHANGED,
    replace(_SAMPLE_WITHOUT_CHANGES, occasion=Occasion.TROUBLE, exit_code=3, message="publish refused: a sample"),
    replace(_SAMPLE_WITHOUT_CHANGES, occasion=Occasion.RECOVERY, message="published: a sample"),
    replace(
        _SAMPLE_WITHOUT_CHANGES,
        occasion=Occasion.FINDINGS,
        after=0,
        until=0,
        message=f"audit: {_SAMPLE_AUDITED.sentence}",
        audit=_SAMPLE_AUDITED,
        report="/srv/audit",
    ),
    replace(
        _SAMPLE_WITHOUT_CHANGES,
        occasion=Occasion.TEST,
        after=0,
        until=0,
        pages=0,
        message="this is a test message: no event occurred",
    ),
)
"""One notice of each occasion."""
