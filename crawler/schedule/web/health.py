"""``/healthz``: whether the daemon does its work. A failing site is named, and is no reason to restart the daemon."""

from typing import Any

from crawler.schedule.status import ScheduleStatus
from crawler.schedule.web.pages import w3c_time


def health_response(board: ScheduleStatus, trouble: str) -> tuple[int, dict[str, Any]]:
    """The status, 200 or 503, and the JSON object. ``trouble`` says what is wrong with the daemon, or ""."""
    trouble = trouble or board.trouble or ("the daemon is stopping" if board.is_stopping else "")
    return 503 if trouble else 200, {
        "status": "unhealthy" if trouble else "ok",
        **({"why": trouble} if trouble else {}),
        "version": board.version,
        "started": w3c_time(board.started) if board.started is not None else None,
        "uptime_seconds": round(board.now - board.started, 3) if board.started is not None else None,
        "sites": len(board.sites),
        "running": [site.name for site in board.sites if site.running_since is not None],
        "failing": {site.name: site.failures for site in board.sites if site.failures},
        "config": board.config,
        "config_read": w3c_time(board.config_read) if board.config_read is not None else None,
        "config_error": board.config_error,
    }
