"""What is measured of ours: a log from its lines to claims in the file of an audit. Imports nothing else.

::

    python -m tests.benchmarks.audit_logs_read LOG
"""

import json
import sqlite3
import sys
import tempfile
from pathlib import Path

from crawler.audit.evidence.review import ClaimReview
from crawler.audit.evidence.store import AUDIT_FILE, AUDIT_TABLES, ClaimStore
from crawler.audit.sources.logs.log import LogOptions
from crawler.audit.sources.logs.reader import read_logs
from crawler.audit.sources.urls import SourceUrlParser
from crawler.model import Url
from crawler.url.params import UrlParams


def read(path: Path) -> None:
    """Read a log; what came of it is told in ``account.json`` beside it."""
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        db = sqlite3.connect(Path(folder, AUDIT_FILE), isolation_level=None)
        db.executescript(f"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; {AUDIT_TABLES}")
        claims = ClaimStore(db)
        addresses = SourceUrlParser(Url("https://www.example.com/"), UrlParams(), lambda _: True)
        for account, found in read_logs([str(path)], addresses, LogOptions(), lambda _: None):
            number = claims.begin(account)
            claims.put(number, found)
            claims.end(number, account)
            ClaimReview(db).finish_reports()
            (kept,) = claims.reports()
            seen = {name: getattr(kept, name) for name in ("rows", "used", "beside", "unread", "urls")}
            Path(path.parent, "account.json").write_text(json.dumps(seen))


if __name__ == "__main__":
    read(Path(sys.argv[1]))
