"""Bodies that cost far more than their bytes: chunks of a few bytes, and compressed streams of thousands of members."""

import gzip
import random
import time
import zlib
from collections.abc import Callable
from typing import Final

import anyio
import psutil
from backports import zstd
from hostile import HostileServer, send

from crawler.fetch.address_policy import AddressPolicy
from crawler.fetch.fetcher import Fetcher
from crawler.fetch.identity import Identity
from crawler.fetch.limits import FetchLimits
from crawler.fetch.transports import HttpxTransports, ReqwestTransports
from crawler.model import Failure, Reply, Url

CPU_SECONDS: Final = 12.0
RSS_BYTES: Final = 100 * 2**20
_HEAD: Final = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"


def crumbs(rng: random.Random) -> bytes:
    """A body of millions of bytes in chunks of one to four bytes."""
    sizes = rng.choices((1, 2, 3, 4), k=20_000)
    once = b"".join(b"%x\r\n%s\r\n" % (size, b"abcd"[:size]) for size in sizes)
    return _HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + once * rng.randrange(30, 80) + b"0\r\n\r\n"


def members(rng: random.Random) -> bytes:
    """A million members or frames, empty or nearly so."""
    content = b"a" * rng.choice((0, 0, 1, 30))
    coding, part = rng.choice((("gzip", gzip.compress(content)), ("zstd", zstd.compress(content))))
    return _whole(coding, part * (18 * 2**20 // len(part)))


def flushes(rng: random.Random) -> bytes:
    """One stream of empty blocks."""
    made = zlib.compressobj(1, wbits=rng.choice((31, 15)))
    head = made.compress(b"<p>") + made.flush(zlib.Z_FULL_FLUSH)
    block = made.flush(zlib.Z_FULL_FLUSH) or b"\0\0\0\xff\xff"
    return _whole("gzip" if head.startswith(b"\x1f\x8b") else "deflate", head + block * (18 * 2**20 // len(block)))


def _whole(coding: str, body: bytes) -> bytes:
    return _HEAD + f"Content-Encoding: {coding}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


KINDS: Final[tuple[Callable[[random.Random], bytes], ...]] = (crumbs, members, flushes)


async def fetch(url: str, rng: random.Random) -> Reply | Failure:
    """One fetch, by either transport."""
    origin = url.rpartition("/")[0]
    limits = FetchLimits(total=60)
    transports = rng.choice((ReqwestTransports, HttpxTransports))(limits=limits)
    async with Fetcher(transports, Identity("TestBot/1.0"), AddressPolicy.for_seeds([origin]), limits) as fetcher:
        return await fetcher.fetch(Url(url))


def attack(seed: int) -> str | None:
    """Fetch one such body, and measure processor time and memory of this process, the server's included."""
    rng = random.Random(seed)
    kind = rng.choice(KINDS)
    with HostileServer() as server:
        server.route("/", send(kind(rng)))
        process = psutil.Process()
        before, started = process.memory_info().rss, time.process_time()
        anyio.run(fetch, server.url("/"), rng)
        spent, grown = time.process_time() - started, process.memory_info().rss - before
    if spent > CPU_SECONDS:
        return f"{kind.__name__}: {spent:.1f} s of CPU"
    return f"{kind.__name__}: {grown / 2**20:.0f} MiB of memory" if grown > RSS_BYTES else None
