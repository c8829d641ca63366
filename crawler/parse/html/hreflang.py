"""Whether an hreflang names a language. Knows the shape of a tag, not the registry of languages.

https://developers.google.com/search/docs/specialty/international/localized-versions#language-codes : ISO 639-1
with an optional ISO 15924 script and an optional ISO 3166-1 region, or ``x-default``. Three-letter languages and
numeric regions of BCP 47 (RFC 5646, section 2.1) are accepted too; a region alone is no language, and the United
Kingdom is GB.
"""

import re
from typing import Final

_tag = re.compile(
    r"([a-z]{2,3})(?:-([a-z]{4}))?(?:-([a-z]{2}|[0-9]{3}))?", re.ASCII | re.IGNORECASE
).fullmatch


def canonical_hreflang(code: str) -> str:
    """The code as it is usually written (``en-GB``, ``zh-Hant-TW``, ``x-default``), or "" when it is none."""
    code = code.strip()
    if code.lower() == "x-default":
        return "x-default"
    found = _tag(code)
    if found is None or (found[3] and found[3].upper() == "UK"):
        return ""
    language, script, region = found.groups()
    parts = [language.lower(), (script or "").title(), (region or "").upper()]
    return "-".join(part for part in parts if part)


MAX_ALTERNATES: Final = 1_000
