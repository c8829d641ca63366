"""What an earlier version learnt of a site goes on in the state."""

from pathlib import Path

import msgspec

from crawler.lastmod.memory import ChangeHistory, SiteMemory, Variation
from crawler.lastmod.store import ObservationStore
from crawler.state.schema import STATE_DB


def test_ours_the_memory_of_a_version_that_knew_more_of_each_slot_goes_on(tmp_path: Path) -> None:
    former = {"compared": 7, "slots": {1: [3.0, 2.0] + [0.0] * 8}, "pool": {5: 6}, "moves": {2: {9: 6}}, "figures": {}}
    db = STATE_DB.open(tmp_path / "state.db")
    db.execute("INSERT INTO lesson VALUES ('slots', ?)", (msgspec.msgpack.encode(former),))
    db.execute("INSERT INTO habit VALUES (4, ?)", (msgspec.msgpack.encode([6, 0.8, 7]),))
    store = ObservationStore(db, 8)
    memory = store.memory()
    assert memory == SiteMemory(7, {4: ChangeHistory(6, 0.8, 7)}, moves={2: {9: 6}})
    memory.slots[3] = Variation(2.0, 1.0)
    store.store_site(memory, "", "observed")
    assert ObservationStore(db, 9).memory() == memory
    assert [name for (name,) in db.execute("SELECT name FROM lesson")] == ["memory"]
    db.close()
