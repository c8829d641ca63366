"""The configuration: the example file, what wrong words are told, and that every key has a flag."""

import tomllib
from pathlib import Path

import pytest

from crawler.cli.init.config import example_config
from crawler.cli.options import FLAGS, flag_of
from crawler.config.config import Config
from crawler.config.load import build_config, known_keys, read_tables
from crawler.errors import UsageError
from crawler.units import format_size, parse_duration, parse_size

EXAMPLE = Path(__file__).parent.parent / "config.example.toml"


def test_ours_the_example_has_every_key_at_its_default() -> None:
    assert EXAMPLE.read_text(encoding="utf-8") == example_config(), (
        "run: python -m crawler.cli.init.config > config.example.toml"
    )
    tables = tomllib.loads(example_config())
    assert build_config(tables) == Config()
    for name, keys in known_keys().items():
        for key in keys:
            written = key in tables[name]
            assert written or f"\n# {key} =\n" in example_config(), f"{name}.{key} is missing"


def test_ours_every_key_has_a_flag() -> None:
    keys = {f"{name}.{key}" for name, keys in known_keys().items() for key in keys}
    assert keys - {flag.key for flag in FLAGS} == {"site.url"}  # which is the argument


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        ({"paces": {}}, 'Did you mean "pace"'),
        ({"pace": {"concurency": 1}}, 'Did you mean "concurrency"'),
        ({"pace": {"max_pages": 1}}, "scope.max_pages"),
        ({"pace": {"concurrency": 0}}, "--concurrency"),
        ({"pace": {"concurrency": "many"}}, "--concurrency"),
        ({"pace": {"rate": -1}}, "--rate"),
        ({"pace": 3}, "pace"),
        ({"fetch": {"transport": "slow"}}, "'fast' or 'httpx'"),
        ({"scope": {"max_time": "soon"}}, "15m"),
        ({"output": {"max_urls": 50_001}}, "--max-urls-per-file"),
        ({"output": {"max_bytes": "60M"}}, "--max-bytes-per-file"),
        ({"output": {"changefreq": "sometimes"}}, "--changefreq"),
        ({"output": {"priority": 2}}, "--priority"),
        ({"hook": {"command": "true"}}, 'it is a list, such as ["sh", "-c", "true"]'),
        ({"webhook": {"on": ["news"]}}, "--webhook-on (webhook.on) in"),
    ],
)
def test_ours_a_wrong_key_or_value_is_named_with_its_remedy(tables: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError) as told:
        build_config(tables, "site.toml", flag_of)
    assert said in str(told.value)
    assert "site.toml" in str(told.value)
    assert "\n" not in str(told.value)


def test_ours_lengths_of_time_and_sizes() -> None:
    assert [parse_duration(text) for text in ("90", "90s", "1.5m", "2h", "1d")] == [90, 90, 90, 7200, 86400]
    assert [parse_size(text) for text in ("500", "512K", "20M", "1.5 GiB")] == [500, 2**19, 20 * 2**20, 3 * 2**29]
    assert build_config({"scope": {"max_time": "2h"}}).scope.max_time == 7200
    for text in ("", "h", "-1", "1 week", "1_000"):
        with pytest.raises(ValueError, match="is not a"):
            parse_duration(text)
        with pytest.raises(ValueError, match="is not a"):
            parse_size(text)


def test_ours_choices_are_those_that_can_be_typed() -> None:
    with pytest.raises(UsageError, match="'section', 'language' or 'type'") as told:
        build_config({"output": {"group": "size"}}, "", flag_of)
    assert "''" not in str(told.value)
    assert [format_size(parse_size(text)) for text in ("500", "512K", "20M", "1G", "52428801")] == [
        *("500", "512K", "20M", "1G", "52428801")
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = " + "[" * 50_000 + "]" * 50_000, "has lists or tables inside each other too deeply"),
        ("x = " + "{a = " * 50_000 + "1" + "}" * 50_000, "has lists or tables inside each other too deeply"),
        ("[scope]\nmax_pages = " + "9" * 5_000, "has a number with too many digits"),
        ("[scope]\nmax_pages = 0x" + "f" * 6_000, "(scope.max_pages)"),
        ("[scope]\nmax_pages = -1" + "0" * 3_000, "(scope.max_pages)"),
        ("[scope]\nmax_pages = 9223372036854775808", "it must be a number of at most 64 bits"),
        ('[fetch]\nmax_body = "' + "9" * 400 + 'G"', "is not a size"),
        ('[fetch]\nmax_body = "999999999999999G"', "it must be a number of at most 64 bits"),
        ("[state]\nkeep_runs = 1" + "0" * 30, "it must be a number of at most 64 bits"),
    ],
)
def test_ours_a_configuration_without_an_end_is_one_plain_line(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "siteatlas.toml"
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        build_config(read_tables(path), str(path), flag_of)
    assert said in str(caught.value)
    assert str(path) in str(caught.value)
    assert len(str(caught.value)) < 1_000 + len(str(path))
