"""Uploads, wherever to: which files are of the set, who may upload at a time, what is remembered of which place."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from doubles_s3 import ACCESS, BUCKET, Bucket, Fault, s3_double
from uploads import LEAD, Site

from crawler.errors import StateInUse, StorageError
from crawler.fetch.header_values import content_type
from crawler.publish.upload.files import file_names
from crawler.publish.upload.upload import UPLOAD_DIRECTORY
from crawler.state.lock import hold_lock

PAGES = ("", "a", "b", "c", "d")


@pytest.fixture
def bucket() -> Iterator[Bucket]:
    with s3_double() as double:
        yield double


@pytest.fixture
def site(tmp_path: Path, bucket: Bucket) -> Site:
    keys = {"s3_access_key": ACCESS, "s3_secret_key": "secret", "s3_region": "eu-west-1"}
    return Site(tmp_path, {"to": f"s3://{BUCKET}/one", "s3_endpoint": bucket.url, "grace_period": 0.0, **keys})


def test_ours_the_set_is_what_the_run_recorded_and_what_is_published_beside_it(site: Site, tmp_path: Path) -> None:
    run = site.publish(*PAGES)
    children = [f"sitemap-{number}.xml" for number in (1, 2, 3)]
    for name in ("sitemap-4.xml", "sitemap-recent.rss", "sitemap.css", "notes.txt", ".hidden"):
        (tmp_path / "public" / name).write_bytes(b"of somebody else")
    assert file_names(site.plan, run) == [*children, LEAD]
    site.output |= {"recent": "rss", "stylesheet": "css"}
    assert file_names(site.plan, run) == ["sitemap.css", "sitemap-recent.rss", *children, LEAD]
    site.output |= {"recent_name": "neues über uns.rss"}
    assert file_names(site.plan, run) == ["sitemap.css", *children, LEAD]  # there is none of that name yet
    back = type(run)(number=9, started=0, version="", outcome="rolled back", files=run.files[::-1])
    assert file_names(site.plan, back) == file_names(site.plan, run)


@pytest.mark.thorough
def test_ours_one_packed_file_leads_to_itself(site: Site, bucket: Bucket) -> None:
    site.output |= {"gzip": True}
    run = site.publish("", "a")
    assert file_names(site.plan, run) == ["sitemap.xml.gz"]
    site.send()
    site.publish(*PAGES)
    assert file_names(site.plan, site.run or run)[-1] == LEAD
    assert site.send().removed == 1
    assert "one/sitemap.xml.gz" not in bucket.objects


def test_ours_nobody_is_told_of_a_sitemap_that_was_never_uploaded(site: Site, bucket: Bucket) -> None:
    site.publish(*PAGES)
    bucket.fault = lambda method, key, number: Fault("error", 403, "AccessDenied") if method == "PUT" else None
    for _ in range(2):
        with pytest.raises(StorageError, match=r"\. The next run continues the upload$"):
            site.send()
    bucket.fault = lambda method, key, number: None
    site.send()
    site.publish(*PAGES[:2])
    bucket.fault = lambda method, key, number: Fault("error", 403, "AccessDenied") if method == "PUT" else None
    with pytest.raises(StorageError, match=r"\. The sitemap there can still be used, and the next run"):
        site.send()


def test_ours_only_one_process_uploads_the_files_of_a_site(site: Site, bucket: Bucket) -> None:
    site.publish(*PAGES)
    held = hold_lock(site.plan.state / UPLOAD_DIRECTORY)
    try:
        with pytest.raises(StateInUse, match=f"another process \\({os.getpid()}\\)"):
            site.send()
    finally:
        os.close(held)
    assert bucket.log == []


def test_ours_each_place_is_remembered_for_itself(site: Site, bucket: Bucket) -> None:
    site.publish(*PAGES)
    site.send()
    assert site.send(to=f"s3://{BUCKET}/two").sent == 4
    assert site.send(to=f"s3://{BUCKET}/one").sent == 0
    site.publish("")
    assert site.send().removed == 3
    assert len([key for key in bucket.objects if key.startswith("two/")]) == 4


def test_ours_what_cannot_be_remembered_is_not_sent(site: Site, bucket: Bucket) -> None:
    site.publish(*PAGES)
    (site.plan.state / UPLOAD_DIRECTORY / ".record.json.draft").mkdir(parents=True)
    with pytest.raises(StorageError, match=r"record\.json, in which uploads are recorded, cannot be used"):
        site.send()
    assert bucket.asked("PUT") == []


def test_ours_no_file_is_begun_after_one_has_failed(site: Site, bucket: Bucket) -> None:
    site.output |= {"max_urls": 1}
    site.publish(*(str(number) for number in range(40)))
    bucket.always("PUT", Fault("error", 403, "AccessDenied"))
    with pytest.raises(StorageError, match="it does not allow putting sitemap-"):
        site.send()
    assert len(bucket.asked("PUT")) <= 8  # of the four that were under way, and those begun until the news spread
    assert f"one/{LEAD}" not in bucket.asked("PUT")


@pytest.mark.parametrize(
    ("name", "type_"),
    [
        ("sitemap.xml", "application/xml"),
        ("sitemap.XML.GZ", "application/gzip"),
        ("sitemap.txt", "text/plain; charset=utf-8"),
        ("sitemap-recent.rss", "application/rss+xml"),
        ("sitemap", "application/octet-stream"),
    ],
)
def test_sitemaps_org_types_follow_the_names(name: str, type_: str) -> None:
    assert content_type(name) == type_
