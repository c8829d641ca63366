"""Texts of pages that nobody wrote: prose, tables, lists, figures with numbers and prices, all from one seed.

Pure.
"""

import random
import re
from dataclasses import dataclass


def _listed(text: str) -> list[str]:
    return re.split(r"[|\n]", text.strip())


_SUBJECTS = _listed("""
the harbour|an old ferry|the night watch|our smallest boat|the pilot|the chandler|a passing trawler
the rope walk|the lighthouse keeper|the tide table|a crew of four|the drying nets|the slipway|the customs house
a retired captain|the salvage tug|the fish auction|the boatyard|a wooden dinghy|the winter storm|the breakwater
the signal mast|the ice house|a young apprentice|the county surveyor|the museum|the lifeboat station|the dredger
""")
_VERBS = _listed("""
shelters|repairs|has replaced|measures|will inspect|carried|remembers|rarely leaves|overlooks|outlasts
supplies|paid for|rebuilt|depends on|competes with|guards|was named after|borrowed|tested|sold|explains|surveyed
follows|crosses|avoids|photographed|documents|restored
""")
_OBJECTS = _listed("""
the eastern quay|every buoy in the channel|a hull of larch planks|the oldest chart|two spare engines
the granite steps|seven lamps|the morning catch|its own reflection|a mile of chain|the visitors from town
the southern approach|a barrel of tar|the timber store|the swing bridge|forty fathoms of line|the weather board
a copper kettle|the school regatta|the coal pier|the mooring ring|a set of brass gauges|the island post
""")
_TAILS = _listed("""
before the ice comes|when the wind turns north|since the flood|as the council had asked|at low water
without a licence|in the second week of May|for the price of one lamp|despite the fog|on the first ebb
under a borrowed flag|as long as the money lasts|after the long repair|while the bridge is closed
with more care than before|until the bell rings|and nobody complains|as it did a century ago
""")
WORDS = _listed("""
anchor|ballast|beacon|bollard|bowline|bulkhead|buoy|cable|capstan|cleat|compass|current|davit|deck
fathom|fender|gaff|galley|gangway|halyard|hatch|hawser|keel|ledger|mast|mooring|oar|paddle
pennant|pontoon|quay|rigging|rudder|sail|schooner|sextant|shackle|shroud|sloop|spar|stern|tackle
thwart|tiller|topsail|transom|trawl|varnish|wake|wharf|winch|yawl
""")
NAMES = ["Anna Lind", "Bert Okafor", "Clara Weiss", "Dmitri Hale", "Esther Moen", "Farid Quist", "Greta Olsen"]


def sentence(rng: random.Random) -> str:
    parts = [rng.choice(each) for each in (_SUBJECTS, _VERBS, _OBJECTS)]
    if rng.random() < 0.7:
        parts.append(rng.choice(_TAILS))
    return " ".join(parts).capitalize() + "."


def paragraph(rng: random.Random) -> str:
    return " ".join(sentence(rng) for _ in range(rng.randrange(2, 6)))


def title(rng: random.Random) -> str:
    kind = rng.choice(("guide", "notes", "report", "story", "review"))
    return f"{rng.choice(WORDS)} and {rng.choice(WORDS)} {kind}".capitalize()


def money(rng: random.Random) -> str:
    return f"{rng.uniform(3, 900):.2f}"


@dataclass(frozen=True)
class Text:
    """What an author wrote: ``body`` is HTML without the title."""

    title: str
    summary: str
    author: str
    body: str


def text(rng: random.Random, number: int, links: list[str], size: int = 4) -> Text:
    """The text of page ``number``: ``links`` are paths it may point to, ``size`` its sections."""
    parts = [
        f"<p>{paragraph(rng)}</p>",
        f"<p>Written by <span class=byline>{rng.choice(NAMES)}</span>. {sentence(rng)}</p>",
    ]
    for section in range(rng.randrange(2, size + 1)):
        parts.append(f"<h2>{title(rng)} {section + 1}</h2>")
        parts += [f"<p>{paragraph(rng)}</p>" for _ in range(rng.randrange(1, 4))]
        parts += [_part(rng, kind, number, links) for kind in rng.sample(_KINDS, rng.randrange(1, 4))]
    return Text(f"{title(rng)} {number}", sentence(rng), rng.choice(NAMES), "\n".join(parts))


_KINDS = ("figure", "image", "list", "table", "code", "link", "price", "date", "quote", "count")


def _part(rng: random.Random, kind: str, number: int, links: list[str]) -> str:
    picture = f"/media/{rng.choice(WORDS)}-{number}-{rng.randrange(1000)}.jpg"
    image = f'<img src="{picture}" alt="{title(rng)}">'
    cells = "".join(f"<tr><td>{rng.choice(WORDS)}</td><td>{rng.randrange(900)}</td></tr>" for _ in range(4))
    href = rng.choice(links) if links else "https://other.example/chart"
    return {
        "figure": f"<figure>{image}<figcaption>{sentence(rng)}</figcaption></figure>",
        "image": f"<p>{image} {sentence(rng)}</p>",
        "list": "<ul>" + "".join(f"<li>{sentence(rng)}</li>" for _ in range(rng.randrange(3, 7))) + "</ul>",
        "table": f"<table><tr><th>Part</th><th>Number</th></tr>{cells}</table>",
        "code": f"<pre><code>set {rng.choice(WORDS)} = {rng.randrange(99)}\nrun --{rng.choice(WORDS)}</code></pre>",
        "link": f'<p>{sentence(rng)} See <a href="{href}">{title(rng)}</a>.</p>',
        "price": f"<p>{rng.choice(WORDS).capitalize()}: <b>€{money(rng)}</b>, in stock.</p>",
        "date": f"<p>The next meeting is on {rng.randrange(1, 28)} May 20{rng.randrange(20, 27)}. {sentence(rng)}</p>",
        "quote": f"<blockquote><p>{sentence(rng)}</p></blockquote>",
        "count": f"<p>In {rng.randrange(1850, 1999)} there were {rng.randrange(20, 5000)} of them. {sentence(rng)}</p>",
    }[kind]
