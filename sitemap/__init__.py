"""Reads, writes and lints sitemaps. Does not depend on the crawler.

Each public name is imported on first use, so a program that needs only the values does not load readers and writers.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from sitemap.build_time import MIN_BUILD_PAGES, BuildTime, find_build_times, majority_build
    from sitemap.cross_submit import CrossSubmits, vouches
    from sitemap.dates import Moment, Precision, format_date, parse_date
    from sitemap.errors import (
        DestinationError,
        EmptySitemap,
        InvalidEntry,
        InvalidLocation,
        LimitExceeded,
        NotASitemap,
        SitemapError,
        SourceError,
    )
    from sitemap.escape import safe
    from sitemap.finding import Finding
    from sitemap.formats import FEEDS, Format
    from sitemap.linter.lint import Linter, LintReport, lint
    from sitemap.linter.report_json import as_json
    from sitemap.linter.report_junit import JUnitCase, JUnitOutcome, JUnitSuite, as_junit, junit_xml
    from sitemap.linter.report_sarif import as_sarif, sarif
    from sitemap.linter.report_text import as_text, rules_text
    from sitemap.location import Location, covers, directory, form
    from sitemap.model import Alternate, Child, Entry, Image, News, Price, TvShow, Video
    from sitemap.planner import PlannedSitemap, SitemapPlan, plan
    from sitemap.reader.parser import ReadLimits, SitemapParser
    from sitemap.reader.reader import SitemapReader, Source, read
    from sitemap.reader.tree import Document, Opener, TreeLimits, Visitor
    from sitemap.reader.walk import beside, iter_entries, tree, walk
    from sitemap.robots_txt import missing_lines, sitemap_lines, sitemaps_in
    from sitemap.rules import RULES, Rule, Severity
    from sitemap.validation.entry import entry_fault
    from sitemap.validation.extensions import alternate_fault, image_fault, news_fault, video_fault
    from sitemap.validation.retired import RETIRED
    from sitemap.writer.assignment import Assignment
    from sitemap.writer.destination import Destination, Directory, Stage
    from sitemap.writer.encoder import Encoder, encoder
    from sitemap.writer.feeds import Channel
    from sitemap.writer.generations import Generations
    from sitemap.writer.index import write_index
    from sitemap.writer.options import WriterOptions, by_language, by_pattern, by_section, by_type
    from sitemap.writer.publish import Published
    from sitemap.writer.stylesheet import Stylesheet, stylesheet_names
    from sitemap.writer.target import FileFacts
    from sitemap.writer.writer import SitemapWriter

__all__ = [
    "FEEDS",
    "MIN_BUILD_PAGES",
    "RETIRED",
    "RULES",
    "Alternate",
    "Assignment",
    "BuildTime",
    "Channel",
    "Child",
    "CrossSubmits",
    "Destination",
    "DestinationError",
    "Directory",
    "Document",
    "EmptySitemap",
    "Encoder",
    "Entry",
    "FileFacts",
    "Finding",
    "Format",
    "Generations",
    "Image",
    "InvalidEntry",
    "InvalidLocation",
    "JUnitCase",
    "JUnitOutcome",
    "JUnitSuite",
    "LimitExceeded",
    "LintReport",
    "Linter",
    "Location",
    "Moment",
    "News",
    "NotASitemap",
    "Opener",
    "PlannedSitemap",
    "Precision",
    "Price",
    "Published",
    "ReadLimits",
    "Rule",
    "Severity",
    "SitemapError",
    "SitemapParser",
    "SitemapPlan",
    "SitemapReader",
    "SitemapWriter",
    "Source",
    "SourceError",
    "Stage",
    "Stylesheet",
    "TreeLimits",
    "TvShow",
    "Video",
    "Visitor",
    "WriterOptions",
    "alternate_fault",
    "as_json",
    "as_junit",
    "as_sarif",
    "as_text",
    "beside",
    "by_language",
    "by_pattern",
    "by_section",
    "by_type",
    "covers",
    "directory",
    "encoder",
    "entry_fault",
    "find_build_times",
    "form",
    "format_date",
    "image_fault",
    "iter_entries",
    "junit_xml",
    "lint",
    "majority_build",
    "missing_lines",
    "news_fault",
    "parse_date",
    "plan",
    "read",
    "rules_text",
    "safe",
    "sarif",
    "sitemap_lines",
    "sitemaps_in",
    "stylesheet_names",
    "tree",
    "video_fault",
    "vouches",
    "walk",
    "write_index",
]

_MODULES: Final = {
    "build_time": "MIN_BUILD_PAGES BuildTime find_build_times majority_build",
    "cross_submit": "CrossSubmits vouches",
    "dates": "Moment Precision format_date parse_date",
    "errors": (
        "DestinationError EmptySitemap InvalidEntry InvalidLocation LimitExceeded NotASitemap SitemapError SourceError"
    ),
    "escape": "safe",
    "finding": "Finding",
    "formats": "FEEDS Format",
    "linter.lint": "LintReport Linter lint",
    "linter.report_json": "as_json",
    "linter.report_junit": "JUnitCase JUnitOutcome JUnitSuite as_junit junit_xml",
    "linter.report_sarif": "as_sarif sarif",
    "linter.report_text": "as_text rules_text",
    "location": "Location covers directory form",
    "model": "Alternate Child Entry Image News Price TvShow Video",
    "planner": "PlannedSitemap SitemapPlan plan",
    "reader.parser": "ReadLimits SitemapParser",
    "reader.reader": "SitemapReader Source read",
    "reader.tree": "Document Opener TreeLimits Visitor",
    "reader.walk": "beside iter_entries tree walk",
    "robots_txt": "missing_lines sitemap_lines sitemaps_in",
    "rules": "RULES Rule Severity",
    "validation.entry": "entry_fault",
    "validation.extensions": "alternate_fault image_fault news_fault video_fault",
    "validation.retired": "RETIRED",
    "writer.assignment": "Assignment",
    "writer.destination": "Destination Directory Stage",
    "writer.encoder": "Encoder encoder",
    "writer.feeds": "Channel",
    "writer.generations": "Generations",
    "writer.index": "write_index",
    "writer.options": "WriterOptions by_language by_pattern by_section by_type",
    "writer.publish": "Published",
    "writer.stylesheet": "Stylesheet stylesheet_names",
    "writer.target": "FileFacts",
    "writer.writer": "SitemapWriter",
}
_MODULE_OF: Final = {name: module for module, names in _MODULES.items() for name in names.split()}

if not TYPE_CHECKING:  # with __getattr__, a type checker would accept every name

    def __getattr__(name: str) -> Any:
        module = _MODULE_OF.get(name)
        if module is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(f"{__name__}.{module}"), name)
        return value

    def __dir__() -> list[str]:
        return sorted(__all__)
