"""Reads what other programs know of the site: exports of consoles and analytics, backlinks, lists, other crawls."""
