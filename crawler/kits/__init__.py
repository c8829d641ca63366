"""Texts that set a site up: its configuration, and what other schedulers want to run it by. Writes no files."""
