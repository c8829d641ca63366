"""Measures the reading of access logs: seconds per million lines and memory, against peers, in one run.

The log is made, and the same each time: lines of the combined format from 30,000 people and bots who ask for 200,000
URLs, some much more than others, with their style sheets and pictures, queries that nobody else asked for, IPv6, and
lines that are none. Ours brings it to claims in the file of an audit, goaccess to a report of JSON, advertools to a
table.

::

    python -m tests.benchmarks.audit_logs [-n 20000000] [--rounds 3] [--gzip] [--json FILE]
"""

import argparse
import gzip
import json
import random
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from importlib.util import find_spec
from itertools import cycle
from pathlib import Path

from tests.benchmarks.measure import MIB, Cost, measure
from tests.benchmarks.tables import table

ROOT = Path(__file__).parent.parent.parent
URLS = 200_000
ASSETS = 3_000
VISITORS = 30_000
AT_ONCE = 50_000
BAD = ('\\x16\\x03\\x01\\x02" 400 150', "half of a line [21/Nov", "")
BOTS = (
    "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
    "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)",
    "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)",
    "Mozilla/5.0 (compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/)",
    "curl/8.5.0",
)
PATIENCE = 6 * 3600  # seconds
PEERS = ("goaccess", "advertools")


def visitors(chance: random.Random) -> list[tuple[str, str]]:
    """The address of each visitor, and what the browser or bot calls itself; one request in five is by a bot."""
    browser = "Mozilla/5.0 ({}) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{}.0.{}.{} Safari/537.36"
    systems = ("Windows NT 10.0; Win64; x64", "X11; Linux x86_64", "Macintosh; Intel Mac OS X 10_15_7")
    people = [browser.format(systems[n % 3], 100 + n % 43, 6_000 + n, n % 199) for n in range(2_000)]
    addresses = [f"203.{n >> 8 & 255}.{n & 255}.{n % 251}" for n in range(VISITORS)]
    addresses[::5] = [f"2001:db8:{n:x}::{n % 9:x}" for n in range(len(addresses[::5]))]
    bots = cycle(BOTS)
    return [(each, next(bots) if n % 5 == 1 else chance.choice(people)) for n, each in enumerate(addresses)]


def things() -> tuple[list[str], list[float]]:
    """What is asked for, and how often: a few pages get most of the visits."""
    pages = [f"/shop/department-{n % 97}/article-{n}-of-{n % 13}-parts.html" for n in range(URLS)]
    assets = [f"/static/{n}/bundle.{('css', 'js', 'png', 'woff2')[n % 4]}?v={n % 50}" for n in range(ASSETS)]
    often = [1 / (n + 20) ** 0.7 for n in range(URLS)]
    share = sum(often) / ASSETS  # as many requests for assets as for pages
    return [*pages, *assets], [*often, *[share] * ASSETS]


def lines(count: int) -> Iterator[str]:
    """The lines of a log, some thousands at a time."""
    chance = random.Random(20_261_121)
    named, often = things()
    total, often_so_far = 0.0, []
    for each in often:
        often_so_far.append(total := total + each)
    who = visitors(chance)
    for start in range(0, count, AT_ONCE):
        many = min(AT_ONCE, count - start)
        asked = chance.choices(named, cum_weights=often_so_far, k=many)
        parts = []
        for n, (thing, (address, agent)) in enumerate(
            zip(asked, chance.choices(who, k=many), strict=True), start=start
        ):
            if n % 997 == 996:
                parts.append(f"203.0.113.9 - - [{BAD[n % 3]}\n")
                continue
            if n % 50 == 0:
                thing = f"{thing.partition('?')[0]}?q={n}"  # noqa: PLW2901
            second = n // 40  # a log of six days
            when = f"{15 + second // 86_400}/Nov/2026:{second // 3600 % 24:02}:{second // 60 % 60:02}:{second % 60:02}"
            status = 200 if n % 9 else (304, 301, 404)[n % 3]
            parts.append(
                f'{address} - - [{when} +0000] "GET {thing} HTTP/{"1.1" if n % 3 else "2.0"}" {status} {n % 40_000}'
                f' "https://www.example.com/" "{agent}"\n'
            )
        yield "".join(parts)


def make(path: Path, count: int, packed: bool) -> None:
    """Write the log."""
    with gzip.open(path, "wt", compresslevel=1) if packed else path.open("w") as file:
        for part in lines(count):
            file.write(part)


def ours(log: Path) -> list[str]:
    """How we read a log."""
    return [sys.executable, "-m", "tests.benchmarks.audit_logs_read", str(log)]


def peers(log: Path, less: Path) -> dict[str, list[str]]:
    """How each peer that is installed reads a log; ``less`` is for the one that holds all lines in memory."""
    advertools = (
        f"import advertools; advertools.logs_to_df({str(less)!r}, {str(log.parent / 'out.parquet')!r},"
        f" {str(log.parent / 'errors.txt')!r}, 'combined')"
    )
    found = {}
    if shutil.which("goaccess"):
        found["goaccess"] = [
            *("goaccess", str(log), "--log-format=COMBINED", "--no-progress", "--no-global-config"),
            *("-o", str(log.parent / "out.json")),
        ]
    if find_spec("advertools"):
        found["advertools"] = [sys.executable, "-c", advertools]
    return found


def said(costs: dict[str, list[Cost]], counts: dict[str, int]) -> str:
    """A row for each command, of the round in which it took least, and how the others compare to the first."""
    best = {name: min(each, key=lambda cost: cost.wall) for name, each in costs.items()}
    first = next(iter(best))
    speed = {name: cost.wall / counts[name] * 1e6 for name, cost in best.items()}
    work = {name: cost.cpu / counts[name] * 1e6 for name, cost in best.items()}
    head = ["command", "lines", "wall s/million", "÷ ours", "CPU s/million", "÷ ours"]
    rows = [
        [
            name,
            f"{counts[name]:,}",
            f"{speed[name]:.2f}",
            f"{speed[name] / speed[first]:.2f}",
            f"{work[name]:.2f}",
            f"{work[name] / work[first]:.2f}",
            f"{max(cost.peak for cost in costs[name]) / MIB:.0f}",
        ]
        for name in best
    ]
    return table([*head, "peak RSS MiB"], rows)


def main() -> None:
    """Make a log, have each command read it, round after round, and print what each took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", type=int, default=20_000_000, help="lines")
    parser.add_argument(
        "--table-lines",
        type=int,
        default=2_000_000,
        help="lines that advertools reads at most, which holds them all in memory",
    )
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--peers", nargs="*", choices=PEERS, default=PEERS)
    parser.add_argument("--gzip", action="store_true", help="pack the log (peers get it so, too)")
    parser.add_argument("--folder", type=Path, help="where the log is made, and removed afterwards")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    costs: dict[str, list[Cost]] = {}
    with tempfile.TemporaryDirectory(prefix="siteatlas-logs-", dir=options.folder) as folder:
        end = ".gz" if options.gzip else ""
        log, less = Path(folder, f"access.log{end}"), Path(folder, f"less.log{end}")
        make(log, options.n, options.gzip)
        make(less, min(options.n, options.table_lines), options.gzip)
        print(f"{options.n:,} lines, {log.stat().st_size / 1e9:.2f} GB", flush=True)
        commands = {"siteatlas": ours(log)} | {
            name: line for name, line in peers(log, less).items() if name in options.peers
        }
        for _ in range(options.rounds):
            for name, command in commands.items():
                costs.setdefault(name, []).append(measure(command, ROOT, PATIENCE))
        account = json.loads(Path(folder, "account.json").read_text())
    counts = dict.fromkeys(commands, options.n) | {"advertools": min(options.n, options.table_lines)}
    print(f"read: {account}")
    print(said(costs, counts))
    if options.json:
        found = {
            "lines": counts,
            "account": account,
            "costs": {name: [asdict(each) for each in rounds] for name, rounds in costs.items()},
        }
        options.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
