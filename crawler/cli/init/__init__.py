"""``siteatlas init``: writes a configuration and the files that start Siteatlas on a schedule.

Front door: ``init.py``; systemd, Kubernetes and GitHub Actions have a module each. May import audit, publish,
lastmod, config, fetch and url.
"""
