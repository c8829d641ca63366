"""DNS rebinding between two runs: the name of a public site comes to mean a private server.

A test machine need not have a public address, so 127.0.0.2 counts as one here, and the names are those of a scripted
DNS.
"""

import socket
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import pytest
from hostile import HostileServer, answer
from ports import at_one_port

from crawler.config.load import build_config
from crawler.config.plan import plan_crawl
from crawler.errors import NothingCrawlable
from crawler.fetch import address_policy
from crawler.fetch.address_policy import AddressKind
from crawler.run.crawl import RunChoices, crawl
from crawler.run.report import Report
from crawler.state.store import Resume, public_hosts

pytestmark = pytest.mark.thorough

PUBLIC, PRIVATE = "127.0.0.2", "127.0.0.1"


@dataclass
class Web:
    """A public site, a private service at the same port of another address, and where the name of the site leads."""

    site: HostileServer
    service: HostileServer
    folder: Path
    addresses: list[str] = field(default_factory=lambda: [PUBLIC])

    @property
    def name(self) -> str:
        return f"site.example:{self.site.port}"

    @property
    def listed(self) -> str:
        return (self.folder / "out/sitemap.xml").read_text(encoding="utf-8")

    def run(self, *, begin: Resume = Resume.ALWAYS, **sections: dict[str, Any]) -> Report:
        tables: dict[str, dict[str, Any]] = {
            "site": {"url": f"http://{self.name}/"},
            "state": {"directory": str(self.folder / "state")},
            "output": {"directory": str(self.folder / "out")},
            "pace": {"rate": 0},
            "parse": {"processes": 1},
        }
        for section, values in sections.items():
            tables[section] = tables.get(section, {}) | values
        self.plan = plan_crawl(build_config(tables))

        async def regenerate() -> Report:
            return await crawl(self.plan, lambda _: None, RunChoices(begin=begin))

        return anyio.run(regenerate)


def _servers(stack: ExitStack) -> tuple[HostileServer, HostileServer]:
    """A private service, and the public site at the same port."""
    service = stack.enter_context(HostileServer())
    return service, stack.enter_context(HostileServer(address=PUBLIC, port=service.port))


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Web]:
    with at_one_port(_servers) as (service, site):
        for server, page in ((site, "/page"), (service, "/secret")):
            server.route("/", answer(f'<a href="{page}">x</a>'.encode(), "Content-Type: text/html"))
            server.route(page, answer(b"<p>text", "Content-Type: text/html"))
            server.route("/robots.txt", answer(b"User-agent: *\nAllow: /\n", "Content-Type: text/plain"))
        web = Web(site, service, tmp_path)
        kinds = address_policy.address_kind

        def kind(address: str) -> AddressKind:
            return AddressKind.PUBLIC if address == PUBLIC else kinds(address)

        async def lookup(host: str, port: int, **_: object) -> list[tuple[object, ...]]:
            assert host == "site.example"
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in web.addresses]

        monkeypatch.setattr(address_policy, "address_kind", kind)
        monkeypatch.setattr(anyio, "getaddrinfo", lookup)
        yield web


def test_ours_a_site_that_was_public_is_never_read_from_a_private_address(web: Web) -> None:
    assert web.run().exit_code == 0
    before = web.listed
    assert "/page" in before
    web.addresses = [PRIVATE]
    for begin in (Resume.ALWAYS, Resume.NEVER, Resume.FRESH):
        with pytest.raises(NothingCrawlable) as refused:
            web.run(begin=begin)
        assert f"add --resolve {web.name}:{PRIVATE}" in str(refused.value)
        assert "\n" not in str(refused.value)
        assert refused.value.exit_code == 5
    assert web.service.connections == 0
    assert web.listed == before
    web.addresses = [PUBLIC]
    assert web.run().exit_code == 0
    assert web.listed == before


def test_ours_a_run_that_came_to_nothing_has_seen_the_public_address_too(web: Web) -> None:
    web.site.route("/robots.txt", answer(status="503 Busy"))
    web.site._routes["/robots.txt"] = web.site._routes["/robots.txt"][-1:]
    with pytest.raises(NothingCrawlable):
        web.run(fetch={"retries": 0})
    web.addresses = [PRIVATE]
    with pytest.raises(NothingCrawlable, match="had a public address"):
        web.run()
    assert web.service.connections == 0


def test_ours_one_public_address_among_private_ones_is_used(web: Web) -> None:
    web.run()
    web.addresses = [PRIVATE, PUBLIC]
    assert web.run().exit_code == 0
    assert web.service.connections == 0


@pytest.mark.parametrize("allow", ["--resolve", "--host"])
def test_ours_an_operator_who_names_the_address_or_the_host_reads_a_private_site(web: Web, allow: str) -> None:
    web.run()
    web.addresses = [PRIVATE]
    if allow == "--resolve":
        web.run(fetch={"resolve": [f"{web.name}:{PRIVATE}"]})
    else:
        web.run(scope={"hosts": [web.name]})
    assert web.service.seen("/secret")
    assert public_hosts(web.plan.state) == {web.name}  # the permission ends with the option
    with pytest.raises(NothingCrawlable):
        web.run(begin=Resume.NEVER)


def test_ours_a_site_that_is_private_from_the_start_stays_readable(web: Web) -> None:
    web.addresses = [PRIVATE]
    for _ in range(2):
        assert web.run().exit_code == 0
    assert web.service.seen("/secret")
    assert public_hosts(web.plan.state) == set()
