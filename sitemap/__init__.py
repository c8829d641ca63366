"""Reads, writes and lints sitemaps. Does not depend on the crawler.

Each public name is imported on first use, so a program that needs only the values does not load readers and writers.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:  # ``as`` makes a name public for type checkers
    from sitemap.build_time import MIN_BUILD_PAGES as MIN_BUILD_PAGES
    from sitemap.build_time import BuildTime as BuildTime
    from sitemap.build_time import find_build_times as find_build_times
    from sitemap.build_time import majority_build as majority_build
    from sitemap.dates import Moment as Moment
    from sitemap.dates import Precision as Precision
    from sitemap.dates import format_date as format_date
    from sitemap.dates import parse_date as parse_date
    from sitemap.errors import DestinationError as DestinationError
    from sitemap.errors import EmptySitemap as EmptySitemap
    from sitemap.errors import InvalidEntry as InvalidEntry
    from sitemap.errors import InvalidLocation as InvalidLocation
    from sitemap.errors import LimitExceeded as LimitExceeded
    from sitemap.errors import NotASitemap as NotASitemap
    from sitemap.errors import SitemapError as SitemapError
    from sitemap.errors import SourceError as SourceError
    from sitemap.escape import safe as safe
    from sitemap.escape import shorten as shorten
    from sitemap.languages import is_language as is_language
    from sitemap.languages import is_region as is_region
    from sitemap.linter.lint import Linter as Linter
    from sitemap.linter.lint import LintReport as LintReport
    from sitemap.linter.lint import lint as lint
    from sitemap.linter.report import JUnitCase as JUnitCase
    from sitemap.linter.report import JUnitOutcome as JUnitOutcome
    from sitemap.linter.report import JUnitSuite as JUnitSuite
    from sitemap.linter.report import as_json as as_json
    from sitemap.linter.report import as_junit as as_junit
    from sitemap.linter.report import as_sarif as as_sarif
    from sitemap.linter.report import as_text as as_text
    from sitemap.linter.report import junit_xml as junit_xml
    from sitemap.linter.report import rules_text as rules_text
    from sitemap.linter.report import sarif as sarif
    from sitemap.location import Location as Location
    from sitemap.location import covers as covers
    from sitemap.location import directory as directory
    from sitemap.location import form as form
    from sitemap.model import FEEDS as FEEDS
    from sitemap.model import Alternate as Alternate
    from sitemap.model import Child as Child
    from sitemap.model import Entry as Entry
    from sitemap.model import Format as Format
    from sitemap.model import Image as Image
    from sitemap.model import News as News
    from sitemap.model import Video as Video
    from sitemap.planner import PlannedSitemap as PlannedSitemap
    from sitemap.planner import SitemapPlan as SitemapPlan
    from sitemap.planner import plan as plan
    from sitemap.reader.parser import ReadLimits as ReadLimits
    from sitemap.reader.parser import SitemapParser as SitemapParser
    from sitemap.reader.parser import SitemapReader as SitemapReader
    from sitemap.reader.parser import Source as Source
    from sitemap.reader.parser import read as read
    from sitemap.reader.tree import Document as Document
    from sitemap.reader.tree import Opener as Opener
    from sitemap.reader.tree import TreeLimits as TreeLimits
    from sitemap.reader.tree import Visitor as Visitor
    from sitemap.reader.tree import beside as beside
    from sitemap.reader.tree import iter_entries as iter_entries
    from sitemap.reader.tree import tree as tree
    from sitemap.reader.tree import walk as walk
    from sitemap.robots_txt import CrossSubmits as CrossSubmits
    from sitemap.robots_txt import missing_lines as missing_lines
    from sitemap.robots_txt import sitemap_lines as sitemap_lines
    from sitemap.robots_txt import sitemaps_in as sitemaps_in
    from sitemap.robots_txt import vouches as vouches
    from sitemap.rules import RULES as RULES
    from sitemap.rules import Finding as Finding
    from sitemap.rules import Rule as Rule
    from sitemap.rules import Severity as Severity
    from sitemap.validation import alternate_fault as alternate_fault
    from sitemap.validation import entry_fault as entry_fault
    from sitemap.validation import image_fault as image_fault
    from sitemap.validation import news_fault as news_fault
    from sitemap.validation import video_fault as video_fault
    from sitemap.writer.assignment import Assignment as Assignment
    from sitemap.writer.destination import Destination as Destination
    from sitemap.writer.destination import Directory as Directory
    from sitemap.writer.destination import Stage as Stage
    from sitemap.writer.encoder import Encoder as Encoder
    from sitemap.writer.feeds import Channel as Channel
    from sitemap.writer.files import check_path as check_path
    from sitemap.writer.files import create_file as create_file
    from sitemap.writer.files import is_planted as is_planted
    from sitemap.writer.files import make_directory as make_directory
    from sitemap.writer.files import replacement as replacement
    from sitemap.writer.files import sync_to_disk as sync_to_disk
    from sitemap.writer.generations import Generations as Generations
    from sitemap.writer.index import write_index as write_index
    from sitemap.writer.layout import encoder as encoder
    from sitemap.writer.options import Stylesheet as Stylesheet
    from sitemap.writer.options import WriterOptions as WriterOptions
    from sitemap.writer.options import by_language as by_language
    from sitemap.writer.options import by_pattern as by_pattern
    from sitemap.writer.options import by_section as by_section
    from sitemap.writer.options import by_type as by_type
    from sitemap.writer.options import stylesheet_names as stylesheet_names
    from sitemap.writer.staged import FileFacts as FileFacts
    from sitemap.writer.staged import Published as Published
    from sitemap.writer.writer import SitemapWriter as SitemapWriter

_MODULES: Final = {
    "build_time": "MIN_BUILD_PAGES BuildTime find_build_times majority_build",
    "dates": "Moment Precision format_date parse_date",
    "errors": (
        "DestinationError EmptySitemap InvalidEntry InvalidLocation LimitExceeded NotASitemap SitemapError SourceError"
    ),
    "escape": "safe shorten",
    "languages": "is_language is_region",
    "linter.lint": "LintReport Linter lint",
    "linter.report": "JUnitCase JUnitOutcome JUnitSuite as_json as_junit as_sarif as_text junit_xml rules_text sarif",
    "location": "Location covers directory form",
    "model": "FEEDS Alternate Child Entry Format Image News Video",
    "planner": "PlannedSitemap SitemapPlan plan",
    "reader.parser": "ReadLimits SitemapParser SitemapReader Source read",
    "reader.tree": "Document Opener TreeLimits Visitor beside iter_entries tree walk",
    "robots_txt": "CrossSubmits missing_lines sitemap_lines sitemaps_in vouches",
    "rules": "RULES Finding Rule Severity",
    "validation": "alternate_fault entry_fault image_fault news_fault video_fault",
    "writer.assignment": "Assignment",
    "writer.destination": "Destination Directory Stage",
    "writer.encoder": "Encoder",
    "writer.feeds": "Channel",
    "writer.files": "check_path create_file is_planted make_directory replacement sync_to_disk",
    "writer.generations": "Generations",
    "writer.index": "write_index",
    "writer.layout": "encoder",
    "writer.options": "Stylesheet WriterOptions by_language by_pattern by_section by_type stylesheet_names",
    "writer.staged": "FileFacts Published",
    "writer.writer": "SitemapWriter",
}
_MODULE_OF: Final = {name: module for module, names in _MODULES.items() for name in names.split()}
__all__ = list(_MODULE_OF)

if not TYPE_CHECKING:  # with __getattr__, a type checker would accept every name

    def __getattr__(name: str) -> Any:
        module = _MODULE_OF.get(name)
        if module is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(f"{__name__}.{module}"), name)
        return value

    def __dir__() -> list[str]:
        return sorted(__all__)
