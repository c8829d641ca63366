"""The link graph: what counts as a link, what leads where, how far it is and what it weighs."""

import numpy as np
import pytest
from graphs import Link, Plainly, graph
from hypothesis import given, settings
from hypothesis import strategies as st

from crawler.audit.graph.graph import InboundLink, LinkGraph
from crawler.audit.graph.links import LinkKind
from crawler.model import DiscoveredBy, State

PAGE, MOVED, COPY, NOINDEX, GONE = (
    State.INDEXABLE,
    State.REDIRECT,
    State.CANONICAL_ELSEWHERE,
    State.NOINDEX,
    State.CLIENT_ERROR,
)
LINK = DiscoveredBy.LINK
STATES = st.sampled_from([PAGE, PAGE, PAGE, MOVED, COPY, NOINDEX, GONE])
FLAGS = st.sampled_from(
    [
        *(
            LINK,
            LINK,
            LINK,
            DiscoveredBy.FRAME,
            DiscoveredBy.NOFOLLOW,
            LINK | DiscoveredBy.NOFOLLOW,
            DiscoveredBy.CANONICAL,
            DiscoveredBy.REFRESH,
        ),
        *(
            DiscoveredBy.ALTERNATE,
            DiscoveredBy.PAGINATION | LINK,
            DiscoveredBy.AMP,
            DiscoveredBy.FEED,
            DiscoveredBy.SITEMAP,
            DiscoveredBy.PREVIOUS_RUN,
        ),
    ]
)


def ways(made: LinkGraph, node: int) -> LinkKind:
    return LinkKind(int(made.ways[node]))


def test_google_links_a_followed_link_on_an_indexed_page_counts_and_nofollow_does_not() -> None:
    made = graph([PAGE] * 3, [(0, 1, LINK), (0, 2, DiscoveredBy.NOFOLLOW)])
    assert [ways(made, node) for node in (1, 2)] == [LinkKind.FOLLOWED, LinkKind.NOFOLLOW]
    assert made.depth == [0, 1, -1]
    assert all(made.touched)
    assert made.inlinks == [0, 1, 0]


def test_google_links_one_that_is_also_linked_without_nofollow_is_followed() -> None:
    assert ways(graph([PAGE] * 2, [(0, 1, LINK | DiscoveredBy.NOFOLLOW)]), 1) == LinkKind.FOLLOWED


def test_ours_a_noindexed_page_leads_on_by_clicks_and_its_links_are_weak() -> None:
    made = graph([PAGE, NOINDEX, PAGE], [(0, 1, LINK), (1, 2, LINK)])
    assert made.depth == [0, 1, 2]
    assert ways(made, 2) == LinkKind.NOINDEX
    assert made.inlinks[2] == 0


def test_ours_a_redirect_costs_no_click_and_is_a_weak_way() -> None:
    made = graph([PAGE, MOVED, MOVED, PAGE], [(0, 1, LINK)], {1: 2, 2: 3})
    assert made.depth == [0, 1, 1, 1]
    assert ways(made, 3) == LinkKind.REDIRECT
    assert made.referrers(3, 5) == [InboundLink(0, LinkKind.REDIRECT, 1)]


def test_ours_a_refresh_is_a_redirect() -> None:
    made = graph([PAGE, PAGE, PAGE], [(0, 1, LINK), (1, 2, DiscoveredBy.REFRESH)])
    assert made.depth == [0, 1, 1]
    assert ways(made, 2) == LinkKind.REDIRECT


def test_ours_a_link_to_a_copy_is_a_way_by_canonical_and_no_click() -> None:
    made = graph([PAGE, COPY, PAGE], [(0, 1, LINK), (1, 2, DiscoveredBy.CANONICAL)], {1: 2})
    assert ways(made, 2) == LinkKind.CANONICAL
    assert made.depth[2] == -1
    assert made.touched[2]


def test_ours_a_link_on_a_page_with_another_canonical_is_a_way_of_its_own() -> None:
    made = graph([PAGE, COPY, PAGE, PAGE], [(0, 1, LINK), (0, 2, LINK), (1, 3, LINK)], {1: 2})
    assert ways(made, 3) == LinkKind.VARIANT
    assert made.depth[3] == 2


def test_ours_a_page_that_only_its_own_other_spellings_lead_to_is_an_orphan() -> None:
    # 1 links to itself, to its old address 2 and to its copy 3; nobody else knows any of them
    links = [(1, 1, LINK), (1, 2, LINK), (1, 3, LINK), (3, 1, LINK), (3, 1, DiscoveredBy.CANONICAL), (3, 3, LINK)]
    made = graph([PAGE, PAGE, MOVED, COPY], links, {2: 1, 3: 1})
    assert [*made.ways] == [0, 0, 0, 0]
    assert made.inlinks == [0, 0, 0, 0]
    assert made.referrers(1, 5) == []
    assert made.island == [-1, -1, -1, -1]  # in three spellings it is still alone


def test_ours_a_nofollow_page_does_not_help_itself_by_its_old_address() -> None:
    made = graph([PAGE, PAGE, MOVED], [(0, 1, DiscoveredBy.NOFOLLOW), (1, 2, LINK)], {2: 1})
    assert ways(made, 1) == LinkKind.NOFOLLOW


def test_ours_what_asks_neither_to_be_indexed_nor_followed_invites_nobody() -> None:
    made = graph([PAGE, State.NOINDEX, PAGE, PAGE], [(0, 1, LINK), (1, 2, DiscoveredBy.NOFOLLOW), (1, 3, LINK)])
    assert [*made.touched] == [True] * 4
    assert [*made.crawlable] == [False, True, False, True]
    assert graph([PAGE] * 2, [(0, 1, DiscoveredBy.NOFOLLOW)]).crawlable[1]


def test_ours_pages_that_nothing_leads_to_invite_all_the_same() -> None:
    assert graph([PAGE] * 3, [(1, 2, DiscoveredBy.NOFOLLOW)]).crawlable[2]


def test_ours_nobody_clicks_what_only_the_head_names_also_by_way_of_a_redirect() -> None:
    made = graph([PAGE, MOVED, GONE], [(0, 1, DiscoveredBy.ALTERNATE), (0, 2, DiscoveredBy.CANONICAL)], {1: 2})
    assert (made.visitor_link_kinds(2), ways(made, 2)) == (0, LinkKind.REDIRECT | LinkKind.CANONICAL)
    assert graph([PAGE, MOVED, GONE], [(0, 1, LINK)], {1: 2}).visitor_link_kinds(2) == LinkKind.REDIRECT


def test_ours_sitemaps_lead_nowhere() -> None:
    made = graph([PAGE, PAGE, PAGE], [(0, 1, DiscoveredBy.SITEMAP), (1, 2, LINK)])
    assert [*made.touched] == [True, False, False]
    assert [ways(made, node) for node in (1, 2)] == [LinkKind(0), LinkKind.UNREACHED]


def test_ours_what_is_only_named_in_the_head_is_touched() -> None:
    made = graph(
        [PAGE] * 5,
        [(0, 1, DiscoveredBy.ALTERNATE), (0, 2, DiscoveredBy.PAGINATION), (0, 3, DiscoveredBy.AMP), (1, 4, LINK)],
    )
    assert [ways(made, node) for node in (1, 2, 3, 4)] == [
        LinkKind.HEAD,
        LinkKind.HEAD,
        LinkKind.HEAD,
        LinkKind.FOLLOWED,
    ]
    assert made.depth == [0, -1, -1, -1, -1]


def test_ours_the_target_of_a_start_that_redirects_is_the_start() -> None:
    made = graph([MOVED, PAGE, PAGE], [(1, 2, LINK)], {0: 1})
    assert made.start == 1
    assert made.depth == [0, 0, 1]
    assert ways(made, 1) == LinkKind.REDIRECT


def test_ours_a_circle_of_redirects_ends_and_leads_nowhere() -> None:
    made = graph([PAGE, MOVED, MOVED, MOVED], [(0, 1, LINK)], {1: 2, 2: 3, 3: 2})
    assert made.home == [0, 1, 2, 3]
    assert made.depth == [0, 1, 1, 1]


def test_ours_islands_are_numbered_by_size_and_a_lonely_page_is_none() -> None:
    links = [(1, 2, LINK), (3, 4, LINK), (5, 4, LINK), (6, 6, LINK), (1, 0, LINK), (6, 0, LINK)]
    made = graph([PAGE] * 7, links)
    assert made.island == [-1, 1, 1, 0, 0, 0, -1]
    with_a_feed = graph([PAGE, PAGE, State.WRONG_TYPE], [(1, 2, DiscoveredBy.FEED)])
    assert with_a_feed.island == [-1, -1, -1]


def test_ours_the_best_referrers_come_first() -> None:
    links = [(0, 1, LINK), (0, 2, LINK), (0, 3, LINK), (1, 3, LINK), (2, 3, LINK), (1, 4, LINK), (2, 4, LINK)]
    links += [(0, 5, LINK), (5, 4, LINK), (3, 4, LINK), (0, 4, DiscoveredBy.NOFOLLOW)]
    made = graph([PAGE, PAGE, PAGE, PAGE, PAGE, NOINDEX], links)
    leads = made.referrers(4, 9)
    assert [lead.node for lead in leads] == [3, 1, 2, 5, 0]
    assert [lead.way for lead in leads] == [LinkKind.FOLLOWED] * 3 + [LinkKind.NOINDEX, LinkKind.NOFOLLOW]
    assert made.referrers(4, 2) == leads[:2]


def test_ours_an_empty_site_has_a_graph() -> None:
    made = graph([GONE], [])
    assert (made.depth, made.weight, made.island) == ([0], [0.0], [-1])


@st.composite
def sites(draw: st.DrawFn) -> tuple[list[State], list[Link], dict[int, int]]:
    states = draw(st.lists(STATES, min_size=1, max_size=9))
    node = st.integers(0, len(states) - 1)
    links = draw(st.lists(st.tuples(node, node, FLAGS), max_size=24))
    targets = draw(st.dictionaries(node, node, max_size=5))
    moved = {source: to for source, to in targets.items() if states[source] in (MOVED, COPY) and source != to}
    return states, links, moved


@given(sites())
@settings(max_examples=150)
def test_ours_the_arrays_say_what_the_rules_say(site: tuple[list[State], list[Link], dict[int, int]]) -> None:
    states, links, targets = site
    made, plain = graph(states, links, targets), Plainly(states, links, targets)
    everything = range(len(states))
    assert made.home == plain.homes
    assert made.start == plain.start
    assert made.depth == [plain.depth.get(node, -1) for node in everything]
    assert {node for node in everything if made.touched[node]} == plain.touched
    for node in everything:
        found = {way for way in LinkKind if made.ways[node] & way}
        assert found == plain.ways(node), node
        assert made.inlinks[node] == plain.inlinks(node)
        leads = made.referrers(node, 99)
        assert {lead.way for lead in leads} <= found
        if found and node != plain.homes[0]:  # a start that moved has a way without a page
            assert leads[0].way == min(found)
        weak = found - {LinkKind.UNREACHED}
        if node not in targets and node not in (plain.start, plain.homes[0]):
            assert bool(weak) == (node in plain.touched)  # what is touched has a way that says why


@pytest.mark.thorough
@given(sites())
@settings(max_examples=150)
def test_ours_weights_solve_the_equation_of_pagerank(site: tuple[list[State], list[Link], dict[int, int]]) -> None:
    states, links, targets = site
    made, plain = graph(states, links, targets), Plainly(states, links, targets)
    pages = [node for node, state in enumerate(states) if state is PAGE]
    if not pages:
        assert not any(made.weight)
        return
    steps = np.zeros((len(states), len(states)))  # from column to row
    for (source, to), found in plain.links.items():
        if plain.homes[source] != plain.homes[to] and LinkKind.FOLLOWED in plain.kinds(source, found):
            steps[plain.homes[to], source] += 1
    jump = np.array([(node in pages) / len(pages) for node in range(len(states))])
    out = steps.sum(axis=0)
    steps = np.where(out > 0, steps / np.maximum(out, 1), jump[:, None])
    rank = np.linalg.solve(np.eye(len(states)) - 0.85 * steps, 0.15 * jump)
    average = rank[pages].mean()
    for node in range(len(states)):
        assert abs(made.weight[node] - rank[node] / average) < 0.01


@given(sites())
@settings(max_examples=150)
def test_ours_islands_are_the_components_of_what_is_not_touched(
    site: tuple[list[State], list[Link], dict[int, int]],
) -> None:
    states, links, targets = site
    made, plain = graph(states, links, targets), Plainly(states, links, targets)
    parts = [{node} for node in range(len(states)) if node not in plain.touched]
    pairs = [(source, to) for source, to, found in links if found & ~(DiscoveredBy.SITEMAP | DiscoveredBy.PREVIOUS_RUN)]
    for pair in (*pairs, *targets.items()):
        if not plain.touched & set(pair):
            joined = set().union(*(part for part in parts if part & set(pair)))
            parts = [*(part for part in parts if not part & joined), joined]
    parts = [part for part in parts if sum(states[each] is PAGE for each in part) > 1]
    parts.sort(key=lambda part: (-len(part), min(part)))
    expected = {node: number for number, part in enumerate(parts) for node in part}
    assert made.island == [expected.get(node, -1) for node in range(len(states))]


@given(sites())
@settings(max_examples=150)
def test_ours_links_to_the_entrances_alone_lead_to_every_page_of_the_islands(
    site: tuple[list[State], list[Link], dict[int, int]],
) -> None:
    states, links, targets = site
    made = graph(states, links, targets)
    entrances = set(made.entrance.values())
    pages = {node for node, state in enumerate(states) if state is PAGE and made.island[node] >= 0}
    assert pages <= made.entrance.keys()
    assert entrances <= pages

    def left(missing: int) -> set[int]:
        """The pages that links to the other entrances do not lead to."""
        here = len(states)
        more = [(0, here, LINK), *((here, node, LINK) for node in entrances - {missing})]
        start = graph([PAGE if states[0] is GONE else states[0], *states[1:], PAGE], [*links, *more], targets)
        return {node for node in pages if start.depth[node] < 0} if start.depth[here] >= 0 else set()

    assert not left(-1)
    if graph([*states, PAGE], [*links, (0, len(states), LINK)], targets).depth[-1] >= 0:
        assert all(left(entrance) for entrance in entrances)  # none of them is needless


def test_ours_the_entrance_of_a_section_is_its_index() -> None:
    section = [(1, node, LINK) for node in range(2, 9)] + [(node, 1, LINK) for node in range(2, 9)] + [(3, 0, LINK)]
    made = graph([PAGE] * 9, section)
    assert made.entrance == dict.fromkeys(range(1, 9), 1)


def test_ours_weight_flows_through_redirects_to_the_page() -> None:
    made = graph([PAGE, MOVED, PAGE, PAGE], [(0, 1, LINK), (0, 3, LINK)], {1: 2})
    assert made.weight[2] == pytest.approx(made.weight[3])
    assert made.weight[1] == 0.0


def test_ours_a_page_is_drawn_if_scripts_create_all_links_that_count() -> None:
    drawn = LINK | DiscoveredBy.SCRIPT
    states = [PAGE, PAGE, PAGE, PAGE, PAGE, NOINDEX, PAGE]
    links = [
        (0, 1, drawn),  # only by a script
        (0, 2, drawn), (1, 2, LINK),  # also without one
        (0, 3, drawn), (0, 3, DiscoveredBy.ALTERNATE), (0, 5, LINK), (5, 3, LINK),  # else only what does not count
        (0, 4, LINK),
        (1, 1, LINK),  # a page does not link to itself
    ]  # fmt: skip
    assert [*graph(states, links).drawn] == [0, 1, 0, 1, 0, 0, 0]
    plain = [(source, to, flags & ~DiscoveredBy.SCRIPT) for source, to, flags in links]
    assert not any(graph(states, plain).drawn)
    assert graph(states, plain).ways == graph(states, links).ways


@pytest.mark.thorough
def test_ours_a_site_whose_redirects_all_lead_to_one_page_ends() -> None:
    """Work that grows with the square of the redirects takes hours here: the time limit of the tests ends it."""
    count = 100_000
    links = [(0, 1, LINK), *((0, node, LINK) for node in range(2, count))]
    made = graph([PAGE, PAGE, *[MOVED] * (count - 2)], links, dict.fromkeys(range(2, count), 1))
    assert ways(made, 1) == LinkKind.FOLLOWED | LinkKind.REDIRECT
    assert made.inlinks[1] == 1
