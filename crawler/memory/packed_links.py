"""Unpacks the links of many pages at once: what :func:`crawler.crawl.frontier.outlinks.pack` wrote, as arrays."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Unpacked(NamedTuple):
    """Links of several pages, in their order: the place of the page, the id of the target, flags of Found."""

    page: NDArray[np.int64]
    target: NDArray[np.int64]
    flags: NDArray[np.uint16]


def unpack_all(packed: Sequence[bytes]) -> Unpacked:
    """The links of pages. What :func:`crawler.crawl.frontier.outlinks.unpack` finds of each, in the same order."""
    numbers, first = _numbers(packed)
    heads, pages = _heads(numbers, first)
    flags, counts = numbers[heads], numbers[heads + 1]
    begins = np.cumsum(counts) - counts
    places = np.repeat(heads + 2 - begins, counts) + np.arange(int(counts.sum()))
    total = np.cumsum(numbers[places])
    before = np.concatenate([[0], total])[begins]  # ids are distances within one group
    return Unpacked(
        np.repeat(pages, counts),
        total - np.repeat(before, counts),
        np.repeat(flags.astype(np.uint16), counts),
    )


def _numbers(packed: Sequence[bytes]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """All numbers, seven bits a byte, and which of them begins each page; one more at the end."""
    data = np.frombuffer(b"".join(packed), np.uint8)
    last = data < 0x80
    sizes = np.array([len(each) for each in packed], np.int64)
    ended = np.concatenate([[0], np.cumsum(last)])
    first = ended[np.concatenate([[0], np.cumsum(sizes)])]
    ends = np.flatnonzero(last)
    numbers = data[ends].astype(np.int64)
    length = np.diff(ends, prepend=-1)
    for byte in range(1, int(length.max(initial=1))):
        long = np.flatnonzero(length > byte)
        numbers[long] = numbers[long] << 7 | data[ends[long] - byte] & 0x7F
    return numbers, first


def _heads(
    numbers: NDArray[np.int64], first: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where each group of links begins, with its flags and its size, and of which page it is. In their order."""
    heads, pages = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    here, ends, page = first[:-1], first[1:], np.arange(len(first) - 1)
    while True:
        more = here < ends
        here, ends, page = here[more], ends[more], page[more]
        if not len(here):
            break
        heads.append(here)
        pages.append(page)
        here = here + 2 + numbers[here + 1]
    every, of = np.concatenate(heads), np.concatenate(pages)
    order = np.argsort(every)
    return every[order], of[order]
