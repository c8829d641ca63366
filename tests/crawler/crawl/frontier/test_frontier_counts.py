"""How many pages an endless space costs, to the page: what the rules of traps and copies say, on plain sites.

Pages are read one after the other, so that each rule decides at its own page.
"""

from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest
from endless_sites import Crawl, Site, anchors, calendar_by_query, end_run, last_page_for_ever, visit, word

from crawler.crawl.frontier.copies import EVIDENCE, SAMPLE


def crawl(site: Site, folder: Path, most: int = 1_000, patience: int = 250, named: Sequence[str] = ()) -> Crawl:
    return visit(site, folder, width=1, most=most, patience=patience, named=named)


def fresh_id(*parts: object) -> str:
    return f"{Random(' '.join(map(str, parts))).getrandbits(64):x}"


def below_ids(form: str, names: Sequence[str], more: str = "") -> Site:
    """Pages that lead to one another under ids that are new on every page."""

    def site(path: str) -> str | None:
        name = next((name for name in names if name in path.replace(";", "/").split("/")), "")
        if path != "/" and not name:
            return None
        sid = fresh_id(path)
        hrefs = [form.format(name=each, sid=sid, other=sid[::-1]) for each in names]
        return f"<h1>{name}</h1><p>All about {name}.{more}" + anchors(hrefs)

    return site


NAMES = tuple(f"{word(number * 7)}q" for number in range(6))
FORMS = ("/s/{sid}/{name}", "/{name}/{sid}", "/{sid}/{other}/{name}", "/{name};{sid}/{sid}", "/x/{name}?a={sid}q")


@pytest.mark.thorough
@pytest.mark.parametrize("count", [1, 3, 6])
@pytest.mark.parametrize("form", FORMS[:4])
def test_ours_copies_cost_the_evidence_in_a_row_and_one_sample(tmp_path: Path, form: str, count: int) -> None:
    found = crawl(below_ids(form, NAMES[:count]), tmp_path)
    assert len(found.read) == 1 + count + EVIDENCE + SAMPLE
    assert len(found.listed) == 1 + count
    assert len(found.notes) == 1


@pytest.mark.parametrize("width", [1, 3])
def test_ours_a_tree_of_equal_bytes_costs_the_evidence_in_a_row_and_one_sample(tmp_path: Path, width: int) -> None:
    def site(path: str) -> str | None:
        if path == "/":
            return "<h1>Home</h1>" + anchors(["/a/"])
        return "<h1>A</h1>" + anchors(f"{word(n)}x/" for n in range(width)) if path.startswith("/a/") else None

    found = crawl(site, tmp_path)
    assert len(found.read) == 1 + 1 + EVIDENCE + SAMPLE
    assert found.listed == {"/", "/a/"}
    (note,) = found.notes
    assert note.startswith("pages that are equal to the byte lead to more and more copies of themselves. This is")
    assert note.endswith(". --set scope.trap_limit=0 crawls all of them")


@pytest.mark.parametrize(("patience", "evidence"), [(3, 4), (9, 4), (30, 10), (57, 19), (60, 20), (250, 20)])
def test_ours_a_lower_trap_limit_asks_for_less_evidence(tmp_path: Path, patience: int, evidence: int) -> None:
    """A third of the limit, and at least the copies of the first pages that lead to new URLs."""
    found = crawl(below_ids("/s/{sid}/{name}", NAMES[:1]), tmp_path, patience=patience)
    assert len(found.read) == 1 + 1 + evidence + SAMPLE


def test_ours_without_a_trap_limit_copies_are_read_on(tmp_path: Path) -> None:
    found = crawl(below_ids("/s/{sid}/{name}", NAMES[:1]), tmp_path, most=200, patience=0)
    assert len(found.read) == 200
    assert found.notes == []


def test_ours_an_unchanged_trap_costs_the_same_in_the_next_run(tmp_path: Path) -> None:
    """A server that says that pages are unchanged sends no text: the stored one is compared."""
    whole = below_ids("/s/{sid}/{name}", NAMES[:3])

    def site(path: str) -> str | None:
        page = whole(path)
        return page.partition("<li>")[0] if page and path.endswith(NAMES[2]) else page  # a copy that leads nowhere

    first = crawl(site, tmp_path)
    assert len(first.read) == 1 + 3 + EVIDENCE + SAMPLE
    end_run(tmp_path)
    second = crawl(site, tmp_path)
    assert (second.read, second.listed, second.notes) == (first.read, first.listed, first.notes)


def test_ours_unchanged_pages_of_a_site_without_traps_are_no_evidence(tmp_path: Path) -> None:
    """They were listed and stay listed, so comparing them would cost time in every run and change nothing."""
    site = below_ids("/s/{sid}/{name}", NAMES[:1])
    before = 40
    first = crawl(site, tmp_path, most=before, patience=0)
    end_run(tmp_path)
    second = crawl(site, tmp_path)
    assert first.listed < second.listed
    assert len(second.read) == before + 1 + EVIDENCE + SAMPLE  # one page more is no copy


def test_ours_the_note_on_copies_says_which_segment_and_how_many_urls_were_left_out(tmp_path: Path) -> None:
    found = crawl(below_ids("/s/{sid}/{name}", NAMES[:2]), tmp_path)
    left_out = [path for path in found.traps if path not in found.read]
    start = "pages under https://site.example/s/* are equal but for this segment of their URLs. This is an infinite URL"
    (note,) = found.notes
    assert note.startswith(
        f"{start} space, so {len(left_out)} of its URLs were left out, such as https://site.example/s/"
    )


@pytest.mark.parametrize(
    "tell", ["<p>{}</p>", '<img src="/i/{}.png">', "<title>{}</title>", '<a href="/own/{}">more</a>']
)
def test_ours_pages_that_differ_in_text_pictures_title_or_links_are_no_copies(tmp_path: Path, tell: str) -> None:
    """Fifty pages under names that look like ids, of which each leads to the next."""
    ids = [fresh_id(number) for number in range(50)]
    own = {f"/own/{word(number * 3)}" for number in range(50)}

    def site(path: str) -> str | None:
        if path in own:
            return f"<p>{path} and no more." + anchors(["/"])
        if path != "/" and path.removeprefix("/p/") not in ids:
            return None
        at = ids.index(path.removeprefix("/p/")) if path != "/" else -1
        shown = tell.format(word(at * 3)) if at >= 0 else ""
        return f"<h1>A page</h1>{shown}" + anchors(f"/p/{each}" for each in ids[at + 1 : at + 2])

    found = crawl(site, tmp_path)
    assert {f"/p/{each}" for each in ids} <= found.listed
    assert found.traps == set()


def test_ours_urls_that_a_sitemap_names_are_read_though_they_are_copies(tmp_path: Path) -> None:
    named = [f"/s/{fresh_id('named', number)}/{NAMES[0]}" for number in range(40)]
    found = crawl(below_ids("/s/{sid}/{name}", NAMES[:1]), tmp_path, named=named)
    assert {*named} <= {*found.read}


def test_ours_what_a_sample_finds_below_copies_is_read_and_more_of_them_are_visited(tmp_path: Path) -> None:
    turns: dict[str, int] = {}

    def site(path: str) -> str | None:
        if path.startswith("/party"):
            return "<p>A party!"
        if path != "/" and not path.startswith("/s/"):
            return None
        turn = turns.setdefault(path, len(turns))
        hrefs = [f"/s/{fresh_id(path, number)}/a" for number in range(3)]
        return "<h1>A</h1><p>All of it." + anchors([*hrefs, *(["/party"] if turn == EVIDENCE + 6 else [])])

    found = crawl(site, tmp_path)
    assert "/party" in found.listed
    assert 1 + 1 + EVIDENCE + SAMPLE + 1 < len(found.read) <= 1 + 1 + 2 * EVIDENCE + 5 * SAMPLE
    assert found.notes


def test_ours_one_url_was_left_out_and_several_were(tmp_path: Path) -> None:
    (note,) = crawl(below_ids("/s/{sid}/{name}", NAMES[:1]), tmp_path).notes
    start, _, end = note.partition(", such as https://site.example/s/")
    assert start.endswith(
        " are equal but for this segment of their URLs. This is an infinite URL space, so 1 of its URLs was left out"
    )
    assert end.endswith(f"/{NAMES[0]}. --set scope.trap_limit=0 crawls all of them")


def test_ours_equal_pages_are_all_of_them_left_out_but_the_nearest(tmp_path: Path) -> None:
    found = crawl(below_ids("/s/{sid}/{name}", NAMES[:3]), tmp_path)
    assert {path.rpartition("/")[2] for path in found.listed - {"/"}} == {*NAMES[:3]}
    assert found.listed == {*found.read[:4]}  # those that the start page leads to
    assert {found.reasons[path] for path in found.traps} == {
        "trap.copies: pages under https://site.example/s/* are equal but for this segment of their URLs"
    }


@pytest.mark.parametrize("patience", [5, 10, 25, 40])
def test_ours_a_calendar_costs_twice_the_trap_limit(tmp_path: Path, patience: int) -> None:
    found = crawl(calendar_by_query, tmp_path, patience=patience)
    days = [path for path in found.read if path.startswith("/cal")]
    assert len(days) == 1 + 2 * patience  # the first day is found on another page
    assert {*days} == {path for path in found.listed if path.startswith("/cal")}
    assert {abs(int(path.partition("=")[2])) for path in found.traps} == {patience + 1}
    (note,) = found.notes
    assert note.startswith(
        f"https://site.example/cal?date=… is an infinite URL space: {2 * patience} such pages were read, and the last "
        f"{patience} of them had nothing new. The rest was left out, such as https://site.example/cal?date="
    )


@pytest.mark.parametrize(("patience", "pages"), [(10, 41), (25, 51)])
def test_ours_a_list_with_news_has_twice_as_many_pages_until_the_later_half_has_none(
    tmp_path: Path, patience: int, pages: int
) -> None:
    """Twenty pages have news: the 20 of the first turn (twice 10) do, of the next 40 the later half does not."""
    found = crawl(last_page_for_ever, tmp_path, patience=patience)
    assert sum(path.startswith("/list") for path in found.read) == pages
    assert sum(path.startswith("/item") for path in found.listed) == 200
    (note,) = found.notes
    assert f"the last {(pages - 1) // 2} of them had nothing new" in note


def test_ours_a_list_is_judged_by_the_later_half_of_its_last_pages_five_times_the_trap_limit(tmp_path: Path) -> None:
    def site(path: str) -> str | None:
        if path == "/":
            return anchors(["/list?page=1"])
        if path.startswith("/item-"):
            return f"<p>{path}"
        number = int(path.partition("=")[2])
        items = [f"/item-{word(number)}"] if number < 60 else []
        return f"<p>Page {number}" + anchors([*items, f"/list?page={number + 1}"])

    found = crawl(site, tmp_path, patience=10)
    assert sum(path.startswith("/item") for path in found.listed) == 59
    (note,) = found.notes
    assert "160 such pages were read, and the last 25 of them had nothing new" in note


def test_ours_filters_share_the_trap_limit_of_their_list_and_each_set_of_them_has_a_tenth(tmp_path: Path) -> None:
    """Twenty lists of one path: the first ones use up what the path may have, each other one is shown in part."""

    def site(path: str) -> str | None:
        if path == "/":
            return anchors(f"/l?{word(kind)}=0" for kind in range(20))
        name, _, number = path.partition("?")[2].partition("=")
        return "<p>A list." + anchors([f"/l?{name}={int(number) + 1}"])

    found = crawl(site, tmp_path, patience=20, most=3_000)
    read = {word(kind): sum(f"?{word(kind)}=" in path for path in found.read) for kind in range(20)}
    assert 2 * 20 <= sum(read.values()) - 20 <= 2 * 20 + 20 * 2
    assert min(read.values()) >= 1 + 2
    (note,) = found.notes
    assert "(and 19 more like it)" in note


def editions(names: Sequence[str], *, all_editions: bool) -> Site:
    """Thirty pages that are the same in each edition. The first edition is found on the start page.

    Or a page leads to all of its editions and to the page after it, which is found on no other page.
    """
    texts = [f"{word(number * 5)}q" for number in range(30)]
    places = {f"/{name}/{text}": (at, text) for at, name in enumerate(names) for text in texts}

    def site(path: str) -> str | None:
        if path == "/":
            return anchors([f"/{names[0]}/{text}" for text in (texts[:1] if all_editions else texts)])
        if path not in places:
            return None
        at, text = places[path]
        hrefs = [f"/{other}/{text}" for other in (names if all_editions else names[at : at + 2])]
        if all_editions:
            hrefs += [f"/{names[at]}/{following}" for following in texts[texts.index(text) + 1 :][:1]]
        return f"<h1>{text}</h1><p>All about it." + anchors(hrefs)

    return site


@pytest.mark.parametrize(
    ("names", "all_editions"),
    [(("en", "fr", "it"), True), (("en", "fr", "it"), False), (tuple(map(str, range(9))), False)],
)
def test_ours_a_few_languages_without_translations_and_versions_that_count_are_listed(
    tmp_path: Path, names: tuple[str, ...], all_editions: bool
) -> None:
    found = crawl(editions(names, all_editions=all_editions), tmp_path)
    assert len(found.listed) == 1 + 30 * len(names)
    assert found.notes == []


def test_ours_the_same_pages_under_more_and_more_names_are_listed_under_one(tmp_path: Path) -> None:
    found = crawl(editions([word(number) for number in range(60)], all_editions=False), tmp_path)
    assert len(found.listed) == 1 + 30
    assert len(found.notes) == 1
