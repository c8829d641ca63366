"""Plain words: messages about mistakes name the thing and the remedy, and the manual has short sentences."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from run import siteatlas
from test_readme import ALL, ROOT, name_of, text_of

from crawler.config.settings import misspelt_variables

URL = "http://a.example/"
PROSE = [*ALL, ROOT / "CHANGELOG.md"]
MAX_WORDS = 30  # in a sentence; most have fewer than 20
# Words that only somebody who knows the code understands.
PRIVATE = re.compile(
    r"\b(?:desks?|doors?|elsewhere|fruitless|go(?:es)? on with|homes|journeys?|lanes?|mend(?:s|ed)?|offspring"
    r"|shelves|told|wishes)\b",
    re.IGNORECASE,
)
SEVERAL = '[sites.a.site]\nurl = "http://a.example/"\n[sites.b.site]\nurl = "http://b.example/"\n'


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["crawl", URL, "-o", "p", "--rate", "ten"], "pace.rate (--rate): it must be a number (given: 'ten')"),
        (["crawl", URL, "-o", "p", "-c", "0"], "pace.concurrency (--concurrency): it must be at least 1"),
        (["crawl", URL, "-o", "p", "--set=output.recent=html"], "it must be 'atom' or 'rss' (given: 'html')"),
        (["audit", URL, "--format", "html"], "'--format': 'html' is not one of 'text', 'json'"),
        (["lint", "x", "--max-findings", "ten"], "'--max-findings': it must be a whole number"),
        (["rollback"], "no site is given. Use siteatlas rollback https://example.com/ -o DIR, or --config FILE"),
        (["audit", "--config", "m.toml"], "this command takes one site. Choose the site with --site\n"),
        (["crawl", "--config", "m.toml"], "siteatlas run --config m.toml runs all sites, and --site NAME only one"),
    ],
)
def test_ours_a_mistake_is_told_in_plain_words(tmp_path: Path, words: list[str], said: str) -> None:
    (tmp_path / "m.toml").write_text(SEVERAL)
    ended = siteatlas(tmp_path, *words)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err


def test_ours_a_value_from_the_environment_is_told_by_its_variable(tmp_path: Path) -> None:
    words = ("crawl", URL, "-o", "p")
    ended = siteatlas(tmp_path, *words, SITEATLAS_PACE_CONCURRENCY="abc")
    assert ended.err.startswith("siteatlas: pace.concurrency (SITEATLAS_PACE_CONCURRENCY): it must be a whole number")
    typed = siteatlas(tmp_path, *words, "-c", "x", SITEATLAS_PACE_CONCURRENCY="8")
    assert typed.err.startswith("siteatlas: pace.concurrency (--concurrency): ")
    assert (
        "SITEATLAS_FETCH_HEADERS needs the form NAME: VALUE"
        in siteatlas(tmp_path, *words, SITEATLAS_FETCH_HEADERS="x").err
    )


def test_ours_a_variable_that_is_nearly_one_of_ours_is_told_once(tmp_path: Path) -> None:
    ended = siteatlas(tmp_path, "status", SITEATLAS_PACE_CONCURENCY="8", SITEATLAS_SHOP_PASSWORD="x")
    said, *rest = ended.err.splitlines()
    assert (
        said.split(maxsplit=1)[1]
        == "SITEATLAS_PACE_CONCURENCY is not a variable of siteatlas. Did you mean SITEATLAS_PACE_CONCURRENCY?"
    )
    assert len(rest) == 1, "what the command itself has to say"
    known = ["SITEATLAS_KEY", "SITEATLAS_AUDIT_FAIL_ON", "SITEATLAS_FETCH_HEADERS", "PATH"]
    assert misspelt_variables(known) == []


def test_ours_a_site_that_was_mistyped_is_none_of_several(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "index.html").write_text("<title>Home</title>")
    assert siteatlas(tmp_path, "crawl", URL, "-o", "p", "--source", "site").code == 0
    assert siteatlas(tmp_path, "crawl", f"{URL}typo/x", "-o", "q", "--source", "site").code == 5
    assert siteatlas(tmp_path, "crawl", "http://127.0.0.1:1/", "-o", "q").code == 5
    ended = siteatlas(tmp_path, "why", URL)
    assert (ended.code, ended.err) == (0, "")
    assert "is listed" in ended.out


def sentences(page: Path) -> Iterator[str]:
    """The sentences of a page, without code and the addresses of links; each cell of a table is one too."""
    text = re.sub(r"^```.*?^```$", "", text_of(page), flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"\]\([^)]*\)", "]", re.sub(r"`[^`]*`", "code", text))
    for paragraph in re.split(r"\n\n|\n(?=\s*(?:[-*#|]|\d+\.) )|\|", text):
        yield from filter(None, re.split(r"(?<=[.!?:])(?:\*\*)?\s+", paragraph.strip()))


@pytest.mark.parametrize("page", PROSE, ids=name_of)
def test_ours_the_manual_is_in_short_sentences_and_plain_words(page: Path) -> None:
    found = list(sentences(page))
    assert found
    assert [sentence for sentence in found if len(sentence.split()) > MAX_WORDS] == []
    assert [sentence for sentence in found if PRIVATE.search(sentence)] == []
