"""The quick way through lines of the combined format: cut at their quotes and spaces. Leaves to others what is odd."""

import re
from typing import Final

from crawler.evidence.logs.requests import Row

_shaped = re.compile(
    r"(?P<lead>(?:<[a-z?]+> ){3,4})\[<when>\] \"<request>\" <status> <\?> \"<\?>\" \"<agent>\"(?:<rest>)?"
).fullmatch
_VERSIONS: Final = frozenset({b" HTTP/1.1", b" HTTP/1.0", b" HTTP/2.0", b" HTTP/3.0"})
_STATES: Final = {b" %03d " % number: b"%03d" % number for number in range(1_000)}


class Cut:
    """Cuts the lines of a layout in which three or four words stand before the time."""

    def __init__(self, lead: list[str]) -> None:
        self._spaces = len(lead) - 1
        self._host = lead.index("<host>") if "<host>" in lead else None
        self._address = lead.index("<address>") if "<address>" in lead else None

    @classmethod
    def of(cls, shape: str) -> "Cut | None":
        """For a layout whose fields are written as ``<when>``, if it can be cut."""
        found = _shaped(shape)
        lead = found["lead"].split() if found else []
        return cls(lead) if {"<host>", "<address>"} & set(lead[:2]) and lead[-1] == "<user>" else None

    def rows(self, lines: list[bytes]) -> tuple[list[Row | None], list[int]]:
        """A row for each line, or None at the places that are told, too: what is there takes a closer look."""
        rows: list[Row | None] = []
        odd: list[int] = []
        spaces, place_of_host, place_of_address = self._spaces, self._host, self._address
        host, address = b"", b""
        told, when = b" ", b""
        for line in lines:
            parts = line.split(b'"', 6)
            if len(parts) == 7 and b"\\" not in line:
                head, request, middle, _, between, agent, rest = parts
                lead, _, time = head.partition(b" [")
                if time != told and time.find(b"]") == len(time) - 2 and time[-1:] == b" ":
                    told, when = time, time[:-2]
                asked = request[4:-9]
                if (
                    time == told
                    and request[:4] == b"GET "
                    and request[-9:] in _VERSIONS
                    and asked
                    and b" " not in asked
                    and middle[:5] in _STATES
                    and middle[-1:] == b" "
                    and middle.count(b" ") == 3
                    and between == b" "
                    and (not rest or rest[0] == 32)
                    and lead.count(b" ") >= spaces
                ):
                    if place_of_host is not None:
                        host = lead.split(b" ", 2)[place_of_host]
                    if place_of_address is not None:
                        address = lead.split(b" ", 2)[place_of_address]
                    rows.append((when, asked, None, _STATES[middle[:5]], agent, host, address))
                    continue
            odd.append(len(rows))
            rows.append(None)
        return rows, odd
