"""``siteatlas run``: regenerates the sites of a configuration, one after the other."""

import sys
from typing import Any

from crawler.audit.report.layout import fitted
from crawler.cli.errors import INTERRUPTED, CommandErrors, print_json
from crawler.cli.options import CRAWL_KEYS, NO_CONFIG, RUN_OPTIONS, SitesConfigOption, override_words, with_flags
from crawler.errors import NEXT_RUN, UsageError, worst_exit_code
from crawler.run.options import RunOptions


@with_flags(*CRAWL_KEYS, switches=RUN_OPTIONS)
def run(config: SitesConfigOption = None, site: list[str] | None = None, **flags: Any) -> None:
    """Update the sitemaps of a configuration: regenerate those that changed.

    The file has the sections of config.example.toml. For several sites, it also has sections such as [sites.NAME.site]
    and [sites.NAME.output]. Their keys override the shared keys. Paths are relative to the directory of the file.
    Options on the command line apply to all sites.

    The sites run one after the other. If a site fails, the other sites still run. The exit code is the worst of
    all sites. With the key every in [audit], run then also audits the sites, unless their last audit is too recent.
    An audit does not change the exit code.
    """
    with CommandErrors(flags["verbose"], INTERRUPTED) as errors:
        if config is None:
            raise UsageError(NO_CONFIG.format("run"))
        options = RunOptions(should_serve=True, **{name: flags.pop(name) for name in RUN_OPTIONS})
        # the crawler is not needed to show help
        from crawler.cli.run_sites import run_sites, site_plans, summary_line, with_audits  # noqa: PLC0415

        plans = site_plans(config, flags, site or [])
        NEXT_RUN.overrides = override_words(flags)
        if options.accept_shrink and len(plans) > 1:
            raise UsageError("--accept-shrink applies to one site. Choose the site with --site")
        results = list(run_sites(plans, config, options, errors))
        results = list(with_audits(plans, results, config, options, errors))
        errors.exit_code = worst_exit_code(result.exit_code for result in results)
        if options.as_json:
            print_json({"exit_code": errors.exit_code, "sites": [result.as_json() for result in results]})
        elif len(results) > 1 and not options.quiet:
            sys.stdout.write(fitted([summary_line(results)]))
        sys.stdout.flush()
