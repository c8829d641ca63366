"""Which visits failed for reasons that may pass, as a condition of SQL on the table ``visit``."""

from typing import Final

from crawler.indexability import FAILURES, TRANSIENT
from crawler.model import State

MAY_PASS: Final = (
    f"(v.state IN ({', '.join(repr(state.value) for state in sorted(FAILURES))})"
    f" OR (v.state = '{State.CLIENT_ERROR}' AND v.status IN ({', '.join(map(str, sorted(TRANSIENT)))})))"
)
"""To be used where ``visit`` is called ``v``."""
