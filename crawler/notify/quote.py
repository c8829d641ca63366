"""How the words of others stand in a sentence of ours: on one line, cut, harmless, without our secrets. Pure."""

from collections.abc import Iterable
from typing import Final
from urllib.parse import quote, unquote, unquote_plus, urlsplit

_MAX_QUOTED: Final = 200  # characters
_LEAST: Final = 8  # characters: what is shorter in a path or query is a word like "notify", and no secret
_LEAST_PASSWORD: Final = 4
_HIDDEN: Final = "***"


def quoted(text: str, secrets: Iterable[str] = ()) -> str:
    """What somebody said, as one line of 200 characters at most that a terminal shows and does not obey.

    ``secrets`` are put out of sight wherever they stand in it, percent-encoded or not.
    """
    for secret in sorted({form for each in secrets for form in _forms(each)}, key=len, reverse=True):
        text = text.replace(secret, _HIDDEN)
    line = one_line(text)
    return line if len(line) <= _MAX_QUOTED else f"{line[: _MAX_QUOTED - 1].rstrip()}…"


def one_line(text: str) -> str:
    """A text without line ends, and without what is not seen, turns the line around or commands a terminal."""
    line = " ".join(text.split())
    return line if line.isprintable() else "".join(c if c.isprintable() else "�" for c in line)


def secrets_of(url: str) -> tuple[str, ...]:
    """The pieces of a URL that may be secrets: the password, and long pieces of path and query, as chats have them."""
    try:
        parts = urlsplit(url)
        userinfo = (parts.username or "", parts.password or "")
    except ValueError:
        return (url,)
    query = (value for pair in parts.query.split("&") for value in pair.split("=", 1))
    pieces = [piece for piece in (*parts.path.split("/"), *query, parts.path) if len(piece) >= _LEAST]
    return (*pieces, *(piece for piece in userinfo if len(piece) >= _LEAST_PASSWORD))


def _forms(secret: str) -> tuple[str, ...]:
    """A secret as it may come back."""
    forms = (secret, unquote(secret), unquote_plus(secret), quote(secret), quote(secret, safe=""))
    return tuple(form for form in forms if len(form) >= _LEAST_PASSWORD)
