"""S3: settings that cannot be used, and secrets that stand nowhere."""

from pathlib import Path

import pytest
from doubles_s3 import ACCESS, BUCKET, SECRET, Bucket
from uploads import Site

from crawler.errors import UsageError
from crawler.publish.upload.upload import check_upload

FIRST = ("", "a", "b", "c", "d")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"to": "ftp://host/x"}, r"must be like s3://bucket/prefix, sftp://"),
        ({"to": "https://me:hunter2@host/x"}, r"not 'https://\*\*\*@host/x'"),
        ({"to": "s3://"}, "the name of a bucket"),
        ({"to": "s3://AKID:hunter2@shop/maps"}, "Set keys with upload.s3_access_key"),
        ({"to": "s3://shop/../maps"}, "contains '.' or '..' as a path segment"),
        ({"s3_secret_key": "env:NOT_SET"}, "NOT_SET is not set"),
        ({"s3_secret_key": "file:/nonexistent/key"}, "file:/nonexistent/key"),
        ({"s3_secret_key": ""}, "work only together"),
        ({"s3_access_key": "", "s3_secret_key": ""}, "there are no keys for S3"),
        ({"s3_endpoint": "minio:9000"}, "must be a URL like"),
        ({"s3_endpoint": "https://AKID:hunter2@minio"}, "may contain only scheme, host and port"),
        ({"s3_region": "eu west"}, "upload: "),
    ],
)
def test_ours_settings_that_cannot_be_used_are_told_before_the_crawl(
    tmp_path: Path, settings: dict[str, object], change: dict[str, object], told: str
) -> None:
    with pytest.raises(UsageError, match=told) as caught:
        check_upload(Site(tmp_path, {**settings, **change}).plan)
    assert "hunter2" not in str(caught.value)


def test_ours_nothing_is_checked_that_is_not_wanted(tmp_path: Path, site: Site) -> None:
    check_upload(Site(tmp_path, {}).plan)
    check_upload(site.plan)


def test_ours_a_missing_extra_is_named(tmp_path: Path, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    for module in ("s3", "bucket"):
        monkeypatch.delitem(sys.modules, f"crawler.publish.upload.{module}", raising=False)
    monkeypatch.setitem(sys.modules, "boto3", None)
    with pytest.raises(UsageError, match=r"-m pip install 'boto3>="):
        check_upload(site.plan)


def test_ours_secrets_stand_in_no_file_and_no_log(
    site: Site, bucket: Bucket, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(0)
    site.publish(*FIRST)
    done = site.send()
    assert done.destination == f"s3://{BUCKET}/maps/ at {bucket.url}"
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert SECRET.encode() not in kept
    assert ACCESS.encode() not in kept
    assert SECRET not in caplog.text
    assert ACCESS not in caplog.text
