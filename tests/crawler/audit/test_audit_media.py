"""Images and videos that sitemaps list, asked for on real servers: politely, and no more of them than was agreed."""

from collections.abc import Iterable, Iterator

import pytest
from scripted import Answer, Site, scripted

from crawler.audit.health.entries import ListedMedia, MediaRole
from crawler.audit.media import PROBE_BYTES, CheckedMedia, check_media
from crawler.config.config import Config
from crawler.config.fetcher import build_fetcher
from crawler.robots.cache import RobotsCache
from crawler.robots.rules import Robots, parse_robots
from crawler.url.normalize import normalize_url, origin_of

pytestmark = pytest.mark.anyio


@pytest.fixture
def site() -> Iterator[Site]:
    png = {"Content-Type": "image/png"}
    with scripted({"/ok.png": Answer(b"\x89PNG", headers=png)}) as running:
        yield running


def image(url: str, role: MediaRole = MediaRole.IMAGE) -> ListedMedia:
    return ListedMedia(url=normalize_url(url), role=role, page="https://example.com/", file="sitemap.xml", line=2)


async def check(site: Site, media: Iterable[ListedMedia], **settings: dict[str, object]) -> CheckedMedia:
    config = Config.model_validate({"pace": {"rate": 0}, "fetch": {"retries": 0}} | settings)
    async with build_fetcher(config, [origin_of(normalize_url(site.url))]) as found:

        async def read(body: bytes, at: float) -> Robots:
            return parse_robots(body, config.fetch.user_agent, at)

        rulebook = RobotsCache(found, read, obey=config.obey.robots)
        return await check_media(config, found, rulebook, media)


async def test_google_what_answers_is_fine_and_what_does_not_is_told(site: Site) -> None:
    site.routes |= {
        "/page.png": Answer("<!doctype html>", headers={"Content-Type": "text/html"}),
        "/here.png": Answer("", 302, {"Location": "/ok.png"}),
        "/round.png": Answer("", 302, {"Location": "/round2.png"}),
        "/round2.png": Answer("", 302, {"Location": "/round.png"}),
        "/broken.mp4": Answer("", 500),
        "/busy.mp4": Answer("", 503),
        "/player": Answer("<!doctype html>", headers={"Content-Type": "text/html"}),
    }
    names = ("ok", "gone", "page", "here", "round")
    media = [image(f"{site.url}{name}.png") for name in names]
    media += [image(f"{site.url}{name}.mp4", MediaRole.VIDEO) for name in ("broken", "busy")]
    media += [image(f"{site.url}player", MediaRole.PLAYER), image("http://nobody.invalid/x.png")]
    checked = await check(site, media)
    found = {each.url.rpartition("/")[2]: (each.rule, each.sentence) for each in checked.findings}
    assert {name: rule for name, (rule, _) in found.items()} == {
        "gone.png": "media.image",
        "page.png": "media.image",
        "round.png": "media.image",
        "broken.mp4": "media.video",
        "x.png": "media.image",
    }
    assert found["gone.png"][1] == "the image cannot be fetched: it answered 404"
    assert "the host name nobody.invalid does not exist" in found["x.png"][1]


async def test_rfc9309_nothing_is_said_of_a_host_whose_rules_cannot_be_had(site: Site) -> None:
    site.routes["/robots.txt"] = Answer("", 500)
    checked = await check(site, [image(f"{site.url}gone.png")])
    assert not checked.findings
    assert set(site.paths) == {"/robots.txt"}


async def test_rfc9110_only_the_beginning_is_asked_for(site: Site) -> None:
    site.routes["/large.mp4"] = Answer(b"\x00" * 3_000_000, headers={"Content-Type": "video/mp4"})
    checked = await check(site, [image(f"{site.url}large.mp4", MediaRole.VIDEO)])
    assert not checked.findings
    assert site.log[-1][2]["range"] == f"bytes=0-{PROBE_BYTES - 1}"


async def test_rfc9110_what_has_no_first_byte_is_asked_for_whole(site: Site) -> None:
    site.routes["/empty.png"] = lambda before: Answer(b"", 200 if before else 416)
    checked = await check(site, [image(f"{site.url}empty.png")])
    assert not checked.findings
    assert "range" not in site.log[-1][2]


async def test_rfc9309_robots_txt_of_the_host_is_obeyed(site: Site) -> None:
    site.routes["/robots.txt"] = Answer("User-agent: *\nDisallow: /secret", headers={"Content-Type": "text/plain"})
    site.routes["/way.png"] = Answer("", 302, {"Location": "/secret/a.png"})
    checked = await check(site, [image(f"{site.url}secret/a.png"), image(f"{site.url}way.png")])
    assert not checked.findings
    assert site.paths == ["/robots.txt", "/way.png"]
    assert checked.notes == ["2 images and videos were not fetched, because robots.txt blocks them"]


async def test_ours_each_url_is_asked_for_once_and_no_more_than_agreed(site: Site) -> None:
    media = [image(f"{site.url}{number % 5}.png") for number in range(50)]
    checked = await check(site, media, audit={"max_media": 3})
    assert site.paths == ["/robots.txt", "/0.png", "/1.png", "/2.png"]
    assert checked.notes[0].startswith("only 3 of the images and videos in sitemaps were fetched")


async def test_ours_nothing_is_asked_when_it_is_turned_off(site: Site) -> None:
    checked = await check(site, [image(f"{site.url}ok.png")], audit={"media": False})
    assert (site.paths, checked.notes) == ([], [])


async def test_ours_a_host_that_asks_to_wait_is_left_alone(site: Site) -> None:
    site.routes["/0.png"] = Answer("", 429, {"Retry-After": "3600"})
    checked = await check(site, [image(f"{site.url}{number}.png") for number in range(5)])
    assert site.paths == ["/robots.txt", "/0.png"]
    assert not checked.findings
    home = origin_of(normalize_url(site.url))
    assert checked.notes == [f"{home} requested a pause, so 4 of its images and videos were not fetched"]


async def test_ours_a_public_sitemap_does_not_lead_to_private_places(site: Site) -> None:
    with scripted({}) as private:
        checked = await check(site, [image(f"{private.url}a.png"), image(f"{private.url}b.png")])
        assert private.paths == []
    assert not checked.findings
    assert "is at a private address and was not requested" in checked.notes[0]
