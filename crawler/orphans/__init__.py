"""Which pages nothing leads to, in what way, and whether that can be said at all. Pure."""

from crawler.orphans.classes import Known, Standing, Thresholds, Way, classes
from crawler.orphans.doubts import Doubts, Seen, doubts
from crawler.orphans.spelling import fold

__all__ = ["Doubts", "Known", "Seen", "Standing", "Thresholds", "Way", "classes", "doubts", "fold"]
