"""``siteatlas why``: its options, its output and its exit code."""

import json
import sys
from typing import Any

from crawler.audit.report.layout import fitted
from crawler.cli.errors import CommandErrors
from crawler.cli.options import StatesConfigOption, with_flags
from crawler.errors import FindingsFound


@with_flags("state.directory")
def why(
    urls: list[str],
    config: StatesConfigOption = None,
    site: list[str] | None = None,
    as_json: bool = False,
    render: bool = False,
    verbose: bool = False,
    **flags: Any,
) -> None:
    """Explain for each URL why the sitemap lists it or does not list it.

    why also shows how Siteatlas found the URL, and how the server responded. It reads what runs and audits stored, and
    you can use it while a run is active. Without --render, it sends no requests. For an unknown URL, why shows what a
    run would do with the URL, and known URLs with a similar spelling.
    """
    with CommandErrors(verbose) as errors:
        from crawler.cli.why import lookup  # noqa: PLC0415 - the crawler is not needed to show help

        stories = lookup.explain_urls(urls, config, flags, site or [], render=render)
        values = {"version": 2, "urls": [each.as_json() for each in stories]}
        sys.stdout.write(f"{json.dumps(values, indent=2)}\n" if as_json else fitted(lookup.story_lines(stories)))
        sys.stdout.flush()
        if not all(each.story.is_known for each in stories):
            errors.exit_code = FindingsFound.exit_code
