"""Reads what the last audit of a site knows into the tables: findings, visits, figures of search, requests of bots."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec

from crawler.audit.evidence.store import EVIDENCE
from crawler.audit.finding import AuditFinding
from crawler.config.plan import AUDIT
from crawler.state.schema import STATE_DB

_decode_finding = msgspec.msgpack.Decoder(AuditFinding).decode
_VISITS = """SELECT c.url, i.source, nullif(c.first, ''), nullif(c.last, ''), c.people, c.bots, c.engines, c.scanners,
  c.ok, c.moved, c.dead, nullif(c.status, 0) FROM claim c JOIN input i ON i.id = c.input
  WHERE c.people + c.bots + c.engines + c.scanners > 0 ORDER BY c.url, i.id"""
_SEARCH = """SELECT c.url, i.source, c.clicks, c.impressions, c.sessions, c.views, c.users, c.links, c.domains
  FROM claim c JOIN input i ON i.id = c.input
  WHERE c.clicks + c.impressions + c.sessions + c.views + c.users + c.links + c.domains > 0 ORDER BY c.url, i.id"""
_ENTRIES = """SELECT DISTINCT url, file, 0, nullif(lastmod, '') FROM entry WHERE url != '' ORDER BY url, file"""
_BOTS = "SELECT nullif(day, ''), bot, nullif(status, 0), requests FROM bot_request ORDER BY day, bot, status"


def audit_stamp(site: Path) -> str:
    """What is another after each audit of a site; "" without a finished audit, and while one is active."""
    file = site / AUDIT / EVIDENCE.file
    if not (file.exists() and STATE_DB.is_in(site / AUDIT)):
        return ""
    with STATE_DB.reading(site / AUDIT) as db:
        (active,) = db.execute("SELECT count(*) FROM run WHERE ended IS NULL").fetchone()
    return "" if active else f"{file.stat().st_mtime:.3f}"


def audit_rows(site: Path) -> Iterator[tuple[str, list[tuple[object, ...]]]]:
    """The name and the rows of each table that an audit of a site fills. Raises StorageError."""
    with closing(EVIDENCE.open_read_only(site / AUDIT / EVIDENCE.file)) as db:
        yield "findings", list(_findings(db))
        queries = {"visits": _VISITS, "search": _SEARCH, "bots": _BOTS, "sitemap_entries": _ENTRIES}
        for name, query in queries.items():
            yield name, db.execute(query).fetchall()


def _findings(db: sqlite3.Connection) -> Iterator[tuple[object, ...]]:
    query = "SELECT value, since, new, accepted FROM finding ORDER BY rule, rank DESC, url, id"
    for packed, since, new, accepted in db.execute(query):
        finding = _decode_finding(packed)
        yield (
            finding.rule,
            finding.url or None,
            finding.file or None,
            finding.line or None,
            finding.severity.value,
            finding.certainty.value,
            finding.sentence,
            since or None,
            None if new is None else bool(new),
            finding.group or None,
            accepted is not None,
        )
