"""Makes a release: checks the tree, closes the changelog, sets the version, tags, and builds the files in ``dist/``.

    python .github/release.py 0.1.0               the whole release, in a clean tree of the branch main
    python .github/release.py --files-only 0.1.0  the files alone, of a tree that has this version

It publishes nothing: ``git push --follow-tags`` starts the workflow that does.
"""

import argparse
import re
import shutil
import subprocess
import sys
from datetime import UTC, date, datetime
from pathlib import Path

ROOT = Path(__file__).parents[1]
CHANGELOG = ROOT / "CHANGELOG.md"
VERSION = ROOT / "crawler" / "version.py"
DIST = ROOT / "dist"
_is_version = re.compile(r"\d+\.\d+\.\d+(?:(?:a|b|rc)\d+)?").fullmatch


def main(words: list[str] | None = None) -> None:
    """Make the release that the command line names. Ends with a sentence if it cannot."""
    parser = argparse.ArgumentParser(description="Make a release.")
    parser.add_argument("version")
    parser.add_argument("--files-only", action="store_true")
    choice = parser.parse_args(words)
    if not _is_version(choice.version):
        sys.exit(f"{choice.version!r} is no version. Write it as 0.1.0 or 0.2.0rc1")
    if not choice.files_only:
        prepare(choice.version)
    build(choice.version)


def prepare(version: str) -> None:
    """Close the changelog, set the version, commit and tag."""
    if run("git", "status", "--porcelain"):
        sys.exit("the work tree has changes. Commit or stash them")
    if run("git", "tag", "--list", f"v{version}"):
        sys.exit(f"there is a tag v{version}. Choose the next version")
    CHANGELOG.write_text(
        closed(CHANGELOG.read_text(encoding="utf-8"), version, datetime.now(UTC).date()), encoding="utf-8"
    )
    text = VERSION.read_text(encoding="utf-8")
    VERSION.write_text(re.sub(r'__version__ = "[^"]*"', f'__version__ = "{version}"', text), encoding="utf-8")
    run("git", "commit", "-q", "-a", "-m", f"Release {version}")
    run("git", "tag", "-a", f"v{version}", "-m", f"Siteatlas {version}")


def closed(changelog: str, version: str, day: date) -> str:
    """The changelog with what was unreleased under the version. Exits if nothing was."""
    before, mark, rest = changelog.partition("## Unreleased\n")
    entries, heading, older = rest.partition("\n## ")
    if not mark or not entries.strip():
        sys.exit("the changelog has nothing under Unreleased")
    return f"{before}## Unreleased\n\n## {version} - {day.isoformat()}\n{entries}{heading}{older}"


def notes(changelog: str, version: str) -> str:
    """What the changelog says of a version. Exits if it does not name it."""
    found = re.search(rf"^## {re.escape(version)} - [-0-9]+\n(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL)
    if found is None:
        sys.exit(f"the changelog does not name {version}")
    return found[1].strip() + "\n"


def build(version: str) -> None:
    """Build the source distribution, the wheel and the single file, and try the wheel in an environment of its own."""
    if f'"{version}"' not in VERSION.read_text(encoding="utf-8"):
        sys.exit(f"crawler/version.py does not say {version}")
    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir()
    run(sys.executable, "-m", "build", "-q", "--outdir", str(DIST), ".")
    (wheel,) = DIST.glob("*.whl")
    pyz = DIST / f"siteatlas-{version}.pyz"
    shiv = Path(sys.executable).with_name("shiv")
    run(
        str(shiv),
        "-q",
        "-c",
        "siteatlas",
        "--extend-pythonpath",
        "-p",
        "/usr/bin/env python3",
        "-o",
        str(pyz),
        str(wheel),
    )
    bare = DIST / "try"
    run(sys.executable, "-m", "venv", str(bare))
    run(str(bare / "bin" / "pip"), "install", "-q", str(wheel))
    siteatlas = str(bare / "bin" / "siteatlas")
    said = run(siteatlas, "--version")
    if version not in said:
        sys.exit(f"the wheel says {said.strip()!r}")
    run(siteatlas, "manual", "setups/hugo")
    for words in (("crawl", "{url}", "-o", str(bare / "example")), ("audit", "{url}", "-o", str(bare / "report"))):
        run(sys.executable, "-m", "tests.example_site", siteatlas, *words, "--state", str(bare / "state"))
    shutil.rmtree(bare)
    (DIST / "NOTES.md").write_text(notes(CHANGELOG.read_text(encoding="utf-8"), version), encoding="utf-8")
    sys.stdout.write("".join(f"{file.name}\n" for file in sorted(DIST.iterdir())))


def run(*command: str) -> str:
    """Run a command in the project; returns what it prints. Ends if it fails."""
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603 - ours
    if ended.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{ended.stdout}{ended.stderr}")
    return ended.stdout


if __name__ == "__main__":
    main()
