"""The state store in a bucket of S3 or a compatible storage. See ``state_store.py`` for its contract."""

import base64
import contextlib
import hashlib
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

import anyio
from boto3.s3.transfer import TransferConfig
from typing_extensions import override

from crawler.config.sections import FleetConfig
from crawler.fleet.snapshot import StoreFault
from crawler.fleet.state_store import StateStore
from crawler.publish.upload.s3 import S3Bucket, SettingNames, is_missing
from crawler.publish.upload.target import S3Address, UploadError
from crawler.publish.upload.upload import UploadRetries
from sitemap import create_file

_NAMES: Final = SettingNames("fleet", "state_store", "store_timeout", "raise the limit of the storage")
MAX_KEYS: Final = 1_000_000  # of a listing
_PIECE: Final = 1024 * 1024  # bytes

T = TypeVar("T")
_md5 = partial(hashlib.md5, usedforsecurity=False)  # which the storage compares


class BucketStore(StateStore):
    """A bucket, or a prefix in it. A PUT is atomic; a larger file than ``single`` is sent in parts of ``part`` bytes.

    https://docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html
    """

    single = 1 << 30  # a PUT takes 5 GiB at most
    part = 64 << 20  # kept in memory; the library takes larger ones if there would be more than 10,000

    def __init__(self, address: S3Address, section: FleetConfig, *, retries: int) -> None:
        """Nothing is sent yet. Raises UsageError."""
        where = f" at {section.s3_endpoint}" if section.s3_endpoint else ""
        self.name = f"{address.display_name}{where}"
        self._bucket = S3Bucket(address.bucket, section, section.store_timeout, _NAMES)
        self._prefix = address.prefix
        self._retries = UploadRetries(retries, anyio.sleep)

    @override
    async def _do(self, act: str, work: Callable[..., T], *values: Any) -> T:
        key, *others = values
        try:
            return await self._retries.run(lambda: self._bucket.call(act, partial(work, self._prefix + key, *others)))
        except UploadError as error:
            sentence = f"the state store {self.name} cannot be used: {error}"
            raise StoreFault(sentence, str(error), may_retry=error.may_retry) from None

    def _remove(self, key: str, client: Any) -> None:
        client.delete_object(Bucket=self._bucket.name, Key=key)

    def _put(self, key: str, file: Path, client: Any) -> None:
        """Send a file in one piece, whose MD5 the storage checks, or a large one in parts.

        Over HTTP, the storage checks the signed SHA-256 of a part:
        https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-auth-using-authorization-header.html
        """
        with file.open("rb") as body:
            if os.fstat(body.fileno()).st_size > self.single:
                parts = TransferConfig(self.single, multipart_chunksize=self.part, use_threads=False)
                client.upload_fileobj(body, self._bucket.name, key, Config=parts)
                return
            digest = base64.b64encode(hashlib.file_digest(body, _md5).digest()).decode()
            body.seek(0)
            client.put_object(Bucket=self._bucket.name, Key=key, Body=body, ContentMD5=digest)

    def _get(self, key: str, file: Path, client: Any) -> bool:
        try:
            answer = client.get_object(Bucket=self._bucket.name, Key=key)
        except Exception as error:
            if is_missing(error):
                return False
            raise
        file.unlink(missing_ok=True)
        with contextlib.closing(answer["Body"]) as content, create_file(file, 0o600) as copy:
            left = int(answer["ContentLength"])
            for piece in content.iter_chunks(_PIECE):
                left -= copy.write(piece)
                if left < 0:
                    raise ValueError("the object is longer than its Content-Length")
        return True

    def _keys(self, prefix: str, client: Any) -> list[str]:
        pages = client.get_paginator("list_objects_v2").paginate(Bucket=self._bucket.name, Prefix=prefix)
        keys: list[str] = []
        for number, page in enumerate(pages):
            keys += [item["Key"].removeprefix(self._prefix) for item in page.get("Contents", ())]
            if max(number, len(keys)) > MAX_KEYS:
                raise ValueError("the listing has no end")
        return keys
