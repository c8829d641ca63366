"""Secrets in the configuration, by name: ``env:NAME`` and ``file:PATH``. Hides secrets in messages."""

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final
from urllib.parse import quote, unquote, unquote_plus, urlsplit

from crawler.errors import UsageError

_MAX_QUOTED: Final = 200  # characters
_MIN_SECRET: Final = 8  # characters: a shorter part of a path or query is a word like "notify", and no secret
_MIN_PASSWORD: Final = 4
_HIDDEN: Final = "***"


def reveal_secret(text: str) -> str:
    """The secret that a setting names, or the setting itself. Raises UsageError for a missing one."""
    kind, _, name = text.partition(":")
    if kind == "env" and name:
        value = os.environ.get(name)
        if value is None:
            raise UsageError(
                f"the environment variable {name} is not set, but the configuration refers to it (env:{name}). "
                "Set the variable"
            )
        return value
    if kind == "file" and name:
        try:
            return secret_path(name).read_text(encoding="utf-8-sig").strip()
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not text"
            raise UsageError(f"the secret file:{name} cannot be read: {reason}") from None
    return text


def credential_name(path: str) -> str:
    """The name of the credential for a file: https://systemd.io/CREDENTIALS/"""
    return os.path.normpath(path).strip("/").replace("/", "-")


def secret_path(path: str) -> Path:
    """Where to read a secret file: in a service of systemd a credential replaces it, which only root may read."""
    folder = os.environ.get("CREDENTIALS_DIRECTORY")
    credential = Path(folder, credential_name(path)) if folder else None
    return credential if credential and credential.is_file() else Path(path)


_words = re.compile(r"""[^\s'",]++""").sub
_scheme = re.compile(r"(?:\w[\w+.-]*+:)?//").match


def mask_password(text: str) -> str:
    """A text with ``***@`` in place of the ``user:password@`` of a URL, even of a bad one."""
    return _words(_without_login, text) if "@" in text else text


def _without_login(word: re.Match[str]) -> str:
    login, at, rest = word[0].rpartition("@")
    scheme = _scheme(login)
    start = scheme[0] if scheme and ":" in login[scheme.end() :] else ""
    return f"{start}***@{rest}" if at and ":" in login else word[0]


def quote_message(text: str, secrets: Iterable[str] = ()) -> str:
    """A text from a receiver as one line of at most 200 characters, harmless in a terminal.

    ``secrets`` are hidden wherever they occur, percent-encoded or not.
    """
    for secret in sorted({form for value in secrets for form in _secret_forms(value)}, key=len, reverse=True):
        text = text.replace(secret, _HIDDEN)
    line = plain_line(text)
    return line if len(line) <= _MAX_QUOTED else f"{line[: _MAX_QUOTED - 1].rstrip()}…"


def plain_line(text: str) -> str:
    """A text on one line, without invisible characters, direction changes or terminal commands."""
    line = " ".join(text.split())
    return line if line.isprintable() else "".join(c if c.isprintable() else "�" for c in line)


def secrets_of(url: str) -> tuple[str, ...]:
    """The parts of a URL that may be secrets: the password, and long parts of path and query, as chat services use."""
    try:
        parts = urlsplit(url)
        userinfo = (parts.username or "", parts.password or "")
    except ValueError:
        return (url,)
    query = (value for pair in parts.query.split("&") for value in pair.split("=", 1))
    pieces = [piece for piece in (*parts.path.split("/"), *query, parts.path) if len(piece) >= _MIN_SECRET]
    return (*pieces, *(piece for piece in userinfo if len(piece) >= _MIN_PASSWORD))


def _secret_forms(secret: str) -> tuple[str, ...]:
    """The encodings in which a secret may come back."""
    forms = (secret, unquote(secret), unquote_plus(secret), quote(secret), quote(secret, safe=""))
    return tuple(form for form in forms if len(form) >= _MIN_PASSWORD)
