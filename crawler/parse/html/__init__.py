"""Reads an HTML document: its canonical, links, hreflang, refresh, images, videos and dates.

Pure: takes the body and the headers, and returns a page. Front door: ``page.py``; a rule has the file of its name. May
import fetch and url.
"""
