"""Maps the documentation of one release to that of a later one, and judges the rows by a list of what is right.

::

    pip download --no-deps --no-binary :all: django==1.4.22 django==1.11.29     # and Sphinx to build them
    python -m tests.trials.moves.releases Django-1.4.22.tar.gz Django-1.11.29.tar.gz

``releases.csv`` holds the rows that a person judged: the old path, and the new paths that are right. Sphinx builds the
pages without the settings of the project, so that every release builds; what it does not know is left out.
"""

import argparse
import csv
import subprocess
import sys
import tarfile
from collections import Counter
from pathlib import Path

from crawler.moves.inventory import read_folder
from crawler.moves.matcher import Grade, match_pages

JUDGED = Path(__file__).with_name("releases.csv")


def built(archive: Path, work: Path) -> Path:
    """The pages of the documentation in a source package, built once."""
    name = archive.name.removesuffix(".tar.gz")
    pages = work / f"{name}.html"
    if not pages.is_dir():
        with tarfile.open(archive) as packed:
            packed.extractall(work, filter="data")
        source = next(folder for folder in (work / name / "docs", work / name / "doc") if folder.is_dir())
        suffix = ".txt" if (source / "index.txt").is_file() else ".rst"
        root = "index" if (source / f"index{suffix}").is_file() else "contents"
        settings = {"source_suffix": suffix, "root_doc": root, "highlight_language": "none", "default_role": "any"}
        words = [word for key, value in settings.items() for word in ("-D", f"{key}={value}")]
        subprocess.run(["sphinx-build", "-Q", "-C", *words, "-D", "html_copy_source=0", source, pages], check=False)
    return pages


def main() -> int:
    asked = argparse.ArgumentParser(prog="python -m tests.trials.moves.releases", description=__doc__)
    asked.add_argument("old", type=Path)
    asked.add_argument("new", type=Path)
    asked.add_argument("--work", type=Path, default=Path("/tmp/siteatlas-releases"), help="where the pages are built")
    given = asked.parse_args()
    old, new = (read_folder(built(archive, given.work)) for archive in (given.old, given.new))
    with JUDGED.open(encoding="utf-8") as file:
        judged = {(row["release"], row["old"]): row["right"].split() for row in csv.DictReader(file)}
    rows: Counter[tuple[str, str]] = Counter()
    matches = [*match_pages(old.pages, new.pages)]
    for match in matches:
        if match.old == match.new:
            rows[match.grade, "at the same path"] += 1
            continue
        right = judged.get((given.old.name, match.old))
        what = "not judged" if right is None else "right" if match.new in right or not (match.new or right) else "wrong"
        rows[match.grade, what] += 1
        print(f"{match.grade:6} {what:10} {match.old} -> {match.new or '-'} ({match.reason})")
    print(f"{len(old.pages)} old pages, {len(new.pages)} new ones")
    for grade in Grade:
        counts = [f"{count} {what}" for (row, what), count in sorted(rows.items()) if row == grade]
        print(f"{grade:6} {', '.join(counts)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
