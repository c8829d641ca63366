"""Attacks from a hostile web, drawn at random: one module for each family.

Each module has ``attack(seed: int) -> str | None``, which runs one attack. It returns None if the program held, or one
line that says what broke. ``python -m tests.attacks`` runs families for some minutes, the default suite a few seeds. A
module whose attack takes long has ``small_attack`` too: the same on a smaller site, for the default suite.
"""

import pkgutil
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

_TESTS = str(Path(__file__).parent.parent)
if _TESTS not in sys.path:  # the helpers of the tests are modules there, as under pytest
    sys.path.insert(0, _TESTS)

Attack = Callable[[int], str | None]


def families() -> list[str]:
    """The names of all families."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_"))


def load(family: str, *, small: bool = False) -> Attack:
    """The attack of a family, the small one if wanted and if there is one."""
    module = import_module(f"attacks.{family}")
    attack: Attack = module.small_attack if small and hasattr(module, "small_attack") else module.attack
    return attack
