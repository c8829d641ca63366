"""Regular expressions: a text, found by pumping, on which an expression takes more than linear time."""

import random
from functools import cache

import pumping

import crawler
import sitemap


@cache
def _expressions() -> list[pumping.Expression]:
    return list(pumping.expressions(crawler, sitemap))


def attack(seed: int) -> str | None:
    """Pump one expression of either package."""
    rng = random.Random(seed)
    expression = rng.choice(_expressions())
    found = pumping.slowest(expression, rng)
    return f"{expression.name}: {found}" if found else None
