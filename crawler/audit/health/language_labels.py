"""Whether the language that a page states of itself is the one under which hreflang names it. Pure.

Language tags: https://www.rfc-editor.org/rfc/rfc5646#section-2.1
"""

import re
from functools import lru_cache
from typing import Final

from msgspec import Struct

X_DEFAULT: Final = "x-default"

_tag = re.compile(
    r"([a-z]{2})(?:-[a-z]{3}){0,3}(?:-([a-z]{4}))?(?:-([a-z]{2}|[0-9]{3}))?(?:-.*)?", re.ASCII | re.IGNORECASE
).fullmatch
# Codes that mean what another one means, or a part of it (ISO 639-1 and its changes).
_SAME_LANGUAGE: Final = {
    "iw": "he",
    "in": "id",
    "ji": "yi",
    "jw": "jv",
    "mo": "ro",
    "nb": "no",
    "nn": "no",
    "tl": "fil",
}
_CHINESE: Final = {
    "CN": "Hans",
    "SG": "Hans",
    "TW": "Hant",
    "HK": "Hant",
    "MO": "Hant",
}  # what is written there


class Language(Struct, frozen=True):
    """A language, with script and region where they are stated, each in its usual case or ""."""

    name: str
    script: str = ""
    region: str = ""


def parse_language(text: str) -> Language | None:
    """What a tag means; None when it is no tag with a language of two letters, as hreflang takes them."""
    found = _tag(text.strip().replace("_", "-"))
    if found is None:
        return None
    name, script, region = found.groups()
    return Language(
        _SAME_LANGUAGE.get(name.lower(), name.lower()), (script or "").capitalize(), (region or "").upper()
    )


@lru_cache(maxsize=10_000)
def label_fits(label: str, stated: str) -> bool:
    """Whether a page that states a language can be named under a label; True whenever that is not sure.

    Script and region are compared only where both state one.
    """
    if label.lower() == X_DEFAULT:
        return True
    named, own = parse_language(label), parse_language(stated)
    if named is None or own is None:
        return True
    if named.name != own.name:
        return False
    if named.name == "zh":
        scripts = [each.script or _CHINESE.get(each.region, "") for each in (named, own)]
        if all(scripts) and scripts[0] != scripts[1]:
            return False
    elif named.script and own.script and named.script != own.script:
        return False
    both = named.region.isalpha() and own.region.isalpha()  # a number stands for several countries
    return not both or named.region == own.region
