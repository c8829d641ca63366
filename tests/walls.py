"""Walls and their honest look-alikes: what answers in place of a page, and pages that only resemble it.

``fixtures/walls/shown.json`` is for whoever writes a rule. ``held.json`` judges it, so nobody fits a rule to it. Both
are halves of one collection, drawn at random. ``later.json`` was collected by somebody who had not read the rule.
"""

import json
import random
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

FOLDER = Path(__file__).parent / "fixtures" / "walls"
_PLACEHOLDER = re.compile(r"\{(rand|host|path|ip|time)\}")


@dataclass(frozen=True)
class Reply:
    """What a server sends. The header names are as they are sent."""

    status: int
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True)
class Specimen:
    """One recorded kind of answer. ``source`` is the URL where its marks are documented, or ""."""

    name: str
    kind: Literal["wall", "honest"]
    vendor: str
    status: int
    headers: dict[str, str]
    body: str
    source: str

    def reply(self, dice: random.Random, host: str = "www.boats.example", path: str = "/harbour/") -> Reply:
        """The answer to one request: every ``{rand}`` is another token, as it is with the real one."""

        def filled(text: str) -> str:
            values = {"host": host, "path": path, "ip": "203.0.113.7", "time": "2026-05-11 09:14:22"}
            return _PLACEHOLDER.sub(lambda found: values.get(found[1]) or f"{dice.getrandbits(64):016x}", text)

        headers = {name: filled(value) for name, value in self.headers.items()}
        return Reply(self.status, headers, filled(self.body).encode())


@cache
def specimens(half: Literal["shown", "held", "later"]) -> tuple[Specimen, ...]:
    """The specimens of one half, walls and honest ones mixed."""
    rows = json.loads((FOLDER / f"{half}.json").read_text(encoding="utf-8"))
    return tuple(Specimen(**row) for row in rows)
