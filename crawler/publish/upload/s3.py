"""The S3 target, for S3 and compatible storages. A PUT is atomic: readers get the old object or the new one.

https://docs.aws.amazon.com/AmazonS3/latest/userguide/Welcome.html#ConsistencyModel
"""

import base64
import os
from collections.abc import Collection, Sequence
from typing import Any, Final, Self

from crawler.config.sections import UploadConfig
from crawler.publish.upload.bucket import S3Bucket, S3Settings, SettingNames, is_missing
from crawler.publish.upload.target import LocalFile, RemoteFile, S3Address, UploadError, target_name

_NAMES: Final = SettingNames("upload", "to", "timeout", "set output.max_bytes")
_DIGEST: Final = "siteatlas-sha256"  # metadata of our objects
_PAGE_SIZE: Final = 1000  # objects in a page of a listing

_FOREIGN_PAGES: Final = 10  # pages that foreign objects may fill

_PLAIN_TYPES: Final = ("", "AES256")  # with this encryption, an ETag is the MD5 of the content


class S3Target:
    """A bucket, or a prefix in it. Raises UsageError for invalid settings."""

    def __init__(self, section: UploadConfig, address: S3Address) -> None:
        settings = S3Settings(
            endpoint=section.s3_endpoint,
            region=section.s3_region,
            access_key=section.s3_access_key,
            secret_key=section.s3_secret_key,
            timeout=section.timeout,
            named=_NAMES,
        )
        self._bucket = S3Bucket(address.bucket, settings)
        self._prefix = address.prefix
        self._cache_control = section.cache_control
        self.display_name = target_name(section)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._bucket.close()

    def mark(self, local: LocalFile) -> str:
        """The ETag of an object that was uploaded in one piece, without a KMS key."""
        return local.md5

    def metadata(self, local: LocalFile) -> str:
        """Its headers."""
        return f"{local.content_type}\n{self._cache_control}"

    async def list_files(self, names: Collection[str]) -> dict[str, RemoteFile]:
        """One request per thousand objects; when foreign objects fill the listing, one per remaining name."""
        keys = {self._prefix + name: name for name in names}
        start = os.path.commonprefix(list(keys))  # noqa: RUF071 - letters, as keys are no paths
        files: dict[str, RemoteFile] = {}
        continuation: dict[str, str] = {}
        for _ in range(_FOREIGN_PAGES + 2 * len(keys) // _PAGE_SIZE):
            params = {"Prefix": start, "Delimiter": "/", "MaxKeys": _PAGE_SIZE, **continuation}
            page = await self._request("list_objects_v2", "listing its files", params)
            for item in page.get("Contents", ()):
                if (key := item.get("Key")) in keys:
                    files[keys[key]] = RemoteFile(int(item.get("Size", -1)), _etag(item))
            continuation = {"ContinuationToken": page.get("NextContinuationToken", "")}
            if not page.get("IsTruncated"):
                return files
            if not continuation["ContinuationToken"]:
                break
        for name in keys.values():
            if name not in files and (head := await self._head(name)):
                files[name] = RemoteFile(int(head.get("ContentLength", -1)), _etag(head))
        return files

    async def find_same(self, local: LocalFile) -> RemoteFile | None:
        """Compare headers: our digest, and the ETag where it depends on the content alone."""
        head = await self._head(local.name)
        digests = {key.lower(): value for key, value in head.get("Metadata", {}).items()}
        actual = (
            head.get("ContentLength"), digests.get(_DIGEST),
            head.get("ContentType"), head.get("CacheControl", ""), head.get("ContentEncoding", ""),
        )  # fmt: skip
        expected = (local.size, local.sha256, local.content_type, self._cache_control, "")
        is_opaque = head.get("ServerSideEncryption", "") not in _PLAIN_TYPES or "SSECustomerAlgorithm" in head
        if actual != expected or not (is_opaque or _etag(head) == local.md5):
            return None
        return RemoteFile(local.size, _etag(head))

    async def put(self, local: LocalFile) -> RemoteFile:
        """One PUT, whose bytes the storage checks against their MD5."""
        headers = {
            "Key": self._prefix + local.name,
            "ContentLength": local.size,
            "ContentMD5": base64.b64encode(bytes.fromhex(local.md5)).decode(),
            "ContentType": local.content_type,
            "Metadata": {_DIGEST: local.sha256},
            **({"CacheControl": self._cache_control} if self._cache_control else {}),
        }
        response = await self._request("put_object", f"putting {local.name} there", headers, local)
        if not (etag := _etag(response)):
            raise UploadError(
                f"it does not confirm that it stored {local.name}: check that upload.s3_endpoint is an S3 endpoint",
                again=True,
            )
        return RemoteFile(local.size, etag)

    async def remove(self, name: str) -> None:
        """Remove one object."""
        await self._request("delete_object", f"removing {name}", {"Key": self._prefix + name})

    async def remove_leftovers(self, names: Sequence[str]) -> None:
        """A PUT leaves nothing behind."""

    async def _head(self, name: str) -> dict[str, Any]:
        """The headers of an object, empty when there is none."""
        return await self._request("head_object", f"looking at {name}", {"Key": self._prefix + name})

    async def _request(
        self, operation: str, act: str, params: dict[str, Any], local: LocalFile | None = None
    ) -> dict[str, Any]:
        def send(client: Any) -> dict[str, Any]:
            method = getattr(client, operation)
            try:
                if local is None:
                    return dict(method(Bucket=self._bucket.name, **params))
                with local.open() as body:
                    return dict(method(Bucket=self._bucket.name, Body=body, **params))
            except Exception as error:
                if operation == "head_object" and is_missing(error):
                    return {}
                raise

        return await self._bucket.call(act, send)


def _etag(response: dict[str, Any]) -> str:
    return str(response.get("ETag") or "").strip('"')
