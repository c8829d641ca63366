"""Whether a page says next to nothing before scripts have run, so that its links are perhaps theirs too. Pure."""

import re
from typing import Final

LEAST: Final = 200  # characters of text, without spaces, of a page that is one without scripts
_MOST: Final = 50_000  # characters of markup; of a frame for scripts there is less
_unseen = re.compile(
    r"<(head|title|noscript|template|svg)\b.*?</\1\s*>|<[^>]*>", re.DOTALL | re.IGNORECASE
).sub


def is_bare(markup: str) -> bool:
    """Whether this is so of the markup of a page, without its scripts, styles and comments."""
    if len(markup) > _MOST:
        return False
    return len("".join(_unseen(" ", markup).split())) < LEAST
