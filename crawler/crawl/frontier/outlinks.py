"""The outlinks of a page as bytes: for each set of flags, ascending ids as differences (LEB128)."""

from collections.abc import Iterable


def pack_links(links: Iterable[tuple[int, int]]) -> bytes:
    """Distinct links as bytes, about one or two each. A link is the id of its target and flags of DiscoveredBy."""
    by_flags: dict[int, list[int]] = {}
    for number, flags in links:
        by_flags.setdefault(flags, []).append(number)
    out = bytearray()
    for flags in sorted(by_flags):
        ids = sorted(set(by_flags[flags]))
        _append_distances(out, (flags, len(ids)))
        last = 0
        gaps = []
        for number in ids:
            gaps.append(number - last)
            last = number
        _append_distances(out, gaps)
    return bytes(out)


def _append_distances(out: bytearray, numbers: Iterable[int]) -> None:
    append = out.append
    for number in numbers:
        rest = number
        while rest > 0x7F:
            append(rest & 0x7F | 0x80)
            rest >>= 7
        append(rest)


def unpack_links(packed: bytes) -> list[tuple[int, int]]:
    """The links that :func:`pack_links` wrote, by flags and then by id."""
    links: list[tuple[int, int]] = []
    numbers = _numbers(packed)
    start = 0
    while start < len(numbers):
        flags, count = numbers[start], numbers[start + 1]
        start += 2
        number = 0
        for gap in numbers[start : start + count]:
            number += gap
            links.append((number, flags))
        start += count
    return links


def _numbers(packed: bytes) -> list[int]:
    if packed.isascii():  # every number takes one byte
        return list(packed)
    numbers: list[int] = []
    value = shift = 0
    for byte in packed:
        if byte & 0x80:
            value |= (byte & 0x7F) << shift
            shift += 7
        elif shift:
            numbers.append(value | byte << shift)
            value = shift = 0
        else:
            numbers.append(byte)
    return numbers
