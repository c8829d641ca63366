"""Logs that are read in blocks: the same comes of them as of one block."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from crawler.audit.source_record import SourceProgress, SourceReport
from crawler.audit.sources.logs import files
from crawler.audit.sources.logs.log import LogOptions
from crawler.audit.sources.logs.reader import read_logs
from crawler.audit.sources.urls import SourceUrlParser
from crawler.model import Url
from crawler.url.params import UrlParams

ADDRESSES = SourceUrlParser(Url("https://www.example.com/"), UrlParams(), lambda _: True)
AGENTS = (
    "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
    "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
    "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)",
    "Mozilla/5.0 (compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/)",
    "curl/8.5.0",
    "Siteatlas/0.1",
    "-",
)


def combined(numbers: range) -> Iterator[str]:
    for n in numbers:
        when = f"{n // 2_000 + 20}/Nov/2026:{n // 100 % 24:02}:00:00 +0200"
        status = (200, 404, 499)[n % 3]
        yield f'1.2.3.4 - - [{when}] "GET /page{n % 97} HTTP/1.1" {status} 12 "-" "{AGENTS[n // 50 % 7]}"\n'


def columns(numbers: range) -> Iterator[str]:
    for n in numbers:
        if n % 1_000 == 0:
            yield "#Fields: date time cs-method cs-uri-stem sc-status cs(User-Agent)\n"
        elif n % 1_000 == 500:
            yield "#Fields: time date cs(User-Agent) cs-uri-stem sc-status\n#Date: 2026-11-21 #fields:\n"
        agent = AGENTS[n % 7].replace(" ", "+")
        yield (
            f"2026-11-21 10:00:00 GET /page{n % 97} 200 {agent}\n"
            if n % 1_000 < 500
            else f"10:00:00 2026-11-22 {agent} /page{n % 97} 404\n"
        )


def objects(numbers: range) -> Iterator[str]:
    for n in numbers:
        yield (json.dumps({"ts": 1795255200 + n, "uri": f"/p{n % 9}", "status": 200, "ua": AGENTS[n % 7]}) + "\n")


@pytest.fixture
def logs(tmp_path: Path) -> list[str]:
    many = {
        "a-empty.log": "",
        "b-combined.log": "".join(combined(range(5_000))),
        "c-short.log": "".join(combined(range(10))),
        "d-iis.log": "".join(columns(range(3_000))),
        "e-nothing.log": "\n",
        "f-objects.log": "".join(objects(range(1_000)))[:-1],
    }
    for name, text in many.items():
        (tmp_path / name).write_text(text)
    return [str(tmp_path / name) for name in many]


def read(
    logs: list[str], most: int = 1_000
) -> tuple[list[SourceReport], list[dict[Url, Counter[str]]], list[SourceProgress]]:
    accounts, claims, seen = [], [], list[SourceProgress]()
    for account, found in read_logs(logs, ADDRESSES, LogOptions(most=most), seen.append):
        counts: dict[Url, Counter[str]] = {}
        for claim in found:
            of_claim = {"people": claim.people, "ok": claim.ok, "dead": claim.dead, **claim.agents}
            counts.setdefault(claim.url, Counter()).update(of_claim)
        claims.append(counts)
        accounts.append(account)
    return accounts, claims, seen


def test_ours_logs_in_blocks_give_what_they_give_at_once(logs: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    whole, counts, _ = read(logs)
    assert [account.format for account in whole] == [
        *("combined", "combined", "combined", "W3C extended", "combined", "JSON lines")
    ]
    assert [account.rows for account in whole] == [0, 5_000, 10, 3_000, 0, 1_000]
    assert all(account.unread == 0 for account in whole)
    assert len(counts[1]) == 97
    monkeypatch.setattr(files, "BLOCK_SIZE", 4_096)
    for most in (1_000, 20):  # also if not all counts fit in memory
        again, same, seen = read(logs, most)
        assert (again, same) == (whole, counts)
        size = sum(Path(log).stat().st_size for log in logs)
        assert (seen[-1].read, seen[-1].size, seen[-1].lines) == (size, size, 9_010)
        assert [each.read for each in seen] == sorted(each.read for each in seen)


def test_ours_the_visitors_of_a_url_are_a_sample(tmp_path: Path) -> None:
    text = '10.0.{}.{} - - [21/Nov/2026:10:00:00 +0000] "GET /gone{} HTTP/1.1" 404 12 "-" "{}"\n'
    log = tmp_path / "access.log"
    log.write_text("".join(text.format(n * 7 % 256, n % 199, n % 3, AGENTS[0]) for n in range(3_000)))
    ((_, records),) = (
        (account, [*claims]) for account, claims in read_logs([str(log)], ADDRESSES, LogOptions(), print)
    )
    assert [len(record.visitors) for record in records] == [64] * 3
    assert [record.people for record in records] == [1_000] * 3
