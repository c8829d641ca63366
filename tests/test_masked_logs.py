"""Secrets in the query strings of access logs are in no state and no report, and their pages still count as visited."""

import logging
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from run import siteatlas
from scripted import Answer, links, scripted

from crawler.audit.evidence.store import AUDIT_FILE
from crawler.cli.errors import SafeLogFormatter
from crawler.url.secrets import mask_secrets
from sitemap import read

SECRETS = {
    "token": "s3cr3tone",
    "access_token": "s3cr3ttwo",
    "X-Amz-Signature": "s3cr3tthree",
    "PASSWORD": "s3cr3tfour",
    "code": "s3cr3tfive",
    "session-id": "s3cr3tsix",
    "u": "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCs3cr3t",
}
"""Values by the parameter that has them; all have the same letters somewhere."""
LETTERS = ("s3cr3t", "IkpXVCs3")


def line(path: str) -> str:
    agent = "Mozilla/5.0 (X11; Linux x86_64)"
    return f'192.0.2.7 - - [01/Jul/2026:10:00:00 +0000] "GET {path} HTTP/1.1" 200 512 "-" "{agent}"\n'


def log(folder: Path, *paths: str) -> None:
    text = "".join(line(path) * 9 for path in paths)
    (folder / "access.log").write_text(text + "broken /x?token=s3cr3tbroken line\n")


def audit(folder: Path, url: str, *words: str) -> str:
    """Everything that an audit says and keeps."""
    ran = siteatlas(folder, "audit", url, "--log", "access.log", "--report", "r", "--state", "s", "--rate", "0", *words)
    assert ran.code in (0, 10), ran.err
    files = [path for part in ("r", "s") for path in (folder / part).rglob("*") if path.is_file()]
    kept = [path.read_bytes().decode("latin-1") for path in files]
    return "".join([ran.out, ran.err, *(text for text in kept if text)])


def test_ours_secrets_in_logs_are_kept_nowhere(tmp_path: Path) -> None:
    with scripted({"/": links("/a"), "/a": "<title>A</title>x"}) as site:
        paths = [f"/a?page=2&{name}={value}" for name, value in SECRETS.items()]
        paths += ["/lost?token=s3cr3tlost", "/lost?x=1;sid=s3cr3tsid"]
        log(tmp_path, *paths)
        said = audit(tmp_path, site.url)
        assert not [letters for letters in LETTERS if letters in said]
        assert "--set audit.keep_tokens=true" in said
        assert "page=2&token=***" in said  # it can be recognised
        assert not [path for path in site.paths if "s3cr3t" in path or "***" in path]
        assert "s3cr3t" in audit(tmp_path, site.url, "--set=audit.keep_tokens=true")


def test_ours_a_page_with_a_code_in_its_url_is_known_as_visited(tmp_path: Path) -> None:
    with scripted({"/": links("/p?code=77"), "/p?code=77": "<title>P</title>x"}) as site:
        log(tmp_path, "/p?code=77")
        audit(tmp_path, site.url)
        (path,) = (tmp_path / "s").rglob(AUDIT_FILE)
        with closing(sqlite3.connect(path)) as db:
            matched = db.execute("SELECT url FROM home WHERE url LIKE '%code=***%'").fetchall()
        assert [url[:-6] for (url,) in matched] == [f"{site.url}p?code=***"]


@pytest.mark.parametrize(
    "url",
    [
        "https://e.example/a?q=how-to-make-10-things-with-both-of-your-hands",
        "https://e.example/a?page=2&sort=price&category=women-shoes-and-summer-dresses",
        "https://e.example/a?from=2026-01-02T10:00:00Z&until=2026-12-31T23:59:59Z",
        "https://e.example/a?keyword=boots&postcode=SW1A1AA&product=12345678901234567890",
        "https://e.example/token=1/key",
    ],
)
def test_ours_what_is_no_secret_stays(url: str) -> None:
    assert mask_secrets(url) == url


def test_ours_secrets_in_links_are_in_no_line_of_the_log_and_stay_in_the_sitemap(tmp_path: Path) -> None:
    url = "/boom?access_token=s3cr3tone&page=2"
    with scripted({"/": links("/a?token=s3cr3ttwo", url), "/a?token=s3cr3ttwo": "<title>A</title>x"}) as site:
        site.routes[url] = Answer("broken", 404)
        ran = siteatlas(tmp_path, "crawl", site.url, "--output", "out", "--rate", "0", "-v")
        assert [entry.loc for entry in read(tmp_path / "out" / "sitemap.xml")] == [
            site.url,
            f"{site.url}a?token=s3cr3ttwo",
        ]
    refused = siteatlas(tmp_path, "crawl", f"ftp://example.com{url}")
    assert re.search(r"boom\?access_token=\*\*\*[0-9a-f]{6}&page=2", refused.err)
    assert "s3cr3t" not in ran.err + refused.err


def test_ours_a_log_record_has_no_secrets_of_a_url() -> None:
    record = logging.LogRecord(
        "x", logging.INFO, "", 0, "fetch %s failed", ("http://a.example/?token=abc&page=2",), None
    )
    shown = SafeLogFormatter("%(message)s").format(record)
    assert re.fullmatch(r"fetch http://a\.example/\?token=\*\*\*[0-9a-f]{6}&page=2 failed", shown)
