"""Uploads the published files to S3 or over SFTP, in an order that survives a crash.

Front door: ``upload.py``; ``target.py`` is the contract of both targets. May import config, fetch and state.
"""
