"""Runs many sites on many machines: PostgreSQL has the sites, leases and attempts; Procrastinate moves the jobs.

Front door: ``database.py`` opens the database of a fleet. May import everything but cli.
"""
