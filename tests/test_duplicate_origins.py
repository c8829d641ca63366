"""A site that answers under a second name: the audit reports it, unless that name leads to the main one."""

import json
from pathlib import Path

import pytest
from nginx import nginx
from run import siteatlas

from crawler.audit.host_aliases import possible_duplicates
from crawler.url.normalize import normalize_url

NAMES = ("site.example", "www.site.example")
HOME = "<title>Boats</title>%s<p>We sell boats.</p><a href='/one'>One</a>"


def duplicates(folder: Path, extra: str, home: str = HOME % "") -> list[str]:
    """The other names of a site on nginx that an audit reports."""
    root = folder / "root"
    root.mkdir()
    (root / "index.html").write_text(home)
    (root / "one").write_text("<title>One</title><p>One boat.</p><a href='/'>Home</a>")
    with nginx(root, f"default_type text/html; absolute_redirect off; {extra}") as server:
        port = server.url.rstrip("/").rpartition(":")[2]
        resolve = [word for name in NAMES for word in ("--resolve", f"{name}:{port}:127.0.0.1")]
        url = f"http://{NAMES[0]}:{port}/"
        ran = siteatlas(folder, "audit", url, "--report", "r", "--state", "s", "--rate", "0", *resolve)
        assert ran.code in {0, 10}, ran.err
    found = json.loads((folder / "r" / "audit.json").read_bytes())["findings"]
    return [each["url"].replace(f":{port}", "") for each in found if each["rule"] == "canonical.origin"]


def test_google_a_second_name_that_returns_the_site_is_reported(tmp_path: Path) -> None:
    assert duplicates(tmp_path, "") == ["http://www.site.example/"]


@pytest.mark.parametrize(
    "extra",
    [
        "if ($host = www.site.example) { return 301 http://site.example:$server_port$request_uri; }",
        "if ($host = www.site.example) { return 404; }",
        "if ($host = www.site.example) { return 200 '<title>Parked</title>Buy this domain'; }",
        "if ($host = www.site.example) { return 503; }",
    ],
    ids=["redirect", "missing", "another-site", "unavailable"],
)
def test_ours_a_second_name_that_leads_elsewhere_is_no_duplicate(tmp_path: Path, extra: str) -> None:
    assert duplicates(tmp_path, extra) == []


def test_rfc6596_a_second_name_whose_pages_name_the_first_as_canonical_is_no_duplicate(tmp_path: Path) -> None:
    canonical = "sub_filter '</title>' '</title><link rel=canonical href=http://site.example:$server_port/>';"
    assert duplicates(tmp_path, canonical) == []


@pytest.mark.parametrize(
    ("start", "origins"),
    [
        ("https://example.com/", ["https://www.example.com", "http://example.com", "http://www.example.com"]),
        ("http://www.example.co.uk/a", ["https://example.co.uk", "https://www.example.co.uk", "http://example.co.uk"]),
        ("https://shop.example.com/", ["http://shop.example.com"]),
        ("http://example.com:8080/", ["http://www.example.com:8080"]),
        ("http://127.0.0.1/", []),
        ("http://[::1]/", []),
        ("http://localhost:8000/", []),
    ],
)
def test_ours_names_that_a_site_may_have_by_accident(start: str, origins: list[str]) -> None:
    assert possible_duplicates(normalize_url(start)) == origins
