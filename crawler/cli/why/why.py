"""``siteatlas why``: its options, its output and its exit code."""

import json
import sys
from typing import Annotated, Any

import typer

from crawler.audit.report.layout import fitted
from crawler.cli.errors import CommandErrors
from crawler.cli.options import ConfigOption, JsonOption, SiteOption, TraceOption, with_flags
from crawler.errors import FindingsFound


@with_flags("state.directory")
def why(
    urls: Annotated[
        list[str],
        typer.Argument(metavar="URL", help="URLs in any spelling, or paths such as /about.", show_default=False),
    ],
    config: ConfigOption = None,
    site: SiteOption = None,
    as_json: JsonOption = False,
    render: Annotated[
        bool,
        typer.Option(
            "--render",
            help="Also request each URL now, and show its page as the server sends it and as a browser shows it.",
        ),
    ] = False,
    verbose: TraceOption = False,
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
