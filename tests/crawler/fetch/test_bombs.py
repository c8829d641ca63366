"""What a bomb costs: each one is refused in a fresh process whose memory is measured (Linux and macOS)."""

import subprocess
import sys
import textwrap

import pytest

pytest.importorskip("resource")

MEASURED = textwrap.dedent(
    """
    import gzip, resource, sys, zlib
    import brotli
    from backports import zstd
    from crawler.fetch.body import BodyDecoder
    from crawler.fetch.errors import FetchError
    from crawler.fetch.limits import BodyLimits

    unit = 1 if sys.platform == "darwin" else 1024

    def peak():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit

    def stream(make, finish):  # 1 GiB of zeros, a MiB at a time
        zeros = b"\\0" * (1 << 20)
        return b"".join([make(zeros) for _ in range(1024)]) + finish()

    coding = sys.argv[1]
    if coding == "br":
        made = brotli.Compressor(quality=1)
        bomb = stream(made.process, made.finish)
    elif coding == "zstd":
        made = zstd.ZstdCompressor(level=1)
        bomb = stream(made.compress, made.flush)
    else:
        made = zlib.compressobj(1, wbits=31 if coding == "gzip" else 15)
        zeros = b"\\0" * (1 << 20)
        bomb = made.compress(zeros) + made.flush(zlib.Z_FULL_FLUSH)
        bomb += (made.compress(zeros) + made.flush(zlib.Z_FULL_FLUSH)) * 1023  # each block stands for itself
    names = [coding]
    if len(sys.argv) > 2:
        bomb, names = gzip.compress(bomb), [coding, "gzip"]
    before = peak()
    decoder = BodyDecoder(names, BodyLimits())
    try:
        decoder.feed(bomb)
        print("accepted", decoder.cut)
    except FetchError as error:
        print(error.code.value, peak() - before)
    """
)


@pytest.mark.parametrize("arguments", [["gzip"], ["deflate"], ["br"], ["zstd"], ["gzip", "twice"]])
def test_ours_a_gibibyte_bomb_costs_little_memory(arguments: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *arguments], capture_output=True, text=True, check=True, timeout=60
    )
    code, grown = done.stdout.split()
    assert code == "body.bomb"
    assert int(grown) <= 64 << 20
