"""S3: what is sent, in which order, with which headers; what is left alone; and all the ways to be refused."""

import contextlib
import re
import socket
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from doubles_s3 import ACCESS, BUCKET, FINAL, PASSING, SECRET, Bucket, Fault, s3_double
from uploads import LEAD, Site, broken

from crawler.config.config import Config
from crawler.config.sections import UploadConfig
from crawler.errors import StorageError, UsageError
from crawler.publish.upload.files import local_file
from crawler.publish.upload.target import UploadError, UploadTarget
from crawler.publish.upload.upload import check_upload, connect_target

FIRST = ("", "a", "b", "c", "d")
SECOND = ("", "a", "b", "c", "d", "e", "f")


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


def there(bucket: Bucket) -> dict[str, bytes]:
    return {key.removeprefix("maps/"): stored.body for key, stored in bucket.objects.items()}


def test_ours_everything_is_sent_once_and_the_index_last(site: Site, bucket: Bucket) -> None:
    site.publish(*FIRST)
    done = site.send()
    assert there(bucket) == site.local()
    assert (done.sent, done.unchanged, done.removed) == (4, 0, 0)
    assert done.bytes == sum(map(len, site.local().values()))
    assert bucket.asked("PUT")[-1] == f"maps/{LEAD}"
    bucket.log.clear()
    done = site.send()
    assert (done.sent, done.unchanged, done.bytes) == (0, 4, 0)
    assert [asked.method for asked in bucket.log] == ["LIST"]  # all that an idle night costs


def test_ours_only_what_changed_is_sent_and_what_left_goes_later(site: Site, bucket: Bucket) -> None:
    site.publish(*SECOND)
    site.send()
    before, bucket.log = site.local(), []
    site.publish(*FIRST)
    done = site.send()
    changed = [name for name, body in site.local().items() if before[name] != body]
    assert sorted(bucket.asked("PUT")) == sorted(f"maps/{name}" for name in changed)
    assert (done.sent, done.removed, done.waiting) == (len(changed), 0, 1)
    assert "maps/sitemap-4.xml" in bucket.objects
    site.now += 99
    assert site.send().removed == 0
    site.now += 1
    done = site.send()
    assert (done.removed, done.waiting, done.sent) == (1, 0, 0)
    assert there(bucket) == site.local()


def test_ours_an_index_that_left_goes_before_the_files_that_it_names(site: Site, bucket: Bucket) -> None:
    site.output |= {"gzip": True}
    generations = []
    for pages in (FIRST[:1], FIRST, FIRST[:1]):  # one file has another name than the index of several
        site.publish(*pages)
        generations.append(site.local())
        site.send(grace_period=0.0)
    assert set(there(bucket)) == set(generations[2]) == {f"{LEAD}.gz"}
    for asked in bucket.log:
        files = {key.removeprefix("maps/"): stored.body for key, stored in asked.after.items()}
        assert broken(files, generations[1:2]) == "", (asked.method, asked.key)


def test_ours_a_file_that_comes_back_is_not_removed(site: Site, bucket: Bucket) -> None:
    site.publish(*SECOND)
    site.send()
    site.publish(*FIRST)
    site.send()
    site.publish(*SECOND)
    site.now += 1000
    assert site.send().removed == 0
    assert there(bucket) == site.local()


def test_ours_what_others_did_there_is_mended_and_what_is_theirs_stays(site: Site, bucket: Bucket) -> None:
    bucket.put("maps/sitemap-99.xml", b"theirs")
    bucket.put("maps/sub/sitemap-1.xml", b"theirs")
    site.publish(*SECOND)
    site.send()
    whole = dict(bucket.objects)
    del bucket.objects["maps/sitemap-1.xml"]
    bucket.put("maps/sitemap-2.xml", b"x" * len(whole["maps/sitemap-2.xml"].body))
    assert site.send().sent == 2
    assert bucket.objects == whole
    site.publish(*FIRST)
    site.send(grace_period=0.0)  # as nobody is to wait, it goes with the index that does not list it
    assert "maps/sitemap-4.xml" not in bucket.objects
    site.publish(*SECOND)
    site.send(grace_period=100.0)
    site.publish(*FIRST)
    site.send()
    bucket.put("maps/sitemap-4.xml", b"somebody else needs this name")
    site.now += 101
    assert site.send().removed == 0
    assert bucket.objects["maps/sitemap-4.xml"].body == b"somebody else needs this name"
    assert bucket.objects["maps/sitemap-99.xml"].body == b"theirs"


@pytest.mark.parametrize("kms", [False, True])
def test_ours_a_state_that_was_lost_costs_a_look_at_each_file_and_no_transfer(
    site: Site, bucket: Bucket, kms: bool
) -> None:
    bucket.kms = kms
    site.publish(*FIRST)
    site.send()
    (record,) = site.folder.glob("state/*/upload/record.json")
    for lost in (b"", b"{ garbage", None):
        record.unlink() if lost is None else record.write_bytes(lost)
        bucket.log.clear()
        assert (site.send().sent, len(bucket.asked("HEAD")), len(bucket.asked("PUT"))) == (0, 4, 0)
        bucket.log.clear()
        assert site.send().sent == 0
        assert [asked.method for asked in bucket.log] == ["LIST"]


def test_ours_other_headers_are_a_change(site: Site, bucket: Bucket) -> None:
    site.publish(*FIRST)
    site.send()
    assert site.send(cache_control="max-age=600").sent == 4
    assert bucket.objects[f"maps/{LEAD}"].headers["Cache-Control"] == "max-age=600"
    assert site.send().sent == 0


def test_sitemaps_org_content_types_are_those_of_the_files(site: Site, bucket: Bucket, tmp_path: Path) -> None:
    site.output |= {"stylesheet": "xsl", "gzip": True, "recent": "atom"}
    site.publish(*FIRST)
    (tmp_path / "public" / "sitemap-recent.atom").write_bytes(b"<feed/>")
    (tmp_path / "public" / "private.txt").write_bytes(b"not published")
    site.send()
    types = {key: stored.headers["Content-Type"] for key, stored in bucket.objects.items()}
    assert types == {
        "maps/sitemap.xml": "application/xml",
        **{f"maps/sitemap-{n}.xml.gz": "application/gzip" for n in (1, 2, 3)},
        "maps/sitemap.css": "text/css; charset=utf-8",
        "maps/sitemap.xsl": "text/xsl",
        "maps/sitemap-recent.atom": "application/atom+xml",
    }
    assert not any("Content-Encoding" in stored.headers for stored in bucket.objects.values())
    assert bucket.asked("PUT")[-1] == f"maps/{LEAD}"


def test_ours_a_listing_takes_pages_and_ends_where_others_fill_it(site: Site, bucket: Bucket) -> None:
    site.publish(*SECOND)
    site.send()
    bucket.log.clear()
    bucket.page = 2
    assert site.send().sent == 0
    assert len(bucket.asked("LIST")) == 3
    for number in range(100):
        bucket.put(f"maps/sitema{number}", b"")
        bucket.put(f"maps/sitemap.{number}", b"")
    bucket.log.clear()
    assert site.send().sent == 0
    assert len(bucket.asked("LIST")) == 10
    assert len(bucket.asked("HEAD")) <= 5


def test_ours_one_file_that_becomes_many_and_one_again(site: Site, bucket: Bucket) -> None:
    generations = []
    for pages in (("",), FIRST, ("", "a")):
        site.publish(*pages)
        generations.append(site.local())
        site.send()
    assert len(bucket.log) > 3
    for asked in bucket.log:
        files = {key.removeprefix("maps/"): stored.body for key, stored in asked.after.items()}
        assert broken(files, generations) == ""


def test_ours_at_every_moment_the_index_names_only_files_that_are_there(site: Site, bucket: Bucket) -> None:
    generations = []
    for pages, day in ((FIRST, "01"), (SECOND, "02"), (FIRST[:3], "03"), (SECOND, "03")):
        site.publish(*pages, lastmod=f"2026-01-{day}")
        generations.append(site.local())
        trouble = Fault("error", 503, "SlowDown")
        bucket.fails("PUT", None, trouble, trouble, Fault("cut after"))
        site.send(grace_period=0.0)
    moments = [asked.after for asked in bucket.log if asked.method in ("PUT", "DELETE")]
    assert len(moments) > 12
    for moment in moments:
        assert broken({key.removeprefix("maps/"): stored.body for key, stored in moment.items()}, generations) == ""
    assert there(bucket) == site.local()


def test_ours_an_upload_that_failed_leaves_the_old_index_and_is_made_good_by_the_next(
    site: Site, bucket: Bucket
) -> None:
    site.publish(*FIRST)
    site.send()
    first = there(bucket)
    site.publish(*SECOND)
    bucket.fails("PUT", None, *[Fault("error", 503, "SlowDown")] * 20)
    with pytest.raises(StorageError, match=r"it is busy or failed \(SlowDown\)\. The sitemap there can still be used"):
        site.send()
    assert site.slept[-3:] == [1.0, 2.0, 4.0]
    assert there(bucket)[LEAD] == first[LEAD]
    site.publish(*FIRST[:3])  # what the failed upload has put there is nobody's file, and goes in its time
    bucket.fails("PUT")
    site.send()
    site.now += 1000
    site.send()
    assert there(bucket) == site.local()


def test_ours_what_could_not_be_replaced_is_still_ours_and_goes_when_it_left(site: Site, bucket: Bucket) -> None:
    site.publish(*SECOND, lastmod="2026-01-01")
    site.send()
    site.publish(*SECOND, lastmod="2026-01-02")
    denied = Fault("error", 403, "AccessDenied")
    bucket.fault = lambda method, key, number: denied if (method, key) == ("PUT", "maps/sitemap-4.xml") else None
    for _ in range(2):
        with pytest.raises(StorageError, match=r"does not allow putting sitemap-4\.xml there"):
            site.send()
    bucket.fails("PUT")
    site.publish(*FIRST, lastmod="2026-01-03")
    assert site.send(grace_period=0.0).removed == 1
    assert there(bucket) == site.local()


def test_ours_our_metadata_on_bytes_that_are_not_ours_is_not_believed(site: Site, bucket: Bucket) -> None:
    site.publish(*FIRST)
    site.send()
    stored = bucket.objects["maps/sitemap-1.xml"]
    bucket.put("maps/sitemap-1.xml", b"x" * len(stored.body), **stored.headers)
    (record,) = site.folder.glob("state/*/upload/record.json")
    record.unlink()
    assert site.send().sent == 1
    assert there(bucket) == site.local()


def test_ours_what_cannot_be_removed_is_said_and_fails_nothing(site: Site, bucket: Bucket) -> None:
    site.publish(*SECOND)
    site.send()
    site.publish(*FIRST)
    bucket.always("DELETE", Fault("error", 403, "AccessDenied"))
    done = site.send(grace_period=0.0)
    assert (done.removed, done.waiting) == (0, 1)
    assert "sitemap-4.xml is no longer part of the sitemap, but could not be removed" in site.said[0]
    bucket.fails("DELETE")
    assert site.send().removed == 1


def opened(settings: dict[str, object]) -> UploadTarget:
    return connect_target(Config(upload=UploadConfig.model_validate(settings)), lambda text: None)


def refused(place: UploadTarget, file: Path) -> UploadError:
    with pytest.raises(UploadError) as caught:
        anyio.run(place.put, local_file(file, None))
    text = str(caught.value)
    assert SECRET not in text
    assert text.isprintable()
    assert len(text) < 400
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    return caught.value


def test_s3_reference_every_documented_error_is_a_sentence_and_tried_again_only_when_it_may_help(
    bucket: Bucket, settings: dict[str, object], tmp_path: Path
) -> None:
    (tmp_path / "a.xml").write_bytes(b"<a/>")
    place = opened(settings)
    for table, again in ((FINAL, False), (PASSING, True)):
        for status, codes in table.items():
            for code in codes.split():
                bucket.always("PUT", Fault("error", status, code.rstrip("0123456789")))
                told = refused(place, tmp_path / "a.xml")
                assert told.may_retry is (again or status == 501), (status, code, str(told))


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (Fault("cut"), "cut in the middle"),
        (Fault("reset"), "cut in the middle"),
        (Fault("raw", body=b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort"), ""),
        (Fault("raw", body=b"\x16\x03\x01 no HTTP at all\r\n\r\n"), ""),
        (Fault("garbage", 200, body=b"<html>Welcome to the hotel</html>"), "does not confirm that it stored"),
        (Fault("garbage", 503, body=b"<html>Sorry"), "busy or failed"),
        (Fault("garbage", 500, body=b"\xff\xfe\x00"), ""),
        (Fault("garbage", 403, body=b""), "the keys need s3:PutObject"),
        (
            Fault("error", 301, "PermanentRedirect", headers={"x-amz-bucket-region": "eu-north-1"}),
            r"in another region \(eu-north-1\): set upload.s3_region",
        ),
        (Fault("garbage", 200, body=b""), "does not confirm that it stored"),
    ],
)
def test_ours_slowness_cuts_and_garbage_end_in_a_sentence(
    bucket: Bucket, settings: dict[str, object], tmp_path: Path, fault: Fault, told: str
) -> None:
    (tmp_path / "a.xml").write_bytes(b"<a/>")
    bucket.always("PUT", fault)
    error = refused(opened(settings), tmp_path / "a.xml")
    assert re.search(told, str(error))
    assert error.may_retry is (fault.status not in (301, 403))


def test_ours_who_does_not_answer_in_time_is_not_waited_for(
    bucket: Bucket, settings: dict[str, object], tmp_path: Path
) -> None:
    (tmp_path / "a.xml").write_bytes(b"<a/>")
    bucket.always("PUT", Fault("slow", seconds=1.0))
    error = refused(opened({**settings, "timeout": 0.1}), tmp_path / "a.xml")
    assert "in time (upload.timeout)" in str(error)
    assert error.may_retry


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


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"to": "s3://absent/maps"}, "the bucket absent does not exist: create it"),
        ({"s3_access_key": "AKIDOTHER"}, "the access key is unknown there"),
    ],
)
def test_ours_what_a_person_must_correct_is_not_tried_again(
    site: Site, bucket: Bucket, change: dict[str, object], told: str
) -> None:
    site.publish(*FIRST)
    with pytest.raises(StorageError, match=told):
        site.send(**change)
    assert site.slept == []
    assert bucket.objects == {}


def test_ours_who_is_not_there_is_tried_again_and_then_told(site: Site) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{probe.getsockname()[1]}"
        site.publish(*FIRST)
        with pytest.raises(StorageError, match="it cannot be reached"):
            site.send(s3_endpoint=url, retries=2)
    assert site.slept == [1.0, 2.0]


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


def test_ours_a_local_file_that_is_not_the_published_one_is_not_sent(site: Site, bucket: Bucket) -> None:
    site.publish(*FIRST)
    (site.folder / "public" / "sitemap-2.xml").write_bytes(b"<cut")
    with pytest.raises(StorageError, match="has changed since run 1 published the file"):
        site.send()
    (site.folder / "public" / "sitemap-2.xml").unlink()
    with pytest.raises(StorageError, match=r"the published file .* cannot be read"):
        site.send()
    assert bucket.log == []


def test_ours_a_file_that_is_replaced_while_it_is_sent_is_noticed(tmp_path: Path) -> None:
    file = tmp_path / "a.xml"
    file.write_bytes(b"one")
    found = local_file(file, None)
    file.unlink()
    file.write_bytes(b"two")
    with pytest.raises(UploadError, match="replaced by another run during the upload"):
        found.open()


@pytest.mark.parametrize("size", [1 << 20, 1 << 16, 3])
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
