"""``siteatlas config``: prints the reference of the keys, or a part of it."""

import re
import sys
from collections.abc import Iterator
from typing import Final

from crawler.audit.report.layout import output_width, wrap
from crawler.cli.errors import CommandErrors
from crawler.cli.options import with_parameters
from crawler.config.reference import reference_sections, reference_text
from crawler.errors import UsageError

_WIDTH: Final = 120  # columns of the file
_PROSE: Final = re.compile(r"^(?:# (?!\[|\w+ =).*\n)+", re.MULTILINE)


@with_parameters()
def config(word: str = "") -> None:
    """Print every key of the configuration with its default and its meaning.

    The output is a configuration file. siteatlas init writes a shorter one for your site.
    """
    with CommandErrors(verbose=False):
        text = reference(output_width(sys.stdout), word)
        if not text:
            raise UsageError(f"no key has {word!r} in its name or its meaning. siteatlas config prints all keys")
        sys.stdout.write(text)


def reference(width: int = 0, word: str = "") -> str:
    """The reference, or its sections and keys with a word, its comments in ``width`` columns; "" if there is none."""
    text = "\n".join(_found(word)) if word else reference_text()
    return _PROSE.sub(lambda prose: _wrapped(prose[0], width), text) if 0 < width < _WIDTH else text


def _found(word: str) -> Iterator[str]:
    sections = reference_sections()
    for name, section in sections.items():
        keys = [
            key.lines
            for key in section.keys.values()
            if name == word or (word not in sections and _letters(word) in _letters(f"{key.name} {key.text}"))
        ]
        if keys or name == word:
            yield section.lines + "".join(keys)


def _wrapped(prose: str, width: int) -> str:
    text = " ".join(line.removeprefix("# ") for line in prose.splitlines())
    return "".join(f"{line}\n" for line in wrap(text, width, "# ", "# "))


def _letters(text: str) -> str:
    """A text without what spellings of a word differ in, such as time-out and timeout."""
    return re.sub("[-_ ]", "", text.lower())
