"""S3: answers of garbage and without an end, and files that are not as they were."""

import contextlib

import pytest
from doubles_s3 import Bucket, Fault, there
from uploads import Site

from crawler.errors import StorageError

FIRST = ("", "a", "b", "c", "d")


@pytest.mark.parametrize("body", [b"", b"<html></html>", b"{}", b"<ListBucketResult><Contents/>", b"\0" * 9])
def test_ours_a_listing_of_garbage_is_no_empty_bucket_or_at_worst_one(site: Site, bucket: Bucket, body: bytes) -> None:
    site.publish(*FIRST)
    site.send()
    held = dict(bucket.objects)
    bucket.always("LIST", Fault("garbage", 200, body=body))
    with contextlib.suppress(StorageError):
        site.send(retries=0)
    assert bucket.objects == held


def test_ours_a_damaged_file_is_sent_again(site: Site, bucket: Bucket) -> None:
    site.publish(*FIRST)
    bucket.fails("PUT", Fault("error", 400, "BadDigest"))
    site.send()
    assert there(bucket) == site.local()
    assert site.slept == [1.0]


def test_ours_a_local_file_that_is_not_the_published_one_is_not_sent(site: Site, bucket: Bucket) -> None:
    site.publish(*FIRST)
    (site.folder / "public" / "sitemap-2.xml").write_bytes(b"<cut")
    with pytest.raises(StorageError, match="has changed since run 1 published the file"):
        site.send()
    (site.folder / "public" / "sitemap-2.xml").unlink()
    with pytest.raises(StorageError, match=r"the published file .* cannot be read"):
        site.send()
    assert bucket.log == []


@pytest.mark.parametrize("size", [1 << 20, 1 << 16, pytest.param(3, marks=pytest.mark.thorough)])
def test_ours_an_answer_without_an_end_is_read_up_to_a_limit(site: Site, bucket: Bucket, size: int) -> None:
    """In large and small pieces, and in drops: the last ends by the time limit."""
    site.upload["timeout"] = 0.5
    site.publish(*FIRST)
    bucket.always("LIST", Fault("endless", 200, body=b"<" * size, seconds=0.0 if size > 3 else 0.02))
    with pytest.raises(
        StorageError, match="did not respond to listing" if size == 3 else "listing its files is not valid"
    ):
        site.send()
    assert bucket.endless < 200_000_000
