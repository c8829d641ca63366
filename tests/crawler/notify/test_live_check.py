"""Whether what was published is live, and where the public site is asked for it: on real sockets."""

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from doubles_indexnow import KEY, Double, Say, Site, memory
from msgspec.structs import replace

from crawler.errors import UsageError
from crawler.model import Failure, Url
from crawler.notify.configure import check_channels
from crawler.notify.live_check import LiveResult, LiveSite
from crawler.notify.notice import SendStatus
from crawler.notify.notify import send_notifications
from crawler.state.runs import PublishedFile, RunStore


@pytest.fixture
def site() -> Iterator[Site]:
    with memory() as folder, Double() as double:
        yield Site(double, folder)


def live(site: Site, **settings: Any) -> LiveResult:
    """Whether the last run is live."""
    run = RunStore(site.db).published()
    assert run is not None

    async def ask() -> LiveResult:
        async with LiveSite(site.planned(**settings)) as public:
            return await public.check_live(run.files[0])

    return anyio.run(ask)


def is_live(site: Site, **settings: Any) -> bool:
    return live(site, **settings).reception is SendStatus.ACCEPTED


def test_ours_the_same_bytes_are_live_and_others_are_not(site: Site) -> None:
    site.run(["/"])
    assert is_live(site)
    site.double.files["/sitemap.xml"] = b"<urlset>2</urlset>"
    assert not is_live(site)
    site.double.files["/sitemap.xml"] = b"<urlset>1</urlset>\n"
    assert not is_live(site)


@pytest.mark.parametrize(
    ("answer", "is_fault"),
    [
        (Say(404), True),
        (b"<urlset>another</urlset>", True),
        (Say(302, (("Location", "/sitemap.xml"),)), True),
        (Say(503), False),
        (Say(headers=(("Age", "60"),), body=b"<urlset>older</urlset>"), False),
        (Say(404, headers=(("Age", "60"),)), False),
        (Say(404, headers=(("Age", "0"),)), True),
        (Say(404, headers=(("Age", "never"),)), True),
    ],
)
def test_rfc9111_what_a_site_serves_is_a_fault_unless_it_is_older_than_the_file(
    site: Site, answer: Any, is_fault: bool
) -> None:
    site.run(["/"])
    site.double.files["/sitemap.xml"] = answer
    assert bool(live(site).fault) is is_fault


@pytest.mark.parametrize("said", [b"<urlset>older</urlset>", 404])
def test_rfc9111_a_copy_in_a_cache_is_no_fault_and_is_told_by_a_query_that_no_cache_knows(
    site: Site, said: bytes | int
) -> None:
    """Many caches send no Age. What the cache stored counts as not yet live."""
    site.run(["/"])
    site.double.cached["/sitemap.xml"] = said
    result = live(site)
    assert (result.fault, result.reception) == ("", SendStatus.DEFERRED)
    site.double.files["/sitemap.xml"] = b"<urlset>older</urlset>"
    assert live(site).fault


@pytest.mark.parametrize("status", [429, 503, 400, 403, 404])
def test_ours_an_answer_that_refuses_the_query_is_no_fault(site: Site, status: int) -> None:
    """A server may be busy by then, or refuse queries that it does not know: what it serves was not seen."""
    site.run(["/"])
    site.double.cached["/sitemap.xml"] = b"<urlset>older</urlset>"
    site.double.files["/sitemap.xml"] = status
    result = live(site)
    assert (result.fault, result.reception) == ("", SendStatus.DEFERRED)


def test_rfc9110_a_content_coding_is_no_other_file(site: Site) -> None:
    site.run(["/"])
    packed = gzip.compress((site.plan.output / "sitemap.xml").read_bytes())
    site.double.files["/sitemap.xml"] = Say(headers=(("Content-Encoding", "gzip"),), body=packed)
    assert is_live(site)


@pytest.mark.parametrize("is_coding", [True, False])
def test_ours_a_packed_file_is_live_as_it_is_or_as_a_coding(site: Site, is_coding: bool) -> None:
    number = site.run(["/"])
    packed = gzip.compress(b"<urlset/>")
    (site.plan.output / "sitemap.xml.gz").write_bytes(packed)
    records = RunStore(site.db)
    file = PublishedFile("sitemap.xml.gz", f"{site.double.home}/sitemap.xml.gz", 1, len(packed))
    records.write(replace(records.get(number), files=[file]))
    headers = (("Content-Encoding", "gzip"),) if is_coding else ()
    site.double.files["/sitemap.xml.gz"] = Say(headers=headers, body=packed)
    assert is_live(site)
    site.double.files["/sitemap.xml.gz"] = Say(headers=headers, body=gzip.compress(b"<urlset>old</urlset>"))
    assert not is_live(site)


def test_ours_redirects_to_the_sitemap_are_followed_but_not_for_ever(site: Site) -> None:
    site.run(["/"])
    site.double.files["/real.xml"] = site.double.files["/sitemap.xml"]
    site.double.files["/sitemap.xml"] = Say(302, (("Location", "/real.xml"),))
    assert is_live(site)
    site.double.files["/real.xml"] = Say(302, (("Location", "/sitemap.xml"),))
    assert "redirects more than" in live(site).message
    site.double.files["/sitemap.xml"] = Say(302)
    assert "redirects to an invalid URL" in live(site).message


def test_ours_a_file_that_is_gone_from_the_directory_is_told(site: Site) -> None:
    site.run(["/"])
    (site.plan.output / "sitemap.xml").unlink()
    assert "sitemap.xml, which was published, cannot be read" in live(site).message


def test_ours_the_public_site_is_asked_and_not_the_source_and_gets_none_of_its_secrets(
    site: Site, tmp_path: Path
) -> None:
    site.run(["/"])
    with Double() as staging:
        secrets = {"fetch__source": staging.home, "fetch__basic_auth": "me:SECRET", "fetch__headers": {"X-A": "SECRET"}}
        assert is_live(site, **secrets)
        assert not staging.asked
        site.double.files["/sitemap.xml"] = b"<urlset>before the deploy</urlset>"
        ended = "is not yet the published version; siteatlas notify sends the changes after the deploy"
        assert live(site, **secrets).message.endswith(ended)
    assert "SECRET" not in str(site.double.headers)
    site.run(["/"])
    assert is_live(site, fetch__basic_auth="me:SECRET")  # of the public site itself, when it is read there
    assert "Basic" in str(site.double.headers[-1])


def test_ours_a_host_is_found_where_resolve_says(tmp_path: Path) -> None:
    with Double() as double:
        port = double.port
        double.home = f"http://www.example.com:{port}"
        at = {"fetch__resolve": [f"www.example.com:{port}:127.0.0.1"]}
        site = Site(double, tmp_path, indexnow__endpoint=f"http://127.0.0.1:{port}/indexnow", scope__hosts=[], **at)
        anyio.run(lambda: send_notifications(site.plan, "shop"))
        for pages in (["/"], ["/", "/a"]):
            site.run(pages)
            anyio.run(lambda: send_notifications(site.plan, "shop"))
        assert double.taken == {f"http://www.example.com:{port}/a": 1}
        assert f"www.example.com:{port}/{KEY}.txt" in double.asked


def test_ours_a_host_that_only_pages_name_may_not_be_private(site: Site) -> None:
    async def ask() -> object:
        async with LiveSite(site.planned(scope__hosts=[])) as public:
            return await public.fetch(Url(site.other("/key.txt")))

    answer = anyio.run(ask)
    assert isinstance(answer, Failure)
    assert not site.double.asked


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"indexnow__key": "env:NOT_SET"}, "NOT_SET is not set"),
        ({"indexnow__key": "file:/no/such/file"}, "the secret file:/no/such/file cannot be read"),
        ({"indexnow__key_url": "nonsense"}, "key_url in [indexnow] cannot be used"),
        (
            {"webhook__secret": "env:EMPTY", "webhook__urls": ["https://a.example/"]},
            "the secret env:EMPTY, to which webhook.secret refers, is empty",
        ),
        ({"hook__command": ["/no/such/program"]}, "/no/such/program"),
        ({"email__to": ["nobody"]}, "email.to"),
        ({"search_console__account": "/no/account.json"}, "/no/account.json"),
    ],
)
def test_ours_what_cannot_be_told_is_refused_before_a_crawl(
    site: Site, monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any], said: str
) -> None:
    monkeypatch.setenv("EMPTY", " ")
    with pytest.raises(UsageError) as refused:
        check_channels(site.planned(**settings))
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)
    check_channels(site.planned(**settings, notify__enabled=False))


def test_ours_everybody_at_once_can_be_told(site: Site) -> None:
    plan = site.planned(
        webhook__urls=["https://a.example/x", "https://a.example/y", "https://a.example/x"],
        email__to=["me@example.com"],
        hook__command=["true"],
        webhook__on=["changes"],
        email__on=["trouble"],
    )
    check_channels(plan)
    site.run(["/"])
    answer = anyio.run(lambda: send_notifications(plan, "shop", dry_run=True))
    kinds = [key.partition(" ")[0] for key in answer.channels]
    assert kinds == ["indexnow", "webhook", "webhook", "email", "hook"]
    assert len(set(answer.channels)) == 5


def test_ours_a_key_file_without_an_end_is_none(site: Site) -> None:
    site.run(["/"])
    anyio.run(lambda: send_notifications(site.plan, "shop"))
    site.run(["/", "/a"])
    chunk = b"10000\r\n" + KEY.encode().ljust(65_536) + b"\r\n"
    endless = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk * 300
    site.double.files[f"/{KEY}.txt"] = Say(raw=endless)
    answer = anyio.run(lambda: send_notifications(site.plan, "shop"))
    assert answer.notify_pending
    assert not site.double.messages
