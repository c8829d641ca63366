"""What bounds a crawl: the rule, the shares, and a real crawl at a slow pace."""

import json
from pathlib import Path

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nginx import nginx
from run import crawl
from scripted import Answer, links, scripted

from crawler import Config, crawl_site
from crawler.crawl.bottleneck import Bottlenecks, CrawlLook, CrawlStage, bounding_stage


@pytest.mark.parametrize(
    ("look", "stage"),
    [
        (CrawlLook(cpu=0.97, fetching=3, parsing=20, is_paced=False), CrawlStage.FRONTIER),
        (CrawlLook(cpu=0.30, fetching=3, parsing=20, is_paced=True), CrawlStage.PARSE),
        (CrawlLook(cpu=0.05, fetching=1, parsing=0, is_paced=True), CrawlStage.PACE),
        (CrawlLook(cpu=0.05, fetching=0, parsing=0, is_paced=True), CrawlStage.PACE),
        (CrawlLook(cpu=0.05, fetching=0, parsing=0, is_paced=False), CrawlStage.FRONTIER),
        (CrawlLook(cpu=0.05, fetching=0, parsing=0, is_paced=False, has_errors=True), CrawlStage.ERRORS),
        (CrawlLook(cpu=0.05, fetching=1, parsing=0, is_paced=True, has_failed=True), CrawlStage.ERRORS),
        (CrawlLook(cpu=0.05, fetching=1, parsing=0, is_paced=False, has_failed=True), CrawlStage.NETWORK),
        (CrawlLook(cpu=0.20, fetching=8, parsing=2, is_paced=False), CrawlStage.NETWORK),
    ],
)
def test_ours_one_stage_bounds_a_crawl_at_a_time(look: CrawlLook, stage: CrawlStage) -> None:
    assert bounding_stage(look) is stage


@given(st.lists(st.tuples(st.sampled_from(CrawlStage), st.floats(0.001, 100)), min_size=1, max_size=50))
def test_ours_shares_of_the_stages_sum_to_one_and_the_largest_is_first(seconds: list[tuple[CrawlStage, float]]) -> None:
    bottlenecks = Bottlenecks()
    for stage, part in seconds:
        bottlenecks.add(stage, part)
    shares = list(bottlenecks.shares().values())
    assert sum(shares) == pytest.approx(1, abs=0.03)
    assert shares == sorted(shares, reverse=True)


def test_ours_a_crawl_whose_last_page_is_slow_is_bound_by_the_server(tmp_path: Path) -> None:
    routes = {"/": links("/slow", "/a", "/b"), "/slow": Answer("slow", delay=1.5), "/a": "a", "/b": "b"}
    with scripted(routes) as site:
        ran = crawl(tmp_path, site.url, "--json", "--rate", "20")
    bound_by = json.loads(ran.out)["bound_by"]
    assert bound_by["network"] > bound_by.get("pace", 0), bound_by


@pytest.mark.thorough
@pytest.mark.needs_nginx
def test_ours_a_crawl_at_a_slow_pace_is_bound_by_its_pace(tmp_path: Path) -> None:
    links = "".join(f'<a href="{number}.html">{number}</a>' for number in range(12))
    (tmp_path / "site").mkdir()
    for name in ("index", *range(12)):
        (tmp_path / "site" / f"{name}.html").write_text(f"<!doctype html><title>{name}</title>{links}")
    with nginx(tmp_path / "site") as server:
        config = Config.model_validate(
            {
                "site": {"url": server.url},
                "pace": {"rate": 5},
                "output": {"directory": str(tmp_path / "out")},
                "state": {"directory": str(tmp_path / "state")},
            }
        )
        report = anyio.run(crawl_site, config)
    assert report.traffic.bound_by.get("pace", 0) > 0.3, report.traffic.bound_by
