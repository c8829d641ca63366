"""A DNS wildcard: any number of subdomains, each with a robots.txt of the largest size."""

import random
import tempfile
from pathlib import Path
from typing import Final

from hostile import HostileServer, answer

from attacks.links import Cost, crawl
from attacks.robots import SHAPES, robots_txt

RSS_BYTES: Final = 450 * 2**20  # kept rules of all 40 hosts would take more
_SLOW_SHAPES: Final = ("suffixes", "anchored", "paths", "segments", "queries", "allow and disallow")


def attack_hosts(seed: int, hosts: int, *words: str) -> tuple[Cost, int]:
    """Crawl a site with so many subdomains; the cost, and how many of them were asked for their robots.txt."""
    rng = random.Random(seed)
    rules = [robots_txt(rng, [rng.choice(_SLOW_SHAPES)]) for _ in range(4)]
    assert all(shape in SHAPES for shape in _SLOW_SHAPES)
    with HostileServer() as server, tempfile.TemporaryDirectory() as folder:
        names = [f"h{number}.example.com" for number in range(hosts)]
        links = "".join(f'<a href="http://{name}:{server.port}/page{rng.random()}">{name}</a>' for name in names)
        server.route("/", answer(f"<title>all</title>{links}".encode(), "Content-Type: text/html"))
        for body in rules:  # each origin gets the next, and the last are all the same
            server.route("/robots.txt", answer(body + b"\nAllow: /page"))
        server.route("*", answer(b"<title>one</title>text", "Content-Type: text/html"))
        resolved = [
            word for name in ("example.com", *names) for word in ("--resolve", f"{name}:{server.port}:127.0.0.1")
        ]
        cost = crawl(Path(folder), f"http://example.com:{server.port}/", "--subdomains", *resolved, *words)
        asked = {request.header("Host") for request in server.seen("/robots.txt")}
    return cost, len(asked)


def attack(seed: int, hosts: int = 40) -> str | None:
    """Some subdomains, sometimes more than are crawled."""
    limit = random.Random(seed).choice((5, 1_000))
    cost, asked = attack_hosts(seed, hosts, f"--set=scope.max_hosts={limit}")
    if asked > min(limit, hosts) + 1:
        return f"{asked} hosts were crawled with --set scope.max_hosts={limit}"
    return f"{cost.rss / 2**20:.0f} MiB of memory for {hosts} hosts" if cost.rss > RSS_BYTES else None


def small_attack(seed: int) -> str | None:
    return attack(seed, 8)
