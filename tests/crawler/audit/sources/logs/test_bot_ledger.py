"""The requests of bots by day, bot and status: the same as a plain count of the drawn requests, in every format."""

import gzip
import json
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest

from crawler.audit.sources.logs import bots, files
from crawler.audit.sources.logs.bots import SEARCH_ENGINES, BotKind, BotLedger, bot_kind
from crawler.audit.sources.logs.claims import OwnTargets
from crawler.audit.sources.logs.log import LogOptions
from crawler.audit.sources.logs.reader import read_logs
from crawler.audit.sources.urls import SourceUrlParser
from crawler.model import Url
from crawler.url.params import UrlParams

HOST = "www.example.com"
ADDRESSES = SourceUrlParser(Url(f"https://{HOST}/"), UrlParams(), lambda url: url.startswith(f"https://{HOST}/"))
AGENTS = {
    "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)": "Googlebot",
    "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)": "bingbot",
    "Mozilla/5.0 (compatible; GPTBot/1.2; +https://openai.com/gptbot)": "GPTBot",
    "Mozilla/5.0 (compatible; ChatGPT-User/1.0; +https://openai.com/bot)": "ChatGPT-User",
    "curl/8.5.0": "other bots",
    "Siteatlas/0.1": "",  # our own requests are no evidence
    "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0": "",
}


class Request(NamedTuple):
    """One drawn request."""

    at: datetime
    host: str
    path: str
    status: int
    agent: str


def drawn(random: Random, number: int) -> list[Request]:
    """Requests over some days, nearly in order, of which some are for another site."""
    start = datetime(2026, 11, random.randint(1, 9), random.randint(0, 23), tzinfo=UTC)
    span = timedelta(days=random.choice([1, 3, 14]))
    times = sorted(start + span * random.random() for _ in range(number))
    if random.random() < 0.3:
        random.shuffle(times)
    hosts = random.choice([[HOST], [HOST, HOST, "other.example.net"]])
    paths = [f"/{random.choice(['shop', 'blog'])}/{n}" for n in range(random.choice([3, 80]))] + ["/", "/a.png"]
    return [
        Request(at, random.choice(hosts), random.choice(paths), random.choice([200, 200, 304, 301, 404, 503]), agent)
        for at in times
        for agent in [random.choice(list(AGENTS))]
    ]


def combined(request: Request) -> str:
    when = request.at.astimezone(UTC).strftime("%d/%b/%Y:%H:%M:%S +0000")
    return (
        f'{request.host}:443 203.0.113.9 - - [{when}] "GET {request.path} HTTP/1.1" {request.status} 12 "-"'
        f' "{request.agent}"'
    )


def objects(request: Request) -> str:
    return json.dumps(
        {
            "ts": request.at.timestamp(),
            "host": request.host,
            "uri": request.path,
            "status": request.status,
            "method": "GET",
            "ua": request.agent,
        }
    )


def columns(request: Request) -> str:
    agent = request.agent.replace(" ", "+")
    return f"{request.at:%Y-%m-%d %H:%M:%S} {request.host} GET {request.path} {request.status} {agent}"


FORMATS = {
    "combined": ("", combined),
    "json": ("", objects),
    "w3c": ("#Fields: date time cs-host cs-method cs-uri-stem sc-status cs(User-Agent)\n", columns),
}


def plain_count(requests: list[Request]) -> Counter[tuple[str, str, int]]:
    """The count by a plain script: no blocks, no packed numbers."""
    return Counter(
        (f"{request.at:%Y-%m-%d}", AGENTS[request.agent], request.status)
        for request in requests
        if AGENTS[request.agent] and request.host == HOST
    )


def read(paths: list[Path]) -> tuple[BotLedger, Counter[str]]:
    ledger, by_name = BotLedger(), Counter[str]()
    options = LogOptions(most=60)
    for _, records in read_logs([str(path) for path in paths], ADDRESSES, options, lambda _: None, ledger=ledger):
        for record in records:
            by_name.update(record.agents)
    return ledger, by_name


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks so small that a small log has many of them."""
    monkeypatch.setattr(files, "BLOCK_SIZE", 4_096)


def written(random: Random, folder: Path) -> Iterator[tuple[Path, list[Request]]]:
    for number in range(random.randint(1, 3)):
        header, line = FORMATS[random.choice(list(FORMATS))]
        requests = drawn(random, random.choice([1, 40, 700]))
        text = (header + "".join(f"{line(request)}\n" for request in requests)).encode()
        is_packed = random.random() < 0.5
        path = folder / f"{number}.log{'.gz' if is_packed else ''}"
        path.write_bytes(gzip.compress(text) if is_packed else text)
        yield path, requests


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("seed", range(12))
def test_ours_requests_of_bots_are_those_that_a_plain_script_counts(tmp_path: Path, seed: int) -> None:
    logs = list(written(Random(seed), tmp_path))
    requests = [request for _, some in logs for request in some]
    ledger, by_name = read([path for path, _ in logs])
    assert ledger.requests == plain_count(requests)
    assert ledger.days == {f"{request.at:%Y-%m-%d}" for request in requests if request.agent != "Siteatlas/0.1"}
    assert by_name == Counter(AGENTS[r.agent] for r in requests if AGENTS[r.agent] and r.host == HOST)
    assert ledger.has_agents


def test_ours_days_without_end_keep_their_requests_and_lose_their_day(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bots, "MAX_LEDGER_KEYS", 3)
    ledger = BotLedger()
    for day in range(1, 10):
        ledger.add(f"2026-11-{day:02}", "Googlebot", 404, 2)
    assert sum(ledger.requests.values()) == 18
    assert ledger.requests["", "Googlebot", 400] == 12


@pytest.mark.parametrize(
    ("target", "is_own"),
    [
        (b"/docs/a", True),
        (b"/other", False),
        (b"www.example.com /docs/a", True),
        (b"WWW.Example.com.:443 /docs/a", True),
        (b"example.net /docs/a", False),
        (b"http://www.example.com/docs/a", True),
        (b"proxy http://www.example.com:80/docs/a", True),
        (b"http://example.net/docs/a", False),
        (b"www.example.com", False),
        (b"*", False),
    ],
)
def test_ours_the_targets_of_a_site_are_on_its_hosts_and_below_its_start(target: bytes, is_own: bool) -> None:
    assert OwnTargets([b"example.com", b"www.example.com"], b"/docs/").has(target) is is_own


def test_ours_a_log_without_user_agents_is_told_apart(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text('203.0.113.1 - - [21/Nov/2026:00:30:00 +0100] "GET /a HTTP/1.0" 200 -\n')
    ledger, _ = read([tmp_path / "a.log"])
    assert (ledger.has_agents, ledger.days) == (False, {"2026-11-20"})


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("Googlebot", BotKind.SEARCH),
        ("GPTBot", BotKind.AI_TRAINING),
        ("CCBot", BotKind.AI_TRAINING),
        ("OAI-SearchBot", BotKind.AI_SEARCH),
        ("PerplexityBot", BotKind.AI_SEARCH),
        ("Claude-User", BotKind.AI_USER),
        ("unverified Googlebot", BotKind.OTHER),
        ("AhrefsBot", BotKind.OTHER),
        ("other bots", BotKind.OTHER),
    ],
)
def test_ours_bots_have_the_kind_that_their_operators_document(name: str, kind: BotKind) -> None:
    assert bot_kind(name) is kind


def test_ours_every_search_engine_is_one() -> None:
    assert {bot_kind(name) for name in SEARCH_ENGINES} == {BotKind.SEARCH}
