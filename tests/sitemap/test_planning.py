"""Which sitemap lists what, and which robots.txt must say so. https://www.sitemaps.org/protocol.html#location"""

import doctest
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sitemap.planner
from sitemap import CrossSubmits, InvalidLocation, LimitExceeded, Location, plan, sitemaps_in

A, B = "https://a.example", "https://b.example"


def test_ours_the_examples_run() -> None:
    assert doctest.testmod(sitemap.planner).failed == 0


def test_sitemaps_org_each_origin_gets_a_sitemap_in_its_root() -> None:
    planned = plan([f"{A}/", f"{A}/x/y?z", "http://a.example/", f"{B}:8443/", "https://A.example:443/w"])
    assert {each.url: each.urls for each in planned.sitemaps} == {
        f"{A}/sitemap.xml": 3,
        "http://a.example/sitemap.xml": 1,
        f"{B}:8443/sitemap.xml": 1,
    }
    assert planned.cross_submits == []
    assert planned.robots[f"{B}:8443/robots.txt"] == [f"Sitemap: {B}:8443/sitemap.xml"]
    assert planned.sitemap_for(f"{A}/never/seen") == f"{A}/sitemap.xml"
    assert planned.sitemap_for(f"{B}/") == ""
    assert plan([f"{A}/"], name="sitemap_index.xml").sitemaps[0].url == f"{A}/sitemap_index.xml"


def test_sitemaps_org_the_deepest_directory_lists_a_url() -> None:
    wanted = [f"{A}/sitemap.xml", f"{A}/docs/sitemap.xml", f"{A}/docs/api/s.xml", f"{B}/blog/s.xml", f"{B}/new/s.xml"]
    urls = [f"{A}/", f"{A}/docs", f"{A}/docs/", f"{A}/docs/1", f"{A}/docs/api/2", f"{A}/docs/%61pi/3", f"{A}/docs/../4"]
    planned = plan([*urls, f"{B}/blog/5", f"{B}/6"], wanted)
    assert [planned.sitemap_for(url).removeprefix(A) for url in urls] == [
        "/sitemap.xml",
        "/sitemap.xml",
        "/docs/sitemap.xml",
        "/docs/sitemap.xml",
        "/docs/api/s.xml",
        "/docs/api/s.xml",
        "/sitemap.xml",
    ]
    assert [each.urls for each in planned.sitemaps] == [3, 2, 2, 1, 0]
    assert planned.unlisted_examples == [f"{B}/6"]
    assert planned.robots == {
        f"{A}/robots.txt": [f"Sitemap: {url}" for url in wanted[:3]],
        f"{B}/robots.txt": [f"Sitemap: {B}/blog/s.xml"],  # what lists nothing is not announced
    }


def test_sitemaps_org_a_central_sitemap_needs_the_other_hosts_robots_txt() -> None:
    central = f"{A}/maps/s.xml"
    urls = [f"{A}/maps/1", f"{A}/2", f"{B}/3", f"{B}/4", "http://b.example/5"]
    planned = plan(urls, central=central)
    (only,) = planned.sitemaps
    assert only.urls == 4
    assert only.origins == {A: 1, B: 2, "http://b.example": 1}
    assert planned.cross_submits == [(central, B), (central, "http://b.example")]
    assert planned.unlisted_examples == [f"{A}/2"]  # no robots.txt widens a directory of its own host
    assert planned.robots == {
        f"{A}/robots.txt": [f"Sitemap: {central}"],
        f"{B}/robots.txt": [f"Sitemap: {central}"],
        "http://b.example/robots.txt": [f"Sitemap: {central}"],
    }
    assert planned.sitemap_for(f"{B}/6") == central
    assert planned.sitemap_for("https://c.example/") == ""


def test_ours_a_host_with_its_own_sitemap_needs_no_other() -> None:
    planned = plan([f"{A}/1", f"{B}/2", f"{B}/blog/3"], [f"{B}/blog/s.xml"], central=f"{A}/s.xml")
    assert planned.sitemap_for(f"{B}/blog/3") == f"{B}/blog/s.xml"
    assert planned.sitemap_for(f"{B}/2") == f"{A}/s.xml"
    assert planned.robots[f"{B}/robots.txt"] == [f"Sitemap: {A}/s.xml", f"Sitemap: {B}/blog/s.xml"]


def test_ours_what_no_sitemap_may_list_is_counted_and_shown() -> None:
    bad = ["", "/x", "mailto:a@b", "ftp://a.example/", "https://me@a.example/", "https://a.example/" + "x" * 2048]
    planned = plan([*bad, f"{A}/"])
    assert planned.unlisted == 6
    assert planned.unlisted_examples == bad
    assert all(planned.sitemap_for(url) == "" for url in bad)
    many = plan(["/x"] * 1_000)
    assert (many.unlisted, len(many.unlisted_examples), many.sitemaps, many.robots) == (1_000, 20, [], {})


@pytest.mark.parametrize(
    ("wanted", "central", "name"),
    [
        (["/s.xml"], "", "sitemap.xml"),
        ([], "s.xml", "sitemap.xml"),
        ([f"{A}/a.xml", f"{A}/b.xml"], "", "sitemap.xml"),
        ([f"{A}/a.xml"], f"{A}/b.xml", "sitemap.xml"),
        ([], "", "maps/sitemap.xml"),
        ([], "", ""),
    ],
)
def test_ours_what_cannot_be_planned_is_said(wanted: list[str], central: str, name: str) -> None:
    with pytest.raises(InvalidLocation):
        plan([], wanted, central=central, name=name)


def test_ours_a_sitemap_named_twice_is_one() -> None:
    assert len(plan([], [f"{A}/s.xml", "https://A.example:443/s.xml"], central=f"{A}/s.xml").sitemaps) == 1


def test_ours_files_are_counted() -> None:
    planned = plan(f"{A}/{number}" for number in range(50_001))
    assert (planned.sitemaps[0].urls, planned.sitemaps[0].files) == (50_001, 2)
    assert plan([], [f"{A}/s.xml"]).sitemaps[0].files == 0


def test_ours_memory_is_flat_and_bounded() -> None:
    tracemalloc.start()
    try:
        plan(f"https://{number % 7}.example/{number}/x" for number in range(20_000))
        assert tracemalloc.get_traced_memory()[1] < 500_000
    finally:
        tracemalloc.stop()
    with pytest.raises(LimitExceeded, match="10,000"):
        plan(f"https://{number}.example/" for number in range(10_001))


_hosts = st.sampled_from([A, B, "http://a.example", "https://c.example:8443"])
_paths = st.lists(st.sampled_from(["a", "b", "c", "..", ".", "%61", ""]), max_size=4).map(
    lambda way: "/" + "/".join(way)
)


@settings(max_examples=150)
@given(
    st.lists(st.builds(str.__add__, _hosts, _paths), max_size=12),
    st.lists(st.builds(lambda host, way: host + way.rstrip("/") + "/s.xml", _hosts, _paths), max_size=4),
    st.sampled_from(["", f"{A}/s.xml", f"{B}/a/s.xml"]),
)
def test_sitemaps_org_a_plan_that_is_carried_out_keeps_the_location_rule(
    urls: list[str], wanted: list[str], central: str
) -> None:
    try:
        planned = plan(urls, wanted, central=central)
    except InvalidLocation:
        return
    served = {robots_txt: "\n".join(lines).encode() for robots_txt, lines in planned.robots.items()}
    listed = 0
    for url in urls:
        if address := planned.sitemap_for(url):
            listed += 1
            assert Location(address).covers(url) or CrossSubmits(address, served.get).vouched(url)
            assert address in sitemaps_in(served[Location(address).robots_txt])
        elif wanted or central:
            assert not any(Location(each).covers(url) for each in wanted)
    assert sum(each.urls for each in planned.sitemaps) == listed
    assert planned.unlisted == len(urls) - listed


def test_ours_a_plan_shows_what_it_holds() -> None:
    made = plan(["https://example.com/", "https://example.com/a"], central="https://example.com/sitemap.xml")
    assert repr(made) == "<SitemapPlan https://example.com/sitemap.xml: 2 URLs; 0 unlisted>"
