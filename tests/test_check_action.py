"""The action that checks a folder of built pages: its script runs as in a job of GitHub, without a network."""

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from example_site.__main__ import WWW
from run import environment

ACTION = Path(__file__).parent.parent / ".github/actions/check"
SITE = "https://www.example.invalid/"


class Job:
    """A job: its folder, and what its step wrote."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.build = folder / "build"
        self.said = ""
        program = folder / "bin/siteatlas"
        program.parent.mkdir()
        program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m crawler "$@"\n')
        program.chmod(0o755)

    def run(self, *, publish: bool = False, gone: str = "", accepted: str = "") -> int:
        """The exit code of the step. As in the action, only what is published keeps the state."""
        temp, state = self.folder / "temp", self.folder / ".siteatlas-check"
        shutil.rmtree(temp, ignore_errors=True)
        temp.mkdir()
        for name in ("summary", "output"):
            (self.folder / name).write_text("")
        kept = self.folder / "cache"
        shutil.rmtree(state, ignore_errors=True)
        if kept.exists():
            shutil.copytree(kept, state)
        inputs = {key: item.get("default", "") for key, item in action()["inputs"].items()}
        variables = environment(
            PATH=f"{self.folder / 'bin'}:{os.environ['PATH']}",
            PYTHONPATH=str(ACTION.parents[2]),
            RUNNER_TEMP=str(temp),
            GITHUB_STEP_SUMMARY=str(self.folder / "summary"),
            GITHUB_OUTPUT=str(self.folder / "output"),
            SITE=SITE,
            FOLDER="build",
            STATE=".siteatlas-check",
            FAIL_ON=inputs["fail-on"],
            ACCEPTED=accepted,
            GONE=gone,
            PUBLISHED="http://127.0.0.1:1/sitemap.xml",
        )
        ran = subprocess.run(
            ["bash", ACTION / "check.sh"], cwd=self.folder, env=variables, capture_output=True, text=True, timeout=120,
            check=False,
        )  # fmt: skip
        self.said = ran.stdout + ran.stderr
        if publish:
            shutil.rmtree(kept, ignore_errors=True)
            shutil.copytree(state, kept)
        return ran.returncode

    @property
    def errors(self) -> list[str]:
        return [line for line in self.said.splitlines() if line.startswith("::error::")]


def action() -> dict[str, dict[str, dict[str, str]]]:
    read: dict[str, dict[str, dict[str, str]]] = yaml.safe_load((ACTION / "action.yml").read_text(encoding="utf-8"))
    return read


def test_ours_the_action_gives_its_script_every_variable() -> None:
    (step,) = (step for step in action()["runs"]["steps"] if step.get("id") == "check")  # type: ignore[union-attr, attr-defined]
    script = (ACTION / "check.sh").read_text(encoding="utf-8")
    assert all(f"${name}" in script or f"${{{name}" in script for name in step["env"])  # type: ignore[index]
    assert {f"inputs.{name}" for name in action()["inputs"]} <= set(
        (ACTION / "action.yml").read_text(encoding="utf-8").replace("}", " ").split()
    )


@pytest.mark.thorough
def test_ours_a_build_fails_for_lost_urls_and_new_findings_and_for_no_host(tmp_path: Path) -> None:
    job = Job(tmp_path)
    shutil.copytree(WWW, job.build)
    assert job.run(publish=True) == 0, job.said  # it has warnings, which were published before
    home = job.build / "index.html"
    other = '<img src="https://cdn.example.invalid/x.png" alt="x"><a href="https://other.example.invalid/">other</a>'
    home.write_text(home.read_text().replace("</body>", f"{other}</body>"))
    assert job.run() == 0, job.said
    assert "cannot be read now" in job.said
    assert "0 new" in job.said

    lost = job.build / "shop/mallet.html"
    page = lost.read_text()
    lost.unlink()
    for _ in range(2):  # a second push of the same change fails too
        assert job.run() == 1
        assert [line.partition(" are lost")[0] for line in job.errors[:1]] == ["::error::Published URLs"], job.said
        assert f"lost: {SITE}shop/mallet.html" in (tmp_path / "summary").read_text()
    lost.write_text(page)

    home.write_text(home.read_text().replace("</body>", '<a href="/nowhere.html">?</a></body>'))
    about = job.build / "about.html"
    about.write_text(about.read_text().replace("<head>", '<head><meta name="robots" content="noindex">'))
    assert job.run() == 1
    assert job.errors == ["::error::The build has findings that --fail-on new:warning selects."]
    summary = (tmp_path / "summary").read_text()
    entry = '[[accepted]]\nurl = "/*"\nrule = "{}"\nreason = "known"\nuntil = 2999-12-31\n'
    (tmp_path / "accepted.toml").write_text("".join(map(entry.format, ("gone", "entry", "listed"))))
    assert job.run(accepted="accepted.toml") == 0, job.said
    assert job.run() == 1
    assert summary.count("### ") == 4
    assert 'robots: now "noindex"' in summary
    assert "is empty now" not in summary
    outputs = dict(line.split("=", 1) for line in (tmp_path / "output").read_text().splitlines())
    assert json.loads(Path(outputs["sarif"]).read_text())["version"] == "2.1.0"
    assert (Path(outputs["report"]) / "audit.html").is_file()

    shutil.copy(home, job.build / "again.html")
    shutil.copytree(WWW, job.build, dirs_exist_ok=True)
    lost.unlink()
    home.write_text(home.read_text().replace("/shop/mallet.html", "/shop/"))
    assert job.run(gone=f"\n{SITE}shop/mal*\n") in (0, 1)
    assert not any("Published URLs are lost" in line for line in job.errors), job.said
    shutil.rmtree(job.build)
    assert job.run() == 1
    assert job.errors == ["::error::The build cannot be crawled."]
