"""Owns what is said of values of wrong types. Too slow to be asked of every entry: for when one has failed."""

import re
from typing import Any, Final

import msgspec

from sitemap.model import Entry

_TYPE_MESSAGE: Final = re.compile(
    r"Expected `(?P<wanted>[^`]*)`, got `(?P<got>[^`]*)`(?: - at `\$\.(?P<where>[^`]*)`)?"
)
_VALUES: Final = {
    "images": "Image", "videos": "Video", "alternates": "Alternate", "news": "News", "prices": "Price",
    "tvshow": "TvShow",
}  # fmt: skip


def type_fault(entry: object) -> str:
    """The first value in an entry that is of a wrong type, and the remedy, in a sentence; "" when there is none."""
    if isinstance(entry, str):
        return "a str is no Entry: write Entry('https://…')"
    if not isinstance(entry, Entry):
        return f"this is of the type {type(entry).__name__}: write Entry('https://…')"
    try:
        msgspec.convert(_to_plain(entry), Entry)
    except msgspec.ValidationError as error:
        found = _TYPE_MESSAGE.match(str(error))
        if found is None:
            return str(error)
        where, wanted, got = found["where"] or "a value", found["wanted"], found["got"]
        name = _VALUES.get(re.split(r"[.\[]", where)[0], "") if where.count(".") == 0 else ""
        if wanted == "array":
            return f"{where} is of the type {got}: give a tuple"
        if wanted.startswith("object") and name:
            return f"{where} is of the type {got}: write {name}(…)"
        if got in {"date", "datetime"}:
            return f"{where} is a {got}: sitemap.format_date() makes the text of it that is wanted"
        return f"{where} is of the type {got}, and must be {wanted.replace('null', 'None')}"
    return ""


def _to_plain(value: Any) -> Any:
    """A value whose structs are dicts, so that they are looked into."""
    if isinstance(value, msgspec.Struct):
        return {name: _to_plain(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, tuple | list):
        return [_to_plain(each) for each in value]
    return value
