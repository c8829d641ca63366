"""Logs that several processes count: the same comes of them as of one, and none of them is left behind."""

import json
import os
import signal
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from zlib import crc32

import msgspec
import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from crawler.audit.source_record import SourceProgress, SourceRecord, SourceReport
from crawler.audit.sources.logs import claims, files, parallel
from crawler.audit.sources.logs.claims import AddressCounts, OwnTargets
from crawler.audit.sources.logs.formats import choose_reader
from crawler.audit.sources.logs.log import LogOptions
from crawler.audit.sources.logs.reader import read_logs
from crawler.audit.sources.logs.worker import CountedLines, CountJob, LineCounter
from crawler.audit.sources.urls import SourceUrlParser
from crawler.errors import Incomplete
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

# --- any cut, any number of those who count

_line = st.builds(
    '1.2.3.4 - - [{}/Nov/2026:{}:00:00 {}] "{} {} HTTP/1.1" {} 12 "-" "{}"'.format,
    st.sampled_from(["20", "21", "22", "99"]),
    st.sampled_from(["00", "12", "23"]),
    st.sampled_from(["+0000", "+0100", "-0800"]),
    st.sampled_from(["GET", "GET", "HEAD", "POST"]),
    st.sampled_from(["/", "/a", "/a?gclid=x", "/b?c=1", "/b?gclid=y&c=1", "/style.css"]),
    st.sampled_from(["200", "301", "404", "499", "-"]),
    st.sampled_from(AGENTS),
)
_lines = st.lists(st.one_of(_line, st.sampled_from(["", "no line of a log"])), max_size=40)


@given(_lines, st.lists(st.tuples(st.integers(0, 2), st.integers(0, 40)), max_size=8), st.integers(0, 5))
@settings(max_examples=60)
def test_ours_any_cut_among_any_number_gives_what_one_gives(
    lines: list[str], cuts: list[tuple[int, int]], most: int
) -> None:
    sample = [b'1.2.3.4 - - [21/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 12 "-" "x"']
    text = [f"{line}\n".encode() for line in lines]

    def counter() -> LineCounter:
        reader = choose_reader("", sample)
        assert reader
        return LineCounter(reader, OwnTargets())

    whole, parts, others = counter(), counter(), [counter() for _ in range(2)]
    whole.add(b"".join(text), 1)
    before: deque[tuple[LineCounter, deque[bytes], CountJob]] = deque()
    for turn, (who, upto) in enumerate([*cuts, (0, len(text))], start=1):
        piece, text = text[:upto], text[upto:]
        if who == 0:  # counted where all comes together, as the first blocks are
            _take(parts, before, upto=0)
            parts.add(b"".join(piece), turn)
        else:
            job = CountJob(list(parts.counts.names), turn, most)
            before.append((others[who - 1], deque(piece), job))
            _take(parts, before, upto=1)  # so that names are asked for before those of another are known
    before.extend((counter, deque(), CountJob(list(parts.counts.names))) for counter in others)
    _take(parts, before, upto=0)
    assert _said(parts) == _said(whole)


def _take(parts: LineCounter, waiting: deque[tuple[LineCounter, deque[bytes], CountJob]], upto: int) -> None:
    while len(waiting) > upto:
        counter, piece, job = waiting.popleft()
        share = counter.count_texts(piece, job)
        parts.add_counted(msgspec.msgpack.decode(msgspec.msgpack.encode(share), type=CountedLines))


def _said(counter: LineCounter) -> object:
    counts = counter.counts
    things = {
        thing: (count.first, count.last, count.answered, count.status, _named(count.packed, counts.names))
        for thing, count in counts.targets.items()
    }
    size = sum(map(len, things)) + sum(400 for count in counts.targets.values() if count.visitors)
    assert counts.size == size
    counts.finish()
    return (
        things,
        counts.bots.requests,
        counts.bots.days,
        counter.rows,
        counter.unread,
        counter.unread_example,
        counts.beside,
        counts.ours,
    )


def _named(many: int, names: Sequence[str]) -> dict[str, int]:
    every = ("people", "bots", "ok", "moved", "dead", *names)
    found = {name: many >> place * 32 & 2**32 - 1 for place, name in enumerate(every)}
    return {name: count for name, count in found.items() if count}


def test_ours_successes_of_many_addresses_reach_the_process_that_sums_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "_MAX_ADDRESSES", 20)
    line = '{} - - [21/Nov/2026:10:00:00 +0000] "GET /{} HTTP/1.1" 200 12 "-" "{}"\n'
    addresses = [f"192.0.2.{number}" for number in range(200)]
    blocks = [
        "".join(line.format(address, number, AGENTS[0]) for address in addresses for _ in range(4)).encode()
        for number in range(6)
    ]
    reader = choose_reader("", [blocks[0].splitlines()[0]])
    assert reader
    alone, together, worker = AddressCounts(), AddressCounts(), LineCounter(reader, OwnTargets())
    one, sums = (LineCounter(reader, OwnTargets(), successes=successes) for successes in (alone, together))
    for turn, block in enumerate(blocks, start=1):
        one.add(block, turn)
        sums.add_counted(worker.count_texts(deque([block]), CountJob([], turn, most=1_000)))
    sums.add_counted(worker.count_texts(deque(), CountJob([])))
    for counter in (one, sums):
        counter.counts.finish()
    visitors = [crc32(address.encode()) % 2**31 << 32 for address in addresses]
    assert [together.get(visitor) for visitor in visitors] == [alone.get(visitor) for visitor in visitors]
    assert sum(map(alone.get, visitors)) >= 6 * 4 * 200


# --- real processes


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks so small that a small log has many of them."""
    monkeypatch.setattr(files, "BLOCK_SIZE", 4_096)
    monkeypatch.setattr(parallel, "BLOCKS_BEFORE_WORKERS", 2)
    monkeypatch.setattr(parallel, "BLOCKS_PER_JOB", 3)
    monkeypatch.setattr(parallel, "SMALL_BLOCK", 2_048)


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
    logs: list[str], processes: int
) -> tuple[list[SourceReport], list[dict[Url, SourceRecord]], list[SourceProgress]]:
    accounts, claims, seen = [], [], list[SourceProgress]()
    for account, found in read_logs(logs, ADDRESSES, LogOptions(processes=processes), seen.append):
        claims.append({claim.url: replace(claim, turn=0) for claim in found})  # a job has one turn for its blocks
        accounts.append(account)
    return accounts, claims, seen


def children() -> list[psutil.Process]:
    return [
        each
        for each in psutil.Process().children()
        if any(word == "crawler.audit.sources.logs.worker" for word in each.cmdline())
    ]


@pytest.mark.usefixtures("small")
def test_ours_several_processes_say_of_several_logs_what_one_says(logs: list[str]) -> None:
    accounts, claims, seen = read(logs, 1)
    assert [account.format for account in accounts] == [
        *("combined", "combined", "combined", "W3C extended", "combined", "JSON lines")
    ]
    assert [account.rows for account in accounts] == [0, 5_000, 10, 3_000, 0, 1_000]
    assert all(account.unread == 0 for account in accounts)
    assert len(claims[1]) == 97
    size = sum(Path(log).stat().st_size for log in logs)
    assert (seen[-1].read, seen[-1].size, seen[-1].lines) == (size, size, 9_010)
    more, same, seen = read(logs, 3)
    assert (more, same) == (accounts, claims)
    assert (seen[-1].read, seen[-1].size, seen[-1].lines) == (size, size, 9_010)
    assert [each.read for each in seen] == sorted(each.read for each in seen)
    assert children() == []


@pytest.mark.usefixtures("small")
def test_ours_several_processes_sample_the_visitors_that_one_samples(tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    text = '10.0.{}.{} - - [21/Nov/2026:10:00:00 +0000] "GET /gone{} HTTP/1.1" 404 12 "-" "{}"\n'
    log.write_text("".join(text.format(n * 7 % 256, n % 199, n % 3, AGENTS[0]) for n in range(3_000)))
    (_, (one,), _), (_, (several,), _) = read([str(log)], 1), read([str(log)], 3)
    assert [len(record.visitors) for record in one.values()] == [64] * 3
    assert several == one


@pytest.mark.usefixtures("small")
def test_ours_a_process_that_is_killed_ends_the_reading_in_a_sentence(logs: list[str]) -> None:
    reading = read_logs(logs[1:], ADDRESSES, LogOptions(processes=2, most=90), lambda _: None)
    _, found = next(reading)
    next(found)
    assert len(children()) == 2
    for child in children():
        os.kill(child.pid, signal.SIGKILL)
    with pytest.raises(Incomplete, match=r"^a process that read logs was killed \(signal 9\)") as raised:
        deque(found, maxlen=0)
    assert str(raised.value).endswith("Run the same command again. If the error returns, add --set parse.processes=1")
    assert children() == []


@pytest.mark.usefixtures("small")
def test_ours_whoever_leaves_off_leaves_no_process_behind(logs: list[str]) -> None:
    reading = read_logs(logs[1:], ADDRESSES, LogOptions(processes=2, most=90), lambda _: None)
    _, found = next(reading)
    next(found)
    assert len(children()) == 2
    reading.close()
    assert children() == []
