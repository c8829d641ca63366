"""How often a new configuration runs its sites."""

from enum import StrEnum


class Interval(StrEnum):
    """An interval with a name in everyday language."""

    HOUR = "hour"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"

    def cron(self, hour: int, minute: int) -> str:
        """The cron expression (crontab(5)): on Mondays, or on the first day of the month."""
        return {
            Interval.HOUR: f"{minute} * * * *",
            Interval.DAY: f"{minute} {hour} * * *",
            Interval.WEEK: f"{minute} {hour} * * 1",
            Interval.MONTH: f"{minute} {hour} 1 * *",
        }[self]

    def text(self, hour: int, minute: int) -> str:
        """The same in words."""
        return {
            Interval.HOUR: f"each hour at minute {minute}",
            Interval.DAY: f"each day at {hour:02}:{minute:02}",
            Interval.WEEK: f"each Monday at {hour:02}:{minute:02}",
            Interval.MONTH: f"on the first day of each month at {hour:02}:{minute:02}",
        }[self]
