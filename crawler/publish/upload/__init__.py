"""Uploads the published files to S3 or over SFTP. Front door: ``upload.py``."""
