"""Publishing elsewhere, on S3 or by SFTP, what was published in the directory."""
