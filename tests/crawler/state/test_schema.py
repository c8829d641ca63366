"""A state of another version is refused in one line, left as it is, and begun anew with --fresh."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from run import FAST, listed, siteatlas
from scripted import Answer, links, scripted

from crawler.state.schema import STATE_DB, STATE_VERSION

WORDS = (*FAST, "--set=output.swap_delay=0", "--state", "state", "-o", "out")
DATED = Answer("<p>This is a page.", headers={"Last-Modified": "Tue, 03 Mar 2020 04:05:06 GMT"})


def marked(folder: Path, version: int) -> Path:
    (state,) = (folder / "state").glob(f"*/{STATE_DB.file}")
    with closing(sqlite3.connect(state)) as db:
        db.execute(f"PRAGMA user_version = {version}")
    return state


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("version", "code", "said"), [(STATE_VERSION - 1, 7, "an older version"), (STATE_VERSION + 1, 2, "a newer version")]
)
def test_ours_a_state_of_another_version_is_refused_in_one_line_and_left_alone(
    tmp_path: Path, version: int, code: int, said: str
) -> None:
    with scripted({"/": links("/a"), "/a": DATED}) as site:
        crawl = ("crawl", site.url, *WORDS)
        assert siteatlas(tmp_path, *crawl).code == 0
        state, asked = marked(tmp_path, version), len(site.log)
        published, before = (tmp_path / "out" / "sitemap.xml").read_bytes(), state.read_bytes()
        for words in (crawl, ("compare", "--state", "state"), ("why", f"{site.url}a", "--state", "state")):
            ran = siteatlas(tmp_path, *words)
            assert (ran.code, ran.out, ran.err.count("\n")) == (code, "", 1)
            assert f"{STATE_DB.file} was written by {said} of siteatlas: it has format {version}" in ran.err
            assert "with --fresh to rename the file and to start again from the published sitemap" in ran.err
        assert state.read_bytes() == before
        assert len(site.log) == asked
        if version < STATE_VERSION:
            ran = siteatlas(tmp_path, *crawl, "--fresh")
            assert ran.code == 0, ran.err
            assert listed(tmp_path) == [site.url, f"{site.url}a"]
            assert (tmp_path / "out" / "sitemap.xml").read_bytes() == published, "with its dates"
            assert len([*state.parent.glob(f"{STATE_DB.file}.damaged-*")]) == 1
