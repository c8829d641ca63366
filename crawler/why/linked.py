"""How the site links a URL: how many pages do, how many clicks away it is, what it weighs, and the best referrers."""

from typing import Final

from crawler.model import Kind
from crawler.quantities import count
from crawler.why.story import Referrer, Story
from crawler.why.words import Topic, away

SHOWN: Final = 5  # referrers that people are shown; machines get all that are known


def links(story: Story) -> Topic | None:
    """What the link graph of the last run says of the URL."""
    linked, seen = story.linked, story.seen
    if linked is None or seen is None or seen.kind is Kind.SITEMAP:
        return None
    pages = count(linked.inlinks, "page")
    lines = [
        f"from {pages} by links that count; {away(linked.clicks)}",
        f"link weight {linked.weight:.2f}; the average page has 1",
    ]
    lines += [f"< {each.url}  ({_how(each)})" for each in linked.referrers[:SHOWN]]
    values = {
        "inlinks": linked.inlinks,
        "clicks": linked.clicks,
        "weight": round(linked.weight, 4),
        "referrers": [
            {"url": each.url, "by": each.how, "via": each.via or None} for each in linked.referrers
        ],
    }
    return Topic("links", lines, values)


def _how(referrer: Referrer) -> str:
    return f"{referrer.how}, through {referrer.via}" if referrer.via else referrer.how
