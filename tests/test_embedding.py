"""The crawl and the audit inside of other programs: their own event loop, another thread, cancelled in the midst."""

import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread
import pytest
from run import listed
from scripted import Answer, Site, links, scripted

from crawler import Config, NothingCrawlable, Tally, UsageError, audit_site, configured, crawl_site, crawl_tables
from crawler.config.config import ParseConfig
from crawler.parse import pool


@pytest.fixture
def site() -> Iterator[Site]:
    pages = {f"/{number}": f"<title>Page {number}</title><p>of its own: {number}" for number in range(20)}
    orphan = {"/orphan": "<title>Orphan</title>", "/sitemap.xml": Answer("{url}orphan\n")}
    with scripted({"/": links(*pages), **pages, **orphan}) as running:
        yield running


def config(site: Site, folder: Path, rate: float = 0) -> Config:
    return configured(
        site={"url": site.url},
        output={"directory": str(folder / "out")},
        state={"directory": str(folder / "state")},
        scope={"sitemap_seeds": False},
        parse={"processes": 1},
        fetch={"retries": 0},
        pace={"rate": rate},
    )


def test_ours_a_mistake_in_the_configuration_is_told_as_the_command_does() -> None:
    with pytest.raises(UsageError, match=r'^the key "pace\.concurency" is unknown. Did you mean "concurrency"\?$'):
        configured(site={"url": "https://a.example/"}, pace={"concurency": 3})
    with pytest.raises(UsageError, match=r'^the key "outptu" is unknown. Did you mean "output"\?$'):
        configured(outptu={})


def test_ours_a_program_crawls_and_audits(site: Site, tmp_path: Path) -> None:
    seen: list[Tally] = []
    report = anyio.run(partial(crawl_site, config(site, tmp_path), watch=seen.append))
    assert (report.listed, report.outcome, report.exit_code) == (21, "published", 0)
    assert len(listed(tmp_path)) == 21
    assert seen[-1].done == 21
    with audit_site(config(site, tmp_path)) as (audit, findings):
        assert [each.url for each in findings("orphan.sitemap")] == [f"{site.url}orphan"]
    assert audit.doubts == []


def test_ours_a_program_reads_the_tables_of_a_crawl(site: Site, tmp_path: Path) -> None:
    chosen = config(site, tmp_path)
    with pytest.raises(UsageError, match="no run has finished yet"), crawl_tables(chosen):
        pass
    anyio.run(crawl_site, chosen)
    with crawl_tables(chosen) as tables:
        assert {page.title for page in tables.rows("pages")} == {"t", *(f"Page {number}" for number in range(20))}
        assert tables.db.execute("SELECT count(*) FROM links WHERE source = ?", (site.url,)).fetchone() == (20,)
        with pytest.raises(UsageError, match=r"there is no table 'page'\. There are pages, "):
            tables.rows("page")


def test_ours_a_crawl_runs_in_any_thread(site: Site, tmp_path: Path) -> None:
    async def serve() -> int:
        crawl = partial(anyio.run, partial(crawl_site, config(site, tmp_path), dry_run=True))
        return (await anyio.to_thread.run_sync(crawl)).listed

    assert anyio.run(serve) == 21


def test_ours_a_cancelled_crawl_is_gone_on_with(site: Site, tmp_path: Path) -> None:
    async def cut_short() -> None:
        with anyio.CancelScope() as scope:

            def watch(tally: Tally) -> None:
                if tally.done >= 4:
                    scope.cancel()

            await crawl_site(config(site, tmp_path, rate=20), watch=watch)
        assert scope.cancelled_caught

    anyio.run(cut_short)
    assert not (tmp_path / "out" / "sitemap.xml").exists()
    asked = len(site.paths)
    report = anyio.run(crawl_site, config(site, tmp_path))
    assert (report.resumed, report.listed) == (True, 21)
    assert len(site.paths) - asked < 21


def test_ours_a_program_gets_the_errors_of_the_command(site: Site, tmp_path: Path) -> None:
    nowhere = config(site, tmp_path).model_copy(update={"output": Config().output})
    with pytest.raises(UsageError, match="no directory is given for the sitemap"):
        anyio.run(crawl_site, nowhere)
    site.routes["/robots.txt"] = Answer("", 503)
    with pytest.raises(NothingCrawlable, match=r"robots\.txt"):
        anyio.run(crawl_site, config(site, tmp_path))


def test_ours_the_face_of_the_crawler_is_light() -> None:
    code = "import sys, crawler; print([n for n in ('httpx', 'anyio', 'pydantic', 'msgspec') if n in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout == b"[]\n"


@pytest.mark.thorough
def test_rfc9309_2_3_1_4_a_robots_txt_that_outlasts_its_reader_ends_the_crawl_in_time_and_with_the_reason(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = "User-agent: *\nDisallow: /7\n" + "Disallow: /*no\n" * 3_000
    site.routes["/robots.txt"] = Answer(rules, headers={"Content-Type": "text/plain"})
    limited = config(site, tmp_path).model_copy(update={"parse": ParseConfig(processes=1, timeout=2)})
    report = anyio.run(partial(crawl_site, limited))
    assert (report.listed, report.outcome) == (20, "published")  # /7 is blocked
    program = (
        "import sys, time\nimport crawler.robots.rules as rules\nrules.parse_robots = lambda *_: time.sleep(600)\n"
        "from crawler.parse.worker import _main\n_main(sys.argv[1:])"
    )
    monkeypatch.setattr(pool, "worker_command", lambda _: (sys.executable, "-c", program))
    with pytest.raises(NothingCrawlable, match=r"robots\.txt cannot be read within parse.timeout"):
        anyio.run(partial(crawl_site, limited))
    assert len(listed(tmp_path)) == 20  # what is published stays
    assert site.paths.count("/robots.txt") == 2
