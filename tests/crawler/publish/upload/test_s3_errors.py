"""S3: all the ways to be refused, and to get no answer."""

import re
import socket
from pathlib import Path

import anyio
import pytest
from doubles_s3 import FINAL, PASSING, SECRET, Bucket, Fault
from uploads import Site

from crawler.config.config import Config
from crawler.config.sections import UploadConfig
from crawler.errors import StorageError
from crawler.publish.upload.files import local_file
from crawler.publish.upload.target import UploadError, UploadTarget
from crawler.publish.upload.upload import connect_target

FIRST = ("", "a", "b", "c", "d")


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


def test_ours_a_file_that_is_replaced_while_it_is_sent_is_noticed(tmp_path: Path) -> None:
    file = tmp_path / "a.xml"
    file.write_bytes(b"one")
    found = local_file(file, None)
    file.unlink()
    file.write_bytes(b"two")
    with pytest.raises(UploadError, match="replaced by another run during the upload"):
        found.open()
