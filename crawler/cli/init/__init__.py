"""``siteatlas init``: writes a configuration and the files that start Siteatlas on a schedule. Start at ``init.py``.

One module for each scheduler: systemd, crontab, GitHub Actions, Kubernetes.
"""
