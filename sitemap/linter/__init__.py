"""Linting: documents and sets of them against the table of rules, and the reports of what was found."""
