"""Which visits failed for reasons that may pass, as a condition of SQL on the table ``visit``."""

from typing import Final

from crawler.indexability import TRANSIENT
from crawler.model import State

FAILED: Final = (
    State.SERVER_ERROR,
    State.UNREACHABLE,
    State.BAD_ANSWER,
    State.PARSE_FAILED,
    State.INTERNAL_ERROR,
)
"""Ends that say nothing about the page: it may be there, as it was, tomorrow."""

MAY_PASS: Final = (
    f"(v.state IN ({', '.join(repr(state.value) for state in FAILED)})"
    f" OR (v.state = '{State.CLIENT_ERROR}' AND v.status IN ({', '.join(map(str, sorted(TRANSIENT)))})))"
)
"""To be used where ``visit`` is called ``v``."""
