"""Language codes: those that search engines understand, and what is wrong with the others. Pure.

hreflang: https://developers.google.com/search/docs/specialty/international/localized-versions#language-codes
news: https://developers.google.com/search/docs/crawling-indexing/sitemaps/news-sitemap
"""

from typing import Final


def _split_codes(text: str) -> frozenset[str]:
    return frozenset(text.split())


# ISO 639-1, https://www.loc.gov/standards/iso639-2/php/code_list.php; withdrawn codes are in _REPLACED
LANGUAGES: Final = _split_codes("""
    aa ab ae af ak am an ar as av ay az ba be bg bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee
    el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io
    is it iu ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn
    mr ms mt my na nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se
    sg si sk sl sm sn so sq sr ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo
    wa wo xh yi yo za zh zu
""")
# ISO 15924, https://www.unicode.org/iso15924/iso15924-codes.html
SCRIPTS: Final = _split_codes("""
    Adlm Afak Aghb Ahom Arab Aran Armi Armn Avst Bali Bamu Bass Batk Beng Berf Bhks Blis Bopo Brah Brai Bugi
    Buhd Cakm Cans Cari Cham Cher Chis Chrs Cirt Copt Cpmn Cprt Cyrl Cyrs Deva Diak Dogr Dsrt Dupl Egyd Egyh
    Egyp Elba Elym Ethi Gara Geok Geor Glag Gong Gonm Goth Gran Grek Gujr Gukh Guru Hanb Hang Hani Hano Hans
    Hant Hatr Hebr Hira Hluw Hmng Hmnp Hntl Hrkt Hung Inds Ital Jamo Java Jpan Jurc Kali Kana Kawi Khar Khmr
    Khoj Kitl Kits Knda Kore Kpel Krai Kthi Lana Laoo Latf Latg Latn Leke Lepc Limb Lina Linb Lisu Loma Lyci
    Lydi Mahj Maka Mand Mani Marc Maya Medf Mend Merc Mero Mlym Modi Mong Moon Mroo Mtei Mult Mymr Nagm Nand
    Narb Nbat Newa Nkdb Nkgb Nkoo Nshu Ogam Olck Onao Orkh Orya Osge Osma Ougr Palm Pauc Pcun Pelm Perm Phag
    Phli Phlp Phlv Phnx Piqd Plrd Prti Psin Qaaa Qabx Ranj Rjng Rohg Roro Runr Samr Sara Sarb Saur Seal Sgnw
    Shaw Shrd Shui Sidd Sidt Sind Sinh Sogd Sogo Sora Soyo Sund Sunu Sylo Syrc Syre Syrj Syrn Tagb Takr Tale
    Talu Taml Tang Tavt Tayo Telu Teng Tfng Tglg Thaa Thai Tibt Tirh Tnsa Todr Tols Toto Tutg Ugar Vaii Visp
    Vith Wara Wcho Wole Xpeo Xsux Yezi Yiii Zanb Zinh Zmth Zsye Zsym Zxxx Zyyy Zzzz
""")
# ISO 3166-1 alpha-2, https://www.iso.org/iso-3166-country-codes.html
REGIONS: Final = _split_codes("""
    AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW
    BY BZ CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI
    FJ FK FM FO FR GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN
    IO IQ IR IS IT JE JM JO JP KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME
    MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF
    PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS RU RW SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV
    SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG UM US UY UZ VA VC VE VG VI VN VU WF WS YE
    YT ZA ZM ZW
""")

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
