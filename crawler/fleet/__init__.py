"""Runs many sites on many machines: PostgreSQL has the sites, leases and attempts; Procrastinate moves the jobs.

Front doors: ``database.py`` opens the database of a fleet, ``worker.py`` runs its sites. May import schedule, notify,
audit, publish, config, dataset, fetch, state and url.
"""
