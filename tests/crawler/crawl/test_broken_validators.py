"""A request that our validators broke is sent again without them, in the same run."""

from pathlib import Path

import anyio
import pytest
from nginx import nginx
from run import listed
from scripted import Answer, Route, links, scripted

from crawler.config.load import build_config
from crawler.config.plan import plan_crawl
from crawler.run.crawl import crawl
from crawler.run.report import Report

SETTINGS = {
    "pace": {"rate": 0, "concurrency": 8},
    "parse": {"processes": 1},
    "output": {"swap_delay": 0, "grace_period": 0},
}


def crawled(url: str, folder: Path, retries: int = 0) -> tuple[Report, list[str]]:
    """The report of a run, and the URLs that it published."""
    output = {**SETTINGS["output"], "directory": str(folder / "out")}
    fetch = {"retries": retries, "not_found_checks": 0}
    state = {"directory": str(folder / "state")}
    tables = {**SETTINGS, "site": {"url": url}, "state": state, "output": output, "fetch": fetch}
    plan = plan_crawl(build_config(tables))

    async def run() -> Report:
        return await crawl(plan, lambda _: None)

    report = anyio.run(run)
    return report, listed(folder)


@pytest.mark.needs_nginx
def test_rfc9110_13_a_page_whose_etag_is_too_long_for_its_own_server_stays(tmp_path: Path) -> None:
    """nginx sends an ETag of 9,000 characters, and answers 400 to a request with it: its limit is 8 KiB a line."""
    root = tmp_path / "site"
    root.mkdir()
    for name in ("index", "long"):
        (root / f"{name}.html").write_text(links("/", "/long.html") + f"<p>{name} is a page")
    tag = f'set $part "{"e" * 3_000}"; etag off;'
    extra = f"{tag} location = /long.html {{ add_header ETag '\"$part$part$part\"'; if_modified_since off; }}"
    with nginx(root, extra) as server:
        first, urls = crawled(server.url, tmp_path)
        assert server.sent()[-1] > 9_000
        for _ in range(2):
            asked = len(server.requests())
            again, kept = crawled(server.url, tmp_path)
            assert kept == urls
            assert again.exit_code == 0
            assert server.requests()[asked:].count("/long.html") == 2
    assert len(urls) == 2
    assert first.exit_code == 0


@pytest.mark.thorough
@pytest.mark.parametrize("status", [400, 412, 413, 431, 500, 503])
def test_ours_a_server_that_fails_on_a_conditional_request_is_asked_without_conditions(
    tmp_path: Path, status: int
) -> None:
    """Whatever it answers then: what blames the request is asked again at once, a failure when it is tried again."""
    routes: dict[str, Route] = {"/": links("/a", "/b"), "/a": Answer("<p>a boat", headers={"ETag": '"x"'})}
    routes["/b"] = Answer("<p>a barge", headers={"ETag": '"y"'})
    with scripted(routes) as site:
        _, urls = crawled(site.url, tmp_path)
        answer = site.answer

        def fragile(path: str, headers: dict[str, str]) -> Answer:
            whole = answer(path, headers)
            return Answer("broken", status) if path == "/a" and headers.get("If-None-Match") else whole

        site.answer = fragile  # type: ignore[method-assign, assignment]
        report, kept = crawled(site.url, tmp_path, retries=int(status >= 500))
    assert kept == urls
    assert len(urls) == 3
    assert not [note for note in report.notes if "answered" in note]
