"""Reads what other programs know of the site: exports of consoles and analytics, backlinks, lists, other crawls."""

from crawler.evidence.exports.options import ExportOptions
from crawler.evidence.exports.reading import check_export, looks_like, read_export

__all__ = ["ExportOptions", "check_export", "looks_like", "read_export"]
