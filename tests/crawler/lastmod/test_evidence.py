"""What a person is told of a change: the visible first, and each change once."""

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

from crawler.parse.snapshot.diff import (
    FACT,
    MAX_TEXT,
    Difference,
    compare,
    evidence_text,
    order_differences,
    stated_name,
)
from crawler.parse.snapshot.snapshot import take_snapshot

TITLE = "A chair of beech for the kitchen"
TEXT = "This chair is a fine thing to have in your home, and it lasts for years."
DESCRIPTION = "All about the chair"


def page(
    title: str = TITLE,
    text: str = TEXT,
    price: int = 20,
    image: str = "/a.jpg",
    second: str = "It has four legs and a back.",
    description: str = DESCRIPTION,
    body: str = "",
) -> bytes:
    """A page whose structured data repeats what is visible."""
    data = {"headline": title, "articleBody": body or f"{text} {second}", "offers": {"price": price}}
    return (
        f'<title>{title} | Shop</title><meta property="og:title" content="{title}">'
        f'<meta name="description" content="{description}">'
        f'<script type="application/ld+json">{json.dumps(data)}</script>'
        f'<main><h1>{title}</h1><p>{text}</p><p>{second}</p><img src="{image}" alt="the chair">'
        f"<p>Price: EUR {price}.00</p></main>"
    ).encode()


def differences(**change: Any) -> list[Difference]:
    return compare(take_snapshot(page()), take_snapshot(page(**change))).differences


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"title": "A stool of ash, cheap and sturdy"}, f"- {TITLE} | Shop; + A stool of ash, cheap and sturdy | Shop"),
        ({"text": "This chair is a very fine thing."}, f"- {TEXT}; + This chair is a very fine thing."),
        ({"second": "It has three legs."}, "- It has four legs and a back.; + It has three legs."),
        ({"price": 25}, "- Price: EUR 20.00; + Price: EUR 25.00"),
        ({"image": "/b.jpg"}, "~ the chair"),
        ({"description": "News of it"}, f"- description: {DESCRIPTION}; + description: News of it"),
        ({"text": f"{TEXT} {'and so on ' * 20}"}, f"- {TEXT}; + {(TEXT + ' ' + 'and so on ' * 9)[:MAX_TEXT].strip()}"),
    ],
    ids=["title", "text", "second text", "price", "image", "description", "long"],
)
def test_ours_a_change_is_told_once_and_as_a_visitor_sees_it(change: dict[str, Any], told: str) -> None:
    assert evidence_text(differences(**change)) == told


def test_ours_data_is_told_of_when_nothing_else_changed() -> None:
    told = evidence_text(differences(body="Quite another text for machines only, longer than it was."))
    assert told.startswith("- JSON-LD.articleBody: This chair")
    assert "; + JSON-LD.articleBody: Quite another" in told


def test_ours_the_first_changes_are_named_and_the_others_counted() -> None:
    changed = differences(title="Stool", text="Sit on it.", price=25, description="News of it")
    assert evidence_text(changed) == f"- {TITLE} | Shop; + Stool | Shop; + Stool; 7 more"
    assert evidence_text([]) == ""


def _changes(draw: random.Random) -> Iterator[dict[str, Any]]:
    words = ["oak", "ash", "beech", "pine", "cheap", "sturdy", "small", "red", "1", "22", "four"]
    for _ in range(150):
        change: dict[str, Any] = {
            name: " ".join(draw.choices(words, k=draw.randint(1, 30)))
            for name in draw.sample(["title", "text", "second", "description", "body"], draw.randint(0, 4))
        }
        if draw.random() < 0.5:
            change["price"] = draw.randint(1, 99)
        yield change


@pytest.mark.parametrize("seed", range(3))
def test_ours_the_order_keeps_every_difference_and_puts_data_last(seed: int) -> None:
    draw = random.Random(seed)
    for change in _changes(draw):
        found = differences(**change)
        shuffled = draw.sample(found, len(found))
        ordered = order_differences(found)
        assert sorted(ordered, key=repr) == sorted(found, key=repr)
        is_data = [bool(stated_name(each)) for each in ordered]
        assert is_data == sorted(is_data), change
        data = [stated_name(each).startswith("JSON-LD") for each in ordered if not each.flags & FACT]
        assert data == sorted(data), change
        told = evidence_text(shuffled).split("; ")
        assert len(told) == len(set(told)), change
        if not all(is_data):
            assert not told[0][2:].startswith("JSON-LD"), change


def test_ours_a_long_text_ends_with_a_whole_word() -> None:
    words = " ".join(f"word{n}" for n in range(40))
    told = evidence_text(differences(text=words))
    shown = told.rpartition("+ ")[2].partition(";")[0]
    assert shown.endswith(" …"), told
    assert f"{words} ".startswith(f"{shown.removesuffix(' …')} ")
