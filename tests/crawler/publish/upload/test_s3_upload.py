"""S3: what is sent, in which order, with which headers; and what is left alone."""

from pathlib import Path

from doubles_s3 import Bucket, there
from uploads import LEAD, Site, broken

FIRST = ("", "a", "b", "c", "d")
SECOND = ("", "a", "b", "c", "d", "e", "f")


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
