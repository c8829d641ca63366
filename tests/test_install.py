"""The ways to install: a container and one file."""

import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from scripted import Answer, links, scripted

from crawler.packages import install_command
from sitemap import read

ROOT = Path(__file__).parent.parent
CONTAINERFILE = (ROOT / "Containerfile").read_text()
MANUAL = (ROOT / "docs" / "install.md").read_text()
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]


def test_ours_the_container_copies_what_exists_and_installs_extras_that_exist() -> None:
    sources = [words.split()[:-1] for words in re.findall(r"(?m)^COPY (?!--)(.*)", CONTAINERFILE)]
    assert all((ROOT / name).exists() for names in sources for name in names)
    assert {"crawler", "sitemap", "pyproject.toml"} <= {name for names in sources for name in names}
    (extras,) = re.findall(r"ARG EXTRAS=(\S+)", CONTAINERFILE)
    assert set(extras.split(",")) <= EXTRAS.keys()
    (listed,) = re.findall(r"The image includes the extras (.*)\. For sites", MANUAL)
    assert re.findall(r"`(\w+)`", listed) == extras.split(",")
    assert all(requirement in CONTAINERFILE for requirement in EXTRAS["render"])


def test_ours_the_manual_lists_every_extra() -> None:
    assert set(re.findall(r"(?m)^\| `(\w+)` \|", MANUAL)) == EXTRAS.keys()


def test_ours_nothing_says_that_a_package_index_has_siteatlas() -> None:
    texts = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "crawler").rglob("*.*")]
    texts = [path for path in texts if path.suffix in {".md", ".py", ".yml", ".yaml", ".html"}]
    assert [
        path for path in texts if re.search(r"install (?:-q )?'?siteatlas(?:\[|==|~=|\s|')", path.read_text())
    ] == []


@pytest.mark.parametrize("extra", ["fleet", "google", "http2", "render", "s3", "sftp", "sign"])
def test_ours_a_missing_extra_is_installed_by_the_command_of_its_error(extra: str) -> None:
    python, *words = shlex.split(install_command(extra))
    assert (python, words[:3]) == (sys.executable, ["-m", "pip", "install"])
    assert {re.split("[<>=]", word)[0] for word in words[3:]} == {re.split("[<>=]", word)[0] for word in EXTRAS[extra]}
    if extra != "fleet":
        return  # one of them is enough for pip, which is slow
    ran = subprocess.run([python, *words, "--dry-run", "--no-index"], check=False, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr  # the extra test has installed them all


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_ours_one_file_crawls_on_its_own(tmp_path: Path) -> None:
    command = re.findall(r"(?m)^shiv (.*) \.$", MANUAL)[0].replace("'/usr/bin/env python3'", sys.executable).split()
    shiv = shutil.which("shiv", path=str(Path(sys.executable).parent))
    assert shiv, "install the extra test"
    subprocess.run([shiv, "-q", *command, str(ROOT)], cwd=tmp_path, check=True, timeout=240)
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    with scripted({"/": Answer(links("/a", "/b")), "/a": Answer("<p>a"), "/b": Answer("<p>b")}) as site:
        words = (tmp_path / "siteatlas.pyz", "crawl", site.url, "-o", "public", "--rate", "0")
        ran = subprocess.run(
            words, check=False, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60
        )
        assert ran.returncode == 0, ran.stderr
        assert [entry.loc for entry in read(tmp_path / "public" / "sitemap.xml")] == [
            site.url, f"{site.url}a", f"{site.url}b",
        ]  # fmt: skip
    assert (tmp_path / ".shiv").is_dir()
