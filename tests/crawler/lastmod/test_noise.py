"""Noise and edits: where the line between them is, and sites whose noises are drawn at random."""

import random
from collections.abc import Callable

import pytest
from lastmod_lab import Lab, Score
from noisy_site import NoisySite, draw_noise, sentence

from crawler.lastmod.variation import MAX_READS


class Template:
    """Pages of one template. ``box`` is what varies on each, given its number and that of the request."""

    def __init__(self, size: int, box: Callable[[int, int], str]) -> None:
        rng = random.Random(1)
        self.pages = {f"/{n}": [sentence(rng), sentence(rng), sentence(rng)] for n in range(size)}
        self.box = box
        self.price = 10.0
        self.requests = 0

    def render(self, path: str) -> bytes:
        self.requests += 1
        first, *rest = self.pages[path]
        text = "".join(f"<p>{each}</p>" for each in rest)
        box = self.box(int(path[1:]), self.requests)
        return (
            f"<body><main><h1>{first}</h1><p class=price>{self.price + int(path[1:]):.2f}</p>"
            f"<div class=text>{text}</div>{box}</main></body>"
        ).encode()


def quote(n: int, request: int, pool: int = 5) -> str:
    rng = random.Random(f"{n} {request}")
    return f"<div class=box><p>{sentence(random.Random(rng.randrange(pool)), 8)}</p></div>"


def visited(site: Template, runs: int) -> Lab:
    lab = Lab(site)  # type: ignore[arg-type]  # it has pages and render
    for _ in range(runs):
        lab.visit()
    return lab


def test_ours_a_new_sentence_in_a_box_that_rotates_is_an_edit() -> None:
    site = Template(40, quote)
    lab = visited(site, 5)
    assert lab.visit() == set()
    rotating = site.box
    site.box = lambda n, request: (
        "<div class=box><p>We move to Oak Street.</p></div>" if n == 7 else rotating(n, request)
    )
    assert lab.visit() == {"/7"}


def test_ours_a_counter_that_our_own_visit_moves_is_no_edit_on_few_pages_either() -> None:
    site = Template(40, lambda n, request: f"<p>Read {n * 7 + request} times by friends</p>" if n in {3, 4} else "")
    lab = visited(site, 2)
    site.pages["/9"][1] = "Something else was written here today."
    assert lab.visit() == {"/9"}
    assert lab.reads <= 4


def test_ours_prices_that_were_quiet_and_rise_on_all_pages_are_edits() -> None:
    site = Template(40, quote)
    lab = visited(site, 4)
    site.price *= 1.05
    assert lab.visit() == set(site.pages)
    assert lab.reads <= 12  # a few of a group that stays are enough
    assert lab.visit() == set()


def test_ours_another_picture_is_an_edit_while_all_fingerprints_move() -> None:
    def made(n: int, picture: str, alt: str, mark: str) -> str:
        return f"<figure><img src='/img/{picture}-{n}.{mark}.jpg' alt='{alt} {n}'></figure>"

    site = Template(30, lambda n, _: made(n, "boat", "A boat", "3f2a1b9c"))
    lab = visited(site, 2)
    site.box = lambda n, _: made(n, "ship" if n == 4 else "boat", "A ship" if n == 5 else "A boat", "77aa21fe")
    assert lab.visit() == {"/4", "/5"}


def test_ours_a_paragraph_that_moved_is_an_edit_and_a_list_that_is_shuffled_is_not() -> None:
    def shuffled(n: int, request: int) -> str:
        items = [sentence(random.Random(f"{n} {k}"), 6) for k in range(5)]
        random.Random(request).shuffle(items)
        return f"<ul class=tips>{''.join(f'<li>{item}</li>' for item in items)}</ul>"

    site = Template(30, shuffled)
    lab = visited(site, 3)
    site.pages["/8"][1:] = reversed(site.pages["/8"][1:])
    assert lab.visit() == {"/8"}


def test_ours_the_same_sentence_among_the_own_texts_of_a_section_is_an_edit_and_of_the_site_is_none() -> None:
    site = Template(30, lambda n, _: "")
    lab = visited(site, 3)
    section = {f"/{n}" for n in range(0, 30, 3)}
    for path in section:
        site.pages[path].append("Orders are delivered from the new store.")
    assert lab.visit() == section
    for texts in site.pages.values():
        texts.append("Text and pictures belong to the harbour office.")
    site.pages["/4"][1] = "Something else was written here today."
    assert lab.visit() == {"/4"}


def test_ours_a_rotation_inside_a_sentence_is_no_edit_and_the_words_around_it_are() -> None:
    def named(n: int, request: int) -> str:
        name = random.Random(f"{n} {request // 35}").choice(("Ann", "Bert", "Carla", "Dora"))  # anew in each run
        story = "sold" if n == 6 and request > 35 * 5 else "mended"
        return (
            f"<p>The crew of boat {n} {story} a net. On watch <span class=watch>{name} was here</span> all night.</p>"
        )

    lab = visited(site := Template(35, named), 4)
    site.requests = 35 * 5
    assert lab.visit() <= {"/6"}
    site.requests = 35 * 7
    assert lab.visit() <= {"/6"}


@pytest.mark.thorough
def test_ours_a_sentence_before_a_text_that_rotates_is_an_edit() -> None:
    site = Template(40, quote)
    lab = visited(site, 6)
    rotating = site.box
    site.box = lambda n, request: rotating(n, request).replace("<p>", "<p>We move to Oak Street. " if n == 7 else "<p>")
    assert lab.visit() == {"/7"}
    assert lab.visit() == set()


def test_ours_cards_that_a_third_of_the_pages_exchange_in_each_run_are_no_edits() -> None:
    def card(n: int, request: int) -> str:
        to = random.Random(f"{n} {(request // 40 + n) // 3}").randrange(400)
        return f"<div class=card><a href=/p/{to}><img src=/p/{to}.jpg></a><p>{sentence(random.Random(to), 7)}</p></div>"

    site = Template(40, card)
    lab = Lab(site, limit=0)  # type: ignore[arg-type]  # 40 requests are a run
    for _ in range(4):
        lab.visit()
    site.pages["/9"][1] = "Something else was written here today."
    assert lab.visit() == {"/9"}


def test_ours_nothing_is_read_twice_while_nothing_differs() -> None:
    site = Template(30, lambda n, _: "")
    lab = visited(site, 1)
    before = site.requests
    assert lab.visit() == set()
    assert site.requests == before + len(site.pages)


def with_paragraphs(size: int) -> Template:
    """Pages of seven paragraphs each."""
    site, rng = Template(size, lambda n, _: ""), random.Random(2)
    for texts in site.pages.values():
        texts.extend(sentence(rng) for _ in range(5))
    return site


def test_ours_commands_on_one_page_that_are_edited_in_every_other_run_are_edited_each_time() -> None:
    rng = random.Random(4)
    commands = ""
    lab = visited(site := with_paragraphs(20), 1)
    site.box = lambda n, _: f"<pre>{commands}</pre>" if n == 7 else ""
    for run in range(8):
        site.pages[f"/{10 + run}"][3] = sentence(rng)  # a run in which nothing differs teaches nothing
        if is_edited := run % 2 == 0:
            commands = sentence(rng)
        assert lab.visit() == ({f"/{10 + run}", "/7"} if is_edited else {f"/{10 + run}"})


def test_ours_a_day_that_is_moved_in_two_runs_on_end_is_edited_twice() -> None:
    rng = random.Random(5)
    lab = visited(site := with_paragraphs(20), 0)
    for run, day in enumerate((4, 4, 6, 9, 9, 12)):
        site.pages[f"/{10 + run}"][3] = sentence(rng)
        site.pages["/7"][2] = f"The next meeting is on {day} May 2026."
        said = lab.visit()
        assert run == 0 or said == ({f"/{10 + run}", "/7"} if run in {2, 3, 5} else {f"/{10 + run}"})


def test_ours_an_author_of_one_page_who_also_writes_others_is_an_edit_each_time() -> None:
    authors = [["Ann Lind", "Bert Moen", "Clara Weiss", "Dmitri Hale"][n % 4] for n in range(6)]
    lab = visited(Template(6, lambda n, _: f"<p>By <span class=byline>{authors[n]}</span>. Thanks.</p>"), 2)
    for n in (1, 2):
        authors[n] = authors[n + 2]
        assert lab.visit() == {f"/{n}"}


def trial(seed: int, size: int, noises: int) -> Score:
    """Six regenerations with edits; what was said from the second on."""
    rng = random.Random(f"{seed} {size} {noises}")
    site = NoisySite(seed, size, fingerprints=rng.random() < 0.4)
    site.noises = [draw_noise(rng, sorted(site.pages)) for _ in range(noises)]
    lab, score = Lab(site), Score()
    lab.visit()
    for run in range(1, 7):
        site.next_run()
        edited = site.edit(min(6, max(2, size // 10)))
        if run == 4:
            edited.update(site.edit_section())
        said = lab.visit()
        assert lab.reads <= lab.limit
        if run >= 2:
            score.count(said, set(edited))
    return score


def total(scores: list[Score]) -> Score:
    return Score(*(sum(getattr(score, name) for score in scores) for name in ("right", "wrong", "missed")))


@pytest.mark.parametrize(
    ("noises", "seeds"),
    [
        (0, range(2)),
        pytest.param(0, range(2, 6), marks=pytest.mark.thorough),
        pytest.param(1, range(6), marks=pytest.mark.thorough),
    ],
)
def test_ours_a_noise_at_random_is_told_from_edits(noises: int, seeds: range) -> None:
    score = total([trial(seed, 60, noises) for seed in seeds])
    assert score.precision >= 0.99
    assert score.recall >= 0.99


@pytest.mark.slow
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("size", [20, 150, 300])
@pytest.mark.parametrize("noises", [1, 5])
def test_ours_noises_at_random_are_told_from_edits(size: int, noises: int) -> None:
    score = total([trial(seed, size, noises) for seed in range(40)])
    print(f"\n{size} pages, {noises} noises: precision {score.precision:.4f}, recall {score.recall:.4f}")
    assert min(score.precision, score.recall) >= (0.99 if noises == 1 else 0.97)


def test_ours_an_order_that_moves_by_one_item_in_each_run_is_no_edit() -> None:
    items = [sentence(random.Random(k), 6) for k in range(6)]

    def listed(n: int, _: int) -> str:
        here = [*items]
        here.insert(5 - lab.run % 5, here.pop(0))
        return f"<div class=t{n}><ul class=tips>{''.join(f'<li>{item}</li>' for item in here)}</ul></div>" * (n < 3)

    lab = Lab(Template(60, listed))
    assert [lab.visit() for _ in range(5)][1:] == [set(), set(), set(), set()]


def test_ours_a_text_that_varies_by_chance_is_found_at_the_third_read() -> None:
    shown = iter("AABBBA")  # in three runs, and at the second reads of the third one
    site = Template(40, lambda n, _: f"<p class=offer>Offer {next(shown)} of the week</p>" if n == 4 else "")
    lab = visited(site, 2)
    assert lab.visit() == set()
    assert lab.reads == MAX_READS


def test_ours_an_edited_page_is_read_three_times_more_at_most() -> None:
    site = Template(40, lambda n, _: "")
    lab = visited(site, 2)
    site.pages["/9"][1] = "Something else was written here today."
    assert lab.visit() == {"/9"}
    assert lab.reads == MAX_READS


def test_ours_pictures_of_two_pages_that_are_replaced_in_turn_are_edits_each_time() -> None:
    def made(n: int, picture: str) -> str:
        return f"<figure class=view><img src='/img/{picture}-{n}.jpg' alt='The {picture}'></figure>" * (n < 2)

    site = Template(12, lambda n, _: made(n, "boat"))
    lab = visited(site, 2)
    for page, pictures in enumerate((("ship", "boat"), ("ship", "quay"))):
        site.box = lambda n, _, pictures=pictures: made(n, pictures[n % 2])  # type: ignore[misc]
        assert lab.visit() == {f"/{page}"}


def _related(ways: dict[int, int], of: str = "other") -> Callable[[int, int], str]:
    def made(n: int, _: int) -> str:
        first = 100 * n if of == "own" else 0
        shown = [first + (3 * ways.get(n, n) + k) % 12 for k in range(3)]
        links = "".join(f'<li><a href="/{each}">Page {title(each)}</a></li>' for each in shown)
        return f"<ul class=related>{links}</ul>"

    return made


def title(number: int) -> str:
    return sentence(random.Random(number), 3)


def test_ours_a_list_of_links_that_shows_only_those_of_other_lists_was_not_written() -> None:
    site = Template(12, _related({}))
    lab = visited(site, 2)
    site.box = _related({5: 6})
    assert lab.visit() == set()


def test_ours_a_list_of_links_that_no_other_page_shows_was_written() -> None:
    site = Template(12, _related({}, "own"))
    lab = visited(site, 2)
    site.box = _related({5: 6}, "own")
    assert lab.visit() == {"/5"}


def test_ours_a_paragraph_that_moves_in_two_runs_among_many_is_an_edit_each_time() -> None:
    site = Template(30, lambda n, _: "")
    site.pages["/8"] += [sentence(random.Random(k), 9) for k in range(14)]
    lab = visited(site, 3)
    for _ in range(2):
        site.pages["/8"].insert(9, site.pages["/8"].pop(3))
        assert lab.visit() == {"/8"}


def test_ours_an_order_that_varies_in_one_template_varies_in_the_same_list_of_others() -> None:
    def shuffled(n: int, request: int) -> str:
        items = [sentence(random.Random(f"{n} {k}"), 6) for k in range(5)]
        random.Random(f"{n} {(request // 40 + n) // 3}").shuffle(items)
        return f"<div class=t{n}><ul class=tips>{''.join(f'<li>{item}</li>' for item in items)}</ul></div>"

    lab = visited(Template(40, shuffled), 3)
    assert lab.visit() == set()


def test_ours_other_words_in_a_list_that_is_shuffled_are_an_edit() -> None:
    words: dict[int, str] = {}

    def shuffled(n: int, request: int) -> str:
        items = [sentence(random.Random(f"{n} {k}"), 6) for k in range(5)]
        items[2] = words.get(n, items[2])
        random.Random(request).shuffle(items)
        return f"<ul class=tips>{''.join(f'<li>{item}</li>' for item in items)}</ul>"

    lab = visited(Template(30, shuffled), 3)
    words[6] = "We move to Oak Street in the first week of May."
    assert lab.visit() == {"/6"}


def test_ours_a_sentence_that_came_before_a_price_that_moves_is_an_edit() -> None:
    news: dict[int, str] = {}

    def offer(n: int, request: int) -> str:
        price = random.Random(f"{n} {request // 40}").randrange(1000, 9000) / 100
        return f"<div class=offer>{news.get(n, '')} From ${price:.2f}</div>" * (n % 2)

    lab = visited(Template(40, offer), 4)
    news[7] = "We move to Oak Street in the first week of May."
    assert lab.visit() == {"/7"}
    assert lab.visit() == set()


def test_ours_figures_of_a_long_text_that_move_on_one_page_in_each_run_are_no_edits() -> None:
    def counted(n: int, request: int) -> str:
        visitors = random.Random(request // 40).randrange(10, 9000)
        return f"<p>Since the spring the lighthouse of our harbour has welcomed {visitors} visitors.</p>" * (n == 5)

    lab = visited(Template(40, counted), 2)
    assert "/5" not in lab.visit()


def test_ours_boxes_whose_whole_text_is_replaced_on_some_pages_in_each_run_are_no_edits() -> None:
    def quoted(n: int, request: int) -> str:
        of = random.Random(f"{n} {(request // 40 + n) // 3}").randrange(9000)
        return f"<div class=t{n}><div class=box>{sentence(random.Random(of), 8)}</div></div>" * (n % 2)

    site = Template(40, quoted)
    lab = visited(site, 5)
    site.pages["/9"][1] = "Something else was written here today."
    assert lab.visit() == {"/9"}
