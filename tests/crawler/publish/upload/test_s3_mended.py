"""S3: what others did there, what failed and what was lost is mended by the next upload."""

import pytest
from doubles_s3 import Bucket, Fault, there
from uploads import LEAD, Site, broken

from crawler.errors import StorageError

FIRST = ("", "a", "b", "c", "d")


SECOND = ("", "a", "b", "c", "d", "e", "f")


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
