"""The story of one URL in words: what is known of it becomes topics, each with sentences and with values. Pure."""

from crawler.why.explaining import Explanation, explain
from crawler.why.spelling import nearest, spellings
from crawler.why.story import Change, Hop, Linked, Listed, Past, Referrer, Run, Seen, Step, Story
from crawler.why.unseen import Policy

__all__ = [
    "Change",
    "Explanation",
    "Hop",
    "Linked",
    "Listed",
    "Past",
    "Policy",
    "Referrer",
    "Run",
    "Seen",
    "Step",
    "Story",
    "explain",
    "nearest",
    "spellings",
]
