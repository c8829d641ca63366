"""Access logs as a source: which URLs people and bots asked for, when, and what they were answered."""

from crawler.evidence.logs.reading import LogOptions, Progress, check_logs, read_logs

__all__ = ["LogOptions", "Progress", "check_logs", "read_logs"]
