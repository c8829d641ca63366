"""What the readers of a site are told: AI crawlers by robots.txt, search engines by a server that tells names apart."""

import json
import re
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme
from audited import in_process
from doubles_console import EMAIL, console
from nginx import nginx

from crawler.audit.discovery import readers
from crawler.audit.discovery.check import check_discovery
from crawler.audit.discovery.readers import AI_READERS, CheckStatus, DiscoveryCheck, check_ai_access, check_preferences
from crawler.cli import robots_check
from crawler.config.config import Config, FetchConfig, PaceConfig, SiteConfig
from crawler.model import Url

START = Url("https://example.com/")
NS = "http://www.sitemaps.org/schemas/sitemap/0.9"


@pytest.mark.parametrize(
    ("robots", "said"),
    [
        ("", f"allows all {len(AI_READERS)} known AI crawlers"),
        ("User-agent: *\nDisallow: /private/", f"allows all {len(AI_READERS)} known"),
        ("User-agent: *\nDisallow: /", f"blocks all {len(AI_READERS)} known"),
        (
            "User-agent: GPTBot\nUser-agent: CCBot\nDisallow: /\nUser-agent: PerplexityBot\nDisallow: /",
            f"blocks 3 of {len(AI_READERS)} known AI crawlers: GPTBot, CCBot (training); PerplexityBot (search)",
        ),
        (
            "User-agent: *\nDisallow: /\nUser-agent: ChatGPT-User\nAllow: /",
            f"blocks {len(AI_READERS) - 1} of {len(AI_READERS)} known",
        ),
    ],
)
def test_rfc9309_robots_txt_says_which_ai_crawlers_may_come(robots: str, said: str) -> None:
    check = check_ai_access(robots.encode(), START, 0.0)
    assert said in check.message
    assert check.status is CheckStatus.OK


@pytest.mark.parametrize(
    ("robots", "faults"),
    [
        ("User-agent: *\nAllow: /", []),
        ("User-agent: *\nContent-Signal: search=yes,ai-train=no\nAllow: /", []),
        ("User-Agent: *\ncontent-signal: search=yes, ai-input=no, ai-train=no, use=reference # note", []),
        ("User-agent: *\nContent-Usage: train-ai=n\nContent-Usage: /news/ train-ai=y, search=y", []),
        ("User-agent: *\nContent-Signal: ai-train=false", ["line 2 of robots.txt: ai-train='false' is neither"]),
        ("User-agent: *\nContent-Signal: train=no", ["line 2 of robots.txt: 'train' is not a content signal"]),
        ("User-agent: *\nContent-Signal:", ["line 2 of robots.txt: Content-Signal has no value"]),
        ("User-agent: *\nContent-Signal: , ,", ["line 2 of robots.txt: Content-Signal has no value"]),
        ("\ufeffUser-agent: *\r\nContent-Signal: search=yes\r\n", []),
        (
            "User-agent: *\n# \u2028Content-Signal: x\x0c\nContent-Signal: ai-train",
            ["line 3 of robots.txt: ai-train=''"],
        ),
        ("User-agent: *\nContent-Signal: use=all", ["line 2 of robots.txt: use='all' is not one of immediate"]),
        ("User-agent: *\nContent-Usage: train-ai=no", ["line 2 of robots.txt: 'train-ai'='no' is neither y nor n"]),
        ("User-agent: *\nContent-Usage: /news/", ["line 2 of robots.txt: Content-Usage has no preference"]),
        ("Content-Signal: ai-train=no\nUser-agent: *\nAllow: /", ["line 1 of robots.txt stands before the first"]),
        (
            "User-agent: *\nContent-Signal: ai-train=no\nContent-Signal: ai-train=yes",
            ["line 3 of robots.txt: ai-train is 'no' and 'yes' in one group"],
        ),
        ("User-agent: a\nContent-Signal: ai-train=no\nUser-agent: b\nContent-Signal: ai-train=yes", []),
    ],
)
def test_contentsignals_and_aipref_lines_are_checked(robots: str, faults: list[str]) -> None:
    checks = list(check_preferences(robots.encode()))
    found = [check.message for check in checks if check.status is CheckStatus.PROBLEM]
    assert len(found) == len(faults)
    assert all(message.startswith(fault) for message, fault in zip(found, faults, strict=True)), found
    assert bool(checks) is ("content-" in robots.lower())
    assert all(check.remedy for check in checks if check.status is CheckStatus.PROBLEM)


RULES = """
if (-f $document_root/flag-names) { set $tell yes; }
if ($http_user_agent ~* "googlebot") { set $tell "${tell}google"; }
if ($tell = yesgoogle) { return 403; }
location = /moved.xml { if ($http_user_agent ~* "bingbot") { return 302 /other.xml; } }
location = /challenge.xml {
  if ($http_user_agent ~* "googlebot|bingbot") { add_header cf-mitigated challenge always; return 403; }
}
location = /tagged.xml { add_header X-Robots-Tag noindex; }
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    root = tmp_path_factory.mktemp("www")
    with nginx(root, RULES) as server:
        names = ("sitemap", "moved", "other", "challenge", "tagged")
        lines = "".join(f"Sitemap: {server.url}{name}.xml\n" for name in names)
        (root / "robots.txt").write_text(f"User-agent: *\nAllow: /\n{lines}")
        for name in names:
            (root / f"{name}.xml").write_text(f'<urlset xmlns="{NS}"><url><loc>{server.url}</loc></url></urlset>')
        yield server.url, root


def checks_of(url: str, name: str) -> dict[str, DiscoveryCheck]:
    config = Config(
        site=SiteConfig(url=url, sitemap_url=f"{url}{name}.xml"), fetch=FetchConfig(retries=0), pace=PaceConfig(rate=0)
    )
    return {check.about: check for check in check_discovery("", config, as_readers=True).checks}


@pytest.mark.needs_nginx
def test_ours_a_server_that_serves_all_alike_has_no_problem(site: tuple[str, Path]) -> None:
    checks = checks_of(site[0], "tagged")
    assert {check.status for check in checks.values()} == {CheckStatus.OK}
    assert "as Googlebot: 200" in checks["reader.googlebot"].message
    assert "is no obstacle" in checks["sitemap.robots_tag"].message
    assert "no cause was found" in checks["search_console.cause"].message


@pytest.mark.needs_nginx
def test_ours_a_refusal_of_a_name_may_be_a_firewall_that_verifies_addresses(site: tuple[str, Path]) -> None:
    url, root = site
    (root / "flag-names").touch()
    checks = checks_of(url, "sitemap")
    (root / "flag-names").unlink()
    assert checks["reader.googlebot"].status is CheckStatus.UNKNOWN
    assert "answers 403" in checks["reader.googlebot"].message
    assert "verifies addresses" in checks["reader.googlebot"].remedy
    assert checks["reader.bingbot"].status is CheckStatus.OK
    assert "a firewall may refuse Googlebot" in checks["search_console.cause"].message


@pytest.mark.needs_nginx
def test_ours_a_challenge_and_a_redirect_for_one_name_are_told_apart(site: tuple[str, Path]) -> None:
    checks = checks_of(site[0], "challenge")
    assert "Cloudflare answers with a challenge" in checks["reader.googlebot"].message
    assert checks["reader.googlebot"].status is CheckStatus.UNKNOWN
    checks = checks_of(site[0], "moved")
    assert checks["reader.googlebot"].status is CheckStatus.OK
    assert checks["reader.bingbot"].status is CheckStatus.PROBLEM
    assert f"redirects to {site[0]}other.xml" in checks["reader.bingbot"].message


@pytest.mark.needs_nginx
def test_ours_the_likely_cause_is_the_first_thing_that_google_meets(site: tuple[str, Path]) -> None:
    url, root = site
    cause = checks_of(url, "none")["search_console.cause"]
    assert "the sitemap cannot be fetched" in cause.message
    assert cause.status is not CheckStatus.OK  # no line says ok beside a cause
    before = (root / "robots.txt").read_text()
    (root / "robots.txt").write_text("User-agent: Googlebot\nDisallow: /sitemap.xml\n")
    assert "robots.txt blocks the sitemap" in checks_of(url, "sitemap")["search_console.cause"].message
    (root / "robots.txt").unlink()
    assert "no cause was found" in checks_of(url, "sitemap")["search_console.cause"].message
    (root / "robots.txt").write_text(before)


def test_ours_a_chain_of_certificates_without_its_middle_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import http.server
    import threading

    root = trustme.CA()
    leaf = root.create_child_ca().issue_cert("127.0.0.1")
    (tmp_path / "root.pem").write_bytes(root.cert_pem.bytes())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with leaf.private_key_pem.tempfile() as key, leaf.cert_chain_pems[0].tempfile() as certificate:
        context.load_cert_chain(certificate, key)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        with in_process(tmp_path, monkeypatch, capsys) as command:
            address = f"https://127.0.0.1:{server.server_port}/"
            ran = command(
                "robots", address, "--readers", "--json", "--set=fetch.ca_file=root.pem", "--set=fetch.retries=0"
            )
    finally:
        server.shutdown()
        server.server_close()
    assert ran.code == 10
    checks = {check["about"]: check for check in json.loads(ran.out)["sites"][0]["checks"]}
    assert "intermediate" in checks["sitemap.answers"]["remedy"]
    assert "robots.txt cannot be fetched" in checks["search_console.cause"]["told"]


@pytest.mark.needs_nginx
@pytest.mark.parametrize(
    ("status", "said", "outcome"),
    [
        (None, "has not read the sitemap yet", "ok"),
        ({"lastDownloaded": "2026-11-20T01:02:03Z", "errors": "2", "warnings": "0"}, "2 errors", "problem"),
    ],
)
def test_google_search_console_is_asked_for_its_status(
    site: tuple[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    status: dict[str, object] | None,
    said: str,
    outcome: str,
) -> None:
    url, _ = site
    with console() as fresh:
        google = fresh()
        google.owners = {(url, EMAIL)}
        google.submitted = [(url, f"{url}sitemap.xml")]
        if status:
            google.sitemaps[url, f"{url}sitemap.xml"] = status
        (tmp_path / "account.json").write_text(google.account())
        (tmp_path / "site.toml").write_text(
            f'[site]\nurl = "{url}"\nsitemap_url = "{url}sitemap.xml"\n'
            f'[search_console]\naccount = "account.json"\nendpoint = "{google.endpoint}"\nproperty = "{url}"\n'
        )
        with in_process(tmp_path, monkeypatch, capsys) as command:
            ran = command("robots", "--config", "site.toml", "--readers", "--json")
    assert ran.code in (0, 10), ran.err
    checks = {check["about"]: check for check in json.loads(ran.out)["sites"][0]["checks"]}
    assert said in checks["search_console.status"]["told"]
    assert checks["search_console.status"]["outcome"] == outcome
    assert list(checks)[-1] == "search_console.cause"


def test_ours_every_case_of_the_table_of_checks_is_used_and_every_used_one_is_in_it() -> None:
    package = Path(readers.__file__).parent
    sources = (package / "check.py", package / "readers.py", Path(robots_check.__file__))
    quoted = {text for path in sources for text in re.findall(r'"([a-z_]+[./][a-z_./]+)"', path.read_text("utf-8"))}
    assert readers.CASES.keys() <= quoted
    families = {case.partition("/")[0] for case in readers.CASES}
    assert {text for text in quoted if "/" in text and text.partition("/")[0] in families} <= readers.CASES.keys()
