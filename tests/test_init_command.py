"""`siteatlas init` as a person runs it: what it writes, what it refuses, and that a crawl takes what it wrote."""

import json
import os
import subprocess
import tomllib
from pathlib import Path

import pytest
from run import AT_ONCE, Ran, siteatlas
from scripted import Answer, links, scripted

from crawler.packages import WHEEL

URL = "https://www.example.com/"


def init(folder: Path, *words: str) -> Ran:
    return siteatlas(folder, "init", *words)


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_ours_what_is_written_can_be_run_at_once(tmp_path: Path) -> None:
    with scripted({"/": Answer(links("/a")), "/a": Answer("<p>a")}) as site:
        made = init(tmp_path, site.url, "-o", "public")
        assert (made.code, "each build deletes sitemap.xml" in made.err, "key file" in made.err) == (0, True, False)
        assert made.out.startswith("wrote siteatlas.toml\n\nnext:\n")
        assert "\n  siteatlas run --config siteatlas.toml\n" in made.out
        assert "\n  siteatlas schedule --config siteatlas.toml --every 1d\n" in made.out
        assert len(site.log) == 0  # it asks nobody
        assert list(files(tmp_path)) == ["siteatlas.toml"]
        ran = siteatlas(tmp_path, "run", "--config", "siteatlas.toml", "--rate", "0", "--json")
    assert ran.code == 0
    assert json.loads(ran.out)["sites"][0]["published"]
    assert (tmp_path / "public" / "sitemap.xml").exists()
    assert (tmp_path / ".siteatlas").is_dir()


def test_ours_a_local_robots_txt_gets_the_line_by_the_step_that_init_shows(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "robots.txt").write_text("User-agent: *\nDisallow: /x\n")
    with scripted({"/": Answer(links("/a")), "/a": Answer("<p>a")}) as site:
        step = "siteatlas robots --config siteatlas.toml --patch site/robots.txt"
        assert f"\n  {step}\n" in init(tmp_path, site.url, "-o", "site").out
        assert siteatlas(tmp_path, "run", "--rate", "0", "--quiet").code == 0
        siteatlas(tmp_path, *step.split()[1:])
        assert f"Sitemap: {site.url}sitemap.xml" in (tmp_path / "site" / "robots.txt").read_text()


def test_ours_init_patches_robots_txt_itself_if_no_build_writes_its_folder(tmp_path: Path) -> None:
    for folder in ("static", "site"):
        (tmp_path / folder).mkdir()
    (tmp_path / "hugo.toml").touch()
    (tmp_path / "site" / "robots.txt").touch()
    assert " --patch site/robots.txt\n" in init(tmp_path, URL, "-o", "site").out


def test_ours_a_sitemap_that_is_there_is_replaced_once_by_a_person(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitemap.xml").write_text("of a generator")
    with scripted({"/": Answer(links("/a")), "/a": Answer("<p>a")}) as site:
        made = init(tmp_path, site.url, "-o", "site", "--cron")
        step = "siteatlas run --config siteatlas.toml --replace"
        assert f"\n  {step}\n" in made.out
        assert "replaces site/sitemap.xml; later runs need no --replace. If each build" in " ".join(made.out.split())
        assert siteatlas(tmp_path, *step.split()[1:], "--rate", "0").code == 0
        assert siteatlas(tmp_path, "run", "--rate", "0", "--quiet").code == 0
        assert "--replace" not in init(tmp_path, site.url, "-o", "site", "--cron", "--force").out


@pytest.mark.parametrize(
    ("marker", "text", "output", "source"),
    [
        ("mkdocs.yml", "site_name: x", "site", "docs"),
        ("mkdocs.yml", "docs_dir: text", "site", "text"),
        ("mkdocs.yml", "site_dir: build/html", "build/html", "docs"),
        ("mkdocs.yml", "site_dir: build/html", "build/html/de", "docs/de"),
        ("mkdocs.yml", "site_dir: ../www", "../www", "docs"),
        ("mkdocs.yml", "site_name: x", "../www", ""),
        ("hugo.toml", "", "public", "static"),
        ("hugo.toml", "", "site", ""),
        ("_config.yml", "", "a/public", ""),
        ("hugo.toml", "", "public/en", "static/en"),
        ("astro.config.mjs", "outDir: './www'", "www", "public"),
        ("_config.yml", "destination: out", "out", "."),
        ("eleventy.config.js", "input: 'src'", "_site", ""),
        ("eleventy.config.js", "addPassthroughCopy({ './static/': '/' })", "_site", "static"),
        ("eleventy.config.js", "addPassthroughCopy('static')", "_site", ""),  # into _site/static
        ("conf.py", "BLOG_TITLE = 'x'\n# FILES_FOLDERS = {'files': ''}", "output", "files"),  # of Nikola
        ("conf.py", "BLOG_TITLE = 'x'\nFILES_FOLDERS = {'static': ''}", "output", "static"),
        ("conf.py", "project = 'x'\nhtml_title = 'BLOG_TITLE'", "output", ""),  # of Sphinx
        ("README.md", "", "site", ""),
    ],
)
def test_ours_a_build_deletes_neither_the_key_nor_robots_txt(
    tmp_path: Path, marker: str, text: str, output: str, source: str
) -> None:
    project = tmp_path / "project"
    for folder in ("docs", "text", "static", "public", "src", "files"):
        (project / folder).mkdir(parents=True)
    (project / marker).write_text(text)
    made = init(project, URL, "-o", output, "--indexnow")
    keys = {(tmp_path / name).parent for name in files(tmp_path) if name.endswith(".txt")}
    assert keys == {(project / folder).resolve() for folder in (output, source or output)}
    assert ("each build deletes sitemap.xml: run Siteatlas after each build" in made.err) is not bool(source)
    assert ("put a copy of the key file" in made.err) is not bool(source)
    assert (f" --patch {Path(source) / 'robots.txt'}" in made.out) is bool(source)


@pytest.mark.parametrize(
    ("marker", "output", "words", "is_built", "has_git"),
    [
        ("hugo.toml", "public", (), True, True),
        ("conf.py", "_build/html", (), True, True),
        ("hugo.toml", "public/en", (), False, False),
        ("hugo.toml", "www", (), False, False),
        ("README.md", "public", (), False, False),
        ("hugo.toml", "public", ("--container",), True, False),
        ("hugo.toml", "public", ("--systemd", "--user", "nobody"), True, False),
        ("hugo.toml", "public", ("--config", "../siteatlas.toml"), True, False),  # outside of the repository
    ],
)
def test_ours_the_folder_of_a_generator_is_what_runs_read(
    tmp_path: Path, marker: str, output: str, words: tuple[str, ...], is_built: bool, has_git: bool
) -> None:
    (project := tmp_path / "project").mkdir()
    (project / marker).write_text("")
    for command in "init -q", "add -A", "-c user.name=a -c user.email=a@b commit -qm x":
        subprocess.run(["git", "-C", str(project), *command.split()], check=True)
    made = init(project, URL, "-o", output, "--indexnow", *words)
    (config,) = tmp_path.rglob("siteatlas.toml")
    tables = tomllib.loads(config.read_text())
    source = tables.get("fetch", {}).get("source", "")
    assert ((config.parent / source).resolve() == (project / output).resolve()) is is_built
    assert (tables["content"].get("lastmod") == "git") is has_git
    told = " ".join(made.out.split())
    assert ("after each build, publishes the sitemap in" in told) is is_built
    assert ("after each deploy, sends the changes" in told) is is_built
    assert ("siteatlas schedule --config" in told) is not (is_built or bool(words))
    is_scheduled = "--container" in words or "--systemd" in words
    assert ("they neither build nor deploy" in " ".join(made.err.split())) is (is_built and is_scheduled)


def test_ours_the_runs_after_init_read_the_next_build_and_date_it_by_git(tmp_path: Path) -> None:
    for name in "docs", "site":
        (tmp_path / name).mkdir()
    (tmp_path / "mkdocs.yml").write_text("site_name: x")
    pages = ("index", "a", "b")
    for name in pages:
        (tmp_path / "docs" / f"{name}.md").write_text(name)
        (tmp_path / "site" / f"{name}.html").write_text(links("/a.html") + f"<p>{name}")
    for command in "init -q", "add -A", "-c user.name=a -c user.email=a@b commit -qm x --date=2025-03-04T10:00Z":
        subprocess.run(["git", "-C", str(tmp_path), *command.split()], check=True)
    assert init(tmp_path, "https://www.example.com/", "-o", "site").code == 0
    words = ("run", "--config", "siteatlas.toml", "--replace", *AT_ONCE)
    assert siteatlas(tmp_path, *words).code == 0
    (tmp_path / "site" / "index.html").write_text(links("/a.html", "/b.html"))
    assert siteatlas(tmp_path, *words).code == 0
    assert "/b.html</loc><lastmod>2025-03-04T10:00:00" in (tmp_path / "site" / "sitemap.xml").read_text()


def test_ours_a_second_init_keeps_the_key_and_tells_of_no_file_that_it_did_not_write(tmp_path: Path) -> None:
    assert init(tmp_path, URL, "-o", "site", "--indexnow").code == 0
    before = files(tmp_path)
    refused = init(tmp_path, URL, "-o", "site", "--indexnow")
    assert (refused.code, "key file" in refused.err) == (2, False)
    assert init(tmp_path, URL, "-o", "site", "--indexnow", "--force").code == 0
    assert files(tmp_path) == before


def test_ours_several_sites_get_names_and_directories_of_their_own(tmp_path: Path) -> None:
    words = ("https://shop.example.com/", "https://blog.example.com/", "-o", "www", "--config", "conf/sites.toml")
    assert init(tmp_path, *words).code == 0
    sites = tomllib.loads((tmp_path / "conf" / "sites.toml").read_text())["sites"]
    assert {name: each["site"]["url"] for name, each in sites.items()} == {
        "shop": "https://shop.example.com/",
        "blog": "https://blog.example.com/",
    }
    # relative paths are those of the file, and it is elsewhere
    assert sites["shop"]["output"]["directory"] == str(tmp_path / "www" / "shop")


def test_ours_nothing_that_is_there_is_replaced_unless_it_is_forced(tmp_path: Path) -> None:
    (tmp_path / "siteatlas.crontab").write_text("mine")
    refused = init(tmp_path, URL, "--cron", "--systemd")
    assert refused.code == 2
    assert "siteatlas.crontab already exists, so nothing was written. Add --force" in refused.err
    assert files(tmp_path) == {"siteatlas.crontab": b"mine"}
    assert init(tmp_path, URL, "--cron", "--systemd", "--force").code == 0
    assert sorted(files(tmp_path)) == [*("siteatlas.crontab", "siteatlas.service", "siteatlas.timer", "siteatlas.toml")]
    assert b"mine" not in files(tmp_path)["siteatlas.crontab"]


def test_ours_a_directory_that_the_account_of_the_units_may_not_enter_is_told(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    told = f"the account nobody-yet cannot open {closed}/siteatlas.toml, {closed}/public, {closed}/.siteatlas, because "
    assert told in init(closed, URL, "-o", "public", "--systemd", "--user", "nobody-yet").err
    assert told in init(closed, URL, "-o", "public", "--cron", "--user", "nobody-yet", "--force").err
    assert "cannot open" not in init(closed, URL, "--cron", "--force").err
    assert "cannot open" not in init(closed, URL, "--systemd", "--user", "root", "--force").err
    text = f'site.url = "{URL}"\noutput.directory = "www"\n[upload]\nto = "sftp://b/c"\nsftp_key = "closed/id"'
    (tmp_path / "k.toml").write_text(text)
    others = ("--config", "k.toml", "--user", "nobody-yet", "--force")
    assert f"{closed}/id, because " in init(tmp_path, *others, "--cron").err
    assert f"{closed}/id" not in init(tmp_path, *others, "--systemd").err, "systemd reads it as root"


def test_ours_kits_are_made_for_a_configuration_that_is_there(tmp_path: Path) -> None:
    config = tmp_path / "my sites.toml"
    config.write_text(f'[site]\nurl = "{URL}"\n[output]\ndirectory = "out"\n[schedule]\nevery = "6h"\n')
    before = config.read_bytes()
    made = init(tmp_path, "--config", "my sites.toml", "--cron", "--systemd-daemon")
    told = "the daemon and cron do the same work: start only one of them"
    assert made.code == 0
    assert f"siteatlas: {told}\n" in made.err
    assert config.read_bytes() == before
    assert " */6 * * *  " in (tmp_path / "siteatlas-my-sites.crontab").read_text()
    assert "systemctl enable --now siteatlas-my-sites-schedule.service" in made.out
    bare = init(tmp_path, "--config", "my sites.toml")
    assert bare.code == 2
    assert "--systemd, --systemd-daemon, --cron, --github, --container, --kubernetes" in bare.err


def test_ours_the_account_of_the_units_is_made_first_and_makes_the_first_files(tmp_path: Path) -> None:
    state = tmp_path / ".siteatlas"
    state.mkdir()
    made = init(tmp_path, URL, "-o", "www", "--systemd", "--user", "nobody-yet").out
    _, steps = made.split("next:\n")
    commands = [line.strip().removeprefix("sudo ") for line in steps.splitlines()][1::2]
    assert commands[0] == "useradd --system --shell /usr/sbin/nologin nobody-yet"
    assert commands[1] == f"install -d -o nobody-yet {tmp_path}/www"
    assert commands[2] == f"chown -R nobody-yet {state}"
    assert commands[3].startswith(("runuser -u nobody-yet -- /", "-u nobody-yet /"))
    assert commands[3].endswith("siteatlas run --config siteatlas.toml")
    assert commands[4] == "siteatlas robots --config siteatlas.toml"
    assert "systemctl enable --now siteatlas.timer" in commands[5]
    assert "the timer runs it from now on" in steps


@pytest.mark.parametrize("words", [("--user", "nobody-yet"), ()])
def test_ours_the_crontab_is_that_of_the_account(tmp_path: Path, words: tuple[str, ...]) -> None:
    made = init(tmp_path, URL, "-o", "www", "--cron", "--systemd-serve", *words).out
    edits = [line for line in made.splitlines() if line.endswith("crontab -u nobody-yet -")]
    assert bool(edits) is ("nobody-yet" in words)
    assert ("crontab -u" in (tmp_path / "siteatlas.crontab").read_text()) is bool(edits)
    alone = init(tmp_path, URL, "-o", "www", "--cron", "--force", *words).out
    assert ("useradd --system --shell /usr/sbin/nologin nobody-yet" in alone) is bool(edits)
    assert ("-u nobody-yet " in alone.partition("siteatlas run --config")[0]) is bool(edits)


def test_ours_the_lines_of_a_crontab_are_replaced_by_those_of_the_same_configuration_alone(tmp_path: Path) -> None:
    table, program = tmp_path / "table", tmp_path / "crontab"
    program.write_text(f'#!/bin/sh\n[ "$1" = -l ] && exec cat {table}\ncat > {table}.new; mv {table}.new {table}\n')
    program.chmod(0o755)
    table.write_text("0 5 * * * backup\n")
    folders = [tmp_path / name for name in ("one", "my.two-sites")]
    for folder in (*folders, *folders):
        folder.mkdir(exist_ok=True)
        made = init(folder, URL, "-o", "www", "--cron", "--force").out
        (step,) = (line.strip() for line in made.splitlines() if "crontab -l" in line)
        path = f"{tmp_path}:{os.environ['PATH']}"
        subprocess.run(["sh", "-c", step], cwd=folder, env={"PATH": path}, check=True)
    runs = [line for line in table.read_text().splitlines() if line and not line.startswith(("#", "PATH="))]
    assert runs[0] == "0 5 * * * backup"
    assert all(f"{folder}/siteatlas.toml" in run for folder, run in zip(folders, runs[1:], strict=True))


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_ours_a_state_that_another_account_may_use_is_left_to_it(tmp_path: Path) -> None:
    state = tmp_path / ".siteatlas"
    state.mkdir()
    os.chown(state, 65_534, 65_534)
    made = init(tmp_path, URL, "-o", "www", "--systemd", "--user", "nobody-yet")
    assert "chown" not in made.out
    said = f"{state} belongs to another account, which may use it: choose another state.directory for nobody-yet"
    assert said in " ".join(made.err.split())


def test_ours_secrets_without_which_no_unit_starts_are_named(tmp_path: Path) -> None:
    text = f'[site]\nurl = "{URL}"\n[output]\ndirectory = "out"\n'
    secrets = '[indexnow]\nkey = "env:INKEY"\n[webhook]\nurls = ["file:there", "file:chat url"]\n'
    (tmp_path / "k.toml").write_text(text + secrets)
    (tmp_path / "there").write_text("https://chat.example/")
    made = init(tmp_path, "--config", "k.toml", "--systemd", "--systemd-daemon", "--cron")
    assert f"install -m 600 /dev/null {tmp_path}/k.env" in made.out
    assert "write INKEY=… into it" in made.out
    assert f"install -m 600 /dev/null '{tmp_path}/chat url'" in made.out
    assert f"{tmp_path}/there" not in made.out  # what is there would be emptied
    assert "the timer, the daemon and cron do the same work: start only one of them" in made.err
    assert made.out.count("or instead: ") == 2


@pytest.mark.parametrize("section", ["search_console]\naccount", 'audit]\nga4 = "1"\ngoogle_credentials'])
def test_ours_a_key_file_of_google_is_handed_to_the_units(tmp_path: Path, section: str) -> None:
    text = f'[site]\nurl = "{URL}"\n[output]\ndirectory = "out"\n[{section} = "google.json"\n'
    (tmp_path / "k.toml").write_text(text)
    made = init(tmp_path, "--config", "k.toml", "--systemd", "--github", "--force")
    assert made.code == 0, made.err
    written = {name: body.decode() for name, body in files(tmp_path).items()}
    assert any(f":{tmp_path}/google.json" in body for body in written.values() if "LoadCredential=" in body)
    assert any(f"{WHEEL}[google]" in body for body in written.values())
    assert f"{tmp_path}/google.json exists on this machine only" in made.err


def test_ours_print_writes_nothing(tmp_path: Path) -> None:
    printed = init(tmp_path, URL, "--print")
    assert printed.code == 0
    assert tomllib.loads(printed.out)["site"]["url"] == URL
    both = init(tmp_path, URL, "--print", "--kubernetes")
    assert both.out.index("# ==> siteatlas.toml <==") < both.out.index("# ==> siteatlas.yaml <==")
    assert files(tmp_path) == {}


def test_ours_a_workflow_lies_at_the_top_of_the_repository(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    folder = tmp_path / "site"
    folder.mkdir()
    made = init(folder, URL, "-o", "../public", "--github")
    assert made.code == 0, made.err
    workflow = (tmp_path / ".github" / "workflows" / "sitemap.yml").read_text()
    assert "siteatlas run --config site/siteatlas.toml ||" in workflow
    assert "git add -- public " in workflow
    outside = init(folder, URL, "-o", "/srv/www", "--github", "--force")
    assert outside.code == 2
    assert "outside the Git repository" in outside.err
    (folder / "hugo.toml").touch()
    built = init(folder, URL, "-o", "public", "--github", "--force")
    assert (built.code, "add the run to the workflow that builds the site" in built.err) == (2, True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "siteatlas.toml does not exist. Give the URL of a site, as in siteatlas init https://www.example.com/"),
        (
            (URL, "-o", "."),
            "the configuration (siteatlas.toml) would be public, because it is inside the published directory",
        ),
        ((URL, "-o", ".siteatlas"), "the state directory (.siteatlas) must not be inside the published directory"),
        (("https://user:secret@example.com/",), "contains a user name or a password"),
    ],
)
def test_ours_what_cannot_be_is_told_in_one_line(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    ran = init(tmp_path, *words)
    assert ran.code == 2
    assert said in ran.err.replace(f"{tmp_path}/", "")
    assert "secret" not in ran.err
    assert ran.err.count("\n") == 1
    assert files(tmp_path) == {}


def test_ours_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    ran = init(tmp_path, URL, "--config", "file/siteatlas.toml")
    assert ran.code == 7
    assert "cannot be written" in ran.err


def test_ours_a_container_sees_the_folder_of_the_configuration_alone(tmp_path: Path) -> None:
    ran = siteatlas(tmp_path, "init", "https://www.example.com/", "-o", str(tmp_path / "www"), "--container")
    assert ran.code == 0, ran.err
    assert "container sees" not in ran.err
    config = tmp_path / "siteatlas.toml"
    assert tomllib.loads(config.read_text())["output"]["directory"] == "www"
    config.write_text(config.read_text().replace('directory = "www"', f'directory = "{tmp_path}/www"'))
    ran = siteatlas(tmp_path, "init", "--config", "siteatlas.toml", "--container", "--force")
    assert ran.code == 0, ran.err
    assert f"the container sees {tmp_path} alone, as /data, and not {tmp_path}/www" in " ".join(ran.err.split())


def test_ours_a_directory_that_exists_stays_its_owners(tmp_path: Path) -> None:
    for name, mode in (("www", 0o2775), ("open", 0o1777)):
        (tmp_path / name).mkdir()
        (tmp_path / name).chmod(mode)
    words = ("--systemd", "--user", "nobody-yet", "--force")
    made = init(tmp_path, URL, "-o", "www", *words).out
    assert f"setfacl -m u:nobody-yet:rwx {tmp_path}/www\n" in made
    assert f"install -d -o nobody-yet {tmp_path}/.siteatlas\n" in made
    assert "setfacl" not in init(tmp_path, URL, "-o", "open", *words).out
