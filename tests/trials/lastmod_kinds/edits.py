"""Kind H: what an editor does to one page. All of it must move the date of this page, and of no other.

Pure.
"""

import random
import re
from collections.abc import Callable, Sequence

from tests.trials.lastmod_kinds.noise import token
from tests.trials.lastmod_kinds.site import Block, Contents, Doc, block
from tests.trials.lastmod_kinds.words import sentence, sentences, title, upper

Editing = Callable[[random.Random, Contents, Doc], str]
"""Edits a document and says how, or leaves it as it is and says nothing."""
EDITS: dict[str, Editing] = {}
NEEDS = {
    "alt text": "picture", "picture swapped": "picture", "caption": "picture", "link target": "linked",
    "table cell": "table",
    "row added": "table", "list item": "list", "item added": "list", "item removed": "list", "code": "code",
    "quote": "quote",
}  # fmt: skip
_number = re.compile(r"\d{2,3}\b")


def _edit(editing: Editing) -> Editing:
    EDITS[editing.__name__.removeprefix("edit_").replace("_", " ")] = editing
    return editing


def prepare(rng: random.Random, site: Contents, kind: str) -> None:
    """Give each document something that this kind of edit can change."""
    wanted = NEEDS.get(kind, "")
    for doc in site.docs:
        if wanted and not _blocks(doc, wanted):
            doc.blocks.append(block(rng, site, wanted))
        if kind == "number":
            line = f"Of {rng.randrange(100, 999)} {rng.choice(site.topic.nouns)}s, most are in use."
            rng.choice(_blocks(doc, "paragraph")).lines.append(line)


def _blocks(doc: Doc, *kinds: str) -> list[Block]:
    return [
        each
        for each in doc.blocks
        if each.kind in kinds or ("linked" in kinds and each.kind == "paragraph" and each.target)
    ]


def _line(rng: random.Random, blocks: Sequence[Block], change: Callable[[str], str]) -> str:
    """Change one of the lines that the change changes."""
    places = [(each, at) for each in blocks for at in range(len(each.lines))]
    rng.shuffle(places)
    for each, at in places:
        before, after = each.lines[at], change(each.lines[at])
        if after != before:
            each.lines[at] = after
            return f"{before!r} → {after!r}"
    return ""


@_edit
def edit_alt_text(rng: random.Random, site: Contents, doc: Doc) -> str:
    if not (found := _blocks(doc, "picture")):
        return ""
    picture = rng.choice(found)
    picture.lines[0] = title(rng, site.topic)
    return picture.lines[0]


@_edit
def edit_picture_swapped(rng: random.Random, site: Contents, doc: Doc) -> str:
    if not (found := _blocks(doc, "picture")):
        return ""
    picture = rng.choice(found)
    picture.target = f"/media/{rng.choice(site.topic.nouns)}-{rng.randrange(10**6)}.jpg"
    return picture.target


@_edit
def edit_caption(rng: random.Random, site: Contents, doc: Doc) -> str:
    if not (found := _blocks(doc, "picture")):
        return ""
    picture = rng.choice(found)
    picture.lines[1] = sentence(rng, site.topic)
    return picture.lines[1]


@_edit
def edit_number(rng: random.Random, site: Contents, doc: Doc) -> str:
    up = rng.randrange(1, 9)
    return _line(
        rng, _blocks(doc, "paragraph"), lambda line: _number.sub(lambda at: str(int(at[0]) + up), line, count=1)
    )


@_edit
def edit_word(rng: random.Random, site: Contents, doc: Doc) -> str:
    def change(line: str) -> str:
        words = line.split(" ")
        at = rng.randrange(len(words))
        words[at] = rng.choice(site.topic.nouns)
        return " ".join(words)

    return _line(rng, _blocks(doc, "paragraph"), change)


@_edit
def edit_typo(rng: random.Random, site: Contents, doc: Doc) -> str:
    def change(line: str) -> str:
        found = [at.span() for at in re.finditer(r"[a-z]{5,}", line)]
        if not found:
            return line
        begin, end = rng.choice(found)
        at = rng.randrange(begin + 1, end - 1)
        return line[:at] + (line[at + 1] + line[at] if line[at] != line[at + 1] else line[at + 1]) + line[at + 2 :]

    return _line(rng, _blocks(doc, "paragraph"), change)


@_edit
def edit_paragraph_added(rng: random.Random, site: Contents, doc: Doc) -> str:
    added = Block("paragraph", sentences(rng, site.topic))
    doc.blocks.insert(rng.randrange(1, len(doc.blocks) + 1), added)
    return added.lines[0]


@_edit
def edit_paragraph_moved(rng: random.Random, site: Contents, doc: Doc) -> str:
    places = [at for at, each in enumerate(doc.blocks) if each.kind == "paragraph"]
    if len(places) < 2:
        return ""
    one, two = sorted(rng.sample(places, 2))
    doc.blocks[one], doc.blocks[two] = doc.blocks[two], doc.blocks[one]
    return f"blocks {one} and {two} changed places"


@_edit
def edit_paragraph_removed(rng: random.Random, site: Contents, doc: Doc) -> str:
    found = _blocks(doc, "paragraph")
    if len(found) < 2:
        return ""
    gone = rng.choice(found)
    doc.blocks.remove(gone)
    return gone.lines[0]


@_edit
def edit_sentence_added(rng: random.Random, site: Contents, doc: Doc) -> str:
    found = rng.choice(_blocks(doc, "paragraph"))
    found.lines.insert(rng.randrange(len(found.lines) + 1), sentence(rng, site.topic))
    return " ".join(found.lines)


@_edit
def edit_sentence_removed(rng: random.Random, site: Contents, doc: Doc) -> str:
    found = [each for each in _blocks(doc, "paragraph") if len(each.lines) > 1]
    return rng.choice(found).lines.pop(rng.randrange(2)) if found else ""


@_edit
def edit_link_target(rng: random.Random, site: Contents, doc: Doc) -> str:
    if not (found := _blocks(doc, "linked")):
        return ""
    linked = rng.choice(found)
    linked.target = f"https://{rng.choice(site.topic.nouns)}.example/{token(rng, 6)}"
    return linked.target


@_edit
def edit_heading(rng: random.Random, site: Contents, doc: Doc) -> str:
    return _line(rng, _blocks(doc, "heading"), lambda _: title(rng, site.topic))


@_edit
def edit_table_cell(rng: random.Random, site: Contents, doc: Doc) -> str:
    up = rng.randrange(1, 40)
    return _line(rng, _blocks(doc, "table"), lambda line: re.sub(r"\|(\d+)\|", lambda at: f"|{int(at[1]) + up}|", line))


@_edit
def edit_row_added(rng: random.Random, site: Contents, doc: Doc) -> str:
    if not (found := _blocks(doc, "table")):
        return ""
    name = f"{upper(rng.choice(site.topic.nouns))} {rng.randrange(99)}"
    row = f"{name}|{rng.randrange(999)}|{rng.choice(site.topic.objects)}"
    rng.choice(found).lines.append(row)
    return row


@_edit
def edit_list_item(rng: random.Random, site: Contents, doc: Doc) -> str:
    return _line(rng, _blocks(doc, "list"), lambda _: sentence(rng, site.topic).rstrip("."))


@_edit
def edit_item_added(rng: random.Random, site: Contents, doc: Doc) -> str:
    if not (found := _blocks(doc, "list")):
        return ""
    lines = rng.choice(found).lines
    lines.insert(rng.randrange(len(lines) + 1), sentence(rng, site.topic).rstrip("."))
    return " / ".join(lines)


@_edit
def edit_item_removed(rng: random.Random, site: Contents, doc: Doc) -> str:
    found = [each for each in _blocks(doc, "list") if len(each.lines) > 1]
    return rng.choice(found).lines.pop() if found else ""


@_edit
def edit_code(rng: random.Random, site: Contents, doc: Doc) -> str:
    return _line(rng, _blocks(doc, "code"), lambda line: line.rsplit(" ", 1)[0] + f" {rng.randrange(100, 999)}")


@_edit
def edit_quote(rng: random.Random, site: Contents, doc: Doc) -> str:
    return _line(rng, _blocks(doc, "quote"), lambda _: sentence(rng, site.topic))


@_edit
def edit_title(rng: random.Random, site: Contents, doc: Doc) -> str:
    doc.title = f"{title(rng, site.topic)} {rng.randrange(1000)}"
    return doc.title


@_edit
def edit_description(rng: random.Random, site: Contents, doc: Doc) -> str:
    doc.description = sentence(rng, site.topic)
    return doc.description


@_edit
def edit_rewritten(rng: random.Random, site: Contents, doc: Doc) -> str:
    for each in _blocks(doc, "paragraph"):
        each.lines = sentences(rng, site.topic)
    return doc.blocks[0].lines[0]


def edit(rng: random.Random, site: Contents, doc: Doc, kind: str = "") -> str:
    """Edit a document in this way, or if it has nothing for it in another way; how."""
    order = [kind] if kind else []
    order += rng.sample(sorted(EDITS), len(EDITS))
    return next(f"{name}: {what}" for name in order if (what := EDITS[name](rng, site, doc)))
