"""What is published as files: their permissions, and going back to the set before."""

import json
import os
import shutil
import sqlite3
import stat
from contextlib import closing
from pathlib import Path
from typing import Any

from run import crawl, listed, published, siteatlas
from scripted import Answer, Route, links, scripted

from crawler.publish.write import PublishedDigests
from crawler.state.schema import STATE_DB
from sitemap import Entry, read

URL = "https://www.example.com/"


def write(folder: Path, **pages: str) -> None:
    site = folder / "site"
    site.mkdir(exist_ok=True)
    links = "".join(f'<a href="/{name}.html">{name}</a>' for name in pages)
    for name, text in {**pages, "index": f"{links} {len(pages)} pages"}.items():
        (site / f"{name}.html").write_text(f"<title>{name}</title><main><p>{text}</p></main>")


def test_ours_rollback_publishes_the_previous_set_again_and_says_so(tmp_path: Path) -> None:
    words = ("crawl", URL, "--source", "site", "-o", "out", "--group", "section", "--set=output.swap_delay=0", "-q")
    sets = []
    for pages in ({"a": "one"}, {"a": "one", "b": "two"}, {"a": "one", "b": "two", "c": "three"}):
        write(tmp_path, **pages)
        assert siteatlas(tmp_path, *words, "--set=output.grace_period=0").code == 0
        sets.append(published(tmp_path))
        if len(sets) == 1:
            alone = siteatlas(tmp_path, "rollback", URL, "-o", "out")
            said = "there is no earlier sitemap to publish again. The runs with a copy (--to RUN) are 1"
            assert (alone.code, said in alone.err) == (2, True)
    assert sets[0] != sets[1] != sets[2]

    went_back = siteatlas(tmp_path, "rollback", URL, "-o", "out", anew=True)
    first, changes, note = went_back.out.splitlines()
    assert (went_back.code, first) == (0, "the sitemap of run 2 is published again: 3 pages in out")
    assert changes.startswith("  0 added, ")
    assert changes.endswith(", 1 removed")
    assert "otherwise, the next run publishes the same sitemap as before the rollback" in note
    assert published(tmp_path) == sets[1]
    (site,) = json.loads(siteatlas(tmp_path, "status", "--json").out)["sites"]
    run = site["runs"][0]
    assert (run["outcome"], run["removed"], site["published"]["pages"]) == ("rolled back", 1, 3)
    (gone,) = _told(tmp_path, "removed")
    assert (gone["url"], gone["reason"]) == (f"{URL}c.html", "the sitemap of run 2 is published again")
    assert list(tmp_path.glob(".siteatlas/*/changes/000004.jsonl"))

    named = "run 4 was a rollback: the sitemap of run 2 is published again, so these changes may not be published now"
    for form in ("text", "json", "html"):
        assert named in siteatlas(tmp_path, "compare", "--format", form).out

    twice = siteatlas(tmp_path, "rollback", URL, "-o", "out").out.splitlines()
    assert twice[0].startswith("the sitemap of run 2 is published already (--to RUN publishes another one): 3 pages")
    assert not [line for line in twice if "removed" in line]
    assert json.loads(siteatlas(tmp_path, "status", "--json").out)["sites"][0]["runs"][0] == run

    forgotten = siteatlas(tmp_path, "rollback", URL, "-o", "out", "--to", "1")
    assert forgotten.code == 2
    assert "there is no copy of the sitemap of run 1. The runs with a copy (--to RUN) are 2, 3" in forgotten.err
    assert published(tmp_path) == sets[1]

    again = siteatlas(tmp_path, *words[:-1], "--set=output.grace_period=0")
    assert "the changes of this run are counted from the rollback" in again.out
    assert published(tmp_path) == sets[2], "the next run publishes what it finds"
    (back,) = _told(tmp_path, "added")
    assert (back["url"], back["run"]) == (f"{URL}c.html", 5)
    status = siteatlas(tmp_path, "status").out
    assert "4 pages in 1 file published, written by run 5:" in status, status
    both = json.loads(siteatlas(tmp_path, "compare", "3", "5", "--format", "json").out)
    assert [(change["kind"], change["url"]) for change in both["sitemap"]["changes"]] == [("changed", f"{URL}c.html")]
    assert both["sitemap"]["rollback"] == ""


def _told(folder: Path, kind: str) -> list[dict[str, Any]]:
    """What the last step that changed the set did, of one kind."""
    *_, last = sorted(folder.glob(".siteatlas/*/changes/*.jsonl"))
    return [each for each in map(json.loads, last.read_text().splitlines()) if each["kind"] == kind]


def test_ours_a_site_without_dates_is_told_once_how_pages_get_some(tmp_path: Path) -> None:
    note = "no page has a lastmod, because none states when it was last changed"
    with scripted({"/": links("/a"), "/a": links()}) as site:
        words = ("crawl", site.url, "-o", "out", "--set=output.swap_delay=0")
        assert note not in siteatlas(tmp_path, *words, "--lastmod", "none").out
        told = [note in " ".join(siteatlas(tmp_path, *words).out.split()) for _ in range(2)]
        assert told == [True, False]
        dated = links("/a", head='<meta property="article:modified_time" content="2026-03-04">')
        site.routes["/"] = Answer(dated)
        assert note not in siteatlas(tmp_path, *words).out
        assert "lastmod>2026" in (tmp_path / "out/sitemap.xml").read_text()


def test_ours_a_try_in_another_directory_is_told_that_it_shares_the_state(tmp_path: Path) -> None:
    write(tmp_path, a="one")
    words = ("crawl", URL, "--source", "site", "--set=output.swap_delay=0")
    assert "wrote to" not in siteatlas(tmp_path, *words, "-o", "out").out
    told = " ".join(siteatlas(tmp_path, *words, "-o", "try", "--lastmod", "page").out.split())
    assert f"the last run of this state wrote to {tmp_path / 'out'}, and the next run there continues" in told
    assert "no page has a lastmod, because none states when it was last changed (dateModified," in told
    assert "wrote to" not in siteatlas(tmp_path, *words, "-o", "try").out
    assert "the last run of this state wrote to" in siteatlas(tmp_path, *words, "-q", "-o", "out").err


def test_ours_going_back_drops_a_run_that_was_cut_short_and_says_so(tmp_path: Path) -> None:
    words = ("crawl", URL, "--source", "site", "-o", "out", "--set=output.swap_delay=0", "-q")
    for pages in ({"a": "one"}, {"a": "one", "b": "two"}):
        write(tmp_path, **pages)
        assert siteatlas(tmp_path, *words).code == 0
    assert siteatlas(tmp_path, *words, "--max-pages", "1").code == 4
    said = siteatlas(tmp_path, "rollback", URL, "-o", "out").out
    assert "run 3, which was cut short, is discarded" in said
    assert siteatlas(tmp_path, *words).code == 0
    (site,) = json.loads(siteatlas(tmp_path, "status", "--json").out)["sites"]
    assert [run["outcome"] for run in site["runs"]] == ["published", "rolled back", "published", "published"]


def test_ours_rollback_of_a_site_without_state_is_a_clear_line(tmp_path: Path) -> None:
    ended = siteatlas(tmp_path, "rollback", URL, "-o", "out")
    assert ended.code == 2
    assert "contains no state" in ended.err
    assert not (tmp_path / ".siteatlas").exists()


def test_ours_new_files_have_the_mode_that_is_asked_for_and_replaced_ones_keep_theirs(tmp_path: Path) -> None:
    write(tmp_path, a="one")
    words = ("crawl", URL, "--source", "site", "-o", "out", "-q")
    umask = os.umask(0o077)
    try:
        assert siteatlas(tmp_path, *words, "--set=output.mode=0640").code == 0
        sitemap = tmp_path / "out" / "sitemap.xml"
        assert stat.S_IMODE(sitemap.stat().st_mode) == 0o640
        sitemap.chmod(0o604)
        write(tmp_path, a="one", b="two")
        assert siteatlas(tmp_path, *words, "--set=output.mode=0640").code == 0
    finally:
        os.umask(umask)
    assert stat.S_IMODE(sitemap.stat().st_mode) == 0o604
    wrong = siteatlas(tmp_path, *words, "--set=output.mode=rw-r--r--")
    assert (wrong.code, "output.mode (--set output.mode): permissions must be an octal number" in wrong.err) == (
        2,
        True,
    )


def test_ours_an_address_that_moves_between_one_packed_file_and_an_index_is_said_and_used(tmp_path: Path) -> None:
    to = ("-o", "out", "--set=output.swap_delay=0", "--set=output.grace_period=0")
    (tmp_path / "hook.toml").write_text(
        '[notify]\ncheck_live = false\n[hook]\ncommand = ["sh", "-c", "cat > told.json"]\n'
    )
    words = (URL, "--source", "site", *to, "--gzip", "--set=output.max_urls=3", "--config", "hook.toml")
    write(tmp_path, a="a", b="b")
    assert "changed from" not in siteatlas(tmp_path, "crawl", *words).out
    assert json.loads((tmp_path / "told.json").read_bytes())["sitemap_url"] == f"{URL}sitemap.xml.gz"
    write(tmp_path, a="a", b="b", c="c")
    grown = siteatlas(tmp_path, "crawl", *words, "--json")
    assert grown.code == 0, grown.err
    told = json.loads(grown.out)
    said = f"the URL of the sitemap changed from {URL}sitemap.xml.gz to {URL}sitemap.xml: replace the old URL in robots"
    assert any(note.startswith(said) for note in told["notes"])
    assert told["sitemap_url"] == f"{URL}sitemap.xml"
    assert json.loads((tmp_path / "told.json").read_bytes())["sitemap_url"] == f"{URL}sitemap.xml"
    back = siteatlas(tmp_path, "rollback", URL, *to)
    assert f"changed from {URL}sitemap.xml to {URL}sitemap.xml.gz" in back.out
    (standing,) = json.loads(siteatlas(tmp_path, "status", "--json").out)["sites"]
    assert standing["sitemap_url"] == f"{URL}sitemap.xml.gz"
    siteatlas(tmp_path, "robots", URL, "--patch", "robots.txt")
    assert (tmp_path / "robots.txt").read_text() == f"Sitemap: {URL}sitemap.xml.gz\n"
    siteatlas(tmp_path, "rollback", URL, *to, "--to", "2")
    (standing,) = json.loads(siteatlas(tmp_path, "status", "--json").out)["sites"]
    assert standing["published"]["files"][0]["url"] == f"{URL}sitemap.xml"  # the index leads


def test_ours_a_run_says_that_a_page_and_its_index_file_are_the_same(tmp_path: Path) -> None:
    write(tmp_path, a="one", b="two")
    (tmp_path / "site" / "c.html").write_bytes((tmp_path / "site" / "b.html").read_bytes())
    (tmp_path / "site" / "a.html").write_text('<a href="b.html">b</a><a href="c.html">c</a>')
    words = ("crawl", URL, "--source", "site", "-o", "out", "--set=output.swap_delay=0")
    copy = f"note: 1 listed page is an exact copy of another one, such as {URL}c.html of {URL}b.html"
    assert copy in siteatlas(tmp_path, *words).out
    (tmp_path / "site" / "c.html").write_text("<p>three")
    assert "exact copy" not in siteatlas(tmp_path, *words).out


def test_ours_dates_of_a_build_are_told_of_as_lint_would(tmp_path: Path) -> None:
    write(tmp_path, **{f"p{number}": f"text {number}" for number in range(30)})
    os.utime(tmp_path / "site" / "index.html", (1_600_000_000, 1_600_000_000))
    for number in range(30):
        os.utime(tmp_path / "site" / f"p{number}.html", (1_700_000_000, 1_700_000_000 + (number > 20)))
    words = ("crawl", URL, "--source", "site", "-o", "out", "--set=output.swap_delay=0")
    note = "note: 30 of 31 lastmods lie between 2023-11-14T22:13:20 and 22:13:21, like those of a build"
    summary = siteatlas(tmp_path, *words).out
    assert note in summary, summary
    assert "like those of a build" not in siteatlas(tmp_path, *words).out  # once is enough
    assert "lastmod.build_stamp" in siteatlas(tmp_path, "lint", "out/sitemap.xml", "--url", f"{URL}sitemap.xml").out
    without = siteatlas(tmp_path, *words, "--lastmod", "none", "--fresh").out
    assert "31 pages listed" in without
    assert "lastmods" not in without


def test_ours_the_date_in_a_page_is_better_evidence_than_the_time_of_a_build(tmp_path: Path) -> None:
    names = [f"p{number}" for number in range(100)]
    write(tmp_path, **dict.fromkeys(names, "text"))
    stamps = [1_700_000_000 + second for second, pages in enumerate((44, 36, 17, 3)) for _ in range(pages)]
    for number, (name, stamp) in enumerate(zip(names, stamps, strict=True)):
        page = tmp_path / "site" / f"{name}.html"
        stated = f'<meta property="article:modified_time" content="2022-{1 + number % 12:02}-07T08:00:00+00:00">'
        page.write_text(page.read_text() + (stated if number >= 60 else ""))
        os.utime(page, (stamp, stamp))
    os.utime(tmp_path / "site" / "index.html", (1_600_000_000, 1_600_000_000))
    words = ("crawl", URL, "--source", "site", "-o", "out", "--set=output.swap_delay=0")
    summary = siteatlas(tmp_path, *words).out
    dates = {entry.loc: entry.lastmod for entry in read(tmp_path / "out" / "sitemap.xml") if isinstance(entry, Entry)}
    assert dates[f"{URL}p0.html"] == "2023-11-14T22:13:20+00:00"
    assert dates[f"{URL}p60.html"] == "2022-01-07T08:00:00+00:00"
    assert dates[f"{URL}"] == "2020-09-13T12:26:40+00:00"
    assert "60 of 101 lastmods lie between 2023-11-14T22:13:20 and 22:13:21, like those of a build" in summary, summary
    story = siteatlas(tmp_path, "why", f"{URL}p60.html").out
    reason = "was not used: the Last-Modified times of 100 pages lie between 2023-11-14T22:13:20 and 22:13:23"
    assert reason in " ".join(story.split()), story


def test_ours_what_the_keys_of_output_publish_passes_lint(tmp_path: Path) -> None:
    write(tmp_path, a="one", b="two", c='<img src="/d.png"><video src="/e.mp4" poster="/f.png" title="A film"></video>')
    looks = {"stylesheet": "css", "recent": "atom", "formats": ["text", "rss"]}
    shards = {"group": "section", "file_names": "pages-{group}-{n}.xml", "max_urls": 2, "gzip": True}
    hints = {"changefreq": "weekly", "priority": 0.5}  # search engines ignore them, as lint and their texts say
    undated = {"index.no_lastmod", "feed.no_date"}  # a first crawl knows no date of these files
    for keys, known in ((looks, undated), (shards, undated), (looks | shards | hints, undated | {"hint.ignored"})):
        words = [f"--set=output.{key}={json.dumps(value)}" for key, value in keys.items()]
        out = "-".join(keys)
        ran = siteatlas(tmp_path, "crawl", URL, "--source", "site", "-o", out, "--state", f"state {out}", *words)
        assert ran.code == 0, ran.err
        names = [path.name for path in (tmp_path / out).iterdir()]
        for name in [name for name in names if name.removesuffix(".gz").endswith((".xml", ".atom", ".txt"))]:
            told = siteatlas(tmp_path, "lint", f"{out}/{name}", "--url", f"{URL}{name}", "--format", "json").out
            assert {found["rule"] for found in json.loads(told)["findings"]} <= known, (keys, name)
        assert "sitemap.xml" in names


def test_ours_a_sitemap_of_somebody_else_is_not_overwritten(tmp_path: Path) -> None:
    foreign = b"<?xml version='1.0'?><urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'/>"
    (tmp_path / "out").mkdir()
    for name in ("sitemap.xml", "sitemap.xml.gz"):
        (tmp_path / "out" / name).write_bytes(foreign)
        with scripted({"/": links("/a"), "/a": "x"}) as site:
            ran = crawl(tmp_path, site.url)
            assert ran.code == 2
            assert all(word in ran.err for word in (f"out/{name} already exists", "--replace", "-o")), ran.err
            assert not site.log
            shown = siteatlas(tmp_path, "status").out
            assert "cut short" not in shown
            assert f"out/{name} already exists" in " ".join(shown.split())
            tried = crawl(tmp_path, site.url, "--dry-run")
            assert (tried.code, "2 pages would be listed" in tried.out) == (2, True)
            assert f"a run would be refused: out/{name} already exists" in " ".join(tried.out.split())
            sites = json.loads(siteatlas(tmp_path, "status", "--json").out)["sites"]
            assert ("dry", 2) in [(each["runs"][0]["outcome"], each["runs"][0]["exit_code"]) for each in sites]
            assert crawl(tmp_path, site.url, "--dry-run", "--replace").code == 0
            assert (tmp_path / "out" / name).read_bytes() == foreign
            gzip = ("--gzip",) if name.endswith(".gz") else ()
            assert crawl(tmp_path, site.url, "--replace", *gzip).code == 0
            assert crawl(tmp_path, site.url, *gzip).code == 0  # now it is ours
        (tmp_path / "out" / name).unlink()


def test_ours_files_of_a_run_that_was_killed_before_it_recorded_them_are_ours(tmp_path: Path) -> None:
    with scripted({"/": links("/a"), "/a": "x"}) as site:
        assert crawl(tmp_path, site.url).code == 0
        (state,) = (tmp_path / ".siteatlas").glob("*/state.db")
        with closing(sqlite3.connect(state)) as db, db:
            db.executescript("DELETE FROM published; DELETE FROM memory; UPDATE run SET files = '[]', ended = NULL")
        ran = crawl(tmp_path, site.url)
        assert ran.code == 0, ran.err


def test_ours_a_file_that_somebody_changed_is_noted_once_and_replaced(tmp_path: Path) -> None:
    with scripted({"/": links("/a"), "/a": "x"}) as site:
        assert crawl(tmp_path, site.url).code == 0
        before = published(tmp_path)
        assert "somebody" not in crawl(tmp_path, site.url).out
        path = tmp_path / "out" / "sitemap.xml"
        path.write_bytes(path.read_bytes().replace(b"/a<", b"/b<"))
        ran = crawl(tmp_path, site.url)
        assert ran.code == 0
        assert "sitemap.xml was changed by somebody else" in ran.out
        assert published(tmp_path) == before
        os.utime(path)  # a copy of the same bytes is no change
        assert "somebody" not in crawl(tmp_path, site.url).out


def test_ours_a_directory_that_is_gone_is_told_also_by_a_quiet_run(tmp_path: Path) -> None:
    with scripted({"/": links("/a"), "/a": "x"}) as site:
        assert crawl(tmp_path, site.url, "-q").err == ""
        (tmp_path / "out").rename(tmp_path / "unmounted")
        said = crawl(tmp_path, site.url, "-q")
        assert (said.code, said.out, said.err.count("\n")) == (0, "", 1), said.err
        assert said.err.startswith("siteatlas: out, where the last run published, was gone. If a disk")
        (tmp_path / "out" / "sitemap.xml").unlink()  # as of a new workspace
        assert crawl(tmp_path, site.url, "-q").err == ""


def test_ours_a_generator_that_writes_a_sitemap_in_each_build_is_noted_once_with_the_remedy(tmp_path: Path) -> None:
    with scripted({"/": links("/a"), "/a": "x"}) as site:
        said = []
        for night in range(4):
            (tmp_path / "out").mkdir(exist_ok=True)
            (tmp_path / "out" / "index.html").write_text('<meta name="generator" content="mkdocs-1.6.1">')
            (tmp_path / "out" / "sitemap.xml.gz").write_bytes(b"of a build")
            (tmp_path / "out" / "sitemap.xml").write_bytes(b"of build %d" % night)
            ran = crawl(tmp_path, site.url, "--replace")
            assert ran.code == 0, ran.err
            said += [line for line in ran.out.splitlines() if "sitemap.xml" in line and "build" in line]
        (note,) = said
        assert note.startswith("note: each build of MkDocs writes sitemap.xml: run Siteatlas after each build, and rem")
        assert note.endswith("sitemap.xml.gz, which stays that of MkDocs. siteatlas manual setups/mkdocs shows how")
        assert "somebody" not in ran.out


def test_ours_only_a_generator_that_writes_the_file_is_told_to_have_changed_it(tmp_path: Path) -> None:
    with scripted({"/": links("/a"), "/a": "x"}) as site:
        for head in ('<img src="/wp-content/a.png">', '<meta name="generator" content="astro v5">'):
            for change in range(2):
                assert crawl(tmp_path, site.url).code == 0
                (tmp_path / "out" / "index.html").write_text(head)
                (tmp_path / "out" / "sitemap.xml").write_bytes(b"by hand %d" % change)
                assert "sitemap.xml was changed by somebody else" in crawl(tmp_path, site.url).out


def test_ours_what_was_told_of_builds_is_stored_with_the_digests(tmp_path: Path) -> None:
    builder = ("Hugo", "hugo", ("sitemap.xml",))
    with closing(STATE_DB.open(tmp_path / "state.db")) as db:
        digests = PublishedDigests(db, tmp_path)
        (tmp_path / "sitemap.xml").write_text("a")
        digests.store(["sitemap.xml"])
        (tmp_path / "sitemap.xml").write_text("of a build")
        db.execute("PRAGMA query_only = 1")
        assert digests.changed_note(*builder) == PublishedDigests(db, tmp_path).changed_note(*builder) != ()
        db.execute("PRAGMA query_only = 0")
        digests.store(["sitemap.xml"])
        (tmp_path / "sitemap.xml").write_text("of the next one")
        assert PublishedDigests(db, tmp_path).changed_note(*builder) == ()


def test_ours_a_quiet_run_tells_once_that_a_deploy_deleted_the_sitemap(tmp_path: Path) -> None:
    with scripted({"/": links("/a"), "/a": "x"}) as site:
        assert crawl(tmp_path, site.url).code == 0
        (tmp_path / "out" / "index.html").touch()
        for is_told in (True, False, None, True):
            if is_told is None:  # nothing deletes it before this run
                assert crawl(tmp_path, site.url, "-q").err == ""
                continue
            (tmp_path / "out" / "sitemap.xml").unlink()
            assert ("sitemap.xml was deleted since the last run" in crawl(tmp_path, site.url, "-q").err) is is_told


def test_ours_a_deploy_that_deleted_the_sitemap_is_noted(tmp_path: Path) -> None:
    with scripted({"/": links("/a"), "/a": "x"}) as site:
        assert crawl(tmp_path, site.url).code == 0
        (tmp_path / "out" / "sitemap.xml").unlink()
        assert "deleted" not in crawl(tmp_path, site.url).out  # an empty directory, such as of a new container
        (tmp_path / "out" / "index.html").touch()
        (tmp_path / "out" / "sitemap.xml").unlink()
        ran = crawl(tmp_path, site.url)
        assert ran.code == 0
        assert "sitemap.xml was deleted since the last run, for example by a deploy" in ran.out
        assert "deleted" not in crawl(tmp_path, site.url).out


def test_ours_a_quiet_run_tells_once_that_a_page_is_gone_which_others_still_link_to(tmp_path: Path) -> None:
    pages: dict[str, Route] = {"/": links("/a", "/b"), "/a": "x", "/b": "y"}
    with scripted(pages) as site:
        assert crawl(tmp_path, site.url, "-q").err == ""
        site.routes["/b"] = Answer("no", 404)
        assert f"links still lead to {site.url}b, which the site does not have" in crawl(tmp_path, site.url, "-q").err
        assert crawl(tmp_path, site.url, "-q").err == ""
        site.routes |= {"/": "no link", "/a": Answer("no", 404)}
        assert "links still lead" not in crawl(tmp_path, site.url, "-q").err


def test_ours_a_quiet_run_tells_once_that_robots_txt_does_not_name_the_sitemap_any_more(tmp_path: Path) -> None:
    said = "robots.txt does not name {}sitemap.xml any more"
    with scripted({"/": links("/a"), "/a": "x"}) as site:
        named = f"Sitemap: {site.url}sitemap.xml\n"
        for text, is_told in (("", False), (named, False), (named, False), ("", True), ("", False), (named, False)):
            site.routes["/robots.txt"] = text
            assert (said.format(site.url) in crawl(tmp_path, site.url, "-q").err) is is_told
        site.routes["/robots.txt"] = Answer("no", 503)
        assert "any more" not in crawl(tmp_path, site.url, "-q").err  # the earlier robots.txt holds
        assert "any more" not in crawl(tmp_path, site.url, "-q", "--set=obey.robots=false").err  # nobody knows
        site.routes["/robots.txt"] = Answer("no", 403)
        assert "any more" not in crawl(tmp_path, site.url, "-q").err
        site.routes["/robots.txt"] = Answer("no", 404)
        assert said.format(site.url) in crawl(tmp_path, site.url, "-q").err


def test_ours_a_build_that_the_gate_refuses_keeps_the_earlier_sitemap(tmp_path: Path) -> None:
    words = ("crawl", URL, "--source", "site", "-o", "site", "-q")
    sitemap, before = tmp_path / "site" / "sitemap.xml", b""
    for pages in ({"a": "one"}, {"a": "one", "b": "two"}, {"a": "one", "b": "two", "c": "three"}):
        write(tmp_path, **pages)
        refused = "c" in pages
        if refused:
            sitemap.unlink()
            (tmp_path / "site" / "index.html").write_text("<meta name=robots content=noindex><p>index</p>")
            assert "is gone from" in siteatlas(tmp_path, *words[:-1], "--dry-run").out
        ran = siteatlas(tmp_path, *words)
        assert ran.code == (5 if refused else 0), ran.err
        before = before if refused else sitemap.read_bytes()
    assert "the earlier sitemap was gone from" in ran.err
    assert sitemap.read_bytes() == before
    assert "was deleted" not in siteatlas(tmp_path, "status").out
    sitemap.unlink()
    assert f"{sitemap} was deleted: siteatlas rollback" in siteatlas(tmp_path, "status").out
    assert siteatlas(tmp_path, "rollback", URL, "-o", "site").out.startswith("the sitemap of run 2 is published again")
    assert sitemap.read_bytes() == before


def test_ours_a_build_without_many_pages_is_refused_as_a_whole_and_leaves_no_date(tmp_path: Path) -> None:
    words = ("crawl", URL, "--source", "site", "-o", "out", "--replace", "--set=output.swap_delay=0", "-q")
    whole = {f"p{number}": f"page number {number}" for number in range(12)}
    write(tmp_path, **whole)
    assert siteatlas(tmp_path, *words).code == 0
    before = published(tmp_path)
    shutil.rmtree(tmp_path / "site")
    write(tmp_path, **dict(list(whole.items())[:7]))  # the start page changes with it
    ran = siteatlas(tmp_path, *words)
    assert ran.code == 3
    assert "5 of the 13 published pages would leave" in ran.err
    assert "stay as they were" not in ran.err
    write(tmp_path, **{name: text for name, text in whole.items() if name != "p11"})
    assert siteatlas(tmp_path, *words).code == 0  # what the refused build lacked holds no page of the next one
    assert len(listed(tmp_path)) == 12
    write(tmp_path, **whole)
    assert siteatlas(tmp_path, *words).code == 0
    before = published(tmp_path)
    assert published(tmp_path) == before
    shutil.rmtree(tmp_path / "site")
    write(tmp_path, **dict(list(whole.items())[:7]))
    assert siteatlas(tmp_path, *words).code == 3
    write(tmp_path, **whole)
    assert siteatlas(tmp_path, *words).code == 0
    assert published(tmp_path) == before
    shutil.rmtree(tmp_path / "site")
    write(tmp_path, **dict(list(whole.items())[:7]))
    assert siteatlas(tmp_path, *words, "--accept-shrink").code == 0
    assert len(listed(tmp_path)) == 8


def test_ours_a_page_that_only_a_sitemap_names_is_told_once(tmp_path: Path) -> None:
    words = ("crawl", URL, "--source", "site", "-o", "site")
    write(tmp_path, a="one", b="two")
    left = tmp_path / "site" / "b.html"
    left.write_text(left.read_text() + '<a href="/b.html">link to this text</a>')
    note = f"note: only a sitemap names 1 listed page, such as {URL}b.html: no page that was read links there"
    assert note not in siteatlas(tmp_path, *words).out
    write(tmp_path, a="one")
    for is_told in (True, False):
        ran = siteatlas(tmp_path, *words)
        assert ("3 pages listed" in ran.out, note in ran.out) == (True, is_told), ran.out


def test_ours_a_page_that_a_page_which_was_not_read_may_link_to_is_not_said_to_be_unlinked(tmp_path: Path) -> None:
    said = "only a sitemap names"
    urls = '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>{}b</loc></url></urlset>'
    routes: dict[str, Route] = {"/": links("/a"), "/a": links("/b"), "/b": "b"}
    with scripted(routes) as site:
        site.routes["/old.xml"] = urls.format(site.url)
        unread: dict[str, tuple[str, Route]] = {"blocked": ("/a", links("/b")), "failed": ("", Answer("no", 500))}
        for name, (path, answer) in {**unread, "read": ("", "no link")}.items():
            robots = f"User-agent: *\nDisallow: {path}\nSitemap: {site.url}old.xml\n"
            site.routes |= {"/robots.txt": robots, "/a": answer}
            ran = crawl(tmp_path, site.url, "--state", name, "--replace", "--set=fetch.retries=0")
            assert (f"{site.url}b" in listed(tmp_path), said in ran.out) == (True, name == "read"), ran.out
        site.routes |= {f"/{n or ''}": links(f"/{n + 1}") for n in range(9)} | {"/9": links("/b")}
        cut = ("--set=scope.max_pages=6", "--set=output.partial=true")
        ran = crawl(tmp_path, site.url, "--state", "cut", "--replace", *cut)
        assert (ran.code, f"{site.url}b" in listed(tmp_path), said in ran.out) == (4, True, False), ran.out


def test_ours_status_says_that_a_file_was_deleted_only_if_that_was_seen(tmp_path: Path) -> None:
    with scripted({"/": links("/a"), "/a": "x"}) as site:
        assert crawl(tmp_path, site.url, "--state", "state").code == 0
    out = tmp_path / "out"
    (out / "sitemap.xml").unlink()
    said = f"{out / 'sitemap.xml'} was deleted"
    assert said in siteatlas(tmp_path, "status", "--state", "state").out
    (state,) = (tmp_path / "state").iterdir()
    other = shutil.copytree(state, tmp_path / "state" / "other")  # of several sites, the verdicts say so
    assert siteatlas(tmp_path, "status", "--state", "state").out.count("sitemap deleted") == 4  # two rows, two reasons
    shutil.rmtree(other)
    out.chmod(0)  # only root may enter it
    try:
        assert (said in siteatlas(tmp_path, "status", "--state", "state").out) is os.access(out, os.X_OK)
    finally:
        out.chmod(0o755)
    (file,) = tmp_path.glob("state/*/state.db")
    with closing(STATE_DB.open(file)) as db:
        db.execute("DELETE FROM about WHERE key = 'output'")  # as after a damaged state
    assert "deleted" not in siteatlas(tmp_path, "status", "--state", "state").out


def test_ours_a_damaged_copy_of_the_sitemap_does_not_prevent_going_back_to_another_one(tmp_path: Path) -> None:
    words = ("crawl", URL, "--source", "site", "-o", "out", "-q", "--set=output.swap_delay=0")
    for pages in ({"a": "one"}, {"a": "one", "b": "two"}):
        write(tmp_path, **pages)
        assert siteatlas(tmp_path, *words).code == 0
    (tmp_path / "out" / "sitemap.xml").unlink()
    (copy,) = tmp_path.glob(".siteatlas/*/generations/2.json")
    copy.write_text("{")
    ran = siteatlas(tmp_path, "rollback", URL, "-o", "out")
    assert (ran.code, "The runs with a copy (--to RUN) are 1, 2" in ran.err) == (2, True)
    assert siteatlas(tmp_path, "rollback", URL, "-o", "out", "--to", "1").code == 0
    assert len(listed(tmp_path)) == 2


def test_ours_the_sitemap_is_not_gone_from_a_directory_that_never_had_it(tmp_path: Path) -> None:
    words, sets = ("crawl", URL, "--source", "site", "-q", "--set=output.swap_delay=0"), []
    for pages in ({"a": "one"}, {"a": "one", "b": "two"}):
        write(tmp_path, **pages)
        assert siteatlas(tmp_path, *words, "-o", "out").code == 0
        sets.append((tmp_path / "out" / "sitemap.xml").read_bytes())
    other = tmp_path / "other"
    other.mkdir()
    (other / "readme").touch()
    index = tmp_path / "site" / "index.html"
    index.write_text("<meta name=robots content=noindex><p>index</p>")
    ran = siteatlas(tmp_path, *words, "-o", "other")
    assert (ran.code, "earlier sitemap" in ran.err, (other / "sitemap.xml").exists()) == (5, False, False), ran.err
    (tmp_path / "out" / "sitemap.xml").unlink()
    assert "the earlier sitemap is gone" in siteatlas(tmp_path, *words, "-o", "out", "--fresh").err
    assert siteatlas(tmp_path, "rollback", URL, "-o", "other").code == 0
    assert (other / "sitemap.xml").read_bytes() == sets[0]
    write(tmp_path, a="one", b="two")
    assert "the last run of this state wrote to" in siteatlas(tmp_path, *words, "-o", "out").err


def test_ours_a_refused_run_writes_a_lost_file_of_the_set_again_but_not_over_files_of_others(tmp_path: Path) -> None:
    words = ("crawl", URL, "--source", "site", "-o", "out", "-q", "--set=output.max_urls=2")
    write(tmp_path, a="one", b="two", c="three")
    assert siteatlas(tmp_path, *words).code == 0
    before = published(tmp_path)
    child, *_, index = (tmp_path / "out" / name for name in before)
    (tmp_path / "site" / "index.html").write_text("<meta name=robots content=noindex><p>index</p>")
    child.unlink()
    ran = siteatlas(tmp_path, *words)
    assert (ran.code, "a part of the earlier sitemap was gone from" in ran.err) == (5, True), ran.err
    assert published(tmp_path) == before
    index.write_text("of a build")
    ran = siteatlas(tmp_path, *words)
    said = f"in {tmp_path}/out, sitemap.xml changed since the earlier sitemap was written (siteatlas rollback --to 1 "
    assert (ran.code, said in ran.err, index.read_text()) == (5, True, "of a build"), ran.err
    assert siteatlas(tmp_path, "rollback", URL, "-o", "out", "--to", "1").code == 0
    assert published(tmp_path) == before


def test_ours_what_a_cut_run_published_is_not_said_to_be_of_somebody_else(tmp_path: Path) -> None:
    with scripted({"/": "home", **{f"/{n}": links(f"/{n + 1}") for n in range(1, 9)}}) as site:
        assert crawl(tmp_path, site.url).code == 0
        site.routes["/"] = links("/1")
        assert crawl(tmp_path, site.url, "--set=scope.max_pages=4", "--set=output.partial=true").code == 4
        assert "somebody else" not in crawl(tmp_path, site.url).out
        assert len(listed(tmp_path)) == 9


def test_ours_what_was_told_once_is_told_again_only_if_there_is_more_of_it(tmp_path: Path) -> None:
    with scripted({"/": "home", **{f"/{n}": f"page {n}" for n in range(6)}}) as site:
        for names, is_told in (("34", True), ("04", False), ("4", False), ("34", False), ("234", True), ("", False)):
            urls = "".join(f"<url><loc>{site.url}{name}</loc></url>" for name in names)
            site.routes["/old.xml"] = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{urls}</urlset>'
            site.routes["/robots.txt"] = f"Sitemap: {site.url}old.xml\n"
            ran = crawl(tmp_path, site.url, "--accept-shrink")
            assert ("only a sitemap names" in ran.out) is is_told, (names, ran.out)
