"""Importing the package costs nothing that its user did not ask for."""

import subprocess
import sys

import sitemap


def test_ours_importing_sitemap_loads_no_other_library() -> None:
    code = (
        "import sys; before = set(sys.modules); import sitemap; "
        "print(*sorted({name.partition('.')[0] for name in set(sys.modules) - before} - set(sys.stdlib_module_names)))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=30)
    assert result.stdout.split() == ["sitemap"]


def test_ours_the_package_shows_its_public_names_only() -> None:
    assert dir(sitemap) == sorted(sitemap.__all__)
    assert all(getattr(sitemap, name) is not None for name in sitemap.__all__)
