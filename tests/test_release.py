"""Releases and workflows: what a tag starts is what the project says, and can run here as far as the machine goes."""

import importlib.util
import re
import subprocess
import sys
import tomllib
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
CHANGELOG = "# Changelog\n\n## Unreleased\n\n### Added\n\n- A.\n\n## 0.1.0 - 2026-01-01\n\n- Z.\n"


def release() -> Any:
    spec = importlib.util.spec_from_file_location("release", ROOT / ".github" / "release.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_ours_a_release_closes_the_changelog_and_takes_its_notes_from_it() -> None:
    module = release()
    closed = module.closed(CHANGELOG, "0.2.0", date(2026, 5, 6))
    assert closed.startswith("# Changelog\n\n## Unreleased\n\n## 0.2.0 - 2026-05-06\n\n### Added\n\n- A.\n")
    assert closed.endswith("## 0.1.0 - 2026-01-01\n\n- Z.\n")
    assert module.notes(closed, "0.2.0") == "### Added\n\n- A.\n"
    assert module.notes(closed, "0.1.0") == "- Z.\n"
    with pytest.raises(SystemExit, match="nothing under Unreleased"):
        module.closed(closed, "0.3.0", date(2026, 5, 7))
    with pytest.raises(SystemExit, match="is no version"):
        module.main(["first"])


@pytest.mark.slow
def test_ours_one_command_makes_a_release(tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)
    for name, value in (("user.name", "A"), ("user.email", "a@example.com")):
        subprocess.run(["git", "config", name, value], cwd=clone, check=True)
    subprocess.run([sys.executable, ".github/release.py", "9.8.7"], cwd=clone, check=True)
    names = {file.name for file in (clone / "dist").iterdir()}
    assert names == {"NOTES.md", "siteatlas-9.8.7-py3-none-any.whl", "siteatlas-9.8.7.pyz", "siteatlas-9.8.7.tar.gz"}
    tags = subprocess.run(["git", "tag"], cwd=clone, check=True, capture_output=True, text=True).stdout
    assert "v9.8.7" in tags.split()


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.name)
def test_ours_a_workflow_names_files_and_tasks_that_exist(file: Path) -> None:
    workflow = yaml.safe_load(file.read_text(encoding="utf-8"))
    assert workflow["permissions"] == {"contents": "read"}
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    assert all(job["timeout-minutes"] for job in workflow["jobs"].values())
    commands = "\n".join(step.get("run", "") for step in steps)
    tasks = re.findall(r"def (\w+)\(session", (ROOT / "noxfile.py").read_text(encoding="utf-8"))
    assert {*re.findall(r"nox -s (\w+)", commands)} <= {*tasks}
    for name in re.findall(r"(?<!\S)(\.(?:ci|github)/\S+|Containerfile)", commands):
        assert (ROOT / name).exists(), name


def test_ours_the_recipes_name_files_that_exist() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = [name for name in re.findall(r"`((?:crawler|sitemap|tests|docs)/[\w./]+)`", text) if "NAME" not in name]
    assert len(named) > 20
    assert [name for name in named if not (ROOT / name).exists()] == []
    assert {*re.findall(r"`nox -s (\w+)", text)} <= {
        *re.findall(r"def (\w+)\(session", (ROOT / "noxfile.py").read_text(encoding="utf-8"))
    }


def test_ours_the_tests_run_on_every_python_that_the_project_names() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = [found[1] for each in project["classifiers"] if (found := re.fullmatch(r".* :: (3\.\d+)", each))]
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "test.yml").read_text(encoding="utf-8"))
    assert workflow["jobs"]["tests"]["strategy"]["matrix"]["python"] == named
