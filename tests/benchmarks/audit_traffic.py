"""Makes the access log of a site as visitors, bots and scanners leave it, the same each time.

Unlike the log of :mod:`tests.benchmarks.audit_logs`, it has a long tail: 3,000 user agents at 60,000 addresses, of
which a quarter are bots; links with click IDs that nobody used before, searches, probes of scanners, and pages that are
gone or never were.

::

    python -m tests.benchmarks.audit_traffic PATHS LOG [-n 2000000]

``PATHS`` is a file with the paths of the site's pages, one a line. To measure an audit with it, the crawl reused::

    siteatlas run URL --state STATE ...; siteatlas audit URL --state STATE --log LOG ...
"""

import argparse
import random
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path

from tests.benchmarks.audit_logs import BOTS

AGENTS = 3_000
ADDRESSES = 60_000
GONE = 300
SEARCHES = 400
PROBES = ("wp-login.php", ".env", "xmlrpc.php", "admin/config.php", "vendor/phpunit/eval-stdin.php", "backup-{}.zip")
AT_ONCE = 50_000
# what one request in a hundred is for
SHARES = {"page": 57, "asset": 15, "click": 12, "search": 5, "probe": 4, "gone": 7}


def visitors(chance: random.Random) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Address and user agent of each visitor, and of each scanner."""
    browser = "Mozilla/5.0 ({}) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{}.0.{}.{} Safari/537.36"
    systems = ("Windows NT 10.0; Win64; x64", "X11; Linux x86_64", "Macintosh; Intel Mac OS X 10_15_7")
    people = [browser.format(systems[n % 3], 100 + n % 43, 6_000 + n, n % 199) for n in range(AGENTS)]
    addresses = [f"{20 + n % 180}.{n >> 8 & 255}.{n & 255}.{n % 251}" for n in range(ADDRESSES)]
    everybody = [
        (each, BOTS[n % len(BOTS)] if n % 4 == 0 else chance.choice(people)) for n, each in enumerate(addresses)
    ]
    return everybody, [(f"198.51.100.{n}", people[n]) for n in range(40)]


def target(chance: random.Random, page: str, kind: str) -> tuple[str, int]:
    """What is requested, and the status of the response."""
    match kind:
        case "page":
            return page, 200 if chance.random() < 0.95 else 304
        case "asset":
            return f"/resources/{chance.randrange(400)}.{chance.choice(('css', 'js', 'png', 'svg'))}", 200
        case "click":
            name = chance.choice(("gclid", "fbclid", "msclkid"))
            return f"{page}?{name}={chance.getrandbits(80):x}", 200
        case "search":
            return f"/index.html?q=word+{int(SEARCHES * chance.random() ** 3)}", 200
        case "probe":
            return f"/{chance.choice(PROBES).format(chance.randrange(500))}", 404
    if chance.random() < 0.1:
        return f"{page[:-5]}{chance.randrange(100)}.html", 404  # a slip, which few make twice
    return f"/old/class-{int(GONE * chance.random() ** 2)}.html", 404


def lines(paths: list[str], count: int) -> Iterator[str]:
    """The lines of the log, some thousands at a time."""
    chance = random.Random(20_261_124)
    everybody, scanners = visitors(chance)
    often = list(accumulate(1 / (n + 20) ** 0.7 for n in range(len(paths))))
    kinds, weights = list(SHARES), list(SHARES.values())
    for start in range(0, count, AT_ONCE):
        many = min(AT_ONCE, count - start)
        asked = zip(
            chance.choices(paths, cum_weights=often, k=many),
            chance.choices(kinds, weights, k=many),
            chance.choices(everybody, k=many),
            strict=True,
        )
        parts = []
        for n, (page, kind, visitor) in enumerate(asked, start=start):
            thing, status = target(chance, page, kind)
            address, agent = chance.choice(scanners) if kind == "probe" else visitor
            second = n * 2_592_000 // count  # a log of 30 days
            when = (
                f"{1 + second // 86_400:02}/Nov/2026:{second // 3600 % 24:02}:{second // 60 % 60:02}:{second % 60:02}"
            )
            parts.append(f'{address} - - [{when} +0000] "GET {thing} HTTP/1.1" {status} {n % 40_000} "-" "{agent}"\n')
        yield "".join(parts)


def main() -> None:
    """Write the log."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", type=Path)
    parser.add_argument("log", type=Path)
    parser.add_argument("-n", type=int, default=2_000_000, help="lines")
    options = parser.parse_args()
    with options.log.open("w") as file:
        for part in lines(options.paths.read_text().split(), options.n):
            file.write(part)


if __name__ == "__main__":
    main()
