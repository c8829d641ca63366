"""Prose of several subjects from a seed, with accents, quotes, dashes and numbers, and the same in another language.

Pure.
"""

import hashlib
import random
import re
from dataclasses import dataclass
from functools import lru_cache


def _listed(text: str) -> tuple[str, ...]:
    return tuple(re.split(r"[|\n]", text.strip()))


@dataclass(frozen=True)
class Topic:
    """What a site is about: the parts of its sentences."""

    name: str
    subjects: tuple[str, ...]
    verbs: tuple[str, ...]
    objects: tuple[str, ...]
    tails: tuple[str, ...]
    nouns: tuple[str, ...]


TOPICS = (
    Topic(
        "kitchen",
        _listed("""the café in Rue Carnot|our head chef|a slow oven|the sourdough|a crème brûlée|the market stall
an old recipe|the pantry|a sharp knife|the farmer's wife|this rosé|the copper pan|a jalapeño|the night baker|every guest
the pâtissière|a spoon of flour|the smoked fish|my grandmother|the dining room|a pinch of saffron|the whole kitchen"""),
        _listed("""needs|softens|replaced|carries|balances|ruins|rescued|warms|will finish|can't hide|complements
asks for|survived|improves|absorbs|doesn't need|outshines|tastes of|reminds us of|pays for|overwhelms|thickens"""),
        _listed("""the stock|two ripe pears|a fine crust|half the butter|the first course|a glass of cider|the leftovers
every flavour|roasted fennel|the dough|a simple sauce|the menu of the week|smoked paprika|the morning delivery
a kilo of mussels|the dessert|old cheese|wild garlic|the fire|a naïve cook|the plates|the season's first asparagus"""),
        _listed("""before it cools|when nobody is looking|with a little patience|in under an hour|on rainy Sundays
without a single egg|as they do in Besançon|over a low flame|until the edges brown|for the sake of the sauce
after a night in the fridge|at room temperature|since the new stove arrived|if the flour is fresh"""),
        _listed("""fennel|crust|butter|flame|whisk|ladle|broth|thyme|oven|flour|skillet|salt|vinegar|apron|brine|yeast
quince|mustard|tray|fillet|soufflé|purée|griddle|honey|cellar|basil|cider|lentils|barley|saffron"""),
    ),
    Topic(
        "cycling",
        _listed("""a steel frame|the Hintertux climb|our mechanic|the rear wheel|a junior team|the peloton|this saddle
the tunnel at Göschenen|a quiet road|the first group|an electric motor|the chain|my old jersey|the ferry to Malmö
the descent|the organiser's van|a worn brake pad|the northern route|a good lamp|the timekeeper|the valley
a headwind"""),
        _listed("""follows|passes|wears out|beats|connects|replaced|tests|spares|won't fit|overtook|leads to|crosses
avoids|rewards|punishes|hides|demands|outlasts|shortens|slows|reached|lifts|measures"""),
        _listed("""the last kilometre|an empty bottle|the gravel section|two spare tubes|every rider|the river path
a flat tyre|the border post|the big chainring|a café stop|the finish line|the lighter rim|the record of 1987
the cobbled street|the workshop floor|a second breakfast|the summit sign|the bottom bracket|the city's new lanes"""),
        _listed("""in the rain|at dawn|by less than a minute|before the ferry leaves|with cold hands|on the last weekend
without a map|as the forecast said|after the roadworks|on a single gear|for a fraction of the price
while the others eat|if the wind turns|since the bridge reopened"""),
        _listed("""spoke|saddle|chain|valve|pedal|fork|gear|lever|tyre|rim|cassette|bottle|helmet|jersey|summit|ferry
tunnel|gravel|puncture|caliper|headset|axle|crank|pannier|lamp|bell|mudguard|sprint|col|stage"""),
    ),
    Topic(
        "software",
        _listed("""the scheduler|a nightly job|the parser|our smallest server|the cache|an unfinished patch|the query
the façade|a stale lock|the config file|the build|a single thread|the maintainer|the public API|a failing test
the resolver|the log|an empty queue|the migration|the command line|a worker|the reviewer's comment|the index"""),
        _listed("""reads|drops|retries|locks|doesn't return|validates|overwrites|will flush|waits for|splits|signals
rejects|wraps|compresses|owns|can't see|reopens|logs|caches|ignores|delays|renames|rebuilds"""),
        _listed("""the whole table|an expired token|every second row|the temporary file|a broken pipe|the old schema
three workers|the final flag|the client's headers|a naïve timestamp|the error message|the offset|its own output
the first batch|the backup|a list of names|the default branch|the unsigned package|the slow path|the socket"""),
        _listed("""before the timeout|on a cold start|when the disk is full|without a warning|for each request|by design
in version 3|as the manual says|under heavy load|until the process ends|if the flag is off|after an upgrade
with one exception|since the last release|in constant time"""),
        _listed("""queue|thread|cursor|buffer|socket|schema|token|worker|cache|parser|index|branch|commit|batch|flag
offset|record|shard|stream|signal|daemon|kernel|filter|profile|package|driver|mirror|cluster|digest|window"""),
    ),
    Topic(
        "town",
        _listed("""the town hall|a retired teacher|the museum of glass|our new mayor|the bridge|the choir|the library
an open letter|the school in Łódź Street|the bus to São Pedro|a neighbour|the fire brigade|the weekly market|the park
the architect's plan|a petition|the old brewery|the swimming pool|the council|a busker|the tram|the planning office"""),
        _listed("""opens|refuses|supports|has sold|celebrates|will repair|opposes|invites|lost|borrowed|doesn't mention
remembers|pays for|overlooks|funds|moved|inspects|promised|closes|explains|shares|welcomes"""),
        _listed("""a free concert|the flood wall|sixty lime trees|the ticket office|its own archive|the evening class
a second entrance|the fountain|the roof of the church|a café for readers|the skate ramp|the first tenants
the car park|an official report|the lost umbrella|the cycle lane|the winter lights|a fair rent|the playground"""),
        _listed("""in early spring|after a long debate|with the help of volunteers|on market day|despite the cost
for the first time|as everybody expected|until the end of the month|near the station|without much noise
during the festival|since the vote|by a narrow majority|because of the heat"""),
        _listed("""square|bridge|budget|tram|choir|market|fountain|gallery|petition|archive|lantern|avenue|harvest|school
orchard|clinic|quarter|ballot|festival|station|cellar|garden|river|museum|tower|bakery|theatre|kiosk|alley|court"""),
    ),
)
NAMES = _listed("""Zoë Müller|José Peña|Anna Lind|Bert Okafor|Renée Dubois|Dmitri Hale|Søren Krogh|Farid Quist
Greta Olsen|Ngaio O'Brien|Tomáš Novák|Imogen Fitz|Ada Flores|Kwame Asante""")
HOW = _listed("""often|rarely|quietly|always|sometimes|almost|hardly|now|at last|in fact|at times|of course|usually|soon
once|again|never|seldom|already|openly|kindly|suddenly|slowly|nearly|twice""")  # so that no sentence recurs by chance
GUIDES = ("short", "complete", "practical", "personal")
FIRST = _listed("How|Why|When|What happens if")
_SPECIAL = (
    '"{S} {v} {o}," said {name}.',
    "In {year}, {s} {v} {n} {noun}s {t}.",
    "It took {n} {unit} -- and {s} still {v} {o}.",
    "{name}'s {noun} isn't new; {s} {v} {o}...",
    '{T}, {s} {v} what people call "the {noun}".',
    "Of {n} {noun}s, {few} were difficult to find: {s} {v} {o}.",
    "{S} {v} {o}, and the {noun} in the office {v2} {o2}.",
    "See page {n} of the {noun} file for {o}.",
)


def upper(text: str) -> str:
    """With a capital first letter, the rest as it is."""
    return text[:1].upper() + text[1:]


def sentence(rng: random.Random, topic: Topic) -> str:
    """A sentence with its full stop."""
    s, v, o, t = (rng.choice(each) for each in (topic.subjects, topic.verbs, topic.objects, topic.tails))
    if rng.random() < 0.55:
        return upper(rng.choice((f"{s} {v} {o} {t}.", f"{t}, {s} {v} {o}.", f"{s} {rng.choice(HOW)} {v} {o}.")))
    values = {
        "s": s, "S": upper(s), "v": v, "o": o, "t": t, "T": upper(t),
        "v2": rng.choice(topic.verbs), "o2": rng.choice(topic.objects), "name": rng.choice(NAMES),
        "noun": rng.choice(topic.nouns), "year": rng.randrange(1900, 2026), "n": rng.randrange(12, 980),
        "few": rng.randrange(2, 12), "unit": rng.choice(("days", "km", "kg", "hours", "pages")),
    }  # fmt: skip
    return rng.choice(_SPECIAL).format(**values)


def sentences(rng: random.Random, topic: Topic, least: int = 2, most: int = 6) -> list[str]:
    """The sentences of a paragraph."""
    return [sentence(rng, topic) for _ in range(rng.randrange(least, most))]


def title(rng: random.Random, topic: Topic) -> str:
    """A title of some words."""
    s, v, o = (rng.choice(each) for each in (topic.subjects, topic.verbs, topic.objects))
    one, two = rng.sample(topic.nouns, 2)
    return upper(
        rng.choice((
            f"{rng.choice(FIRST)} {s} {v} {o}",
            f"{one} and {two}: what {rng.choice(NAMES).split()[0]} learnt",
            f"{rng.randrange(3, 40)} {one}s for {o}",
            f"{s}, the {one} and the {two}",
            f"a {rng.choice(GUIDES)} guide to the {one} and {two} for {rng.choice(HOW)} busy people",
            f"{s} {rng.choice(HOW)} {v} {o}",
        ))
    )  # fmt: skip


def goods(rng: random.Random, topic: Topic) -> str:
    """The name of something to buy."""
    how = rng.choice(("Classic", "Red", "Folding", "Nordic", "Compact", "Grand", "Blue", "Light", "Rustic", "Élan"))
    one, two = rng.sample(topic.nouns, 2)
    return f"{how} {one} {rng.choice(('with', 'for', 'and'))} {two} {rng.randrange(10, 990)}"


def slug(text: str) -> str:
    """The text as a part of a URL."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:50]


_ENDS = ("ung", "eur", "lich", "ait", "eux", "stein", "ette", "keit", "ois", "werk", "ant", "isch")
_BEGINS = ("ver", "gra", "lu", "mo", "bre", "zi", "pla", "küh", "sé", "tra", "no", "fla", "wei", "ché")


@lru_cache(100_000)
def _word(word: str) -> str:
    drawn = hashlib.blake2b(word.lower().encode(), digest_size=6).digest()
    made = _BEGINS[drawn[0] % len(_BEGINS)] + _BEGINS[drawn[1] % len(_BEGINS)] * (len(word) > 5)
    made += _ENDS[drawn[2] % len(_ENDS)] if len(word) > 3 else ""
    return upper(made) if word[:1].isupper() else made


def translated(text: str) -> str:
    """The text in another language: word for word, numbers as they are."""
    return re.sub(r"[^\W\d_]{2,}", lambda found: _word(found[0]), text)
