"""How all sites of a schedule stand at one moment: what a person looks at, a page shows and a machine measures."""

from pathlib import Path

from msgspec import Struct

from crawler.attempt import Attempt


class SiteBoard(Struct, frozen=True, kw_only=True):
    """A site of a schedule. Times are Unix times, None: none.

    ``state`` is the directory of the site's own state, ``output`` where it is published, ``report`` that of the reports
    of its audits, and ``recent`` the name of the feed beside the sitemap, "" for none. ``timetable`` is in words, ""
    for a site that the schedule leaves alone. ``next_at`` is when the next run begins at the soonest, ``running_since``
    when the one that is going on began, ``failures`` the number of attempts in a row that failed, and ``last`` the last
    run that ended. A run is followed by an audit when the last is ``audit_every`` seconds old, None: by none.
    """

    name: str
    url: str
    sitemap_url: str
    state: Path
    output: Path
    report: Path | None = None
    recent: str = ""
    timetable: str = ""
    next_at: float | None = None
    running_since: float | None = None
    failures: int = 0
    last: Attempt | None = None
    audit_every: float | None = None


class Board(Struct, frozen=True, kw_only=True):
    """All sites, in the order of the configuration, and the daemon itself.

    ``config_error`` says why the configuration as it is now is not used, and that the one of ``config_read`` is; ""
    when it is. ``trouble`` says why the history cannot be written, and that nothing is begun as long as it cannot; ""
    when it can. ``is_alive`` is False when there is no daemon, and this is what its history tells.
    """

    version: str
    now: float
    sites: tuple[SiteBoard, ...]
    config: str = ""
    config_read: float | None = None
    config_error: str = ""
    trouble: str = ""
    started: float | None = None
    is_alive: bool = False
    is_stopping: bool = False
