"""The tables of the manual that are made from the code say what the code says."""

from pathlib import Path

import pytest

from tests.manual_tables import TABLES, pages, rendered


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_ours_the_manual_has_the_tables_of_the_code(page: Path) -> None:
    written = page.read_text(encoding="utf-8")
    assert written == rendered(written), "run: python -m tests.manual_tables"


def test_ours_each_table_stands_on_a_page() -> None:
    manual = "".join(page.read_text(encoding="utf-8") for page in pages())
    assert all(f"<!-- table: {name} -->" in manual for name in TABLES)
