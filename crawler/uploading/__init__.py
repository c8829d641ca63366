"""Publishing elsewhere, on S3 or by SFTP, what was published in the directory."""

from crawler.uploading.upload import FOLDER, Uploaded, check, missing, upload

__all__ = ["FOLDER", "Uploaded", "check", "missing", "upload"]
