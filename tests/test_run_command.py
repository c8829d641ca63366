"""``siteatlas run`` and ``siteatlas status``: many sites, one after the other, and how they stand."""

import json
import os
import pwd
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import anyio
import pytest
from doubles_mail import mailbox
from run import FAST, Ran, command, environment, siteatlas
from scripted import Answer, Route, Site, links, scripted

from crawler.cli.run_sites import site_plans
from crawler.errors import NEXT_RUN, StorageError, UsageError
from crawler.moves import register
from crawler.run.regenerate import regenerate_site


def pages(count: int, delay: float = 0.0) -> dict[str, Route]:
    """A start page that leads to so many others."""
    own = [f"/p{n}" for n in range(1, count)]
    return {"/": Answer(links(*own), delay=delay)} | {path: Answer(f"<p>{path}", delay=delay) for path in own}


def configure(folder: Path, **sites: str) -> None:
    """A configuration of these sites, by name and start URL."""
    tables = [
        f'[sites.{name}]\nsite = {{url = "{url}"}}\noutput = {{directory = "out/{name}"}}'
        for name, url in sites.items()
    ]
    shared = '[state]\ndirectory = "state"\n[output]\nswap_delay = 0\n[notify]\ncheck_live = false\n'
    (folder / "sites.toml").write_text("\n".join((shared, *tables)), encoding="utf-8")


def run(folder: Path, *words: str, **extra: str) -> Ran:
    return siteatlas(
        folder,
        "run",
        "--config",
        "sites.toml",
        *FAST,
        "--set=output.swap_delay=0",
        "--set=fetch.retries=0",
        *words,
        **extra,
    )


def status(folder: Path, *words: str) -> list[dict[str, Any]]:
    ran = siteatlas(folder, "status", "--config", "sites.toml", "--json", *words)
    assert ran.code == 0, ran.err
    told: list[dict[str, Any]] = json.loads(ran.out)["sites"]
    return told


def sitemap(folder: Path, name: str) -> bytes:
    return (folder / "out" / name / "sitemap.xml").read_bytes()


def test_ours_one_site_that_fails_does_not_keep_the_others_from_theirs(tmp_path: Path) -> None:
    with scripted(pages(3)) as shop, scripted({"/robots.txt": Answer("", 503)}) as down, scripted(pages(4)) as blog:
        configure(tmp_path, shop=shop.url, down=down.url, blog=blog.url)
        ran = run(tmp_path)
        assert run(tmp_path).out.endswith("3 sites: 2 unchanged, 1 failed; look at down (exit code 5)\n")
    assert ran.code == 5
    assert sitemap(tmp_path, "shop").count(b"<loc>") == 3
    assert sitemap(tmp_path, "blog").count(b"<loc>") == 4
    order = [
        ran.out.index("== shop =="),
        ran.out.index("3 pages"),
        ran.out.index("== blog =="),
        ran.out.index("4 pages"),
    ]
    assert order == sorted(order)
    assert ran.out.endswith("3 sites: 2 published, 1 failed; look at down (exit code 5)\n")
    assert "siteatlas: down: nothing can be crawled" in ran.err
    assert not (tmp_path / "out" / "down" / "sitemap.xml").exists()


def test_ours_the_exit_code_is_that_of_the_worst_and_json_tells_each(tmp_path: Path) -> None:
    with scripted(pages(8)) as shop, scripted(pages(4)) as blog:
        configure(tmp_path, shop=shop.url, blog=blog.url)
        assert run(tmp_path, "-q").code == 0
        blog.routes["/"] = Answer("", 500)
        ran = run(tmp_path, "--json")
        told = json.loads(ran.out)
        assert (ran.code, told["exit_code"]) == (3, 3)
        first, second = told["sites"]
        assert (first["name"], first["exit_code"], first["listed"]) == ("shop", 0, 8)
        assert (second["name"], second["exit_code"]) == ("blog", 3)
        quiet = run(tmp_path, "-q", "--site", "blog")
        assert (quiet.code, quiet.out) == (3, "")
        assert quiet.err.startswith("siteatlas: blog: the start URL")


def test_ours_a_hint_of_several_sites_is_the_whole_command(tmp_path: Path) -> None:
    with scripted(pages(2)) as shop, scripted(pages(5)) as blog:
        configure(tmp_path, shop=shop.url, blog=blog.url)
        assert run(tmp_path, "-q").code == 0
        blog.routes.update({f"/p{number}": Answer("", 404) for number in range(1, 5)})
        _, held = json.loads(run(tmp_path, "--json").out)["sites"]
        command = hinted(held["refusal"])
        assert command[:4] == ["siteatlas", "run", "--config", f"{tmp_path}/sites.toml"]
        assert command[-3:] == ["--site", "blog", "--accept-shrink"]
        assert siteatlas(tmp_path, *command[1:]).code == 0


def hinted(refusal: str) -> list[str]:
    """The command that a refusal hints at, as words."""
    hint = re.search(r"[Ii]f this is intended, run (.* --accept-shrink)", refusal)
    assert hint, refusal
    return shlex.split(hint[1])


def test_ours_a_hint_repeats_what_overrides_the_configuration_but_no_secret(tmp_path: Path) -> None:
    (build := tmp_path / "my build").mkdir()
    for number in range(5):
        (build / f"{number or 'index'}.html").write_text(links(*(f"/{n}.html" for n in range(1, 5))) + f"<p>{number}")
    configure(tmp_path, shop="https://www.example.com/")
    typed = ("--config", "sites.toml", "--source", "my build", "--lastmod", "header", "--exclude", "/a*", "--exclude")
    typed += ("/b c", "--ignore-robots", "--set", "state.directory=own", "--basic-auth", "ann:secret", *FAST)
    typed += ("--set=audit.sitemaps=https://ann:secret@www.example.com/map.xml", '--set=audit.logs=["a.log", "b.log"]')
    assert siteatlas(tmp_path, "run", *typed).code == 0
    for number in range(1, 5):
        (build / f"{number}.html").unlink()
    ran = siteatlas(tmp_path, "run", *typed, "--json", "--restart", "--quiet")
    assert (ran.code, "ann:secret" in ran.out + ran.err) == (3, False)
    command = hinted(json.loads(ran.out)["sites"][0]["refusal"])
    assert not {"--json", "--restart", "--quiet"} & {*command}
    (elsewhere := tmp_path / "elsewhere").mkdir()
    assert command[command.index("--basic-auth") + 1] == "VALUE"
    command[command.index("--basic-auth") + 1] = "ann:secret"
    assert f'audit.logs=["{tmp_path}/a.log", "{tmp_path}/b.log"]' in command
    at = command.index("audit.sitemaps=VALUE")
    del command[at - 1 : at + 1]
    again = siteatlas(elsewhere, *command[1:], "--json")
    assert (again.code, json.loads(again.out)["sites"][0]["listed"]) == (0, 1), again.err
    assert "--ignore-robots" in command
    assert "/b c" in command


def test_ours_a_site_is_named_to_be_run_alone_and_a_dry_run_publishes_nothing(tmp_path: Path) -> None:
    with scripted(pages(3)) as shop, scripted(pages(4)) as blog:
        configure(tmp_path, shop=shop.url, blog=blog.url)
        assert run(tmp_path, "--site", "blog").code == 0
        assert not shop.log
        before = sitemap(tmp_path, "blog")
        blog.routes["/"] = links("/p1", "/p2", "/p3", "/new")
        blog.routes["/new"] = "<p>new"
        dry = run(tmp_path, "--site", "blog", "--dry-run", "--json")
        (told,) = json.loads(dry.out)["sites"]
        assert (dry.code, told["added"], told["removed"]) == (0, 1, 0)
        assert sitemap(tmp_path, "blog") == before
        assert run(tmp_path, "--site", "blog").code == 0
        assert sitemap(tmp_path, "blog").count(b"<loc>") == 5


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("[sites.b.output]\ndirectry = 'x'", "sites.b.output.directry"),
        ("[sites.b.site]\nurl = 'http://127.0.0.1:9/'", 'the site "b" in sites.toml: no directory is given for the'),
        ("[sites.b]\nsite = {url = 'no url'}\noutput = {directory = 'x'}", 'the site "b" in sites.toml: the start URL'),
        ("[sites.b]\nsite = {url = 'http://127.0.0.1:9/'}\noutput = {directory = 'out/../out/a'}", '"a" and "b"'),
        ("[sites.b]\nsite = {url = 'http://127.0.0.1:8/'}\noutput = {directory = 'b'}", '"a" and "b"'),
    ],
)  # fmt: skip
def test_ours_what_is_wrong_with_any_site_is_told_before_the_first_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    configure(tmp_path, a="http://127.0.0.1:8/")
    with Path("sites.toml").open("a", encoding="utf-8") as file:
        file.write(f"\n{more}\n")
    with pytest.raises(UsageError) as told:
        site_plans(Path("sites.toml"), {}, ["a"])
    assert said in str(told.value)


def test_ours_a_command_line_that_cannot_be_meant_is_refused(tmp_path: Path) -> None:
    configure(tmp_path, a="http://127.0.0.1:9/", b="http://127.0.0.1:9/b/")
    both = run(tmp_path, "--fresh", "--restart", SITEATLAS_OUTPUT_DIRECTORY="x")
    assert (both.code, "--restart" in both.err) == (2, True)
    of_one = run(tmp_path, SITEATLAS_OUTPUT_DIRECTORY="x")
    assert (of_one.code, "SITEATLAS_OUTPUT_DIRECTORY" in of_one.err) == (2, True)
    ran = siteatlas(tmp_path, "crawl", "--config", "sites.toml")
    assert (ran.code, "siteatlas run --config sites.toml" in ran.err) == (2, True)
    assert "siteatlas run --config FILE" in siteatlas(tmp_path, "run").err


def begun(folder: Path, site: Site, after: int, *words: str) -> subprocess.Popen[str]:
    """A run of the sites that has made so many requests of this one."""
    process = subprocess.Popen(
        command("run", "--config", "sites.toml", *FAST, *words),
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while len(site.log) < after:
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    return process


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        (['webhook.urls=["env:NO_SUCH_NAME"]'], "the environment variable NO_SUCH_NAME is not set"),
        (['webhook.urls=["file:none"]'], "cannot be read: No such file"),
        (['email.to=["a@b.test"]', 'email.sender="nobody"'], "email.sender 'nobody' is not an address"),
        (['upload.to="s3://bucket/x"', 'upload.s3_access_key="env:NO_SUCH_NAME"'], "NO_SUCH_NAME is not set"),
    ],
)
def test_ours_a_dry_run_says_what_would_prevent_a_run(tmp_path: Path, settings: list[str], fault: str) -> None:
    with scripted(pages(3)) as site:
        configure(tmp_path, shop=site.url)
        words = [f"--set={setting}" for setting in settings]
        dry = run(tmp_path, "--dry-run", *words)
        assert (dry.code, "3 pages would be listed" in dry.out) == (2, True), dry
        assert fault in " ".join(dry.out.split("a run would be refused: ")[1].split())
        assert fault in run(tmp_path, *words).err
        assert run(tmp_path, "--dry-run").code == 0
        output = tmp_path / "out" / "shop"
        output.mkdir(parents=True, exist_ok=True)
        (output / "sitemap.xml").write_text("of somebody else")
        both = " ".join(run(tmp_path, "--dry-run", *words).out.split("a run would be refused: ")[1].split())
        assert (fault in both, "shop/sitemap.xml already exists" in both) == (True, True)


def test_ours_a_dry_run_says_that_a_run_could_not_write_its_files(tmp_path: Path) -> None:
    with scripted(pages(3)) as site:
        configure(tmp_path, shop=site.url)
        assert run(tmp_path, "--dry-run").code == 0
        (tmp_path / "out").touch()
        dry = run(tmp_path, "--dry-run")
        assert (dry.code, "3 pages would be listed" in dry.out) == (2, True), dry
        assert "out cannot be used: Not a directory" in " ".join(dry.out.split("a run would be refused: ")[1].split())
        assert run(tmp_path).code == 7


def test_ours_an_interrupt_saves_the_site_under_way_and_begins_no_other(tmp_path: Path) -> None:
    released = threading.Event()

    def held(_: int) -> Answer:
        released.wait(60)
        return Answer("<p>at last")

    with scripted(pages(60) | {f"/p{n}": held for n in range(20, 60)}) as shop, scripted(pages(4)) as blog:
        configure(tmp_path, shop=shop.url, blog=blog.url)
        process = begun(tmp_path, shop, 20)
        (now, other) = status(tmp_path)
        assert (now["running"], now["unfinished"]) == (str(process.pid), 1)
        assert (other["name"], other["runs"]) == ("blog", [])
        process.send_signal(signal.SIGINT)
        released.set()
        out, err = process.communicate(timeout=60)
        assert process.returncode == 4, (out, err)
        assert "blog: not started" in err
        assert not blog.log
        text = siteatlas(tmp_path, "status", "--config", "sites.toml", "--site", "shop", "--site", "blog").out
        assert "run 1 was cut short (it was interrupted" in text
        assert "not crawled yet" in text
        assert run(tmp_path).code == 0
        shop_now, blog_now = status(tmp_path)
        assert [each["completeness"] for each in shop_now["runs"]] == ["complete"]
        assert (shop_now["published"]["pages"], blog_now["published"]["pages"]) == (60, 4)
        assert (shop_now["running"], shop_now["unfinished"]) == (None, None)


def test_ours_status_lists_the_last_runs_and_what_is_published(tmp_path: Path) -> None:
    with scripted(pages(10)) as site:
        configure(tmp_path, only=site.url)
        assert run(tmp_path).code == 0
        site.routes["/p1"] = Answer("", 410)
        assert run(tmp_path).code == 0
        site.routes["/"] = Answer("", 500)
        assert run(tmp_path).code == 3
    (only,) = status(tmp_path)
    assert [(each["number"], each["outcome"], each["exit_code"]) for each in only["runs"]] == [
        *((3, "refused", 3), (2, "published", 0), (1, "published", 0))
    ]
    assert [(each["added"], each["removed"]) for each in only["runs"][1:]] == [(0, 1), (10, 0)]
    assert only["runs"][0]["refusal"].startswith("the start URL")
    assert only["published"]["pages"] == 9
    assert only["published"]["run"] == 2
    assert only["published"]["files"][0]["urls"] == 9
    assert [each["number"] for each in status(tmp_path, "--runs", "1")[0]["runs"]] == [3]
    # without a configuration: what is in the state directory
    text = siteatlas(tmp_path, "status", "--state", "state")
    assert text.code == 0
    assert "9 pages in 1 file published, written by run 2:" in text.out
    assert "+0 ~0 -1" in text.out
    assert "the start URL" in text.out


def test_ours_status_of_what_is_not_there_or_not_readable_says_so(tmp_path: Path) -> None:
    ran = siteatlas(tmp_path, "status")
    assert (ran.code, ".siteatlas contains no state" in ran.err) == (2, True)
    broken = tmp_path / "state" / "broken"
    broken.mkdir(parents=True)
    (broken / "state.db").write_bytes(b"no database at all, and long enough to be looked into" * 20)
    ran = siteatlas(tmp_path, "status", "--state", "state")
    assert ran.code == 7
    assert "== broken ==" in ran.out
    assert "cannot be used as state" in ran.out


@pytest.mark.thorough
def test_ours_a_killed_run_is_told_by_status_and_by_the_next_run(tmp_path: Path) -> None:
    with scripted(pages(30)) as site:
        configure(tmp_path, shop=site.url)
        assert run(tmp_path).code == 0
        site.routes |= {f"/p{n}": Answer(f"<p>/p{n}", delay=0.7) for n in range(1, 30)}
        for _ in range(2):
            killed = begun(tmp_path, site, len(site.log) + 18, "-q")
            killed.kill()
            killed.communicate()
            shown = siteatlas(tmp_path, "status", "--config", "sites.toml").out
            assert "or the computer stopped; the next run continues it" in shown
        assert "run 2 was continued 1 time" in shown
        resumed = run(tmp_path, "-q")
        assert (resumed.code, resumed.err.count("did not end")) == (0, 1), resumed.err
    assert "or the computer stopped; this run continues it" in resumed.err
    shown = siteatlas(tmp_path, "status", "--config", "sites.toml").out
    assert "did not end" not in shown
    assert re.search("run 2 was continued 2 times, last on .*; its figures are sums", shown)


def test_ours_three_runs_in_a_row_that_were_killed_are_an_alert_and_status_has_each_try(tmp_path: Path) -> None:
    with scripted(pages(30)) as site, mailbox() as box:
        configure(tmp_path, shop=site.url)
        mail = [f'--set=email.server="{box.address}"', '--set=email.to=["a@b.test"]', "-q"]
        assert run(tmp_path, *mail).code == 0
        assert run(tmp_path, *mail, "--max-pages", "5").code == 4
        site.routes |= {f"/p{n}": Answer(f"<p>/p{n}", delay=0.7) for n in range(1, 30)}
        for _ in range(3):  # requests of the process before may arrive late
            assert not box.messages
            killed = begun(tmp_path, site, len(site.log) + 8, *mail)
            killed.kill()
            killed.communicate()
        site.routes |= pages(30)
        assert run(tmp_path, *mail).code == 0
    told = [" ".join(text.get_content().split()) for text in box.messages]
    assert len(told) == 2, told
    assert "3 runs in a row were killed, possibly out of memory" in told[0]
    assert "succeeded again" in told[1]
    shown = siteatlas(tmp_path, "status", "--config", "sites.toml").out
    assert re.search("run 2 was continued 4 times, last on .*; its figures are sums", shown)
    assert re.findall("(?m)^ +on .*: (exit code 4|killed)", shown) == ["exit code 4", *3 * ["killed"]]


@pytest.mark.thorough
def test_ours_runs_that_are_killed_before_they_store_a_url_count_too(tmp_path: Path) -> None:
    with scripted(pages(3)) as site, mailbox() as box:
        configure(tmp_path, shop=site.url)
        mail = [f'--set=email.server="{box.address}"', '--set=email.to=["a@b.test"]', "-q"]
        for _ in range(3):
            site.routes["/"] = Answer("late", delay=2.0)
            killed = begun(tmp_path, site, len(site.log) + 1, *mail)
            killed.kill()
            killed.communicate()
        site.routes |= pages(3)
        assert run(tmp_path, *mail).code == 0
    assert "3 runs in a row were killed" in " ".join(box.messages[0].get_content().split())


class Static(dict[str, Route]):
    """The routes of a server that ignores queries, as one of files does."""

    def get(self, path: str, default: Any = None) -> Any:
        return super().get(path.partition("?")[0], default)


def test_ours_a_sitemap_that_the_site_does_not_serve_is_told_and_alerted_once(tmp_path: Path) -> None:
    with scripted(Static(pages(3))) as site, mailbox() as box:
        configure(tmp_path, shop=site.url)
        mail = [f'--set=email.server="{box.address}"', '--set=email.to=["a@b.test"]', "-q"]
        mail += ["--set=notify.check_live=true"]
        for told in (1, 0):
            ran = run(tmp_path, *mail)
            assert (ran.code, ran.err.count("/sitemap.xml returns 404, and the sitemap is in /")) == (0, told)
            assert all(line.startswith("siteatlas: shop: ") for line in ran.err.splitlines())
        assert "/sitemap.xml returns 404" in siteatlas(tmp_path, "status", "--config", "sites.toml").out
        (other := tmp_path / "other").mkdir()
        configure(other, shop=site.url)
        loud = run(other, mail[-1])  # what the report says, no other line repeats
        assert (loud.out.count("the site does not serve"), loud.err) == (1, "")
        site.routes["/sitemap.xml"] = Answer("later", 503)  # which says nothing of the sitemap
        assert run(tmp_path, *mail) == Ran(0, "", "")
        site.routes["/sitemap.xml"] = Answer("<urlset/>")  # of an earlier time
        assert "/sitemap.xml serves something else" in run(tmp_path, *mail).err
        assert run(tmp_path, *mail) == Ran(0, "", "")
        assert "/sitemap.xml serves something else" in siteatlas(tmp_path, "status", "--config", "sites.toml").out
        del site.routes["/sitemap.xml"]
        assert run(tmp_path, *mail).code == 0
        assert not run(tmp_path, "-q").err
        assert not siteatlas(tmp_path, "crawl", site.url, "-o", "by-hand", *FAST, "-q").err
        site.routes["/sitemap.xml"] = Answer(sitemap(tmp_path, "shop"), headers={"Content-Type": "application/xml"})
        assert run(tmp_path, *mail) == Ran(0, "", "")
    texts = [" ".join(text.get_content().split()) for text in box.messages]
    assert len(texts) == 2, texts
    assert "published the sitemap, but the site does not serve it: the site does not serve" in texts[0]
    assert "succeeded again" in texts[1]


def test_ours_an_alert_says_that_the_earlier_sitemap_is_gone(tmp_path: Path) -> None:
    with scripted(pages(3)) as site, mailbox() as box:
        configure(tmp_path, shop=site.url)
        mail = [f'--set=email.server="{box.address}"', '--set=email.to=["a@b.test"]']
        assert run(tmp_path, "-q", *mail).code == 0
        shutil.rmtree(tmp_path / "out")
        site.routes.clear()
        ran = run(tmp_path, *mail)
    text = " ".join(box.messages[-1].get_content().split())
    gone = f"the earlier sitemap is gone from {tmp_path}/out/shop"
    assert (ran.code, gone in text, "earlier sitemap stays" in text, "is unchanged" in ran.out) == (
        5,
        True,
        False,
        False,
    )


def test_ours_a_run_that_cannot_write_its_output_is_recorded(tmp_path: Path) -> None:
    with scripted(pages(3)) as site:
        configure(tmp_path, shop=site.url)
        assert run(tmp_path).code == 0
        output = next(path.parent for path in tmp_path.rglob("sitemap.xml"))
        output.rename(tmp_path / "aside")
        output.touch()  # a file, where root cannot make a directory either
        assert run(tmp_path, "-q").code == 7
        assert re.search(r"(?m)^ +2  .* 7$", siteatlas(tmp_path, "status", "--state", "state").out)


@pytest.mark.parametrize(
    ("words", "remedy"),
    [
        (("run", "conf/s.toml"), "Did you mean --config conf/s.toml?"),
        (("status", "s.toml"), "Did you mean --config s.toml?"),
        (("run", "shop"), "Did you mean --site shop?"),
        (("audit", "s.toml"), "is the name of a configuration file. Use --config s.toml"),
        (("crawl", "conf/s.toml", "-o", "x"), "is the name of a configuration file. Use --config conf/s.toml"),
        (("why", "s.toml"), "is the name of a configuration file. Use --config s.toml"),
        (("query", "s.toml"), "is the name of a configuration file. Use --config s.toml"),
        (("compare", "1", "s.toml"), "is the name of a configuration file. Use --config s.toml"),
        (("lint", "s.toml"), "is the name of a configuration file. Use --config s.toml"),
        (("lint", "/x/y.toml"), "'/x/y.toml' does not exist"),
        (("run", "https://example.com/"), "extra argument(s) (https://example.com/)"),
        (("run", "shop", "blog"), "extra argument(s) (shop blog)"),
    ],
)
def test_ours_a_word_at_a_wrong_place_is_told_with_its_option(
    tmp_path: Path, words: tuple[str, ...], remedy: str
) -> None:
    ran = siteatlas(tmp_path, *words)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.endswith(f"{remedy}\n")


@pytest.mark.parametrize(("text", "code"), [("[sites.shop.site", 2), ("[sit]", 2), ("", 7)])
def test_ours_what_prevents_any_run_is_one_line_also_for_a_quiet_run(tmp_path: Path, text: str, code: int) -> None:
    configure(tmp_path, shop="http://127.0.0.1:9/")
    with (tmp_path / "sites.toml").open("a") as file:
        file.write(f"\n{text}\n")
    (tmp_path / "state").touch()  # no directory
    ran = siteatlas(tmp_path, "run", "--config", "sites.toml", "-q")
    assert (ran.code, ran.out, ran.err.count("\n")) == (code, "", 1), ran.err


def test_ours_status_has_the_same_word_for_a_failure_of_a_new_and_of_a_continued_run(tmp_path: Path) -> None:
    with scripted(pages(30, 0.05)) as site, scripted({}) as other:
        configure(tmp_path, shop=site.url, blog=other.url)
        assert run(tmp_path, "--site", "shop", "--max-pages", "5").code == 4
    assert run(tmp_path, "-q").code == 5
    shown = siteatlas(tmp_path, "status", "--config", "sites.toml").out
    assert re.findall("^(shop|blog): failed: nothing can be crawled", shown, re.MULTILINE) == ["shop", "blog"]


def test_ours_a_hint_to_a_run_that_nobody_typed_names_the_account(monkeypatch: pytest.MonkeyPatch) -> None:
    words = "siteatlas run --config '/etc/my sites.toml'"
    monkeypatch.setattr(os, "isatty", lambda _: False)
    monkeypatch.setattr(os, "geteuid", lambda: 65_534)
    assert NEXT_RUN.of(Path("/etc/my sites.toml")) == f"runuser -u {pwd.getpwuid(65_534).pw_name} -- {words}"
    monkeypatch.setattr(sys, "argv", ["/opt/siteatlas/bin/siteatlas", "run"])  # as a scheduler starts it
    assert " -- /opt/siteatlas/bin/siteatlas run " in NEXT_RUN.of(Path("/etc/my sites.toml"))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert NEXT_RUN.of(Path("/etc/my sites.toml")) == f"/opt/siteatlas/bin/{words}"
    monkeypatch.setattr(os, "isatty", lambda _: True)
    assert NEXT_RUN.of(Path("/etc/my sites.toml")) == words
    assert NEXT_RUN.of(Path("/etc/my sites.toml"), "--site", "my shop") == f"{words} --site 'my shop'"


@pytest.mark.parametrize("broken", ["generations", "changes"])
def test_ours_a_failure_after_the_publication_is_told_as_that(broken: str, tmp_path: Path) -> None:
    with scripted(pages(3)) as site, mailbox() as box:
        configure(tmp_path, shop=site.url)
        mail = [f'--set=email.server="{box.address}"', '--set=email.to=["a@b.test"]']
        assert run(tmp_path).code == 0
        state = next(path.parent for path in tmp_path.rglob("state.db"))
        (state / broken).rename(state / "aside")
        (state / broken).touch()  # a file, where root cannot write a file either
        site.routes["/p9"] = "<p>New."
        site.routes["/"] = links("/p1", "/p2", "/p9")
        ran = run(tmp_path, *mail)
        assert (ran.code, "/p9" in sitemap(tmp_path, "shop").decode()) == (7, True)
        assert "the sitemap is published, but" in ran.out
        (told,) = [text.get_content() for text in box.messages if "exit code 7" in text.get_content()]
        assert "Nothing was published" not in told
        sender = told.partition(f"Sender:  {socket.gethostname()}, ")[2]
        assert f"siteatlas run --config {tmp_path}/sites.toml --" in sender
        assert sender.endswith(" --site shop\n")
        last = status(tmp_path)[0]["runs"][0]
        assert (last["outcome"], last["exit_code"], broken in last["refusal"]) == ("published", 7, True)
        (state / broken).unlink()
        again = run(tmp_path)
        assert (again.code, len(list((state / broken).iterdir())) > 0) == (0, True)


def test_ours_a_run_that_publishes_and_cannot_record_it_is_open_and_partial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise StorageError("the disk is full")

    with scripted(pages(3)) as site:
        configure(tmp_path, shop=site.url)
        monkeypatch.chdir(tmp_path)
        ((name, plan),) = site_plans(Path("sites.toml"), {}, [])
        with monkeypatch.context() as patch:
            patch.setattr(register, "record", fail)
            report = anyio.run(regenerate_site, plan, name, lambda _: None)
        assert (report.exit_code, report.outcome, report.published[0].urls) == (7, "partial", 3)
        assert status(tmp_path)[0]["runs"][0]["exit_code"] == 7
        assert run(tmp_path).code == 0
        assert [each["outcome"] for each in status(tmp_path)[0]["runs"]] == ["published"]


def test_ours_who_cannot_remember_what_was_sent_does_not_promise_to_send_it_once(tmp_path: Path) -> None:
    with scripted(pages(3)) as site, mailbox() as box:
        configure(tmp_path, shop=site.url)
        (tmp_path / "state").touch()  # a file, where root cannot make a directory either
        mail = [f'--set=email.server="{box.address}"', '--set=email.to=["a@b.test"]']
        assert [run(tmp_path, *mail).code for _ in range(2)] == [7, 7]
        assert len(box.messages) == 2
        (told,) = {text.get_content().partition("Time:")[0] for text in box.messages}
        assert "You get this message after each run until Siteatlas can write to the state.\n\nSitemap:" in told
        assert "once" not in told


def test_ours_who_lost_the_state_is_told_to_restore_it_before_anything_else(tmp_path: Path) -> None:
    with scripted(pages(3)) as site:
        configure(tmp_path, shop=site.url)
        assert run(tmp_path).code == 0
        (tmp_path / "state").rename(tmp_path / "lost")
        alone = run(tmp_path)
        assert alone.code == 2
        assert alone.err.index("restore its backup") < alone.err.index("To overwrite the file, run ")


@pytest.mark.parametrize("repair", ["", "--fresh"])
def test_ours_a_repaired_state_is_told_as_its_trouble_was(tmp_path: Path, repair: str) -> None:
    with scripted(pages(3)) as site, mailbox() as box:
        configure(tmp_path, shop=site.url)
        mail = [f'--set=email.server="{box.address}"', '--set=email.to=["a@b.test"]']
        assert run(tmp_path, *mail).code == 0
        state = next(path for path in tmp_path.rglob("state.db"))
        before = state.read_bytes()
        state.write_bytes(b"no database at all, and long enough to be looked into" * 20)
        assert [run(tmp_path, *mail).code for _ in range(2)] == [7, 7]
        if not repair:
            state.write_bytes(before)
        assert [run(tmp_path, *mail, *words).code for words in (repair.split(), ())] == [0, 0]
        told = [text.get_content().splitlines()[0] for text in box.messages]
        assert ["succeeded again" in line for line in told] == [False, False, True], told


def test_ours_a_quiet_run_says_that_robots_txt_fails_before_it_is_too_late(tmp_path: Path) -> None:
    rules = Answer("User-agent: *\nDisallow: /x", headers={"Content-Type": "text/plain"})
    with scripted({**pages(3), "/robots.txt": rules}) as site:
        configure(tmp_path, shop=site.url)
        assert run(tmp_path, "-q").err == ""
        site.routes["/robots.txt"] = Answer(status=500)
        failing = run(tmp_path, "-q")
        assert (failing.code, failing.out, failing.err.count("\n")) == (0, "", 1), failing.err
        assert failing.err.startswith("siteatlas: shop: robots.txt answered 500, so Siteatlas obeyed its copy of")
