"""Owns the forms in which an audit is told: text for people, a page for browsers, tables, and what programs read."""
