"""An asynchronous frontier crawler that turns one website into true, valid, stable sitemaps.

A name is loaded when it is first asked for: the command shows its help without loading a crawler.
"""

import re
from importlib import import_module
from importlib.resources import files
from typing import Any, Final

_STUB: Final = (files(__name__) / "__init__.pyi").read_text(encoding="utf-8")
_MODULE_OF: Final = {name: module for module, name in re.findall(r"^from (\S+) import (\w+) as", _STUB, re.MULTILINE)}
__all__ = list(_MODULE_OF)


def __getattr__(name: str) -> Any:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(module), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
