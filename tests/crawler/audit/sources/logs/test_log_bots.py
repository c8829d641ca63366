"""Who is taken for a bot, and whether those who call themselves search engines are."""

import json
import socket
import time
from collections.abc import Iterable
from pathlib import Path

import pytest

from crawler.audit.source_record import SourceRecord
from crawler.audit.sources.logs.addresses import read_addresses
from crawler.audit.sources.logs.bots import (
    MAX_ADDRESSES,
    NO_USER_AGENT,
    OTHER_BOTS,
    OUR_BOT,
    BotVerifier,
    bot_name,
    is_verified,
)
from crawler.audit.sources.logs.log import LogOptions
from crawler.audit.sources.logs.reader import read_logs
from crawler.audit.sources.urls import SourceUrlParser
from crawler.errors import UsageError
from crawler.model import Url
from crawler.url.params import UrlParams

GOOGLE = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"


@pytest.mark.parametrize(
    ("agent", "name"),
    [
        (GOOGLE, "Googlebot"),
        ("Googlebot-Image/1.0", "Googlebot-Image"),
        ("Mozilla/5.0 AppleWebKit/537.36 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)", "bingbot"),
        ("Mozilla/5.0 (compatible; YandexBot/3.0; +http://yandex.com/bots)", "YandexBot"),
        ("Mozilla/5.0 (compatible; Yahoo! Slurp; http://help.yahoo.com/help)", "Yahoo Slurp"),
        ("Mozilla/5.0 AppleWebKit/537.36 (compatible; GPTBot/1.2; +https://openai.com/gptbot)", "GPTBot"),
        ("Mozilla/5.0 (compatible; ChatGPT-User/1.0; +https://openai.com/bot)", "ChatGPT-User"),
        ("Mozilla/5.0 (compatible; ClaudeBot/1.0; +claudebot@anthropic.com)", "ClaudeBot"),
        ("Mozilla/5.0 (compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/)", "AhrefsBot"),
        ("Mozilla/5.0 (compatible; AhrefsSiteAudit/6.1)", "AhrefsSiteAudit"),
        ("Screaming Frog SEO Spider/22.0", "Screaming Frog"),
        ("Mozilla/5.0+(compatible; UptimeRobot/2.0; http://www.uptimerobot.com/)", "UptimeRobot"),
        ("kube-probe/1.31", "health checks"),
        ("facebookexternalhit/1.1", "facebookexternalhit"),
        ("curl/8.5.0", OTHER_BOTS),
        ("python-requests/2.32", OTHER_BOTS),
        ("Mozilla/5.0 (compatible; SomeNewBot/1.0)", OTHER_BOTS),
        ("Go-http-client/2.0", OTHER_BOTS),
        ("Mozilla/5.0 HeadlessChrome/140.0", OTHER_BOTS),
        ("-", NO_USER_AGENT),
        ("", NO_USER_AGENT),
        ("Siteatlas/0.1 (+https://example.com/)", OUR_BOT),
        ("unverified Googlebot", "unverified Googlebot"),
        ("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", ""),
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 Version/18.0 Safari/604.1", ""),
        ("Mozilla/5.0 (Linux; Android 9; CUBOT X19) AppleWebKit/537.36 Chrome/140.0 Mobile Safari/537.36", ""),
        ("Opera/9.80 (Windows NT 6.1) Presto/2.12.388 Version/12.18", ""),
    ],
)
def test_ours_bots_are_told_from_people_by_their_names(agent: str, name: str) -> None:
    assert bot_name(agent) == name


class Zone:
    """A resolver that knows some addresses, and remembers what it was asked."""

    def __init__(self, names: dict[str, str], back: dict[str, list[str]], patience: float = 0) -> None:
        self.names, self.back, self.patience = names, back, patience
        self.asked: list[str] = []

    def name(self, address: str) -> str:
        self.asked.append(address)
        time.sleep(self.patience)
        if address in FAILURES:
            raise FAILURES[address]
        if address not in self.names:
            raise socket.herror(1, "Unknown host")
        return self.names[address]

    def addresses(self, name: str) -> Iterable[str]:
        return self.back.get(name, [])


FAILURES = {
    "203.0.113.4": socket.herror(2, "Host name lookup failure"),
    "203.0.113.5": socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution"),
    "203.0.113.6": TimeoutError(),
}
TRUE, FORGED, FAKE, MUTE = "66.249.66.1", "203.0.113.1", "203.0.113.2", "203.0.113.3"
ZONE = Zone(
    {TRUE: "crawl-66-249-66-1.googlebot.com.", FORGED: "crawl.googlebot.com", FAKE: "crawl.notgooglebot.com"},
    {
        "crawl-66-249-66-1.googlebot.com": [TRUE],
        "crawl.googlebot.com": ["66.249.66.9"],
        "crawl.notgooglebot.com": [FAKE],
    },
)


@pytest.mark.parametrize(
    ("address", "is_true"),
    [
        *(
            (TRUE, True),
            (FORGED, False),
            (FAKE, False),
            (MUTE, False),
            (f"{TRUE}:4711", True),
            (f"{TRUE}, 10.0.0.1", True),
        ),
        *((address, None) for address in (*FAILURES, "-", "dsl-1.isp.example")),
    ],
)
def test_google_a_bot_is_one_whose_name_and_address_lead_to_each_other(address: str, is_true: bool | None) -> None:
    assert is_verified("Googlebot", address.encode(), ZONE) is is_true


@pytest.mark.parametrize("host", ["", "www.example.com:443 "])
def test_ours_impostors_are_counted_under_a_name_that_says_so(tmp_path: Path, host: str) -> None:
    log = tmp_path / "access.log"
    asked = f'- - [21/Nov/2026:10:00:00 +0000] "GET /a HTTP/1.1" 200 1 "-" "{GOOGLE}"\n'
    log.write_text("".join(f"{host}{address} {asked}" for address in (TRUE, FORGED, FAKE, MUTE, *FAILURES) * 5))
    ZONE.asked.clear()
    addresses = SourceUrlParser(Url("https://www.example.com/"), UrlParams(), lambda _: True)
    options = LogOptions(verify=True, resolver=ZONE)
    claims: list[SourceRecord] = []
    for report, found in read_logs([str(log)], addresses, options, lambda _: None):
        claims += found
        assert "DNS gave no answer" in report.notes[-1]
    assert [claim.agents for claim in claims] == [{"Googlebot": 20, "unverified Googlebot": 15}]
    assert sorted(ZONE.asked) == sorted([TRUE, FORGED, FAKE, MUTE, *FAILURES])  # each once


def test_ours_the_number_of_questions_and_the_patience_for_them_are_bounded() -> None:
    slow = Zone({}, {}, patience=0.3)
    verifier = BotVerifier(slow, patience=0.05)
    row = (b"", b"/a", b"200", GOOGLE.encode(), b"", None)
    found = verifier.verify([(b"10.0.0.%d" % n, *row) for n in range(40)])
    assert {each[4] for each in found} == {GOOGLE.encode()}
    verifier.close()
    quick = Zone({}, {})
    verifier = BotVerifier(quick)
    verifier.verify([(b"10.0.%d.%d" % divmod(n, 256), *row) for n in range(MAX_ADDRESSES + 7)])
    assert (len(quick.asked), verifier.is_whole) == (MAX_ADDRESSES, False)
    verifier.close()


def test_ours_requests_of_search_engines_are_told_apart_from_those_of_other_bots(tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    agents = (*[GOOGLE] * 3, "bingbot/2.0", "curl/8.5.0", "GPTBot/1.2", "AhrefsBot/7.0", "Firefox")
    log.write_text(
        "".join(
            f'203.0.113.1 - - [21/Nov/2026:10:00:00 +0000] "GET /a HTTP/1.1" 404 12 "-" "{agent}"\n' for agent in agents
        )
    )
    addresses = SourceUrlParser(Url("https://www.example.com/"), UrlParams(), lambda _: True)
    (claim,) = (claim for _, found in read_logs([str(log)], addresses, LogOptions(), lambda _: None) for claim in found)
    assert (claim.people, claim.bots, claim.engines, claim.dead) == (1, 7, 4, 8)


def test_openai_a_bot_is_verified_by_the_addresses_that_its_operator_publishes(tmp_path: Path) -> None:
    """https://openai.com/gptbot.json ; Google and Perplexity publish files of the same form."""
    prefixes = [{"ipv4Prefix": "192.0.2.0/28"}, {"ipv6Prefix": "2001:db8::/48"}]
    file = tmp_path / "gptbot.json"
    file.write_text(json.dumps({"creationTime": "2026-11-01T10:00:00.000000", "prefixes": prefixes}))
    published = read_addresses({"GPTBot": str(file)})
    assert published["GPTBot"].day == "2026-11-01"
    agents = {
        "192.0.2.7": b"GPTBot/1.2",
        "2001:db8::9": b"GPTBot/1.2",
        "198.51.100.1": b"GPTBot/1.2",
        "-": b"GPTBot/1.2",
    }
    rows = [(address.encode(), b"", b"/a", b"200", agent, b"", None) for address, agent in agents.items()]
    rows.append((b"198.51.100.2", b"", b"/a", b"200", b"Googlebot/2.1", b"", None))
    verifier = BotVerifier(None, published=published)
    names = [row[4] for row in verifier.verify(rows)]
    verifier.close()
    assert names == [b"GPTBot/1.2", b"GPTBot/1.2", b"unverified GPTBot", b"GPTBot/1.2", b"Googlebot/2.1"]
    assert bot_name("unverified GPTBot") == "unverified GPTBot"


@pytest.mark.parametrize(
    ("name", "text"), [("Nobody", "{}"), ("GPTBot", "[]"), ("GPTBot", "{"), ("GPTBot", '{"prefixes": []}')]
)
def test_ours_a_file_without_addresses_is_refused(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / "f.json").write_text(text)
    with pytest.raises(UsageError, match=f"audit.bot_addresses.{name}"):
        read_addresses({name: str(tmp_path / "f.json")})
