"""What changed on a page between two visits, and whether it matters. Pure: bytes in, a judgement out."""

from crawler.content.delta import Delta, Difference, compare, holdings
from crawler.content.habits import Habit
from crawler.content.kept import MAX_KEPT, digest, keep, keep_document, unfold
from crawler.content.survey import SAMPLE, Survey, survey

__all__ = [
    "MAX_KEPT",
    "SAMPLE",
    "Delta",
    "Difference",
    "Habit",
    "Survey",
    "compare",
    "digest",
    "holdings",
    "keep",
    "keep_document",
    "survey",
    "unfold",
]
