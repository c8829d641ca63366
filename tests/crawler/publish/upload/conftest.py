"""A bucket, and a site that is uploaded there."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from doubles_s3 import ACCESS, BUCKET, SECRET, Bucket, s3_double
from uploads import Site


@pytest.fixture
def bucket() -> Iterator[Bucket]:
    with s3_double() as double:
        yield double


@pytest.fixture
def settings(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    for name in ("AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
    monkeypatch.setenv("SHOP_SECRET", SECRET)
    return {
        "to": f"s3://{BUCKET}/maps",
        "s3_endpoint": bucket.url,
        "s3_access_key": ACCESS,
        "s3_secret_key": "env:SHOP_SECRET",
        "grace_period": 100.0,
        "timeout": 5.0,
    }


@pytest.fixture
def site(tmp_path: Path, settings: dict[str, object]) -> Site:
    return Site(tmp_path, settings)
