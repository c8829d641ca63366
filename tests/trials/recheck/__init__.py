"""Trials of runs that ask only for what is due, on histories of edits of real sites."""
