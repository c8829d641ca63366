"""The table of faults names tests that exist."""

import ast
from functools import cache
from pathlib import Path

import pytest
from faults import FOLDER, Fault, faults


@cache
def _tests(file: Path) -> set[str]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


@pytest.mark.parametrize("fault", [*faults()], ids=lambda fault: fault.id)
def test_ours_each_fault_has_a_test_or_a_reason(fault: Fault) -> None:
    assert fault.tests or fault.reason
    for name in fault.tests:
        file, _, test = name.partition("::")
        assert (FOLDER / file).is_file(), name
        assert not test or test.partition("[")[0] in _tests(FOLDER / file), name


def test_ours_no_fault_stands_twice() -> None:
    ids = [fault.id for fault in faults()]
    assert len(ids) == len({*ids}) > 200
