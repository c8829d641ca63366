"""How many pages a text came to, left, or stayed on."""

from crawler.lastmod.changes import SiteChanges
from crawler.parse.snapshot.diff import Delta, compare, content_keys
from crawler.parse.snapshot.snapshot import take_snapshot

_LINES = ("The harbour opens at nine each morning.", "Boats leave from the quay behind it.", "Tickets are sold aboard.")


def _snapshot(*lines: str) -> bytes:
    return take_snapshot("".join(f"<p>{line}</p>" for line in lines).encode())


def test_ours_a_page_on_which_a_text_moved_had_it_before_and_one_to_which_it_came_had_not() -> None:
    first, second, third = _LINES
    after = _snapshot(second, first, third)
    deltas = {0: compare(_snapshot(*_LINES), after), 1: compare(_snapshot(third), after), 2: Delta()}
    changes = SiteChanges(3, lambda: dict.fromkeys(deltas, content_keys(after)), (), lambda: iter(deltas.items()), {})
    for page, delta in deltas.items():
        changes.add(page, delta)
    texts = {d.exact for d in deltas[0].differences}
    assert texts
    assert [(changes.held[text], changes.kept[text]) for text in texts] == [(3, 2)] * len(texts)
