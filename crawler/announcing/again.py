"""What a person asks for: to tell again, to look again."""

from msgspec import Struct


class Again(Struct, frozen=True, kw_only=True):
    """``since``: everything after the end of this run, 0: of the first; ``refused``: what was refused and set aside.

    ``look``: read what Google says of the sitemap, however lately that was done. ``only`` is how the keys of those
    begin that are told anything at all, "" for everyone.
    """

    since: int | None = None
    refused: bool = False
    look: bool = False
    only: str = ""
