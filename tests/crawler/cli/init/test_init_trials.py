"""What is written for other schedulers, tried: the steps of the workflow in a repository, a run in systemd's fence."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from run import command, environment
from scripted import Answer, links, scripted
from tools import tool

from crawler.cli.init.files import InitOptions, plan_files

# Makes memory that can be written and executed impossible, as MemoryDenyWriteExecute=yes does, then runs a command.
FENCE = """
import ctypes, os, sys
PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN = 65, 1
if ctypes.CDLL(None).prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0):
    sys.exit(99)
os.execv(sys.argv[1], sys.argv[1:])
"""


def git(folder: Path, *words: str) -> str:
    return subprocess.run(
        [tool("git"), *words], cwd=folder, env=identity(), capture_output=True, text=True, check=True
    ).stdout


def identity(**more: str) -> dict[str, str]:
    nobody = {f"GIT_{who}_{what}": "x@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    return {**os.environ, **nobody, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null", **more}


def test_ours_the_steps_of_the_workflow_commit_and_push_what_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub, work = tmp_path / "hub", tmp_path / "work"
    git(tmp_path, "init", "-q", "--bare", "-b", "main", str(hub))
    git(tmp_path, "clone", "-q", str(hub), str(work))
    monkeypatch.chdir(work)
    for path, text in plan_files(
        InitOptions(urls=("https://example.com/",), config=Path("siteatlas.toml"), chosen=("github",))
    ).files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    git(work, "checkout", "-q", "-b", "main")
    git(work, "add", ".")
    git(work, "commit", "-q", "-m", "Begin")
    git(work, "push", "-q", "-u", "origin", "main")
    workflow = yaml.safe_load((work / ".github" / "workflows" / "sitemap.yml").read_text())
    steps = [each["run"] for each in workflow["jobs"]["sitemap"]["steps"] if "name" in each]
    # a crawl that publishes, leaves what it cannot finish, and was cut short
    program = tmp_path / "bin" / "siteatlas"
    program.parent.mkdir()
    program.write_text(
        "#!/bin/sh\nmkdir -p public/.siteatlas-stage .siteatlas\ntouch public/.siteatlas-stage/x .siteatlas/state\n"
        'echo "$*" > public/sitemap.xml\nexit 4\n'
    )
    program.chmod(0o755)
    path = f"{program.parent}:{os.environ['PATH']}"
    for _ in range(2):  # the second time nothing has changed
        for step in steps:
            shell = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step]
            ran = subprocess.run(shell, cwd=work, env=identity(PATH=path), capture_output=True, text=True, check=False)
            assert ran.returncode == 0, ran.stderr
    assert git(hub, "log", "--format=%s", "main").splitlines() == ["Regenerate the sitemap", "Begin"]
    assert git(hub, "show", "main:public/sitemap.xml") == "run --config siteatlas.toml\n"
    assert "siteatlas-stage" not in git(hub, "ls-tree", "-r", "--name-only", "main")
    # exit codes that need a person are not taken for success
    program.write_text("#!/bin/sh\nexit 3\n")
    assert subprocess.run(["bash", "-e", "-c", steps[0]], cwd=work, env=identity(PATH=path), check=False).returncode


@pytest.mark.slow
@pytest.mark.needs_strace
@pytest.mark.needs_tools
def test_systemd_lets_a_run_do_all_that_it_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every system call of a run is one that the unit allows, and none of it needs memory both written and executed."""
    monkeypatch.chdir(tmp_path)
    with scripted({"/": Answer(links("/a")), "/a": Answer("<p>a")}) as site:
        made = plan_files(InitOptions(urls=(site.url,), config=Path("siteatlas.toml"), chosen=("systemd",))).files
        for path, text in made.items():
            path.write_text(text)
        trace = tmp_path / "trace"
        inner = [sys.executable, "-c", FENCE, *command("run", "--config", "siteatlas.toml", "--rate", "0")]
        ran = subprocess.run([tool("strace"), "-f", "-qq", "-o", str(trace), *inner], env=environment(), check=False)
    if ran.returncode == 99:
        pytest.skip("this kernel cannot refuse such memory to a process")
    assert ran.returncode == 0
    assert (tmp_path / "public" / "sitemap.xml").exists()
    said = trace.read_text(errors="replace")
    used = set(re.findall(r"^\d+ +(?:<\.\.\. )?([a-z0-9_]+)(?:\(| resumed)", said, re.MULTILINE))
    assert len(used) > 50
    assert used - allowed(made[Path("siteatlas.service")]) == set()
    families = set(re.findall(r"socket\((AF_\w+)", said))
    assert families <= {"AF_INET", "AF_INET6", "AF_UNIX"}


def allowed(unit: str) -> set[str]:
    """The system calls that the filters of a unit leave."""
    listed = subprocess.run(
        [tool("systemd-analyze"), "syscall-filter", "--no-pager"], capture_output=True, text=True, check=True
    ).stdout
    groups: dict[str, list[str]] = {}
    name = ""
    for line in listed.splitlines():
        if line.startswith("@"):
            name = line.strip()
        elif name and line.strip() and not line.strip().startswith("#"):
            groups.setdefault(name, []).append(line.strip())

    def calls(names: list[str]) -> set[str]:
        return {call for name in names for call in (calls(groups[name]) if name.startswith("@") else {name})}

    left = calls(["@default"])
    for line in unit.splitlines():
        key, _, value = line.partition("=")
        if key == "SystemCallFilter":
            names = calls(value.removeprefix("~").split())
            left = left - names if value.startswith("~") else left | names
    return left
