"""What a person asks to be told again."""

from msgspec import Struct


class Again(Struct, frozen=True, kw_only=True):
    """``since``: everything after the end of this run, 0: of the first; ``refused``: what was refused and set aside.

    ``only`` is how the keys of those begin that are told anything at all, "" for everyone.
    """

    since: int | None = None
    refused: bool = False
    only: str = ""
