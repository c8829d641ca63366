"""Language codes: those that search engines understand, and what is wrong with the others. Pure.

hreflang: https://developers.google.com/search/docs/specialty/international/localized-versions#language-codes
news: https://developers.google.com/search/docs/crawling-indexing/sitemaps/news-sitemap
"""

from importlib.resources import files
from typing import Final

_BLOCKS: Final = (files("sitemap") / "codes.txt").read_text(encoding="utf-8").split("\n\n")
_CODES: Final = {name: frozenset(codes.split()) for name, _, codes in (block.partition(":") for block in _BLOCKS)}
# ISO 639-1, https://www.loc.gov/standards/iso639-2/php/code_list.php; withdrawn codes are in _REPLACED
LANGUAGES: Final = _CODES["languages"]
# ISO 15924, https://www.unicode.org/iso15924/iso15924-codes.html
SCRIPTS: Final = _CODES["scripts"]
# ISO 3166-1 alpha-2, https://www.iso.org/iso-3166-country-codes.html
REGIONS: Final = _CODES["regions"]

_REPLACED: Final = {"iw": "he", "in": "id", "ji": "yi", "jw": "jv", "mo": "ro", "sh": "sr-Latn"}
_NO_REGIONS: Final = {
    "UK": "the United Kingdom is GB",
    "EU": "the European Union is not a region: leave it out, or name a country",
    "UN": "the United Nations are not a region",
}


def hreflang_fault(code: str) -> str:
    """Why a value of ``hreflang`` is invalid, or "". Case does not matter.

    Valid is a language (ISO 639-1), an optional script (ISO 15924), an optional region (ISO 3166-1 alpha-2), joined by
    hyphens; or ``x-default``.
    """
    if code.lower() == "x-default":
        return ""
    if not code:
        return "it is empty"
    if "_" in code:
        return f"it has an underscore: write {code.replace('_', '-')[:64]!r}"
    language, *rest = code.split("-")
    if fault := _language_fault(language):
        return fault
    if rest and len(rest[0]) == 4:
        if rest[0].capitalize() not in SCRIPTS:
            return f"{rest[0]!r} is not an ISO 15924 script"
        del rest[0]
    if rest and (fault := _region_fault(rest[0])):
        return fault
    return "it may have only a language, a script and a region" if rest[1:] else ""


def is_language(code: str) -> bool:
    """Whether a code is a language of ISO 639-1, or was one. Case does not matter."""
    return code.lower() in LANGUAGES or code.lower() in _REPLACED


def is_region(code: str) -> bool:
    """Whether a code is a region of ISO 3166-1 alpha-2. Case does not matter."""
    return code.upper() in REGIONS


def news_language_fault(code: str) -> str:
    """Why a value of ``news:language`` is invalid, or "". Case does not matter.

    Valid is an ISO 639 code of two or three letters, ``zh-cn`` or ``zh-tw``. Only the form of a three-letter code is
    checked.
    """
    lower = code.lower()
    if lower in {"zh-cn", "zh-tw"} or (len(lower) == 3 and lower.isascii() and lower.isalpha()):
        return ""
    if "-" in lower or "_" in lower:
        return "only zh-cn and zh-tw may have a region: write the language alone"
    return _language_fault(code)


def _language_fault(language: str) -> str:
    if language.lower() in LANGUAGES:
        return ""
    if replacement := _REPLACED.get(language.lower()):
        return f"{language!r} was withdrawn from ISO 639-1: write {replacement!r}"
    if language.upper() in REGIONS:
        return f"{language!r} is a region: name the language before it"
    return f"{language[:64]!r} is not an ISO 639-1 language"


def _region_fault(region: str) -> str:
    if region.upper() in REGIONS:
        return ""
    return _NO_REGIONS.get(region.upper(), f"{region[:64]!r} is not an ISO 3166-1 region")
