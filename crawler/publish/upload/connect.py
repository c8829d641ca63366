"""Places for published files that are not a local directory: S3 and SFTP, each by a library that is an extra."""

from collections.abc import Callable
from typing import Final

from crawler.config.notify import UploadConfig
from crawler.errors import UsageError
from crawler.publish.upload.target import S3Address, UploadTarget, parse_target_address

_LIBRARIES: Final = {"boto3": "s3", "botocore": "s3", "asyncssh": "sftp"}


def connect_target(section: UploadConfig, mode: int, say: Callable[[str], None]) -> UploadTarget:
    """The place that ``upload.to`` names; ``mode`` are the permissions of files there, where there are any.

    ``say`` is told what a person should know of the place. Nothing is asked of the place itself yet. Raises UsageError
    for settings that cannot be used: what is no address, an extra that is not installed, a secret that is not there.
    """
    where = parse_target_address(section.to)
    try:
        if isinstance(where, S3Address):
            from crawler.publish.upload.s3 import S3Target  # noqa: PLC0415 - an extra, and slow to load

            return S3Target(section, where)
        from crawler.publish.upload.sftp import SftpTarget  # noqa: PLC0415 - an extra

        return SftpTarget(section, where, mode, say)
    except ModuleNotFoundError as error:
        if (extra := _LIBRARIES.get((error.name or "").partition(".")[0])) is None:
            raise
        raise UsageError(
            f"upload.to = {where.display_name} needs what is not installed: pip install 'siteatlas[{extra}]'"
        ) from None
