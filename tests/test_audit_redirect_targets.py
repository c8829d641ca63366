"""The page that replaces a dead one, by what an earlier audit saw there: its title and its text."""

import json
from pathlib import Path
from random import Random

import pytest
from audited import FAST, in_process, line, page, pages
from madesite import prose
from scripted import Answer, scripted


def test_ours_a_page_that_moved_under_another_name_is_found_by_its_old_title_and_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = prose(Random(7), 60)
    lantern = f"<!doctype html><title>Lanterns of copper</title><a href=/>Home</a><p>{text}</p>"
    before = pages(**{"": page("/hub/", "/plain", "/p/1"), "p/1": lantern})
    after = pages(**{"": page("/hub/", "/plain", "/shop/xyz"), "p/1": Answer("", 404), "shop/xyz": lantern})
    with in_process(tmp_path, monkeypatch, capsys) as siteatlas, scripted(before) as site:
        assert siteatlas("audit", site.url, "-o", "out", *FAST).code == 0
        site.routes.clear()
        site.routes.update(after)
        Path("access.log").write_text("".join(line("/p/1", 200, who=n) for n in range(9)))
        ran = siteatlas("audit", site.url, "--log", "access.log", "-o", "out", *FAST)
    assert ran.code == 0, ran.err
    found = json.loads(Path("out/audit.json").read_bytes())["findings"]
    (target,) = next(each["targets"] for each in found if each["url"].endswith("/p/1"))
    assert target["url"].endswith("/shop/xyz")
    assert target["reason"] == "all words of the main text, all words of the title and heading"
    assert target["score"] > 0.9
