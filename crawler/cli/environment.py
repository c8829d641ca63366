"""The variables of the environment that set an option, and those that look like one of them and set nothing."""

import difflib
from collections.abc import Iterable
from typing import Final, get_args

from crawler.cli import lint_options
from crawler.cli.options import FLAGS
from crawler.config.deprecated import deprecated

_PREFIX: Final = "SITEATLAS_"
_MIN_SIMILARITY: Final = 0.88  # of 1: a letter or two that are missing, doubled, swapped or wrong


def renamed(names: Iterable[str]) -> list[str]:
    """A sentence for each variable that still has a deprecated name."""
    pairs = [(old, flag.variable) for flag in FLAGS for old in flag.variables[1:]]
    return [deprecated(old, new) for old, new in pairs if old in names]


def misspelt_variables(names: Iterable[str]) -> list[str]:
    """A sentence for each variable that is nearly one of ours. What is like none is somebody's own, as a secret is."""
    known = _known_variables()
    said = []
    for name in sorted(names):
        if name.startswith(_PREFIX) and name not in known:
            near = difflib.get_close_matches(
                name.removeprefix(_PREFIX), _shorten(known), n=1, cutoff=_MIN_SIMILARITY
            )
            said += [f"{name} sets nothing: did you mean {_PREFIX}{near[0]}?"] if near else []
    return said


def _known_variables() -> set[str]:
    options = [each for value in vars(lint_options).values() for each in get_args(value)]
    of_lint = {name for each in options if isinstance(name := getattr(each, "envvar", None), str)}
    return {name for flag in FLAGS for name in flag.variables} | of_lint | {f"{_PREFIX}CONFIG"}


def _shorten(known: Iterable[str]) -> list[str]:
    return [name.removeprefix(_PREFIX) for name in known]
