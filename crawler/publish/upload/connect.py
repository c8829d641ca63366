"""Connects to the upload target: S3 or SFTP, each by a library that is an extra."""

from collections.abc import Callable
from typing import Final

from crawler.config.sections import UploadConfig
from crawler.errors import UsageError
from crawler.publish.upload.target import S3Address, UploadTarget, parse_target_address

_LIBRARIES: Final = {"boto3": "s3", "botocore": "s3", "asyncssh": "sftp"}


def connect_target(section: UploadConfig, mode: int, say: Callable[[str], None]) -> UploadTarget:
    """The target that ``upload.to`` names; ``mode`` are the permissions of remote files, where there are any.

    ``say`` gets messages for a person. No request is sent yet. Raises UsageError for invalid settings: a bad address,
    an extra that is not installed, a missing secret.
    """
    address = parse_target_address(section.to)
    try:
        if isinstance(address, S3Address):
            from crawler.publish.upload.s3 import S3Target  # noqa: PLC0415 - an extra, and slow to load

            return S3Target(section, address)
        from crawler.publish.upload.sftp import SftpTarget  # noqa: PLC0415 - an extra

        return SftpTarget(section, address, mode, say)
    except ModuleNotFoundError as error:
        if (extra := _LIBRARIES.get((error.name or "").partition(".")[0])) is None:
            raise
        raise UsageError(
            f"upload.to = {address.display_name} needs an optional package that is not installed: pip install "
            f"'siteatlas[{extra}]'"
        ) from None
