"""Writes entries to sitemaps and feeds within all limits, published as a whole. Entry point: ``writer.py``."""
