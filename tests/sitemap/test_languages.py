"""Language tags, as hreflang and news know them."""

import pytest

from sitemap.languages import LANGUAGES, REGIONS, SCRIPTS, hreflang_fault, news_language_fault


@pytest.mark.parametrize(
    "code",
    ["en", "de", "EN-gb", "zh-Hant", "zh-hant-tw", "x-default", "X-Default", "be", "eu", "uk", "pt-BR", "sr-Latn"],
)
def test_google_hreflang_is_a_language_with_a_script_and_a_region(code: str) -> None:
    assert hreflang_fault(code) == ""


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("en-UK", "GB"),
        ("en-EU", "European Union"),
        ("us", "is a region"),
        ("GB", "is a region"),
        ("en_GB", "'en-GB'"),
        ("iw", "'he'"),
        ("", "empty"),
        ("es-419", "not an ISO 3166-1 region"),
        ("zh-Xxxx", "not an ISO 15924 script"),
        ("de-DE-1996", "it may have only"),
        ("eng", "not an ISO 639-1 language"),
        ("default", "not an ISO 639-1 language"),
        ("en-", "not an ISO 3166-1 region"),
        ("-en", "not an ISO 639-1 language"),
    ],
)
def test_google_other_tags_are_said_to_be_wrong_with_the_remedy(code: str, said: str) -> None:
    assert said in hreflang_fault(code)


@pytest.mark.parametrize("code", ["en", "EN", "zh-cn", "zh-TW", "fil", "haw"])
def test_google_news_takes_two_or_three_letters_and_two_forms_of_chinese(code: str) -> None:
    assert news_language_fault(code) == ""


@pytest.mark.parametrize("code", ["en-GB", "english", "xx", "", "zh_cn", "1234", "en gb"])
def test_google_news_takes_no_other(code: str) -> None:
    assert news_language_fault(code)


def test_iso_the_codes_are_complete() -> None:
    assert (len(LANGUAGES), len(REGIONS)) == (183, 249)
    assert len(SCRIPTS) > 220
    assert {"Hans", "Hant", "Latn", "Cyrl"} <= SCRIPTS
