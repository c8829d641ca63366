"""Random trials of lastmod: real sites whose pages are edited, and vary without an edit, for seven regenerations.

``python -m tests.trials.lastmod --help`` describes the command. A trial is drawn from one seed: the edits, the noises
and every value that they show. Whether a date moved is read from the published sitemap, on a clock on which each
generation is a new day.
"""
