"""The sections of the configuration that say when sites are regenerated, and how the daemon that does it behaves."""

import re

from pydantic import Field, field_validator

from crawler.config.section import ConfigSection, PositiveInt, PositiveSeconds
from crawler.units import parse_duration

_host_name = re.compile(r"[^\s:/?#@*\[\]]+")


class ScheduleConfig(ConfigSection):
    """When siteatlas schedule runs a site. Without cron and every, it does not."""

    cron: str = ""
    """Cron expression of five fields. "30 3 * * *" is daily at 3:30. Clock changes are handled as in Debian's cron."""
    every: PositiveSeconds | None = None
    """Time from one run to the next (6h, 1d), instead of cron. The runs of several sites are spread over it."""
    enabled: bool = True
    """Let siteatlas schedule run the site. enabled = false in [sites.NAME.schedule] leaves out one of several sites."""
    timezone: str = "UTC"
    """Time zone of cron, such as Europe/Berlin, or "local"."""
    jitter: float = Field(default=0.0, ge=0)
    """Start each run up to this much later (10m). The delay is always the same for one site and time."""
    run_on_start: bool = True
    """Run a site that has never run as soon as the daemon starts, or as soon as the site is in its configuration."""
    retries: int = Field(default=3, ge=0)
    """Retries of a failed run before the next scheduled one."""
    retry_delay: PositiveSeconds = 300.0
    """Seconds before the first retry. The delay doubles with each retry."""
    max_retry_delay: PositiveSeconds = 21_600.0
    """Maximum seconds between two retries."""
    run_timeout: PositiveSeconds = 86_400.0
    """Seconds a run may take, with the audit after it. Then it ends and saves its state, and the next run continues."""

    @field_validator("every", "jitter", "retry_delay", "max_retry_delay", "run_timeout", mode="before")
    @classmethod
    def _duration(cls, value: object) -> object:
        return parse_duration(value) if isinstance(value, str) else value

    @property
    def is_timed(self) -> bool:
        """Whether siteatlas schedule runs the site."""
        return self.enabled and bool(self.cron or self.every)


class DaemonConfig(ConfigSection):
    """How siteatlas schedule works. There is one daemon for all sites, so a single site cannot have this section."""

    directory: str = ""
    """Directory for the history of the schedule. Default: the directory of the state."""
    max_parallel_runs: PositiveInt = 2
    """Maximum sites that run at the same time. While others wait, audits leave one of these places free."""
    reload_interval: PositiveSeconds = 5.0
    """Seconds between two checks of the configuration file. A changed file is read again, as on SIGHUP."""
    shutdown_timeout: PositiveSeconds = 60.0
    """Seconds that runs have to save their state when the daemon stops."""
    history_limit: PositiveInt = 1_000
    """Runs of each site to keep in the history."""
    listen: str = "127.0.0.1:9188"
    """Address of /healthz, /metrics and the web page: HOST:PORT, or unix:PATH. "": none. There is no login, so keep it
    on loopback."""
    allowed_hosts: tuple[str, ...] = ()
    """Host names to answer to, besides localhost, IP addresses and the names of this machine. "*": all."""
    serve_sitemaps: bool = False
    """Serve the published files below /published/NAME/ too, for a proxy."""
    max_clients: PositiveInt = 64
    """Maximum connections at the same time."""
    client_timeout: PositiveSeconds = 10.0
    """Seconds a client may take to send a request, or to receive the next part of a response."""

    @field_validator("allowed_hosts")
    @classmethod
    def _are_names(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for name in value:
            if name != "*" and not _host_name.fullmatch(name):
                raise ValueError(
                    f'"{name}" is not a host name: give the name alone, such as sitemaps.example.com, without scheme, '
                    f"port and path"
                )
        return value

    @field_validator("reload_interval", "shutdown_timeout", "client_timeout", mode="before")
    @classmethod
    def _duration(cls, value: object) -> object:
        return parse_duration(value) if isinstance(value, str) else value
