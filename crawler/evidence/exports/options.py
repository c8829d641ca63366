"""How exports are read, when a person says so."""

from msgspec import Struct


class ExportOptions(Struct, frozen=True, kw_only=True):
    """``column`` is the name or the number (from 1) of the column with the URLs; "": it is detected."""

    column: str = ""
