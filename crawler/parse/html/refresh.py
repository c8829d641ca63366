"""What a refresh asks for: after how many seconds, and to where. Resolves nothing.

The rule is https://html.spec.whatwg.org/#shared-declarative-refresh-steps, for the meta element and the header alike.
"""

import re
from typing import Final

from crawler.model import DiscoveredBy

MAX_SECONDS: Final = 10**9


_refresh_time = re.compile(
    r"[\t\n\f\r ]*(?:([0-9]+)[0-9.]*|\.[0-9.]*)(?=[;,\t\n\f\r ]|$)[\t\n\f\r ]*[;,]?[\t\n\f\r ]*"
).match

_refresh_url = re.compile(r"url[\t\n\f\r ]*=[\t\n\f\r ]*", re.IGNORECASE).match


def parse_refresh(content: str) -> tuple[int, str] | None:
    """Whole seconds and the target as written ("" for the document itself), or None when it asks for nothing."""
    found = _refresh_time(content)
    if found is None:
        return None
    digits = found[1] or "0"
    seconds = int(digits) if len(digits) <= 9 else MAX_SECONDS
    target = content[found.end() :]
    named = _refresh_url(target)
    if named:
        target = target[named.end() :]
    if target[:1] in {"'", '"'}:
        target = target[1:].partition(target[0])[0]
    return seconds, target.strip()


REFRESH: Final = int(DiscoveredBy.REFRESH)
