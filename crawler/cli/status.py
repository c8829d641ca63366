"""``siteatlas status``: shows the sites, their published sitemaps, their last and next runs. Changes nothing."""

import shlex
import sys
from typing import Any

from crawler.audit.report.layout import output_width
from crawler.cli.errors import CommandErrors, print_json
from crawler.cli.options import StatesConfigOption, with_flags
from crawler.errors import StorageError, UsageError


@with_flags("state.directory")
def status(
    config: StatesConfigOption = None,
    site: list[str] | None = None,
    runs: int = 5,
    as_json: bool = False,
    verbose: bool = False,
    **flags: Any,
) -> None:
    """Show the published sitemap of each site, the last runs, and whether a run is active.

    status shows the sites of the configuration file. Without one, it shows all sites in the state directory. For
    several sites, it shows one line for each site, and --site shows a site in full. With a schedule, status also shows
    when the next run starts. You can use status while a run is active.
    """
    with CommandErrors(verbose) as errors:
        from crawler.cli.status_collect import collect_status, status_values  # noqa: PLC0415
        from crawler.cli.status_text import status_lines  # noqa: PLC0415

        try:
            report = collect_status(config, flags, site or [], runs)
        except UsageError as error:
            if config is None or site:
                raise
            usual = shlex.quote(str(config.absolute().parent / ".siteatlas"))
            said = f"siteatlas status --state DIR shows the runs without it; the usual DIR is {usual}"
            raise UsageError(f"{error} ({said})") from None
        if any(site_status.snapshot.error for site_status in report.sites):
            errors.exit_code = StorageError.exit_code
        if as_json:
            print_json(status_values(report))
        else:
            is_full = bool(site) or len(report.sites) == 1
            option = "" if is_full else "--site NAME" if config else f"--state {report.sites[0].directory.parent}/NAME"
            if option and not config:
                option = f"--config FILE shows the names of a configuration; {option}"
            text = "\n".join(status_lines(report, output_width(sys.stdout), option))
            sys.stdout.write(f"{text.rstrip()}\n")
        sys.stdout.flush()
