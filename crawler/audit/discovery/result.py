"""What is found when one looks whether a sitemap is declared: values, and the order in which they are told."""

from enum import StrEnum
from typing import Any

from msgspec import Struct


class CheckStatus(StrEnum):
    """How a thing that was looked at is."""

    OK = "ok"
    PROBLEM = "problem"
    UNKNOWN = "not checked"


class DiscoveryCheck(Struct, frozen=True):
    """One thing that was looked at. ``about`` is a stable name, ``told`` and ``remedy`` are sentences."""

    about: str
    status: CheckStatus
    message: str
    remedy: str = ""


class Declaration(Struct, frozen=True, kw_only=True):
    """How a sitemap is declared. ``missing`` are the lines that each robots.txt lacks, by its URL."""

    name: str
    sitemap_url: str
    robots_url: str
    checks: tuple[DiscoveryCheck, ...]
    missing: dict[str, list[str]]

    @property
    def is_ok(self) -> bool:
        """Whether nothing has to be done."""
        return all(look.status is not CheckStatus.PROBLEM for look in self.checks)

    def as_json(self) -> dict[str, Any]:
        """The same in values that JSON knows."""
        return {
            "name": self.name,
            "sitemap_url": self.sitemap_url,
            "robots_url": self.robots_url,
            "well": self.is_ok,
            "checks": [
                {"about": each.about, "outcome": each.status, "told": each.message, "remedy": each.remedy}
                for each in self.checks
            ],
            "missing": self.missing,
        }


def check_passed(about: str, told: str) -> DiscoveryCheck:
    """All is well with it."""
    return DiscoveryCheck(about, CheckStatus.OK, told)


def check_failed(about: str, told: str, remedy: str) -> DiscoveryCheck:
    """Something has to be done about it."""
    return DiscoveryCheck(about, CheckStatus.PROBLEM, told, remedy)


def check_unknown(about: str, told: str) -> DiscoveryCheck:
    """It could not be looked at."""
    return DiscoveryCheck(about, CheckStatus.UNKNOWN, told)
