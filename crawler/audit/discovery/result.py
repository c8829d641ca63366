"""The result of a check of what readers of a site find: checks with remedies, for people and as JSON. Pure."""

from enum import StrEnum
from typing import Any

from msgspec import Struct
from msgspec.structs import force_setattr

from sitemap import shorten


class CheckStatus(StrEnum):
    """The outcome of one check."""

    OK = "ok"
    PROBLEM = "problem"
    UNKNOWN = "not checked"


class DiscoveryCheck(Struct, frozen=True):
    """One check. ``about`` is a stable name, ``message`` and ``remedy`` are sentences."""

    about: str
    status: CheckStatus
    message: str
    remedy: str = ""

    def __post_init__(self) -> None:
        force_setattr(self, "message", shorten(self.message))


class Declaration(Struct, frozen=True, kw_only=True):
    """The result for one sitemap. ``missing`` has the lines that each robots.txt lacks, by its URL."""

    name: str
    sitemap_url: str
    robots_url: str
    checks: tuple[DiscoveryCheck, ...]
    missing: dict[str, list[str]]

    @property
    def is_ok(self) -> bool:
        """Whether there is no problem."""
        return all(check.status is not CheckStatus.PROBLEM for check in self.checks)

    def as_json(self) -> dict[str, Any]:
        """The same as JSON values."""
        return {
            "name": self.name,
            "sitemap_url": self.sitemap_url,
            "robots_url": self.robots_url,
            "well": self.is_ok,
            "checks": [
                {"about": check.about, "outcome": check.status, "told": check.message, "remedy": check.remedy}
                for check in self.checks
            ],
            "missing": self.missing,
        }


def check_passed(about: str, message: str) -> DiscoveryCheck:
    """A check without a problem."""
    return DiscoveryCheck(about, CheckStatus.OK, message)


def check_failed(about: str, message: str, remedy: str) -> DiscoveryCheck:
    """A check that found a problem."""
    return DiscoveryCheck(about, CheckStatus.PROBLEM, message, remedy)


def check_unknown(about: str, message: str) -> DiscoveryCheck:
    """A check that could not be made."""
    return DiscoveryCheck(about, CheckStatus.UNKNOWN, message)
