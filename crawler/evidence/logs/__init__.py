"""Access logs as a source: which URLs people and bots asked for, when, and what they were answered."""

from crawler.evidence.logs.files import named
from crawler.evidence.logs.options import LogOptions
from crawler.evidence.logs.reading import Progress, check_logs, is_log, read_logs

__all__ = ["LogOptions", "Progress", "check_logs", "is_log", "named", "read_logs"]
