"""Reads what an HTML document says. Pure: bytes and headers in, a page out; no clock, no network, no disk."""

from crawler.html.options import ReadOptions
from crawler.html.page import read_page, scan_page

__all__ = ["ReadOptions", "read_page", "scan_page"]
