"""What is named as a source is looked at before anything is asked: refused in one line, which says what it is."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from crawler.audit.collect import check_sources
from crawler.config.config import Config
from crawler.config.plan import plan_audit
from crawler.errors import UsageError

SITE = "https://www.example.com"
LINE = '203.0.113.1 - - [21/Nov/2026:10:00:00 +0000] "GET /a HTTP/1.1" 200 12 "-" "Firefox"\n'
SEARCH = f"Top pages,Clicks,Impressions,CTR,Position\n{SITE}/a,1,2,5%,3\n"


def looked_at(**sources: list[str]) -> None:
    check_sources(plan_audit(Config.model_validate({"site": {"url": SITE}, "audit": sources})))


@pytest.mark.parametrize(
    ("given", "name", "content", "said"),
    [
        ("search", "access.log", LINE * 3, "looks like an access log. Give the file with --log"),
        ("lists", "access.log", LINE * 3, "looks like an access log. Give the file with --log"),
        ("logs", "Pages.csv", SEARCH, "is a Search Console export. Give the file with --search"),
        ("logs", "urls.txt", f"{SITE}/a\n{SITE}/b\n", "looks like a list of URLs. Give the file with --list"),
        ("logs", "a.csv", f"URL,x\n{SITE}/a,1\n", "looks like a table of URLs. Give the file with --search, "),
        ("analytics", "Pages.csv", SEARCH, "is a Search Console export. Give the file with --search"),
    ],
)
def test_ours_what_was_given_as_something_else_is_told_what_it_is(
    given: str, name: str, content: str, said: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(UsageError) as raised:
        looked_at(**{given: [str(path)]})
    assert str(raised.value).startswith(f"{path} {said}")


def test_ours_exports_are_named_by_globs_too(tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text(SEARCH)
    looked_at(search=[f"{tmp_path}/*.csv"], lists=[f"{tmp_path}/[ab].csv"])
    with pytest.raises(UsageError, match=r"^--backlinks .*\.tsv matches no file. Give a file, "):
        looked_at(backlinks=[f"{tmp_path}/*.tsv"])


_UNREADABLE = """
import ctypes, os, sys
from crawler.audit.collect import check_sources
from crawler.config.config import Config
from crawler.errors import UsageError
from crawler.config.plan import plan_audit
folder = sys.argv[1]
os.chmod(folder, 0)
os.setgid(65534), os.setuid(65534)
for key, path in (
    *(("logs", folder), ("logs", f"{folder}/a.log"), ("search", folder), ("lists", f"{folder}/a.csv")),
    *(("crawls", folder), ("crawls", f"{folder}/state"), ("sitemaps", folder), ("sitemaps", f"{folder}/a.xml")),
):
    try:
        check_sources(plan_audit(Config.model_validate({"site": {"url": "https://x.example"}, "audit": {key: [path]}})))
        print("accepted", key, path)
    except UsageError as error:
        print(error)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody who may not read")
def test_ours_what_may_not_be_read_is_told_in_a_line(tmp_path: Path) -> None:
    folder = tmp_path / "closed"
    folder.mkdir()
    script = tmp_path / "script.py"
    script.write_text(_UNREADABLE)
    run = subprocess.run([sys.executable, str(script), str(folder)], capture_output=True, text=True, check=False)
    lines = run.stdout.splitlines()
    assert len(lines) == 8, run.stderr
    assert all("Permission denied" in line and str(folder) in line for line in lines)
