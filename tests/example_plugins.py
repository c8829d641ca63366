"""Owns the installation of the example plug-ins of the manual."""

import shutil
import tomllib
from pathlib import Path

EXAMPLE = Path(__file__).parents[1] / "docs" / "examples" / "siteatlas-example"


def install_example(folder: Path) -> Path:
    """The example as pip leaves it, but for the time that pip takes."""
    declared = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    shutil.copytree(EXAMPLE / "siteatlas_example", folder / "siteatlas_example")
    about = folder / "siteatlas_example-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {declared['name']}\nVersion: 1.0\n")
    groups = [
        "\n".join([f"[{group}]", *(f"{name} = {place}" for name, place in points.items())])
        for group, points in declared["entry-points"].items()
    ]
    (about / "entry_points.txt").write_text("\n".join(groups))
    return folder
