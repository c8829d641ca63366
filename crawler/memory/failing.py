"""Which visits failed for reasons that may pass, as a condition of SQL on the table ``visit``."""

import sqlite3
from typing import Final

from crawler.fetch.retry import FAILURES, TRANSIENT
from crawler.model import State
from crawler.state.database import change

MAY_PASS: Final = (
    f"(v.state IN ({', '.join(repr(state.value) for state in sorted(FAILURES))})"
    f" OR (v.state = '{State.CLIENT_ERROR}' AND v.status IN ({', '.join(map(str, sorted(TRANSIENT)))})))"
)
"""To be used where ``visit`` is called ``v``."""

_NO_RULES: Final = f"(v.state = '{State.ROBOTS}' AND v.reason NOT LIKE 'robots.txt line %')"
_UNLINKED: Final = f"v.state = '{State.UNLINKED}'"

_PUT_BACK: Final = f"""UPDATE visit AS v SET state = '{State.PENDING}', attempts = 0, due = 0
  WHERE {MAY_PASS} OR (v.state = '{State.SITEMAP_FILE}' AND (v.status >= 500 OR v.status = 429))"""  # noqa: S608


def keeps_place(*, degraded: bool) -> str:
    """The condition on which a published page stays listed although the run did not find it as it was.

    What failed may be well tomorrow, and so may the robots.txt that could not be had. In a run that is ``degraded``,
    what leads to a page may be among what failed: that nothing led there is no news then.
    """
    return f"({MAY_PASS} OR {_NO_RULES}{f' OR {_UNLINKED}' if degraded else ''})"


def put_back(db: sqlite3.Connection) -> None:
    """Let whoever goes on with this run ask again for what failed. Raises StorageError.

    For a run that ends because the site stopped answering: what failed until then is no news of the pages.
    """
    with change(db):
        db.execute(_PUT_BACK)
