"""Owns the programs of others that check what is written for them: found, or the test that needs one is skipped."""

import os
import shutil

import pytest


def tool(name: str, *, is_packaged: bool = True) -> str:
    """The path of a program. Skips the test when there is none.

    Where nothing may be skipped it fails, unless the system has no package of the program.
    """
    found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/bin:/bin")
    if found is None:
        if is_packaged and os.environ.get("SITEATLAS_REQUIRE_ALL"):
            pytest.fail(f"{name} is not installed, and SITEATLAS_REQUIRE_ALL demands it")
        pytest.skip(f"{name} is not installed")
    return found
