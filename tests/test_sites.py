"""Many sites in one configuration: what each is told, what wrong words are told, and who is in whose way."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from crawler.cli.options import site_config
from crawler.cli.sites import configured_sites
from crawler.config.load import SitePaths, check_distinct_paths, choose_sites, resolve_paths, split_sites
from crawler.errors import EXIT_CODES_BY_SEVERITY, UsageError, worst_exit_code

TWO = """
[fetch]
user_agent = "Bot/1"
headers = {X-Shared = "yes"}
[scope]
exclude = ["/old/*"]
[output]
gzip = true

[sites.shop.site]
url = "https://shop.example/"
[sites.shop.output]
directory = "shop"
[sites.shop.fetch]
headers = {X-Own = "yes"}
[sites.shop.scope]
exclude = []

[sites.blog]
site = {url = "https://blog.example/"}
output = {directory = "blog", gzip = false}
"""


def written(folder: Path, text: str) -> Path:
    file = folder / "sites.toml"
    file.write_text(text, encoding="utf-8")
    return file


def flags(**given: Any) -> dict[str, Any]:
    return given


def test_ours_a_site_has_what_all_share_with_its_own_keys_in_their_place(tmp_path: Path) -> None:
    shop, blog = configured_sites(written(tmp_path, TWO), flags(), [])
    assert (shop.name, blog.name) == ("shop", "blog")
    assert shop.config.fetch.user_agent == blog.config.fetch.user_agent == "Bot/1"
    assert (shop.config.output.directory, shop.config.output.gzip) == (str(tmp_path / "shop"), True)
    assert (blog.config.output.directory, blog.config.output.gzip) == (str(tmp_path / "blog"), False)
    assert (shop.config.fetch.headers, blog.config.fetch.headers) == ({"X-Own": "yes"}, {"X-Shared": "yes"})
    assert (shop.config.scope.exclude, blog.config.scope.exclude) == ((), ("/old/*",))
    assert shop.config.state.directory == str(tmp_path / ".siteatlas"), "beside the file, wherever it is run from"


def test_ours_a_flag_wins_over_the_file_for_the_sites_that_are_meant(tmp_path: Path) -> None:
    file = written(tmp_path, TWO)
    both = configured_sites(file, flags(output__gzip=False, fetch__user_agent="Other/2"), [])
    assert [(each.config.output.gzip, each.config.fetch.user_agent) for each in both] == [(False, "Other/2")] * 2
    shop, blog = configured_sites(file, flags(output__directory="here"), ["shop"])
    assert (shop.is_wanted, shop.config.output.directory) == (True, "here")
    assert (blog.is_wanted, blog.config.output.directory) == (False, str(tmp_path / "blog"))
    for key in ("output__directory", "site__sitemap_url"):
        with pytest.raises(UsageError, match=r"applies to one site.*--site"):
            configured_sites(file, {key: "x"}, [])


def test_ours_a_site_that_says_when_it_is_run_does_without_what_all_share(tmp_path: Path) -> None:
    shared = '[schedule]\ncron = "30 3 * * *"\ntimezone = "Europe/Berlin"\n'
    file = written(tmp_path, f'{shared}{TWO}[sites.blog.schedule]\nevery = "6h"\n')
    shop, blog = (each.config.schedule for each in configured_sites(file, {}, []))
    assert (shop.cron, shop.every, shop.timezone) == ("30 3 * * *", None, "Europe/Berlin")
    assert (blog.cron, blog.every, blog.timezone) == ("", 21_600, "Europe/Berlin")


def test_ours_one_daemon_is_for_all_sites(tmp_path: Path) -> None:
    file = written(tmp_path, f"{TWO}[sites.blog.daemon]\nmax_parallel_runs = 9\n")
    with pytest.raises(
        UsageError, match=r"\[sites\.blog\.daemon\] in .* is not allowed, because this section applies to all sites"
    ):
        configured_sites(file, {}, [])


def test_ours_paths_of_a_file_are_taken_from_its_folder_and_secrets_stay_what_they_are(tmp_path: Path) -> None:
    own = (
        '[site]\nurl = "https://shop.example/"\n[indexnow]\nkey = "file:secrets/key"\n[email]\nlogin = "me:pass/word"\n'
        '[webhook]\nurls = ["file:secrets/hook", "https://chat.example/x", "env:HOOK"]\n'
        '[search_console]\naccount = "google.json"\n[daemon]\ndirectory = "history"\n'
    )
    (site,) = configured_sites(written(tmp_path, own), {}, [])
    config = site.config
    assert config.indexnow.key == f"file:{tmp_path}/secrets/key"
    assert config.email.login == "me:pass/word"
    assert config.webhook.urls == (f"file:{tmp_path}/secrets/hook", "https://chat.example/x", "env:HOOK")
    assert config.search_console.account == f"{tmp_path}/google.json"
    assert config.daemon.directory == f"{tmp_path}/history"


def test_ours_without_sites_there_is_one_that_is_named_after_its_host(tmp_path: Path) -> None:
    file = written(tmp_path, '[site]\nurl = "https://www.Example.org:8443/docs/"\n')
    (only,) = configured_sites(file, flags(), [])
    assert (only.name, only.is_wanted) == ("www.example.org", True)
    assert configured_sites(file, flags(), ["www.example.org"]) == [only]
    with pytest.raises(UsageError, match='no site "shop"'):
        configured_sites(file, flags(), ["shop"])
    with pytest.raises(UsageError, match="has no site"):
        configured_sites(written(tmp_path, ""), flags(), [])


def test_ours_a_command_for_one_site_takes_one_of_several_by_its_name(tmp_path: Path) -> None:
    file = written(tmp_path, TWO)
    assert site_config(file, flags(), site="blog").output.directory == str(tmp_path / "blog")
    with pytest.raises(UsageError, match=r"several sites \(shop, blog\).*\. Choose the site with --site$"):
        site_config(file, flags())
    only = written(tmp_path, TWO.partition("[sites.blog]")[0])
    assert site_config(only, flags()).output.directory == str(tmp_path / "shop")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[sites.shop.output]\ndirectry = 'x'", 'the key "sites.shop.output.directry" (sites.toml, line 2) is unknown'),
        ("[sites.shop.output]\ndirectry = 'x'", 'Did you mean "directory"?'),
        ("[sites.shop.outptu]", 'the key "sites.shop.outptu" (sites.toml, line 2) is unknown. Did you mean "output"'),
        ("[sites.shop.pace]\nmax_pages = 3", 'Did you mean "scope.max_pages"'),
        ("[sites.shop.pace]\nconcurrency = 0", "sites.shop.pace.concurrency (sites.toml, line 2): it must be"),
        ("[sites.shop.site]\n[output]\ndirectry = 'x'", 'the key "output.directry" (sites.toml, line 2) is unknown'),
        ("[sites.shop.fetch]\nbasic_auth = 3", "sites.shop.fetch.basic_auth"),
        ("[sites.'my shop'.site]", 'the site name "my shop"'),
        ("[sites.''.site]", 'the site name ""'),
        ("[sites]\nshop = 3", "sites.shop in sites.toml must consist of tables"),
        ("sites = 3", "contains no site"),
        ("[sites]", "contains no site"),
        ("[sites.shop]\nsites = {}", 'the key "sites.shop.sites"'),
    ],
)  # fmt: skip
def test_ours_what_is_wrong_is_named_as_it_stands_in_the_file(text: str, said: str) -> None:
    with pytest.raises(UsageError) as told:
        split_sites(tomllib.loads(text), lambda _: "sites.toml, line 2", "sites.toml")
    assert said in str(told.value)
    assert "\n" not in str(told.value)


def test_ours_a_mistyped_word_for_sites_is_met_with_the_right_one(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match='Did you mean "sites"'):
        configured_sites(written(tmp_path, "[sites_.shop]"), flags(), [])


def test_ours_sites_are_chosen_by_name() -> None:
    assert choose_sites(["a", "b", "c"], [], "f") == ["a", "b", "c"]
    assert choose_sites(["a", "b", "c"], ["c", "a"], "f") == ["a", "c"]
    with pytest.raises(UsageError, match=r'f has no site "shp"\. Did you mean "shop"'):
        choose_sites(["shop", "blog"], ["shp"], "f")
    with pytest.raises(UsageError, match="Its sites are shop, blog"):
        choose_sites(["shop", "blog"], ["x"], "f")


def test_ours_sites_that_would_be_in_each_others_way_are_named() -> None:
    a = SitePaths("a", Path("/x/sitemap.xml"), Path("/s/a"))
    check_distinct_paths([a, SitePaths("b", Path("/x/sitemap-b.xml"), Path("/s/b"))], "f")
    with pytest.raises(UsageError, match='the sites "a" and "c" in f would both write /x/sitemap'):
        check_distinct_paths(
            [a, SitePaths("b", Path("/y"), Path("/s/b")), SitePaths("c", a.sitemap, Path("/s/c"))], "f"
        )
    with pytest.raises(UsageError, match='the sites "a" and "b" in f would share one state'):
        check_distinct_paths([a, SitePaths("b", Path("/y"), a.state)], "f")


def test_ours_the_worst_exit_code_is_that_of_the_ending_that_needs_a_person_most() -> None:
    assert worst_exit_code([]) == 0
    assert worst_exit_code([0, 4, 0]) == 4
    assert worst_exit_code([4, 10]) == 10
    assert worst_exit_code([4, 3]) == 3
    assert worst_exit_code([3, 5, 4]) == 5
    assert worst_exit_code([1, 7, 2]) == 1
    assert sorted(EXIT_CODES_BY_SEVERITY) == [0, 1, 2, 3, 4, 5, 6, 7, 10]


def test_ours_sites_upload_to_places_of_their_own() -> None:
    a = SitePaths("a", Path("/x/sitemap.xml"), Path("/s/a"), "s3://shop/sitemap.xml")
    check_distinct_paths([a, SitePaths("b", Path("/y"), Path("/s/b")), SitePaths("c", Path("/z"), Path("/s/c"))], "f")
    with pytest.raises(UsageError, match=r'the sites "a" and "b" in f would both upload to s3://shop/sitemap.xml'):
        check_distinct_paths([a, SitePaths("b", Path("/y"), Path("/s/b"), a.upload_target)], "f")


@pytest.mark.parametrize(
    ("section", "key", "written", "meant"),
    [
        ("upload", "sftp_key", "~/.ssh/id_ed25519", "~/.ssh/id_ed25519"),
        ("upload", "sftp_known_hosts", "hosts", "etc/hosts"),
        ("content", "repository", "../docs", "etc/../docs"),
        ("search_console", "account", "account.json", "etc/account.json"),
        ("search_console", "account", ' {"type": "service_account"}', ' {"type": "service_account"}'),
    ],
)
def test_ours_a_home_and_an_account_itself_are_no_paths_from_the_file(
    section: str, key: str, written: str, meant: str
) -> None:
    assert resolve_paths({section: {key: written}}, Path("etc"))[section][key] == meant


def test_ours_git_dates_come_from_the_directory_of_the_file_unless_it_names_another() -> None:
    assert resolve_paths({"content": {"lastmod": "git"}}, Path("etc"))["content"]["repository"] == "etc"
    assert "repository" not in resolve_paths({"content": {"lastmod": "page"}}, Path("etc"))["content"]


def test_ours_a_secret_of_a_header_lies_beside_the_file() -> None:
    tables = {"fetch": {"headers": {"X-Token": "file:token", "X-Own": "file"}, "cookies": {"a": "env:A"}}}
    fetch = resolve_paths(tables, Path("etc"))["fetch"]
    assert fetch == {"headers": {"X-Token": "file:etc/token", "X-Own": "file"}, "cookies": {"a": "env:A"}}


def test_ours_the_reports_of_sites_that_share_a_directory_are_beside_each_other(tmp_path: Path) -> None:
    file = written(tmp_path, f'{TWO}[sites.blog.audit]\nreport = "mine"\n[audit]\nreport = "reports"\n')
    shop, blog = configured_sites(file, flags(), [])
    assert shop.config.audit.report == str(tmp_path / "reports" / "shop")
    assert blog.config.audit.report == str(tmp_path / "mine")
    assert site_config(file, flags(audit__report="here"), None, "shop").audit.report == "here"
