"""What the states of URLs mean, in words for people: ``states.csv``, in the order of the reports."""

import csv
from importlib.resources import files
from typing import Final, NamedTuple

from crawler.model import State


class StateWords(NamedTuple):
    """The words for a state: its ``meaning``; what a page is that leaves it (``again``); what has it (``listed_as``).

    "" stands for no words.
    """

    meaning: str
    again: str
    listed_as: str


_TABLE: Final = (files("crawler.publish") / "states.csv").read_text(encoding="utf-8")
STATE_WORDS: Final = {State(state): StateWords(*words) for state, *words in list(csv.reader(_TABLE.splitlines()))[1:]}
OMITTED_STATES: Final = tuple(state for state in STATE_WORDS if state not in (State.INDEXABLE, State.SITEMAP_FILE))
"""The states of URLs that the sitemap leaves out, the most urgent first."""
