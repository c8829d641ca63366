"""``siteatlas run``: one regeneration of each site of a configuration, one after the other."""

import json
import sys
from typing import Any

from crawler.cli.errors import Told
from crawler.cli.options import (
    CRAWLING,
    AcceptShrink,
    AsJson,
    DryRun,
    Fresh,
    Quiet,
    Restart,
    Sites,
    SitesFile,
    Verbose,
    with_flags,
)
from crawler.errors import UsageError, worst
from crawler.run.options import Wishes


@with_flags(*CRAWLING, "audit.every")
def run(  # noqa: PLR0913 - the command line is wide
    config: SitesFile = None,
    site: Sites = None,
    fresh: Fresh = False,
    restart: Restart = False,
    dry_run: DryRun = False,
    accept_shrink: AcceptShrink = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
    **flags: Any,
) -> None:
    """Regenerate the sitemaps of the sites that a configuration names.

    The file has the sections of config.example.toml, and for several sites [sites.NAME.site], [sites.NAME.output] and
    so on, whose keys override those that all share. Paths in it are relative to the directory that it is in. The
    sites are done one after the other; one that fails does not keep the others from it, and the exit code is that of
    the worst. With audit.every they are audited then, those whose last audit is old enough; what an audit finds, or
    that it fails, changes no exit code. Flags are for all the sites.
    """
    with Told(verbose, "interrupted; what is known is saved, the same command goes on") as told:
        if config is None:
            raise UsageError("say which sites: siteatlas run --config FILE")
        wishes = Wishes(
            fresh=fresh,
            restart=restart,
            dry_run=dry_run,
            accept_shrink=accept_shrink,
            as_json=as_json,
            quiet=quiet,
            verbose=verbose,
        )
        # the crawler is not needed to show help
        from crawler.cli.run_sites import audited, check, closing_line, planned, regenerate  # noqa: PLC0415

        ready = planned(config, flags, site or [])
        if accept_shrink and len(ready) > 1:
            raise UsageError("--accept-shrink is for one site: name it with --site")
        for name, plan in ready:
            check(name, plan, config, dry_run=dry_run)
        results = list(regenerate(ready, wishes, told))
        results = list(audited(ready, results, wishes, told))
        told.exit_code = worst(result.exit_code for result in results)
        if as_json:
            sites = [result.as_json() for result in results]
            json.dump({"exit_code": told.exit_code, "sites": sites}, sys.stdout, indent=2)
            sys.stdout.write("\n")
        elif len(results) > 1 and not quiet:
            sys.stdout.write(f"{closing_line(results)}\n")
        sys.stdout.flush()
