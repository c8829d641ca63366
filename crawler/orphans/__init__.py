"""Which pages nothing leads to, in what way, and whether that can be said at all. Pure."""

from crawler.orphans.bareness import is_bare
from crawler.orphans.classes import JUDGED, NOBODY, Known, Standing, Thresholds, classes, is_gone
from crawler.orphans.doubts import Doubts, Seen, doubts
from crawler.orphans.probes import is_probe
from crawler.orphans.series import is_of_series
from crawler.orphans.spelling import fold
from crawler.orphans.twins import Lead, Twin, copies

__all__ = [
    "JUDGED",
    "NOBODY",
    "Doubts",
    "Known",
    "Lead",
    "Seen",
    "Standing",
    "Thresholds",
    "Twin",
    "classes",
    "copies",
    "doubts",
    "fold",
    "is_bare",
    "is_gone",
    "is_of_series",
    "is_probe",
]
