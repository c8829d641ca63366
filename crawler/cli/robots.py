"""``siteatlas robots``: checks that search engines find a sitemap, or adds it to a local robots.txt."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crawler.audit.report.layout import fitted
from crawler.cli.errors import CommandErrors
from crawler.cli.options import REQUEST_KEYS, SitesConfigOption, with_flags
from crawler.errors import FindingsFound, UsageError

if TYPE_CHECKING:  # the crawler is not needed to show help
    from crawler.audit.discovery.readers import Declaration


@with_flags(*REQUEST_KEYS, "site.sitemap_url", "output.directory")
def robots(  # noqa: PLR0913 - the command line is wide
    url: str | None = None,
    config: SitesConfigOption = None,
    site: list[str] | None = None,
    patch: Path | None = None,
    dry_run: bool = False,
    readers: bool = False,
    as_json: bool = False,
    verbose: bool = False,
    **flags: Any,
) -> None:
    """Check that search engines find the published sitemap.

    robots fetches robots.txt and the sitemap of the site. It checks that robots.txt names the sitemap, and does not
    block it. It also checks that the server returns both files with the right content type, and without redirects. For
    each problem, robots shows the remedy and the lines to add. With --patch, it adds these lines to a local file, and
    sends no requests.
    """
    with CommandErrors(verbose) as errors:
        if dry_run and patch is None:
            raise UsageError("--dry-run works only with --patch FILE. Without --patch, the command never writes a file")
        from crawler.cli import robots_check  # noqa: PLC0415 - the crawler is not needed to show help

        sites = robots_check.selected_sites(url, config, flags, site or [])
        if patch is not None:
            urls, change = robots_check.patch_robots_txt(sites, patch, dry_run=dry_run)
            values = {"file": str(change.path), "added": change.added, "dry_run": dry_run}
            message = robots_check.patch_message(urls, change, dry_run=dry_run)
            sys.stdout.write(f"{json.dumps(values, indent=2)}\n" if as_json else fitted(message))
            return
        declared: list[Declaration] = []
        for declaration in robots_check.declarations(sites, as_readers=readers):
            if not as_json:
                separator = [""] if declared else []
                sys.stdout.write(fitted((*separator, *robots_check.discovery_lines(declaration))))
                sys.stdout.flush()
            declared.append(declaration)
        if not all(declaration.is_ok for declaration in declared):
            errors.exit_code = FindingsFound.exit_code
        if as_json:
            checked = [declaration.as_json() for declaration in declared]
            sys.stdout.write(f"{json.dumps({'exit_code': errors.exit_code, 'sites': checked}, indent=2)}\n")
