"""The configuration: the example file, what wrong words are told, and that every key has a flag."""

import re
import tomllib
from pathlib import Path

import pytest

from crawler.cli.config import reference
from crawler.cli.options import FLAGS, given_layers
from crawler.config.config import Config
from crawler.config.load import ConfigFile, build_config, load_site, load_sites, override
from crawler.config.reference import reference_sections, reference_text
from crawler.config.settings import known_keys, section_of, variable_of
from crawler.errors import UsageError
from crawler.units import format_size, parse_duration, parse_size
from crawler.url.scope import CrawlBounds

EXAMPLE = Path(__file__).parent.parent / "config.example.toml"


def test_ours_the_reference_has_every_key_at_its_default_with_its_option() -> None:
    assert EXAMPLE.read_text(encoding="utf-8") == reference_text()
    assert build_config(tomllib.loads(reference_text())) == Config()
    sections = reference_sections()
    written = {f"{name}.{key}": None for name, section in sections.items() for key in section.keys}
    known = {f"{name}.{key}": None for name, keys in known_keys().items() for key in keys}
    assert written.keys() ^ known.keys() == set(), "in one of crawler/config/config.py and reference.toml, not in both"
    assert list(written) == list(known), "reference.toml has the order of the fields"
    flags = {flag.key: flag.name() for flag in FLAGS}
    for name, section in sections.items():
        about = section.lines.partition("\n")[2].replace("\n# ", " ")
        documented = " ".join(str(section_of(name).__doc__).split())
        assert about.strip(" #\n") == documented, f"reference.toml begins [{name}] with the docstring of its class"
        for key in section.keys.values():
            flag = flags.get(f"{name}.{key.name}")
            assert key.text.endswith(f" ({flag})" if flag else "."), f"{name}.{key.name}"
            assert len(key.text) > 20


# Keys that other code reads in another way, and where.
READ_ELSEWHERE = {
    **{f"audit.{name}": "collect.py" for name in ("search", "analytics", "backlinks", "lists", "crawls")},
    "daemon.reload_interval": "daemon.py",
}


def test_ours_each_key_is_read() -> None:
    """A module reads a key, and names its section or the class of it; or a method of the class reads it."""
    scope = (EXAMPLE.parent / "crawler" / "url" / "scope.py").read_text(encoding="utf-8")
    read = {f"scope.{key}" for key in CrawlBounds.__struct_fields__ if f"bounds.{key}" in scope}
    classes = {name: type(field.default).__name__ for name, field in Config.model_fields.items()}
    for path in (EXAMPLE.parent / "crawler").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        is_own = path.stem in {"config", "sections"} and path.parent.name == "config"
        keys = set(re.findall(r"\bself\.([a-z]\w*)" if is_own else r"\.([a-z]\w*)", text))
        words = set(re.findall(r"\w+Config\b", text))
        read |= {f"{name}.{key}" for name, each in classes.items() if name in keys or each in words for key in keys}
    known = {f"{name}.{key}" for name, keys in known_keys().items() for key in keys}
    assert known - read - READ_ELSEWHERE.keys() == set(), "no module of crawler/ reads it"


def test_ours_each_option_sets_a_key_of_its_own() -> None:
    keys = {f"{name}.{key}" for name, keys in known_keys().items() for key in keys}
    named = [flag.key for flag in FLAGS]
    assert len({*named}) == len(named)
    assert {*named} <= keys


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        ({"paces": {}}, 'Did you mean "pace"'),
        ({"pace": {"concurency": 1}}, 'Did you mean "concurrency"'),
        ({"pace": {"max_pages": 1}}, "scope.max_pages"),
        ({"pace": {"concurrency": 0}}, "pace.concurrency (site.toml, line 1): it must be at least 1"),
        ({"pace": {"concurrency": "many"}}, "pace.concurrency"),
        ({"pace": {"rate": -1}}, "pace.rate"),
        ({"pace": 3}, "pace"),
        ({"fetch": {"transport": "slow"}}, "'fast' or 'httpx'"),
        ({"scope": {"max_time": "soon"}}, "15m"),
        ({"output": {"max_urls": 50_001}}, "output.max_urls"),
        ({"output": {"max_bytes": "60M"}}, "output.max_bytes"),
        ({"output": {"changefreq": "sometimes"}}, "output.changefreq"),
        ({"output": {"priority": 2}}, "output.priority"),
        ({"hook": {"command": "true"}}, 'it is a list, such as ["sh", "-c", "true"]'),
        ({"webhook": {"on": ["news"]}}, "webhook.on (site.toml, line 1)"),
    ],
)
def test_ours_a_wrong_key_or_value_is_named_with_its_remedy(tables: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError) as told:
        build_config(tables, lambda _: "site.toml, line 1")
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
        build_config({"output": {"group": "size"}})
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
        ("[scope]\nmax_pages = 0x" + "f" * 6_000, "scope.max_pages ("),
        ("[scope]\nmax_pages = -1" + "0" * 3_000, "scope.max_pages ("),
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
        load_site(ConfigFile.read(path))
    assert said in str(caught.value)
    assert str(path) in str(caught.value)
    assert len(str(caught.value)) < 1_000 + len(str(path))


LINES = """[pace]
rate = 5
[scope]
exclude = [
  "/a/*",
  "/b/*",
]
[sites.shop]
site.url = "https://shop.example/"
pace = {rate = 7, delay = 1}
[sites.blog.site]
url = "https://blog.example/"
"""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("rate = 5", "rate = -5", "pace.rate (sites.toml, line 2): it must be at least 0.0 (given: -5)"),
        ('"/a/*"', "3", "scope.exclude (sites.toml, line 4): it must be a text in quotes (given: 3)"),
        ("rate = 7", "rate = -7", "sites.shop.pace.rate (sites.toml, line 10): it must be at least 0.0 (given: -7)"),
        ("delay", "dely", 'the key "sites.shop.pace.dely" (sites.toml, line 10) is unknown. Did you mean "delay"?'),
    ],
)
def test_ours_a_fault_of_a_file_is_named_with_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sites.toml").write_text(LINES.replace(old, new))
    with pytest.raises(UsageError) as told:
        load_sites(ConfigFile.read(Path("sites.toml")))
    assert str(told.value) == said


def test_ours_the_line_of_a_key_is_found_in_a_large_file_with_values_of_many_lines(tmp_path: Path) -> None:
    rows = "".join(f'  "/page-{n}/*", # like = this\n' for n in range(2_000))
    rates = {n: -5 if n == 699 else 5 for n in range(800)}
    sites = (f'[sites.s{n}.site]\nurl = "https://s{n}.example/"\n[sites.s{n}.pace]\nrate = {rates[n]}\n' for n in rates)
    text = f"[scope]\nexclude = [\n{rows}]\n{''.join(sites)}"
    with pytest.raises(UsageError) as told:
        load_sites(ConfigFile(Path("sites.toml"), text))
    line = next(number for number, line in enumerate(text.splitlines(), 1) if line == "rate = -5")
    assert f"sites.s699.pace.rate (sites.toml, line {line}): it must be at least 0.0" in str(told.value)


def setting(*texts: str) -> dict[str, object]:
    return {"settings": list(texts)}


def test_ours_a_setting_reaches_every_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each key takes its own default, as config.example.toml writes it, by --set and from the environment."""
    values, section = {}, ""
    for line in re.sub(r"\n +|(?<=,)\n(?=\])", "", reference()).splitlines():
        section = line[1:-1] if line.startswith("[") else section
        if key := re.match("([a-z0-9_]+) = ", line):
            values[section, key[1]] = line[key.end() :]
    assert len(values) > 180
    for (section, key), value in values.items():
        assert override({}, None, given_layers(setting(f"{section}.{key}={value}"))) == Config()
        monkeypatch.setenv(variable_of(section, key), value)
    assert override({}, None, given_layers({})) == Config()


@pytest.mark.parametrize(
    ("text", "section", "key", "value"),
    [
        ("fetch.user_agent=Bot/1", "fetch", "user_agent", "Bot/1"),
        ('fetch.user_agent="Bot/1"', "fetch", "user_agent", "Bot/1"),
        ("audit.ga4=123", "audit", "ga4", "123"),
        ("output.mode=0600", "output", "mode", "0600"),
        ("fetch.max_body=20M", "fetch", "max_body", 20 * 2**20),
        ("scope.exclude=/a/*", "scope", "exclude", ("/a/*",)),
        ('scope.exclude=["/a/*", "/b/*"]', "scope", "exclude", ("/a/*", "/b/*")),
        ("fetch.headers.X-Key=1=2", "fetch", "headers", {"X-Key": "1=2"}),
        ('fetch.headers={X-Key = "1"}', "fetch", "headers", {"X-Key": "1"}),
        ("fetch.headers=X-Key: 1", "fetch", "headers", {"X-Key": "1"}),
        ("urls.drop_params=ref", "urls", "drop_params", ("ref",)),
    ],
)
def test_ours_a_setting_is_toml_or_a_text_without_quotes(text: str, section: str, key: str, value: object) -> None:
    assert getattr(getattr(override({}, None, given_layers(setting(text))), section), key) == value


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (setting("pace.rat=5"), 'the key "pace.rat" (--set pace.rat) is unknown. Did you mean "rate"?'),
        (setting("pace.rate=-1"), "pace.rate (--set pace.rate): it must be at least 0.0 (given: -1)"),
        ({"pace__rate": "-1"}, "pace.rate (--rate): it must be at least 0.0 (given: '-1')"),
        ({"pace__rate": "1", **setting("pace.rate=2")}, "--rate and --set pace.rate set the same key. Give only one"),
        (setting("pace=1"), "--set needs the form SECTION.KEY=VALUE"),
        (setting("pace.rate"), "--set needs the form SECTION.KEY=VALUE"),
        (setting("=5"), "--set needs the form SECTION.KEY=VALUE"),
        (setting("a\nb.c=5"), "--set needs the form SECTION.KEY=VALUE"),
        (setting("sites.shop.pace.rate=1"), 'has no site "shop"'),
        (setting("scope.exclude=[1]"), "scope.exclude (--set scope.exclude): it must be a text in quotes"),
    ],
)
def test_ours_a_wrong_setting_is_named(flags: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError) as told:
        load_site(None, given_layers(flags))
    assert said in str(told.value)


def test_ours_the_strongest_source_of_a_key_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sites.toml").write_text(LINES)
    file = ConfigFile.read(tmp_path / "sites.toml")

    def rates(flags: dict[str, object]) -> list[float]:
        return [site.config.pace.rate for site in load_sites(file, given_layers(flags))]

    assert rates({}) == [7, 5]
    monkeypatch.setenv("SITEATLAS_PACE_RATE", "8")
    assert rates({}) == [8, 8]
    assert rates({"pace__rate": "9"}) == [9, 9]
    assert rates({"pace__rate": "9", **setting("sites.shop.pace.rate=10")}) == [10, 9]
    with pytest.raises(UsageError, match=r'--set sites\.shp\.pace\.rate: .* has no site "shp"\. Did you mean "shop"'):
        rates(setting("sites.shp.pace.rate=10"))


@pytest.mark.parametrize(
    ("wish", "key"),
    [("rate", "pace.rate"), ("user agent", "fetch.user_agent"), ("timeout", "fetch.timeout"),
     ("exclude", "scope.exclude"), ("images", "content.images")],
)  # fmt: skip
def test_ours_a_key_is_found_by_a_word(wish: str, key: str) -> None:
    section, name = key.split(".")
    assert f"[{section}]" in reference(word=wish)
    assert f"\n{name} = " in reference(word=wish)


def test_ours_a_path_may_be_written_like_a_secret_in_a_file(tmp_path: Path) -> None:
    config = tmp_path / "sub" / "site.toml"
    config.parent.mkdir()
    config.write_text('site.url = "https://www.example.com/"\n[upload]\nto = "sftp://a@b/c"\nsftp_key = "file:id"\n')
    (site,) = load_sites(ConfigFile.read(config))
    assert site.config.upload.sftp_key == str(config.parent / "id")


@pytest.mark.parametrize(
    ("line", "remedy"),
    [
        ("url = https://example.com/", '. Write the line as url = "…"'),
        ("max_time = 2h # long", '. Write the line as max_time = "…"'),
        ('url = "https://example.com/', '. Write the line as url = "…"'),
        ('url "https://example.com/"', '. Write the line as url = "…"'),
        ("url: https://example.com/", '. Write the line as url = "…"'),
        ("url = “https://example.com/”", '. Write the line as url = "…"'),
        ('directory = "C:\\Users"', ". Write the line as directory = '…'"),
        ("enabled = True", ". Write the line as enabled = true"),
        ("enabled = TRUE # on", ". Write the line as enabled = true"),
        ("rate 1234", ". Write the line as rate = 1234"),
        ("rate = 1,5", ". Write the line as rate = 1.5"),
        ("max_pages = 10,000", ". Write the line as max_pages = 10_000"),
        ("basic_auth: 1234", '. Write the line as basic_auth = "…"'),
        ("urls = [https://example.com/]", ""),
        ("urls = [\nhttps://example.com/,\n]", ""),
        ('urls = ["a" "b"]', ""),
        ('url = "a"\nurl = "b"', ""),
        ("url =", ""),
        ("url", ""),
    ],
)
def test_ours_a_line_that_is_not_toml_has_a_remedy_without_its_value(tmp_path: Path, line: str, remedy: str) -> None:
    with pytest.raises(UsageError, match=r"is not valid TOML: .* \(at line [23], column \d+\)") as raised:
        ConfigFile(tmp_path / "s.toml", f"[site]\n{line}\n").tables()
    assert str(raised.value).partition(")")[2] == remedy
