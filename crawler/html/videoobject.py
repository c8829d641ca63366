"""Drafts of videos from JSON-LD VideoObjects.

https://developers.google.com/search/docs/appearance/structured-data/video#video-object , https://schema.org/VideoObject
"""

import re
from collections.abc import Callable, Iterator
from typing import Any

from crawler.html import jsonld
from crawler.html.clean import one_line
from crawler.html.embeds import embed
from crawler.html.videodraft import MAX_UPLOADER, Draft
from crawler.html.w3c import seconds, w3c

_number = re.compile(r"\s*([0-9]{1,15})(?:\.[0-9]+)?\s*", re.ASCII).fullmatch
_rating = re.compile(r"\s*([0-9](?:[.,][0-9]{1,6})?)\s*", re.ASCII).fullmatch
_country = re.compile(r"\s*([A-Za-z]{2})\s*", re.ASCII).fullmatch

Resolve = Callable[[str], str]
"""The address for a text, "" when it is none."""


def video_drafts(nodes: list[jsonld.Node], resolve: Resolve) -> Iterator[Draft]:
    """One draft for each VideoObject; one that is described elsewhere by its ``@id`` is read there."""
    known = jsonld.described(nodes)
    for node in nodes:
        if "VideoObject" in node.types:
            name = node.values.get("@id")
            if not isinstance(name, str) or known.get(name, node) is node:
                yield _draft(node.values, known, resolve)


def _draft(values: dict[str, Any], known: dict[str, jsonld.Node], resolve: Resolve) -> Draft:
    def part(name: str) -> dict[str, Any]:
        return _object(values.get(name), known)

    draft = Draft(
        origin="JSON-LD",
        thumbnail=_thumbnail(values, part("thumbnail"), resolve),
        title=_text(values.get("name")) or _text(values.get("headline")),
        description=_text(values.get("description")),
        content=resolve(_text(values.get("contentUrl"))),
        player=resolve(_text(values.get("embedUrl"))),
        duration=seconds(_text(values.get("duration"))),
        expires=w3c(_text(values.get("expires"))),
        rating=_stars(part("aggregateRating")),
        views=_views(values),
        published=w3c(_text(values.get("uploadDate")) or _text(values.get("datePublished"))),
        family_friendly=_truth(values.get("isFamilyFriendly")),
        restriction=_restriction(values),
        subscription=_truth(values.get("requiresSubscription")),
        uploader=_uploader(part("author") or part("creator") or part("publisher")),
        live=_truth(part("publication").get("isLiveBroadcast")),
        tags=_tags(values.get("keywords")),
    )
    for address in (draft.content, draft.player):
        if address:
            player = embed(address)
            draft.keys.add(player.key if player else address)
            if player and not draft.thumbnail:
                draft.thumbnail = player.thumbnail
    return draft


def _text(value: Any) -> str:
    """A value as text: the first of a list, the ``@value`` of an object, a number as written."""
    if isinstance(value, list):
        value = value[0] if value else ""
    if isinstance(value, dict):
        value = value.get("@value", "")
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)
    return value.strip() if isinstance(value, str) else ""


def _object(value: Any, known: dict[str, jsonld.Node]) -> dict[str, Any]:
    if isinstance(value, list):
        value = value[0] if value else None
    if not isinstance(value, dict):
        return {}
    name = value.get("@id")
    if len(value) == 1 and isinstance(name, str) and name in known:
        return known[name].values
    return value


def _thumbnail(values: dict[str, Any], image: dict[str, Any], resolve: Resolve) -> str:
    stated = values.get("thumbnailUrl")
    for value in stated if isinstance(stated, list) else [stated]:
        found = resolve(_text(value.get("url") if isinstance(value, dict) else value))
        if found:
            return found
    for value in (image.get("contentUrl"), image.get("url"), values.get("thumbnail"), values.get("image")):
        found = resolve(_text(value.get("url") if isinstance(value, dict) else value))
        if found:
            return found
    return ""


def _views(values: dict[str, Any]) -> int | None:
    counters = values.get("interactionStatistic")
    for counter in counters if isinstance(counters, list) else [counters]:
        if isinstance(counter, dict):
            kind = counter.get("interactionType")
            name = kind.get("@type") if isinstance(kind, dict) else kind
            if isinstance(name, str) and not name.endswith("WatchAction"):
                continue
            found = _number(_text(counter.get("userInteractionCount")))
            if found:
                return int(found[1])
    found = _number(_text(values.get("interactionCount")))
    return int(found[1]) if found else None


def _stars(rating: dict[str, Any]) -> float | None:
    best = _text(rating.get("bestRating")) or "5"
    found = _rating(_text(rating.get("ratingValue")))
    return float(found[1].replace(",", ".")) if found and best in {"5", "5.0"} else None


def _truth(value: Any) -> bool | None:
    if isinstance(value, bool):
        return value
    word = _text(value).lower().rpartition("/")[2]
    if word in {"true", "yes", "1"}:
        return True
    return False if word in {"false", "no", "0"} else None


def _restriction(values: dict[str, Any]) -> tuple[str, str] | None:
    for name, relationship in (("regionsAllowed", "allow"), ("ineligibleRegion", "deny")):
        stated = values.get(name)
        words = re.split(r"[,;\s]+", stated) if isinstance(stated, str) else stated
        if isinstance(words, list):
            found = (_country(word) for word in map(_region, words) if word)
            countries = sorted({country[1].upper() for country in found if country})
            if countries:
                return relationship, " ".join(countries)
    return None


def _region(value: Any) -> str:
    return _text(value.get("name") or value.get("identifier")) if isinstance(value, dict) else _text(value)


def _uploader(who: dict[str, Any]) -> tuple[str, str] | None:
    """The name only: the page that informs about it must be on our own domain, and a name needs none."""
    name = one_line(_text(who.get("name")), MAX_UPLOADER)
    return (name, "") if name else None


def _tags(value: Any) -> tuple[str, ...]:
    words = value.split(",") if isinstance(value, str) else value
    if not isinstance(words, list):
        return ()
    found = (one_line(_text(word), 100) for word in words[:200])
    return tuple(dict.fromkeys(word for word in found if word))
