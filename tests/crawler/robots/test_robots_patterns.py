"""Thousands of patterns at once answer as each alone: a plain matcher and another program's are the judges."""

from typing import Final

import pytest
from attacks.robots import matches, normal, plain_answer
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from protego import Protego

from crawler.model import Url
from crawler.robots.patterns import PatternIndex, normal_path, normal_pattern
from crawler.robots.rules import Allowed, parse_robots

_PATHS: Final = st.text("ab/*$?=%41.", max_size=12).map(lambda text: f"/{text}")
# A "%" that begins no escape stays as it is, and may begin one once what follows is decoded: no such paths here.
_ESCAPED: Final = st.lists(st.sampled_from([*"ab/*$?=4.", "%41", "%4a", "%2F", "%25", "%e9"]), max_size=9).map("".join)
_PATTERNS: Final = st.lists(st.text("ab/*$?", min_size=1, max_size=9), max_size=40)
_VALUES: Final = st.text("ab/*$?=%41~é", min_size=1, max_size=9)
_RULES: Final = st.lists(st.tuples(st.sampled_from(("Allow", "Disallow")), _VALUES), max_size=12)


@settings(max_examples=600)
@given(_PATTERNS, st.text("ab/?", max_size=14))
@example(["*a*b*b"], "/ab")
@example(["a*a$"], "a")
def test_rfc9309_2_2_3_the_first_pattern_that_matches_is_found(patterns: list[str], path: str) -> None:
    expected = next((rank for rank, pattern in enumerate(patterns) if matches(pattern, path)), None)
    assert PatternIndex.of(patterns).first(path) == expected


@pytest.mark.thorough
@settings(max_examples=600)
@given(_RULES, _PATHS)
@example([("Disallow", "/$")], "/$")
def test_rfc9309_2_2_2_the_longest_rule_decides_and_allow_wins_ties(rules: list[tuple[str, str]], path: str) -> None:
    text = "".join(f"{field}: {value}\n" for field, value in rules)
    answer = parse_robots(f"User-agent: *\n{text}".encode(), "siteatlas", 0.0).can_fetch(Url(f"https://h.test{path}"))
    assert isinstance(answer, Allowed) is plain_answer(rules, path)


@pytest.mark.thorough
@settings(max_examples=400)
@given(_RULES, _PATHS)
def test_ours_protego_decides_in_the_same_way(rules: list[tuple[str, str]], path: str) -> None:
    text = "User-agent: *\n" + "".join(f"{field}: {value}\n" for field, value in rules)
    assume("$" not in path)  # Protego lets a final "$" match itself too; it is an anchor (section 2.2.3)
    url = f"https://h.test{path}"
    answer = parse_robots(text.encode(), "siteatlas", 0.0).can_fetch(Url(url))
    assert isinstance(answer, Allowed) is Protego.parse(text).can_fetch(url, "siteatlas")


@settings(max_examples=300)
@given(_VALUES, _ESCAPED)
def test_rfc9309_2_2_2_escapes_are_compared_in_one_spelling(value: str, path: str) -> None:
    assert normal_pattern(value) == normal(value)
    assert normal_path(normal_path(path)) == normal_path(path)


def test_google_a_dollar_at_the_end_is_an_anchor_only_and_elsewhere_or_escaped_a_character() -> None:
    """https://developers.google.com/crawling/docs/robots-txt/robots-txt-spec#url-matching-based-on-path-values ."""
    body = "User-agent: *\n" + "\n".join(f"Disallow: /*x{number}$" for number in range(3_000))
    rules = parse_robots(f"{body}\nDisallow: /a$b\nDisallow: /c%24\nDisallow: /d$*".encode(), "siteatlas", 0.0)

    def allows(path: str) -> bool:
        return isinstance(rules.can_fetch(Url(f"https://h.test{path}")), Allowed)

    assert [allows(path) for path in ("/x17", "/x17$", "/x17%24b", "/x17b")] == [False, True, True, True]
    assert [allows(path) for path in ("/a$bc", "/a%24b", "/a", "/c$x", "/c", "/d$x", "/d", "/dx")] == [
        *(False, False, True, False, True, False, True, True)
    ]
