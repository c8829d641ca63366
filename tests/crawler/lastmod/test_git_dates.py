"""Dates from the repository of a site: which page a source file makes, and which commit dates it."""

import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from audited import in_process
from msgspec.structs import replace

from crawler.config.config import ContentConfig
from crawler.errors import UsageError
from crawler.lastmod.generators import find_generator, match_pages
from crawler.lastmod.git import Edit, Repository, last_edits
from crawler.lastmod.policy import date_of_new_page
from crawler.model import ResponseMetadata, Url

SITE = "https://docs.example.com/"
DAY = 86_400
START = 1_700_000_000  # 2023-11-14


class Site:
    """A repository, in which each commit is a day after the one before it."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self.days = 0
        self.git("init", "-q", "-b", "main")

    def git(self, *words: str) -> str:
        when = f"{START + self.days * DAY} +0000"
        names = {f"GIT_{who}_{what}": "a@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        env = {
            **os.environ,
            **names,
            "GIT_AUTHOR_DATE": when,
            "GIT_COMMITTER_DATE": when,
            "GIT_CONFIG_GLOBAL": os.devnull,
        }
        return subprocess.run(["git", *words], cwd=self.top, env=env, check=True, capture_output=True, text=True).stdout

    def commit(self, **files: str) -> int:
        """Write files, with "__" for "/", and commit all that differs. Returns the day of the commit."""
        self.days += 1
        for name, text in files.items():
            path = self.top / name.replace("__", "/").replace("_DOT_", ".")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "work")
        return self.days

    def dates(self, *paths: str, start: str = SITE) -> dict[str, str]:
        """The dated pages of these paths."""
        urls = [(number, Url(start + path)) for number, path in enumerate(paths)]
        found, _ = Repository(ContentConfig(lastmod="git", repository=str(self.top))).page_dates(urls, Url(start))
        return {paths[number]: date.lastmod for number, date in found.items()}


@pytest.fixture
def site(tmp_path: Path) -> Site:
    made = Site(tmp_path)
    made.commit(mkdocs_DOT_yml="site_name: x\n")
    return made


def on(day: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime(START + day * DAY))


def test_ours_a_page_has_the_date_of_the_last_edit_of_its_file(site: Site) -> None:
    first = site.commit(docs__index_DOT_md="start", docs__a_DOT_md="a", docs__b_DOT_md="b")
    second = site.commit(docs__a_DOT_md="a, edited")
    site.commit(theme__main_DOT_html="elsewhere")
    assert site.dates("", "a/", "b/", "tags/", "b/?page=2") == {"": on(first), "a/": on(second), "b/": on(first)}


def test_ours_a_renamed_file_keeps_its_date_and_an_edited_one_does_not(site: Site) -> None:
    first = site.commit(docs__a_DOT_md="a\n" * 20, docs__b_DOT_md="b\n" * 20)
    site.git("mv", "docs/a.md", "docs/moved.md")
    site.commit()
    (site.top / "docs/guide").mkdir()
    site.git("mv", "docs/moved.md", "docs/guide/again.md")
    site.git("mv", "docs/b.md", "docs/c.md")
    third = site.commit(docs__c_DOT_md="b\n" * 19 + "c\n")
    assert site.dates("guide/again/", "c/", "a/", "b/") == {"guide/again/": on(first), "c/": on(third)}


def test_ours_a_file_that_came_back_has_the_date_of_its_return(site: Site) -> None:
    site.commit(docs__a_DOT_md="a", docs__b_DOT_md="b")
    (site.top / "docs/a.md").unlink()
    site.commit()
    back = site.commit(docs__a_DOT_md="a")
    assert site.dates("a/") == {"a/": on(back)}


@pytest.mark.thorough
def test_ours_a_commit_that_touches_most_pages_is_no_evidence(site: Site) -> None:
    names = [f"docs__p{n}_DOT_md" for n in range(30)]
    imported = site.commit(**dict.fromkeys(names, "imported"))
    edits = {f"p{n}/": on(site.commit(**{names[n]: f"edited {n}"})) for n in range(3)}
    site.commit(**{name: f"{site.top}{name} with a licence" for name in names})
    others = {f"p{n}/": on(imported) for n in range(3, 30)}  # they came with this commit
    assert site.dates(*(f"p{n}/" for n in range(30))) == edits | others
    late = site.commit(**dict.fromkeys(names[:9], "nine pages are an edit"))
    assert site.dates("p0/", "p8/", "p9/") == {"p0/": on(late), "p8/": on(late), "p9/": on(imported)}


def test_ours_a_page_that_only_an_import_dates_has_no_date_of_a_build(site: Site) -> None:
    """The server states the time of the build; the page may know better."""
    imported = site.commit(**{f"docs__p{n}_DOT_md": "x" for n in range(12)})
    config = ContentConfig(lastmod="git", repository=str(site.top))
    dates, notes = Repository(config).page_dates([(1, Url(f"{SITE}p1/"))], Url(SITE))
    seen = ResponseMetadata(START + 90 * DAY, header_date="2024-02-01T00:00:00+00:00")
    assert date_of_new_page(seen, "git", commit=dates[1]).lastmod == on(imported)
    stated = replace(seen, page_date="2022-01-01", page_date_source="JSON-LD dateModified")
    assert date_of_new_page(stated, "git", commit=dates[1]).lastmod == "2022-01-01"
    assert notes == ("source files of mkdocs make 1 of 1 page, and Git dates 1 of these",)


def test_ours_a_page_that_has_the_date_of_a_template_is_told(site: Site) -> None:
    site.git("rm", "-q", "--cached", "-r", "--ignore-unmatch", ".")
    (site.top / "mkdocs.yml").unlink()
    site.commit(eleventy_DOT_config_DOT_js="", a_DOT_md="a", blog_DOT_njk="{{ all }}")
    urls = [(1, Url(f"{SITE}a/")), (2, Url(f"{SITE}blog/"))]
    _, (note,) = Repository(ContentConfig(lastmod="git", repository=str(site.top))).page_dates(urls, Url(SITE))
    assert note.endswith("1 has the date of a template, such as blog.njk, which is not that of the entries in a list")


def test_ours_two_urls_of_one_file_are_counted_alike(site: Site) -> None:
    site.commit(docs__a_DOT_md="a", docs__b_DOT_md="b")
    urls = [(number, Url(SITE + path)) for number, path in enumerate(("a/", "a.html", "a/index.html", "b/", "c/"))]
    dates, notes = Repository(ContentConfig(lastmod="git", repository=str(site.top))).page_dates(urls, Url(SITE))
    assert len(dates) == 4
    assert notes == ("source files of mkdocs make 4 of 5 pages, and Git dates 4 of these",)


def test_ours_git_does_not_date_changes_without_a_commit(site: Site) -> None:
    site.commit(docs__a_DOT_md="a\n", docs__b_DOT_md="b\n", docs__c_DOT_md="c\n", docs__d_DOT_md="d\n")
    (site.top / "docs" / "a.md").write_text("a, edited\n")
    (site.top / "docs" / "b.md").write_bytes(b"b\r\n")  # as Git checks files out with core.autocrlf
    (site.top / "docs" / "c.md").unlink()
    urls = [(number, Url(f"{SITE}{path}/")) for number, path in enumerate("abcd")]
    _, (note,) = Repository(ContentConfig(lastmod="git", repository=str(site.top))).page_dates(urls, Url(SITE))
    assert note.endswith("Git dates 4 of these; 1 file has changes without a commit, which Git does not date")


def test_ours_a_branch_dates_the_files_that_it_edits(site: Site) -> None:
    site.commit(docs__a_DOT_md="a", docs__b_DOT_md="b")
    site.git("checkout", "-q", "-b", "work")
    branch = site.commit(docs__a_DOT_md="a2")
    site.git("checkout", "-q", "main")
    main = site.commit(docs__b_DOT_md="b2")
    site.days += 1
    site.git("merge", "-q", "--no-edit", "work")
    assert site.dates("a/", "b/") == {"a/": on(branch), "b/": on(main)}


def test_ours_a_shallow_clone_dates_nothing_and_says_so(site: Site, tmp_path_factory: pytest.TempPathFactory) -> None:
    site.commit(docs__a_DOT_md="a")
    site.commit(docs__a_DOT_md="b")
    clone = tmp_path_factory.mktemp("clone")
    site.git("clone", "-q", "--depth", "1", f"file://{site.top}", str(clone))
    config = ContentConfig(lastmod="git", repository=str(clone))
    dates, (note,) = Repository(config).page_dates([(1, Url(f"{SITE}a/"))], Url(SITE))
    assert not dates
    assert "shallow" in note
    assert "--unshallow" in note


def test_ours_a_folder_that_is_no_repository_or_of_no_generator_is_an_error(tmp_path: Path, site: Site) -> None:
    with pytest.raises(UsageError, match=r"Git cannot read a commit of .*content.repository"):
        Repository(ContentConfig(repository=str(tmp_path.parent)))
    with pytest.raises(UsageError, match="no settings file of hugo"):
        Repository(ContentConfig(repository=str(tmp_path), generator="hugo"))
    (site.top / "mkdocs.yml").unlink()
    site.commit()
    with pytest.raises(UsageError, match=r"no settings file of a site generator that .*nikola.* --lastmod page"):
        Repository(ContentConfig(repository=str(tmp_path)))


def test_ours_a_site_in_a_folder_of_a_repository_and_below_a_path(site: Site) -> None:
    site.commit(web__mkdocs_DOT_yml="docs_dir: pages\n", docs__x_DOT_md="not of this site")
    made = site.commit(web__pages__x_DOT_md="x")
    config = ContentConfig(repository=str(site.top / "web"))
    start = Url(f"{SITE}project/latest/")
    dates, _ = Repository(config).page_dates([(7, Url(f"{start}x/"))], start)
    assert {number: (date.lastmod, date.source) for number, date in dates.items()} == {
        7: (on(made), "Git commit of web/pages/x.md")
    }


def test_ours_names_that_are_no_utf_8_and_settings_of_a_person_do_no_harm(site: Site) -> None:
    (site.top / "docs").mkdir()
    (Path(os.fsdecode(os.fsencode(site.top) + b"/docs/\xff\xfe.md"))).write_text("x")
    made = site.commit(**{"docs__Straße und so_DOT_md": "y"})
    for name, value in (("log.showSignature", "true"), ("diff.renames", "copies"), ("core.pager", "false")):
        site.git("config", name, value)
    assert site.dates("stra%C3%9Fe-und-so/") == {"stra%C3%9Fe-und-so/": on(made)}


# ---------------------------------------------------------------- one pass


@pytest.mark.thorough
def test_ours_ten_thousand_files_are_dated_in_one_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = Site(tmp_path)
    chunks = [b"feature done\n"]
    for number in range(101):
        head = f"commit refs/heads/main\ncommitter a <a@example.com> {START + number * DAY} +0000\ndata 1\nx\n"
        names = [f"docs/p{number}_{n}.md" for n in range(99)] if number else ["mkdocs.yml"]
        files = "".join(f"M 100644 inline {name}\ndata 1\n{number % 10}\n" for name in names)
        chunks.append((head + files).encode())
    run = subprocess.run(
        ["git", "fast-import", "--quiet"], cwd=tmp_path, input=b"".join([*chunks, b"done\n"]), check=True
    )
    assert run.returncode == 0
    started = []
    popen = subprocess.Popen

    def counting(*words: object, **options: object) -> object:
        started.append(words)
        return popen(*words, **options)  # type: ignore[call-overload]

    monkeypatch.setattr(subprocess, "Popen", counting)
    paths = [f"p{number}_{n}/" for number in range(1, 101) for n in range(99)]
    found = site.dates(*paths)
    assert len(found) == 9_900
    assert found["p7_3/"] == on(7)
    assert len(started) == 3  # about the repository, its files, their history


@pytest.mark.thorough
def test_ours_a_crawl_dates_its_sitemap_by_the_repository(
    site: Site,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    first = site.commit(docs__index_DOT_md="start", docs__a_DOT_md="a")
    second = site.commit(docs__a_DOT_md="b")
    built = tmp_path_factory.mktemp("built")
    for path, text in (
        ("index.html", "<a href=/a/>a</a><a href=/tags/>tags</a>"),
        ("a/index.html", "b"),
        ("tags/index.html", "a"),
    ):
        (built / path).parent.mkdir(exist_ok=True)
        (built / path).write_text(f"<!doctype html><title>{path}</title><p>{text}")
    words = (
        "crawl",
        SITE,
        "--source",
        str(built),
        "--lastmod",
        "git",
        f"--set=content.repository={site.top}",
        "--set=parse.processes=1",
    )
    with in_process(tmp_path_factory.mktemp("work"), monkeypatch, capsys) as command:
        ran = command(*words, "-o", "out")
        assert ran.code == 0, ran.err
        text = Path("out/sitemap.xml").read_text()
        assert re.findall("<loc>(.*?)</loc>\\s*(?:<lastmod>(.*?)</lastmod>)?", text)[:2] == [
            (SITE, on(first)),
            (f"{SITE}a/", on(second)),
        ]
        assert "source files of mkdocs make 2 of 3 pages, and Git dates 2 of these" in ran.err + ran.out
        assert "keep that date" not in ran.err + ran.out
        ran = command("crawl", SITE, "--source", str(built), "-o", "out", "--set=parse.processes=1")
        assert ran.code == 0, ran.err
        ran = command(*words, "-o", "out")
        assert "pages that an earlier run dated keep that date until they change" in ran.err + ran.out
        ran = command(*words, "-o", "elsewhere", f"--set=content.repository={built}")
        assert ran.code == 2
        assert "not a git repository" in ran.err
        assert not Path("elsewhere").exists()


@pytest.mark.thorough
def test_ours_git_dates_are_not_imported_when_unused() -> None:
    code = (
        "import sys, crawler.run.crawl; sys.exit(any(name.endswith(('.git', '.generators')) for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# ---------------------------------------------------------------- random histories, against one Git process a file


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(4))
def test_ours_a_random_history_gives_each_file_the_date_that_git_gives_it(site: Site, seed: int) -> None:
    pick = random.Random(seed)
    files = {f"docs/f{n}.md": f"{n}\n" * 9 for n in range(6)}
    for step in range(25):
        action = pick.choice(["edit", "edit", "edit", "move", "add", "drop"])
        name = pick.choice(sorted(files))
        if action == "edit":
            files[name] += f"{step}\n"
        elif action == "move":
            files[f"docs/moved{step}.md"] = files.pop(name)
        elif action == "drop" and len(files) > 2:
            del files[name]
        else:
            files[f"docs/new{step}.md"] = f"{step}\n" * 9
        for path in (site.top / "docs").glob("*") if (site.top / "docs").exists() else ():
            path.unlink()
        site.commit(**{path.replace("/", "__").replace(".", "_DOT_"): text for path, text in files.items()})
    pages = [f"{Path(name).stem}/" for name in files]
    told = site.dates(*pages)
    for name in files:
        log = site.git("log", "--follow", "-M100%", "--format=%at", "--name-status", "--", name).split("\n\n")
        # the newest commit that did more than rename the file
        times = [block.split("\n") for block in "\n".join(log).strip().split("\n1")]
        newest = next(lines for lines in times if not any(line.startswith("R100") for line in lines))
        at = int(newest[0] if newest[0].startswith("17") else f"1{newest[0]}")
        assert told[f"{Path(name).stem}/"] == on((at - START) // DAY), name


def test_ours_the_last_edits_stop_when_every_file_is_dated() -> None:
    def history() -> Iterator[Edit]:
        yield Edit(START, frozenset({"a"}), frozenset(), {})
        raise AssertionError("nothing is left to find")

    assert last_edits(history(), {"a"}, {"a", "b"}) == ({"a": START}, {})


# ---------------------------------------------------------------- generators

PAGES = {
    "hugo": {
        "content/_index.md": "",
        "content/posts/_index.md": "posts",
        "content/posts/First Post.md": "posts/first-post",
        "content/posts/bundle/index.md": "posts/bundle",
        "content/about.de.md": "de/about",
        "content/about.md": "about",
        "content/posts/named.md|---\ntitle: x\nslug: other-name\n---\n": "posts/other-name",
        'content/posts/placed.md|+++\nurl = "/here/"\n+++\n': "here",
    },
    "jekyll": {
        "index.md": "",
        "about.md": "about",
        "guide/start.html": "guide/start",
        "_posts/2024-01-02-hello-world.md": "2024/01/02/hello-world",
        "_posts/2024-03-04-other.md": "blog/other",
        "_docs/setup.md": "docs/setup",
        "contact.md|---\npermalink: /reach-us/\n---\n": "reach-us",
    },
    "eleventy": {
        "index.njk": "",
        "blog/2024-01-02-post.md": "blog/post",
        "src/about.liquid": "about",
        "about/team.11ty.js": "about/team",
        "team/team.md": "team",
        "team/members/members.md": "team/members",
    },
    "mkdocs": {"docs/index.md": "", "docs/guide/README.md": "guide", "docs/user-guide/a.md": "user-guide/a"},
    "sphinx": {"index.rst": "", "library/json.rst": "library/json", "whatsnew/3.11.rst": "whatsnew/3.11"},
    "astro": {
        "src/pages/index.astro": "",
        "src/pages/about.md": "about",
        "src/content/blog/first.mdx": "blog/first",
        "src/content/docs/guides/start.md": "guides/start",
    },
    "docusaurus": {
        "src/pages/index.tsx": "",
        "docs/01-intro.md": "docs/intro",
        "docs/02-basics/03-install.mdx": "docs/basics/install",
        "docs/api/api.md": "docs/api",
        "blog/2024-01-02-welcome.md": "blog/2024/01/02/welcome",
        "blog/2024-02-03-trip/index.md": "blog/2024/02/03/trip",
        "versioned_docs/version-1.0/intro.md": "docs/1.0/intro",
        "i18n/de/docusaurus-plugin-content-docs/current/intro.md": "de/docs/intro",
        "docs/named.md|---\nslug: /called\n---\n": "called",
    },
}
MARKERS = {
    "hugo": "hugo.toml",
    "jekyll": "_config.yml",
    "eleventy": "eleventy.config.js",
    "mkdocs": "mkdocs.yml",
    "sphinx": "conf.py",
    "astro": "astro.config.mjs",
    "docusaurus": "docusaurus.config.js",
}
NO_PAGES = {
    "hugo": ["layouts/index.html", "themes/x/layouts/about.html"],
    "jekyll": ["_layouts/about.html", "_includes/index.html", "_drafts/about.md"],
    "eleventy": ["_includes/about.njk"],
    "mkdocs": ["README.md", "overrides/index.md"],
    "sphinx": ["_templates/index.txt"],
    "astro": ["src/pages/[slug].astro", "src/components/about.astro", "src/pages/_about.md"],
    "docusaurus": ["src/components/index.tsx"],
}


@pytest.mark.parametrize("root", ["", "website/"])
@pytest.mark.parametrize("name", sorted(PAGES))
def test_ours_each_generator_makes_the_pages_that_it_documents(name: str, root: str) -> None:
    sources = {root + file.partition("|")[0]: (file.partition("|")[2], key) for file, key in PAGES[name].items()}
    files = {*sources, root + MARKERS[name], *(root + file for file in NO_PAGES[name])}
    generator = find_generator(files)
    assert generator
    assert (generator.name, generator.root) == (name, root)
    heads = [(file, sources.get(file, ("",))[0]) for file in sorted(files) if generator.is_page(file)]
    pages = [key for _, key in sources.values()]
    assert match_pages(generator, heads, [*pages, "tags", "de"]) == {key: file for file, (_, key) in sources.items()}


MOVED = {  # folders of files by those of their pages
    "hugo": {"content/en": "", "content/de": "de", "content/docs/guide": "manual"},
    "eleventy": {"src/posts": "blog", "wiki": ""},
    "mkdocs": {"docs/reference": "api/v2"},
    "jekyll": {"pages": ""},
    "sphinx": {"source/en": "en"},
}


def moved_site(name: str, pick: random.Random) -> tuple[list[str], dict[str, str]]:
    """Files of a site whose settings move folders, with drafts, and the file of each of its pages."""
    words = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa"]
    truth: dict[str, str] = {}
    files = set()
    for folder, other in MOVED[name].items():
        for _ in range(12):
            path = "/".join([*pick.choices(words, k=pick.randint(0, 2)), f"{folder[-2:]}{pick.choice(words)}"])
            files.add(f"{folder}/{path}.md")
            if pick.random() > 0.2:
                truth[f"{other}/{path}".strip("/")] = f"{folder}/{path}.md"
    return [MARKERS[name], *sorted(files)], truth


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", sorted(MOVED))
def test_ours_a_folder_that_the_settings_move_is_found_by_its_pages(name: str, seed: int) -> None:
    """As mounts of Hugo do, permalinks of a collection, or another input directory; a few pages have no file."""
    files, truth = moved_site(name, random.Random(seed))
    generator = find_generator(files)
    assert generator
    heads = [(file, "") for file in files if generator.is_page(file)]
    found = match_pages(generator, heads, [*truth, "", "tags", "tags/alpha", "blog/page/2"])
    assert found == truth


def test_ours_two_folders_that_may_have_moved_to_one_place_are_nobodys() -> None:
    """Only one of the languages is on this site, and nothing says which."""
    generator = find_generator(["hugo.toml"])
    assert generator
    heads = [(f"content/{language}/docs/p{n}.md", "") for language in ("de", "en") for n in range(9)]
    assert match_pages(generator, heads, [f"docs/p{n}" for n in range(9)]) == {}


def test_ours_a_few_files_with_the_name_of_a_page_elsewhere_are_no_move() -> None:
    generator = find_generator(["hugo.toml"])
    assert generator
    heads = [(f"content/drafts/{name}.md", "") for name in ("about", "team", "one", "two", "three", "four", "five")]
    assert match_pages(generator, heads, ["about", "team", "news"]) == {}
    assert match_pages(generator, heads[:2], ["about", "team", "news"]) == {}


def test_ours_two_files_with_one_page_are_nobodys() -> None:
    generator = find_generator(["_config.yml"])
    assert generator
    heads = [(f"_posts/2024-0{n}-01-same.md", "") for n in (1, 2)]
    assert match_pages(generator, heads, ["blog/same"]) == {}
    exact = {f"2024/0{n}/01/same": file for n, (file, _) in enumerate(heads, 1)}
    assert match_pages(generator, heads, [*exact, "blog/other"]) == exact


def test_ours_a_generator_is_told_by_what_is_beside_its_settings_and_in_them() -> None:
    assert find_generator(["config.toml", "src/main.rs"]) is None
    assert getattr(find_generator(["config.toml", "content/a.md"]), "name", "") == "hugo"
    sphinx = find_generator(["docs/conf.py", "setup.py"])
    assert sphinx
    assert sphinx.root == "docs/"
    settings = {"project = 'x'": "sphinx", "SITE_URL = 'x'\nBLOG_TITLE = 'x'": "nikola"}
    assert {text: sphinx.with_settings(text).name for text in settings} == settings
