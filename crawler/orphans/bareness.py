"""Whether a page says next to nothing before scripts have run, so that its links are perhaps theirs too. Pure."""

import re
from typing import Final

LEAST: Final = 200  # characters of text, without spaces, of a page that is one without scripts
_MOST: Final = 50_000  # characters of markup; of a frame for scripts there is less
_UNREAD: Final = tuple(
    (re.compile(rf"<{name}\b", re.IGNORECASE).search, re.compile(rf"</{name}\s*+>", re.IGNORECASE).split)
    for name in ("head", "title", "noscript", "template", "svg")
)
_tag = re.compile(r"<[^>]*+>?").sub


def is_bare(markup: str) -> bool:
    """Whether this is so of the markup of a page, without its scripts, styles and comments. Linear in it."""
    if len(markup) > _MOST:
        return False
    for begins, split in _UNREAD:
        *ended, rest = split(markup)  # what never ends is no element: an end tag may be left out
        markup = " ".join(
            (*(each[: begin.start()] if (begin := begins(each)) else each for each in ended), rest)
        )
    return len("".join(_tag(" ", markup).split())) < LEAST
