"""The sitemap in other formats: what is published beside it, kept, replaced, removed, and rolled back."""

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from audited import FAST
from scripted import Answer, Site, scripted

from crawler.cli import app
from crawler.config.load import build_config
from crawler.config.plan import plan_crawl
from crawler.publish.upload.files import file_names
from crawler.state.runs import RunStore
from crawler.state.schema import STATE_DB
from sitemap import lint, read

ALL = ("--format", "xml", "--format", "text", "--format", "rss", "--format", "atom", "--html-sitemap", "--llms-txt")
LEADING = ["sitemap.txt", "sitemap.rss", "sitemap.atom", "sitemap.html", "llms.txt"]


def page(title: str, *links: str, description: str = "", date: str = "2026-03-04") -> str:
    dated = f'<meta property="article:modified_time" content="{date}">' if date else ""
    meta = f'<meta name="description" content="{description}">' if description else ""
    anchors = "".join(f'<a href="{link}">{link}</a>' for link in links)
    return f'<html lang="de"><title>{title}</title>{meta}{dated}<p>{title} has words of its own.</p>{anchors}'


@pytest.fixture
def site() -> Iterator[Site]:
    with scripted(
        {
            "/": page("Start", "/a", "/docs/one", "/docs/two", description="What the site is."),
            "/a": page("Page <A>"),
            "/docs/one": page("One", description="The first."),
            "/docs/two": page("Two"),
        }
    ) as served:
        yield served


Run = Callable[..., tuple[int, dict[str, Any]]]


@pytest.fixture
def run(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)

    def crawl(*words: str) -> tuple[int, dict[str, Any]]:
        arguments = ["siteatlas", "crawl", site.url, "-o", "out", "--state", "state", *FAST, "--json", *words]
        monkeypatch.setattr("sys.argv", arguments)
        code = app.run_command_line()
        printed = capsys.readouterr()
        return code, json.loads(printed.out) if code == 0 else {"error": printed.err}

    return crawl


def names(path: Path) -> list[str]:
    return sorted(each.name for each in (path / "out").iterdir() if not each.name.startswith("."))


def test_ours_every_format_lists_the_pages_of_the_sitemap(run: Run, site: Site, tmp_path: Path) -> None:
    code, report = run(*ALL)
    assert code == 0
    assert [file["name"] for file in report["other_formats"]] == LEADING
    assert names(tmp_path) == sorted([*LEADING, "sitemap.xml"])
    out = tmp_path / "out"
    listed = [entry.loc for entry in read(out / "sitemap.xml")]
    assert len(listed) == 4
    for name in LEADING[:3]:
        assert [entry.loc for entry in read(out / name)] == listed, name
        checked = lint(out / name, url=f"{site.url}{name}")
        assert not [each for each in checked.findings if each.severity == "error"], name
    html = (out / "sitemap.html").read_text()
    assert all(f'href="{loc}"' in html for loc in listed)
    assert '<html lang="de">' in html
    assert "Page &lt;A&gt;" in html
    llms = (out / "llms.txt").read_text()
    assert llms.startswith("# Start\n\n> What the site is.\n")
    assert f"- [One]({site.url}docs/one): The first.\n" in llms


def test_ours_an_outline_has_the_title_of_the_page_to_which_the_start_url_leads(
    run: Run, site: Site, tmp_path: Path
) -> None:
    canonical = '<link rel="canonical" href="/start">'
    site.routes["/start"] = page("The start", description="What the site is.")
    site.routes["/home"] = page("Home", "/a", "/start").replace("<meta", f"{canonical}<meta", 1)
    site.routes["/"] = Answer("", 302, {"Location": "/home"})
    assert run(*ALL)[0] == 0
    assert (tmp_path / "out" / "llms.txt").read_text().startswith("# The start\n\n> What the site is.\n")
    assert '<html lang="de">' in (tmp_path / "out" / "sitemap.html").read_text()


def test_ours_an_unchanged_site_leaves_the_files_alone_and_a_format_that_is_off_leaves(
    run: Run, tmp_path: Path
) -> None:
    run(*ALL)
    before = {name: (tmp_path / "out" / name).stat().st_mtime_ns for name in names(tmp_path)}
    run(*ALL)
    assert {name: (tmp_path / "out" / name).stat().st_mtime_ns for name in names(tmp_path)} == before
    _, report = run("--format", "text")
    assert [file["name"] for file in report["other_formats"]] == ["sitemap.txt"]
    assert names(tmp_path) == ["sitemap.txt", "sitemap.xml"]


def test_ours_many_pages_make_an_index_of_text_files(run: Run, site: Site, tmp_path: Path) -> None:
    run("--format", "text")
    _, report = run("--format", "text", "--set=output.max_urls=2")
    assert sorted(file["name"] for file in report["other_formats"]) == [
        "sitemap-1.txt",
        "sitemap-2.txt",
        "sitemap-text.xml",
    ]
    assert not (tmp_path / "out" / "sitemap.txt").exists()
    assert [entry.loc for entry in read(tmp_path / "out" / "sitemap-text.xml")] == [
        f"{site.url}sitemap-1.txt",
        f"{site.url}sitemap-2.txt",
    ]


def test_ours_a_small_limit_of_bytes_makes_an_index_too(run: Run, site: Site, tmp_path: Path) -> None:
    paths = [f"/{'long' * 15}/{number}" for number in range(200)]
    site.routes = {"/": page("Start", *paths), **{path: page(f"Page {path}") for path in paths}}
    _, report = run("--format", "text", "--set=output.max_bytes=10000")
    listed = {file["name"] for file in report["other_formats"]}
    assert listed == {"sitemap-text.xml", "sitemap-1.txt", "sitemap-2.txt"}
    assert sum(file["urls"] for file in report["other_formats"]) == 201 + 2
    assert not (tmp_path / "out" / "sitemap.txt").exists()
    run("--format", "text")
    assert [name for name in names(tmp_path) if "xml" not in name or "text" in name] == ["sitemap.txt"]


def test_rfc4287_4_1_2_pages_without_a_date_do_not_count_for_the_index_of_a_feed(
    run: Run, site: Site, tmp_path: Path
) -> None:
    site.routes["/a"] = page("Page A", date="")
    _, report = run("--format", "atom", "--set=output.max_urls=3")
    assert [file["name"] for file in report["other_formats"]] == ["sitemap.atom"]
    assert len(list(read(tmp_path / "out" / "sitemap.atom"))) == 3


def test_ours_llms_txt_links_to_the_sitemap_under_its_packed_name(run: Run, site: Site, tmp_path: Path) -> None:
    for words, name in ((("--gzip",), "sitemap.xml.gz"), ((), "sitemap.xml"), (("--gzip",), "sitemap.xml.gz")):
        run("--llms-txt", *words)
        assert (tmp_path / "out" / "llms.txt").read_text().endswith(f"- [Sitemap]({site.url}{name})\n")


def test_ours_a_new_version_of_an_outline_keeps_the_permissions_of_the_old_one(
    run: Run, site: Site, tmp_path: Path
) -> None:
    run(*ALL)
    modes = {name: 0o640 + number for number, name in enumerate([*LEADING, "sitemap.xml"])}
    for name, mode in modes.items():
        (tmp_path / "out" / name).chmod(mode)
    site.routes["/a"] = page("Another title", "/new")
    site.routes["/new"] = page("New")
    run(*ALL)
    assert "Another title" in (tmp_path / "out" / "llms.txt").read_text()
    assert {name: (tmp_path / "out" / name).stat().st_mode & 0o777 for name in modes} == modes


def test_ours_a_packed_format_is_ours_under_its_packed_name(run: Run, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "sitemap.txt.gz").write_bytes(b"mine")
    assert run("--format", "text", "--gzip")[0] == 2
    _, report = run("--format", "text", "--gzip", "--replace")
    assert [file["name"] for file in report["other_formats"]] == ["sitemap.txt.gz"]
    assert len(list(read(tmp_path / "out" / "sitemap.txt.gz"))) == 4
    assert run("--format", "text", "--gzip")[0] == 0


@pytest.mark.parametrize("name", LEADING)
def test_ours_a_file_of_somebody_else_is_replaced_only_when_told(run: Run, tmp_path: Path, name: str) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / name).write_text("mine")
    code, report = run(*ALL)
    assert code == 2
    assert name in report["error"]
    assert "--replace" in report["error"]
    assert (tmp_path / "out" / name).read_text() == "mine"
    assert run(*ALL, "--replace")[0] == 0
    assert (tmp_path / "out" / name).read_text() != "mine"
    assert run(*ALL)[0] == 0


def test_ours_a_file_that_cannot_be_written_is_a_note(run: Run, tmp_path: Path) -> None:
    run(*ALL)
    (tmp_path / "out" / "sitemap.html").unlink()
    (tmp_path / "out" / "sitemap.html").mkdir()
    code, report = run(*ALL)
    assert code == 0
    assert any("other formats" in note for note in report["notes"])
    assert [file["name"] for file in report["other_formats"]] == LEADING


def test_ours_a_rollback_brings_the_formats_of_the_set(
    run: Run, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(*ALL)
    first = (tmp_path / "out" / "sitemap.txt").read_text()
    site.routes["/"] = page("Start", "/a", "/docs/one", "/docs/two", "/new")
    site.routes["/new"] = page("New")
    run(*ALL)
    assert f"{site.url}new" in (tmp_path / "out" / "llms.txt").read_text()
    words = ["siteatlas", "rollback", site.url, "-o", "out", "--state", "state"]
    monkeypatch.setattr("sys.argv", words)
    assert app.run_command_line() == 0
    assert (tmp_path / "out" / "sitemap.txt").read_text() == first
    assert f"{site.url}new" not in (tmp_path / "out" / "sitemap.html").read_text()


def test_ours_a_rollback_that_cannot_write_a_format_is_recorded_with_a_note(
    run: Run, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run(*ALL)
    site.routes["/"] = page("Start", "/a", "/docs/one", "/docs/two", "/new")
    site.routes["/new"] = page("New")
    run(*ALL)
    (tmp_path / "out" / "sitemap.html").unlink()
    (tmp_path / "out" / "sitemap.html").mkdir()
    monkeypatch.setattr("sys.argv", ["siteatlas", "rollback", site.url, "-o", "out", "--state", "state"])
    assert app.run_command_line() == 0
    assert "sitemap.html cannot be written" in " ".join(capsys.readouterr().out.split())
    (tmp_path / "out" / "sitemap.html").rmdir()
    _, report = run(*ALL)
    assert not [note for note in report["notes"] if "somebody else" in note]
    assert report["added"] == 1


def test_ours_formats_that_were_written_before_a_failure_are_recorded(run: Run, tmp_path: Path) -> None:
    run()
    (tmp_path / "out" / "sitemap.html").mkdir()
    _, report = run(*ALL, "--replace")
    assert [file["name"] for file in report["other_formats"]] == LEADING[:3]
    run()
    assert names(tmp_path) == ["sitemap.html", "sitemap.xml"]


@pytest.mark.parametrize("name", ["sitemap.rss", "sitemap.atom"])
def test_ours_the_feed_of_recent_changes_has_a_name_of_its_own(run: Run, name: str) -> None:
    code, report = run(*ALL, f"--set=output.recent={name.rpartition('.')[2]}", f"--set=output.recent_name={name}")
    assert code == 2
    assert f"output.recent_name '{name}'" in report["error"]


def test_ours_a_dry_run_writes_no_format(run: Run, tmp_path: Path) -> None:
    run(*ALL, "--dry-run")
    assert not (tmp_path / "out").exists() or names(tmp_path) == []


def test_ours_a_new_page_is_in_every_format_after_the_next_run(run: Run, site: Site, tmp_path: Path) -> None:
    run(*ALL)
    site.routes["/a"] = Answer(page("Page A", "/later"))
    site.routes["/later"] = page("Later")
    run(*ALL)
    for name in LEADING:
        assert "/later" in (tmp_path / "out" / name).read_text(), name


def test_rfc4287_4_1_2_an_atom_entry_needs_a_date_so_pages_without_one_are_left_out(
    run: Run, site: Site, tmp_path: Path
) -> None:
    site.routes["/a"] = page("Page A", date="")
    _, report = run("--format", "atom")
    assert len(list(read(tmp_path / "out" / "sitemap.atom"))) == 3
    assert [note for note in report["notes"] if note.startswith("1 page left out of sitemap.atom: ")]
    for path in ("/", "/docs/one", "/docs/two"):
        site.routes[path] = str(site.routes[path]).replace("article:modified_time", "none")
    code, report = run("--format", "atom", "--fresh", "--lastmod", "none")
    assert code == 0, report
    assert report["other_formats"] == []
    assert not (tmp_path / "out" / "sitemap.atom").exists()


def test_ours_an_upload_takes_the_other_formats_along_before_the_sitemap(run: Run, site: Site, tmp_path: Path) -> None:
    run(*ALL, "--set=output.html_sitemap_links=10")
    output = {"directory": str(tmp_path / "out"), "html_sitemap": True}
    config = build_config(
        {"site": {"url": site.url}, "output": output, "state": {"directory": str(tmp_path / "state")}}
    )
    plan = plan_crawl(config)
    with closing(STATE_DB.open(plan.state / STATE_DB.file)) as db:
        published = RunStore(db).published()
    assert published is not None
    assert file_names(plan, published) == [*LEADING, "sitemap.xml"]
