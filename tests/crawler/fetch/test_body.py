"""The body decoder against the libraries that compress, and against bodies made to break it."""

import gzip
import os
import zlib
from collections.abc import Callable

import brotli
import pytest
from backports import zstd
from hypothesis import given, settings
from hypothesis import strategies as st

from crawler.fetch.body import BodyDecoder, split_codings
from crawler.fetch.encodings import PIECE_BYTES, decoder_for
from crawler.fetch.errors import FailureCode, FetchError
from crawler.fetch.header_values import looks_like_text
from crawler.fetch.limits import BodyLimits

LIMITS = BodyLimits()


def raw_deflate(data: bytes) -> bytes:
    stream = zlib.compressobj(wbits=-15)
    return stream.compress(data) + stream.flush()


def fast_brotli(data: bytes) -> bytes:
    return brotli.compress(data, quality=5)


COMPRESSORS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "deflate": zlib.compress,
    "deflate (raw)": raw_deflate,
    "br": fast_brotli,
    "zstd": zstd.compress,
}
ALL = pytest.mark.parametrize("name", COMPRESSORS)


def decode(data: bytes, *codings: str, limits: BodyLimits = LIMITS, size: int = 1 << 30) -> bytes:
    decoder = BodyDecoder([coding.split(" ")[0] for coding in codings], limits)
    for start in range(0, len(data), size):
        if not decoder.feed(data[start : start + size]):
            break
    return decoder.finish()


def code_of(data: bytes, *codings: str, limits: BodyLimits = LIMITS, size: int = 1 << 30) -> FailureCode:
    with pytest.raises(FetchError) as caught:
        decode(data, *codings, limits=limits, size=size)
    return caught.value.code


def detail_of(data: bytes, coding: str) -> str:
    with pytest.raises(FetchError) as caught:
        decode(data, coding)
    return caught.value.detail


@settings(max_examples=60)
@given(
    name=st.sampled_from(list(COMPRESSORS)),
    data=st.binary(max_size=3000),
    times=st.integers(1, 20),
    size=st.sampled_from([1, 2, 3, 7, 64, 1000, 100_000]),
)
def test_rfc9110_round_trip_whatever_the_pieces(name: str, data: bytes, times: int, size: int) -> None:
    body = data * times
    assert decode(COMPRESSORS[name](body), name, size=size) == body


@settings(max_examples=60)
@given(
    outer=st.sampled_from(list(COMPRESSORS)),
    inner=st.sampled_from(list(COMPRESSORS)),
    data=st.binary(min_size=1, max_size=2000),
    size=st.sampled_from([1, 17, 1000]),
)
def test_rfc9110_codings_are_undone_in_reverse_order(outer: str, inner: str, data: bytes, size: int) -> None:
    assert decode(COMPRESSORS[outer](COMPRESSORS[inner](data)), inner, outer, size=size) == data


@settings(max_examples=80)
@given(name=st.sampled_from(list(COMPRESSORS)), cut=st.floats(0.001, 0.999), size=st.sampled_from([1, 50, 10_000]))
def test_ours_every_cut_is_noticed(name: str, cut: float, size: int) -> None:
    whole = COMPRESSORS[name](os.urandom(900) + b"the quick brown fox " * 300)
    part = whole[: max(1, int(len(whole) * cut))]
    assert code_of(part, name, size=size) is FailureCode.BODY_TRUNCATED


def test_rfc1952_without_trailer_is_truncated() -> None:
    assert code_of(gzip.compress(b"hello" * 1000)[:-8], "gzip") is FailureCode.BODY_TRUNCATED


def test_rfc1952_wrong_checksum_is_an_error() -> None:
    data = gzip.compress(b"hello" * 1000)
    assert code_of(data[:-8] + b"\0\0\0\0" + data[-4:], "gzip") is FailureCode.BODY_DECODE_ERROR


@pytest.mark.parametrize("size", [1, 5, 100_000])
def test_rfc1952_all_members_are_decoded(size: int) -> None:
    data = gzip.compress(b"one" * 100) + gzip.compress(b"") + gzip.compress(b"two" * 100)
    assert decode(data, "gzip", size=size) == b"one" * 100 + b"two" * 100


@pytest.mark.parametrize("size", [1, 5, 100_000])
def test_rfc1952_second_member_cut_is_truncated(size: int) -> None:
    data = gzip.compress(b"one" * 100) + gzip.compress(b"two" * 100)[:-3]
    assert code_of(data, "gzip", size=size) is FailureCode.BODY_TRUNCATED


@pytest.mark.parametrize("size", [1, 5, 100_000])
@pytest.mark.parametrize("garbage", [b"\0" * 500, b"garbage", b"\x1f", b"\x1fx"])
def test_rfc1952_garbage_behind_the_last_member_is_ignored(garbage: bytes, size: int) -> None:
    assert decode(gzip.compress(b"page") + garbage, "gzip", size=size) == b"page"
    assert decode(gzip.compress(b"page") + garbage + gzip.compress(b"more"), "gzip", size=size) == b"page"


@pytest.mark.parametrize("size", [1, 3, 100_000])
def test_rfc8878_all_frames_are_decoded(size: int) -> None:
    skippable = b"\x50\x2a\x4d\x18\x04\x00\x00\x00abcd"
    data = zstd.compress(b"one" * 100) + skippable + zstd.compress(b"two" * 100)
    assert decode(data, "zstd", size=size) == b"one" * 100 + b"two" * 100


@pytest.mark.parametrize("size", [1, 100_000])
def test_rfc7932_garbage_behind_the_stream_is_an_error(size: int) -> None:
    assert code_of(brotli.compress(b"page" * 50) + b"garbage", "br", size=size) is FailureCode.BODY_DECODE_ERROR


@ALL
def test_ours_empty_body_with_a_coding_label_is_empty(name: str) -> None:
    assert decode(b"", name) == b""


@pytest.mark.parametrize("name", ["gzip", "br", "zstd"])
def test_ours_plain_text_under_a_coding_label_is_an_error(name: str) -> None:
    page = b"<!doctype html><title>not compressed at all</title>" * 20
    assert code_of(page, name) in {FailureCode.BODY_DECODE_ERROR, FailureCode.BODY_TRUNCATED}


@pytest.mark.thorough
@ALL
@pytest.mark.parametrize("size", [50, 1 << 20])
def test_ours_bombs_are_refused(name: str, size: int) -> None:
    small = COMPRESSORS[name](b"\0" * (16 << 20))
    assert code_of(small, name, size=size) is FailureCode.BODY_BOMB


def test_ours_bomb_in_a_bomb_is_refused_early() -> None:
    inner = gzip.compress(b"\0" * (16 << 20))
    assert code_of(gzip.compress(inner), "gzip", "gzip") is FailureCode.BODY_BOMB


def test_ours_three_codings_are_refused() -> None:
    assert code_of(b"x", "gzip", "gzip", "gzip") is FailureCode.BODY_TOO_MANY_CODINGS


@pytest.mark.parametrize("log", [24, 25, 27])
def test_rfc9659_window_over_8_mib_is_refused(log: int) -> None:
    stream = zstd.ZstdCompressor(options={zstd.CompressionParameter.window_log: log})
    data = stream.compress(os.urandom(100_000)) + stream.flush()
    assert code_of(data, "zstd") is FailureCode.BODY_BOMB
    assert detail_of(data, "zstd") == "zstd window too large"


@pytest.mark.parametrize(("name", "detail"), [("br", "brotli"), ("zstd", "zstd")])
def test_ours_body_that_cannot_be_decoded_says_by_which_coding(name: str, detail: str) -> None:
    assert code_of(b"no compressed body at all", name) is FailureCode.BODY_DECODE_ERROR
    assert detail_of(b"no compressed body at all", name) == detail


def test_ours_body_of_empty_zstd_frames_is_refused() -> None:
    frame = zstd.compress(b"")
    assert decode(frame * 500 + zstd.compress(b"page") + frame * 500, "zstd") == b"page"
    assert decode(frame * 1_001, "zstd") == b""
    assert code_of(frame * 1_002, "zstd") is FailureCode.BODY_BOMB


def test_rfc9659_window_of_8_mib_is_decoded() -> None:
    stream = zstd.ZstdCompressor(options={zstd.CompressionParameter.window_log: 23})
    body = os.urandom(100_000)
    assert decode(stream.compress(body) + stream.flush(), "zstd") == body


def test_ours_ratio_is_not_looked_at_in_small_bodies() -> None:
    body = b"\0" * (1 << 20)
    assert decode(gzip.compress(body), "gzip") == body


@ALL
def test_ours_long_body_is_cut_and_its_prefix_kept(name: str) -> None:
    body = os.urandom(50_000)
    decoder = BodyDecoder([name.split(" ", maxsplit=1)[0]], BodyLimits(decoded=10_000))
    assert not decoder.feed(COMPRESSORS[name](body))
    assert decoder.finish() == body[:10_000]
    assert decoder.cut == "cut after 10,000 bytes"
    assert not decoder.feed(b"more")


def test_ours_body_as_long_as_the_limit_is_whole() -> None:
    decoder = BodyDecoder([], BodyLimits(decoded=10, wire=10))
    assert decoder.feed(b"x" * 10)
    assert decoder.finish() == b"x" * 10
    assert decoder.cut == ""


def test_ours_wire_limit_cuts() -> None:
    decoder = BodyDecoder([], BodyLimits(wire=10))
    assert decoder.feed(b"x" * 6)
    assert not decoder.feed(b"y" * 6)
    assert decoder.finish() == b"xxxxxxyyyy"
    assert decoder.wire == 10
    assert "10 bytes as received" in decoder.cut


def test_ours_unknown_coding_is_passed_over_when_the_body_is_text() -> None:
    assert decode(b"<p>hello", "utf-8") == b"<p>hello"
    assert decode(gzip.compress(b"<p>hello"), "utf-8", "gzip") == b"<p>hello"
    assert code_of(b"\x00\x01\x02binary", "sdch") is FailureCode.BODY_UNKNOWN_CODING


@pytest.mark.parametrize(
    ("values", "names"),
    [(["gzip"], ["gzip"]), (["GZip , identity", "br"], ["gzip", "br"]), (["", " , "], []), (["identity"], [])],
)
def test_rfc9110_content_encoding_fields(values: list[str], names: list[str]) -> None:
    assert split_codings(values) == names


def test_whatwg_mimesniff_binary_data_bytes() -> None:
    assert looks_like_text(b"plain \t\n\x0c\r\x1b text \xe4")
    assert looks_like_text(b"\xff\xfeh\0i\0")
    assert not looks_like_text(b"PK\x03\x04")


PARTS = {"gzip": gzip.compress, "zstd": zstd.compress}


@pytest.mark.parametrize("name", PARTS)
def test_ours_more_than_a_thousand_parts_must_have_512_bytes_each_on_average(name: str) -> None:
    whole, short = PARTS[name](b"x" * 512), PARTS[name](b"x" * 511)
    assert decode(whole * 1_500, name) == b"x" * 512 * 1_500
    assert decode(short * 1_001, name) == b"x" * 511 * 1_001
    with pytest.raises(FetchError, match=r"1,001 compressed parts with only 511,511 bytes"):
        decode(short * 1_002, name)
    large = PARTS[name](os.urandom(600_000))
    assert len(decode(large + short * 1_100, name)) == 600_000 + 511 * 1_100


@ALL
def test_ours_no_piece_is_longer_than_256_kib_and_nothing_is_lost_between_pieces(name: str) -> None:
    body = os.urandom(3 * PIECE_BYTES // 2) * 3 + b"end"
    coding = decoder_for(name.split(" ", maxsplit=1)[0], LIMITS.zstd_window)
    assert coding is not None
    assert not coding.complete()
    pieces = [*coding.pieces(COMPRESSORS[name](body))]
    assert max(map(len, pieces)) <= (2 * PIECE_BYTES if name == "br" else PIECE_BYTES)  # brotli ends a step of its own
    assert min(map(len, pieces)) > 0
    assert b"".join(pieces) == body
    assert coding.complete()


@pytest.mark.parametrize("size", [PIECE_BYTES - 1, PIECE_BYTES, PIECE_BYTES + 1, 2 * PIECE_BYTES])
@ALL
def test_ours_a_body_of_about_one_piece_is_whole(name: str, size: int) -> None:
    body = os.urandom(size)
    assert decode(COMPRESSORS[name](body), name) == body


@pytest.mark.parametrize("zeros", [PIECE_BYTES, PIECE_BYTES + 1, PIECE_BYTES + 300, PIECE_BYTES + 2_000])
@ALL
def test_ours_output_that_is_left_when_all_input_is_taken_is_not_lost(name: str, zeros: int) -> None:
    """The last bytes of input of such a body stand for more output than a piece has room for."""
    assert decode(COMPRESSORS[name](b"\0" * zeros), name) == b"\0" * zeros


@pytest.mark.thorough
@ALL
@pytest.mark.parametrize("size", [700, 65_536, 1 << 30])
def test_ours_a_page_of_megabytes_is_whole_however_its_bytes_come(name: str, size: int) -> None:
    """A decompressor may take all input at once and give its output in steps."""
    body = b"".join(b"<p>%d is a line of a long list, %x.\n" % (number, number * 7919) for number in range(60_000))
    assert len(body) > 2_000_000
    assert decode(COMPRESSORS[name](body), name, size=size) == body


def test_rfc9110_8_4_1_codings_have_their_names_in_small_letters_and_no_others() -> None:
    known = {"gzip", "x-gzip", "deflate", "br", "zstd"}
    assert {
        name for name in (*known, "GZIP", "identity", "compress", "sdch", "", "x-br") if decoder_for(name, 2**23)
    } == known


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("br", b"\xff" * 50, "brotli"),
        ("zstd", b"\xff" * 50, "zstd"),
        ("gzip", b"\x1f\x8b\x08\x00" + b"\xff" * 50, "Invalid deflate block"),
        ("deflate", b"\x78\x9c" + b"\xff" * 50, "Invalid deflate block"),
    ],
)
def test_ours_a_body_that_cannot_be_decoded_names_the_coding_or_the_fault(name: str, data: bytes, said: str) -> None:
    with pytest.raises(FetchError) as caught:
        decode(data, name)
    assert caught.value.code is FailureCode.BODY_DECODE_ERROR
    assert said in caught.value.detail


def test_rfc9659_the_fault_of_a_window_is_named() -> None:
    stream = zstd.ZstdCompressor(options={zstd.CompressionParameter.window_log: 27})
    with pytest.raises(FetchError, match="zstd window too large"):
        decode(stream.compress(os.urandom(100_000)) + stream.flush(), "zstd")


@pytest.mark.parametrize("size", [1, 2, 3, 1_000_000])
def test_rfc9110_8_4_1_2_deflate_is_zlib_by_its_first_two_bytes_else_raw(size: int) -> None:
    """A raw stream may begin like one of zlib in its method alone: only the multiple of 31 tells them apart."""
    # an uncompressed block whose padding, which nobody reads, makes its first byte 8; then an empty last block
    stored = b"\x08" + len(b"pages").to_bytes(2, "little") + (0xFFFF - len(b"pages")).to_bytes(2, "little") + b"pages"
    zlib_like = b"pages", stored + b"\x03\x00"
    assert zlib_like[1][0] & 0x0F == 8
    for body, data in (zlib_like, (b"page" * 9, zlib.compress(b"page" * 9)), (b"page", raw_deflate(b"page"))):
        assert decode(data, "deflate", size=size) == body
    assert decode(zlib.compress(b"page") + b"garbage", "deflate", size=size) == b"page"
    assert code_of(b"\x78", "deflate", size=size) is FailureCode.BODY_TRUNCATED
