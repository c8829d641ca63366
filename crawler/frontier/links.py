"""The outlinks of a page as bytes: ascending ids, each written as the distance from the one before (LEB128)."""

from collections.abc import Iterable


def pack(ids: Iterable[int]) -> bytes:
    """Distinct non-negative ids as bytes, about one or two each."""
    out = bytearray()
    append, last = out.append, 0
    for number in sorted(set(ids)):
        gap, last = number - last, number
        while gap > 0x7F:
            append(gap & 0x7F | 0x80)
            gap >>= 7
        append(gap)
    return bytes(out)


def unpack(packed: bytes) -> list[int]:
    """The ids that :func:`pack` wrote, ascending."""
    ids: list[int] = []
    number = gap = shift = 0
    for byte in packed:
        gap |= (byte & 0x7F) << shift
        if byte & 0x80:
            shift += 7
        else:
            number += gap
            ids.append(number)
            gap = shift = 0
    return ids
