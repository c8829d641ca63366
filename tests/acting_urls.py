"""URLs whose GET acts or that carry a token or personal data, and honest ones that resemble them.

``shown`` is for whoever writes a rule, ``held`` judges it. Both are halves of one collection, drawn at random.
"""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

FILE = Path(__file__).parent / "fixtures" / "acting_urls.json"


@dataclass(frozen=True)
class ActingUrl:
    """A path with its query. ``kind`` "acts": a request may change something; "personal": it says who somebody is."""

    url: str
    kind: Literal["acts", "personal", "honest"]
    why: str


@cache
def acting_urls(half: Literal["shown", "held"]) -> tuple[ActingUrl, ...]:
    """The URLs of one half, of all kinds mixed."""
    return tuple(ActingUrl(**row) for row in json.loads(FILE.read_text(encoding="utf-8"))[half])
