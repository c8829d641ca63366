"""Owns sites that the pages are made from: states on the disk as runs leave them, files, audits, and their board."""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace
from site_history import DAY, START, History, Seen

from crawler.audit.compare import history as audits
from crawler.audit.summary import AuditSummary, GroupSummary
from crawler.config.plan import AUDIT
from crawler.schedule.site_state import Attempt, Trigger
from crawler.schedule.status import ScheduleStatus, SiteStatus
from crawler.state.runs import Run, RunStatus, RunStore
from crawler.state.schema import STATE_DB

NOW = START + 10 * DAY
HOME = "https://www.example.com"


def state(directory: Path, runs: Sequence[Mapping[str, Seen]], files: Iterable[str], **columns: Any) -> None:
    """The state of a site whose runs saw these pages and published; ``columns`` are set in the last one's record."""
    directory.mkdir(parents=True)
    with closing(STATE_DB.open(directory / "state.db")) as db:
        db.executemany(
            "INSERT INTO about (key, value) VALUES (?, ?)",
            [("url", f"{HOME}/"), ("sitemap_url", f"{HOME}/sitemap.xml")],
        )
        db.execute("PRAGMA synchronous = OFF")  # nobody cuts the power, and a page is a commit here
        history = History(db)
        published = [{"name": name, "url": f"{HOME}/{name}", "urls": 3, "bytes": 1234} for name in files]
        for pages in runs:
            history.run(pages)
            values = {
                "listed": len(pages), "fetched": len(pages), "bytes": 54_321, "seconds": 83.0, "exit_code": 0,
                "completeness": "complete", "files": json.dumps(published),
            }  # fmt: skip
            if pages is runs[-1]:
                values |= columns
            setting = ", ".join(f"{'because' if name == 'reason' else name} = :{name}" for name in values)
            db.execute(f"UPDATE run SET {setting} WHERE number = :number", {**values, "number": history.number})


def site(folder: Path, name: str, **values: Any) -> SiteStatus:
    """A site of the board whose places are below ``folder``; nothing of it is there yet."""
    plain = name if name.replace("-", "").isalnum() else str(abs(hash(name)))
    given: dict[str, Any] = {
        "url": f"{HOME}/",
        "sitemap_url": f"{HOME}/sitemap.xml",
        "state": folder / "state" / plain,
        "output": folder / "out" / plain,
        "schedule": "every day at 03:30, Europe/Berlin",
        "next_at": NOW + 3 * 3600 + 60,
    }
    return SiteStatus(name=name, **given | values)


def attempt(name: str, **values: Any) -> Attempt:
    """An attempt of yesterday that ended well."""
    given: dict[str, Any] = {
        "number": 7, "site": name, "slot": NOW - DAY, "trigger": Trigger.DUE, "try_number": 1, "began": NOW - DAY,
        "ended": NOW - DAY + 90, "status": RunStatus.DONE, "exit_code": 0, "run": 2, "outcome": "published",
    }  # fmt: skip
    return Attempt(**given | values)


def board(*sites: SiteStatus, **values: Any) -> ScheduleStatus:
    """A board of a daemon that is well."""
    given: dict[str, Any] = {
        "version": "1.2.3", "now": NOW, "config": "sites.toml", "config_read": NOW - 3600,
        "started": NOW - 2 * DAY, "is_alive": True,
    }  # fmt: skip
    return ScheduleStatus(sites=sites, **given | values)


PAGES = {"/": Seen(), "/a": Seen(lastmod="2026-01-01"), "/b": Seen()}
LATER = {"/": Seen(), "/a": Seen(changed=1, evidence="its content changed", lastmod="2026-01-02"), "/new": Seen()}


def usual(folder: Path, name: str = "shop", **values: Any) -> SiteStatus:
    """A site with two runs, its sitemap published and its audit written."""
    made = site(folder, name, **{"last": attempt(name), "report": folder / "audit" / name, **values})
    state(made.state, [PAGES, LATER], ["sitemap-1.xml", "sitemap.xml"])
    made.output.mkdir(parents=True)
    (made.output / "sitemap.xml").write_text(index("sitemap-1.xml"))
    (made.output / "sitemap-1.xml").write_text(urlset(3))
    if made.report:
        made.report.mkdir(parents=True)
        (made.report / "audit.html").write_text("<!doctype html><title>audit</title>")
        (made.report / "audit.json").write_text("{}")
    return made


def audited(made: SiteStatus, *, failed: str = "", **values: Any) -> None:
    """Let a site have been audited two days ago; with ``failed`` there was one since that came to nothing."""
    directory = made.state / AUDIT
    directory.mkdir(parents=True, exist_ok=True)
    severities = {"error": 1, "warning": 4}
    given: dict[str, Any] = {
        "number": 3, "started": NOW - 2 * DAY, "before": NOW - 9 * DAY, "verdict": "conclusive", "why": "", "pages": 3,
        "uncompared": 0, "severities": {"error": 1, "warning": 4, "note": 0},
        "groups": [GroupSummary(name="orphans", title="Orphans", total=5, new=2, mended=1, severities=severities)],
        "first": [],
    }  # fmt: skip
    with closing(audits.AUDIT_HISTORY_DB.open(directory / audits.AUDIT_HISTORY_DB.file)) as db:
        news = AuditSummary(**given | values)
        db.execute("INSERT INTO audit VALUES (?, ?, '{}')", (news.number, msgspec.msgpack.encode(news)))
    with closing(STATE_DB.open(directory / STATE_DB.file)) as db:
        run = Run(
            number=news.number, started=NOW - 2 * DAY, version="", ended=NOW - DAY, outcome="audited", exit_code=0
        )
        RunStore(db).write(run)
        if failed:
            RunStore(db).write(replace(run, number=news.number + 1, outcome="nothing", exit_code=2, refusal=failed))


def index(*names: str) -> str:
    """A sitemap index of the site."""
    items = "".join(f"<sitemap><loc>{HOME}/{name}</loc></sitemap>" for name in names)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{items}</sitemapindex>\n'
    )


def urlset(pages: int, start: int = 0) -> str:
    """A sitemap of so many pages."""
    items = "".join(f"<url><loc>{HOME}/{start + number}</loc></url>\n" for number in range(pages))
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{items}</urlset>\n'
    )


__all__ = ["DAY", "NOW", "Seen", "attempt", "audited", "board", "index", "replace", "site", "state", "urlset", "usual"]
