"""Files are called as their templates say, no two alike, and strangers are never taken for ours."""

import hashlib
import re
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sitemap import Directory, Entry, Format, InvalidLocation, SitemapError, SitemapWriter, WriterOptions
from sitemap.writer.names import FileNames, group_slugs, interim_name, url_beside

LOCATION = "https://example.com/sitemap.xml"


@pytest.mark.parametrize(
    ("template", "group", "names"),
    [
        ("", "", ["sitemap-1.xml", "sitemap-2.xml", "sitemap-10.xml"]),
        ("", "news", ["sitemap-news-1.xml", "sitemap-news-2.xml", "sitemap-news-10.xml"]),
        ("{group}-sitemap{next}.xml", "post", ["post-sitemap.xml", "post-sitemap2.xml", "post-sitemap10.xml"]),
        ("part{n}.xml", "", ["part1.xml", "part2.xml", "part10.xml"]),
        ("{n}.{group}{suffix}", "a", ["1.a.xml", "2.a.xml", "10.a.xml"]),
        ("{group}.{n}{suffix}", "a", ["a.1.xml", "a.2.xml", "a.10.xml"]),
        ("{{{stem}}} é {n}", "", ["{sitemap} é 1", "{sitemap} é 2", "{sitemap} é 10"]),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_ours_children_are_called_after_the_template(template: str, group: str, names: list[str], packed: bool) -> None:
    made = FileNames(LOCATION, template, gzip=packed, grouped=bool(group))
    assert [made.child(number, group) for number in (1, 2, 10)] == [name + ".gz" * packed for name in names]
    ours = made.own_pattern([group] if group else [])
    assert all(ours.fullmatch(made.child(number, group)) for number in (1, 2, 10, 50_000))
    assert all(made.file(made.url(made.child(number, group))) for number in (1, 2, 10))
    assert ours.fullmatch("sitemap.xml")
    assert ours.fullmatch("sitemap.xml.gz")


@pytest.mark.parametrize(
    "template",
    [
        "../../etc/cron.d/{n}",
        "/etc/{n}.xml",
        "a/{n}.xml",
        "a\\{n}.xml",
        "a\0{n}.xml",
        "a\n{n}.xml",
        ".hidden-{n}.xml",
        "{next}",
        "{next}.xml",
        "sitemap.xml",
        "{n}-{n}.xml",
        "{n}-{next}.xml",
        "{stem}{next}.xml",  # the first would be the index
        "{n}.xml.gz",
        "{n!r}.xml",
        "{n:03}.xml",
        "{0}-{n}.xml",
        "{n.__class__}.xml",
        "{nonsense}-{n}.xml",
        "{group}-{n}.xml",  # there are no groups
        "{n",
        "{n}.xml" + "x" * 300,
    ],
)
def test_ours_a_template_that_names_no_plain_different_files_is_refused(tmp_path: Path, template: str) -> None:
    with pytest.raises(InvalidLocation):
        SitemapWriter(Directory(tmp_path), LOCATION, WriterOptions(child=template))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "template", ["{n}.xml", "{group}{n}.xml", "{n}{group}.xml", "{group}1{n}.xml", "{group}-{group}-{n}", "{n}2{group}"]
)
def test_ours_a_template_that_mixes_up_groups_is_refused(template: str) -> None:
    with pytest.raises(InvalidLocation):
        FileNames(LOCATION, template, grouped=True)


def test_ours_strangers_are_not_taken_for_ours() -> None:
    yoast = FileNames(LOCATION, "{group}-sitemap{next}.xml", grouped=True)
    ours = yoast.own_pattern(["post", "a.b|.*"])
    for name in ("news-sitemap.xml", "post-sitemap1.xml", "post-sitemap02.xml", "xpost-sitemap.xml", "anything",
                 "post-sitemap.xml.bak", "post-sitemap-2.xml", "sitemap-post-1.xml"):  # fmt: skip
        assert not ours.fullmatch(name), name
    plain = FileNames(LOCATION, grouped=True).own_pattern(["news"])
    for name in ("sitemap-news.xml", "sitemap-news-01.xml", "sitemap-newsx-1.xml", "sitemap-image-1.xml", "robots.txt"):
        assert not plain.fullmatch(name), name
    assert plain.fullmatch("sitemap-3.xml")  # of the same set, when it had no groups


def test_ours_a_file_beside_the_set_is_known_by_its_address() -> None:
    names = FileNames("https://example.com/maps/sitemap.xml")
    assert names.file("HTTPS://example.com:443/maps/sitemap-1.xml") == "sitemap-1.xml"
    assert names.file("https://example.com/maps/%73itemap-1.xml#x") == "sitemap-1.xml"
    for elsewhere in ("https://example.com/sitemap-1.xml", "https://example.com/maps/sitemap-1.xml?x", "mailto:x",
                      "https://example.com/maps/", "https://example.com/maps/a/sitemap-1.xml"):  # fmt: skip
        assert names.file(elsewhere) == ""


@pytest.mark.parametrize("gzip", [False, True])
def test_ours_an_index_of_text_files_has_its_own_name(tmp_path: Path, gzip: bool) -> None:
    options = WriterOptions(format=Format.TEXT, max_urls=2, index="urls-text.xml", gzip=gzip)
    gz = ".gz" if gzip else ""
    single, several = {f"urls.txt{gz}"}, {"urls-text.xml", f"urls-1.txt{gz}", f"urls-2.txt{gz}"}
    for count, names in ((2, single), (3, several), (4, several), (1, single)):
        with SitemapWriter(Directory(tmp_path, grace=0, settle=0), "https://example.com/urls.txt", options) as writer:
            writer.extend(Entry(f"https://example.com/{number}") for number in range(count))
            published = writer.finish()
        assert {path.name for path in tmp_path.iterdir() if not path.name.startswith(".")} == names
        name = "urls-text.xml" if count > 2 else f"urls.txt{gz}"
        assert published.url == f"https://example.com/{name}"
        assert (tmp_path / name).read_bytes().startswith(b"<?xml") is (count > 2)


@pytest.mark.parametrize("index", ["a/b.xml", ".hidden.xml", "..", "sitemap-1.xml"])
def test_ours_an_index_with_a_name_that_cannot_be_is_refused(index: str) -> None:
    with pytest.raises(InvalidLocation):
        FileNames(LOCATION, index=index)


def test_ours_the_set_is_never_the_stylesheet(tmp_path: Path) -> None:
    with pytest.raises(SitemapError, match="stylesheet"):
        SitemapWriter(Directory(tmp_path), "https://example.com/sitemap.xsl", WriterOptions(stylesheet="xsl"))


@settings(max_examples=150)
@given(st.text(max_size=100))
def test_ours_groups_get_safe_names(group: str) -> None:
    made = list(group_slugs(group))
    assert len(set(made)) == len(made)
    for slug in made:
        assert re.fullmatch("[A-Za-z0-9_][A-Za-z0-9_.-]{0,130}", slug)
        assert not slug.lower().endswith((".gz", "."))


@pytest.mark.parametrize(
    ("group", "slug"),
    [
        ("java.base", "java.base"),
        ("my_docs v2", "my_docs-v2"),
        (".hidden", "hidden"),
        ("shop/shoes/", "shop-shoes"),
        ("a.gz", "a-gz"),
        ("a" * 60, "a" * 60),
        ("a" * 59 + "--b", "a" * 59 + "-" + hashlib.sha256(("a" * 59 + "--b").encode()).hexdigest()[:8]),
        ("日本語x", "x-a60f59b4"),
        ("", "group-e3b0c442"),
    ],
)
def test_ours_a_group_keeps_its_name_as_far_as_files_can_have_it(group: str, slug: str) -> None:
    assert next(group_slugs(group)) == slug


@pytest.mark.thorough
@settings(max_examples=100)
@given(st.lists(st.text("aA. -é_", max_size=4), min_size=1, max_size=6, unique=True))
def test_ours_groups_that_look_alike_have_files_of_their_own(groups: list[str]) -> None:
    locs = [f"https://example.com/{number}" for number in range(len(groups))]
    options = WriterOptions(group=lambda entry: groups[int(entry.loc[20:])], always_index=True)
    with TemporaryDirectory() as folder, SitemapWriter(folder, LOCATION, options) as writer:
        writer.extend(map(Entry, locs))
        files = writer.finish().files[:-1]
    assert sorted(facts.group for facts in files) == sorted(groups)
    assert len({facts.name.casefold() for facts in files}) == len(groups)


def test_ours_a_group_that_would_take_the_name_of_the_index_gets_another(tmp_path: Path) -> None:
    options = WriterOptions(group=lambda entry: entry.loc[20:22], child="{group}-sitemap{next}.xml")
    (tmp_path / "xx-sitemap.xml").write_text("another's")
    with SitemapWriter(tmp_path, "https://example.com/wp-sitemap.xml", options) as writer:
        writer.extend([Entry("https://example.com/po"), Entry("https://example.com/wp")])
        files = writer.finish().files
    assert [facts.name for facts in files if facts.group != "wp"] == ["po-sitemap.xml", "wp-sitemap.xml"]
    assert next(facts.name for facts in files if facts.group == "wp").startswith("wp-")
    assert len(list(tmp_path.iterdir())) == 4


@settings(max_examples=60)
@given(
    st.sampled_from(["", "{group}-sitemap{next}.xml", "{n}-{group}", "{next}x{group}.xml", "{group}-{next}"]),
    st.lists(st.from_regex("[A-Za-z0-9_.-]{1,4}", fullmatch=True), min_size=2, max_size=5, unique=True),
)
def test_ours_no_two_files_have_one_name(template: str, groups: list[str]) -> None:
    names = FileNames(LOCATION, template, grouped=True)
    made = [names.child(number, group) for group in groups for number in (1, 2, 11, 12, 21, 112)]
    assert len(set(made)) == len(made)
    for group in groups:
        ours = names.own_pattern([group])
        others = [names.child(number, other) for other in groups if other != group for number in (1, 2, 11, 112)]
        assert not any(map(ours.fullmatch, others))


def test_ours_groups_that_differ_by_case_do_not_share_files(tmp_path: Path) -> None:
    options = WriterOptions(group=lambda entry: entry.loc[-1])
    with SitemapWriter(Directory(tmp_path), LOCATION, options) as writer:
        writer.extend([Entry("https://example.com/x/a"), Entry("https://example.com/x/A")])
        files = writer.finish().files
    assert [facts.group for facts in files] == ["A", "a", ""]
    assert len({facts.name.casefold() for facts in files}) == 3
    assert files[1].name == "sitemap-a-1.xml"


def refusal(location: str = LOCATION, template: str = "", *, grouped: bool = False, index: str = "") -> str:
    with pytest.raises(InvalidLocation) as caught:
        FileNames(location, template, grouped=grouped, index=index)
    return str(caught.value)


@pytest.mark.parametrize(
    ("template", "grouped", "said"),
    [
        (
            "{0}-{n}.xml",
            False,
            "contains the field '0'. Use only {stem}, {suffix}, {group}, {n} and {next}, without a format",
        ),
        (
            "{n:3}",
            False,
            "contains the field 'n'. Use only {stem}, {suffix}, {group}, {n} and {next}, without a format",
        ),
        ("{n", False, "is not a template: expected '}' before end of string"),
        ("a/{n}.xml", False, "cannot be the name of a file. Use a plain name without a directory"),
        (".h{n}", False, "cannot be the name of a file. Use a plain name without a directory"),
        ("{n}.xml.gz", False, "must not end in .gz, because the gzip option adds .gz"),
        ("sitemap.xml", False, "must contain {n} or {next} once, so that the names differ"),
        ("{n}{next}", False, "must contain {n} or {next} once, so that the names differ"),
        ("{group}-{n}.xml", False, "must not contain {group}, because the sitemap has no groups"),
        ("{n}.xml", True, "must contain {group} once, because the sitemap has groups"),
        ("{group}{n}", True, "must contain a character other than a digit between {group} and the number"),
        ("{n}a1{group}", True, "must contain a character other than a digit between {group} and the number"),
        ("{group}1a{next}", True, "must contain a character other than a digit between {group} and the number"),
        (
            "{stem}{next}.xml",
            False,
            "can produce 'sitemap.xml', which is the name of the sitemap itself. Choose another template",
        ),
    ],
)
def test_ours_each_fault_of_a_template_is_named_with_the_template(template: str, grouped: bool, said: str) -> None:
    if template in {"{n}a1{group}", "{group}1a{next}"}:  # the digit is on the other side
        FileNames(LOCATION, template, grouped=grouped)
    else:
        assert refusal(template=template, grouped=grouped) == f"'{template}' {said}"


@pytest.mark.parametrize(
    "location",
    ["https://example.com/", "https://example.com/.xml", "https://example.com/a%2Fb.xml", "https://example.com/a%5Cb.xml",
     "https://example.com/a%0Ab.xml", f"https://example.com/{'a' * 201}"],
)  # fmt: skip
def test_ours_a_location_that_ends_in_no_file_name_says_what_to_add(location: str) -> None:
    assert (
        refusal(location) == f"{location[:200]!r} does not end in a file name. Add a file name, such as …/sitemap.xml"
    )


def test_ours_a_name_of_200_characters_is_a_file_name() -> None:
    assert FileNames(f"https://example.com/{'a' * 196}.xml").single == f"{'a' * 196}.xml"
    assert refusal("https://example.com/%ff.xml").startswith(
        "a sitemap cannot be at 'https://example.com/%ff.xml': 'utf-8'"
    )
    assert refusal(index="a/b") == "'a/b' is not a valid name of a sitemap index. Use a file name such as sitemap.xml"


def test_ours_a_file_name_fits_into_255_bytes_with_what_it_is_called_meanwhile() -> None:
    """The last number has five digits, and the interim name nine characters more."""
    longest = 255 - len("-50000.xml") - len(".5f2a9c1b")
    assert FileNames(LOCATION, f"{'x' * longest}-{{n}}.xml")
    template = f"{'x' * (longest + 1)}-{{n}}.xml"
    assert refusal(template=template).endswith("would make the names of the files too long. Shorten it")
    assert refusal(template=template).startswith("'xxx")
    fewer = longest - len("é".encode()) * 10 + 10
    assert FileNames(LOCATION, f"{'é' * 10}{'x' * (fewer - 10)}-{{n}}.xml")


@pytest.mark.parametrize(
    ("name", "interim"),
    [
        ("sitemap-3.xml.gz", "sitemap-3.5f2a.xml.gz"),
        ("sitemap.xml", "sitemap.5f2a.xml"),
        ("a.b.txt", "a.b.5f2a.txt"),
        ("plain", "plain.5f2a"),
        ("plain.gz", "plain.5f2a.gz"),
    ],
)
def test_ours_an_interim_name_keeps_the_suffix(name: str, interim: str) -> None:
    assert interim_name(name, "5f2a") == interim


def test_rfc3986_the_url_of_a_file_beside_another_is_escaped() -> None:
    assert url_beside("https://example.com/a/b.xml", "c d&é.xml") == "https://example.com/a/c%20d&%C3%A9.xml"
    names = FileNames("https://example.com/a/sitemap.xml", "{stem} {n}#")
    assert names.url(names.child(2)) == "https://example.com/a/sitemap%202%23"
    assert names.url("sitemap.xml") == "https://example.com/a/sitemap.xml"


@pytest.mark.parametrize(
    ("group", "slugs"),
    [
        ("news", ["news", "news-19fba0e9"]),
        ("a b/c", ["a-b-c", "a-b-c-539138d5"]),
        ("日本", ["group-cf2abf0c"]),
        ("x.gz", ["x-gz", "x-gz-fc62fffd"]),
        ("x.GZ.", ["x-GZ", "x-GZ-"]),
        ("-a.-", ["a-7bfda9fd"]),  # half of the name is lost
        ("ab-.", ["ab-", "ab"]),
        ("y" * 60, ["y" * 60, f"{'y' * 60}-"]),
        ("y" * 61, [f"{'y' * 60}-f9180c0a"]),
        (f"{'y' * 59}-z", [f"{'y' * 59}-"]),
    ],
)
def test_ours_the_slugs_of_a_group_are_its_name_and_then_its_name_with_a_part_of_its_digest(
    group: str, slugs: list[str]
) -> None:
    made = [*group_slugs(group)]
    assert all(one.startswith(start) for one, start in zip(made, slugs, strict=False)), made
    digest = hashlib.sha256(group.encode()).hexdigest()
    assert made[-2].endswith(f"-{digest[:8]}")
    assert made[-1].endswith(f"-{digest}")
    assert len(made) == (3 if len(slugs) == 2 and not slugs[0].endswith("-") else 2)
