"""``siteatlas init``: writes a configuration and the files that start Siteatlas on a schedule. Front door: ``init.py``.

One module for each scheduler: systemd, crontab, GitHub Actions, Kubernetes.
"""
